//! How a run was measured: the last part of the report.

use record::{Environment, EventKind, Http, Pace, PlanRecord, Run, Server};
use stats::{Summary, TestSummary};

use super::pages_of_tests::{http_of_tests, verification};
use crate::clean;
use crate::load;
use crate::notes;
use crate::surroundings::surroundings;
use crate::targets::targets;

/// How the warm-up went: `3 rounds of each test, not measured`.
pub(super) fn warm_up(run: &Run, summary: &Summary) -> String {
    let load = &run.plan.load;
    let rounds = load.warmup;
    let measuring = |kind: &EventKind| matches!(kind, EventKind::MeasuringStarted { .. });
    let recorded = |test: &TestSummary| test.operations() + test.left_out() > 0;
    let reached =
        summary.tests.iter().any(recorded) || run.events.iter().any(|event| measuring(&event.kind));
    match rounds {
        _ if !reached => "not finished".into(),
        _ if load.warmup_s > 0.0 => format!("{} s, not measured", load.warmup_s),
        0 => "none (--warmup 0)".into(),
        1 => "1 round of each test, not measured".into(),
        _ => format!("{rounds} rounds of each test, not measured"),
    }
}

/// Parameters that section 5.6 prints, with its words for them, in its order.
pub(crate) const CLASSIC: [(&str, &str); 3] = [
    ("properties", "Number of Dead Properties"),
    ("depth", "Depth of Collection"),
    ("width", "Width of Collection"),
];

/// Of a server whose responses have no `Server` header.
pub(crate) const UNKNOWN_SOFTWARE: &str = "unknown software";

/// Methods of RFC 4918 that plain HTTP does not have.
const WEBDAV: [&str; 7] = [
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
];

fn server_line(plan: &PlanRecord, server: &Server) -> String {
    let software = match (&plan.label, &server.software) {
        (Some(label), _) => format!("{label} (address and software not shown)"),
        (None, software) => software.as_deref().unwrap_or(UNKNOWN_SOFTWARE).to_owned(),
    };
    let via = server.via.as_ref();
    let via = via.map_or(String::new(), |via| format!(", via {}", clean(via)));
    format!("{software}, HTTP/{}{via}", server.http)
}

/// The configuration lines: the classic ones, then ours.
pub(crate) fn configuration(
    plan: &PlanRecord,
    env: &Environment,
    summary: &Summary,
) -> Vec<(String, String)> {
    let of = &plan.load;
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut add = |what: &str, value: String| lines.push((what.to_owned(), value));
    if !plan.others.is_empty() && plan.targets.is_empty() {
        add("Further Servers", plan.others.join(", "));
    }
    if let Some(pace) = load::pace(&of.pace) {
        add("Load", pace);
    }
    if let Some(requests) = of.requests {
        add("Number of Requests", requests.to_string());
    }
    if let Some(seconds) = of.duration_s {
        let name = match of.pace {
            Pace::Rounds => "Duration of each Test",
            Pace::Closed | Pace::Open { .. } => "Duration",
        };
        add(name, format!("{seconds} s"));
    }
    if let Some(until) = &of.until {
        let came = summary.goal.map_or_else(String::new, |goal| {
            let reached = if goal.reached {
                "reached"
            } else {
                "not reached"
            };
            match goal.half_width {
                Some(width) => format!(", {reached}: ±{:.1}% at the end", width * 100.0),
                None => format!(", {reached}: too few operations for an interval"),
            }
        });
        add("Until", format!("{until}{came}"));
    }
    let params = plan.params_as_written();
    for (name, words) in CLASSIC {
        if let Some(value) = params.get(name) {
            add(words, plain(value));
        }
    }
    add("Type of Methods", type_of_methods(plan).to_owned());
    for (name, value) in &params {
        if name != "requests" && !CLASSIC.iter().any(|(classic, _)| classic == name) {
            add(&format!("Parameter {}", clean(name)), plain(value));
        }
    }
    add("Concurrency", of.users.to_string());
    for role in load::roles(plan) {
        let users = if role.users == 1 { "user" } else { "users" };
        let what = format!("Role {} of {}", clean(role.name), clean(&role.test));
        add(&what, format!("{} {users}", role.users));
    }
    if of.http != Http::default() {
        add("Requests", of.http.to_string());
    }
    for (http, tests) in http_of_tests(plan) {
        add(&format!("Requests of {}", clean(&tests)), http);
    }
    if plan.verified().iter().any(|way| !way.is_usual()) {
        add("Verification", verification(plan));
    }
    let hash: String = plan.suite.sha256.chars().take(12).collect();
    add(
        "Suite",
        format!(
            "{}, version {} ({hash})",
            plan.suite.name, plan.suite.version
        ),
    );
    for of in targets(plan, env) {
        add(
            &format!("Target {}", of.name),
            format!(
                "{}, {}",
                of.url,
                match of.server {
                    Some(server) => server_line(plan, server),
                    None => "not reached".to_owned(),
                }
            ),
        );
        for (what, said) in of.server.into_iter().flat_map(surroundings) {
            add(&format!("{what} of {}", of.name), said);
        }
    }
    match &env.server {
        Some(_) if !plan.targets.is_empty() => {}
        // The record has it at the end only.
        None if summary.tests.iter().any(|test| test.operations() > 0) => {
            add("Server", "not recorded, because the run was cut off".into());
        }
        None => add("Server", "not reached".into()),
        Some(server) => {
            add("Server", server_line(plan, server));
            add("DAV Class", dav_classes(server));
            for (what, said) in surroundings(server) {
                add(what, said);
            }
        }
    }
    add("Clock", load::clock(summary));
    let machine = &env.machine;
    add(
        "Client",
        format!("{}, {} cores, {}", machine.os, machine.cores, machine.cpu),
    );
    if let Some(kept) = &plan.processors {
        let list = |processors: &[u32]| {
            let numbers: Vec<String> = processors.iter().map(u32::to_string).collect();
            numbers.join(", ")
        };
        let (worker, server) = (list(&kept.worker), list(&kept.server));
        add(
            "Processors",
            format!("no. {worker} for prestan, no. {server} for the server"),
        );
    }
    if plan.labels_of_2004 {
        add(
            "X-Prestan",
            "as printed in 2004, without numbers of requests".into(),
        );
    }
    for note in &plan.notes {
        add(&notes::heading(note), note.text.clone());
    }
    add("Started", env.started_at.clone());
    add("Run", plan.run_id.clone());
    lines
}

pub(crate) fn dav_classes(server: &Server) -> String {
    match &server.dav[..] {
        [] => "none".to_owned(),
        classes => classes.join(", "),
    }
}

/// Which methods its tests measure.
pub(super) fn type_of_methods(plan: &PlanRecord) -> &'static str {
    let mut measures = plan.measures.iter();
    if measures.any(|measure| WEBDAV.contains(&measure.method.as_str())) {
        "WebDAV"
    } else {
        "HTTP"
    }
}

/// A parameter without the quotes of JSON.
pub(super) fn plain(value: &serde_json::Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
