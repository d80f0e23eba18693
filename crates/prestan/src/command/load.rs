//! `prestan load`: one request, or a mix, over and over.

use engine::{Drive, LoadDrive, Settings};
use runner::RunnerError;
use runner::background::AskedBackground;
use runner::failing::MaxFailures;
use runner::inside::WatchedServer;
use runner::load::{LoadWorkload, guard, pace};

use crate::args::{LoadArgs, Login};
use crate::command::planned::PlannedRun;
use crate::connect::connection_to;
use crate::exit::ExitStatus;
use crate::output;

/// Drives the request.
pub(crate) fn load(args: &LoadArgs) -> Result<ExitStatus, RunnerError> {
    output::check_report(&args.output.request())?;
    let LoadWorkload {
        plan,
        suite_text,
        target,
        permission,
        in_turn,
        ..
    } = LoadWorkload::of(&args.words(), &args.request.request())?;
    let paced = args.pace.request();
    pace::check(&paced, args.connect.http.into(), &plan)?;
    let connection = connection_to(target, &Login::default(), &args.connect)?;
    let pace = &args.pace;
    let max_failures = pace.max_failures.unwrap_or_default();
    let mut settings = Settings {
        users: pace::users(&paced),
        drive: Drive::Load(LoadDrive {
            pacing: pace::pacing(&paced),
            requests: pace.requests,
            duration: pace::duration(&paced),
            until: pace.until.map(|until| until.to_string()),
            connect_rate: pace.connect_rate,
            warmup: pace.warmup,
            in_turn,
            ends_if_all_fail: max_failures == MaxFailures::All,
            ..LoadDrive::default()
        }),
        ..connection.settings_of_run(pace.running.request(args.clock))?
    };
    pace::set_http(
        &mut settings.http.connections,
        !pace.no_keep_alive,
        pace.pipeline,
    );
    let makes_target = guard::look(permission, &settings, args.request.writes)?;
    let background = AskedBackground::of(&pace.running.background.request(), &plan)?;
    let watched = WatchedServer::of(&args.inside.request(), None)?;
    settings.inside = watched.as_ref().map(WatchedServer::record);
    let mut job = PlannedRun::single(
        plan,
        &suite_text,
        settings,
        &args.output,
        background.as_ref(),
    )?
    .watching(watched);
    (job.until, job.makes_target) = (pace.until, makes_target);
    job.max_failures = Some(max_failures);
    job.report(&args.output)
}
