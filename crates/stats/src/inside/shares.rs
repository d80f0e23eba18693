//! Shares of the time of an operation, as far as system calls and the scheduler show them.

use record::{CallTarget, TracedCall, TracedRow};

use super::storage::is_flush;
use super::{InsideFigure, InsideRow, slowed, tells_shares};
use crate::TestSummary;

/// Parts of the time of an operation, from 0 to 1. Those of calls are parts of the time of traced
/// operations, of calls that began and ended within one of them; simultaneous calls of several
/// threads are in them several times.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TracedShares {
    /// Waiting until files are on the disk: fsync and its like.
    pub sync: f64,
    /// Other calls on files and directories, with all that they do: disk, file system, page cache.
    pub files: f64,
    /// Waiting for locks of threads and of files.
    pub locks: f64,
    /// Calls on connections with others than the client, such as a database. A thread that waits
    /// for several connections at once (epoll and its like) does not wait in one of these.
    pub others: f64,
    /// Waiting for a processor (the run queue), of all threads together, counted while nothing was
    /// traced; `None` where it was not counted.
    pub queued: Option<f64>,
}

impl InsideRow {
    /// The shares of the time of an operation of this row; `None` where calls were not counted, or
    /// tracing changed the time too much ([`tells_shares`]).
    pub fn shares(&self, users: u32, test: &TestSummary) -> Option<TracedShares> {
        let traced = self.traced_calls()?;
        if !tells_shares(slowed(traced, users, test)) {
            return None;
        }
        let time = test.total.as_ref().map(|total| total.mean);
        let queued = self.mean(InsideFigure::Queued).zip(time);
        Some(TracedShares {
            queued: queued.map(|(queued, time)| (queued.mean / time).min(1.0)),
            ..TracedShares::from_calls(traced)
        })
    }
}

impl TracedShares {
    /// Of a row with operations that were ok.
    fn from_calls(traced: &TracedRow) -> TracedShares {
        // Calls are those of all operations, times those of the ones that were ok.
        let time = traced.took as f64 / traced.ok as f64 * traced.operations as f64;
        let part = |is_part: fn(&TracedCall) -> bool| {
            let calls = traced.calls.iter().filter(|call| is_part(call));
            let lasted: u64 = calls.map(|call| call.lasted).sum();
            (lasted as f64 / time).min(1.0)
        };
        TracedShares {
            sync: part(is_flush),
            files: part(|call| is_file(call) && !call.for_lock && !is_flush(call)),
            locks: part(|call| call.for_lock),
            others: part(|call| matches!(call.target, CallTarget::Socket { .. })),
            queued: None,
        }
    }
}

fn is_file(call: &TracedCall) -> bool {
    matches!(
        call.target,
        CallTarget::Collection | CallTarget::File { .. }
    )
}

#[cfg(test)]
mod tests {
    use record::{InsideCounts, MeasureId};

    use super::*;
    use crate::inside::InsideMean;
    use crate::testing::{RunBuilder, traced_call};

    fn call(call: &str, target: CallTarget, lasted: u64) -> TracedCall {
        TracedCall {
            lasted,
            ..traced_call(call, target, 1)
        }
    }

    fn file() -> CallTarget {
        CallTarget::File {
            path: "locks.db".to_owned(),
        }
    }

    fn for_lock(call: TracedCall) -> TracedCall {
        TracedCall {
            for_lock: true,
            ..call
        }
    }

    /// Four operations, of which some were ok and took a millisecond.
    fn row(calls: Vec<TracedCall>, ok: u64) -> InsideRow {
        let counted = InsideMean {
            mean: 50_000.0,
            interval: None,
        };
        InsideRow {
            measure: MeasureId(0),
            operations: 4,
            counted: InsideCounts::default(),
            means: vec![(InsideFigure::Queued, counted)],
            kernel_share: None,
            unseen: None,
            traced: Some(TracedRow {
                measure: MeasureId(0),
                operations: 4,
                took: 1_000_000 * ok,
                median: if ok > 0 { 1_000_000 } else { 0 },
                ok,
                calls,
                other_calls: 0,
            }),
        }
    }

    /// The shares of a row whose operations take `untraced_us` when they are not traced.
    fn shares(row: &InsideRow, users: u32, untraced_us: u64) -> Option<TracedShares> {
        let run = RunBuilder::new(users)
            .test("Put1K", &[("Put1K", "PUT")])
            // 30 µs more until it is sent, and from its first byte to its last.
            .ok("Put1K", 9, |_| untraced_us - 30)
            .build();
        row.shares(users, &crate::summarise(&run).tests[0])
    }

    fn parts(shares: Option<TracedShares>) -> [f64; 5] {
        let shares = shares.unwrap_or_else(|| panic!("it has no shares"));
        let queued = shares.queued.unwrap_or(-1.0);
        [
            shares.sync,
            shares.files,
            shares.locks,
            shares.others,
            queued,
        ]
        .map(|share| (share * 1e6).round() / 1e6)
    }

    fn known() -> Vec<TracedCall> {
        let database = || CallTarget::Socket {
            peer: "127.0.0.1:5432".to_owned(),
        };
        vec![
            call("fdatasync", file(), 1_500_000),
            TracedCall {
                synchronous: true,
                ..call("pwrite64", file(), 100_000)
            },
            call("openat", CallTarget::Collection, 100_000),
            call("read", file(), 60_000),
            call("fcntl", file(), 40_000),
            for_lock(call("fcntl", file(), 40_000)),
            for_lock(call("futex", CallTarget::Nothing, 360_000)),
            call("recvfrom", database(), 800_000),
            // A thread that waits for another one, and calls that do not wait.
            call("futex", CallTarget::Nothing, 3_900_000),
            call("write", CallTarget::Client, 900_000),
            call("fcntl", CallTarget::Client, 900_000),
            call("mmap", CallTarget::Nothing, 900_000),
        ]
    }

    #[test]
    fn each_call_is_in_the_part_that_it_is_about() {
        let expected = [0.4, 0.05, 0.1, 0.2, 0.05];
        assert_eq!(parts(shares(&row(known(), 4), 1, 1_000)), expected);
        // Of those that failed, the times are not known.
        assert_eq!(parts(shares(&row(known(), 2), 1, 1_000)), expected);
        assert_eq!(shares(&row(known(), 0), 1, 1_000), None);
    }

    #[test]
    fn a_row_that_tracing_changed_has_no_shares() {
        let traced = row(known(), 4);
        assert!(shares(&traced, 1, 840).is_some());
        assert!(shares(&traced, 1, 1_190).is_some());
        // 25 % slower with tracing, and another load without.
        assert_eq!(shares(&traced, 1, 800), None);
        assert_eq!(shares(&traced, 1, 1_250), None);
        // Operations of several users delay each other, and tracing had one.
        assert_eq!(shares(&traced, 2, 1_000), None);
        let untraced = InsideRow {
            traced: None,
            ..traced.clone()
        };
        assert_eq!(shares(&untraced, 1, 1_000), None);
        let uncounted = InsideRow {
            means: Vec::new(),
            ..traced
        };
        assert_eq!(
            shares(&uncounted, 1, 1_000).map(|shares| shares.queued),
            Some(None)
        );
    }

    #[test]
    fn one_slow_operation_of_a_few_is_no_share() {
        let mut of_one = row(known(), 4);
        of_one.traced.as_mut().unwrap().took *= 3;
        assert_eq!(shares(&of_one, 1, 1000), None);
        assert!(shares(&row(known(), 4), 1, 1000).is_some());
    }

    #[test]
    fn threads_that_wait_together_do_not_take_more_than_all_of_the_time() {
        let calls = vec![for_lock(call("futex", CallTarget::Nothing, 9_000_000))];
        assert_eq!(
            parts(shares(&row(calls, 4), 1, 1_000)),
            [0.0, 0.0, 1.0, 0.0, 0.05]
        );
    }
}
