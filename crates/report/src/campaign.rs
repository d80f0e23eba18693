//! Results of a campaign of trials in a laboratory, beside the published ones, for people and for
//! programs.

mod bars;
mod caveats;
mod document;
mod json;
mod measured;
mod numbers;
mod sheet;
mod words;

use experiment::{
    BesideSummary, CampaignRecord, CampaignSummary, ExperimentSpec, FigureSpec, FindingSpec,
    FindingSummary, TrialRecord,
};
use figures::Figure;
use maud::html;

use crate::document::{Block, Words, html_of, markdown_of};
use crate::markdown::code;
use crate::page::{PageDocument, with_figures};
use crate::terminal::TextReport;

pub use bars::campaign_charts;
pub use json::campaign_json;
#[cfg(feature = "schema")]
pub use json::campaign_schema;
pub use sheet::{campaign_csv, campaign_trials_csv};

/// A campaign, as reports show it.
#[derive(Debug, Clone, Copy)]
pub struct CampaignReport<'a> {
    /// The planned measurements, where they run, and their author.
    pub record: &'a CampaignRecord,
    /// The experiment of the summary: that of the record, or a newer version of it.
    pub experiment: &'a ExperimentSpec,
    /// Summary of its trials.
    pub summary: &'a CampaignSummary,
    /// Its trials, in the order in which they ended.
    pub trials: &'a [TrialRecord],
    /// The network of its laboratory, from left to right and, for a phone, from top to bottom.
    pub picture: Option<&'a [Figure; 2]>,
    /// How another campaign of the same experiment compares with this one, the first.
    pub beside: Option<&'a BesideSummary>,
}

impl<'a> CampaignReport<'a> {
    /// A campaign without its optional parts.
    pub fn new(
        record: &'a CampaignRecord,
        summary: &'a CampaignSummary,
        trials: &'a [TrialRecord],
    ) -> CampaignReport<'a> {
        CampaignReport {
            record,
            experiment: &record.experiment,
            summary,
            trials,
            picture: None,
            beside: None,
        }
    }

    fn failed(&self) -> usize {
        let failures = self.summary.failures.iter();
        failures.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    fn left(&self) -> usize {
        let ended = self.summary.ended_trials.saturating_add(self.failed());
        self.summary.planned_trials.saturating_sub(ended)
    }

    fn figure(&self, name: &str) -> Option<&'a FigureSpec> {
        self.experiment.figures.get(name)
    }

    fn finding(&self, of: &FindingSummary) -> Option<&'a FindingSpec> {
        let mut findings = self.experiment.findings.iter();
        findings.find(|finding| finding.claim == of.claim && finding.source == of.source)
    }
}

/// The campaign for people at a terminal. Ends with a newline.
pub fn campaign_text(of: &CampaignReport<'_>, color: bool, width: usize) -> String {
    let spec = of.experiment;
    let source = spec.source.iter();
    let source = source.map(|source| ("Source".to_owned(), source.into()));
    let head = [
        Block::Paragraph((&spec.title).into()),
        Block::Facts(source.collect()),
    ];
    let mut report = TextReport::new(color, width);
    report.blocks(&head);
    report.blocks(&document::document(of));
    report.finish()
}

/// The campaign as a page.
pub fn campaign_page(of: &CampaignReport<'_>) -> PageDocument {
    let spec = of.experiment;
    let body = html! {
        @if !of.summary.tables.is_empty() { a.skip href="#tables" { "Skip to the tables" } }
        header {
            h1 { (spec.title) }
            @if let Some(source) = &spec.source { p.what { (source) } }
        }
        main { (html_of(&document::document(of))) }
        footer { p { "Made by Prestan." } }
    };
    let style = include_str!("../page/campaign.css");
    with_figures(&spec.title, style, body)
}

/// The findings as Markdown, for a document or a pull request: a table with their evidence, below a
/// heading of the third level. Ends with a newline.
pub fn campaign_markdown(of: &CampaignReport<'_>) -> String {
    let record = of.record;
    let words = Words::from(format!(
        "{}. {} Measured on {}, {} of {} trials",
        of.experiment.title,
        words::conclusion(of),
        record.started.get(..10).unwrap_or(&record.started),
        of.summary.ended_trials,
        of.summary.planned_trials
    ));
    let words = words.then(": ", Words::default().code(&record.command));
    let mut blocks = vec![Block::Paragraph(words.plain("."))];
    if !of.summary.findings.is_empty() {
        blocks.push(Block::Table(document::findings_in_brief(of)));
    }
    format!("### {}\n\n{}\n", code(&record.name), markdown_of(&blocks))
}
