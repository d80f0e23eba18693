//! The report of a campaign.

use std::fs;
use std::path::PathBuf;

use ::report::{CampaignReport, campaign_csv, campaign_json, campaign_page, campaign_text};
use experiment::{BesideSummary, CampaignSummary, beside, summarise};
use topology::LabNetwork;

use super::directory::{self, KeptCampaign};
use super::{find, usage};
use crate::args::{CampaignDocuments, LabReportArgs};
use crate::exit::{ExitStatus, Failed};
use crate::output::{check_documents, print_all, tell};

/// Prints the report of a campaign again.
pub(in super::super) fn report(args: &LabReportArgs) -> Result<ExitStatus, Failed> {
    let documents = &args.documents;
    check_documents(&[&documents.html, &documents.json, &documents.csv])?;
    let mut kept = KeptCampaign::read(&directory::find(&args.campaign)?)?;
    if let Some(newer) = &args.experiment {
        let newer = find(newer)?;
        if newer.factors != kept.record.experiment.factors {
            return Err(Failed::Usage(
                "--experiment: it has other factors than the experiment of the campaign".to_owned(),
            ));
        }
        kept.record.experiment = newer;
    }
    let summary = summary(&kept);
    let beside_of = |other: &PathBuf| -> Result<BesideSummary, Failed> {
        let mut other = KeptCampaign::read(&directory::find(other)?)?;
        other.record.experiment = kept.record.experiment.clone();
        Ok(beside(&summary, &self::summary(&other)))
    };
    let beside = args.beside.as_ref().map(beside_of).transpose()?;
    let text = |color, width| {
        let report = campaign_text(&report_of(&kept, &summary, ""), color, width);
        beside.as_ref().map_or(report.clone(), |beside| {
            format!("{report}\n{}", beside_text(beside))
        })
    };
    write(&kept, &summary, documents, "", text)?;
    Ok(ExitStatus::Done)
}

/// Prints what a campaign found, and writes its documents and its page.
pub(super) fn print(
    kept: &KeptCampaign,
    documents: &CampaignDocuments,
    command: &str,
) -> Result<(), Failed> {
    let summary = summary(kept);
    let picture = picture(kept)?;
    let page = CampaignReport {
        picture: Some(&picture),
        ..report_of(kept, &summary, command)
    };
    let place = kept.page();
    fs::write(&place, campaign_page(&page))
        .map_err(|error| Failed::Local(format!("writing {} failed: {error}", place.display())))?;
    let text = |color, width| campaign_text(&report_of(kept, &summary, command), color, width);
    write(kept, &summary, documents, command, text)?;
    tell(&format!("prestan: the page is {}", place.display()));
    Ok(())
}

fn summary(kept: &KeptCampaign) -> CampaignSummary {
    summarise(&kept.record.experiment, &kept.record, &kept.trials)
}

fn report_of<'a>(
    kept: &'a KeptCampaign,
    summary: &'a CampaignSummary,
    command: &'a str,
) -> CampaignReport<'a> {
    CampaignReport {
        command,
        ..CampaignReport::new(&kept.record, summary, &kept.trials)
    }
}

/// The laboratory of a campaign.
fn picture(kept: &KeptCampaign) -> Result<String, Failed> {
    let lab = kept
        .record
        .experiment
        .lab()
        .map_err(|error| usage(&error))?;
    let network = LabNetwork::new(&lab).map_err(super::super::usage)?;
    Ok(topology::svg(&network.title, &network))
}

fn write(
    kept: &KeptCampaign,
    summary: &CampaignSummary,
    documents: &CampaignDocuments,
    command: &str,
    text: impl FnOnce(bool, usize) -> String,
) -> Result<(), Failed> {
    let report = report_of(kept, summary, command);
    let mut all = Vec::new();
    if let Some(path) = &documents.json {
        all.push((path.as_path(), campaign_json(&report)));
    }
    if let Some(path) = &documents.csv {
        all.push((path.as_path(), campaign_csv(&report)));
    }
    let picture = documents.html.as_ref().map(|_| picture(kept)).transpose()?;
    if let Some(path) = &documents.html {
        let page = CampaignReport {
            picture: picture.as_deref(),
            ..report
        };
        all.push((path.as_path(), campaign_page(&page)));
    }
    print_all(all, None, documents.color, text)
}

/// Another campaign beside this one.
fn beside_text(beside: &BesideSummary) -> String {
    let Some(share) = beside.share else {
        return "The other campaign has no figure that this one predicts.\n".to_owned();
    };
    let mut text = format!(
        "Of the means of the other campaign, {} of {} ({:.0} %) lie where this one predicts them with 95 %.\n",
        beside.within,
        beside.compared,
        share * 100.0
    );
    for outside in &beside.outside {
        let levels: Vec<&str> = outside.cell.0.values().map(String::as_str).collect();
        let line = format!(
            "- {}, {}: {:.4}, predicted {:.4} to {:.4}",
            levels.join(", "),
            outside.figure,
            outside.mean,
            outside.prediction.low,
            outside.prediction.high
        );
        text += &format!("{}\n", ::report::clean(&line));
    }
    text
}
