//! The comparison: in short, and every ratio.

use maud::{Markup, html};
use stats::{Compared, ComparedProcessor, CostVerdict, Estimate, RowKind, Verdict};

use super::markup::{boxed, heading, list, meanings, wide_below};
use super::names::shortened;
use super::sections::folded;
use crate::compare::{caveat, cells, inside, legend, processor_cells};
use crate::json::us;
use crate::lists::{distinct, enumerated};
use crate::{Comparisons, Versus};

/// How each kind of verdict is told of rows, the worst first, and its class.
const TOLD: [(Verdict, &str, &str); 9] = [
    (Verdict::Broken, "failing only there", "bad"),
    (Verdict::Lost, "not supported there", "bad"),
    (Verdict::Slower, "slower", "bad"),
    (Verdict::Faster, "faster", "ok"),
    (Verdict::Repaired, "failing only with A", "ok"),
    (Verdict::Gained, "supported only there", "ok"),
    (Verdict::Same, "the same", "same"),
    (Verdict::Inconclusive, "inconclusive", "doubt"),
    (Verdict::NotCompared, "not compared", "doubt"),
];

/// Names of so many rows are told; the table has all.
const NAMED: usize = 4;

/// How many rows have each verdict.
pub(super) fn in_short(all: &Comparisons) -> Markup {
    let short = |versus: &Versus| {
        html! {
            bdi.name { (shortened(&versus.name)) } " beside " bdi { (shortened(&all.name)) } ": "
            (verdicts(&versus.comparison.rows, all.versus.len() == 1))
        }
    };
    list("counts verdicts", all.versus.iter().map(short))
}

/// What to know before believing verdicts.
pub(super) fn warnings(all: &Comparisons) -> Markup {
    let heading = |versus: &Versus| match all.versus.len() {
        1 => "Warnings of the comparison".to_owned(),
        _ => format!("Warnings of the comparison with {}", versus.name),
    };
    html! {
        @for versus in &all.versus {
            (boxed(&heading(versus), "doubt", versus.comparison.caveats.iter().map(caveat)))
        }
    }
}

/// `2 slower (Put1K, Copy), 1 the same (Get1K)`. Of several servers, their figures name the rows.
fn verdicts(rows: &[Compared], with_names: bool) -> Markup {
    let told = TOLD.iter().filter_map(|(verdict, what, class)| {
        let rows = rows.iter().filter(|row| row.verdict == *verdict);
        let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
        (!names.is_empty()).then_some((class, what, names))
    });
    let told: Vec<_> = told.collect();
    html! {
        @for (place, (class, what, names)) in told.iter().enumerate() {
            @if place > 0 { ", " }
            span class=(class) { (names.len()) " " (what) }
            @if with_names { " (" (named(names)) ")" }
        }
        @if told.is_empty() { "nothing to compare" }
    }
}

/// `Put1K, Get1K`, and how many more there are.
fn named(names: &[&str]) -> String {
    let (some, more) = names.split_at(names.len().min(NAMED));
    let more = (!more.is_empty()).then(|| format!(" and {} more", more.len()));
    some.join(", ") + &more.unwrap_or_default()
}

/// Columns of each other server: heading, what a reader may ask about it, and class.
const COLUMNS: [(&str, &str, &str); 4] = [
    ("mean", "Mean time of B", "number"),
    (
        "B / A",
        "Mean time of B divided by that of A: above 1, B is slower",
        "number",
    ),
    (
        "95 % interval",
        "95 % interval of the ratio; a single pair of runs has none",
        "number",
    ),
    ("verdict", "Whether B differs from A", "text"),
];

/// A column for each figure: the mean of A, and of each other server its mean, the ratio, its interval and
/// the verdict.
pub(super) fn table(all: &Comparisons) -> Markup {
    let head = html! {
        tr.groups {
            td {}
            th scope="colgroup" class="number" { "A: " bdi { (all.name) } }
            @for versus in &all.versus {
                th scope="colgroup" colspan=(COLUMNS.len()) { "B: " bdi { (versus.name) } }
            }
        }
        tr {
            (heading("Test", "", "text"))
            (heading("mean", OF_A, "number"))
            @for _ in &all.versus {
                @for (name, _, class) in COLUMNS { (heading(name, "", class)) }
            }
        }
    };
    let first = all.versus.first();
    let rows = first.map_or(&[][..], |versus| &versus.comparison.rows);
    let body = html! {
        @for (place, row) in rows.iter().enumerate() { (line(all, place, row)) }
    };
    html! {
        section id="comparison" {
            h2 { "Comparison" }
            (wide_below("Comparison", Some("sorts heat compared"), &head, &body))
            (meanings([("mean of A", OF_A)].into_iter().chain(COLUMNS.map(|(name, what, _)| (name, what)))))
            @if all.versus.len() > 1 { @for versus in &all.versus { (reasons(versus)) } }
            (notes(all))
        }
        (insides(all))
    }
}

/// What operations cost inside of the servers: a table of processor times, and what is said of calls.
fn insides(all: &Comparisons) -> Markup {
    let looked_into = all.versus.iter().filter_map(|versus| {
        let calls = inside::calls_in_words(&versus.comparison)?;
        Some((versus, inside::processors(&versus.comparison), calls))
    });
    let looked_into: Vec<_> = looked_into.collect();
    if looked_into.is_empty() {
        return Markup::default();
    }
    html! {
        section id="compared-inside" {
            h2 { "Inside of the servers" }
            @for (versus, processors, calls) in &looked_into {
                @if all.versus.len() > 1 { h3 { (versus.name) } }
                @if !processors.is_empty() { (processor_table(processors)) }
                @if !calls.heading.is_empty() { p { (calls.heading) } }
                (list("counts verdicts", calls.differences.iter().map(|(verdict, says)| {
                    html! { span class=(class_of(*verdict)) { (says) } }
                })))
                @for remark in &calls.remarks { p.note { (remark) } }
            }
        }
    }
}

fn class_of(verdict: CostVerdict) -> &'static str {
    match verdict {
        CostVerdict::More => "bad",
        CostVerdict::Less => "ok",
        CostVerdict::Same => "same",
        CostVerdict::Inconclusive => "doubt",
    }
}

fn processor_table(processors: &[(&str, &ComparedProcessor)]) -> Markup {
    let head = html! {
        tr {
            (heading("Test", "", "text"))
            @for name in ["A", "B", "B / A", "95 % interval"] { (heading(name, "", "number")) }
            (heading("verdict", "", "text"))
        }
    };
    let body = html! {
        @for (place, (name, of)) in processors.iter().enumerate() {
            @let [_, a, b, ratio, interval, _, says] = processor_cells(name, of);
            @let width = of.ratio.evidence.map(|found| found.ci95()).map(|(low, high)| high - low);
            tr {
                th scope="row" data-sort=(place) { (name) }
                td data-sort=(sorted(Some(us(of.a)))) { (a) }
                td data-sort=(sorted(Some(us(of.b)))) { (b) }
                td data-sort=(sorted(Some(of.ratio.value))) { (ratio) }
                td data-sort=(sorted(width)) { (interval) }
                td { span class=(class_of(of.verdict())) { (says) } }
            }
        }
    };
    wide_below(inside::HEADING, Some("sorts compared"), &head, &body)
}

const OF_A: &str = "Mean time of A";

fn line(all: &Comparisons, place: usize, row: &Compared) -> Markup {
    let same = |versus: &'_ Versus| {
        let rows = versus.comparison.rows.iter();
        let found = rows.clone().find(|of| of.name == row.name);
        found.map(|of| compared(of, all.versus.len() == 1))
    };
    html! {
        tr {
            th scope="row" data-sort=(place) { (row.name) }
            td data-sort=(sorted(mean_us(row, &row.a))) { (cells(row)[1]) }
            @for versus in &all.versus {
                @match same(versus) {
                    Some(cells) => (cells),
                    None => @for _ in COLUMNS { td data-sort="" {} },
                }
            }
        }
    }
}

fn mean_us(row: &Compared, of: &Estimate) -> Option<f64> {
    of.mean.filter(|_| row.kind != RowKind::Number).map(us)
}

/// What a cell is sorted by; a row without it stays at the end.
fn sorted(value: Option<f64>) -> String {
    // Finer than any difference that is shown.
    value.map_or(String::new(), |value| {
        ((value * 1e6).round() / 1e6).to_string()
    })
}

/// A verdict in a word or two, and what led to it, where that stands behind it in brackets.
fn split(verdict: &str) -> (&str, Option<&str>) {
    match verdict.split_once(" (") {
        Some((word, why)) if why.matches(['(', ')']).count() == 1 && why.ends_with(')') => {
            (word, why.strip_suffix(')'))
        }
        _ => (verdict, None),
    }
}

/// A verdict without what stands in brackets: `failures inconclusive; slower by 4 %`.
fn without_reasons(verdict: &str) -> String {
    let mut depth = 0_usize;
    let outside = verdict.chars().filter(|char| match char {
        '(' => {
            depth += 1;
            false
        }
        ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        _ => depth == 0,
    });
    outside
        .collect::<String>()
        .replace(" ;", ";")
        .trim()
        .to_owned()
}

/// What led to verdicts, row by row, for tables that have no room for it.
fn reasons(versus: &Versus) -> Markup {
    let rows = versus.comparison.rows.iter().filter_map(|row| {
        let [name, .., says] = cells(row);
        (without_reasons(&says) != says).then(|| format!("{name}: {says}"))
    });
    folded(
        &format!("Reasons for the verdicts on {}", versus.name),
        rows.collect(),
    )
}

fn compared(row: &Compared, with_reason: bool) -> Markup {
    let [_, _, mean, ratio, interval, _, says] = cells(row);
    let heat = format!("heat{}", heat(row));
    let width = row.evidence().map(|found| {
        let (low, high) = found.ci95();
        high - low
    });
    // The style gives interval and verdict the colour of the ratio.
    let short = without_reasons(&says);
    let (word, why) = if with_reason {
        split(&says)
    } else {
        (&*short, None)
    };
    html! {
        td data-sort=(sorted(mean_us(row, &row.b))) { (mean) }
        td class=(heat) data-sort=(sorted(row.ratio.map(|ratio| ratio.value))) { (ratio) }
        td data-sort=(sorted(width)) { (interval) }
        td {
            (word)
            @if let Some(why) = why { " " small { (why) } }
        }
    }
}

/// Minus three (much faster) to three (much slower): from blue by grey to orange, whose full colour is a factor of two.
pub(super) fn heat(row: &Compared) -> i8 {
    let size = row.ratio.map_or(1.0, |ratio| ratio.value.log2().abs());
    let step = match size {
        size if size >= 1.0 => 3,
        size if size >= 0.3 => 2,
        _ => 1,
    };
    match row.verdict {
        Verdict::Broken | Verdict::Lost => 3,
        Verdict::Repaired | Verdict::Gained => -3,
        verdict if verdict.is_worse() => step,
        verdict if verdict.is_better() => -step,
        _ => 0,
    }
}

fn notes(all: &Comparisons) -> Markup {
    let is_of_more = |versus: &Versus| versus.comparison.pairs > 1;
    let text = |versus: &Versus| legend(&versus.comparison);
    // What holds for several servers is told once.
    let names_of = |told: &String| {
        let same = all.versus.iter().filter(|versus| text(versus) == *told);
        enumerated(&same.map(|versus| &versus.name).collect::<Vec<_>>())
    };
    html! {
        @for text in distinct(all.versus.iter().map(text)) {
            p.note { bdi { (names_of(&text)) } ": " (text) }
        }
        @if all.versus.iter().any(is_of_more) {
            p.note {
                "Means are of all operations of all runs, so that one slow run changes them. A ratio is \
                 computed pair by pair and changes less with a slow run; it may differ from the quotient of \
                 the means."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_reasons;

    #[test]
    fn a_verdict_has_no_reason_in_a_narrow_column() {
        let table = [
            ("same", "same"),
            ("inconclusive (usually slower)", "inconclusive"),
            (
                "failures inconclusive (1 of 3 (a) pairs); slower by 4 % (times of 2 of 3 pairs)",
                "failures inconclusive; slower by 4 %",
            ),
        ];
        for (says, word) in table {
            assert_eq!(without_reasons(says), word);
        }
    }
}
