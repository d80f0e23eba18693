//! One row of the report: a measure of the plan, and what its operations say.

mod note;
mod pooled;

use record::{
    Clock, Connect, Http, Load, MeasureId, Outcome, Pace, PlanRecord, Sample, TimeUnit, Timing,
};

use crate::bias::{Bias, Differences};
use crate::estimated::{EstimatedRow, JudgedTally};
use crate::failures::{FailureCounts, FailureGroup};
use crate::origins::ResponseOrigins;
use crate::spread::{Bar, ROWS, spread};
use crate::status::{MissingMethod, StatusFacts};
use crate::throughput::{Throughput, is_steady};
use crate::times::Times;
use crate::warning::{RowFacts, StalledTimes, Stalls};
use crate::window::{MeasurementWindow, Span, end};

use crate::run_events::RunEvents;
use crate::{Completeness, Distribution, Outcomes, Status, StatusReason, Warning};
pub use note::Note;
pub(crate) use pooled::{RunRow, each_once, pooled, sound};

/// What one measure of the plan came to.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSummary {
    /// Name of the row, `Put1K` for example.
    pub name: String,
    /// Name of its test.
    pub test: String,
    /// Words of the suite about its test.
    pub title: Option<String>,
    /// HTTP method whose time it is.
    pub method: String,
    /// The unit in which its times are shown, where the suite declares one.
    pub unit: Option<TimeUnit>,
    /// How its test uses connections.
    pub http: Http,
    /// What became of it.
    pub status: Status,
    /// Why it is not ok; `None` when it is.
    pub evidence: Option<StatusReason>,
    /// Outcomes of the operations that count.
    pub outcomes: Outcomes,
    /// Outcomes of the operations outside the window.
    pub left_out_outcomes: Outcomes,
    /// Operations among the expected ones that have no response time, because the server answered
    /// before it had the whole request.
    pub early: u64,
    /// Operations whose response has its *first* in common with that before it on the connection.
    pub shared_first: u64,
    /// Where the responses came from, as far as that is worth a word.
    pub origins: ResponseOrigins,
    /// Operations among the expected ones that have no response time, because a time stamp of the
    /// kernel never came or made no sense.
    pub missed: u64,
    /// Response times (*first* minus *sent*) of the expected operations that count.
    pub response: Option<Distribution>,
    /// *First* minus *planned* of the expected operations that count; only in an open loop.
    pub planned: Option<Distribution>,
    /// *Acked* minus *started* of the expected operations that count; only where the kernel's
    /// stamp of the server's acknowledgement was asked for.
    pub upload: Option<Distribution>,
    /// Total times (*done* minus *started*) of the expected operations that count.
    pub total: Option<Distribution>,
    /// What user space would have added to the response times; only with the kernel's clock.
    pub bias: Option<Bias>,
    /// `response` and `planned` side by side; empty but in a load.
    pub spread: Vec<Bar>,
    /// Connections opened by the operations that count.
    pub connects: Connects,
    /// Bytes of the requests that count, failed ones too.
    pub bytes_sent: u64,
    /// Bytes of the responses that count, failed ones too.
    pub bytes_received: u64,
    /// Length of the window in seconds; `None` where there is none. Rows of one test share it.
    pub window_s: Option<f64>,
    /// Expected operations that ended in the window, a second. The window also contains the other
    /// steps of the test's loop, so this is what the users got done, not what the server could do.
    pub rate: Option<EstimatedRate>,
    /// The rate went up or down over times that are not short beside the window, so that the
    /// interval may be too narrow.
    pub wanders: bool,
    /// Why the test could not be measured, and the failed operations, grouped by how they ended.
    pub failures: Vec<FailureGroup>,
    /// Remarks that are no failures.
    pub notes: Vec<Note>,
    /// Warnings about this row, those about its test among them.
    pub warnings: Vec<Warning>,
    /// It failed, and the load generator may have caused all of its failures.
    pub may_be_no_failure: bool,
}

/// A rate with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimatedRate {
    /// Operations a second.
    pub per_second: f64,
    /// `None` where there are too few operations for an interval, where the load changed on
    /// purpose, and where the run waited for others beside it.
    pub ci95: Option<(f64, f64)>,
}

impl EstimatedRate {
    /// The rate in another unit, of which `factor` are one of this.
    pub fn scaled(self, factor: f64) -> EstimatedRate {
        EstimatedRate {
            per_second: self.per_second * factor,
            ci95: self.ci95.map(|(low, high)| (low * factor, high * factor)),
        }
    }
}

/// The moment from which times are counted:
/// [to the first byte](TestSummary::first_byte_times), or the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// *Sent*: what the server needs.
    Sent,
    /// *Planned*, of an open loop: what it needs, and the waiting before that.
    Planned,
    /// *Started*: total times, which end with the last byte of the response.
    Started,
}

impl Since {
    /// All of them.
    pub const ALL: [Since; 3] = [Since::Sent, Since::Planned, Since::Started];

    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a TestSummary>) -> Since {
        if rows.into_iter().any(|row| row.planned.is_some()) {
            Since::Planned
        } else {
            Since::Sent
        }
    }

    /// The name used in files: `planned`.
    pub fn name(self) -> &'static str {
        match self {
            Since::Sent => "sent",
            Since::Planned => "planned",
            Since::Started => "started",
        }
    }
}

/// Connections opened by the operations of a row.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Connects {
    /// Operations for which a connection was opened.
    pub count: u64,
    /// TCP handshakes of the expected ones among them.
    pub tcp: Option<Distribution>,
    /// Full TLS handshakes of the expected ones among them, and those of which it is not known.
    pub tls: Option<Distribution>,
    /// TLS handshakes of the expected ones among them that resumed a session.
    pub tls_resumed: Option<Distribution>,
    /// Operations whose request was sent once more, because a kept connection had died or a
    /// Digest nonce had run out.
    pub resent: u64,
    /// TCP segments of the connections that ended with the operations; `None` if none is known.
    pub segments: Option<SegmentCount>,
}

/// TCP segments of several connections, as [`record::Segments`] has those of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentCount {
    /// Sent.
    pub sent: u64,
    /// Received.
    pub received: u64,
}

impl SegmentCount {
    /// Adds what is known of others.
    pub(crate) fn add(all: &mut Option<SegmentCount>, others: Option<SegmentCount>) {
        let Some(others) = others else { return };
        let all = all.get_or_insert_default();
        all.sent += others.sent;
        all.received += others.received;
    }

    pub(crate) fn of(sample: &Sample) -> Option<SegmentCount> {
        sample.segments.map(|segments| SegmentCount {
            sent: u64::from(segments.sent),
            received: u64::from(segments.received),
        })
    }
}

impl TestSummary {
    /// Operations that count, however they ended.
    pub fn operations(&self) -> u64 {
        self.outcomes.total()
    }

    /// Expected operations a second, without the interval.
    pub fn per_second(&self) -> Option<f64> {
        self.rate.map(|rate| rate.per_second)
    }

    /// Operations outside the window, however they ended.
    pub fn left_out(&self) -> u64 {
        self.left_out_outcomes.total()
    }

    /// Operations that ended as expected, inside the window and outside.
    pub fn expected(&self) -> u64 {
        self.outcomes.ok() + self.left_out_outcomes.ok()
    }

    /// Failed operations, inside the window and outside.
    pub fn failed(&self) -> u64 {
        self.outcomes.failed() + self.left_out_outcomes.failed()
    }

    /// Times to the first byte: from the planned moment on in an open loop, else response times.
    pub fn first_byte_times(&self) -> Option<&Distribution> {
        self.planned.as_ref().or(self.response.as_ref())
    }

    /// No operation among the expected ones has a response time, for want of the kernel's stamps.
    pub fn all_missed(&self) -> bool {
        self.missed > 0 && self.missed == self.outcomes.ok()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RowTally {
    outcomes: Outcomes,
    left_out: Outcomes,
    missed: u64,
    response: Times,
    planned: Times,
    upload: Times,
    total: Times,
    bias: Differences,
    connects: u64,
    resent: u64,
    shared_first: u64,
    segments: Option<SegmentCount>,
    tcp: Times,
    tls: Times,
    tls_resumed: Times,
    bytes_sent: u64,
    bytes_received: u64,
    throughput: Throughput,
    failures: FailureCounts,
    judged: JudgedTally,
}

impl RowTally {
    /// Adds the end of an operation, whether or not the operation counts.
    pub(crate) fn add_end(&mut self, sample: &Sample, window: MeasurementWindow) {
        let ended = end(sample);
        if sample.outcome == Outcome::Ok && window.contains_moment(ended) {
            self.throughput.receive(ended, sample.bytes_received);
        }
    }

    pub(crate) fn leave_out(&mut self, sample: &Sample) {
        self.left_out.add(sample.outcome);
        self.failures.add(sample);
    }

    /// Adds an operation that counts. `open` says that its *planned* is a moment of its own.
    pub(crate) fn add(&mut self, sample: &Sample, open: bool) {
        self.outcomes.add(sample.outcome);
        self.failures.add(sample);
        self.connects += u64::from(sample.connect.is_some());
        self.resent += u64::from(sample.resent);
        self.shared_first += u64::from(sample.shares_first);
        SegmentCount::add(&mut self.segments, SegmentCount::of(sample));
        self.bytes_sent += sample.bytes_sent;
        self.bytes_received += sample.bytes_received;
        self.judged.add(sample);
        if sample.outcome == Outcome::Ok {
            self.add_times(sample, open);
        }
    }

    /// Failed operations never come here: a server that fails fast does not look fast.
    fn add_times(&mut self, sample: &Sample, open: bool) {
        let (moments, at) = (&sample.moments, sample.moments.started);
        self.total.add_some(at, moments.total());
        self.upload.add_some(at, moments.upload());
        if let Some(Connect { tcp, tls, resumed }) = sample.connect {
            self.tcp.add(at, tcp);
            match resumed {
                Some(true) => self.tls_resumed.add_some(at, tls),
                Some(false) | None => self.tls.add_some(at, tls),
            }
        }
        match sample.timing {
            Timing::Missed => {
                self.missed += 1;
                return;
            }
            Timing::Kernel { bias: Some(bias) } => self.bias.add(at, bias),
            Timing::Kernel { bias: None } | Timing::User => {}
        }
        self.response.add_some(at, moments.response());
        if open {
            self.planned.add_some(at, moments.from_planned());
            self.judged.add_time(at, moments.from_planned());
        } else {
            self.judged.add_time(at, moments.response());
        }
    }

    pub(crate) fn merge(&mut self, other: &RowTally) {
        self.outcomes = self.outcomes.plus(&other.outcomes);
        self.left_out = self.left_out.plus(&other.left_out);
        self.failures.merge(&other.failures);
        self.missed += other.missed;
        self.connects += other.connects;
        self.resent += other.resent;
        self.shared_first += other.shared_first;
        SegmentCount::add(&mut self.segments, other.segments);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.throughput.merge(&other.throughput);
        self.bias.merge(&other.bias);
        self.judged.merge(&other.judged);
        for (times, others) in [
            (&mut self.response, &other.response),
            (&mut self.planned, &other.planned),
            (&mut self.upload, &other.upload),
            (&mut self.total, &other.total),
            (&mut self.tcp, &other.tcp),
            (&mut self.tls, &other.tls),
            (&mut self.tls_resumed, &other.tls_resumed),
        ] {
            times.merge(others);
        }
    }

    pub(crate) fn estimated(&self) -> EstimatedRow<'_> {
        EstimatedRow {
            times: if self.planned.count() > 0 {
                &self.planned
            } else {
                &self.response
            },
            throughput: &self.throughput,
            judged: &self.judged,
            outcomes: &self.outcomes,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            connections: self.connects,
        }
    }

    pub(crate) fn all_outcomes(&self) -> Outcomes {
        self.outcomes.plus(&self.left_out)
    }

    /// What stalls of the load generator can have done to the estimates of this measure, in a run
    /// of that load and clock.
    pub(crate) fn facts(&self, stalls: &Stalls, load: &Load, clock: Clock) -> RowFacts {
        let times = StalledTimes {
            clock,
            response: &self.response,
            planned: (self.planned.count() > 0).then_some(&self.planned),
            total: &self.total,
            bytes: self.bytes_received / self.outcomes.total().max(1),
        };
        RowFacts {
            stalled: stalls.estimate_part(&times, load),
            total_stalled: stalls.total_part(&times),
        }
    }

    pub(crate) fn add_bias_to(&self, all: &mut Differences) {
        all.merge(&self.bias);
    }
}

pub(crate) struct Around<'a> {
    pub(crate) plan: &'a PlanRecord,
    pub(crate) id: MeasureId,
    /// Outcomes of all operations of all measures of its test.
    pub(crate) together: Outcomes,
    /// Chance decides about it, and came to others only.
    pub(crate) never_drawn: bool,
    /// A schedule decides when operations begin, and nothing at all was recorded.
    pub(crate) nothing_due: bool,
    pub(crate) window: Option<Span>,
    pub(crate) run_events: &'a RunEvents,
    pub(crate) complete: &'a Completeness,
}

/// The row of a measure in one run. Its warnings are known when all rows are.
pub(crate) fn row(tally: &RowTally, around: &Around<'_>) -> TestSummary {
    let Around {
        plan,
        run_events,
        id,
        ..
    } = around;
    let mut row = TestSummary::counted(plan, *id, &[tally], &[tally]);
    let measure = &plan.measures[usize::from(id.0)];
    let test_failed = run_events
        .test_failed
        .get(&measure.test)
        .map_or(&[][..], Vec::as_slice);
    let failures = run_events.failures.get(id).map_or(&[][..], Vec::as_slice);
    (row.status, row.evidence) = StatusFacts {
        outcomes: tally.all_outcomes(),
        together: around.together,
        never_drawn: around.never_drawn,
        nothing_due: around.nothing_due,
        ended: run_events.ended(measure.test),
        measured: run_events.measured.contains(&measure.test),
        not_supported: run_events
            .not_supported
            .get(&measure.test)
            .map(|(step, evidence)| MissingMethod {
                of_another_row: step.as_ref().and_then(|step| {
                    let is_own = match step.measure {
                        Some(of) => of == *id,
                        None => step.method == measure.method,
                    };
                    (!is_own).then_some(step.method.as_str())
                }),
                evidence,
            }),
        test_failed: test_failed.first(),
        failure: failures.first().map(|(_, why)| why),
        stamps_missed: row.all_missed(),
        complete: around.complete,
    }
    .judge();
    row.origins = run_events.origins.get(id).cloned().unwrap_or_default();
    // A run beside others did nothing while it waited for its turn.
    let waited_s = run_events.waited(measure.test) as f64 / 1e9;
    row.window_s = around.window.map(|span| span.seconds() - waited_s);
    let throughput = around
        .window
        .and_then(|window| tally.throughput.rate(window));
    // Completions come in lumps where the run waited, which say nothing of the server.
    let estimate = throughput.filter(|_| waited_s == 0.0 && is_steady(&plan.load));
    row.rate = row
        .window_s
        .filter(|s| *s > 0.0)
        .zip(throughput)
        .map(|(s, rate)| EstimatedRate {
            per_second: rate.completed as f64 / s,
            ci95: estimate.and_then(|rate| rate.ci95),
        });
    row.wanders = estimate.is_some_and(|rate| rate.wanders);
    row.failures = tally.failures.groups(test_failed, failures, around.window);
    let remarks = run_events.notes.get(id).cloned().unwrap_or_default();
    let remarks = remarks.into_iter().map(Note::Remark).collect();
    row.notes = Note::all(&row, remarks, row.wanders.then_some(Note::Wanders));
    row
}

impl TestSummary {
    /// Identity of the row of a measure, and all that its operations say: counts of those of all
    /// runs, and times of those of the runs that estimates come from. Status, rate, failures, notes
    /// and warnings are blank.
    fn counted(
        plan: &PlanRecord,
        id: MeasureId,
        all: &[&RowTally],
        sound: &[&RowTally],
    ) -> TestSummary {
        let measure = &plan.measures[usize::from(id.0)];
        let sum = |of: fn(&RowTally) -> u64| all.iter().map(|tally| of(tally)).sum();
        let outcomes = |of: fn(&RowTally) -> &Outcomes| {
            let each = all.iter().map(|tally| of(tally));
            each.fold(Outcomes::default(), |all, each| all.plus(each))
        };
        let times = |of: fn(&RowTally) -> &Times| -> Vec<&Times> {
            sound.iter().map(|tally| of(tally)).collect()
        };
        let describe = |of: fn(&RowTally) -> &Times| Times::describe_runs(&times(of));
        let differences: Vec<&Differences> = sound.iter().map(|tally| &tally.bias).collect();
        TestSummary {
            name: measure.name.clone(),
            test: plan.name_of_test(measure.test),
            title: {
                let test = plan.tests.get(usize::from(measure.test.0));
                test.and_then(|test| test.title.clone())
            },
            method: measure.method.clone(),
            unit: measure.unit,
            http: *plan.http_of(measure.test),
            outcomes: outcomes(|tally| &tally.outcomes),
            left_out_outcomes: outcomes(|tally| &tally.left_out),
            early: sum(|tally| tally.outcomes.ok() - tally.missed - tally.response.count()),
            shared_first: sum(|tally| tally.shared_first),
            missed: sum(|tally| tally.missed),
            response: describe(|tally| &tally.response),
            planned: describe(|tally| &tally.planned),
            upload: describe(|tally| &tally.upload),
            total: describe(|tally| &tally.total),
            bias: Differences::describe_runs(&differences),
            spread: match plan.load.pace {
                Pace::Rounds => Vec::new(),
                Pace::Closed | Pace::Open { .. } => spread(
                    &times(|tally| &tally.response),
                    &times(|tally| &tally.planned),
                    ROWS,
                ),
            },
            connects: Connects {
                count: sum(|tally| tally.connects),
                tcp: describe(|tally| &tally.tcp),
                tls: describe(|tally| &tally.tls),
                tls_resumed: describe(|tally| &tally.tls_resumed),
                resent: sum(|tally| tally.resent),
                segments: all.iter().fold(None, |mut sum, tally| {
                    SegmentCount::add(&mut sum, tally.segments);
                    sum
                }),
            },
            bytes_sent: sum(|tally| tally.bytes_sent),
            bytes_received: sum(|tally| tally.bytes_received),
            status: Status::Ok,
            evidence: None,
            origins: ResponseOrigins::default(),
            window_s: None,
            rate: None,
            wanders: false,
            failures: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            may_be_no_failure: false,
        }
    }
}
