//! A comparison of servers, for people, for pull requests and for programs.

pub(crate) mod wire;

use stats::{Compared, Comparison, Estimate, Status, Verdict};

use crate::clean;
use crate::columns::columns;
use crate::json::{pretty, schema_of};
use crate::markdown::{code, markdown};
use crate::text::{Paint, wrapping};
use crate::units::human;

/// One server, as it is called, beside the one that all are compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Versus {
    /// How B is called.
    pub name: String,
    /// Where its runs are kept, or how they are called.
    pub runs: Vec<String>,
    /// What it does beside A.
    pub comparison: Comparison,
}

/// A comparison of one server with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparisons {
    /// How A is called.
    pub name: String,
    /// Where its runs are kept, or how they are called.
    pub runs: Vec<String>,
    /// The others.
    pub versus: Vec<Versus>,
}

/// The columns of every table.
const HEADERS: [&str; 7] = ["", "A", "B", "B / A", "95 % interval", "p (Holm)", ""];

/// The comparison for people. Ends with a newline.
pub fn compare_text(all: &Comparisons, color: bool, width: usize) -> String {
    let paint = Paint { on: color };
    let mut text = String::new();
    for versus in &all.versus {
        let comparison = &versus.comparison;
        text += &format!("A: {}\nB: {}\n\n", clean(&all.name), clean(&versus.name));
        text += &aligned(comparison, paint);
        text += &format!(
            "\n{}\n",
            textwrap::fill(&legend(comparison), wrapping(width))
        );
        if !comparison.caveats.is_empty() {
            text += "\nWarnings:\n";
        }
        for caveat in &comparison.caveats {
            let options = wrapping(width).initial_indent("- ").subsequent_indent("  ");
            text += &format!("{}\n", textwrap::fill(&clean(&caveat.to_string()), options));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

pub(crate) fn legend(comparison: &Comparison) -> String {
    let pairs = match comparison.pairs {
        1 => "one run of each".to_owned(),
        pairs => format!("{pairs} pairs of runs"),
    };
    format!(
        "Mean {}, from {pairs}. Slower and faster: surely so (5 % false alarms at most, over all rows \
         of A and B), and by more than {}; same: the whole interval is within that. Of \
         rows that fail, the shares that failed are compared.",
        comparison.since.times(),
        percent(comparison.same_within)
    )
}

/// `2 %`, `2.5 %`.
fn percent(share: f64) -> String {
    let digits = usize::from((share * 100.0).fract().abs() > 1e-6);
    format!("{:.*} %", digits, share * 100.0)
}

fn aligned(comparison: &Comparison, paint: Paint) -> String {
    let rows: Vec<Vec<String>> = comparison
        .rows
        .iter()
        .map(|row| cells(row).into())
        .collect();
    let lines = columns(&HEADERS.map(str::to_owned), &rows, &[0, 6]);
    let verdicts = comparison.rows.iter().map(|row| Some(row.verdict));
    let painted = lines.into_iter().zip([None].into_iter().chain(verdicts));
    let painted = painted.map(|(line, verdict)| match verdict {
        Some(worse) if worse.is_worse() => paint.bad(&format!("{line}\n")),
        Some(better) if better.is_better() => paint.good(&format!("{line}\n")),
        _ => format!("{line}\n"),
    });
    painted.collect()
}

pub(crate) fn cells(row: &Compared) -> [String; 7] {
    let mean = |estimate: &Estimate| match (estimate.status, estimate.mean) {
        (Status::Ok, Some(mean)) => human(mean),
        (status, _) => status.name().replace('_', " "),
    };
    let of = |ratio: fn(&stats::Ratio) -> String| row.ratio.as_ref().map_or(String::new(), ratio);
    [
        clean(&row.name),
        mean(&row.a),
        mean(&row.b),
        of(|ratio| format!("{:.3}", ratio.value)),
        of(|ratio| format!("{:.3} .. {:.3}", ratio.ci95.0, ratio.ci95.1)),
        match row.tested() {
            Some((_, p_holm)) if p_holm < 0.0001 => "< 0.0001".to_owned(),
            Some((_, p_holm)) => format!("{p_holm:.4}"),
            None => String::new(),
        },
        words(row),
    ]
}

/// The verdict in words.
fn words(row: &Compared) -> String {
    let difference = row.ratio.map_or(0.0, |ratio| (ratio.value - 1.0).abs());
    match row.verdict {
        Verdict::Slower => format!("slower by {:.1} %", difference * 100.0),
        Verdict::Faster => format!("faster by {:.1} %", difference * 100.0),
        Verdict::Same => "same".to_owned(),
        Verdict::Unclear => format!("unclear ({})", doubt(row)),
        Verdict::Broken => fails_with("B", (&row.b, &row.a)),
        Verdict::Repaired => fails_with("A", (&row.a, &row.b)),
        Verdict::Lost => "only A can do it".to_owned(),
        Verdict::Gained => "only B can do it".to_owned(),
        Verdict::NotCompared => match (row.a.failed, row.b.failed) {
            (0, _) | (_, 0) => "not compared".to_owned(),
            _ => format!("not compared: {}", failures(row)),
        },
    }
}

/// Why it is unclear.
fn doubt(row: &Compared) -> String {
    match row.ratio {
        None => failures(row),
        Some(ratio) if ratio.by_few => "the means differ, by few slow operations only".to_owned(),
        Some(ratio) => match ratio.detectable {
            Some(share) => {
                let percent = share * 100.0;
                let digits = usize::from(percent < 9.95);
                format!("would be seen from {percent:.digits$} % on")
            }
            None => "too few operations to tell".to_owned(),
        },
    }
}

fn fails_with(side: &str, (bad, good): (&Estimate, &Estimate)) -> String {
    let bad = match bad.failed {
        0 => "not measured".to_owned(),
        _ => format!("{} failed", share(bad)),
    };
    let good = match good.failed {
        0 => String::new(),
        _ => format!(", and {} with the other", share(good)),
    };
    format!("fails with {side}: {bad}{good}")
}

/// `1 of 60 failed with A, 2 of 60 with B`.
fn failures(row: &Compared) -> String {
    format!("{} failed with A, {} with B", share(&row.a), share(&row.b))
}

/// What failed of all: `2 of 60`.
fn share(of: &Estimate) -> String {
    format!("{} of {}", of.failed, of.operations)
}

/// The comparison for a pull request. Ends with a newline.
pub fn compare_markdown(all: &Comparisons) -> String {
    let mut text = String::new();
    for versus in &all.versus {
        let comparison = &versus.comparison;
        text += &format!(
            "**A** {}, **B** {}\n\n",
            code(&all.name),
            code(&versus.name)
        );
        text += &format!("| {} |\n", HEADERS.join(" | "));
        text += "| --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
        for row in &comparison.rows {
            let mut cells = cells(row).map(|text| markdown(&text));
            if row.verdict.is_worse() {
                cells[6] = format!("**{}**", cells[6]);
            }
            text += &format!("| {} |\n", cells.join(" | "));
        }
        text += &format!("\n{}\n", legend(comparison));
        for caveat in &comparison.caveats {
            text += &format!("\n- {}", markdown(&caveat.to_string()));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// The comparison for programs: one JSON document.
pub fn compare_json(all: &Comparisons) -> String {
    pretty(&wire::Document::from(all))
}

/// The JSON schema of [`compare_json`]: the content of `docs/compare.schema.json`.
pub fn compare_schema() -> String {
    schema_of::<wire::Document>()
}
