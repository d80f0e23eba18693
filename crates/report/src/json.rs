//! One document for programs: the types of `wire` filled from a run and its summary.

use record::{Outcome, Run};
use schemars::generate::SchemaSettings;
use stats::{Completeness, Status, Summary, TestSummary};

use crate::wire;

/// The result as one JSON document, for which [`schema`] is published. Ends with a newline.
pub fn json(run: &Run, summary: &Summary) -> String {
    pretty(&document(run, summary))
}

/// The JSON schema of [`json`]: the content of `docs/result.schema.json`. Ends with a newline.
pub fn schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    pretty(
        &settings
            .into_generator()
            .into_root_schema_for::<wire::Document>(),
    )
}

fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .expect("only a map with keys other than strings, or a type of ours that refuses, fails");
    text.push('\n');
    text
}

fn document(run: &Run, summary: &Summary) -> wire::Document {
    let (plan, env) = (&run.plan, &run.env);
    wire::Document {
        schema_version: wire::SCHEMA_VERSION,
        prestan: wire::Program {
            version: plan.prestan.clone(),
        },
        run_id: plan.run_id.clone(),
        suite: wire::Suite {
            name: plan.suite.name.clone(),
            version: plan.suite.version,
            title: plan.suite.title.clone(),
            sha256: plan.suite.sha256.clone(),
        },
        params: plan.params.clone(),
        target: plan.target.clone(),
        server: env.server.as_ref().map(wire::Server::from),
        clock: plan.clock.into(),
        machine: (&env.machine).into(),
        load: (&plan.load).into(),
        started_at: env.started_at.clone(),
        ended_at: env.ended_at.clone(),
        complete: (&summary.complete).into(),
        left_out: summary.left_out(),
        warnings: summary.warnings.iter().map(wire::Warning::from).collect(),
        left_behind: summary
            .left_behind
            .iter()
            .map(wire::LeftBehind::from)
            .collect(),
        tests: summary.tests.iter().map(wire::Test::from).collect(),
    }
}

/// Nanoseconds as microseconds, exact to the nanosecond: the quotient is the double nearest to a
/// decimal number with three places, and is printed as that number.
pub(crate) fn us(ns: f64) -> f64 {
    ns.round() / 1000.0
}

/// Rounded to three decimals, enough for rates and seconds a person may read.
pub(crate) fn thousandths(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

impl From<&TestSummary> for wire::Test {
    fn from(test: &TestSummary) -> wire::Test {
        wire::Test {
            name: test.name.clone(),
            method: test.method.clone(),
            status: test.status.into(),
            evidence: test.evidence.clone(),
            outcomes: (&test.outcomes).into(),
            operations: test.operations(),
            left_out: test.left_out(),
            left_out_outcomes: (&test.left_out_outcomes).into(),
            early: test.early,
            response_us: test.response.as_ref().map(wire::Distribution::from),
            total_us: test.total.as_ref().map(wire::Distribution::from),
            connects: (&test.connects).into(),
            bytes_sent: test.bytes_sent,
            bytes_received: test.bytes_received,
            window_s: test.window_s,
            per_second: test.per_second.map(thousandths),
            failures: test.failures.clone(),
            notes: test.notes.clone(),
        }
    }
}

impl From<&stats::Distribution> for wire::Distribution {
    fn from(times: &stats::Distribution) -> wire::Distribution {
        let exact = |ns: record::Nanos| us(ns as f64);
        wire::Distribution {
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
        }
    }
}

impl From<&stats::Connects> for wire::Connects {
    fn from(connects: &stats::Connects) -> wire::Connects {
        wire::Connects {
            count: connects.count,
            tcp_us: connects.tcp.as_ref().map(wire::Distribution::from),
            tls_us: connects.tls.as_ref().map(wire::Distribution::from),
            resent: connects.resent,
        }
    }
}

impl From<&stats::Outcomes> for wire::Outcomes {
    fn from(outcomes: &stats::Outcomes) -> wire::Outcomes {
        wire::Outcomes {
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

impl From<Status> for wire::Status {
    fn from(status: Status) -> wire::Status {
        match status {
            Status::Ok => wire::Status::Ok,
            Status::Failed => wire::Status::Failed,
            Status::NotSupported => wire::Status::NotSupported,
        }
    }
}

impl From<&Completeness> for wire::Complete {
    fn from(complete: &Completeness) -> wire::Complete {
        let (state, reason) = match complete {
            Completeness::Complete => (wire::State::Complete, None),
            Completeness::Interrupted => (wire::State::Interrupted, None),
            Completeness::Aborted(reason) => (wire::State::Aborted, Some(reason.clone())),
        };
        wire::Complete { state, reason }
    }
}

impl From<&stats::Warning> for wire::Warning {
    fn from(warning: &stats::Warning) -> wire::Warning {
        let share = |share: &stats::Share| wire::Share {
            name: share.name.clone(),
            count: share.count,
            of: share.of,
        };
        wire::Warning {
            kind: warning.kind().into(),
            text: warning.to_string(),
            about: warning.shares().iter().map(share).collect(),
        }
    }
}

impl From<&record::LeftBehind> for wire::LeftBehind {
    fn from(left: &record::LeftBehind) -> wire::LeftBehind {
        wire::LeftBehind {
            url: left.url.clone(),
            reason: left.reason.clone(),
            own: left.own,
        }
    }
}

impl From<&record::Server> for wire::Server {
    fn from(server: &record::Server) -> wire::Server {
        wire::Server {
            software: server.software.clone(),
            dav: server.dav.clone(),
            allow: server.allow.clone(),
            http: server.http.clone(),
        }
    }
}

impl From<record::Clock> for wire::Clock {
    fn from(clock: record::Clock) -> wire::Clock {
        match clock {
            record::Clock::User => wire::Clock::User,
            record::Clock::Kernel => wire::Clock::Kernel,
        }
    }
}

impl From<&record::Machine> for wire::Machine {
    fn from(machine: &record::Machine) -> wire::Machine {
        wire::Machine {
            os: machine.os.clone(),
            cpu: machine.cpu.clone(),
            cores: machine.cores,
            memory_bytes: machine.memory_bytes,
        }
    }
}

impl From<&record::Load> for wire::Load {
    fn from(load: &record::Load) -> wire::Load {
        wire::Load {
            users: load.users,
            requests: load.requests,
            duration_s: load.duration_s,
            warmup: load.warmup,
            timeout_s: load.timeout_s,
            seed: load.seed,
        }
    }
}
