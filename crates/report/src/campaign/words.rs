//! A campaign in sentences.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use experiment::{
    BesideSummary, CampaignSummary, FindingPart, FindingSummary, LabChoice, OrderingCount,
    PairVerdict, Relation, ShownUnit,
};

use super::CampaignReport;
use super::numbers::{NOT_MEASURED, with_sign};
use crate::document::{Tone, Words};
use crate::figure::percent;
use crate::lists::{enumerated, number_of};

const IMPORTANT: usize = 3;

/// Share of figures within their prediction from which a campaign is called repeatable: of
/// independent figures 95 % lie there, and those of a cell depend on each other.
const REPEATABLE: f64 = 0.9;

/// `3 trials`.
pub(super) fn counted(count: usize, unit: &str) -> String {
    number_of(count as u64, unit)
}

/// `45 s`, `12 min`, `3 h 20 min`.
pub(super) fn duration(seconds: f64) -> String {
    // More hours than anybody waits.
    let minutes = (seconds / 60.0).round().clamp(0.0, 1e7) as u64;
    match (seconds.is_finite(), minutes) {
        (false, _) => "an unknown time".to_owned(),
        (true, 0..2) => format!("{:.0} s", seconds.max(0.0)),
        (true, 2..120) => format!("{minutes} min"),
        (true, _) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// `the laboratory congestion`.
fn lab(of: &CampaignReport<'_>) -> String {
    let name = match &of.experiment.lab {
        LabChoice::Named(name) => name,
        LabChoice::Described(spec) => &spec.title,
    };
    match name.trim() {
        "" => "a laboratory of its own".to_owned(),
        name => format!("the laboratory {name}"),
    }
}

pub(super) fn measured(of: &CampaignReport<'_>) -> String {
    let record = of.record;
    let machine = ["processor", "kernel"].into_iter();
    let machine: Vec<&String> = machine.filter_map(|name| record.facts.get(name)).collect();
    let machine = if machine.is_empty() {
        String::new()
    } else {
        format!(", on {}", enumerated(&machine))
    };
    format!(
        "Experiment {} in {}: {}, {} of each{machine}. Begun {}.",
        record.name,
        lab(of),
        counted(record.cells.len(), "cell"),
        counted(record.repetitions as usize, "repetition"),
        record.started
    )
}

pub(super) fn progress(of: &CampaignReport<'_>) -> String {
    let (planned, ended) = (of.summary.planned_trials, of.summary.ended_trials);
    let failed = match of.failed() {
        0 => String::new(),
        failed => format!("; {failed} failed"),
    };
    let seconds: f64 = of.trials.iter().map(|trial| trial.seconds).sum();
    match of.left() {
        0 => format!(
            "{ended} of {} ended with figures{failed} ({}).",
            counted(planned, "trial"),
            duration(seconds)
        ),
        left => {
            let each = seconds / of.trials.len() as f64;
            let time = match of.trials.len() {
                0 => String::new(),
                _ => format!(" (about {})", duration(each * left as f64)),
            };
            format!(
                "Unfinished: {ended} of {} ended with figures{failed}; {left} left{time}.",
                counted(planned, "trial")
            )
        }
    }
}

pub(super) fn to_go_on(of: &CampaignReport<'_>) -> Option<&'static str> {
    let is_unfinished = of.left() > 0;
    is_unfinished.then_some("The same command goes on where the campaign was interrupted.")
}

pub(super) fn all_orders(summary: &CampaignSummary) -> OrderingCount {
    let orders = summary.tables.iter().flat_map(|table| &table.orders);
    orders.fold(OrderingCount::default(), |sum, of| OrderingCount {
        same: sum.same.saturating_add(of.same),
        reversed: sum.reversed.saturating_add(of.reversed),
        inconclusive: sum.inconclusive.saturating_add(of.inconclusive),
    })
}

pub(super) fn pairs(of: OrderingCount) -> usize {
    let conclusive = of.same.saturating_add(of.reversed);
    conclusive.saturating_add(of.inconclusive)
}

/// `of 15 pairs, 9 as published, 2 the other way round, 4 not told apart`; `None` without any.
pub(super) fn orders(of: OrderingCount) -> Option<String> {
    let all = pairs(of);
    let parts = [
        (of.same, "as published"),
        (of.reversed, "the other way round"),
        (of.inconclusive, "not told apart"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (all > 0).then(|| format!("of {}, {}", counted(all, "pair"), parts.join(", ")))
}

/// Definition of a pair, and meaning of the counts of pairs.
pub(super) const PAIRS: &str = "A pair is two rows of a table whose published figures differ by more than a twentieth. \
     \"Not told apart\" means that the repetitions support neither order.";

pub(super) fn conclusion(of: &CampaignReport<'_>) -> String {
    let cells = of.summary.cells.iter().map(|cell| &cell.estimate);
    let tables = of
        .summary
        .tables
        .iter()
        .flat_map(|table| &table.cells)
        .flatten();
    let is_repeated = cells.chain(tables).any(|cell| cell.interval.is_some());
    if of.summary.ended_trials == 0 {
        return "Nothing was measured.".to_owned();
    }
    if !is_repeated {
        return "Inconclusive: no cell has been measured twice, and a difference between single trials may be chance."
            .to_owned();
    }
    let counted_orders = all_orders(of.summary);
    let decided = counted_orders.same.saturating_add(counted_orders.reversed);
    let all = pairs(counted_orders);
    let repetitions = counted(of.record.repetitions as usize, "repetition");
    let verdicts = verdicts(&of.summary.findings);
    match (orders(counted_orders), verdicts) {
        (Some(orders), verdicts) => {
            let word = match decided {
                0 => "Inconclusive",
                some if some < counted_orders.inconclusive => "Mostly inconclusive",
                some if some < all => "Mostly conclusive",
                _ => "Conclusive",
            };
            let verdicts = verdicts.map_or(String::new(), |verdicts| format!(" {verdicts}"));
            format!("{word} with {repetitions}: {orders}.{verdicts}")
        }
        (None, Some(verdicts)) => format!("{verdicts} Each cell has {repetitions}."),
        (None, None) => "Nothing published is compared with these figures.".to_owned(),
    }
}

/// `Of 12 findings, 7 hold, 2 do not hold, 3 are inconclusive.`; `None` without any.
fn verdicts(findings: &[FindingSummary]) -> Option<String> {
    let count = |verdict| {
        let judged = findings.iter().filter(|finding| finding.verdict == verdict);
        judged.count()
    };
    let counts = [
        (count(PairVerdict::Holds), "holds", "hold"),
        (count(PairVerdict::Fails), "does not hold", "do not hold"),
        (
            count(PairVerdict::Inconclusive),
            "is inconclusive",
            "are inconclusive",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(count, one, more)| format!("{count} {}", if count == 1 { one } else { more }))
        .collect();
    let all = counted(findings.len(), "finding");
    (!counts.is_empty()).then(|| format!("Of {all}, {}.", counts.join(", ")))
}

pub(super) fn verdict(of: PairVerdict) -> (&'static str, Tone) {
    match of {
        PairVerdict::Holds => ("holds", Tone::Good),
        PairVerdict::Fails => ("does not hold", Tone::Bad),
        PairVerdict::Inconclusive => ("inconclusive", Tone::Caution),
    }
}

/// The most important findings: conclusive ones, the broadest claims first, and of equally broad
/// ones those that differ from the source.
pub(super) fn important(findings: &[FindingSummary]) -> Vec<&FindingSummary> {
    let mut findings: Vec<&FindingSummary> = findings.iter().collect();
    findings.sort_by_key(|finding| {
        let is_open = finding.verdict == PairVerdict::Inconclusive;
        let holds = finding.verdict == PairVerdict::Holds;
        (is_open, Reverse(finding.parts.len()), holds)
    });
    findings.truncate(IMPORTANT);
    findings
}

pub(super) fn unit_of(of: &CampaignReport<'_>, finding: &FindingSummary) -> Option<ShownUnit> {
    let name = &of.finding(finding)?.figure;
    Some(of.figure(name)?.unit)
}

/// The evidence of a verdict, as part of a sentence: the figures of a single part, or how many
/// parts hold.
pub(super) fn evidence(of: &CampaignReport<'_>, finding: &FindingSummary) -> String {
    let unit = unit_of(of, finding);
    if let [part] = &finding.parts[..] {
        return sides(part, unit);
    }
    let parts = [
        PairVerdict::Holds,
        PairVerdict::Fails,
        PairVerdict::Inconclusive,
    ];
    let parts = parts.into_iter().filter_map(|verdict| {
        let parts = finding.parts.iter().filter(|part| part.verdict == verdict);
        let (count, word) = (parts.count(), verdict_of_part(of, finding, verdict));
        (count > 0).then(|| format!("{word} in {count}"))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return NOT_MEASURED.to_owned();
    }
    format!(
        "of {}: {}",
        counted(finding.parts.len(), "part"),
        parts.join(", ")
    )
}

fn sides(part: &FindingPart, unit: Option<ShownUnit>) -> String {
    format!(
        "{} against {}",
        with_sign(&part.of, unit),
        with_sign(&part.than, unit)
    )
}

/// A part alone is not mixed: it is less, or more.
fn verdict_of_part(
    of: &CampaignReport<'_>,
    finding: &FindingSummary,
    verdict: PairVerdict,
) -> &'static str {
    let spec = of.finding(finding);
    let is_mixed = spec.is_some_and(|spec| spec.relation == Relation::Mixed);
    match verdict {
        PairVerdict::Holds if is_mixed => "less",
        PairVerdict::Fails if is_mixed => "more",
        PairVerdict::Inconclusive if is_mixed => "not told apart",
        verdict => self::verdict(verdict).0,
    }
}

/// The parts of a finding: `C1, 504 KB: 16.3 s (14.1 .. 18.4) against 31.0 s (28.8 .. 33.2),
/// holds`.
pub(super) fn parts(of: &CampaignReport<'_>, finding: &FindingSummary) -> Vec<String> {
    let unit = unit_of(of, finding);
    let parts = finding.parts.iter();
    let in_words = |one: &FindingPart| part(one, unit, verdict_of_part(of, finding, one.verdict));
    parts.map(in_words).collect()
}

fn part(part: &FindingPart, unit: Option<ShownUnit>, verdict: &str) -> String {
    let cell = match part.cell.trim() {
        "" => String::new(),
        cell => format!("{cell}: "),
    };
    format!("{cell}{}, {}", sides(part, unit), verdict)
}

/// How many figures of the other campaign lie where the first predicts them.
pub(super) fn repeatable(of: &BesideSummary) -> String {
    let Some(share) = of.share else {
        return "The other campaign has no figure of which this one has a prediction.".to_owned();
    };
    let judged = if share >= REPEATABLE {
        "the campaign is repeatable"
    } else {
        "the two campaigns differ"
    };
    format!(
        "Of {} of cells in the other campaign, {} lie within the 95 % prediction intervals of this one ({}): {judged}.",
        counted(of.compared, "figure"),
        of.within,
        percent(share)
    )
}

pub(super) fn facts(of: &CampaignReport<'_>) -> Vec<(String, Words)> {
    let record = of.record;
    let fact = |name: &str, value: &str| -> (String, Words) { (name.to_owned(), value.into()) };
    let order = format!("shuffled in each repetition, seed {}", record.seed);
    let mut facts = vec![
        fact("program", &record.program),
        fact("begun", &record.started),
        fact("order of trials", &order),
    ];
    facts.extend(record.facts.iter().map(|(name, value)| fact(name, value)));
    // Those in force in the trials: of each its values, each once.
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in of.trials.iter().flat_map(|trial| &trial.facts) {
        let known = values.entry(name).or_default();
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    facts.extend(values.into_iter().map(|(name, values)| {
        let by_trial = if values.len() > 1 { ", by trial" } else { "" };
        fact(
            &format!("{name} (in force)"),
            &(values.join(", ") + by_trial),
        )
    }));
    facts
}

/// `Table 8. Performance under C1`.
pub(super) fn name_and_title(name: &str, title: &str) -> String {
    let parts = [name, title].into_iter();
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(". ")
}

/// `3 trials: connection refused`.
pub(super) fn trials_line((text, count): &(String, usize)) -> String {
    format!("{}: {text}", counted(*count, "trial"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_in_words() {
        let of = |same, reversed, inconclusive| OrderingCount {
            same,
            reversed,
            inconclusive,
        };
        let table = [
            (
                of(9, 2, 4),
                Some("of 15 pairs, 9 as published, 2 the other way round, 4 not told apart"),
            ),
            (of(1, 0, 0), Some("of 1 pair, 1 as published")),
            (of(0, 0, 3), Some("of 3 pairs, 3 not told apart")),
            (of(0, 0, 0), None),
        ];
        for (counts, expected) in table {
            assert_eq!(orders(counts).as_deref(), expected);
        }
    }

    #[test]
    fn a_duration_has_the_unit_that_fits() {
        let table = [
            (0.4, "0 s"),
            (45.0, "45 s"),
            (119.0, "2 min"),
            (7199.0, "2 h 0 min"),
            (12_000.0, "3 h 20 min"),
            (f64::NAN, "an unknown time"),
            (-5.0, "0 s"),
        ];
        for (seconds, expected) in table {
            assert_eq!(duration(seconds), expected);
        }
    }
}
