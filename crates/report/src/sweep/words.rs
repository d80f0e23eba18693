//! Results of a sweep, as a sentence.

use stats::{CallGrowth, CallLaw, EXPONENTS, Effect, Fitted, Growing, Growth, Law, Shape, Term};

use super::{Sweep, Varied, limit};
use crate::figure::{self, decimals};
use crate::inside::count;

/// Names of one unit of some parameters. Sizes are given per KiB.
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

/// `grows with width: 0.21 ms (0.19 .. 0.23 ms) + 38.0 us (37.1 .. 38.9 us) per member (linear,
/// exponent 0.98 ± 0.03); depth has no measurable effect (-1.0 % .. +2.0 % from 2 to 10)`.
pub(crate) fn sentence(sweep: &Sweep, growth: &Growth) -> String {
    let effects: Vec<(&Varied, &Effect)> = sweep
        .vary
        .iter()
        .zip(&growth.effects)
        .filter_map(|(varied, effect)| Some((varied, effect.as_ref()?)))
        .collect();
    if effects.is_empty() {
        return "too few measurements (see the table)".to_owned();
    }
    let mut parts = Vec::new();
    let grown: Vec<&(&Varied, &Effect)> = with(&effects, Growing::Grows).collect();
    match (&growth.law, grown.is_empty()) {
        (Some(law), false) => parts.push(law_in_words(sweep, law, &grown)),
        (None, false) => parts.extend(grown.iter().map(|(varied, effect)| {
            format!("grows with {}: {}", varied.name, times(varied, effect))
        })),
        (_, true) => {}
    }
    for (varied, effect) in with(&effects, Growing::Falls) {
        parts.push(format!(
            "falls with {}: {}",
            varied.name,
            times(varied, effect)
        ));
    }
    for (varied, effect) in with(&effects, Growing::Not) {
        let name = &varied.name;
        parts.push(format!(
            "{name} has no measurable effect ({})",
            change(varied, effect)
        ));
    }
    for (varied, effect) in with(&effects, Growing::Inconclusive) {
        let name = &varied.name;
        parts.push(format!(
            "inconclusive for {name} ({}{})",
            change(varied, effect),
            repeats_needed(sweep, effect)
        ));
    }
    let effects = sweep.vary.iter().zip(&growth.effects);
    for (varied, _) in effects.filter(|(_, effect)| effect.is_none()) {
        parts.push(format!("too few measurements of {}", varied.name));
    }
    parts.join("; ")
}

/// `stat 4 + 3 per member, open 2 + 1 per member (exact at 4 points); in any case 2 fsync; rename
/// varies between runs`.
pub(crate) fn calls_in_words(sweep: &Sweep, laws: &[CallLaw]) -> String {
    let (mut exact, mut assumed, mut other) = (Vec::new(), Vec::new(), Vec::new());
    let (mut constant, mut varying) = (Vec::new(), Vec::new());
    for law in laws {
        let call = law.call.name();
        match &law.growth {
            CallGrowth::Constant(number) => constant.push(format!("{} {call}", count(*number))),
            CallGrowth::Linear {
                base,
                per_unit,
                is_exact,
            } => {
                let words = format!("{call} {}", linear_in_words(sweep, *base, per_unit));
                if *is_exact {
                    exact.push(words);
                } else {
                    assumed.push(words);
                }
            }
            CallGrowth::Other(exponent) => {
                let numbers = law.points.iter().map(|(_, number)| count(*number));
                let numbers = numbers.collect::<Vec<_>>().join(", ");
                let exponent = exponent.map_or(String::new(), |exponent| {
                    format!("; exponent {exponent:.2} at the end")
                });
                other.push(format!("{call} is not linear ({numbers}{exponent})"));
            }
            CallGrowth::Varying => varying.push(call),
        }
    }
    let points = laws.first().map_or(0, |law| law.points.len());
    let mut parts = Vec::new();
    if !exact.is_empty() {
        parts.push(format!("{} (exact at {points} points)", exact.join(", ")));
    }
    if !assumed.is_empty() {
        let assumed = assumed.join(", ");
        parts.push(format!(
            "{assumed} (assumed linear: {points} points do not show more)"
        ));
    }
    parts.extend(other);
    if !constant.is_empty() {
        parts.push(format!("in any case {}", constant.join(", ")));
    }
    if !varying.is_empty() {
        parts.push(format!("varying between runs: {}", varying.join(", ")));
    }
    parts.join("; ")
}

/// `4 + 3 per member`.
fn linear_in_words(sweep: &Sweep, base: f64, per_unit: &[f64]) -> String {
    let terms = sweep.vary.iter().zip(per_unit);
    let terms = terms.filter(|(_, per_unit)| **per_unit != 0.0);
    let terms = terms.map(|(varied, per_unit)| {
        let (unit, scale) = unit_of(varied);
        let per_unit = per_unit * scale;
        // Small numbers per unit keep their digits.
        let number = if per_unit.abs() < 0.05 {
            format!("{per_unit:.2e}")
        } else {
            count(per_unit)
        };
        format!("{number} per {unit}")
    });
    let base = (base != 0.0).then(|| count(base));
    base.into_iter()
        .chain(terms)
        .collect::<Vec<_>>()
        .join(" + ")
}

/// The unit of a parameter in texts: its name, and its size in units of the values.
fn unit_of(varied: &Varied) -> (String, f64) {
    let name = &varied.name;
    let unit = UNITS.iter().find(|(known, _)| *known == varied.name);
    let unit = unit.map_or(format!("unit of {name}"), |(_, unit)| (*unit).to_owned());
    let scale = if unit == "KiB" { KIB } else { 1.0 };
    (unit, scale)
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
    let names: Vec<&str> = grown
        .iter()
        .map(|(varied, _)| varied.name.as_str())
        .collect();
    let terms = law
        .terms
        .iter()
        .map(|term| term_in_words(&sweep.vary[term.of], term));
    let base = if law.base.value > 0.0 {
        format!("{} + ", figure::time(law.base.value, law.base.ci95))
    } else {
        String::new()
    };
    let factors = grown.iter().map(|(varied, effect)| times(varied, effect));
    let misses = if law.missed {
        format!(
            "; the law misses the points by {}, see the table",
            figure::percent(law.misfit)
        )
    } else {
        String::new()
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
    let name = &varied.name;
    let (unit, scale) = unit_of(varied);
    let exponent = |found: &Option<Fitted>| match found {
        Some(found) => exponent_in_words(found),
        None => "needs at least three values".to_owned(),
    };
    let scale = scale.powf(term.exponent);
    let (low, high) = term.per_unit.ci95;
    let per = figure::time(term.per_unit.value * scale, (low * scale, high * scale));
    match term.shape {
        Shape::Linear => format!("{per} per {unit} (linear, {})", exponent(&term.found)),
        Shape::Open => format!(
            "{per} per {unit} (assumed linear, {})",
            exponent(&term.found)
        ),
        Shape::Less | Shape::More | Shape::Falling => {
            let of = if unit == "KiB" { "KiB" } else { name };
            let digits = term.found.map_or(2, |found| decimals(found.ci95).max(1));
            format!(
                "{per} * {of}^{:.digits$} ({}, {})",
                term.exponent,
                shape_name(term.shape),
                exponent(&term.found)
            )
        }
    }
}

/// The name used in files, and in sentences.
pub(super) fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Linear => "linear",
        Shape::Open => "open",
        Shape::Less => "less than linear",
        Shape::More => "more than linear",
        Shape::Falling => "falling",
    }
}

/// `exponent 0.98 ± 0.03`, or with both ends where they are not equally far: `exponent 1.2 (0.7 ..
/// 2.9)`. Exponents are looked for within [`EXPONENTS`]: an interval that reaches an end is open
/// there.
fn exponent_in_words(Fitted { value, ci95 }: &Fitted) -> String {
    let (low, high) = *ci95;
    let (below, above) = (value - low, high - value);
    let digits = decimals(*ci95).max(1);
    let is_even = (above - below).abs() <= (0.1 * (above + below)).max(0.005);
    match (low > EXPONENTS.0, high < EXPONENTS.1) {
        (true, true) if is_even => {
            let half = f64::midpoint(below, above).max(0.01);
            format!("exponent {value:.digits$} ± {half:.digits$}")
        }
        (true, true) => format!("exponent {value:.digits$} ({low:.digits$} .. {high:.digits$})"),
        (true, false) => format!("exponent {low:.1} or more"),
        (false, true) => format!("exponent {high:.1} or less"),
        (false, false) => "these points do not show its exponent".to_owned(),
    }
}

/// `×12 (11.9 .. 12.9) from 10 to 300`.
fn times(varied: &Varied, effect: &Effect) -> String {
    let digits = decimals(effect.ci95);
    let written = |ratio: f64| format!("{ratio:.digits$}");
    let (low, high) = (written(effect.ci95.0), written(effect.ci95.1));
    let interval = if low == high {
        String::new()
    } else {
        format!(" ({low} .. {high})")
    };
    format!(
        "×{}{interval} {}",
        written(effect.ratio),
        range(varied, effect)
    )
}

/// `-1.2 % .. +2.0 % from 2 to 10`.
fn change(varied: &Varied, effect: &Effect) -> String {
    let (low, high) = effect.ci95;
    format!(
        "{} .. {} {}",
        figure::change(low),
        figure::change(high),
        range(varied, effect)
    )
}

/// Half of a 95 % interval over the difference that it finds with a probability of 80 %, in
/// standard errors: 1.96 + 0.84 over 1.96.
const FOR_POWER: f64 = 1.43;
/// More repeats than anybody makes.
const MANY_REPEATS: f64 = 1000.0;

/// How many repeats would show an effect that matters, where these were too few for any.
fn repeats_needed(sweep: &Sweep, effect: &Effect) -> String {
    let (low, high) = effect.ci95;
    let half = (high / low).ln() / 2.0;
    let share = half * FOR_POWER / sweep.same_within.ln_1p();
    let made = sweep.repeats_made() as f64;
    let needed = (made * share * share).ceil();
    let least = limit(sweep);
    match needed {
        n if n <= made => String::new(),
        n if n <= MANY_REPEATS => format!("; about {n} repeats would show {least}"),
        _ => format!("; more than {MANY_REPEATS} repeats would be needed to show {least}"),
    }
}

fn range(varied: &Varied, effect: &Effect) -> String {
    let written = |value: f64| {
        let index = varied
            .values
            .iter()
            .position(|candidate| *candidate == value);
        let written = index.and_then(|index| varied.written.get(index));
        written.map_or_else(|| value.to_string(), String::clone)
    };
    let (first, last) = effect.between;
    format!("from {} to {}", written(first), written(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_has_the_digits_that_are_known() {
        let table = [
            ((0.98, (0.95, 1.01)), "exponent 0.98 ± 0.03"),
            ((1.0, (0.992, 1.004)), "exponent 1.00 ± 0.01"),
            ((1.0, (0.5, 1.6)), "exponent 1.0 ± 0.6"),
            ((1.2, (0.7, 2.9)), "exponent 1.2 (0.7 .. 2.9)"),
            ((4.0, (0.84, 4.0)), "exponent 0.8 or more"),
            ((-3.0, (-3.0, 0.5)), "exponent 0.5 or less"),
            ((0.5, (-3.0, 4.0)), "these points do not show its exponent"),
        ];
        for ((value, ci95), expected) in table {
            assert_eq!(exponent_in_words(&Fitted { value, ci95 }), expected);
        }
    }
}
