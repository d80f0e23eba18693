//! The plan as it was run, for the record.

use record::{AdaptRecord, Clock, HttpVersion, Pace, PlanRecord, RUN_FORMAT, TestRecord};
use suite::{AdaptRule, Limit, Plan};

use crate::connection::http2::WINDOW;
use crate::drive::{Drive, LoadDrive};
use crate::run::settings::Settings;

/// The plan as it is kept in the run directory.
pub fn plan_record(plan: &Plan, settings: &Settings) -> PlanRecord {
    let settings = &settings.of_plan(plan);
    let limit = plan.tests.first().map(|test| test.limit);
    PlanRecord {
        format: RUN_FORMAT,
        run_id: settings.run_id.clone(),
        series: None,
        side: None,
        label: settings.label.clone(),
        prestan: env!("CARGO_PKG_VERSION").to_owned(),
        suite: plan.suite.clone(),
        target: settings.endpoint.target.url(),
        others: settings
            .others
            .iter()
            .map(|other| other.target.url())
            .collect(),
        targets: plan.targets.clone(),
        clock: settings.clock,
        acks: settings.acks && settings.clock == Clock::Kernel,
        fresh_start: settings.start_place.is_some(),
        start_place: settings.start_place,
        processors: settings.processors.clone(),
        labels_of_2004: plan.tests.iter().any(|test| test.label.is_some()),
        command: settings.command.clone(),
        notes: settings.notes.clone(),
        params: plan.params.clone(),
        written_params: plan.written_params.clone(),
        load: load_record(limit, settings, adapt_record(plan)),
        tests: plan
            .tests
            .iter()
            .map(|test| TestRecord {
                name: test.name.clone(),
                title: test.title.clone(),
                http: test.http,
            })
            .collect(),
        measures: plan.measures.clone(),
        pages: plan.pages.clone(),
        roles: plan.roles.clone(),
        beside: settings.beside.clone(),
        background: settings.background.clone(),
        inside: settings.inside.clone(),
        constraints: plan.constraints.clone(),
    }
}

fn adapt_record(plan: &Plan) -> Option<AdaptRecord> {
    let adapt = plan.adapt.as_ref()?;
    let condition = |place: &usize| plan.conditions.get(*place).cloned();
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
    settings: &Settings,
    adapt: Option<AdaptRecord>,
) -> record::Load {
    let of_rounds = LoadDrive::default();
    let (load, warmup) = match &settings.drive {
        Drive::Rounds(rounds) => (&of_rounds, rounds.warmup),
        Drive::Load(load) => (load, load.warmup),
    };
    let (requests, duration) = match (&settings.drive, limit) {
        (Drive::Rounds(_), Some(Limit::Requests(requests))) => (Some(u64::from(requests)), None),
        (Drive::Rounds(_), Some(Limit::Duration(duration))) => (None, Some(duration)),
        _ => (load.requests, load.duration),
    };
    record::Load {
        users: settings.users,
        pace: settings.drive.pace(),
        requests,
        duration_s: duration.map(|duration| duration.as_secs_f64()),
        until: load.until.clone(),
        warmup,
        warmup_s: load.warmup_time.as_secs_f64(),
        timeout_s: settings.http.timeout.as_secs_f64(),
        seed: settings.seed,
        http: record::Http {
            window: (settings.http.connections.version == HttpVersion::Http2).then_some(WINDOW),
            ..settings.http.connections
        },
        in_turn: load.in_turn,
        adapt: adapt.filter(|_| settings.drive.pace() == Pace::Closed),
    }
}
