//! `prestan load`: one request, or a mix, over and over.

use std::fs;

use engine::Settings;
use record::{Arrivals, Http, Pace, Stage};
use suite::{Overrides, Plan, Single, StatusSet};
use wire::target::Target;

use crate::args::{ArrivalsArg, LoadArgs, PaceOptions, RequestOptions};
use crate::command::job::Job;
use crate::command::run::SuiteText;
use crate::connect::{self, connection_to};
use crate::exit::{Code, Failed};
use crate::output;
use crate::state;

/// Connections of an open loop, unless something else is said.
const OPEN_CONNECTIONS: u32 = 64;
/// How long is measured, unless something else is said.
const USUAL_DURATION: std::time::Duration = std::time::Duration::from_secs(10);

/// Drives the request.
pub(crate) fn load(args: &LoadArgs) -> Result<Code, Failed> {
    let (plan, suite_text) = plan(args)?;
    let target = target(args)?;
    output::check(&args.output.formats, args.output.output.as_deref())?;
    let connection = connection_to(target, &args.login, &args.connect)?;
    let pace = &args.pace;
    let settings = Settings {
        run_id: pace.run_id.clone().unwrap_or_else(state::new_run_id),
        users: users(pace),
        pace: pace_of(pace),
        requests: pace.requests,
        duration: duration(pace),
        until: pace.until.clone(),
        connect_rate: pace.connect_rate,
        spin: pace.spin,
        warmup: pace.warmup,
        timeout: pace.timeout,
        seed: pace.seed.unwrap_or_else(state::new_seed),
        threads: pace.threads,
        clock: connect::clock(args.clock, &connection.route)?,
        acks: args.clock.acks,
        http: http(pace),
        ..connection.settings()
    };
    Job {
        suite_text,
        plan,
        settings,
        output: &args.output,
    }
    .perform()
}

fn plan(args: &LoadArgs) -> Result<(Plan, String), Failed> {
    if let Some(name) = &args.request.mix {
        let suite = SuiteText::find(name)?;
        let plan = suite.resolved(&Overrides::default())?;
        return Ok((plan, suite.text));
    }
    let method = args.method.as_deref().unwrap_or_default();
    let status = match args.request.expect.is_empty() {
        true => None,
        false => Some(StatusSet(args.request.expect.clone())),
    };
    Ok(suite::single(&Single {
        method: method.to_ascii_uppercase(),
        headers: headers(method, &args.request),
        body: body(&args.request)?,
        status,
    }))
}

fn target(args: &LoadArgs) -> Result<Target, Failed> {
    let url = args.url.as_deref().unwrap_or_default();
    let usage = |error: wire::target::TargetError| Failed::Usage(error.to_string());
    match &args.request.mix {
        Some(_) => Target::parse(url).map_err(usage),
        None => Target::resource(url).map_err(usage),
    }
}

fn headers(method: &str, request: &RequestOptions) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    if let Some(depth) = &request.depth {
        headers.push(("Depth".to_owned(), depth.clone()));
    }
    let is_xml = matches!(
        method.to_ascii_uppercase().as_str(),
        "PROPFIND" | "PROPPATCH" | "REPORT" | "SEARCH" | "LOCK"
    );
    if is_xml && (request.body.is_some() || request.body_file.is_some()) {
        headers.push(("Content-Type".to_owned(), "application/xml".to_owned()));
    }
    headers
}

fn body(request: &RequestOptions) -> Result<Option<Vec<u8>>, Failed> {
    if let Some(text) = &request.body {
        return Ok(Some(text.clone().into_bytes()));
    }
    if let Some(path) = &request.body_file {
        let read = fs::read(path).map_err(|error| {
            Failed::Usage(format!(
                "reading the body from {} failed: {error}",
                path.display()
            ))
        })?;
        return Ok(Some(read));
    }
    Ok(request.body_size.map(|size| suite::filled(suite::Fill::default(), size as usize)))
}

fn users(pace: &PaceOptions) -> u32 {
    let usual = if is_open(pace) { OPEN_CONNECTIONS } else { 1 };
    pace.users.unwrap_or(usual)
}

fn is_open(pace: &PaceOptions) -> bool {
    pace.rate.is_some() || pace.stages.is_some()
}

fn duration(pace: &PaceOptions) -> Option<std::time::Duration> {
    let otherwise = pace.requests.is_some() || pace.until.is_some() || is_open(pace);
    pace.duration.or((!otherwise).then_some(USUAL_DURATION))
}

fn pace_of(pace: &PaceOptions) -> Pace {
    let stages = match (&pace.stages, pace.rate) {
        (Some(stages), _) => stages.0.clone(),
        (None, Some(rate)) => {
            // Without an end of its own, the schedule goes on until something else ends it.
            let endless = pace.requests.is_some() || pace.until.is_some();
            let duration = match (pace.duration, endless) {
                (Some(duration), _) => duration.as_secs_f64(),
                (None, true) => f64::from(u32::MAX),
                (None, false) => USUAL_DURATION.as_secs_f64(),
            };
            vec![Stage {
                rate,
                duration_s: duration,
            }]
        }
        (None, None) => return Pace::Closed,
    };
    Pace::Open {
        arrivals: match pace.arrivals {
            ArrivalsArg::Constant => Arrivals::Constant,
            ArrivalsArg::Poisson => Arrivals::Poisson,
        },
        stages,
        max_waiting: pace.max_waiting,
    }
}

fn http(pace: &PaceOptions) -> Http {
    Http {
        minor: if pace.http == "1.0" { 0 } else { 1 },
        keep_alive: !pace.no_keep_alive,
        pipeline: pace.pipeline,
    }
}
