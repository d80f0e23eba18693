//! Estimates and facts of a whole run: while it goes on, and read from its record.

use std::borrow::Cow;
use std::collections::BTreeMap;

use constraint::WhyUnknown;
use record::{Event, TestId};

use super::tally::{EstimatedRow, MeasuredTime};
use super::{EstimatedStatistic, FactOfRow, JudgedEstimate};
use crate::run_events::RunEvents;
use crate::summariser::Summariser;
use crate::throughput::is_steady;
use crate::window::{NoWindow, Span};

/// The estimates and the facts of a run, row by row. Rows are named by their index in the plan
/// ([`row_named`](RunEstimates::row_named)); its pages follow its measures.
#[derive(Debug)]
pub(crate) struct RunEstimates<'a> {
    operations: Cow<'a, Summariser>,
    windows: BTreeMap<TestId, Result<Span, NoWindow>>,
    run_events: RunEvents,
}

impl<'a> RunEstimates<'a> {
    pub(crate) fn of(
        operations: Cow<'a, Summariser>,
        events: &[Event],
        windows: BTreeMap<TestId, Result<Span, NoWindow>>,
    ) -> RunEstimates<'a> {
        RunEstimates {
            windows,
            run_events: RunEvents::by(events, operations.plan().load.users),
            operations,
        }
    }

    /// Names of the rows, in the order of the plan: those of measures, and then those of pages.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &str> {
        let plan = self.operations.plan();
        let measures = plan.measures.iter().map(|measure| measure.name.as_str());
        measures.chain(plan.pages.iter().map(|page| page.name.as_str()))
    }

    pub(crate) fn row_named(&self, name: &str) -> Option<usize> {
        self.rows().position(|row| row == name)
    }

    /// Operations of the row at that index that count, however ended, and seconds of its window.
    pub(crate) fn extent(&self, row: usize) -> (u64, f64) {
        let row = self.row(row);
        row.map_or((0, 0.0), |(row, measured)| {
            (row.outcomes.total(), measured.seconds)
        })
    }

    /// An estimate of the row at that index, with an interval that misses the truth with the
    /// probability `miss`, half of it on each side.
    pub(crate) fn estimate(
        &self,
        row: usize,
        statistic: EstimatedStatistic,
        miss: f64,
    ) -> Result<JudgedEstimate, WhyUnknown> {
        let (estimated, measured) = self.row(row).ok_or(WhyUnknown::NotMeasured)?;
        estimated.estimate(statistic, measured, miss)
    }

    /// An estimate without its interval, of which there may be none.
    pub(crate) fn value(&self, row: usize, statistic: EstimatedStatistic) -> Option<f64> {
        let (estimated, measured) = self.row(row)?;
        estimated.value(statistic, measured)
    }

    /// `None` for a time where there is none, and for a row that is not in the plan.
    pub(crate) fn fact(&self, row: usize, fact: FactOfRow) -> Option<u64> {
        self.row(row)?.0.fact(fact)
    }

    fn row(&self, index: usize) -> Option<(EstimatedRow<'_>, MeasuredTime)> {
        let plan = self.operations.plan();
        let (row, test) = match index.checked_sub(plan.measures.len()) {
            None => (
                self.operations.row(index)?.estimated(),
                plan.measures[index].test,
            ),
            Some(page) => {
                let first = plan.pages.get(page)?.files.first()?;
                let test = plan.measures.get(usize::from(first.0))?.test;
                (self.operations.page(page)?.estimated(), test)
            }
        };
        let window = self.windows.get(&test).and_then(|window| window.ok());
        let waited = self.run_events.waited(test) as f64 / 1e9;
        let seconds = window.map_or(0.0, |window| (window.seconds() - waited).max(0.0));
        let measured = MeasuredTime {
            window,
            is_steady: is_steady(&plan.load) && waited == 0.0,
            seconds,
        };
        Some((row, measured))
    }
}
