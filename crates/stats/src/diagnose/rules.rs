//! The rules: the rows of each, its threshold, and the reason for the threshold. Their texts are in
//! `report::diagnose`.

mod collections;
mod connections;
mod course;
mod features;
mod inside;
mod listing;
mod load;
mod locks;
mod pairs;

use super::Finding;
use super::case::{Case, Mean, Measurement};
use super::figure::{Evidence, NamedQuantity};

/// A rule: data but for the function that looks.
#[derive(Debug)]
pub struct DiagnosisRule {
    /// Its name.
    pub name: &'static str,
    /// The threshold of a finding. The comment above it gives its unit and its reason.
    pub at_least: f64,
    /// Names of the figures that a finding has, as far as they are known.
    pub figures: &'static [&'static str],
    find: Detector,
}

type Look = fn(&Case<'_>, f64) -> Option<Detection>;

#[derive(Debug, Clone, Copy)]
enum Detector {
    /// No further measurement may contradict it.
    Once(Look),
    /// The rule rests on so few operations that their intervals cannot show that they have a cause
    /// in common: each further measurement has to be as significant as the first, and without one
    /// it is seen once.
    EachTime(Look),
}

#[derive(Debug, Default)]
struct Detection {
    figures: Vec<NamedQuantity>,
    evidence: Vec<Evidence>,
    tests: Vec<String>,
    run: usize,
    /// The result rests on means of these rows.
    is_of_means: bool,
    /// Nanoseconds that would not have been spent.
    saved: f64,
    /// The result may come and go or rests on few operations, and no second run shows it.
    is_seen_once: bool,
}

impl DiagnosisRule {
    /// Applies the rule to the first measurement of each row. A result that a further one
    /// contradicts is no finding, nor is one of a few slow operations without a further one.
    pub(super) fn look(&self, case: &Case<'_>) -> Option<Finding> {
        let found = self.detect(case)?;
        let is_each_time = matches!(self.find, Detector::EachTime(_));
        let repeats = found.tests.iter().map(|test| case.repeated(test)).max();
        let repeats = repeats.unwrap_or(0);
        let is_tail = found.is_of_means && found.tests.iter().any(|test| case.is_tail(test));
        let needs_repeat = is_each_time || is_tail;
        let earliest = if is_each_time { 1 } else { repeats.max(1) };
        let is_seen = |further: usize| {
            let which = Measurement {
                further,
                is_exact: !needs_repeat,
            };
            self.is_seen_again(&case.again(which), &found)
        };
        if !(earliest..=repeats).all(is_seen) {
            return None;
        }
        let is_seen_once = found.is_seen_once || (needs_repeat && repeats == 0);
        Some(Finding {
            rule: self.name,
            figures: found.figures,
            evidence: found.evidence,
            tests: found.tests,
            run: found.run,
            is_seen_once,
            weight: if case.spent > 0.0 {
                (found.saved / case.spent).clamp(0.0, 1.0)
            } else {
                0.0
            },
        })
    }

    fn detect(&self, case: &Case<'_>) -> Option<Detection> {
        let (Detector::Once(look) | Detector::EachTime(look)) = self.find;
        look(case, self.at_least)
    }

    /// True if these measurements show the result of one of the same rows.
    fn is_seen_again(&self, again: &Case<'_>, found: &Detection) -> bool {
        let again = self.detect(again);
        again.is_some_and(|again| again.tests.iter().any(|test| found.tests.contains(test)))
    }
}

#[cfg(test)]
impl DiagnosisRule {
    pub(super) fn from(&self, at_least: f64) -> DiagnosisRule {
        DiagnosisRule { at_least, ..*self }
    }
}

impl Detection {
    /// Rests on these means; the figures come later.
    fn on(means: &[&Mean]) -> Detection {
        let mut found = Detection {
            run: means.first().map_or(0, |mean| mean.run),
            ..Detection::default()
        };
        found.add(means);
        found
    }

    fn add(&mut self, means: &[&Mean]) {
        self.is_of_means = true;
        for mean in means {
            if !self.tests.contains(&mean.row) {
                self.tests.push(mean.row.clone());
                self.evidence.push(mean.evidence());
            }
        }
    }
}

/// The rule whose finding comes before all others, because it is about failures.
pub(super) const FIRST: &str = "fails-under-load";

/// All rules, by their subjects. Findings come most costly first, in spite of the order here.
pub fn all_rules() -> impl Iterator<Item = &'static DiagnosisRule> {
    let all = [
        pairs::RULES,
        collections::RULES,
        locks::RULES,
        listing::RULES,
        course::RULES,
        load::RULES,
        connections::RULES,
        features::RULES,
        inside::RULES,
    ];
    all.into_iter().flatten()
}
