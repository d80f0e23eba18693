//! The document of a run for programs. The published schema, `docs/result.schema.json`, is made
//! from these tables.
//!
//! Times are in microseconds as numbers with at most three decimals, exact to the nanosecond. A
//! field is always there; what is not known is `null`. Only what few runs have is absent in the
//! others, because of a page with many rows it would be a large part: segments of connections, and
//! uses of connections by test and page.

use std::collections::BTreeMap;

use record::{Generator, Goal, Http, Lateness, Nanos, PlanRecord, Run, Verify};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{
    Completeness, ConstraintReading, JudgedConstraint, ReadFigure, Share, Summary, UnitKind,
    Warning,
};

use crate::constraints::why_unknown;
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{AsIs, DocumentVersion, IfAny, Unless, each, fields, json_of, plain};
use crate::json::{SeedJson, us};
use crate::reasons::{abort_reason, ended_early};
use crate::{background, inside, load, server_view, targets};

/// Version of the document; raised when a reader of the older one would misread it.
pub const SCHEMA_VERSION: u32 = 3;

/// A load that went on beside a run.
#[derive(Debug, Clone, Copy)]
pub struct BesideResult<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Its record; samples are not needed.
    pub run: &'a Run,
    /// Its summary.
    pub summary: &'a Summary,
}

pub(crate) struct ResultDocument<'a> {
    pub(crate) run: &'a Run,
    pub(crate) summary: &'a Summary,
    pub(crate) beside: &'a [BesideResult<'a>],
    /// Stacks of flame graphs are in it.
    pub(crate) with_stacks: bool,
}

impl<'a> ResultDocument<'a> {
    fn new(run: &'a Run, summary: &'a Summary) -> ResultDocument<'a> {
        ResultDocument {
            run,
            summary,
            beside: &[],
            with_stacks: true,
        }
    }
}

/// The result as one JSON document, for which `docs/result.schema.json` is published. Ends with a
/// newline.
pub fn json(run: &Run, summary: &Summary, beside: &[BesideResult<'_>]) -> String {
    json_of(ResultDocument {
        beside,
        ..ResultDocument::new(run, summary)
    })
}

/// The JSON schema of [`json`]: the content of `docs/result.schema.json`. Ends with a newline.
#[cfg(feature = "schema")]
pub fn schema() -> String {
    schema_of::<ResultDocument<'_>>()
}

plain!(RunEnding);

fields! {
    /// Result of one run of Prestan.
    ResultDocument<'_>, "Document" "Prestan result", |ResultDocument { run, summary, beside, with_stacks }| {
        /// Version of this schema.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// The program that measured.
        prestan = Program(&run.plan.prestan),
        /// Names the run, and the collection `PrestanTest-<run_id>/` below which it worked.
        run_id = &run.plan.run_id,
        /// The suite that was run.
        suite = &run.plan.suite,
        /// Parameters of the suite, resolved.
        params = AsIs(&run.plan.params),
        /// URL of the collection below which the run worked, without user information; the label of
        /// the server where it has one (`--label`).
        target = &run.plan.target,
        /// What the server tells about itself; null when it was never reached. Of a server with a
        /// label, what identifies it is left out.
        server = &run.env.server,
        /// The clock that gave the moments of an operation.
        clock = run.plan.clock,
        /// By how much a user-space clock would have over-reported response times, over all
        /// operations; null unless the kernel's clock was used.
        bias_us = &summary.clock.bias,
        /// Expected operations without a response time, because the kernel's time stamps are
        /// missing.
        missed = summary.clock.missed,
        /// The machine that sent the requests.
        machine = &run.env.machine,
        /// The command line of a run of WebSTONE, with redacted credentials; absent for others.
        command = IfAny(&run.plan.command),
        /// What is said about the run (`--note`); absent where nothing is.
        notes = IfAny(&run.plan.notes),
        /// How much load there was, and for how long.
        load = &run.plan,
        /// Start of the run, RFC 3339, UTC.
        started_at = &run.env.started_at,
        /// End of the run, RFC 3339, UTC; null in a run that was cut off.
        ended_at = &run.env.ended_at,
        /// Whether the run was completed.
        complete = &summary.complete,
        /// How close a load run came to its goal (`load.until`); null without a goal.
        goal = &summary.goal,
        /// What the load came to with each number of users; absent where it did not change.
        load_steps = IfAny(&summary.load_steps),
        /// Why measurements ended before their time; absent where none did.
        ended_early = IfAny(each(&summary.ended_early, ended_early)),
        /// The servers of a suite that has several, with the rows that are measured there; absent
        /// where it has one.
        targets = IfAny(targets::targets(&run.plan, &run.env)),
        /// The roles of the tests, with the rows that their users measure; absent where they have
        /// none.
        roles = IfAny(load::roles(&run.plan).collect::<Vec<_>>()),
        /// Operations of all tests that began outside the measurement window.
        left_out = summary.left_out(),
        /// Conclusion of the run: the worst of its rows and constraints.
        conclusion = summary.conclusion(),
        /// Which rows are inconclusive, and why; null where none is.
        inconclusive = crate::inconclusive(summary),
        /// The warnings of all rows, each once, and those about the run as a whole.
        warnings = &summary.warnings,
        /// How the load generator fared: an entry for each test of which it was recorded.
        generator = each(&summary.generator, |generator| (*run, generator)),
        /// Leftovers on the server: collections of Prestan.
        left_behind = &summary.left_behind,
        /// One entry for each row of the report, in the order of the suite.
        tests = &summary.tests,
        /// Constraints and what became of them, judged with 99.8 % intervals.
        constraints = &summary.constraints,
        /// Results of the pages of the suite; null where it has none.
        webstone = summary.pages.as_ref().map(|pages| (*run, pages)),
        /// Background traffic beside the run; absent without any.
        background = IfAny(background::run_document(run, summary).map(AsIs)),
        /// What operations cost inside of the server; absent where nobody looked.
        inside = IfAny(inside::run_document(run.plan.load.users, summary, *with_stacks)),
        /// Times that the server gives; absent where it gives none.
        server_view = IfAny(server_view::run_document(summary)),
        /// What loads that went on beside the run came to.
        beside = IfAny(beside),
    }
}

fields! {
    /// A load that went on beside a run.
    BesideResult<'_>, "", |of| {
        /// What it is called.
        name = of.name,
        /// Its result.
        result = ResultDocument::new(of.run, of.summary),
    }
}

fields! {
    /// A constraint and what became of it.
    JudgedConstraint, "Constraint", |judged| {
        /// Its name in the suite, or the option that it was given with.
        name = &judged.name,
        /// Its expression.
        expression = &judged.expression,
        /// What it means when the expression is true.
        sense = judged.sense,
        /// What it came to.
        verdict = judged.verdict,
        /// The figures that it was judged by.
        readings = &judged.readings,
    }
}

fields! {
    /// A figure that a constraint was judged by. Times are in microseconds, rates in operations or
    /// bytes a second, shares from 0 to 1.
    ConstraintReading, "Reading", |reading| {
        /// `p99(Get1K)`.
        characteristic = &reading.characteristic,
        /// The fact or the estimate; null where it is unknown.
        value = reading.figure.value().map(|value| in_unit(reading.unit, value)),
        /// The 99.8 % interval of an estimate; null of a fact, and where it is unknown. An upper
        /// end that is unknown is null.
        interval = match reading.figure {
            ReadFigure::Estimate { low, high, .. } => Some([low, high].map(|end| {
                end.is_finite().then(|| in_unit(reading.unit, end))
            })),
            _ => None,
        },
        /// Why it, or its interval, is unknown; null where it is known.
        unknown = match &reading.figure {
            ReadFigure::Vague { why, .. } | ReadFigure::Unknown(why) => Some(why_unknown(why)),
            ReadFigure::Fact(_) | ReadFigure::Estimate { .. } => None,
        },
    }
}

/// A figure as documents have it: times in microseconds.
fn in_unit(unit: UnitKind, value: f64) -> f64 {
    match unit {
        UnitKind::TIME => us(value),
        _ => value,
    }
}

struct Program<'a>(&'a str);

fields! {
    /// The program that measured.
    Program<'_>, "Program", |of| {
        /// Its version.
        version = of.0,
    }
}

fields! {
    /// How close a load run came to an interval that is narrow enough.
    Goal, "Goal", |goal| {
        /// Half the 95 % interval in percent of the estimate, of the operation that is farthest
        /// from the goal; null where there were too few operations.
        half_width_percent = goal.half_width.map(|width| width * 100.0),
        /// It was narrow enough.
        reached = goal.reached,
    }
}

fields! {
    /// The load of a run.
    PlanRecord, "Load", |plan| {
        /// Concurrent users, each with a connection of its own. In an open loop, the connections.
        users = plan.load.users,
        /// What decides when an operation begins.
        pace = &plan.load.pace,
        /// Iterations of the loop of a test for each user, and in a load run operations of all
        /// users together; null where something else decides.
        requests = plan.load.requests,
        /// Seconds for which each test is measured; null where something else decides.
        duration_s = plan.load.duration_s,
        /// Goal for the width of an interval, `p99 ±5%` for example; null without a goal.
        until = &plan.load.until,
        /// How connections are used.
        http = &plan.load.http,
        /// How tests use connections whose suite gives that, by their names; absent where there are
        /// none.
        http_of_tests = IfAny(http_of_tests(plan)),
        /// How much of responses is verified, each way that some row has once; absent where that is
        /// `first` only.
        verify = IfAny(Some(plan.verified()).filter(|ways| !ways.iter().all(Verify::is_usual))),
        /// The operations of a load run are sent in the order of the suite, not drawn by weight.
        in_turn = plan.load.in_turn,
        /// How the number of users changed with what was measured; absent where it did not.
        adapt = IfAny(&plan.load.adapt),
        /// Iterations of the loop for each user before measuring, not recorded.
        warmup = plan.load.warmup,
        /// Minimum of that in seconds; only in load runs.
        warmup_s = plan.load.warmup_s,
        /// Seconds after which an operation without a complete response is aborted.
        timeout_s = plan.load.timeout_s,
        /// Seed of all random numbers of the run.
        seed = SeedJson::from(plan.load.seed),
    }
}

fn http_of_tests(plan: &PlanRecord) -> BTreeMap<String, &Http> {
    let tests = plan.tests.iter();
    tests
        .filter_map(|test| Some((test.name.clone(), test.http.as_ref()?)))
        .collect()
}

fields! {
    /// How connections are used.
    Http, "Http", |http| {
        /// Version in requests: `1.0`, `1.1` or `2`.
        version = http.version.name().trim_start_matches("HTTP/"),
        /// Whether a connection is used for more than one operation.
        keep_alive = http.keep_alive,
        /// Requests in flight on one connection: a pipeline, with HTTP/2 streams.
        pipeline = http.pipeline,
        /// Connections of one user, for the files of a page.
        parallel = http.parallel,
        /// The connections of a page are closed at its end; absent where not.
        per_page = IfAny(http.per_page),
        /// All files of a page are requested when it begins; absent where the others are requested
        /// after the response to its first.
        at_once = IfAny(http.at_once),
        /// Every TLS handshake was a full one (`--tls-resumption off`).
        full_handshakes = http.full_handshakes,
        /// Flow-control window for each stream and for the connection, in bytes; null before
        /// HTTP/2.
        window = http.window,
        /// Nagle's algorithm was left on (`--nagle`); absent where not.
        nagle = IfAny(http.nagle),
        /// Head and body of requests were sent by a system call each (`--two-writes`); absent where
        /// not.
        two_writes = IfAny(http.two_writes),
        /// Which of several addresses of the host connections went to (`--addresses`); absent where
        /// the first.
        addresses = Unless(http.addresses.is_first(), http.addresses),
        /// Connections began with a line of the PROXY protocol (`--haproxy-protocol`); absent where
        /// not.
        haproxy_protocol = IfAny(http.haproxy_protocol),
    }
}

fields! {
    /// How the load generator fared while a test was measured.
    (&Run, &Generator), "Generator", |(run, of)| {
        /// Name of the test.
        test = run.plan.name_of_test(of.test),
        /// Worker threads.
        workers = of.workers,
        /// Seconds that were measured.
        wall_s = of.wall as f64 / 1e9,
        /// Processor time of the workers, as a share of all their time.
        cpu_share = share(of, of.cpu),
        /// Time in which workers were ready to run and had no processor, as a share of all their
        /// time; null where the system does not report it.
        queued_share = of.queued.map(|queued| share(of, queued)),
        /// Seconds, of all worker threads together, in which they stalled.
        stalled_s = of.stalled as f64 / 1e9,
        /// How many stalls there were; 0 in records made before they were counted.
        stalls = of.stalls,
        /// The longest of them.
        longest_stall_us = us(of.longest_stall as f64),
        /// How late operations began because of the load generator; null unless the loop is open.
        lateness_us = &of.lateness,
        /// How often this machine refused a resource.
        exhausted = of.exhausted,
    }
}

fn share(of: &Generator, part: Nanos) -> f64 {
    let all = (of.wall * u64::from(of.workers)).max(1) as f64;
    (part as f64 / all * 1e4).round() / 1e4
}

fields! {
    /// How late operations began, in microseconds. All of them are described, so nothing of it has
    /// an interval.
    Lateness, "Lateness", |late| {
        /// Operations.
        n = late.n,
        /// Median. It has no interval.
        p50 = us(late.p50 as f64),
        /// 99th percentile. It has no interval.
        p99 = us(late.p99 as f64),
        /// Maximum.
        max = us(late.max as f64),
    }
}

fields! {
    /// Whether a run was completed.
    Completeness, "Complete", |complete| {
        /// How it ended.
        state = match complete {
            Completeness::Complete => RunEnding::Complete,
            Completeness::Interrupted => RunEnding::Interrupted,
            Completeness::Aborted(_) => RunEnding::Aborted,
        },
        /// Why it was aborted; null otherwise.
        reason = match complete {
            Completeness::Aborted(reason) => Some(abort_reason(reason.as_deref()).to_owned()),
            Completeness::Complete | Completeness::Interrupted => None,
        },
    }
}

/// How a run ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "State")]
pub(crate) enum RunEnding {
    /// It was completed.
    Complete,
    /// The user interrupted it.
    Interrupted,
    /// An error ended it.
    Aborted,
}

fields! {
    /// A warning about rows.
    Warning, "Warning", |warning| {
        /// Which warning: a word of a list that may grow.
        kind = warning.kind.name(),
        /// The warning, with what to do about it.
        text = crate::warning(warning),
        /// The rows or tests it is about; empty for one about the run as a whole.
        about = &warning.shares,
    }
}

fields! {
    /// A part of a whole, of one row or test.
    Share, "Share", |share| {
        /// Name of the row or test.
        name = &share.name,
        /// The part; of times, in nanoseconds.
        count = share.count,
        /// The whole, or the limit.
        of = share.of,
    }
}
