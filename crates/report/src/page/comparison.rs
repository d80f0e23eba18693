//! The comparison: in short, and every ratio.

use stats::{Compared, RowKind, Verdict};

use super::Page;
use super::markup::{list, text};
use super::sections::section;
use super::tables::heading;
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
pub(super) fn in_short(all: &Comparisons) -> String {
    let verdicts = all.versus.iter().map(|versus| {
        format!(
            "<span class=\"name\">{}</span> beside {}: {}",
            text(&versus.name),
            text(&all.name),
            verdicts(&versus.comparison.rows)
        )
    });
    let mut html = list("counts verdicts", verdicts);
    for versus in &all.versus {
        let caveats = versus.comparison.caveats.iter();
        let caveats = caveats.map(|own| text(&caveat(own))).collect();
        let with = match all.versus.len() {
            1 => String::new(),
            _ => format!(" with {}", text(&versus.name)),
        };
        html += &section(
            &format!("Warnings of the comparison{with}"),
            "doubt",
            caveats,
        );
    }
    html
}

/// `2 slower (Put1K, Copy), 1 the same (Get1K)`.
fn verdicts(rows: &[Compared]) -> String {
    let told = TOLD.iter().filter_map(|(verdict, what, class)| {
        let rows = rows.iter().filter(|row| row.verdict == *verdict);
        let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
        let count = names.len();
        let names = text(&names.join(", "));
        (count > 0).then(|| format!("<span class=\"{class}\">{count} {what}</span> ({names})"))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => "nothing to compare".to_owned(),
        false => told.join(", "),
    }
}

/// Ratios of all others to A, coloured, with the verdicts in words.
pub(super) fn table(page: &Page<'_>) -> String {
    let Some(all) = page.comparison else {
        return String::new();
    };
    let mut head = heading("Test", "", "text");
    head += &heading(
        &format!("A: {}", all.name),
        "Mean response time; the intervals are those of the ratios",
        "number",
    );
    for versus in &all.versus {
        let what = "Mean, ratio to A with its 95 % interval, verdict";
        head += &heading(&versus.name, what, "number");
    }
    let first = all.versus.first();
    let rows = first.map_or(&[][..], |versus| &versus.comparison.rows);
    let rows = rows.iter().enumerate();
    let body: String = rows.map(|(place, row)| line(all, place, row)).collect();
    format!(
        "<section id=\"comparison\"><h2>Comparison</h2>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Comparison\">\
         <table class=\"sorts heat\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{}\
         <div id=\"ratios\" class=\"figures\"></div></section>\n",
        notes(all)
    )
}

fn line(all: &Comparisons, place: usize, row: &Compared) -> String {
    let mean = row.a.mean.filter(|_| row.kind != RowKind::Number);
    let mut html = format!(
        "<th scope=\"row\" data-sort=\"{place}\">{}</th><td class=\"number\" data-sort=\"{}\">{}</td>",
        text(&row.name),
        sorted(mean.map(us)),
        text(&cells(row)[1])
    );
    for versus in &all.versus {
        let comparison = &versus.comparison;
        let same = comparison.rows.iter().find(|of| of.name == row.name);
        let cell = |row: &Compared| compared(row);
        html += &same.map_or("<td data-sort=\"\"></td>".to_owned(), cell);
    }
    format!("<tr>{html}</tr>\n")
}

/// What a cell is sorted by; a row without it stays at the end.
fn sorted(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn compared(row: &Compared) -> String {
    let [_, _, mean, ratio, interval, _, says] = cells(row).map(|cell| text(&cell));
    let ratio = match ratio.is_empty() {
        true => String::new(),
        false => format!("<strong>{ratio}</strong> <small>{interval}</small> "),
    };
    format!(
        "<td class=\"number heat{}\" data-sort=\"{}\"><span class=\"mean\">{mean}</span> {ratio}<span class=\"says\">{says}</span></td>",
        heat(row),
        sorted(row.ratio.map(|ratio| ratio.value)),
    )
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

fn notes(all: &Comparisons) -> String {
    let note = |note: &str| format!("<p class=\"note\">{}</p>\n", text(note));
    let legends = all
        .versus
        .iter()
        .map(|versus| note(&format!("{}: {}", versus.name, legend(&versus.comparison))));
    let mut notes: String = legends.collect();
    let is_of_more = |versus: &Versus| versus.comparison.pairs > 1;
    if all.versus.iter().any(is_of_more) {
        notes += &note(
            "A mean here is that of all operations of all runs together, so one slow run moves it. A ratio is \
             worked out pair by pair, which a slow run moves less: it need not be the quotient of the means beside it.",
        );
    }
    notes
}
