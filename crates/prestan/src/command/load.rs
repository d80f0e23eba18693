//! `prestan load`: one request, or a mix, over and over.

use engine::{Drive, LoadDrive};
use runner::RunnerError;
use runner::failing::MaxFailures;
use runner::load::{LoadWorkload, pace};
use runner::local::RunTask;
use runner::run::RunEnds;
use runner::servers::one_labelled;

use crate::args::LoadArgs;
use crate::command::single::{SingleRun, single};
use crate::exit::ExitStatus;
use terminal::output;

/// Drives the request.
pub(crate) fn load(args: &LoadArgs) -> Result<ExitStatus, RunnerError> {
    output::check_report(&args.output.request())?;
    let words = args.server.words(args.words())?;
    let LoadWorkload {
        plan,
        suite_text,
        target,
        permission,
        in_turn,
        ..
    } = LoadWorkload::of(&words, &args.request.request())?;
    let (pace, paced) = (&args.pace, args.pace.request());
    let server = args.server.serving(target, &args.how.connect)?;
    let version = server.version();
    let version = version.unwrap_or(args.how.connect.http);
    pace::check(&paced, version, &plan)?;
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
    let mut ways = args.how.ways(&pace.running)?;
    (ways.run.keep_alive, ways.run.pipeline) = (!pace.no_keep_alive, pace.pipeline);
    let run = SingleRun {
        server: one_labelled(server, &pace.running.label)?,
        ways,
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
        how: &args.how,
        flames: false,
    };
    single(run, &args.output)
}
