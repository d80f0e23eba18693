//! The files that a page of HTML names: a browser fetches them to show it.
//!
//! The document is read by a tokenizer of HTML, not as a tree: elements with files are the same at
//! every depth. Scripts are not executed, and style sheets are not read, so the files that these
//! name are not found.
//!
//! The encoding of the document need not be known: markup is ASCII, and a URL that is not UTF-8 is
//! read as windows-1252, as browsers read pages that declare no encoding. (UTF-16 is not read.)

mod foreign;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;

use html5gum::{DefaultEmitter, StartTag, State, Token, Tokenizer};
use url::Url;

use foreign::ForeignContent;
use wire::target::Target;

/// Most bytes of a document that are read.
pub const MOST_BYTES: usize = 2 << 20;
/// Most files of one document.
pub const MOST_PARTS: usize = 256;
const MOST_REFERENCES: usize = 4096;
/// Longest path of a file, and longest `base`, which is a part of each.
const LONGEST: usize = 2048;

/// The files that a page names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedParts {
    /// Paths on the server of the page with their queries, each once, in the order of the document.
    pub paths: Vec<String>,
    /// Number of different files of other servers.
    pub elsewhere: usize,
    /// Files that are not among `paths`, because there are too many, or because their paths are too
    /// long or name another method.
    pub refused: usize,
    /// The document was not read to its end.
    pub is_cut: bool,
}

/// The files named by the document at that URL.
pub fn named_parts(document: &[u8], page: &str) -> NamedParts {
    let Ok(page) = Url::parse(page) else {
        return NamedParts::default();
    };
    let read = &document[..document.len().min(MOST_BYTES)];
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut named = NamedUrls::default();
    let mut foreign = ForeignContent::default();
    let mut tokens = Tokenizer::new_with_emitter(read, emitter);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            // The emitter does not treat content as text there.
            Token::StartTag(tag) if foreign.takes(&tag) => tokens.set_state(State::Data),
            Token::Comment(comment) if foreign.is_open() && is_begun_cdata(&comment) => {
                tokens.set_state(State::CdataSection);
            }
            Token::StartTag(tag) if *tag.name == b"template" => named.templates += 1,
            Token::EndTag(tag) if *tag.name == b"template" => {
                named.templates = named.templates.saturating_sub(1);
            }
            // The emitter, which handles the other elements whose content is text, calls it
            // `noframe`.
            Token::StartTag(tag) if *tag.name == b"noframes" => tokens.set_state(State::RawText),
            Token::StartTag(tag) if named.templates == 0 => named.element(&tag),
            Token::EndTag(tag) => {
                foreign.end(&tag.name);
                if matches!(tag.name.as_slice(), b"picture" | b"audio" | b"video") {
                    named.source = NextSource::Unused;
                }
            }
            _ => {}
        }
    }
    NamedParts {
        is_cut: read.len() < document.len(),
        ..sorted_out(&named.urls, &named.base_of(&page), &page)
    }
}

/// A section of characters, which the tokenizer takes for a comment that ends with the first `>`.
fn is_begun_cdata(comment: &[u8]) -> bool {
    comment.starts_with(b"[CDATA[") && !comment.ends_with(b"]]")
}

/// The files on the server of the page, and the number of others.
fn sorted_out(urls: &[Vec<u8>], base: &Url, page: &Url) -> NamedParts {
    let mut parts = NamedParts::default();
    let mut known = BTreeSet::new();
    parts.refused = urls.len().saturating_sub(MOST_REFERENCES);
    for url in urls.iter().take(MOST_REFERENCES) {
        let Some(mut url) = joined(base, url) else {
            continue;
        };
        url.set_fragment(None);
        // A URL without a server, `data:` for example, is not fetched.
        if !matches!(url.scheme(), "http" | "https") || !known.insert(url.to_string()) {
            continue;
        }
        if url.origin() != page.origin() {
            parts.elsewhere += 1;
            continue;
        }
        let query = url.query().map(|query| format!("?{query}"));
        let path = format!("{}{}", url.path(), query.unwrap_or_default());
        let is_page = url.path() == page.path() && url.query() == page.query();
        let is_fine = || {
            let target = Target::resource(url.as_str());
            path.len() <= LONGEST && target.is_ok_and(|target| !target.names_a_method())
        };
        if is_page {
        } else if parts.paths.len() < MOST_PARTS && is_fine() {
            parts.paths.push(path);
        } else {
            parts.refused += 1;
        }
    }
    parts
}

/// The URL that is written in a document. Where it is not UTF-8, its path is encoded as UTF-8 and
/// its query unchanged, as in a page of windows-1252.
fn joined(base: &Url, written: &[u8]) -> Option<Url> {
    // For a browser a host follows any number of slashes; for `url` only two.
    let slashes = written
        .iter()
        .take_while(|byte| matches!(byte, b'/' | b'\\'));
    let written = &written[slashes.count().saturating_sub(2)..];
    if let Ok(text) = std::str::from_utf8(written) {
        return base.join(text).ok();
    }
    let text: String = written.iter().copied().map(windows_1252).collect();
    let encode: fn(&str) -> Cow<'_, [u8]> = |query| query.chars().map(byte_of).collect();
    let options = Url::options().base_url(Some(base));
    options.encoding_override(Some(&encode)).parse(&text).ok()
}

/// Characters of the bytes 0x80 to 0x9f; the others are those of Latin-1.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn byte_of(character: char) -> u8 {
    (0..=u8::MAX)
        .find(|byte| windows_1252(*byte) == character)
        .unwrap_or(b'?')
}

#[derive(Default)]
struct NamedUrls {
    /// URL of the first `base` that has one.
    base: Option<Vec<u8>>,
    urls: Vec<Vec<u8>>,
    /// Number of open templates, whose contents are not shown.
    templates: usize,
    source: NextSource,
}

/// Purpose of the next `source`.
#[derive(Default)]
enum NextSource {
    /// None that still needs a file.
    #[default]
    Unused,
    /// An open `picture`, and the first of its sources.
    Picture(Option<Vec<u8>>),
    /// An open `audio` or `video`.
    Media,
}

impl NamedUrls {
    /// The base of relative URLs: one that cannot be read, or whose scheme is that of data or
    /// scripts, is ignored, and no later one replaces it.
    fn base_of(&self, page: &Url) -> Url {
        let written = self.base.as_ref().filter(|base| base.len() <= LONGEST);
        let base = written.and_then(|base| joined(page, base));
        base.filter(|base| !matches!(base.scheme(), "data" | "javascript"))
            .unwrap_or_else(|| page.clone())
    }

    fn element(&mut self, tag: &StartTag<()>) {
        let written = |name: &str| Some(tag.attributes.get(name.as_bytes())?.trim_ascii());
        let of = |name: &str| written(name).filter(|value| !value.is_empty());
        let has_word = |name: &str, words: &[&str]| {
            let value = String::from_utf8_lossy(of(name).unwrap_or_default());
            let mut all = value.split_ascii_whitespace();
            all.any(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
        };
        let image = || of("src").or_else(|| of("srcset").and_then(first_candidate));
        let mut add = |url: Option<&[u8]>| self.urls.extend(url.map(<[u8]>::to_vec));
        match tag.name.as_slice() {
            b"base" => {
                self.base = self
                    .base
                    .take()
                    .or_else(|| written("href").map(<[u8]>::to_vec))
            }
            b"picture" => self.source = NextSource::Picture(None),
            // A browser fetches one file of a picture. The one for all browsers is that of its
            // `img`. The parser takes `image` for `img`.
            b"img" | b"image" => match (image(), std::mem::take(&mut self.source)) {
                (None, NextSource::Picture(first)) => self.urls.extend(first),
                (image, _) => add(image),
            },
            b"source" => match &mut self.source {
                NextSource::Picture(first @ None) => {
                    *first = of("srcset").and_then(first_candidate).map(<[u8]>::to_vec);
                }
                NextSource::Media if of("src").is_some() => {
                    add(of("src"));
                    self.source = NextSource::Unused;
                }
                _ => {}
            },
            b"audio" | b"video" => {
                if *tag.name == b"video" {
                    add(of("poster"));
                }
                let is_later = has_word("preload", &["none"]) && written("autoplay").is_none();
                self.source = match written("src") {
                    None if !is_later => NextSource::Media,
                    _ => NextSource::Unused,
                };
                add(of("src").filter(|_| !is_later));
            }
            b"script" if is_executed(tag) => add(of("src")),
            b"iframe" if written("srcdoc").is_some() => {}
            b"iframe" | b"frame" | b"embed" | b"track" => add(of("src")),
            b"input" if has_word("type", &["image"]) => add(of("src")),
            b"object" => add(of("data")),
            b"body" => add(of("background")),
            b"link" if !has_word("rel", &["alternate"]) => {
                let is_preload = has_word("rel", &["preload"]) && has_word("as", &PRELOADED);
                let is_css = of("type").is_none_or(|kind| kind.eq_ignore_ascii_case(b"text/css"));
                let is_in_use = is_css && written("disabled").is_none();
                if is_preload
                    || has_word("rel", &["stylesheet"]) && is_in_use
                    || has_word("rel", &["icon", "modulepreload"])
                {
                    let images = of("imagesrcset").filter(|_| is_preload);
                    add(of("href").or_else(|| images.and_then(first_candidate)));
                }
            }
            _ => {}
        }
    }
}

/// Values of `as` for which a `link` preloads a file ("Translate a preload destination").
const PRELOADED: [&str; 6] = ["fetch", "font", "image", "script", "style", "track"];

/// Types of JavaScript (those of the standard "MIME Sniffing"). With parameters they are none.
const JAVASCRIPT: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

/// True if a current browser fetches a script: it is a module, or JavaScript that is neither for
/// older browsers only nor for an event ("Prepare the script element" of the HTML standard).
fn is_executed(tag: &StartTag<()>) -> bool {
    let attribute = |name: &str| {
        let value = tag.attributes.get(name.as_bytes())?;
        Some(String::from_utf8_lossy(value).to_ascii_lowercase())
    };
    let kind = match (attribute("type"), attribute("language")) {
        (Some(kind), _) => kind,
        (None, Some(language)) if !language.is_empty() => format!("text/{language}"),
        (None, _) => String::new(),
    };
    let kind = kind.trim_ascii();
    if kind == "module" {
        return true;
    }
    let is_for_all = match (attribute("for"), attribute("event")) {
        (Some(window), Some(event)) => {
            window.trim_ascii() == "window" && matches!(event.trim_ascii(), "onload" | "onload()")
        }
        _ => true,
    };
    let is_javascript = kind.is_empty() || JAVASCRIPT.contains(&kind);
    is_javascript && is_for_all && attribute("nomodule").is_none()
}

/// The first URL of a `srcset`, which commas may be part of.
fn first_candidate(srcset: &[u8]) -> Option<&[u8]> {
    let is_between = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
    let start = srcset.iter().position(|byte| !is_between(byte))?;
    let mut url = srcset[start..].split(u8::is_ascii_whitespace).next()?;
    while let [before @ .., b','] = url {
        url = before;
    }
    Some(url)
}
