//! What a sweep found, as a sentence.

use stats::{EXPONENTS, Effect, Fitted, Growing, Law, Shape, SweptServer, Term};

use super::{Sweep, Varied};
use crate::clean;
use crate::units::{factor, human};

/// What one of some parameters is called. Sizes are told by the KiB.
const UNITS: [(&str, &str); 10] = [
    ("width", "member"),
    ("members", "member"),
    ("depth", "level"),
    ("properties", "property"),
    ("users", "user"),
    ("concurrency", "user"),
    ("locks", "lock held"),
    ("held", "lock held"),
    ("rate", "request a second"),
    ("size", "KiB"),
];

const KIB: f64 = 1024.0;

/// `grows with width: 0.21 ms + 38 us per member (linear, exponent 0.98 ± 0.03); depth has no
/// measurable effect (-1 % .. +2 % from 2 to 10)`.
pub(crate) fn sentence(sweep: &Sweep, swept: &SweptServer) -> String {
    let effects: Vec<(&Varied, &Effect)> = sweep
        .vary
        .iter()
        .zip(&swept.growth.effects)
        .filter_map(|(varied, effect)| Some((varied, effect.as_ref()?)))
        .collect();
    if effects.is_empty() {
        return "not enough was measured to tell (see the table)".to_owned();
    }
    let mut parts = Vec::new();
    let grown: Vec<&(&Varied, &Effect)> = with(&effects, Growing::Grows).collect();
    match (&swept.growth.law, grown.is_empty()) {
        (Some(law), false) => parts.push(law_in_words(sweep, law, &grown)),
        (None, false) => parts.extend(grown.iter().map(|(varied, effect)| {
            format!(
                "grows with {}: {}",
                clean(&varied.name),
                times(varied, effect)
            )
        })),
        (_, true) => {}
    }
    for (varied, effect) in with(&effects, Growing::Falls) {
        parts.push(format!(
            "falls with {}: {}",
            clean(&varied.name),
            times(varied, effect)
        ));
    }
    for (varied, effect) in with(&effects, Growing::Not) {
        let name = clean(&varied.name);
        parts.push(format!(
            "{name} has no measurable effect ({})",
            change(varied, effect)
        ));
    }
    for (varied, effect) in with(&effects, Growing::Unclear) {
        let name = clean(&varied.name);
        parts.push(format!(
            "whether {name} matters is unclear ({})",
            change(varied, effect)
        ));
    }
    let effects = sweep.vary.iter().zip(&swept.growth.effects);
    for (varied, _) in effects.filter(|(_, effect)| effect.is_none()) {
        parts.push(format!(
            "not enough was measured to tell of {}",
            clean(&varied.name)
        ));
    }
    parts.join("; ")
}

fn with<'a>(
    effects: &'a [(&'a Varied, &'a Effect)],
    verdict: Growing,
) -> impl Iterator<Item = &'a (&'a Varied, &'a Effect)> {
    effects
        .iter()
        .filter(move |(_, effect)| effect.verdict == verdict)
}

fn law_in_words(sweep: &Sweep, law: &Law, grown: &[&(&Varied, &Effect)]) -> String {
    let names: Vec<String> = grown
        .iter()
        .map(|(varied, _)| clean(&varied.name))
        .collect();
    let terms = law
        .terms
        .iter()
        .map(|term| term_in_words(&sweep.vary[term.of], term));
    let base = match law.base.value > 0.0 {
        true => format!("{} + ", human(law.base.value)),
        false => String::new(),
    };
    let factors = grown.iter().map(|(varied, effect)| times(varied, effect));
    let misses = match law.missed {
        true => format!(
            "; the law misses the points by {:.0} %, see the table",
            law.misfit * 100.0
        ),
        false => String::new(),
    };
    format!(
        "grows with {}: {base}{}; {}{misses}",
        names.join(" and "),
        terms.collect::<Vec<_>>().join(" + "),
        factors.collect::<Vec<_>>().join(", "),
    )
}

/// `38 us per member (linear, exponent 0.98 ± 0.03)`.
fn term_in_words(varied: &Varied, term: &Term) -> String {
    let name = clean(&varied.name);
    let unit = UNITS.iter().find(|(known, _)| *known == varied.name);
    let unit = unit.map_or(format!("unit of {name}"), |(_, unit)| (*unit).to_owned());
    let scale = if unit == "KiB" { KIB } else { 1.0 };
    let exponent = |found: &Option<Fitted>| match found {
        Some(found) => exponent_in_words(found),
        None => "two values say nothing of its shape".to_owned(),
    };
    let per = human(term.per_unit.value * scale.powf(term.exponent));
    match term.shape {
        Shape::Linear => format!("{per} per {unit} (linear, {})", exponent(&term.found)),
        Shape::Open => format!(
            "{per} per {unit} (taken as linear, {})",
            exponent(&term.found)
        ),
        Shape::Less | Shape::More | Shape::Falling => {
            let of = if unit == "KiB" { "KiB" } else { &name };
            format!(
                "{per} * {of}^{:.2} ({}, {})",
                term.exponent,
                term.shape.name(),
                exponent(&term.found)
            )
        }
    }
}

/// `exponent 0.98 ± 0.03`, or with both ends where they are not equally far: `exponent 1.20, 0.70 ..
/// 4.00 or more`, since exponents beyond some are not looked at.
fn exponent_in_words(Fitted { value, ci95 }: &Fitted) -> String {
    let (low, high) = *ci95;
    let (below, above) = (value - low, high - value);
    let is_whole = low > EXPONENTS.0 && high < EXPONENTS.1;
    let is_even = (above - below).abs() <= (0.1 * (above + below)).max(0.005);
    if is_whole && is_even {
        return format!("exponent {value:.2} ± {:.2}", f64::midpoint(below, above));
    }
    let less = if low > EXPONENTS.0 { "" } else { " or less" };
    let more = if high < EXPONENTS.1 { "" } else { " or more" };
    format!("exponent {value:.2}, {low:.2}{less} .. {high:.2}{more}")
}

/// `12.4 times from 10 to 300`.
fn times(varied: &Varied, effect: &Effect) -> String {
    format!("{} times {}", factor(effect.ratio), range(varied, effect))
}

/// `-1.2 % .. +2.0 % from 2 to 10`.
fn change(varied: &Varied, effect: &Effect) -> String {
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let (low, high) = effect.ci95;
    format!(
        "{} .. {} {}",
        percent(low),
        percent(high),
        range(varied, effect)
    )
}

fn range(varied: &Varied, effect: &Effect) -> String {
    let written = |value: f64| {
        let place = varied.values.iter().position(|own| *own == value);
        let written = place.and_then(|place| varied.written.get(place));
        written.map_or_else(|| value.to_string(), |written| clean(written))
    };
    let (first, last) = effect.between;
    format!("from {} to {}", written(first), written(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_is_not_even_has_both_ends() {
        let table = [
            ((0.98, (0.95, 1.01)), "exponent 0.98 ± 0.03"),
            ((1.0, (0.992, 1.004)), "exponent 1.00 ± 0.01"),
            ((1.0, (0.5, 1.6)), "exponent 1.00 ± 0.55"),
            ((1.2, (0.7, 2.9)), "exponent 1.20, 0.70 .. 2.90"),
            ((1.2, (0.7, 4.0)), "exponent 1.20, 0.70 .. 4.00 or more"),
            (
                (0.5, (-3.0, 4.0)),
                "exponent 0.50, -3.00 or less .. 4.00 or more",
            ),
        ];
        for ((value, ci95), expected) in table {
            assert_eq!(exponent_in_words(&Fitted { value, ci95 }), expected);
        }
    }
}
