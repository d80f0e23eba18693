//! Pieces of SVG: escaped text, short coordinates, paths.

use std::fmt::{self, Write as _};

use unicode_width::UnicodeWidthChar as _;

use crate::clean::{clean, letters};
use crate::figure::Anchor;

/// Text for an element or an attribute: markup is escaped, and characters that XML cannot hold or a
/// reader cannot see are made visible.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Width of a text in pixels: at least that in DejaVu Sans, the widest of the usual fonts.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    clean(text).chars().map(em).sum::<f64>() * size
}

/// Width of a letter as a part of the size of letters.
fn em(letter: char) -> f64 {
    match letter {
        'f' | 'i' | 'j' | 'l' | 'r' | 't' | 'I' | 'J' | ' ' | '.' | ',' | ':' | ';' | '\''
        | '!' | '|' | '/' | '\\' | '(' | ')' | '[' | ']' | '-' => 0.42,
        'm' | 'M' | 'W' | '@' | '%' | '…' => 1.0,
        'µ' | 'a'..='v' | 'x'..='z' | '0'..='9' | '{' | '}' | '"' | '_' | '?' | '*' | '$' => 0.64,
        ' '..='~' => 0.84,
        // Full width, half width or none.
        other => match other.width().unwrap_or(0) {
            0 => 0.0,
            1 => 0.94,
            _ => 1.0,
        },
    }
}

/// The first letters of a text that is too long, and dots; nothing where there is room for less
/// than three letters.
pub(crate) fn shortened(text: &str, size: f64, most: f64) -> String {
    let text = clean(text);
    if width(&text, size) <= most {
        return text;
    }
    let mut kept = String::new();
    let mut room = most - size * em('…');
    for letter in letters(&text) {
        room -= width(letter, size);
        if room < 0.0 {
            break;
        }
        kept += letter;
    }
    match kept.chars().count() {
        0..=1 => String::new(),
        _ => kept + "…",
    }
}

/// A coordinate in tenths: finer steps are invisible. NaN is zero.
fn tenths(value: f64) -> i64 {
    // For all values, a coordinate is a number with which calculations are possible.
    (value * 10.0).round().clamp(-1e9, 1e9) as i64
}

/// A number of tenths, as short as possible: `12.5`, `-.5`, `3`.
fn written(tenths: i64) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.abs() / 10, tenths.abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// A coordinate outside of paths.
#[derive(Clone, Copy)]
pub(crate) struct Tenth(pub(crate) f64);

impl fmt::Display for Tenth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(tenths(self.0)))
    }
}

/// The `d` of a path. A page has many thousands of points, so the shorter one of absolute and
/// relative commands is written. Each mark begins with `M` or `m`, and has no other one.
#[derive(Default)]
pub(crate) struct Path {
    pub(crate) d: String,
    /// Start of the last mark, and position of the pen, in tenths.
    start: (i64, i64),
    at: (i64, i64),
    command: Option<char>,
}

impl Path {
    pub(crate) fn begin(&mut self, x: f64, y: f64) {
        let to = (tenths(x), tenths(y));
        let by = (to.0 - self.at.0, to.1 - self.at.1);
        let absolute = [to.0, to.1];
        let relative = (!self.d.is_empty()).then_some([by.0, by.1]);
        // A pair after a move without a letter would be a line.
        self.command = None;
        self.shorter('M', &absolute, relative.as_ref().map(|by| &by[..]));
        self.command = None;
        (self.start, self.at) = (to, to);
    }

    pub(crate) fn line_to(&mut self, x: f64, y: f64) {
        let to = (tenths(x), tenths(y));
        let by = (to.0 - self.at.0, to.1 - self.at.1);
        match by {
            (0, 0) => {}
            (_, 0) => self.shorter('H', &[to.0], Some(&[by.0])),
            (0, _) => self.shorter('V', &[to.1], Some(&[by.1])),
            _ => self.shorter('L', &[to.0, to.1], Some(&[by.0, by.1])),
        }
        self.at = to;
    }

    /// Straight lines, each by an offset.
    pub(crate) fn steps(&mut self, steps: &[(f64, f64)]) {
        for (dx, dy) in steps {
            let (x, y) = (self.at.0 + tenths(*dx), self.at.1 + tenths(*dy));
            self.line_to(x as f64 / 10.0, y as f64 / 10.0);
        }
    }

    /// A line of no length, of which the ends are visible.
    pub(crate) fn dot(&mut self, x: f64, y: f64) {
        self.begin(x, y);
        self.d.push_str("h0");
    }

    pub(crate) fn circle(&mut self, x: f64, y: f64, radius: f64) {
        self.begin(x - radius, y);
        let (r, across) = (Tenth(radius), Tenth(2.0 * radius));
        // Writing to a string does not fail.
        let _ = write!(
            self.d,
            "a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0-{across} 0z"
        );
    }

    pub(crate) fn close(&mut self) {
        self.d.push('z');
        (self.at, self.command) = (self.start, None);
    }

    /// A closed polygon: its first corner, and the offset from each to the next.
    pub(crate) fn polygon(&mut self, (x, y): (f64, f64), steps: &[(f64, f64)]) {
        self.begin(x, y);
        self.steps(steps);
        self.close();
    }

    /// A rectangle: a corner, width and height. A script of pages reads both from it.
    pub(crate) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.begin(x, y);
        let (width, height) = (tenths(width).max(1), tenths(height).max(1));
        let (w, h) = (written(width), written(height));
        // Writing to a string does not fail.
        let _ = write!(self.d, "h{w}v{h}h-{w}z");
    }

    fn shorter(&mut self, command: char, absolute: &[i64], relative: Option<&[i64]>) {
        let absolute = self.command_of(command, absolute);
        let relative = relative.map(|by| self.command_of(command.to_ascii_lowercase(), by));
        let (command, written) = match relative {
            Some(relative) if relative.1.len() <= absolute.1.len() => relative,
            _ => absolute,
        };
        self.d.push_str(&written);
        self.command = Some(command);
    }

    /// A command with its arguments; the letter is left out where it is the same as before.
    fn command_of(&self, command: char, arguments: &[i64]) -> (char, String) {
        let is_again = self.command == Some(command);
        let mut out = String::new();
        if !is_again {
            out.push(command);
        }
        for (index, argument) in arguments.iter().enumerate() {
            let is_first = index == 0 && !is_again;
            if !is_first && *argument >= 0 {
                out.push(' ');
            }
            out.push_str(&written(*argument));
        }
        (command, out)
    }
}

/// Texts, grouped by their look: `class` then occurs once.
#[derive(Default)]
pub(crate) struct PlacedTexts(Vec<(String, Vec<String>)>);

impl PlacedTexts {
    /// Adds nothing for an empty text.
    pub(crate) fn add(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        if text.is_empty() || !(x + y).is_finite() {
            return;
        }
        let class = match anchor {
            Anchor::Start => class.to_owned(),
            Anchor::Middle => format!("{class} c"),
            Anchor::End => format!("{class} e"),
        };
        let (x, y) = (x.round(), y.round());
        let text = format!(" x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(text));
        match self.0.iter_mut().find(|(other, _)| *other == class) {
            Some((_, texts)) => texts.push(text),
            None => self.0.push((class, vec![text])),
        }
    }

    pub(crate) fn write(self, out: &mut String) {
        for (class, texts) in self.0 {
            if let [text] = &texts[..] {
                out.extend(["<text class=\"", &class, "\"", text]);
            } else {
                out.extend(["<g class=\"", &class, "\">\n"]);
                texts.iter().for_each(|text| out.extend(["<text", text]));
                out.push_str("</g>\n");
            }
        }
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
            ("a\u{202e}b\u{ffff}", "a\\u{202e}b\\u{ffff}"),
        ];
        for (text, expected) in table {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn what_is_too_long_ends_in_dots() {
        let table = [
            ("Apache", 49.0, "Apache"),
            ("Apache 2", 49.0, "Apac…"),
            ("漢字漢字", 40.4, "漢字…"),
            ("ab\u{202e}cd", 49.0, "ab…"),
            ("WWWWWW", 48.0, "WWW…"),
            ("illicit", 38.0, "illicit"),
            ("Apache", 10.0, ""),
            ("", 0.0, ""),
        ];
        for (text, most, expected) in table {
            assert_eq!(shortened(text, 12.0, most), expected, "{text}");
        }
        // A text that has the room of its width is shown.
        for text in ["x\0", "a\u{202e}b\n", "größe"] {
            assert_eq!(shortened(text, 12.0, width(text, 12.0)), clean(text));
        }
    }

    #[test]
    fn coordinates_are_short() {
        for (value, expected) in [
            (1.0, "1"),
            (0.26, ".3"),
            (-0.01, "0"),
            (-0.26, "-.3"),
            (-12.34, "-12.3"),
            (f64::NAN, "0"),
        ] {
            assert_eq!(Tenth(value).to_string(), expected);
        }
    }

    #[test]
    fn paths_are_as_short_as_they_can_be() {
        let mut path = Path::default();
        path.rect((123.42, 56.7), (8.0, 40.24));
        path.rect((132.4, 50.2), (8.0, 46.9));
        assert_eq!(path.d, "M123.4 56.7h8v40.2h-8zm9-6.5h8v46.9h-8z");
        let mut path = Path::default();
        path.begin(100.0, 100.0);
        // Rounding errors do not add up.
        for step in 1..=4 {
            path.line_to(100.0 + 0.26 * f64::from(step), 100.0 - f64::from(step));
        }
        path.line_to(5.0, 96.0);
        path.line_to(5.0, 200.0);
        path.dot(0.0, 0.0);
        assert_eq!(path.d, "M100 100l.3-1 .2-1 .3-1 .2-1H5v104M0 0h0");
        let mut path = Path::default();
        path.polygon((3.0, 0.0), &[(4.0, 7.0), (-8.0, 0.0)]);
        path.circle(10.0, 10.0, 3.0);
        assert_eq!(path.d, "M3 0l4 7h-8zm4 10a3 3 0 1 0 6 0a3 3 0 1 0-6 0z");
    }
}
