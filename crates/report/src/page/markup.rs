//! HTML, put together so that no text can become markup.

use record::Nanos;

use crate::{clean, figure};

/// Text as the content of an element or of a quoted attribute, with control characters visible.
pub(crate) fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A list, each item already HTML; nothing for no items.
pub(crate) fn list(class: &str, items: impl IntoIterator<Item = String>) -> String {
    let items: String = items
        .into_iter()
        .map(|item| format!("<li>{item}</li>\n"))
        .collect();
    match items.is_empty() {
        true => String::new(),
        false => format!("<ul class=\"{class}\">\n{items}</ul>\n"),
    }
}

/// A time in nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    text(&crate::human(ns))
}

/// The same for two times.
pub(crate) fn range(ends: (f64, f64)) -> String {
    text(&crate::human_range(ends))
}

/// A mean in nanoseconds and its interval.
pub(crate) fn mean(mean: f64, ci95: Option<(f64, f64)>) -> String {
    time(mean) + &interval(ci95.map(range))
}

/// A percentile in nanoseconds and its interval.
pub(crate) fn percentile(ns: Nanos, ci95: Option<(Nanos, Nanos)>, star: &str) -> String {
    let ends = ci95.map(|(low, high)| range((low as f64, high as f64)));
    time(ns as f64) + star + &interval(ends)
}

/// Operations a second and their interval.
pub(crate) fn rate(of: f64, ci95: Option<(f64, f64)>) -> String {
    let (shown, range) = figure::rate(of, ci95);
    shown + &interval(range)
}

/// What stands beside an estimate: its interval, or a sign that it has none. Headings say why.
fn interval(ends: Option<String>) -> String {
    format!(" <small>{}</small>", ends.as_deref().unwrap_or("-"))
}

/// A template with its parts, `{{name}}`, filled in. What is filled in is not looked at again, so
/// no text can call for another part.
pub(crate) fn fill(template: &str, part: impl Fn(&str) -> String) -> String {
    let mut filled = String::with_capacity(template.len() * 2);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        filled.push_str(&part(name));
        rest = after;
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let table = [
            ("a < b & c", "a &lt; b &amp; c"),
            (
                "</script><img onerror='x' src=\"y\">",
                "&lt;/script&gt;&lt;img onerror=&#39;x&#39; src=&quot;y&quot;&gt;",
            ),
            ("a\u{202e}b\u{1b}", "a\\u{202e}b\\u{1b}"),
        ];
        for (foreign, expected) in table {
            assert_eq!(text(foreign), expected);
        }
    }

    #[test]
    fn what_is_filled_in_is_not_looked_at_again() {
        let part = |name: &str| match name {
            "a" => "{{b}}".to_owned(),
            _ => "never".to_owned(),
        };
        assert_eq!(fill("x {{a}} y", part), "x {{b}} y");
    }
}
