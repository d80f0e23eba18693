//! The words of a command that is written in one line.

use std::fmt::{self, Write};

/// The words of a text without values.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut words = CommandWords::default();
    words.divide(text);
    words.divided()
}

/// The words of a text with values, which are not divided.
pub(crate) fn words(template: &str, text: fmt::Arguments<'_>) -> Vec<String> {
    let literal = without_values(template);
    let mut words = CommandWords {
        literal: &literal,
        ..CommandWords::default()
    };
    words.write_fmt(text).unwrap();
    assert_eq!(words.literal, "", "cannot be divided: {template}");
    words.divided()
}

/// A template without its `{name}`, and with `{` for `{{`.
fn without_values(template: &str) -> String {
    let mut literal = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(['{', '}']) {
        let brace = &rest[before.len()..=before.len()];
        literal += before;
        rest = match after.strip_prefix(brace) {
            Some(escaped) => {
                literal += brace;
                escaped
            }
            None => after.split_once('}').unwrap().1,
        };
    }
    literal + rest
}

#[derive(Default)]
struct CommandWords<'a> {
    /// Rest of the template, without its values.
    literal: &'a str,
    done: Vec<String>,
    current: Option<String>,
    is_quoted: bool,
}

impl CommandWords<'_> {
    fn divide(&mut self, text: &str) {
        for char in text.chars() {
            if char == '\'' {
                self.is_quoted = !self.is_quoted;
                self.current.get_or_insert_default();
            } else if char == ' ' && !self.is_quoted {
                self.done.extend(self.current.take());
            } else {
                self.current.get_or_insert_default().push(char);
            }
        }
    }

    fn divided(mut self) -> Vec<String> {
        self.done.extend(self.current);
        self.done
    }
}

impl Write for CommandWords<'_> {
    /// Takes a part of the template or of a value: text that does not continue the template belongs
    /// to a value.
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let Some(rest) = self.literal.strip_prefix(part).filter(|_| !part.is_empty()) else {
            *self.current.get_or_insert_default() += part;
            return Ok(());
        };
        self.literal = rest;
        self.divide(part);
        Ok(())
    }
}

#[test]
fn blanks_divide_the_words_of_a_command_and_not_its_values() {
    let (url, command, none) = ("http://[::1]/", "say 'a b' {}", "");
    let words = |template: &str, text: fmt::Arguments<'_>| words(template, text).join("|");
    macro_rules! divided {
        ($text:literal) => {
            words($text, format_args!($text))
        };
    }
    assert_eq!(
        divided!("load  GET {url} -c 3 "),
        "load|GET|http://[::1]/|-c|3"
    );
    assert_eq!(
        divided!("--start {command} --no '' {none}"),
        "--start|say 'a b' {}|--no||"
    );
    assert_eq!(
        divided!("-H 'If: {url}x' '{{{{ {command} }}}}'"),
        "-H|If: http://[::1]/x|{{ say 'a b' {} }}"
    );
    assert_eq!(words_of(""), [""; 0]);
    assert_eq!(words_of("-H 'X: {y}' -n 1"), ["-H", "X: {y}", "-n", "1"]);
}
