//! `prestan report`: a recorded run, printed again.

use crate::args::ReportArgs;
use crate::exit::{Code, Failed};
use crate::{output, state};

pub(crate) fn report(args: &ReportArgs) -> Result<Code, Failed> {
    output::check(&args.formats, args.output.as_deref())?;
    let path = state::find_run(args.run.as_deref())?;
    let run = engine::rundir::load(&path).map_err(|error| Failed::Usage(error.to_string()))?;
    let summary = stats::summarise(&run);
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
