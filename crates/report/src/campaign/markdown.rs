//! Findings of a campaign as Markdown, for a document or a pull request.

use experiment::{FindingSummary, PairVerdict};

use super::CampaignReport;
use super::{explained, words};
use crate::markdown::{code, line, markdown};

/// The findings as a table with their evidence, below a heading of the third level. Ends with a newline.
pub fn campaign_markdown(of: &CampaignReport<'_>) -> String {
    let record = of.record;
    let mut text = format!("### {}\n\n", code(&record.name));
    text += &format!(
        "{}. {} Measured on {}, {} of {} trials",
        markdown(&of.experiment.title),
        markdown(&words::conclusion(of)),
        markdown(record.started.get(..10).unwrap_or(&record.started)),
        of.summary.ended_trials,
        of.summary.planned_trials
    );
    if !record.command.is_empty() {
        text += &format!(": {}", code(&record.command));
    }
    text += ".\n";
    if of.summary.findings.is_empty() {
        return text;
    }
    text += "\n| finding | where | today | evidence |\n|---|---|---|---|\n";
    for finding in &of.summary.findings {
        let verdict = words::verdict(finding.verdict);
        let verdict = match finding.verdict {
            PairVerdict::Inconclusive => verdict.to_owned(),
            PairVerdict::Holds | PairVerdict::Fails => format!("**{verdict}**"),
        };
        text += &line(&[
            markdown(&finding.claim),
            markdown(finding.source.as_deref().unwrap_or_default()),
            verdict,
            markdown(&evidence(of, finding)),
        ]);
    }
    text
}

/// The figures of a finding with one part, or how many parts hold and the first that decided; and why it does not hold.
fn evidence(of: &CampaignReport<'_>, finding: &FindingSummary) -> String {
    let mut evidence = words::evidence(of, finding);
    if finding.parts.len() > 1 {
        let parts = finding.parts.iter().zip(words::parts(of, finding));
        let mut deciding = parts.filter(|(part, _)| part.verdict == finding.verdict);
        if let Some((_, part)) = deciding.next() {
            evidence += &format!("; {part}");
        }
    }
    if let Some(why) = explained::of_finding(of, finding) {
        evidence += &format!(". {why}");
    }
    evidence
}
