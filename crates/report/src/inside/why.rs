//! Why the slowest rows take as long as they do: what their time goes into, and what they do on the
//! storage.

use record::PlanRecord;
use stats::{InsideFigure, InsideRow, InsideSummary, Summary, TestSummary, slowed};

use super::calls::{LEAST_OFTEN, no_times, shares_by_name, unknown_calls};
use super::{count, test_of};
use crate::clean;
use crate::figure::percent;

pub(crate) const HEADING: &str = "Why the slowest rows take as long as they do";

const SLOWEST: usize = 3;

pub(crate) struct WhySlow {
    pub(crate) row: String,
    /// Mean time of an operation, in nanoseconds.
    pub(crate) time: f64,
    pub(crate) parts: String,
    /// Calls on the storage by kind.
    pub(crate) calls: String,
}

/// The slowest rows whose calls were counted, the slowest first.
pub(crate) fn slowest(
    plan: &PlanRecord,
    summary: &Summary,
    inside: &InsideSummary,
) -> Vec<WhySlow> {
    let rows = inside.rows.iter().filter_map(|row| {
        let test = test_of(summary, row.measure)?;
        row.traced.as_ref().filter(|traced| traced.ok > 0)?;
        Some((test.total.as_ref()?.mean, row, test))
    });
    let mut rows: Vec<(f64, &InsideRow, &TestSummary)> = rows.collect();
    rows.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let shown = rows.into_iter().take(SLOWEST);
    shown
        .map(|(time, row, test)| WhySlow {
            row: clean(&test.name),
            time,
            parts: parts(time, row, plan.load.users, test),
            calls: on_storage(row),
        })
        .collect()
}

/// `processor 40 %, files 35 %`.
fn parts(time: f64, row: &InsideRow, users: u32, test: &TestSummary) -> String {
    let processor = row.mean(InsideFigure::Processor);
    let mut parts: Vec<String> = processor
        .map(|processor| {
            let behind = if processor.mean > time {
                ", also behind the response"
            } else {
                ""
            };
            format!("processor {}{behind}", percent(processor.mean / time))
        })
        .into_iter()
        .collect();
    match row.shares(users, test) {
        Some(shares) => parts.extend(shares_by_name(&shares)),
        None => {
            let traced = row.traced_calls();
            let slowed = traced.and_then(|traced| slowed(traced, users, test));
            let why = no_times(slowed).map_or(String::new(), |why| format!(" ({why})"));
            parts.push(format!("calls not timed{why}"));
        }
    }
    parts.join(", ")
}

/// `100 unlink, 240 open`, the most frequent first; what changes the storage or waits for it stands
/// before what looks at it.
fn on_storage(row: &InsideRow) -> String {
    if let Some(by) = row.unseen {
        return unknown_calls(by);
    }
    let mut kinds = row.storage_calls();
    kinds.retain(|(_, number)| *number >= LEAST_OFTEN);
    kinds.sort_by(|(one, number), (other, other_number)| {
        (other.is_change().cmp(&one.is_change())).then(other_number.total_cmp(number))
    });
    let words = kinds
        .iter()
        .map(|(kind, number)| format!("{} {}", count(*number), kind.name()));
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return "nothing".to_owned();
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use record::{AsyncInterface, CallTarget, InsideCounts, MeasureId, TracedCall, TracedRow};
    use stats::InsideMean;
    use stats::testing::{RunBuilder, traced_call};

    use stats::units::human;

    use super::*;

    /// A row of two traced operations with these calls, which were as long as without.
    fn row(index: u16, took: u64, calls: &[(&str, u64, u64)]) -> InsideRow {
        let call = |(call, count, lasted): &(&str, u64, u64)| TracedCall {
            lasted: *lasted,
            ..traced_call(call, CallTarget::Collection, *count)
        };
        let mean = InsideMean {
            mean: took as f64 / 4.0,
            interval: None,
        };
        InsideRow {
            measure: MeasureId(index),
            operations: 2,
            counted: InsideCounts::default(),
            means: vec![(InsideFigure::Processor, mean)],
            kernel_share: None,
            unseen: None,
            traced: Some(TracedRow {
                measure: MeasureId(index),
                operations: 2,
                took: 2 * took,
                median: took,
                ok: 2,
                calls: calls.iter().map(call).collect(),
                other_calls: 0,
            }),
        }
    }

    #[test]
    fn the_slowest_rows_say_what_they_are_made_of() {
        let rows = [
            ("Move", 900),
            ("Put1K", 100),
            ("Copy", 500),
            ("Lock", 300),
            ("Get1K", 2000),
        ];
        let run = rows.iter().fold(RunBuilder::new(1), |run, (name, us)| {
            run.test(name, &[(name, "PUT")]).ok(name, 9, |_| us - 30)
        });
        let run = run.build();
        let summary = stats::summarise(&run);
        let mut inside = InsideSummary {
            rows: vec![
                row(
                    0,
                    900_000,
                    &[
                        ("stat", 40, 300_000),
                        ("unlink", 8, 600_000),
                        ("mkdir", 1, 0),
                    ],
                ),
                row(1, 100_000, &[]),
                row(2, 250_000, &[("fsync", 2, 400_000)]),
                row(3, 300_000, &[]),
                row(4, 2_000_000, &[]),
            ],
            ..InsideSummary::default()
        };
        // The slowest of all was not traced.
        inside.rows[4].traced = None;
        inside.rows[3].unseen = Some(AsyncInterface::IoUring);
        let reasons = slowest(&run.plan, &summary, &inside);
        let words: Vec<_> = reasons
            .iter()
            .map(|why| {
                format!(
                    "{}, {}: {}; {}",
                    why.row,
                    human(why.time),
                    why.parts,
                    why.calls
                )
            })
            .collect();
        assert_eq!(
            words,
            [
                "Move, 900 µs: processor 25 %, files 50 %; 4 unlink, 0.50 mkdir, 20 stat",
                "Copy, 500 µs: processor 12 %, calls not timed (without tracing, operations took longer, so \
                 something else was at work); 1 fsync",
                "Lock, 300 µs: processor 25 %, calls not timed; unknown: the server uses io_uring",
            ]
        );
    }
}
