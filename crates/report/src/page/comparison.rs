//! The comparison: in short, and every ratio.

use maud::{Markup, html};
use stats::{Compared, RowKind, Verdict};

use super::markup::{boxed, heading, list, wide};
use crate::compare::{caveat, cells, legend};
use crate::json::us;
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

/// Verdicts, and what to know before believing them.
pub(super) fn in_short(all: &Comparisons) -> Markup {
    let short = |versus: &Versus| {
        html! {
            span.name { (versus.name) } " beside " (all.name) ": "
            (verdicts(&versus.comparison.rows))
        }
    };
    let heading = |versus: &Versus| match all.versus.len() {
        1 => "Warnings of the comparison".to_owned(),
        _ => format!("Warnings of the comparison with {}", versus.name),
    };
    html! {
        (list("counts verdicts", all.versus.iter().map(short)))
        @for versus in &all.versus {
            (boxed(&heading(versus), "doubt", versus.comparison.caveats.iter().map(caveat)))
        }
    }
}

/// `2 slower (Put1K, Copy), 1 the same (Get1K)`.
fn verdicts(rows: &[Compared]) -> Markup {
    let told = TOLD.iter().filter_map(|(verdict, what, class)| {
        let rows = rows.iter().filter(|row| row.verdict == *verdict);
        let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
        (!names.is_empty()).then_some((class, what, names))
    });
    let told: Vec<_> = told.collect();
    html! {
        @for (place, (class, what, names)) in told.iter().enumerate() {
            @if place > 0 { ", " }
            span class=(class) { (names.len()) " " (what) } " (" (names.join(", ")) ")"
        }
        @if told.is_empty() { "nothing to compare" }
    }
}

/// Ratios of all others to A, coloured, with the verdicts in words.
pub(super) fn table(all: &Comparisons) -> Markup {
    let of_a = "Mean response time; the intervals are those of the ratios";
    let of_b = "Mean, ratio to A with its 95 % interval, verdict";
    let head = html! {
        (heading("Test", "", "text"))
        (heading(&format!("A: {}", all.name), of_a, "number"))
        @for versus in &all.versus { (heading(&versus.name, of_b, "number")) }
    };
    let first = all.versus.first();
    let rows = first.map_or(&[][..], |versus| &versus.comparison.rows);
    let body = html! {
        @for (place, row) in rows.iter().enumerate() { (line(all, place, row)) }
    };
    html! {
        section id="comparison" {
            h2 { "Comparison" }
            (wide("Comparison", Some("sorts heat"), &head, &body))
            (notes(all))
            div id="ratios" class="figures" {}
        }
    }
}

fn line(all: &Comparisons, place: usize, row: &Compared) -> Markup {
    let mean = row.a.mean.filter(|_| row.kind != RowKind::Number);
    let same = |versus: &'_ Versus| {
        let rows = versus.comparison.rows.iter();
        rows.clone().find(|of| of.name == row.name).map(compared)
    };
    html! {
        tr {
            th scope="row" data-sort=(place) { (row.name) }
            td.number data-sort=(sorted(mean.map(us))) { (cells(row)[1]) }
            @for versus in &all.versus {
                @match same(versus) {
                    Some(cell) => (cell),
                    None => td data-sort="" {},
                }
            }
        }
    }
}

/// What a cell is sorted by; a row without it stays at the end.
fn sorted(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn compared(row: &Compared) -> Markup {
    let [_, _, mean, ratio, interval, _, says] = cells(row);
    html! {
        td class={ "number heat" (heat(row)) } data-sort=(sorted(row.ratio.map(|ratio| ratio.value))) {
            span.mean { (mean) } " "
            @if !ratio.is_empty() { strong { (ratio) } " " small { (interval) } " " }
            span.says { (says) }
        }
    }
}

/// Minus three (much faster) to three (much slower).
fn heat(row: &Compared) -> i8 {
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
    html! {
        @for versus in &all.versus {
            p.note { (versus.name) ": " (legend(&versus.comparison)) }
        }
        @if all.versus.iter().any(is_of_more) {
            p.note {
                "A mean here is that of all operations of all runs together, so one slow run moves it. A ratio is \
                 worked out pair by pair, which a slow run moves less: it need not be the quotient of the means \
                 beside it."
            }
        }
    }
}
