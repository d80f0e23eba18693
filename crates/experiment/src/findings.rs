//! Findings, judged by the figures.

use std::collections::{BTreeMap, BTreeSet};

use stats::holm;

use crate::file::{FindingSpec, Relation};
use crate::orders::ACCEPTED;
use crate::record::LevelCombination;
use crate::relation::{self, RelationTest};
use crate::summarise::CampaignFigures;
use crate::summary::{FindingPart, FindingSummary, PairVerdict};

#[derive(Default)]
struct FindingSides<'a> {
    of: Vec<&'a LevelCombination>,
    than: Vec<&'a LevelCombination>,
}

/// Judges a finding; `None` if no part of it was measured on both sides.
pub(crate) fn judge(
    figures: &CampaignFigures<'_>,
    finding: &FindingSpec,
) -> Option<FindingSummary> {
    let sides = sides(figures.cells, finding);
    let other = finding.than_figure.as_ref().unwrap_or(&finding.figure);
    let all: Vec<(&str, &[&LevelCombination])> = sides
        .iter()
        .flat_map(|sides| {
            [
                (finding.figure.as_str(), &sides.of[..]),
                (other, &sides.than[..]),
            ]
        })
        .collect();
    let group = figures.group_of_figures(&all);
    let within = finding.within.map(|within| within.percent() / 100.0);
    let pairs = || group.series.chunks_exact(2);
    let is_measured = |pair: &[_]| {
        pair.iter()
            .all(|series: &crate::series::FigureSeries| !series.values.is_empty())
    };
    if !pairs().any(is_measured) {
        return None;
    }
    let tests: Vec<RelationTest> = pairs()
        .map(|pair| relation::compare(&pair[0], &pair[1], &group.spread, within))
        .collect();
    let verdicts = verdicts(finding.relation, &tests);
    let is_mixed = finding.relation == Relation::Mixed;
    let verdict = if is_mixed {
        mixed(&tests)
    } else {
        together(&verdicts)
    };
    let estimates: Vec<_> = sides
        .iter()
        .zip(pairs())
        .map(|(sides, pair)| {
            let numerator = figures.estimate(&finding.figure, &sides.of, &pair[0], &group);
            (
                numerator,
                figures.estimate(other, &sides.than, &pair[1], &group),
            )
        })
        .collect();
    let names = part_names(figures, &sides);
    let parts = names.into_iter().zip(estimates).zip(verdicts);
    let parts: Vec<FindingPart> = parts
        .map(|((cell, (numerator, than)), verdict)| FindingPart {
            cell,
            of: numerator,
            than,
            verdict,
        })
        .collect();
    Some(FindingSummary {
        claim: finding.claim.clone(),
        source: finding.source.clone(),
        verdict,
        parts,
    })
}

/// The parts of a finding, one for each combination of levels of factors that neither side names.
/// In the order of cells.
fn sides<'a>(cells: &'a [LevelCombination], finding: &FindingSpec) -> Vec<FindingSides<'a>> {
    let mut places: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut parts: Vec<FindingSides<'_>> = Vec::new();
    let is_named =
        |factor: &String| finding.of.0.contains_key(factor) || finding.than.0.contains_key(factor);
    for cell in cells.iter().filter(|cell| finding.cells.matches(cell)) {
        let others = cell.0.iter().filter(|(factor, _)| !is_named(factor));
        let others = others.map(|(_, level)| level.as_str()).collect();
        let place = *places.entry(others).or_insert(parts.len());
        if place == parts.len() {
            parts.push(FindingSides::default());
        }
        if finding.of.matches(cell) {
            parts[place].of.push(cell);
        }
        if finding.than.matches(cell) {
            parts[place].than.push(cell);
        }
    }
    parts.retain(|part| !part.of.is_empty() && !part.than.is_empty());
    parts
}

fn part_names(figures: &CampaignFigures<'_>, sides: &[FindingSides<'_>]) -> Vec<String> {
    let first: Vec<&LevelCombination> = sides
        .iter()
        .filter_map(|part| part.of.first().copied())
        .collect();
    let differ = |factor: &&str| {
        let is_fixed = sides.iter().all(|part| {
            let levels = part.of.iter().chain(&part.than);
            let levels: BTreeSet<&str> = levels.map(|cell| cell.level(factor)).collect();
            levels.len() == 1
        });
        let levels: BTreeSet<&str> = first.iter().map(|cell| cell.level(factor)).collect();
        is_fixed && levels.len() > 1
    };
    let factors = figures
        .spec
        .factors
        .iter()
        .map(|factor| factor.name.as_str());
    let factors: Vec<&str> = factors.filter(differ).collect();
    let name = |cell: &LevelCombination| {
        let titles = factors
            .iter()
            .map(|factor| figures.level_title(factor, cell.level(factor)));
        titles.collect::<Vec<_>>().join(", ")
    };
    first.into_iter().map(name).collect()
}

/// A part holds without a correction for the number of parts, because all have to hold. It fails
/// with one, because one failure is enough.
fn verdicts(relation: Relation, tests: &[RelationTest]) -> Vec<PairVerdict> {
    let p = |test: &RelationTest| match relation {
        // A single part of `mixed` has no verdict; it is shown like `less`.
        Relation::Less | Relation::Mixed => (test.less, test.more),
        Relation::More => (test.more, test.less),
        Relation::About => (test.about, test.apart),
    };
    let fails: Vec<f64> = tests
        .iter()
        .map(|test| (2.0 * p(test).1).min(1.0))
        .collect();
    let fails = holm(&fails);
    let verdict = |(test, fails): (&RelationTest, f64)| {
        if 2.0 * p(test).0 < ACCEPTED {
            PairVerdict::Holds
        } else if fails < ACCEPTED {
            PairVerdict::Fails
        } else {
            PairVerdict::Inconclusive
        }
    };
    tests.iter().zip(fails).map(verdict).collect()
}

fn together(parts: &[PairVerdict]) -> PairVerdict {
    if parts.contains(&PairVerdict::Fails) {
        PairVerdict::Fails
    } else if parts.iter().all(|part| *part == PairVerdict::Holds) {
        PairVerdict::Holds
    } else {
        PairVerdict::Inconclusive
    }
}

/// Judges that the figure is less in one part, and more in another: corrected for the number of
/// parts, because one of each is enough. It fails if all parts are on the same side.
fn mixed(tests: &[RelationTest]) -> PairVerdict {
    let any = |p: fn(&RelationTest) -> f64| {
        let doubled: Vec<f64> = tests.iter().map(|test| (2.0 * p(test)).min(1.0)).collect();
        holm(&doubled).into_iter().any(|p| p < ACCEPTED)
    };
    let all = |p: fn(&RelationTest) -> f64| tests.iter().all(|test| 2.0 * p(test) < ACCEPTED);
    if any(|test| test.less) && any(|test| test.more) {
        PairVerdict::Holds
    } else if all(|test| test.less) || all(|test| test.more) {
        PairVerdict::Fails
    } else {
        PairVerdict::Inconclusive
    }
}
