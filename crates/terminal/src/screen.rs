//! Capabilities of standard output and standard error: columns, signs, colours, and moving lines.

use std::env;
use std::io::{self, IsTerminal};
use std::ops::RangeInclusive;

/// Narrowest and widest output on a terminal, in columns.
const WIDTHS: RangeInclusive<usize> = 40..=160;

/// Width below which tables, excerpts and examples are folded, too.
const NARROW: usize = 60;

/// Signs of this program and their replacements in ASCII.
const SIGNS: [(char, &str); 20] = [
    ('µ', "u"),
    ('±', "+-"),
    ('×', "x"),
    ('÷', "/"),
    ('–', "-"),
    ('—', "-"),
    ('−', "-"),
    ('…', "..."),
    ('≥', ">="),
    ('≤', "<="),
    ('²', "^2"),
    ('·', "*"),
    // Signs of a sparkline.
    ('▁', "_"),
    ('▂', "."),
    ('▃', "-"),
    ('▄', "~"),
    ('▅', "="),
    ('▆', "+"),
    ('▇', "*"),
    ('█', "#"),
];

/// Use of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorChoice {
    /// On a terminal, unless environment variables decide otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A standard stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screen {
    /// Standard output.
    Output,
    /// Standard error.
    Messages,
}

impl Screen {
    /// True for a terminal.
    pub fn is_terminal(self) -> bool {
        match self {
            Screen::Output => io::stdout().is_terminal(),
            Screen::Messages => io::stderr().is_terminal(),
        }
    }

    /// Lines can be redrawn.
    pub(crate) fn has_bars(self) -> bool {
        self.is_terminal() && obeys(variable)
    }

    /// True if colours are shown with this option.
    pub fn has_colors(self, when: ColorChoice) -> bool {
        has_colors(when, self.is_terminal(), variable)
    }

    /// Width in columns: from `COLUMNS`, or of the terminal.
    pub fn columns(self) -> Option<usize> {
        let measured = || {
            let (width, _) = terminal_size::terminal_size().filter(|_| self.is_terminal())?;
            Some(within_widths(width.0.into()))
        };
        said_columns().or_else(measured)
    }

    /// Only ASCII is shown.
    pub fn is_ascii(self) -> bool {
        is_ascii(self.is_terminal(), variable)
    }

    /// A text with line breaks.
    pub fn shown(self, text: &str) -> String {
        let text = self.in_its_signs(text);
        match self.columns() {
            Some(columns) if columns < NARROW => report::fold(columns, &text),
            _ => text,
        }
    }

    /// A line, folded. One that begins with a blank is an excerpt or an example, and is folded only
    /// on narrow screens.
    pub fn line(self, line: &str, indent: &str) -> String {
        let line = self.in_its_signs(line);
        match self.columns() {
            // On a narrow screen, continuation lines are not indented to the second column of their
            // item.
            Some(columns) if columns < NARROW => report::fold(columns, &line),
            Some(columns) if !line.starts_with(' ') => report::wrap(columns, "", indent, &line),
            _ => line,
        }
    }

    /// A text with replacements for signs that cannot be shown.
    pub(crate) fn in_its_signs(self, text: &str) -> String {
        if self.is_ascii() {
            in_ascii(text)
        } else {
            text.to_owned()
        }
    }
}

/// Value of `COLUMNS`.
pub(crate) fn said_columns() -> Option<usize> {
    let columns = variable("COLUMNS")?.parse().ok()?;
    Some(within_widths(columns))
}

fn within_widths(columns: usize) -> usize {
    columns.clamp(*WIDTHS.start(), *WIDTHS.end())
}

fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?;
    Some(value.to_string_lossy().into_owned())
}

/// True for a terminal that obeys escape sequences, according to this environment.
fn obeys(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable("TERM").is_some_and(|kind| !kind.is_empty() && kind != "dumb")
}

/// Implements <https://no-color.org> and <https://bixense.com/clicolors>.
fn has_colors(
    when: ColorChoice,
    to_terminal: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> bool {
    let is = |name, wanted: fn(&str) -> bool| variable(name).is_some_and(|value| wanted(&value));
    match when {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is("NO_COLOR", |value| !value.is_empty()) => false,
        ColorChoice::Auto if is("CLICOLOR_FORCE", |value| !["", "0"].contains(&value)) => true,
        ColorChoice::Auto => {
            to_terminal && obeys(&variable) && !is("CLICOLOR", |value| value == "0")
        }
    }
}

/// True if only ASCII is shown, decided as in the C library. Without any locale, a terminal is
/// assumed to have only ASCII, and output for programs is not.
fn is_ascii(to_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.map_or(to_terminal, |locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// The signs of this program in ASCII. Paths and URLs are left as they are, so that they can be
/// copied.
fn in_ascii(text: &str) -> String {
    let plain = |sign: char| SIGNS.iter().find(|(plain_sign, _)| *plain_sign == sign);
    let mut all = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '\n']) {
        if word.starts_with(['/', '.']) || word.contains("://") {
            all.push_str(word);
            continue;
        }
        for sign in word.chars() {
            match plain(sign) {
                Some((_, ascii)) => all.push_str(ascii),
                None => all.push(sign),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let found = set.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    #[test]
    fn a_terminal_without_unicode_gets_none_of_our_signs() {
        for on_terminal in [true, false] {
            let is_ascii = |set| is_ascii(on_terminal, of(set));
            assert!(!is_ascii(&[("LANG", "C.UTF-8")]));
            assert!(!is_ascii(&[("LC_ALL", ""), ("LANG", "de_DE.utf8")]));
            assert!(is_ascii(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
            assert_eq!(is_ascii(&[]), on_terminal);
        }
        let shown = in_ascii("45 µs ±3 %, ×2 – größe ▁█");
        assert_eq!(shown, "45 us +-3 %, x2 - größe _#");
        let path = "see /srv/Messung–1/page";
        assert_eq!(in_ascii(path), path);
    }

    #[test]
    fn colours_are_where_they_are_shown_or_forced() {
        const XTERM: (&str, &str) = ("TERM", "xterm");
        let table = [
            (&[XTERM][..], true, false),
            (&[], false, false),
            (&[("TERM", "dumb")], false, false),
            (&[XTERM, ("NO_COLOR", "1")], false, false),
            (&[XTERM, ("NO_COLOR", "")], true, false),
            (&[("CLICOLOR_FORCE", "1")], true, true),
            (&[XTERM, ("CLICOLOR_FORCE", "0")], true, false),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false, false),
            (&[XTERM, ("CLICOLOR", "0")], false, false),
        ];
        for (set, on_terminal, elsewhere) in table {
            let colors = |to_terminal| has_colors(ColorChoice::Auto, to_terminal, of(set));
            let found = (colors(true), colors(false));
            assert_eq!(found, (on_terminal, elsewhere), "{set:?}");
            assert!(has_colors(ColorChoice::Always, false, of(set)));
            assert!(!has_colors(ColorChoice::Never, true, of(set)));
        }
        assert!(obeys(of(&[XTERM])) && !obeys(of(&[("TERM", "")])));
    }
}
