//! One document for programs: the types of `wire` filled from a run and its summary.

use figures::is_harmful;
use record::{Outcome, PlanRecord, Run, TestRecord, Verify};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{
    Completeness, ConstraintReading, JudgedConstraint, ReadFigure, ReadingUnit, Summary,
    TestSummary,
};

use crate::constraints::why_unknown;
use crate::load_steps::LoadStepJson;
use crate::origins;
use crate::reasons::{abort_reason, ended_early, note, reason};
use crate::surroundings::ServerJson;
use crate::targets::{TargetJson, targets};
use crate::{load, webstone, wire};

/// What went on beside a run.
#[derive(Debug, Clone, Copy)]
pub struct BesideResult<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its record; samples are not needed.
    pub run: &'a Run,
    /// What it says.
    pub summary: &'a Summary,
}

/// The result as one JSON document, for which `docs/result.schema.json` is published. Ends with a newline.
pub fn json(run: &Run, summary: &Summary, beside: &[BesideResult<'_>]) -> String {
    let beside = beside.iter().map(|load| wire::BesideJson {
        name: load.name.to_owned(),
        result: document(load.run, load.summary),
    });
    pretty(&wire::ResultDocument {
        beside: beside.collect(),
        ..document(run, summary)
    })
}

/// The JSON schema of [`json`]: the content of `docs/result.schema.json`. Ends with a newline.
#[cfg(feature = "schema")]
pub fn schema() -> String {
    schema_of::<wire::ResultDocument>()
}

#[cfg(feature = "schema")]
pub(crate) fn schema_of<T: schemars::JsonSchema>() -> String {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    pretty(&settings.into_generator().into_root_schema_for::<T>())
}

pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value)
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails");
    visible(&text) + "\n"
}

/// The same document, and harmless on a terminal: JSON itself escapes only the control characters of
/// ASCII. Others can stand in strings only, where an escape means the same.
pub(crate) fn visible(json: &str) -> String {
    let mut units = [0; 2];
    json.chars()
        .fold(String::with_capacity(json.len()), |mut out, c| {
            if c != '\n' && is_harmful(c) {
                let units = c.encode_utf16(&mut units).iter();
                out.extend(units.map(|unit| format!("\\u{unit:04x}")));
            } else {
                out.push(c);
            }
            out
        })
}

pub(crate) fn document(run: &Run, summary: &Summary) -> wire::ResultDocument {
    let (plan, env) = (&run.plan, &run.env);
    let titled = |test: &TestSummary| wire::TestJson {
        title: plan.title_of(&test.name).map(str::to_owned),
        ..wire::TestJson::from(test)
    };
    wire::ResultDocument {
        schema_version: wire::SCHEMA_VERSION,
        prestan: wire::Program {
            version: plan.prestan.clone(),
        },
        run_id: plan.run_id.clone(),
        suite: plan.suite.clone(),
        params: plan.params.clone(),
        target: plan.target.clone(),
        server: env.server.as_ref().map(ServerJson::from),
        clock: plan.clock,
        bias_us: summary.clock.bias.as_ref().map(wire::BiasJson::from),
        missed: summary.clock.missed,
        machine: env.machine.clone(),
        command: plan.command.clone(),
        notes: plan.notes.clone(),
        load: plan.into(),
        started_at: env.started_at.clone(),
        ended_at: env.ended_at.clone(),
        complete: (&summary.complete).into(),
        goal: summary.goal.map(|goal| wire::GoalJson {
            half_width_percent: goal.half_width.map(|width| width * 100.0),
            reached: goal.reached,
        }),
        load_steps: summary.load_steps.iter().map(LoadStepJson::from).collect(),
        ended_early: summary.ended_early.iter().map(ended_early).collect(),
        targets: targets(plan, env).iter().map(TargetJson::from).collect(),
        roles: load::roles(plan).map(wire::RoleJson::from).collect(),
        left_out: summary.left_out(),
        conclusion: summary.conclusion(),
        inconclusive: crate::inconclusive(summary),
        generator: summary
            .generator
            .iter()
            .map(|generator| self::generator(run, generator))
            .collect(),
        warnings: summary
            .warnings
            .iter()
            .map(wire::WarningJson::from)
            .collect(),
        left_behind: summary.left_behind.clone(),
        tests: summary.tests.iter().map(titled).collect(),
        constraints: summary
            .constraints
            .iter()
            .map(wire::ConstraintJson::from)
            .collect(),
        webstone: summary
            .pages
            .as_ref()
            .map(|pages| webstone::document(run, pages)),
        background: crate::background::of_run(run, summary),
        inside: crate::inside::of_run(plan.load.users, summary),
        server_view: crate::server_view::of_run(summary),
        beside: Vec::new(),
    }
}

/// Nanoseconds as microseconds, exact to the nanosecond: the quotient is the double nearest to a
/// decimal number with three places, and is printed as that number.
pub(crate) fn us(ns: f64) -> f64 {
    ns.round() / 1000.0
}

/// An estimate as documents have it: six significant digits. Nothing is known to more, and the others differ from
/// machine to machine.
pub(crate) trait KnownDigits {
    /// With no other digits.
    fn known(self) -> Self;
}

impl KnownDigits for f64 {
    fn known(self) -> f64 {
        format!("{self:.5e}").parse().unwrap_or(self)
    }
}

impl KnownDigits for (f64, f64) {
    fn known(self) -> (f64, f64) {
        (self.0.known(), self.1.known())
    }
}

impl KnownDigits for [f64; 2] {
    fn known(self) -> [f64; 2] {
        self.map(f64::known)
    }
}

impl<T: KnownDigits> KnownDigits for Option<T> {
    fn known(self) -> Option<T> {
        self.map(T::known)
    }
}

/// A seed: a number, or the digits of one above 9007199254740991 as text, because many readers of JSON have no other
/// numbers than doubles (RFC 8259, section 6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Seed")]
pub enum SeedJson {
    /// Exact as a double.
    Number(u64),
    /// Digits.
    Text(String),
}

impl From<u64> for SeedJson {
    fn from(seed: u64) -> SeedJson {
        const LARGEST: u64 = (1 << 53) - 1;
        match seed {
            ..=LARGEST => SeedJson::Number(seed),
            _ => SeedJson::Text(seed.to_string()),
        }
    }
}

/// Rounded to three decimals, enough for rates and seconds a person may read.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Both ends of the interval of a rate.
pub(crate) fn rates((low, high): (f64, f64)) -> [f64; 2] {
    [thousandths(low), thousandths(high)]
}

impl From<load::RoleUsers<'_>> for wire::RoleJson {
    fn from(role: load::RoleUsers<'_>) -> wire::RoleJson {
        wire::RoleJson {
            name: role.name.to_owned(),
            test: role.test.to_owned(),
            users: role.users,
            rows: role.rows.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl From<&JudgedConstraint> for wire::ConstraintJson {
    fn from(judged: &JudgedConstraint) -> wire::ConstraintJson {
        wire::ConstraintJson {
            name: judged.name.clone(),
            expression: judged.expression.clone(),
            sense: judged.sense,
            verdict: judged.verdict,
            readings: judged
                .readings
                .iter()
                .map(wire::ReadingJson::from)
                .collect(),
        }
    }
}

impl From<&ConstraintReading> for wire::ReadingJson {
    fn from(reading: &ConstraintReading) -> wire::ReadingJson {
        let figure = |value: f64| match reading.unit {
            ReadingUnit::Time => us(value),
            _ => value,
        };
        let (value, interval, unknown) = match &reading.figure {
            ReadFigure::Fact(value) => (Some(figure(*value)), None, None),
            ReadFigure::Estimate { value, low, high } => (
                Some(figure(*value)),
                Some([*low, *high].map(|end| end.is_finite().then(|| figure(end)))),
                None,
            ),
            ReadFigure::Vague { value, why } => {
                (Some(figure(*value)), None, Some(why_unknown(why)))
            }
            ReadFigure::Unknown(why) => (None, None, Some(why_unknown(why))),
        };
        wire::ReadingJson {
            characteristic: reading.characteristic.clone(),
            value,
            interval,
            unknown,
        }
    }
}

impl From<&TestSummary> for wire::TestJson {
    fn from(test: &TestSummary) -> wire::TestJson {
        wire::TestJson {
            measure: test.name.clone(),
            title: None,
            method: test.method.clone(),
            unit: test.unit,
            status: test.status,
            evidence: test.evidence.as_ref().map(reason),
            outcomes: (&test.outcomes).into(),
            operations: test.operations(),
            left_out: test.left_out(),
            left_out_outcomes: (&test.left_out_outcomes).into(),
            early: test.early,
            missed: test.missed,
            response_us: test.response.as_ref().map(wire::DistributionJson::from),
            planned_us: test.planned.as_ref().map(wire::DistributionJson::from),
            upload_us: test.upload.as_ref().map(wire::DistributionJson::from),
            bias_us: test.bias.as_ref().map(wire::BiasJson::from),
            histogram: test.spread.iter().map(wire::BarJson::from).collect(),
            total_us: test.total.as_ref().map(wire::DistributionJson::from),
            connects: (&test.connects).into(),
            bytes_sent: test.bytes_sent,
            bytes_received: test.bytes_received,
            window_s: test.window_s,
            per_second: test.per_second.map(thousandths),
            per_second_ci95: test.per_second_ci95.map(rates),
            wanders: test.wanders,
            failures: test.failures.iter().map(wire::FailureJson::from).collect(),
            notes: test.notes.iter().map(note).collect(),
            conclusion: test.conclusion(),
            disqualified: test.disqualified().map(crate::warning),
            warnings: test
                .warnings
                .iter()
                .map(|own| own.kind.name().into())
                .collect(),
            cached: origins::cached(&test.origins),
            addresses: origins::addresses(&test.origins),
        }
    }
}

impl From<&stats::FailureGroup> for wire::FailureJson {
    fn from(group: &stats::FailureGroup) -> wire::FailureJson {
        let seconds = |ns: record::Nanos| thousandths(ns as f64 / 1e9);
        wire::FailureJson {
            outcome: group.outcome.map(Outcome::name),
            status: group.status,
            count: group.count,
            first_s: group.ended.map(|(first, _)| seconds(first)),
            last_s: group.ended.map(|(_, last)| seconds(last)),
            example: group.example.as_ref().map(reason),
        }
    }
}

impl From<&stats::Distribution> for wire::DistributionJson {
    fn from(times: &stats::Distribution) -> wire::DistributionJson {
        let exact = |ns: record::Nanos| us(ns as f64);
        wire::DistributionJson {
            n: times.n,
            mean: us(times.mean),
            ci95: times.ci95.map(|(low, high)| [us(low), us(high)]),
            sd: times.sd.map(us),
            min: exact(times.min),
            p50: exact(times.p50),
            p90: exact(times.p90),
            p95: exact(times.p95),
            p99: exact(times.p99),
            p999: exact(times.p999),
            max: exact(times.max),
            percentiles_ci95: times
                .percentiles_ci95
                .map(|ends| ends.map(|(low, high)| [exact(low), exact(high)])),
        }
    }
}

impl From<&stats::Connects> for wire::ConnectsJson {
    fn from(connects: &stats::Connects) -> wire::ConnectsJson {
        wire::ConnectsJson {
            count: connects.count,
            tcp_us: connects.tcp.as_ref().map(wire::DistributionJson::from),
            tls_us: connects.tls.as_ref().map(wire::DistributionJson::from),
            tls_resumed_us: connects
                .tls_resumed
                .as_ref()
                .map(wire::DistributionJson::from),
            resent: connects.resent,
            segments_sent: connects.segments.map(|segments| segments.sent),
            segments_received: connects.segments.map(|segments| segments.received),
        }
    }
}

impl From<&stats::Outcomes> for wire::OutcomesJson {
    fn from(outcomes: &stats::Outcomes) -> wire::OutcomesJson {
        wire::OutcomesJson {
            ok: outcomes.of(Outcome::Ok),
            wrong_status: outcomes.of(Outcome::WrongStatus),
            wrong_body: outcomes.of(Outcome::WrongBody),
            unsupported: outcomes.of(Outcome::Unsupported),
            refused: outcomes.of(Outcome::Refused),
            connect_failed: outcomes.of(Outcome::ConnectFailed),
            timeout: outcomes.of(Outcome::Timeout),
            reset: outcomes.of(Outcome::Reset),
            protocol_error: outcomes.of(Outcome::ProtocolError),
            dropped: outcomes.of(Outcome::Dropped),
            cancelled: outcomes.of(Outcome::Cancelled),
        }
    }
}

impl From<&Completeness> for wire::CompletenessJson {
    fn from(complete: &Completeness) -> wire::CompletenessJson {
        let (state, reason) = match complete {
            Completeness::Complete => (wire::RunEnding::Complete, None),
            Completeness::Interrupted => (wire::RunEnding::Interrupted, None),
            Completeness::Aborted(reason) => {
                let reason = abort_reason(reason.as_deref());
                (wire::RunEnding::Aborted, Some(reason.to_owned()))
            }
        };
        wire::CompletenessJson { state, reason }
    }
}

impl From<&stats::Warning> for wire::WarningJson {
    fn from(warning: &stats::Warning) -> wire::WarningJson {
        wire::WarningJson {
            kind: warning.kind.name().into(),
            text: crate::warning(warning),
            about: warning.shares.clone(),
        }
    }
}

impl From<&PlanRecord> for wire::LoadJson {
    fn from(plan: &PlanRecord) -> wire::LoadJson {
        let load = &plan.load;
        let own = |test: &TestRecord| Some((test.name.clone(), test.http?.into()));
        wire::LoadJson {
            users: load.users,
            pace: load.pace.clone(),
            requests: load.requests,
            duration_s: load.duration_s,
            until: load.until.clone(),
            http: load.http.into(),
            http_of_tests: plan.tests.iter().filter_map(own).collect(),
            verify: Some(plan.verified()).filter(|ways| !ways.iter().all(Verify::is_usual)),
            in_turn: load.in_turn,
            adapt: load.adapt.clone(),
            warmup: load.warmup,
            warmup_s: load.warmup_s,
            timeout_s: load.timeout_s,
            seed: load.seed.into(),
        }
    }
}

impl From<record::Http> for wire::HttpJson {
    fn from(http: record::Http) -> wire::HttpJson {
        wire::HttpJson {
            version: http.version.name().trim_start_matches("HTTP/").to_owned(),
            keep_alive: http.keep_alive,
            pipeline: http.pipeline,
            parallel: http.parallel,
            per_page: http.per_page,
            at_once: http.at_once,
            full_handshakes: http.full_handshakes,
            window: http.window,
            nagle: http.nagle,
            two_writes: http.two_writes,
            addresses: http.addresses,
            haproxy_protocol: http.haproxy_protocol,
        }
    }
}

impl From<&stats::Bias> for wire::BiasJson {
    fn from(bias: &stats::Bias) -> wire::BiasJson {
        wire::BiasJson {
            n: bias.n,
            p50: us(bias.p50 as f64),
            p99: us(bias.p99 as f64),
            percentiles_ci95: bias
                .percentiles_ci95
                .map(|ends| ends.map(|(low, high)| [us(low as f64), us(high as f64)])),
        }
    }
}

impl From<&stats::Bar> for wire::BarJson {
    fn from(bar: &stats::Bar) -> wire::BarJson {
        wire::BarJson {
            from_us: us(bar.from as f64),
            to_us: us(bar.to as f64),
            response: bar.response,
            planned: bar.planned,
        }
    }
}

fn generator(run: &Run, of: &record::Generator) -> wire::GeneratorJson {
    let all = (of.wall * u64::from(of.workers)).max(1) as f64;
    let share = |part: record::Nanos| (part as f64 / all * 1e4).round() / 1e4;
    wire::GeneratorJson {
        test: test_name(run, of.test),
        workers: of.workers,
        wall_s: of.wall as f64 / 1e9,
        cpu_share: share(of.cpu),
        queued_share: of.queued.map(share),
        stalled_s: of.stalled as f64 / 1e9,
        stalls: of.stalls,
        longest_stall_us: us(of.longest_stall as f64),
        lateness_us: of.lateness.map(|late| wire::LatenessJson {
            n: late.n,
            p50: us(late.p50 as f64),
            p99: us(late.p99 as f64),
            max: us(late.max as f64),
        }),
        exhausted: of.exhausted,
    }
}

fn test_name(run: &Run, test: record::TestId) -> String {
    let record = run.plan.tests.get(usize::from(test.0));
    record.map_or_else(|| format!("test {}", test.0), |record| record.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_six_digits() {
        for (value, expected) in [
            (1.0 / 3.0, 0.333333),
            (1_234_567.8, 1_234_570.0),
            (0.05 * 100.0 + 1e-15, 5.0),
            (-2e-300 / 3.0, -6.66667e-301),
            (0.0, 0.0),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(value.known().to_bits(), f64::to_bits(expected), "{value}");
        }
        assert_eq!(Some((2.0 / 3.0, 2.0)).known(), Some((0.666667, 2.0)));
    }

    #[test]
    fn seeds_that_are_no_doubles_are_texts() {
        for (seed, expected) in [
            (7, "7"),
            ((1 << 53) - 1, "9007199254740991"),
            (1 << 53, "\"9007199254740992\""),
            (u64::MAX, "\"18446744073709551615\""),
        ] {
            let written = serde_json::to_string(&SeedJson::from(seed));
            assert_eq!(written.ok().as_deref(), Some(expected));
        }
    }
}
