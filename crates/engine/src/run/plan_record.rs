//! The plan of a run, for the record.

use record::{AdaptRecord, Clock, HttpVersion, Pace, PlanRecord, RUN_FORMAT, TestRecord};
use suite::{AdaptRule, Limit, Plan, TestPlan};

use crate::connection::http2::WINDOW;
use crate::drive::{Drive, LoadDrive};
use crate::run::spec::{RunPlace, RunSpec};

/// The plan as it is kept in the run directory.
pub fn plan_record(spec: &RunSpec, place: &RunPlace) -> PlanRecord {
    let (plan, place) = (&spec.plan, &place.for_run(spec));
    let limit = plan.tests.first().map(|test| test.limit);
    let others = place.others.iter().map(|other| other.target.url());
    let test_record = |test: &TestPlan| TestRecord {
        name: test.name.clone(),
        title: test.title.clone(),
        http: test.http,
    };
    PlanRecord {
        format: RUN_FORMAT,
        run_id: spec.run_id.clone(),
        series: None,
        side: None,
        label: spec.label.clone(),
        prestan: env!("CARGO_PKG_VERSION").to_owned(),
        suite: plan.suite.clone(),
        target: place.endpoint.target.url(),
        others: others.collect(),
        targets: plan.targets.clone(),
        clock: place.clock,
        acks: place.acks && place.clock == Clock::Kernel,
        fresh_start: spec.start_place.is_some(),
        start_place: spec.start_place,
        processors: place.processors.clone(),
        labels_of_2004: plan.tests.iter().any(|test| test.label.is_some()),
        command: spec.command.clone(),
        notes: spec.notes.clone(),
        params: plan.params.clone(),
        written_params: plan.written_params.clone(),
        load: load_record(limit, (spec, place), adapt_record(plan)),
        tests: plan.tests.iter().map(test_record).collect(),
        measures: plan.measures.clone(),
        pages: plan.pages.clone(),
        roles: plan.roles.clone(),
        beside: spec.beside.clone(),
        background: spec.background.clone(),
        inside: place.inside.clone(),
        constraints: plan.constraints.clone(),
    }
}

fn adapt_record(plan: &Plan) -> Option<AdaptRecord> {
    let adapt = plan.adapt.as_ref()?;
    let condition = |index: &usize| plan.conditions.get(*index).cloned();
    let (ladder, raise, lower) = match &adapt.rule {
        AdaptRule::Ladder(ladder) => (ladder.clone(), None, None),
        AdaptRule::Steer { raise, lower } => (Vec::new(), condition(raise), condition(lower)),
        AdaptRule::Steps => (Vec::new(), None, None),
    };
    Some(AdaptRecord {
        least: adapt.least,
        most: adapt.most,
        every_s: adapt.every.as_secs_f64(),
        ladder,
        raise,
        lower,
    })
}

fn load_record(
    limit: Option<Limit>,
    (spec, place): (&RunSpec, &RunPlace),
    adapt: Option<AdaptRecord>,
) -> record::Load {
    let defaults = LoadDrive::default();
    let (load, warmup) = match &spec.drive {
        Drive::Rounds(rounds) => (&defaults, rounds.warmup),
        Drive::Load(load) => (load, load.warmup),
    };
    let (requests, duration) = match (&spec.drive, limit) {
        (Drive::Rounds(_), Some(Limit::Requests(requests))) => (Some(u64::from(requests)), None),
        (Drive::Rounds(_), Some(Limit::Duration(duration))) => (None, Some(duration)),
        _ => (load.requests, load.duration),
    };
    record::Load {
        users: spec.users,
        pace: spec.drive.pace(),
        requests,
        duration_s: duration.map(|duration| duration.as_secs_f64()),
        until: load.until.clone(),
        warmup,
        warmup_s: load.warmup_time.as_secs_f64(),
        timeout_s: place.http.timeout.as_secs_f64(),
        seed: spec.seed,
        http: record::Http {
            window: (place.http.connections.version == HttpVersion::Http2).then_some(WINDOW),
            ..place.http.connections
        },
        in_turn: load.in_turn,
        adapt: adapt.filter(|_| spec.drive.pace() == Pace::Closed),
    }
}
