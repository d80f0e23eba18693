//! What a load that changes came to with each number of users, as text and on pages.

use record::{AdaptRecord, Nanos, Run};
use stats::{LoadStep, Summary};

use crate::clean;
use crate::figure::NONE;
use crate::reasons::ended_early;
use crate::terminal::{Columns, TextReport};
use crate::units::human;

/// Headings of the columns.
pub(crate) const HEADINGS: [&str; 7] = [
    "from",
    "users",
    "operations",
    "failed",
    "per second",
    "p50",
    "p99",
];

/// What decided: `10, 20, 40 users, each for 2 s`.
pub(crate) fn rule(adapt: &AdaptRecord) -> String {
    let every = format!("{} s", adapt.every_s);
    match (&adapt.raise, &adapt.lower) {
        (Some(raise), Some(lower)) => clean(&format!(
            "{} to {} users; every {every} more while {raise}, fewer while {lower}",
            adapt.least, adapt.most
        )),
        _ if adapt.ladder.is_empty() => format!(
            "{} to {} users, as steps of the suite say; each number for {every} at least",
            adapt.least, adapt.most
        ),
        _ => {
            let rungs: Vec<String> = adapt.ladder.iter().map(u32::to_string).collect();
            format!("{} users, each for {every}", rungs.join(", "))
        }
    }
}

/// The cells of a step, for a run whose first step began then.
pub(crate) fn cells(step: &LoadStep, begun: Nanos) -> [String; 7] {
    let time = |time: Option<Nanos>| time.map_or(NONE.to_owned(), |time| human(time as f64));
    let from = step.from.saturating_sub(begun) as f64 / 1e9;
    [
        format!("{from:.1} s"),
        step.users.to_string(),
        step.operations.to_string(),
        step.failed.to_string(),
        step.per_second
            .map_or(NONE.to_owned(), |rate| format!("{rate:.1}")),
        time(step.p50),
        time(step.p99),
    ]
}

impl TextReport {
    /// What ended measurements before their time.
    pub(crate) fn ended_early(&mut self, summary: &Summary) {
        for by in &summary.ended_early {
            self.line("");
            self.wrapped(
                "",
                "  ",
                &clean(&format!("Ended early: {}", ended_early(by))),
            );
        }
    }

    /// The steps of a load that changed.
    pub(crate) fn load_steps(&mut self, run: &Run, summary: &Summary) {
        let Some(adapt) = &run.plan.load.adapt else {
            return;
        };
        self.line("");
        self.wrapped(
            "",
            "  ",
            &format!("Load, without intervals: {}", rule(adapt)),
        );
        let begun = summary.load_steps.first().map_or(0, |step| step.from);
        let headings: Vec<String> = HEADINGS.map(str::to_owned).into();
        let rows = summary
            .load_steps
            .iter()
            .map(|step| Vec::from(cells(step, begun)));
        let rows: Vec<Vec<String>> = std::iter::once(headings).chain(rows).collect();
        let columns = Columns::of(rows.iter(), &[]);
        for row in &rows {
            self.line(&columns.line(row));
        }
    }
}
