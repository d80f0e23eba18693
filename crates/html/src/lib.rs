//! The files that a page of HTML names: what a browser fetches to show it.
//!
//! The document is read by a tokenizer of HTML, not as a tree: elements with files are the same wherever they stand.
//! Scripts are not executed, and style sheets are not read, so what these name is not found.
//!
//! The encoding of the document need not be known: markup is ASCII, and a URL that is no UTF-8 is read as
//! windows-1252, as browsers read pages that declare no encoding. (UTF-16 is not read.)

mod foreign;

use std::borrow::Cow;
use std::collections::BTreeSet;

use html5gum::{DefaultEmitter, StartTag, State, Token, Tokenizer};
use url::Url;

use foreign::ForeignContent;
use wire::target::Target;

/// Most bytes of a document that are read.
pub const MOST_BYTES: usize = 2 << 20;
/// Most files that are taken from one.
pub const MOST_PARTS: usize = 256;
/// Most references that are looked at.
const MOST_REFERENCES: usize = 4096;
/// Longest path of one, and longest `base`, which is a part of each.
const LONGEST: usize = 2048;
/// The files that a page names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamedParts {
    /// Paths on the server of the page with their queries, each once, in the order of the document.
    pub paths: Vec<String>,
    /// Different files of other servers.
    pub elsewhere: usize,
    /// Files that are not among `paths`, because there are too many, or because their paths are too long or name
    /// another method.
    pub refused: usize,
    /// The document was not read to its end.
    pub is_cut: bool,
}

/// What the document at that URL names.
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
            // The emitter does not know that no content is text there.
            Token::StartTag(tag) if foreign.takes(&tag) => tokens.set_state(State::Data),
            Token::Comment(comment) if foreign.is_open() && is_begun_cdata(&comment) => {
                tokens.set_state(State::CdataSection);
            }
            Token::StartTag(tag) if *tag.name == b"template" => named.templates += 1,
            Token::EndTag(tag) if *tag.name == b"template" => {
                named.templates = named.templates.saturating_sub(1);
            }
            // The emitter, which knows the other elements whose content is text, calls it `noframe`.
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

/// Those on the server of the page, and how many others.
fn sorted_out(urls: &[Vec<u8>], base: &Url, page: &Url) -> NamedParts {
    let mut parts = NamedParts::default();
    let mut known = BTreeSet::new();
    parts.refused = urls.len().saturating_sub(MOST_REFERENCES);
    for url in urls.iter().take(MOST_REFERENCES) {
        let Some(mut url) = joined(base, url) else {
            continue;
        };
        url.set_fragment(None);
        // What has no server, `data:` for example, is not fetched.
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

/// The URL that is written in a document. Where it is no UTF-8, its path is encoded as UTF-8 and its query as it is
/// written, as in a page of windows-1252.
fn joined(base: &Url, written: &[u8]) -> Option<Url> {
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

/// What the tags of a document name.
#[derive(Default)]
struct NamedUrls {
    /// Of the first `base` that has one.
    base: Option<Vec<u8>>,
    /// As they are written.
    urls: Vec<Vec<u8>>,
    /// Templates that are open: what is in them is not shown.
    templates: usize,
    source: NextSource,
}

/// What the next `source` is for.
#[derive(Default)]
enum NextSource {
    /// Nothing that has no file yet.
    #[default]
    Unused,
    /// An open `picture`, and the first of its sources.
    Picture(Option<Vec<u8>>),
    /// An open `audio` or `video`.
    Media,
}

impl NamedUrls {
    /// What URLs are relative to: one that cannot be read, or whose scheme is that of data or scripts, is none, and no
    /// later one takes its place.
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
            // A browser fetches one file of a picture. The one for all browsers is that of its `img`.
            b"img" => match (image(), std::mem::take(&mut self.source)) {
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
                add(of("src"));
                self.source = match written("src") {
                    Some(_) => NextSource::Unused,
                    None => NextSource::Media,
                };
            }
            b"script" if is_executed(tag) => add(of("src")),
            b"iframe" | b"frame" | b"embed" | b"track" => add(of("src")),
            b"input" if has_word("type", &["image"]) => add(of("src")),
            b"object" => add(of("data")),
            b"body" => add(of("background")),
            b"link" => {
                let kinds = ["stylesheet", "icon", "preload", "modulepreload"];
                if has_word("rel", &kinds) && !has_word("rel", &["alternate"]) {
                    let images = || of("imagesrcset").filter(|_| has_word("rel", &["preload"]));
                    add(of("href").or_else(|| images().and_then(first_candidate)));
                }
            }
            _ => {}
        }
    }
}

/// Types of JavaScript that are in use. With parameters they are none.
const JAVASCRIPT: [&str; 7] = [
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "text/x-javascript",
    "text/ecmascript",
    "application/ecmascript",
    "text/jscript",
];

/// Whether a browser of today fetches a script: it is a module, or JavaScript that is not for older browsers only.
fn is_executed(tag: &StartTag<()>) -> bool {
    let attribute = |name: &str| tag.attributes.get(name.as_bytes());
    let kind = attribute("type").map(|kind| kind.trim_ascii().to_ascii_lowercase());
    let kind = kind.unwrap_or_default();
    if kind == b"module" {
        return true;
    }
    let is_javascript = kind.is_empty() || JAVASCRIPT.iter().any(|own| own.as_bytes() == kind);
    is_javascript && attribute("nomodule").is_none()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: &str = "http://h:81/a/index.html";

    fn paths(document: &str) -> Vec<String> {
        named_parts(document.as_bytes(), PAGE).paths
    }

    #[test]
    fn files_of_every_kind_are_found_in_the_order_of_the_document() {
        let document = r#"<!doctype html><HTML><head><title><img src=no></title>
            <link rel="shortcut ICON" href="/i.png"><link rel=stylesheet href='s.css?a=1&amp;b=2#x'>
            <link rel="alternate stylesheet" href=no><link rel=next href=no><link rel=preload href=f.woff>
            <script src=s.js>"<img src=no>"</script><style>b { background: url(no) }</style></head>
            <body background="b.gif"><IMG SRC="p q.png"><img srcset="x1.png 1x, x2.png 2x"><img src="">
            <picture><source srcset="w.webp"><img src=w.jpg srcset=no></picture><a href=no><!-- <img src=no> -->
            <template><img src=no></template><textarea><img src=no></textarea><noscript><img src=no></noscript><noframes><img src=no></noframes><xmp><img src=no></xmp><input type=image src=n.gif>
            <input src=no><iframe src=fr.html><img src=no></iframe><video poster=v.png src=v.mp4></video>
            <audio><source src=a.ogg></audio><object data=o.svg></object><embed src=e><track src=t>
            <img src="&eacute;.png"><img src=unfinished"#;
        let expected = [
            "/i.png",
            "/a/s.css?a=1&b=2",
            "/a/f.woff",
            "/a/s.js",
            "/a/b.gif",
            "/a/p%20q.png",
            "/a/x1.png",
            "/a/w.jpg",
            "/a/n.gif",
            "/a/fr.html",
            "/a/v.png",
            "/a/v.mp4",
            "/a/a.ogg",
            "/a/o.svg",
            "/a/e",
            "/a/t",
            "/a/%C3%A9.png",
        ];
        assert_eq!(paths(document), expected);
    }

    #[test]
    fn the_first_base_counts_if_it_is_one() {
        let cases = [
            ("<base href='data:/,x'>", "/a/1"),
            ("<base href='javascript:x'><base href=/no/>", "/a/1"),
            ("<base href=''><base href=/no/>", "/a/1"),
            ("<base href='http://['><base href=/no/>", "/a/1"),
            ("<base href='#x'><base href=/no/>", "/a/1"),
            ("<base target=_top><base href=/x/>", "/x/1"),
            ("<template><base href=/no/></template>", "/a/1"),
            ("<svg><base href=/no/></svg>", "/a/1"),
        ];
        for (base, expected) in cases {
            let document = format!("{base}<img src=1><img src=/2>");
            assert_eq!(paths(&document), [expected, "/2"], "{base}");
        }
        // Nothing is relative to this one.
        assert_eq!(
            paths("<base href=mailto:x><img src=1><img src=http://h:81/2>"),
            ["/2"]
        );
    }

    #[test]
    fn elements_of_svg_and_mathml_do_not_swallow_the_page() {
        let kept = [
            "<svg><style/></svg>",
            "<svg><title/><path d='M0 0'/></svg>",
            "<svg><script/></svg>",
            "<svg><defs><textarea/><plaintext/><iframe/><noscript/><xmp/></defs></svg>",
            "<math><title/><mi/></math>",
            "<svg><style>a > b { fill: red }</style><script src=/no></script></svg>",
            "<svg><style><![CDATA[ a > b <img src=/no> ]]></style></svg>",
            "<svg><![CDATA[]]></svg>",
            "<svg><![CDATA[<img src=/no>]]></svg>",
            "<svg/><title><img src=/no></title>",
            "<svg><foreignObject><style><img src=/no></style></foreignObject><style/></svg>",
            "<svg><desc><svg><style/></svg><title><img src=/no></title></desc><style/></svg>",
            "<math><mtext><style><img src=/no></style></mtext><style/></math>",
            "<math><annotation-xml encoding=text/HTML><style><img src=/no></style></annotation-xml><style/></math>",
            // Elements of HTML end the others.
            "<svg><p><style><img src=/no></style>",
            "<svg><g></p><style><img src=/no></style>",
            "<svg><font size=1><style><img src=/no></style>",
            "<svg><font><style/></font></svg>",
            "<svg><template></svg>",
            "</svg></math></title>",
        ];
        for own in kept {
            assert_eq!(paths(&format!("{own}<img src=1>")), ["/a/1"], "{own}");
        }
        let deep = format!(
            "{}<style/>{}<img src=1>",
            "<svg>".repeat(150_000),
            "</x>".repeat(150_000)
        );
        assert_eq!(paths(&deep), ["/a/1"]);
        // A title of SVG holds HTML, and an image of HTML is one in SVG, too.
        assert_eq!(
            paths("<svg><title><img src=1></title><img src=2></svg>"),
            ["/a/1", "/a/2"]
        );
        // Slashes mean nothing in HTML.
        assert_eq!(paths("<style/><img src=1></style><img src=2>"), ["/a/2"]);
    }

    #[test]
    fn one_file_of_several_is_fetched() {
        let cases = [
            (
                "<picture><source srcset=no><source srcset=no2><img src=1></picture><img src=2>",
                vec!["/a/1", "/a/2"],
            ),
            (
                "<picture><source src=no><source srcset='1 2x'><source srcset=no><img alt=x></picture>",
                vec!["/a/1"],
            ),
            ("<picture><source srcset=no></picture><img>", vec![]),
            (
                "<audio><source src=1><source src=no></audio><video><source src=''><source src=2><source src=no></video>",
                vec!["/a/1", "/a/2"],
            ),
            (
                "<video src=1><source src=no></video><source src=no>",
                vec!["/a/1"],
            ),
            ("<video><source srcset=no></video>", vec![]),
            (
                "<link rel=preload as=image imagesrcset='1 400w, no 800w'><link rel=icon imagesrcset=no>\
                 <link rel=preload href=2 imagesrcset=no>",
                vec!["/a/1", "/a/2"],
            ),
            ("<img srcset=' , 1,2, no 2x'>", vec!["/a/1,2"]),
        ];
        for (document, expected) in cases {
            assert_eq!(paths(document), expected, "{document}");
        }
    }

    #[test]
    fn scripts_that_are_not_executed_are_not_fetched() {
        let document = "<script src=1></script><script type='' src=2></script><script type=module nomodule src=3></script>\
            <script type=' Text/JavaScript ' src=4></script><script nomodule src=no></script>\
            <script type=text/template src=no></script><script type=application/json src=no></script>\
            <script type=importmap src=no></script><script type='text/javascript;charset=utf-8' src=no></script>";
        assert_eq!(paths(document), ["/a/1", "/a/2", "/a/3", "/a/4"]);
    }

    #[test]
    fn a_url_that_is_no_utf_8_is_that_of_a_page_of_windows_1252() {
        let found = |document: &[u8]| named_parts(document, PAGE).paths;
        assert_eq!(
            found(b"<img alt='\xfc' src='/gr\xfcn\x80.png?q=gr\xfcn\x80#\xfc'>"),
            ["/gr%C3%BCn%E2%82%AC.png?q=gr%FCn%80"]
        );
        // A byte elsewhere changes nothing.
        assert_eq!(
            found("<p>\u{fc}</p><img src='/gr\u{fc}n?q=\u{fc}'>".as_bytes()),
            ["/gr%C3%BCn?q=%C3%BC"]
        );
        let mixed = [b"<p>\xfc</p>".as_slice(), "<img src=/\u{fc}>".as_bytes()].concat();
        assert_eq!(found(&mixed), ["/%C3%BC"]);
        assert_eq!(found(b"<base href='/\xfc/'><img src=1>"), ["/%C3%BC/1"]);
        assert_eq!(found(b"\xef\xbb\xbf<img src=1>"), ["/a/1"]);
        let every: Vec<u8> = (0..=u8::MAX).collect();
        let back: Vec<u8> = every
            .iter()
            .map(|byte| byte_of(windows_1252(*byte)))
            .collect();
        assert_eq!(back, every);
    }

    #[test]
    fn only_files_of_this_server_are_taken_and_each_once() {
        let document = r#"<base href="http://H:81/x/y"><base href="/no/">
            <img src=1><img src=./1#f><img src="http://h:81/x/1"><img src=//h:81/x/1>
            <img src=http://h/2><img src=https://h:81/2><img src=http://h/2#f><img src=//other/3>
            <img src="data:image/png;base64,AA"><img src="javascript:x()"><img src="http://[">
            <iframe src="/a/index.html#top"></iframe><img src="/4?_method=DELETE"><img src=../../../../5>"#;
        let found = named_parts(document.as_bytes(), PAGE);
        let expected = NamedParts {
            paths: vec!["/x/1".to_owned(), "/5".to_owned()],
            elsewhere: 3,
            refused: 1,
            is_cut: false,
        };
        assert_eq!(found, expected);
        // A base may be on another server.
        let away = named_parts(
            b"<base href=http://o/><img src=1><img src=http://h:81/2>",
            PAGE,
        );
        assert_eq!((away.paths, away.elsewhere), (vec!["/2".to_owned()], 1));
        assert_eq!(
            named_parts(b"<img src=1>", "nonsense"),
            NamedParts::default()
        );
    }

    #[test]
    fn there_are_bounds() {
        let many: String = (0..300).map(|n| format!("<img src={n}>")).collect();
        let found = named_parts(many.as_bytes(), PAGE);
        assert_eq!(
            (found.paths.len(), found.refused, found.is_cut),
            (256, 44, false)
        );
        let references: String = (0..5000).map(|n| format!("<img src={n}>")).collect();
        let found = named_parts(references.as_bytes(), PAGE);
        assert_eq!((found.paths.len(), found.refused), (256, 5000 - 256));
        // Each file has the base in it: together they are no longer than what is read.
        let base = format!("<base href=\"/{}/\"><img src=1>", "x".repeat(LONGEST));
        assert_eq!(paths(&base), ["/a/1"]);
        let long = format!("<img src={}><img src=1>", "x".repeat(3000));
        let found = named_parts(long.as_bytes(), PAGE);
        assert_eq!((found.paths.len(), found.refused), (1, 1));
        // A picture that stands in the document itself is long, and no list of attributes.
        let inline = format!(
            "<img src='data:image/png;base64,{}'><img src=1>",
            "x".repeat(200_000)
        );
        assert_eq!(paths(&inline), ["/a/1"]);
        // A long list of attributes takes no longer than anything else of its length.
        for attribute in ["a{n}=\"\"", "{n} ", "a "] {
            let all: String = (0..150_000)
                .map(|n| attribute.replace("{n}", &n.to_string()))
                .collect();
            assert_eq!(
                paths(&format!("<img src=1><b {all}><img src=2>")),
                ["/a/1", "/a/2"]
            );
        }
        let text = format!("{}<img src=1>", "word ".repeat(MOST_BYTES / 5 - 10));
        assert_eq!(paths(&text), ["/a/1"]);
        let text = format!("{}<img src=1>", "word ".repeat(MOST_BYTES / 5));
        let found = named_parts(text.as_bytes(), PAGE);
        assert_eq!((found.paths.len(), found.is_cut), (0, true));
    }

    proptest! {
        /// Whatever a server sends, paths are fit for the first line of a request.
        #[test]
        fn whatever_is_sent_there_is_no_panic_and_paths_can_be_sent(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("<img src=".as_bytes().to_vec()), Just(b"<base href='".to_vec()), Just(b"'>".to_vec()),
                    Just(b"//h:81/".to_vec()), Just(b"<script>".to_vec()), Just(b"<!--".to_vec()),
                    Just(b"<svg>".to_vec()), Just(b"<title/>".to_vec()), Just(b"<![CDATA[".to_vec()),
                    Just(b"&#x0A;&amp;&#13;".to_vec()), Just(b"<link rel=icon href=\"".to_vec()),
                    proptest::collection::vec(any::<u8>(), 0..20),
                ],
                0..40,
            ),
        ) {
            for path in named_parts(&pieces.concat(), PAGE).paths {
                prop_assert!(path.starts_with('/') && path.len() <= LONGEST, "{path}");
                prop_assert!(path.bytes().all(|byte| (0x21..0x7f).contains(&byte) && byte != b'#'), "{path}");
            }
        }
    }
}
