//! Rows of each run as a comparison reads them: operations, pages, and the WEBSTONE number.

use super::{ComparedTimes, Estimate, Side};
use crate::bins::total;
use crate::pages::{PageSummary, PagesSummary};
use crate::row::sound;
use crate::{
    Batch, Completeness, Distribution, Status, Summary, TestSummary, Warning, WarningKind,
};

/// The kind of a row of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// The times of one kind of operations.
    Operation,
    /// The time in which a page is loaded as a whole.
    Page,
    /// Complete pages a minute. Its times are those between two pages: *slower* is fewer pages.
    Number,
}

impl RowKind {
    /// All of them.
    pub const ALL: [RowKind; 3] = [RowKind::Operation, RowKind::Page, RowKind::Number];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            RowKind::Operation => "operation",
            RowKind::Page => "page",
            RowKind::Number => "number",
        }
    }
}

const MINUTE: f64 = 60e9;

pub(super) const NUMBER: &str = "WEBSTONE number";

pub(super) struct RowName {
    pub(super) kind: RowKind,
    pub(super) name: String,
    pub(super) method: String,
}

#[derive(Debug, Clone)]
pub(super) struct RowInRun {
    status: Status,
    pub(super) times: Option<TimesInRun>,
    failed: u64,
    /// Operations that were as expected or failed.
    operations: u64,
    /// The test could not be measured, and not because operations failed.
    is_unmeasured: bool,
    /// The run ended before it reached this row.
    pub(super) is_unreached: bool,
    /// A warning disqualifies its times.
    pub(super) is_disqualified: bool,
    /// The row failed, and the load generator may have caused all of its failures.
    pub(super) may_be_no_failure: bool,
}

/// Times of a row of a run, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimesInRun {
    pub(super) mean: f64,
    pub(super) median: f64,
    pub(super) sum: Batch,
}

impl TimesInRun {
    fn of(times: &Distribution) -> TimesInRun {
        TimesInRun {
            mean: times.mean,
            median: times.p50 as f64,
            sum: Batch {
                n: times.n,
                sum: (times.mean * times.n as f64).round() as u128,
            },
        }
    }
}

impl RowInRun {
    fn from_operations(
        row: &TestSummary,
        complete: &Completeness,
        times: ComparedTimes,
    ) -> RowInRun {
        let failed = row.failed();
        let operations = row.expected() + failed;
        let has_stalled_totals = |warning: &Warning| warning.kind == WarningKind::TotalStalled;
        let stalled = times == ComparedTimes::Total && row.warnings.iter().any(has_stalled_totals);
        RowInRun {
            status: row.status,
            times: match times {
                ComparedTimes::ToFirstByte => row.first_byte_times(),
                ComparedTimes::Total => row.total.as_ref(),
            }
            .map(TimesInRun::of),
            failed,
            operations,
            is_unmeasured: row.status == Status::Failed && failed == 0 && !row.all_missed(),
            is_unreached: *complete != Completeness::Complete && operations == 0,
            is_disqualified: row.disqualified().is_some() || stalled,
            may_be_no_failure: row.may_be_no_failure,
        }
    }

    fn from_page(page: &PageSummary, files: &Files) -> RowInRun {
        let visits = &page.visits;
        let operations = visits.complete + visits.incomplete;
        RowInRun {
            status: match (operations, visits.incomplete) {
                (0, _) => Status::NotDrawn,
                (_, 0) => Status::Ok,
                _ => Status::Failed,
            },
            times: visits.load.as_ref().map(TimesInRun::of),
            failed: visits.incomplete,
            operations,
            is_unmeasured: false,
            is_unreached: operations == 0,
            is_disqualified: files.are_disqualified,
            may_be_no_failure: visits.incomplete > 0 && files.may_be_no_failures,
        }
    }

    fn from_number(pages: &PagesSummary, files: &Files) -> RowInRun {
        let is_known = pages.per_minute > 0.0;
        let between = MINUTE / pages.per_minute;
        RowInRun {
            status: if is_known { Status::Ok } else { Status::Failed },
            times: is_known.then(|| TimesInRun {
                mean: between,
                median: between,
                sum: Batch {
                    n: pages.all.complete,
                    sum: (pages.window_s * 1e9).round() as u128,
                },
            }),
            failed: 0,
            operations: pages.all.complete,
            is_unmeasured: !is_known,
            is_unreached: false,
            is_disqualified: files.are_disqualified,
            may_be_no_failure: !is_known && files.may_be_no_failures,
        }
    }

    pub(super) fn is_unsupported(&self) -> bool {
        self.status.is_beyond_the_server()
    }

    pub(super) fn has_worked(&self) -> bool {
        self.operations > self.failed
    }

    pub(super) fn share_failed(&self) -> f64 {
        if self.is_unmeasured || self.is_unsupported() {
            1.0
        } else {
            self.failed as f64 / self.operations.max(1) as f64
        }
    }
}

/// The rows of all runs, in the order of that with the most tests: the number and the pages first,
/// where there are some.
pub(super) fn names(sides: &[Side<'_>]) -> Vec<RowName> {
    let all = sides.iter().map(|side| side.summary);
    let most = all.max_by_key(|summary| summary.tests.len());
    most.map(names_of).unwrap_or_default()
}

fn names_of(summary: &Summary) -> Vec<RowName> {
    let pages = summary.pages.iter();
    let number = pages.clone().map(|_| RowName {
        kind: RowKind::Number,
        name: NUMBER.to_owned(),
        method: "GET".to_owned(),
    });
    let pages = pages.flat_map(|pages| &pages.pages).map(|page| RowName {
        kind: RowKind::Page,
        name: page_row(&page.page.name),
        method: "GET".to_owned(),
    });
    let operations = summary.tests.iter().map(|row| RowName {
        kind: RowKind::Operation,
        name: row.name.clone(),
        method: row.method.clone(),
    });
    number.chain(pages).chain(operations).collect()
}

/// The name of the row of a page.
pub(super) fn page_row(page: &str) -> String {
    format!("page {page}")
}

pub(super) fn in_runs(sides: &[Side<'_>], row: &RowName, times: ComparedTimes) -> Vec<RowInRun> {
    let found = sides.iter().map(|side| find(side.summary, row, times));
    found.flatten().collect()
}

fn find(summary: &Summary, row: &RowName, times: ComparedTimes) -> Option<RowInRun> {
    let pages = summary.pages.as_ref();
    match row.kind {
        RowKind::Number => pages.map(|pages| RowInRun::from_number(pages, &Files::of(summary))),
        RowKind::Page => {
            let mut pages = pages?.pages.iter();
            let page = pages.find(|page| page_row(&page.page.name) == row.name)?;
            Some(RowInRun::from_page(page, &Files::of(summary)))
        }
        RowKind::Operation => {
            let found = summary.tests.iter().find(|test| test.name == row.name)?;
            Some(RowInRun::from_operations(found, &summary.complete, times))
        }
    }
}

/// The files of all pages of a run, which are requested in one loop.
struct Files {
    are_disqualified: bool,
    /// Some failed, and the load generator may have caused all of their failures.
    may_be_no_failures: bool,
}

impl Files {
    fn of(summary: &Summary) -> Files {
        let mut failed = summary
            .tests
            .iter()
            .filter(|row| row.status == Status::Failed)
            .peekable();
        Files {
            are_disqualified: summary.disqualified().next().is_some(),
            may_be_no_failures: failed.peek().is_some() && failed.all(|row| row.may_be_no_failure),
        }
    }
}

/// The estimate from the runs of one server together: the same as the pages of all these runs show
/// ([`pool`](crate::pool())).
pub(super) fn estimate(rows: &[RowInRun]) -> Estimate {
    let sound = sound(rows, |row: &RowInRun| row.is_disqualified);
    let sums: Vec<Batch> = sound.filter_map(|row| Some(row.times?.sum)).collect();
    let all = total(&sums);
    Estimate {
        status: rows
            .iter()
            .map(|row| row.status)
            .max_by_key(|status| status.badness())
            .unwrap_or(Status::Failed),
        mean: (all.n > 0).then(|| all.mean()),
        n: all.n,
        failed: rows.iter().map(|row| row.failed).sum(),
        operations: rows.iter().map(|row| row.operations).sum(),
        unmeasured: rows.iter().filter(|row| row.is_unmeasured).count(),
    }
}
