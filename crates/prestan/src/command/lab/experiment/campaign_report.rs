//! The report of a campaign.

use std::path::PathBuf;

use ::report::{
    CampaignReport, campaign_csv, campaign_json, campaign_markdown, campaign_page, campaign_text,
};
use campaign::{KeptCampaign, find_campaign, find_experiment};
use experiment::{BesideSummary, CampaignSummary, beside, summarise};
use figures::Figure;
use runner::RunnerError;
use topology::LabNetwork;

use super::usage;
use crate::command::lab::{CampaignDocuments, LabReportArgs};
use crate::exit::ExitStatus;
use terminal::document_file;
use terminal::output::{check_documents, print_all, print_message};

/// Prints the report of a campaign again.
pub(in super::super) fn report(args: &LabReportArgs) -> Result<ExitStatus, RunnerError> {
    let documents = &args.documents;
    check_documents(&documents.paths(), documents.html.as_ref())?;
    let kept = KeptCampaign::read(&find_campaign(&args.campaign)?)?;
    let mut experiment = kept.record.experiment.clone();
    if let Some(newer) = &args.experiment {
        experiment = find_experiment(newer)?;
        if experiment.factors != kept.record.experiment.factors {
            return Err(RunnerError::Usage(
                "--experiment: it has other factors than the experiment of the campaign".to_owned(),
            ));
        }
    }
    let summary_of = |kept: &KeptCampaign| summarise(&experiment, &kept.record, &kept.trials);
    let summary = summary_of(&kept);
    let beside_of = |other: &PathBuf| -> Result<BesideSummary, RunnerError> {
        let other = KeptCampaign::read(&find_campaign(other)?)?;
        Ok(beside(&summary, &summary_of(&other)))
    };
    let beside = args.beside.as_ref().map(beside_of).transpose()?;
    let picture = picture(&kept)?;
    let report = CampaignReport {
        experiment: &experiment,
        picture: Some(&picture),
        beside: beside.as_ref(),
        ..CampaignReport::new(&kept.record, &summary, &kept.trials)
    };
    write(&report, documents)?;
    Ok(ExitStatus::Done)
}

/// Prints the results of a campaign, and writes its documents and its page.
pub(super) fn print(kept: &KeptCampaign, documents: &CampaignDocuments) -> Result<(), RunnerError> {
    let record = &kept.record;
    let summary: CampaignSummary = summarise(&record.experiment, record, &kept.trials);
    let picture = picture(kept)?;
    let report = CampaignReport {
        picture: Some(&picture),
        ..CampaignReport::new(record, &summary, &kept.trials)
    };
    let page = kept.page();
    document_file::write(&page, campaign_page(&report).whole().as_bytes())?;
    write(&report, documents)?;
    print_message(&format!("prestan: the page is {}", page.display()));
    Ok(())
}

/// The laboratory of a campaign.
fn picture(kept: &KeptCampaign) -> Result<[Figure; 2], RunnerError> {
    let lab = kept
        .record
        .experiment
        .lab()
        .map_err(|error| usage(&error))?;
    let network = LabNetwork::new(&lab).map_err(super::super::usage)?;
    Ok(topology::pictures(&network.title, &network))
}

fn write(report: &CampaignReport<'_>, documents: &CampaignDocuments) -> Result<(), RunnerError> {
    type Format = fn(&CampaignReport<'_>) -> String;
    let formats: [(_, Format); 3] = [
        (&documents.json, campaign_json),
        (&documents.csv, campaign_csv),
        (&documents.markdown, campaign_markdown),
    ];
    let mut all = Vec::new();
    for (path, format) in formats {
        all.extend(path.as_deref().map(|path| (path, format(report))));
    }
    if let Some(page) = &documents.html {
        all.extend(page.documents(&campaign_page(report)));
    }
    let text = |color, width| campaign_text(report, color, width);
    print_all(all, None, documents.color, Some(text))
}
