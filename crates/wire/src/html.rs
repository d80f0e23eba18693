//! The files that a page of HTML names: what a browser fetches to show it.
//!
//! The document is read by a tokenizer of HTML, not as a tree: elements with files are the same wherever they stand.
//! Scripts are not executed, and style sheets are not read, so what these name is not found.

use std::collections::BTreeSet;

use html5gum::{DefaultEmitter, StartTag, State, Token, Tokenizer};
use url::Url;

use crate::target::Target;

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
    let text = String::from_utf8_lossy(read);
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut named = NamedUrls::default();
    let mut tokens = Tokenizer::new_with_emitter(&*text, emitter);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) if *tag.name == b"template" => named.templates += 1,
            Token::EndTag(tag) if *tag.name == b"template" => {
                named.templates = named.templates.saturating_sub(1);
            }
            // The emitter, which knows the other elements whose content is text, calls it `noframe`.
            Token::StartTag(tag) if *tag.name == b"noframes" => tokens.set_state(State::RawText),
            Token::StartTag(tag) if named.templates == 0 => named.element(&tag),
            _ => {}
        }
    }
    let base = named.base.filter(|base| base.len() <= LONGEST);
    let base = base.and_then(|base| page.join(&base).ok());
    NamedParts {
        is_cut: read.len() < document.len(),
        ..sorted_out(&named.urls, base.as_ref().unwrap_or(&page), &page)
    }
}

/// Those on the server of the page, and how many others.
fn sorted_out(urls: &[String], base: &Url, page: &Url) -> NamedParts {
    let mut parts = NamedParts::default();
    let mut known = BTreeSet::new();
    parts.refused = urls.len().saturating_sub(MOST_REFERENCES);
    for url in urls.iter().take(MOST_REFERENCES) {
        let Ok(mut url) = base.join(url) else {
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

/// What the tags of a document name.
#[derive(Default)]
struct NamedUrls {
    /// Of the first `base`.
    base: Option<String>,
    /// As they are written.
    urls: Vec<String>,
    /// Templates that are open: what is in them is not shown.
    templates: usize,
}

impl NamedUrls {
    fn element(&mut self, tag: &StartTag<()>) {
        let of = |name: &str| {
            let value = std::str::from_utf8(tag.attributes.get(name.as_bytes())?).ok()?;
            let value = value.trim_ascii();
            (!value.is_empty()).then_some(value)
        };
        let has_word = |value: Option<&str>, words: &[&str]| {
            let mut all = value.unwrap_or_default().split_ascii_whitespace();
            all.any(|word| words.iter().any(|known| known.eq_ignore_ascii_case(word)))
        };
        let mut add = |url: Option<&str>| self.urls.extend(url.map(str::to_owned));
        match std::str::from_utf8(&tag.name).unwrap_or_default() {
            "base" => self.base = self.base.take().or_else(|| of("href").map(str::to_owned)),
            // One of several pictures is shown: that for any screen, or else the first.
            "img" | "source" => add(of("src").or_else(|| of("srcset").and_then(first_candidate))),
            "script" | "iframe" | "frame" | "embed" | "audio" | "track" => add(of("src")),
            "input" if has_word(of("type"), &["image"]) => add(of("src")),
            "video" => {
                add(of("poster"));
                add(of("src"));
            }
            "object" => add(of("data")),
            "body" => add(of("background")),
            "link" => {
                let kinds = ["stylesheet", "icon", "preload", "modulepreload"];
                if has_word(of("rel"), &kinds) && !has_word(of("rel"), &["alternate"]) {
                    add(of("href"));
                }
            }
            _ => {}
        }
    }
}

/// The first URL of a `srcset`, which commas may be part of.
fn first_candidate(srcset: &str) -> Option<&str> {
    let start = srcset.trim_start_matches(|c: char| c == ',' || c.is_ascii_whitespace());
    let url = start.split_ascii_whitespace().next()?.trim_end_matches(',');
    (!url.is_empty()).then_some(url)
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
            "/a/w.webp",
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
