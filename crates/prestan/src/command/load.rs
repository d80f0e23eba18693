//! `prestan load`: one request, or a mix, over and over.

use engine::{Drive, LoadDrive, Settings};
use runner::RunnerError;
use runner::failing::MaxFailures;
use runner::load::{LoadWorkload, pace};
use runner::local::RunTask;
use runner::run::RunEnds;
use runner::servers::{RunWays, one_labelled};

use crate::args::LoadArgs;
use crate::command::single::{SingleRun, single};
use crate::exit::ExitStatus;
use terminal::output;

/// Drives the request.
pub(crate) fn load(args: &LoadArgs) -> Result<ExitStatus, RunnerError> {
    output::check_report(&args.output.request())?;
    let words = args.words();
    let (words, path) = args.server.words_and_path(&words)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let LoadWorkload {
        plan,
        suite_text,
        target,
        permission,
        in_turn,
        ..
    } = LoadWorkload::of(&words, &args.request.request())?;
    let (pace, paced) = (&args.pace, args.pace.request());
    pace::check(&paced, args.connect.http.into(), &plan)?;
    let max_failures = pace.max_failures.unwrap_or_default();
    let drive = Drive::Load(LoadDrive {
        pacing: pace::pacing(&paced),
        requests: pace.requests,
        duration: pace::duration(&paced),
        until: pace.until.map(|until| until.to_string()),
        connect_rate: pace.connect_rate,
        warmup: pace.warmup,
        in_turn,
        ends_if_all_fail: max_failures == MaxFailures::All,
        ..LoadDrive::default()
    });
    let adjust = |settings: &mut Settings| {
        let connections = &mut settings.http.connections;
        pace::set_http(connections, !pace.no_keep_alive, pace.pipeline);
    };
    let run = SingleRun {
        server: one_labelled(
            args.server.serving(target, &path, &args.connect)?,
            &pace.running.label,
        )?,
        ways: RunWays {
            access: args.connect.request()?,
            run: pace.running.request(args.clock),
            adjust: &adjust,
        },
        task: RunTask {
            permission: Some((permission, args.request.writes)),
            ..RunTask::new(plan, suite_text, &pace.running.background.request())?
        },
        users: pace::users(&paced),
        drive,
        ends: RunEnds {
            until: pace.until,
            max_failures: Some(max_failures),
        },
        inside: args.inside.request(),
        flames: false,
    };
    single(run, &args.output)
}
