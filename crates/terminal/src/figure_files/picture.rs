//! Figures as PNG, if the program was built with the feature `png`.

use std::collections::BTreeSet;

#[cfg(not(feature = "png"))]
use runner::RunnerError;

/// Refuses PNG that this program cannot draw, before anything is measured.
#[cfg(not(feature = "png"))]
pub(super) fn check() -> Result<(), RunnerError> {
    Err(RunnerError::Usage(
        "this prestan was built without PNG; use --svg, which browsers and LaTeX read, or build it with \
         `cargo install --features png`"
            .to_owned(),
    ))
}

#[cfg(not(feature = "png"))]
pub(super) fn png(_name: &str, _svg: &str) -> Result<PngPicture, RunnerError> {
    check().map(|()| PngPicture::default())
}

#[cfg(feature = "png")]
pub(super) use drawn::{check, png};

#[derive(Debug, Default)]
pub(super) struct PngPicture {
    pub(super) bytes: Vec<u8>,
    /// Characters of the figure that its font lacks: they are left blank.
    pub(super) missing: BTreeSet<char>,
}

#[cfg(feature = "png")]
mod drawn {
    use runner::RunnerError;
    use std::collections::BTreeSet;
    use std::sync::{Arc, LazyLock};

    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{self, Group, Node, Tree, fontdb};

    use super::PngPicture;

    /// Noto Sans (SIL Open Font License 1.1), with the letters of Europe only: a machine in a rack
    /// has no font.
    const FONT: &[u8] = include_bytes!("../../font/NotoSans-Regular.ttf");
    const FONT_NAME: &str = "Noto Sans";

    /// Points of a PNG for each unit of its SVG.
    const SCALE: f32 = 2.0;

    static OPTIONS: LazyLock<usvg::Options<'static>> = LazyLock::new(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        fonts.set_sans_serif_family(FONT_NAME);
        usvg::Options {
            font_family: FONT_NAME.to_owned(),
            fontdb: Arc::new(fonts),
            // The only font, regardless of the one in the SVG.
            font_resolver: usvg::FontResolver {
                select_font: Box::new(|_, fonts| fonts.faces().next().map(|face| face.id)),
                select_fallback: usvg::FontResolver::default_fallback_selector(),
            },
            ..usvg::Options::default()
        }
    });

    #[expect(clippy::unnecessary_wraps, reason = "without the feature it refuses")]
    pub(crate) fn check() -> Result<(), RunnerError> {
        Ok(())
    }

    /// The figure of this name as PNG.
    pub(crate) fn png(name: &str, svg: &str) -> Result<PngPicture, RunnerError> {
        let failed =
            |why: String| RunnerError::Local(format!("drawing {name} as PNG failed: {why}"));
        let tree = Tree::from_str(svg, &OPTIONS).map_err(|error| failed(error.to_string()))?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let size = size.ok_or_else(|| failed("it has no size".to_owned()))?;
        let picture = Pixmap::new(size.width(), size.height());
        let mut picture = picture.ok_or_else(|| failed("it is too large".to_owned()))?;
        let transform = Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, transform, &mut picture.as_mut());
        let encoded = picture.encode_png();
        let bytes = encoded.map_err(|error| failed(error.to_string()))?;
        let mut missing = BTreeSet::new();
        add_missing(tree.root(), &mut missing);
        Ok(PngPicture { bytes, missing })
    }

    /// Adds the letters of all texts whose glyph is the first of the font, which stands for missing
    /// ones.
    fn add_missing(group: &Group, missing: &mut BTreeSet<char>) {
        for node in group.children() {
            match node {
                Node::Group(group) => add_missing(group, missing),
                Node::Text(text) => {
                    let glyphs = text
                        .layouted()
                        .iter()
                        .flat_map(|span| &span.positioned_glyphs);
                    let without = glyphs.filter(|glyph| glyph.id.0 == 0);
                    missing.extend(without.flat_map(|glyph| glyph.text.chars()));
                }
                Node::Path(_) | Node::Image(_) => {}
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn drawn(text: &str) -> Vec<u8> {
            let svg = format!(
                "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='40'>\
                 <rect width='200' height='40' fill='#ffffff'/>\
                 <text x='5' y='25' font-family='Inter, sans-serif'>{text}</text></svg>"
            );
            png("text", &svg).ok().unwrap_or_default().bytes
        }

        #[test]
        fn letters_that_the_font_lacks_are_known() {
            for (text, expected) in [
                ("Größe λ 5 µs", ""),
                ("日本 a", "日本"),
                ("שרת 2", "רשת"),
                ("a 👩 b", "👩"),
            ] {
                let svg = format!(
                    "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='40'>\
                     <g><text x='5' y='25'>{text}</text></g></svg>"
                );
                let picture = png("text", &svg).ok().unwrap_or_default();
                assert_eq!(picture.missing, expected.chars().collect(), "{text}");
            }
        }

        #[test]
        fn text_is_drawn_without_any_font_of_the_machine() {
            let empty = drawn("");
            assert!(empty.starts_with(b"\x89PNG\r\n\x1a\n"));
            for text in ["Put1K", "412 µs", "Größe", "λ ±5 %", "1 … 2"] {
                assert_ne!(drawn(text), empty, "{text}");
            }
        }

        #[test]
        fn what_cannot_be_drawn_is_said() {
            let Err(RunnerError::Local(message)) = png("broken", "<svg") else {
                panic!("it was drawn")
            };
            assert!(message.contains("broken"), "{message}");
        }

        /// Symbols are lines without a length, which some programs do not draw.
        #[test]
        fn styles_and_symbols_are_drawn() {
            let svg = |marks: &str| {
                format!(
                    "<svg xmlns='http://www.w3.org/2000/svg' class='fig' width='40' height='40'>\
                     <style>{}</style><rect width='40' height='40' fill='#ffffff'/>{marks}</svg>",
                    figures::style(figures::Ground::Paper)
                )
            };
            let point = "<path class='p s0' d='M20 20h0'/>";
            for (marks, expected) in [("", 255), (point, 0)] {
                let picture = png("point", &svg(marks)).ok().unwrap_or_default();
                let picture = Pixmap::decode_png(&picture.bytes).map(|image| image.pixel(40, 40));
                let red = picture.ok().flatten().map(|pixel| pixel.red());
                assert_eq!(red, Some(expected), "{marks}");
            }
        }
    }
}
