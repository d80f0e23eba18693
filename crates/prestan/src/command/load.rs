//! `prestan load`: one request, or a mix, over and over.

mod args;

use runner::RunnerError;
use runner::load::{LoadWorkload, pace};
use runner::local::RunTask;
use runner::servers::one_labelled;

use crate::command::single::{SingleRun, single};
use crate::exit::ExitStatus;
pub(crate) use args::LoadArgs;
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
    let pace = args.pace.request();
    let server = args.server.serving(target, &args.how.connect)?;
    let version = server.version();
    let version = version.unwrap_or(args.how.connect.http);
    pace::check(&pace, version, &plan)?;
    let mut ways = args.how.ways(&args.pace.running)?;
    (ways.run.keep_alive, ways.run.pipeline) = (pace.keep_alive, pace.pipeline);
    let run = SingleRun {
        server: one_labelled(server, &args.how.labels.label)?,
        ways,
        task: RunTask {
            permission: Some(permission),
            ..RunTask::new(plan, suite_text, &args.how.background.request())?
        },
        users: pace::users(&pace),
        drive: pace::drive(&pace, in_turn),
        ends: pace::ends(&pace),
        how: &args.how,
        flames: false,
    };
    single(run, &args.output)
}
