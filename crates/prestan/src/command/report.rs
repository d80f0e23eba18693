//! `prestan report`: a recorded run, printed again.

use engine::rundir::{self, RunDirError};
use record::Run;

use crate::args::ReportArgs;
use crate::exit::{Code, Failed};
use crate::intake::summary_of_kept;
use crate::{output, state};

pub(crate) fn report(args: &ReportArgs) -> Result<Code, Failed> {
    output::check(&args.formats, args.output.as_deref())?;
    let path = state::find_run(args.run.as_deref())?;
    let unreadable = |error: RunDirError| Failed::Usage(error.to_string());
    let recorded = rundir::open(&path).map_err(unreadable)?;
    let summary = summary_of_kept(&recorded).map_err(Failed::Usage)?;
    let run = Run {
        plan: recorded.plan,
        env: recorded.env,
        events: recorded.events,
        samples: Vec::new(),
    };
    let kept_in = Some(path.display().to_string());
    output::print(
        &run,
        &summary,
        &args.formats,
        args.output.as_deref(),
        kept_in,
    )?;
    Ok(Code::Done)
}
