//! What a load that changes came to with each number of users, as text, on pages and as JSON.

use record::{AdaptRecord, Nanos};
use stats::{LoadStep, Summary};

use crate::document::{Block, ColumnKind, ReportTable, TableCell, TableColumn, TableRow};
use crate::fields::fields;
use crate::json::{thousandths, us};
use crate::named_run::NamedRun;
use crate::reasons;
use crate::units::human;

const HEADING: &str = "Load, step by step";

const HEADINGS: [&str; 7] = [
    "from",
    "users",
    "operations",
    "failed",
    "per second",
    "p50",
    "p99",
];

/// What decided: `10, 20, 40 users, each for 2 s`.
fn rule(adapt: &AdaptRecord) -> String {
    let every = format!("{} s", adapt.every_s);
    match (&adapt.raise, &adapt.lower) {
        (Some(raise), Some(lower)) => format!(
            "{} to {} users; every {every} more while {raise}, fewer while {lower}",
            adapt.least, adapt.most
        ),
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

/// The figures of a step, in the order of [`HEADINGS`], of a run whose first step began then.
fn figures(step: &LoadStep, begun: Nanos) -> [TableCell; 7] {
    let count = |count: u64| TableCell::figure(count.to_string(), Some(count as f64));
    let time = |time: Option<Nanos>| TableCell::optional(time.map(|time| time as f64), human);
    let from = step.from.saturating_sub(begun) as f64 / 1e9;
    [
        TableCell::figure(format!("{from:.1} s"), Some(from)),
        count(step.users.into()),
        count(step.operations),
        count(step.failed),
        TableCell::optional(step.per_second, |rate| format!("{rate:.1}")),
        time(step.p50),
        time(step.p99),
    ]
}

fields! {
    /// The time from one change of the number of users to the next.
    LoadStep, "LoadStep", |step| {
        /// Users at work.
        users = step.users,
        /// When it began, in seconds since the run began.
        from_s = thousandths(step.from as f64 / 1e9),
        /// Seconds from its first operation to its last response.
        seconds = thousandths(step.seconds),
        /// Operations that began in it.
        operations = step.operations,
        /// Those of them that failed.
        failed = step.failed,
        /// Expected responses to its operations, a second. There is no interval: a step is short,
        /// and its operations depend on each other.
        per_second = step.per_second.map(thousandths),
        /// Median of their response times; null without any. There is no interval.
        p50_us = step.p50.map(|ns| us(ns as f64)),
        /// 99th percentile; null with fewer than 100 of them. There is no interval.
        p99_us = step.p99.map(|ns| us(ns as f64)),
    }
}

/// What ended measurements before their time.
pub(crate) fn ended_early(summary: &Summary) -> impl Iterator<Item = Block> {
    let early = summary.ended_early.iter();
    early.map(|by| Block::Paragraph(format!("Ended early: {}", reasons::ended_early(by)).into()))
}

pub(crate) fn section(runs: &[NamedRun<'_>]) -> Option<Block> {
    let changed = NamedRun::with(runs, |run| run.run.plan.load.adapt.as_ref());
    let rows = changed.iter().flat_map(|(run, _)| {
        let begun = run.summary.load_steps.first().map_or(0, |step| step.from);
        let steps = run.summary.load_steps.iter();
        steps.map(move |step| TableRow::new(figures(step, begun).into_iter().chain(run.cell())))
    });
    let figures = HEADINGS.map(|name| TableColumn::new(name, ColumnKind::Number));
    let table = ReportTable {
        name: HEADING.to_owned(),
        columns: figures.into_iter().chain(NamedRun::column(runs)).collect(),
        rows: rows.collect(),
        class: "sorts",
        ..ReportTable::default()
    };
    let rules = changed.iter().map(|(run, adapt)| {
        let sentence = format!("{}. No intervals: a step is short.", rule(adapt));
        Block::Note(run.says(sentence))
    });
    let blocks = std::iter::once(Block::Table(table)).chain(rules).collect();
    let section = Block::Section("load-steps", HEADING.to_owned(), blocks);
    (!changed.is_empty()).then_some(section)
}
