//! Remarks on rows that are no failures.

use super::{Connects, TestSummary};
use crate::Distribution;

/// Bytes of a message that arrives about as soon as its first byte.
const SMALL: u64 = 64 * 1024;

/// How many times its mean response time the mean total time of such a message is, at least, ...
const SLOW_BODY: f64 = 3.0;

/// ... and how many nanoseconds more.
const SLOW_BODY_NANOS: f64 = 1e6;

/// A remark on a row that is no failure.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// In words of the engine.
    Remark(String),
    /// The mean and its interval depend on the slowest operation, with this share of all times.
    Dominated(f64),
    /// Most of the time passes after the first byte of a small response: mean response time and
    /// mean total time, in nanoseconds.
    SlowBody {
        /// Mean response time.
        response: f64,
        /// Mean total time.
        total: f64,
    },
    /// Its throughput [wanders](TestSummary::wanders).
    Wanders,
    /// The load generator may have changed it in some runs, which are not among its estimates.
    RunsLeftOut {
        /// How many of them.
        left_out: usize,
        /// Of how many.
        of: usize,
    },
}

impl Note {
    /// The notes on a row: these remarks, those that follow from its times, and another one.
    pub(super) fn all(row: &TestSummary, remarks: Vec<Note>, other: Option<Note>) -> Vec<Note> {
        let of_times = Note::dominated(row.first_byte_times().copied());
        let remarks = remarks.into_iter().chain(of_times).chain(other);
        remarks.chain(Note::slow_body(row)).collect()
    }

    fn dominated(waited: Option<Distribution>) -> Option<Note> {
        let times = waited.filter(Distribution::is_dominated)?;
        Some(Note::Dominated(times.slowest_share()))
    }

    /// The note on a row of small messages on persistent connections, of which most of the total
    /// time is not in the response time.
    fn slow_body(row: &TestSummary) -> Option<Note> {
        let (response, total) = (row.response.as_ref()?, row.total.as_ref()?);
        let operations = row.outcomes.total().max(1);
        let is_small = |bytes: u64| bytes / operations < SMALL;
        let Connects {
            tcp,
            tls,
            tls_resumed,
            ..
        } = &row.connects;
        let handshakes = [tcp, tls, tls_resumed].into_iter().flatten();
        let connecting: f64 = handshakes.map(|times| times.mean * times.n as f64).sum();
        let after_connecting = total.mean - connecting / operations as f64;
        let is_slow = after_connecting >= SLOW_BODY * response.mean
            && after_connecting - response.mean >= SLOW_BODY_NANOS
            && is_small(row.bytes_sent)
            && is_small(row.bytes_received)
            && 10 * row.connects.count < operations;
        is_slow.then_some(Note::SlowBody {
            response: response.mean,
            total: total.mean,
        })
    }
}
