//! Sentences around the figures of a finding.

use stats::units::{factor, human, human_range};
use stats::{Evidence, Finding, NamedQuantity, Quantity, ResponsePart};

use super::words::words;
use crate::figure::percent;
use crate::reasons::reason;

pub(crate) fn text(finding: &Finding) -> String {
    let sentences = words(finding).sentences.iter();
    let filled = sentences.filter_map(|one| fill(one, &finding.figures));
    filled.collect::<Vec<String>>().join(" ")
}

/// A template with the figures in its braces; `None` where one is not known.
fn fill(template: &str, figures: &[NamedQuantity]) -> Option<String> {
    let mut parts = template.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}')?;
        let figure = figures.iter().find(|figure| figure.name == name)?;
        filled += &quantity(&figure.value);
        filled += rest;
    }
    Some(filled)
}

/// A piece of evidence in a line: `Put1K: 14.2 ms (13.9 .. 14.6 ms, n 100)`.
pub(crate) fn evidence(evidence: &Evidence) -> String {
    let figures: Vec<String> = evidence.figures.iter().map(figure).collect();
    format!("{}: {}", evidence.row, figures.join(", "))
}

fn figure(figure: &NamedQuantity) -> String {
    let name = match figure.name {
        "mean" => String::new(),
        name => format!("{} ", name.replace('_', " ")),
    };
    let range = match (&figure.value, figure.interval) {
        (Quantity::Time(_), Some(interval)) => Some(human_range(interval)),
        _ => None,
    };
    let operations = figure.operations.map(|n| format!("n {n}"));
    let aside: Vec<String> = [range, operations].into_iter().flatten().collect();
    let value = quantity(&figure.value);
    if aside.is_empty() {
        format!("{name}{value}")
    } else {
        format!("{name}{value} ({})", aside.join(", "))
    }
}

pub(super) fn quantity(value: &Quantity) -> String {
    match value {
        Quantity::Time(ns) => human(*ns),
        Quantity::Share(share) => percent(*share),
        Quantity::Ratio(ratio) => format!("{} times", factor(*ratio)),
        Quantity::Count(count) => count.to_string(),
        Quantity::Rate(rate) => format!("{} operations per second", factor(*rate)),
        Quantity::Bytes(bytes) if *bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        Quantity::Bytes(bytes) if *bytes >= 1e4 => format!("{:.0} kB", bytes / 1e3),
        Quantity::Bytes(bytes) => format!("{bytes:.0} bytes"),
        Quantity::Text(text) => text.clone(),
        Quantity::Reason(of) => reason(of),
        Quantity::Part(part) => part_name(*part).to_owned(),
    }
}

fn part_name(part: ResponsePart) -> &'static str {
    match part {
        ResponsePart::BeforeFirstByte => "before the first byte",
        ResponsePart::Transfer => "between the first byte and the last",
    }
}

#[cfg(test)]
mod tests {
    use stats::all_rules;

    use super::super::words::WORDS;
    use super::*;

    #[test]
    fn every_rule_has_words_and_its_sentences_have_only_its_figures() {
        assert_eq!(WORDS.len(), all_rules().count());
        for (rule, words) in all_rules().zip(WORDS) {
            assert_eq!(rule.name, words.rule);
            let mut names = words
                .sentences
                .iter()
                .flat_map(|one| one.split('{').skip(1));
            let unknown = names.find(|part| {
                let name = part.split_once('}').map_or("", |(name, _)| name);
                !rule.figures.contains(&name)
            });
            assert_eq!(unknown, None, "{}", rule.name);
        }
    }

    #[test]
    fn a_sentence_without_its_figure_is_left_out() {
        let count = |name, count| NamedQuantity {
            name,
            value: Quantity::Count(count),
            interval: None,
            operations: None,
        };
        let figures = [count("a", 3), count("b", 4)];
        assert_eq!(fill("{a} of {b}.", &figures).unwrap(), "3 of 4.");
        assert_eq!(fill("{a} of {c}.", &figures), None);
        assert_eq!(fill("None.", &[]).unwrap(), "None.");
    }
}
