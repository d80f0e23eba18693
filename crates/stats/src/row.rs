//! One row of the report: a measure of the plan, and what its operations say.

use record::{Connect, MeasureId, MeasureRecord, Nanos, Outcome, Sample};

use crate::status::Facts;
use crate::{Completeness, Distribution, Group, Outcomes, Status, Told};

/// What one measure of the plan came to.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSummary {
    /// Name of the row, `Put1K` for example.
    pub name: String,
    /// HTTP method whose time it is.
    pub method: String,
    /// What became of it.
    pub status: Status,
    /// Why it is not ok; `None` when it is.
    pub evidence: Option<String>,
    /// Outcomes of the operations that count.
    pub outcomes: Outcomes,
    /// Outcomes of the operations outside the window.
    pub left_out_outcomes: Outcomes,
    /// Operations among the expected ones that have no response time, because the server answered
    /// before it had the whole request.
    pub early: u64,
    /// Response times (*first* minus *sent*) of the expected operations that count.
    pub response: Option<Distribution>,
    /// Total times (*done* minus *started*) of the expected operations that count.
    pub total: Option<Distribution>,
    /// Connections opened by the operations that count.
    pub connects: Connects,
    /// Bytes of the requests that count, failed ones too.
    pub bytes_sent: u64,
    /// Bytes of the responses that count, failed ones too.
    pub bytes_received: u64,
    /// Length of the window in seconds; `None` where there is none. Rows of one test share it.
    pub window_s: Option<f64>,
    /// Expected operations in the window a second. The window also contains the other steps of
    /// the test's loop, so this is what the users got done, not what the server could do.
    pub per_second: Option<f64>,
    /// Descriptions of failures: why the test could not be measured, and the first failed
    /// operations, at most [`FAILURES_DESCRIBED`](crate::FAILURES_DESCRIBED) of them.
    pub failures: Vec<String>,
    /// Remarks that are no failures.
    pub notes: Vec<String>,
}

/// Connections opened by the operations of a row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Connects {
    /// Operations for which a connection was opened.
    pub count: u64,
    /// TCP handshakes of the expected ones among them.
    pub tcp: Option<Distribution>,
    /// TLS handshakes of the expected ones among them.
    pub tls: Option<Distribution>,
    /// Operations whose request was sent once more, because a kept connection had died or a
    /// Digest nonce had run out.
    pub resent: u64,
}

impl TestSummary {
    /// Operations that count, however they ended.
    pub fn operations(&self) -> u64 {
        self.outcomes.total()
    }

    /// Operations outside the window, however they ended.
    pub fn left_out(&self) -> u64 {
        self.left_out_outcomes.total()
    }

    /// Failed operations, inside the window and outside.
    pub fn failed(&self) -> u64 {
        self.outcomes.failed() + self.left_out_outcomes.failed()
    }
}

/// Summarises the measure `id` from the samples of its test.
pub(crate) fn row(
    measure: &MeasureRecord,
    id: MeasureId,
    group: Option<&Group<'_>>,
    told: &Told,
    complete: &Completeness,
) -> TestSummary {
    let samples = group.map_or(&[][..], |group| &group.samples);
    let window = group.and_then(|group| group.window.ok());
    let (counted, left_out): (Vec<&Sample>, Vec<&Sample>) = samples
        .iter()
        .filter(|sample| sample.measure == id)
        .partition(|sample| window.is_some_and(|window| window.contains(sample)));
    let ok: Vec<&Sample> = counted
        .iter()
        .copied()
        .filter(|sample| sample.outcome == Outcome::Ok)
        .collect();

    let outcomes = outcomes(&counted);
    let left_out_outcomes = self::outcomes(&left_out);
    let test_failed = told
        .test_failed
        .get(&measure.test)
        .map_or(&[][..], Vec::as_slice);
    let failures = told.failures.get(&id).map_or(&[][..], Vec::as_slice);
    let (status, evidence) = Facts {
        outcomes: outcomes.plus(&left_out_outcomes),
        together: self::outcomes(samples),
        not_supported: told.not_supported.get(&measure.test).map(String::as_str),
        test_failed: test_failed.first().map(String::as_str),
        failure: failures.first().map(String::as_str),
        complete,
    }
    .judge();

    let response = Distribution::of(&times(&ok, |sample| sample.moments.response()));
    let window_s = window.map(|window| window.seconds());
    TestSummary {
        name: measure.name.clone(),
        method: measure.method.clone(),
        status,
        evidence,
        outcomes,
        left_out_outcomes,
        early: ok.len() as u64 - response.map_or(0, |response| response.n),
        response,
        total: Distribution::of(&times(&ok, |sample| sample.moments.total())),
        connects: connects(&counted, &ok),
        bytes_sent: counted.iter().map(|sample| sample.bytes_sent).sum(),
        bytes_received: counted.iter().map(|sample| sample.bytes_received).sum(),
        window_s,
        per_second: window_s
            .filter(|s| *s > 0.0)
            .map(|s| outcomes.ok() as f64 / s),
        failures: test_failed.iter().chain(failures).cloned().collect(),
        notes: told.notes.get(&id).cloned().unwrap_or_default(),
    }
}

fn outcomes(samples: &[&Sample]) -> Outcomes {
    samples.iter().map(|sample| sample.outcome).collect()
}

/// A time of each sample that has it, in the order of the samples.
fn times(samples: &[&Sample], time: impl Fn(&Sample) -> Option<Nanos>) -> Vec<Nanos> {
    samples.iter().filter_map(|sample| time(sample)).collect()
}

fn connects(counted: &[&Sample], ok: &[&Sample]) -> Connects {
    let handshakes = |time: fn(Connect) -> Option<Nanos>| {
        Distribution::of(&times(ok, |sample| sample.connect.and_then(time)))
    };
    Connects {
        count: counted
            .iter()
            .filter(|sample| sample.connect.is_some())
            .count() as u64,
        tcp: handshakes(|connect| Some(connect.tcp)),
        tls: handshakes(|connect| connect.tls),
        resent: counted.iter().filter(|sample| sample.resent).count() as u64,
    }
}
