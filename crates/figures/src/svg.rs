//! Pieces of SVG: text that is safe, coordinates that are short, paths.

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;

use crate::clean;

/// Text for an element or an attribute: markup is escaped, and what XML cannot hold or a reader cannot see is visible.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // These two are no characters of XML.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Width of a text in pixels, whatever the font: letters of a sans-serif are about this wide.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.width() as f64 * size * 0.56
}

/// The first letters of a text that is too long, and dots; nothing where there is room for less than three letters.
pub(crate) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept, size) + size * 0.56 > most {
            kept.pop();
            break;
        }
    }
    match kept.chars().count() {
        0..=1 => String::new(),
        _ => kept + "…",
    }
}

/// A coordinate with one decimal: finer is not seen.
#[derive(Clone, Copy)]
pub(crate) struct Tenth(pub(crate) f64);

impl fmt::Display for Tenth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whatever the values are, a coordinate is a number, and there is no negative zero.
        let value = if self.0.is_finite() { self.0 } else { 0.0 };
        write!(f, "{}", (value * 10.0).round() / 10.0 + 0.0)
    }
}

/// The `d` of a path. Each mark begins with `M`, and has no other one.
#[derive(Default)]
pub(crate) struct Path(pub(crate) String);

impl Path {
    pub(crate) fn begin(&mut self, x: f64, y: f64) {
        self.add('M', &[x, y]);
    }

    /// A command of paths with its arguments.
    pub(crate) fn add(&mut self, command: char, arguments: &[f64]) {
        self.0.push(command);
        for (place, argument) in arguments.iter().enumerate() {
            let before = if place == 0 { "" } else { " " };
            // Writing to a string does not fail.
            let _ = write!(self.0, "{before}{}", Tenth(*argument));
        }
    }

    pub(crate) fn close(&mut self) {
        self.0.push('z');
    }

    /// A closed polygon of steps from its first corner.
    pub(crate) fn polygon(&mut self, (x, y): (f64, f64), steps: &[(f64, f64)]) {
        self.begin(x, y);
        for (place, (dx, dy)) in steps.iter().enumerate() {
            self.add(if place == 0 { 'm' } else { 'l' }, &[*dx, *dy]);
        }
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_harmless() {
        let table = [
            ("a<b> & \"c\" ]]>", "a&lt;b&gt; &amp; &quot;c&quot; ]]&gt;"),
            ("a\u{1b}[1m\0\n", "a\\u{1b}[1m\\u{0}\\n"),
            ("a\u{202e}b\u{ffff}", "a\\u{202e}b\u{fffd}"),
        ];
        for (text, expected) in table {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn what_is_too_long_ends_in_dots() {
        let table = [
            ("Apache", 40.4, "Apache"),
            ("Apache 2", 40.4, "Apach…"),
            ("漢字漢字", 40.4, "漢字…"),
            ("Apache", 10.0, ""),
            ("", 0.0, ""),
        ];
        for (text, most, expected) in table {
            assert_eq!(shortened(text, 12.0, most), expected, "{text}");
        }
    }

    #[test]
    fn coordinates_are_short() {
        for (value, expected) in [
            (1.0, "1"),
            (0.26, "0.3"),
            (-0.01, "0"),
            (-12.34, "-12.3"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(Tenth(value).to_string(), expected);
        }
    }
}
