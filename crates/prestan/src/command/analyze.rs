//! `prestan analyze`: connections and requests of a capture, and the reasons of slow transfers.

mod args;

use report::CaptureAnalysis;
use runner::RunnerError;
use runner::analysis::{AnalysisRequest, analyse};

use crate::exit::ExitStatus;
pub(crate) use args::AnalyzeArgs;
use terminal::output;

/// Analyses the capture and prints the results. A file that is damaged behind its header fails, but
/// packets before the damage are analysed.
pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<ExitStatus, RunnerError> {
    let out = &args.output;
    output::check_documents(&[&out.json, &out.csv, &out.output], out.html.as_ref())?;
    let analysis = analyse(AnalysisRequest {
        file: args.file.clone(),
        run: args.run.clone(),
        server: args.server.clone(),
        rto: args.rto,
        is_drawn: out.html.is_some(),
    })?;
    print(&analysis, args)?;
    match &analysis.contents.damage {
        None => Ok(ExitStatus::Done),
        Some(damage) => Err(RunnerError::Local(format!(
            "reading {} failed: {damage}",
            analysis.file
        ))),
    }
}

fn print(analysis: &CaptureAnalysis, args: &AnalyzeArgs) -> Result<(), RunnerError> {
    let out = &args.output;
    let json = out.json.as_deref();
    let json = json.map(|path| (path, report::analysis_json(analysis)));
    let csv = out.csv.as_deref();
    let csv = csv.map(|path| (path, report::analysis_csv(analysis)));
    let html = out.html.iter();
    let html = html.flat_map(|place| place.documents(&report::analysis_page(analysis)));
    output::print_all(
        json.into_iter().chain(csv).chain(html).collect(),
        out.output.as_deref(),
        out.color,
        Some(|color, width| report::analysis_text(analysis, color, width)),
    )
}
