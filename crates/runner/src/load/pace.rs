//! Number, rate and duration of operations, where they depend on each other.

use std::time::Duration;

use engine::{Drive, LoadDrive, Pacing};
use record::{Arrivals, HttpVersion, Stage};
use stats::Until;
use suite::{Body, OperationKind, Plan};

use crate::error::RunnerError;
use crate::failing::MaxFailures;
use crate::run::RunEnds;

/// Connections of an open loop by default.
pub const OPEN_CONNECTIONS: u32 = 64;
/// Duration of the measurement by default.
const USUAL_DURATION: Duration = Duration::from_secs(10);
/// Longest time for a goal by default.
const GOAL_DURATION: Duration = Duration::from_secs(600);
/// Operations that may wait in an open loop by default.
const MAX_WAITING: u32 = 10_000;
/// Most bytes of bodies in flight in a pipeline. A server that reads no further until its responses
/// are read would otherwise wait for the client, and the client for it.
const PIPELINED_BYTES: usize = 16 << 10;

/// Number, rate and duration of the operations of a load.
#[derive(Debug, Clone, Default)]
pub struct PaceRequest {
    /// Users, or connections of an open loop.
    pub users: Option<u32>,
    /// Operations a second of an open loop.
    pub rate: Option<f64>,
    /// An open loop of several rates.
    pub stages: Option<Vec<Stage>>,
    /// Distribution of the planned moments of an open loop.
    pub arrivals: Option<Arrivals>,
    /// Operations that may wait in an open loop.
    pub max_waiting: Option<u32>,
    /// Time before a planned moment that is waited actively.
    pub spin: Option<Duration>,
    /// Operations of all users together.
    pub requests: Option<u64>,
    /// Duration of the measurement.
    pub duration: Option<Duration>,
    /// Goal of the load.
    pub until: Option<Until>,
    /// Connections are kept.
    pub keep_alive: bool,
    /// Requests in flight on each connection.
    pub pipeline: u32,
    /// Failures after which it ends.
    pub max_failures: MaxFailures,
    /// Requests of each user before measuring.
    pub warmup: u32,
    /// Connections to open per second before measuring.
    pub connect_rate: f64,
}

/// Refuses options that contradict each other.
///
/// # Errors
///
/// They do, or do not fit the version of HTTP or the plan.
pub fn check(pace: &PaceRequest, version: HttpVersion, plan: &Plan) -> Result<(), RunnerError> {
    let open_only = [
        ("--arrivals", pace.arrivals.is_some()),
        ("--max-waiting", pace.max_waiting.is_some()),
        ("--spin", pace.spin.is_some()),
    ];
    if let Some((option, _)) = open_only.iter().find(|(_, given)| *given && !is_open(pace)) {
        return Err(RunnerError::Usage(format!(
            "{option} is about the schedule of an open loop; give its --rate or --stages as well"
        )));
    }
    if let Some(requests) = pace.requests.filter(|_| !is_open(pace))
        && requests < u64::from(users(pace))
    {
        return Err(RunnerError::Usage(format!(
            "--total {requests} of all users together is not even one for each of {} users; \
             raise it, or lower --users",
            users(pace)
        )));
    }
    if pace.pipeline > 1 {
        check_pipeline(pace, version, plan).map_err(RunnerError::Usage)?;
    }
    Ok(())
}

fn check_pipeline(pace: &PaceRequest, version: HttpVersion, plan: &Plan) -> Result<(), String> {
    if is_open(pace) {
        return Err(
            "--pipeline keeps a fixed number of requests in progress, which is a closed loop; it cannot be \
             combined with --rate or --stages"
                .to_owned(),
        );
    }
    if version == HttpVersion::Http10 || !pace.keep_alive {
        return Err(
            "--pipeline needs connections that are kept: leave --http 1.0 and --no-keep-alive out"
                .to_owned(),
        );
    }
    let operations = plan.operations();
    if let Some(steps) = operations
        .iter()
        .find(|one| one.kind == OperationKind::Steps)
    {
        let test = &plan.tests[usize::from(steps.test.0)].name;
        return Err(format!(
            "--pipeline sends requests before others are answered, and the loop of {test} has steps \
             that follow one another; use more --users instead"
        ));
    }
    // Streams have windows, and none waits for another.
    if version == HttpVersion::Http2 {
        return Ok(());
    }
    let bodies = plan.looped_requests().map(|request| match &request.body {
        Body::None => 0,
        Body::Fixed(bytes) => bytes.len(),
        Body::Live(text) => text.0.pieces().len() * 20,
    });
    let bytes = bodies.max().unwrap_or(0) * pace.pipeline as usize;
    if bytes > PIPELINED_BYTES {
        return Err(format!(
            "--pipeline {} would have {bytes} bytes of bodies under way at a time, and more than \
             {PIPELINED_BYTES} can come to a standstill with a server that answers before it reads \
             on; use smaller bodies, or more --users instead",
            pace.pipeline
        ));
    }
    Ok(())
}

/// Users of a closed loop, or connections of an open one.
pub fn users(pace: &PaceRequest) -> u32 {
    let usual = if is_open(pace) { OPEN_CONNECTIONS } else { 1 };
    pace.users.unwrap_or(usual)
}

fn is_open(pace: &PaceRequest) -> bool {
    pace.rate.is_some() || pace.stages.is_some()
}

/// The driver of users; `in_turn`, operations are not drawn at random.
pub fn drive(pace: &PaceRequest, in_turn: bool) -> Drive {
    Drive::Load(LoadDrive {
        pacing: pacing(pace),
        requests: pace.requests,
        duration: duration(pace),
        until: pace.until.map(|until| until.to_string()),
        connect_rate: pace.connect_rate,
        warmup: pace.warmup,
        in_turn,
        ends_if_all_fail: pace.max_failures == MaxFailures::All,
        ..LoadDrive::default()
    })
}

/// Conditions that end the run early.
pub fn ends(pace: &PaceRequest) -> RunEnds {
    RunEnds {
        until: pace.until,
        max_failures: Some(pace.max_failures),
    }
}

/// Duration of the measurement; in an open loop, given by the stages.
fn duration(pace: &PaceRequest) -> Option<Duration> {
    if pace.stages.is_some() {
        return None;
    }
    let usual = match (pace.requests, pace.until) {
        (Some(_), _) => None,
        (None, Some(_)) => Some(GOAL_DURATION),
        (None, None) => Some(USUAL_DURATION),
    };
    pace.duration.or(usual)
}

fn pacing(pace: &PaceRequest) -> Pacing {
    let stages = match (&pace.stages, pace.rate) {
        (Some(stages), _) => stages.clone(),
        // With a number of requests only, the schedule goes on until all are sent.
        (None, Some(rate)) => vec![Stage {
            rate,
            duration_s: duration(pace).map_or(f64::from(u32::MAX), |end| end.as_secs_f64()),
        }],
        (None, None) => return Pacing::Closed,
    };
    Pacing::Open {
        arrivals: pace.arrivals.unwrap_or(Arrivals::Poisson),
        stages,
        max_waiting: pace.max_waiting.unwrap_or(MAX_WAITING),
        spin: pace.spin.unwrap_or_default(),
    }
}

/// An open loop at one rate, with the arrivals of independent users.
pub fn at_rate(rate: f64, duration: Duration) -> Pacing {
    Pacing::Open {
        arrivals: Arrivals::Poisson,
        stages: vec![Stage {
            rate,
            duration_s: duration.as_secs_f64(),
        }],
        max_waiting: MAX_WAITING,
        spin: Duration::ZERO,
    }
}
