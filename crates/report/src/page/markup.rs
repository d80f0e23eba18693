//! Pieces of HTML that several parts of a page use. All HTML is made by `maud`, which escapes what
//! is inserted.

use maud::{Markup, PreEscaped, Render, html};
use record::TimeUnit;
use stats::{Distribution, EstimatedRate};

use crate::times::TimeStatistic;
use crate::units::{human, human_range};
use crate::{clean, figure};

/// What stands in a document beside its body.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    pub(crate) policy: &'a str,
    pub(crate) style: Markup,
    /// Data and scripts, which hold no text of strangers as HTML.
    pub(crate) scripts: Markup,
}

/// A whole document. No tag contains control characters, so those of the body belong to its texts
/// and become visible.
pub(crate) fn document(frame: Frame<'_>, body: &Markup) -> String {
    let body = clean(&body.0);
    // Lines, for those who compare two versions of a page.
    let ends = ["</tr>", "</li>", "</p>", "</h2>"].into_iter();
    let body = ends.fold(body, |body, end| body.replace(end, &format!("{end}\n")));
    let document = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta http-equiv="Content-Security-Policy" content=(frame.policy);
                title { (clean(frame.title)) }
                (frame.style)
            }
            body {
                (PreEscaped(body))
                (frame.scripts)
            }
        }
    };
    document.into_string() + "\n"
}

/// A list; nothing for no items.
pub(crate) fn list<R: Render>(class: &str, items: impl IntoIterator<Item = R>) -> Markup {
    let mut items = items.into_iter().peekable();
    html! {
        @if items.peek().is_some() {
            ul class=(class) { @for item in items { li { (item) } } }
        }
    }
}

pub(crate) fn named(name: &str, is: &[&str]) -> Markup {
    html! { bdi.name { (name) } " " (is.join(" · ")) }
}

/// `2026-11-21T04:06:00.123Z` as `2026-11-21 04:06 UTC`.
pub(crate) fn moment(rfc3339: &str) -> String {
    match (
        rfc3339.get(..10),
        rfc3339.get(11..16),
        rfc3339.ends_with('Z'),
    ) {
        (Some(day), Some(time), true) => format!("{day} {time} UTC"),
        _ => rfc3339.to_owned(),
    }
}

/// A list below its heading, in a box; nothing for no items.
pub(crate) fn boxed<R: Render>(
    heading: &str,
    class: &str,
    items: impl IntoIterator<Item = R>,
) -> Markup {
    let items = list("items", items);
    html! {
        @if !items.0.is_empty() {
            div class={ "box " (class) } { h3 { (heading) } (items) }
        }
    }
}

/// A table that scrolls where it is wider than the page.
pub(crate) fn wide(label: &str, class: Option<&str>, head: &Markup, body: &Markup) -> Markup {
    wide_below(label, class, &html! { tr { (head) } }, body)
}

/// The same with all rows of its head.
pub(crate) fn wide_below(label: &str, class: Option<&str>, head: &Markup, body: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(label) {
            table class=[class] { thead { (head) } tbody { (body) } }
        }
    }
}

/// What columns mean, for whoever has no mouse to point at their headings with. Columns that mean
/// the same are told together.
pub(crate) fn meanings<'a>(columns: impl IntoIterator<Item = (&'a str, &'a str)>) -> Markup {
    let explained = columns.into_iter().filter(|(_, what)| !what.is_empty());
    let mut groups: Vec<(String, &str)> = Vec::new();
    for (name, what) in explained {
        match groups.iter_mut().find(|(_, known)| *known == what) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => groups.push((name.to_owned(), what)),
        }
    }
    html! {
        @if !groups.is_empty() {
            dl.meanings { @for (names, what) in groups { div { dt { (names) } dd { (what) } } } }
        }
    }
}

/// A heading of a column, and what a reader may ask about it.
pub(crate) fn heading(name: &str, what: &str, class: &str) -> Markup {
    let title = Some(what).filter(|what| !what.is_empty());
    html! { th scope="col" class=(class) title=[title] { (name) } }
}

pub(crate) fn headings(columns: &[(&str, impl AsRef<str>)]) -> Markup {
    html! { @for (name, what) in columns { (heading(name, what.as_ref(), "number")) } }
}

/// A mean in nanoseconds and its interval.
pub(crate) fn mean(mean: f64, ci95: Option<(f64, f64)>) -> Markup {
    estimate(&human(mean), ci95.map(human_range))
}

/// A statistic of times, with its interval if it may have one.
pub(crate) fn statistic(
    of: &TimeStatistic,
    unit: Option<TimeUnit>,
    times: &Distribution,
    star: &str,
) -> Markup {
    let shown = of.shown(unit, times) + star;
    match of.without_interval() {
        Some(_) => estimate(&shown, of.range(unit, times)),
        None => html! { (shown) },
    }
}

pub(crate) fn rate(of: EstimatedRate) -> Markup {
    let (shown, range) = figure::rate(of.per_second, of.ci95);
    estimate(&shown, range)
}

/// An estimate and its interval, or a sign that it has none. Headings say why.
pub(crate) fn estimate(shown: &str, ends: Option<String>) -> Markup {
    html! { (shown) " " small { (ends.as_deref().unwrap_or("-")) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let table = [
            ("a < b & c", "a &lt; b &amp; c"),
            (
                "</script><img src=\"x\">",
                "&lt;/script&gt;&lt;img src=&quot;x&quot;&gt;",
            ),
            ("a\u{202e}b\u{1b}\n", "a\\u{202e}b\\u{1b}\\n"),
        ];
        for (foreign, expected) in table {
            let frame = Frame {
                title: "",
                policy: "",
                style: Markup::default(),
                scripts: Markup::default(),
            };
            let page = document(frame, &html! { p title=(foreign) { (foreign) } });
            let body = format!("<p title=\"{expected}\">{expected}</p>");
            assert!(page.contains(&body), "{page}");
        }
    }
}
