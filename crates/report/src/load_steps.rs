//! What a load that changes came to with each number of users, as text, on pages and as JSON.

use record::{AdaptRecord, Nanos, Run};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{LoadStep, Summary};

use crate::clean;
use crate::figure::NONE;
use crate::json::{thousandths, us};
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

/// The time from one change of the number of users to the next.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LoadStep", deny_unknown_fields)]
pub(crate) struct LoadStepJson {
    /// Users at work.
    pub(crate) users: u32,
    /// When it began, in seconds since the run began.
    pub(crate) from_s: f64,
    /// Seconds from its first operation to its last response.
    pub(crate) seconds: f64,
    /// Operations that began in it.
    pub(crate) operations: u64,
    /// Those of them that failed.
    pub(crate) failed: u64,
    /// Expected responses to its operations, a second. There is no interval: a step is short, and its operations
    /// depend on each other.
    pub(crate) per_second: Option<f64>,
    /// Median of their response times; null without any. There is no interval.
    pub(crate) p50_us: Option<f64>,
    /// 99th percentile; null with fewer than 100 of them. There is no interval.
    pub(crate) p99_us: Option<f64>,
}

impl From<&LoadStep> for LoadStepJson {
    fn from(step: &LoadStep) -> LoadStepJson {
        let times = |ns: Option<record::Nanos>| ns.map(|ns| us(ns as f64));
        LoadStepJson {
            users: step.users,
            from_s: thousandths(step.from as f64 / 1e9),
            seconds: thousandths(step.seconds),
            operations: step.operations,
            failed: step.failed,
            per_second: step.per_second.map(thousandths),
            p50_us: times(step.p50),
            p99_us: times(step.p99),
        }
    }
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
