//! What a campaign of trials in a laboratory found, beside what was published, for people and for programs.

mod bars;
mod beside;
mod document;
mod doubts;
mod explained;
mod markdown;
mod numbers;
mod page;
mod sheet;
mod text;
mod wire;
mod words;

use experiment::{
    BesideSummary, CampaignRecord, CampaignSummary, ExperimentSpec, FigureSpec, FindingSpec,
    FindingSummary, TrialRecord,
};
use figures::Figure;

pub use document::campaign_json;
#[cfg(feature = "schema")]
pub use document::campaign_schema;
pub use markdown::campaign_markdown;
pub use page::{campaign_charts, campaign_page};
pub use sheet::{campaign_csv, campaign_trials_csv};
pub use text::campaign_text;

/// A campaign, as reports show it.
#[derive(Debug, Clone, Copy)]
pub struct CampaignReport<'a> {
    /// What was to be measured, where, and by whom.
    pub record: &'a CampaignRecord,
    /// The experiment of the summary: that of the record, or a newer version of it.
    pub experiment: &'a ExperimentSpec,
    /// What its trials say.
    pub summary: &'a CampaignSummary,
    /// Its trials, in the order in which they ended.
    pub trials: &'a [TrialRecord],
    /// The network of its laboratory, from left to right and, for a phone, from top to bottom.
    pub picture: Option<&'a [Figure; 2]>,
    /// How another campaign of the same experiment compares with this one, the first.
    pub beside: Option<&'a BesideSummary>,
}

impl<'a> CampaignReport<'a> {
    /// A campaign without what may be absent.
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

    /// Trials that failed.
    fn failed(&self) -> usize {
        let failures = self.summary.failures.iter();
        failures.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Trials that were planned and have not ended.
    fn left(&self) -> usize {
        let ended = self.summary.ended_trials.saturating_add(self.failed());
        self.summary.planned_trials.saturating_sub(ended)
    }

    /// How the experiment describes a figure.
    fn figure(&self, name: &str) -> Option<&'a FigureSpec> {
        self.experiment.figures.get(name)
    }

    /// The finding as it is in the experiment.
    fn finding(&self, of: &FindingSummary) -> Option<&'a FindingSpec> {
        let mut findings = self.experiment.findings.iter();
        findings.find(|finding| finding.claim == of.claim && finding.source == of.source)
    }
}
