//! SVG and MathML inside of HTML, whose elements are not elements of HTML, whatever their names.

use html5gum::StartTag;

/// Greatest depth of nested elements; deeper ones are not distinguished.
const DEEPEST: usize = 64;

/// The elements of SVG and MathML that are open, and those of them that contain HTML again; the
/// innermost is the last one.
#[derive(Default)]
pub(super) struct ForeignContent(Vec<Vec<u8>>);

impl ForeignContent {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.0.last().map(Vec::as_slice), Some(b"svg" | b"math"))
    }

    /// True if this tag is one of SVG or MathML. Some tags of HTML end these.
    pub(super) fn takes(&mut self, tag: &StartTag<()>) -> bool {
        let name = tag.name.as_slice();
        if self.is_open() && ends_foreign(tag) {
            self.leave();
        }
        let is_root = matches!(name, b"svg" | b"math");
        let is_foreign = self.is_open() || is_root;
        let holds_html = match self.0.last().map(Vec::as_slice) {
            Some(b"svg") => matches!(name, b"foreignobject" | b"desc" | b"title"),
            Some(b"math") => match name {
                b"mi" | b"mo" | b"mn" | b"ms" | b"mtext" => true,
                b"annotation-xml" => {
                    tag.attributes
                        .get(b"encoding".as_slice())
                        .is_some_and(|attribute| {
                            let html: [&[u8]; 2] = [b"text/html", b"application/xhtml+xml"];
                            html.iter()
                                .any(|known| attribute.eq_ignore_ascii_case(known))
                        })
                }
                _ => false,
            },
            _ => false,
        };
        if (is_root || holds_html) && !tag.self_closing && self.0.len() < DEEPEST {
            self.0.push(name.to_vec());
        }
        is_foreign
    }

    pub(super) fn end(&mut self, name: &[u8]) {
        if self.is_open() && matches!(name, b"p" | b"br") {
            self.leave();
        }
        if let Some(at) = self.0.iter().rposition(|open| open == name) {
            self.0.truncate(at);
        }
    }

    fn leave(&mut self) {
        while self.is_open() {
            self.0.pop();
        }
    }
}

/// True if a tag ends all SVG and MathML ("The rules for parsing tokens in foreign content").
fn ends_foreign(tag: &StartTag<()>) -> bool {
    match tag.name.as_slice() {
        b"font" => ["color", "face", "size"]
            .iter()
            .any(|name| tag.attributes.contains_key(name.as_bytes())),
        b"b" | b"big" | b"blockquote" | b"body" | b"br" | b"center" | b"code" | b"dd" | b"div"
        | b"dl" | b"dt" | b"em" | b"embed" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6"
        | b"head" | b"hr" | b"i" | b"img" | b"li" | b"listing" | b"menu" | b"meta" | b"nobr"
        | b"ol" | b"p" | b"pre" | b"ruby" | b"s" | b"small" | b"span" | b"strong" | b"strike"
        | b"sub" | b"sup" | b"table" | b"tt" | b"u" | b"ul" | b"var" => true,
        _ => false,
    }
}
