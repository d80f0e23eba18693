//! The JSON document of a sweep. Its types have what those of `stats` lack: microseconds,
//! percentages, and names for indices of parameters.

mod inside;

use std::collections::BTreeMap;

use stats::{Effect, Growth, Law, SweepPoint, SweptRow, SweptServer, Term};

use super::words::shape_name;
use super::{Sweep, SweepServer, Varied, words};
#[cfg(feature = "schema")]
use crate::fields::schema_of;
use crate::fields::{AsIs, DocumentVersion, IfAny, each, fields, json_of, plain};
use crate::json::{KnownDigits, SeedJson};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 3;

/// The sweep for programs: one JSON document.
pub fn sweep_json(sweep: &Sweep) -> String {
    json_of(sweep)
}

/// The JSON schema of [`sweep_json`]: the content of `docs/sweep.schema.json`.
#[cfg(feature = "schema")]
pub fn sweep_schema() -> String {
    schema_of::<Sweep>()
}

plain!(SweepServer, Varied);

fields! {
    /// How servers fare when something is varied.
    Sweep, "Document" "Prestan sweep", |sweep| {
        /// Version of this document.
        schema_version = DocumentVersion::<SCHEMA_VERSION>,
        /// Why runs are missing; absent where all planned runs were measured.
        incomplete = IfAny(&sweep.incomplete),
        /// Name of the suite.
        suite = &sweep.suite,
        /// Which points were measured: grid (all combinations), one at a time (the others at their
        /// first value).
        design [["grid", "one at a time"]] = sweep.design.name(),
        /// How often each point was to be measured.
        repeats = sweep.repeats,
        /// Seed of the order of the runs; theirs are this one and the number of the repeat, from 0.
        seed = SeedJson::from(sweep.seed),
        /// Percent up to which an effect does not matter.
        same_within_percent = (sweep.same_within * 100.0).known(),
        /// Parameters that were varied.
        vary = &sweep.vary,
        /// On which servers.
        servers = &sweep.servers,
        /// Notes about the runs by their authors (`--note`); absent without.
        notes = IfAny(&sweep.notes),
        /// Caveats, to be read before the results.
        caveats = &sweep.caveats,
        /// Every row of the suite.
        tests = each(&sweep.rows, |row| (sweep, row)),
    }
}

fields! {
    /// A row of the suite.
    (&Sweep, &SweptRow), "Test", |(sweep, row)| {
        /// Name of the row.
        measure = &row.name,
        /// HTTP method.
        method = &row.method,
        /// Results of each server.
        servers = each(row.servers.iter().enumerate(), |(server, swept)| (*sweep, server, swept)),
    }
}

fields! {
    /// Results of a server in a row.
    (&Sweep, usize, &SweptServer), "OfServer", |(sweep, server, swept)| {
        /// Which server: an index.
        server = *server,
        /// How its time grows, as a sentence.
        words = words::sentence(sweep, &swept.growth),
        /// Every point that was measured.
        points = each(&swept.points, |point| (*sweep, point)),
        /// Effects of each parameter; those for which there were too few runs are missing.
        effects = effects(sweep, &swept.growth),
        /// The law of the time; null where nothing that was varied matters.
        law = swept.growth.law.as_ref().map(|law| (*sweep, law)),
        /// How costs inside of the server grow; absent where that was not looked into.
        inside = IfAny(swept.inside.as_ref().map(|inside| (*sweep, inside))),
    }
}

fields! {
    /// A point.
    (&Sweep, &SweepPoint), "Measured", |(sweep, point)| {
        /// Values of the parameters.
        params = params(sweep, &point.levels),
        /// Runs.
        runs = point.runs,
        /// The worst status of them: ok, failed, not_supported, skipped, not_drawn.
        status = point.status.name(),
        /// Operations that count.
        operations = point.operations,
        /// Operations that failed.
        failed = point.failed,
        /// Mean time in microseconds, over all operations of all runs; null where the status is not
        /// ok.
        mean_us = point.mean.map(us),
        /// Its 95 % interval, from how much runs differ.
        ci95_us = AsIs(point.ci95.map(range_us)),
        /// Time over that of the first server at the same point, from the ratios of the repeats:
        /// above 1, this server is slower. Null for the first server, and where one of both means
        /// is.
        ratio = point.ratio.map(|ratio| ratio.value).known(),
        /// Its 95 % interval, which is not corrected for the number of points; null for a single
        /// repeat.
        ratio_ci95 = AsIs(point.ratio.and_then(|ratio| ratio.ci95).known()),
    }
}

fields! {
    /// Effect of a parameter on the time.
    (&Varied, &Effect), "OfParameter", |(varied, effect)| {
        /// Its name.
        param = &varied.name,
        /// Verdict: grows, falls, none, inconclusive.
        verdict [stats::Growing::ALL.map(stats::Growing::name)] = effect.verdict.name(),
        /// Smallest value.
        from = effect.between.0,
        /// Largest value.
        to = effect.between.1,
        /// Time at the largest over time at the smallest, everything else alike.
        ratio = effect.ratio.known(),
        /// The 95 % interval of the ratio.
        ci95 = AsIs(effect.ci95.known()),
        /// How probable such a ratio is where the parameter does nothing.
        p = effect.p.known(),
        /// The same, corrected for all effects of the sweep (Holm).
        p_holm = effect.p_holm.known(),
    }
}

fields! {
    /// base + per_unit * param^exponent + ...
    (&Sweep, &Law), "TheLaw", |(sweep, law)| {
        /// The constant part, in microseconds.
        base_us = us(law.base.value),
        /// Its 95 % interval.
        base_ci95_us = AsIs(range_us(law.base.ci95)),
        /// Typical distance of points from the law, in percent. It has no interval.
        misfit_percent = (law.misfit * 100.0).known(),
        /// The points clearly do not follow it: look at them.
        missed = law.missed,
        /// Terms that grow with parameters.
        terms = each(&law.terms, |term| (*sweep, term)),
    }
}

fields! {
    /// Contribution of a parameter.
    (&Sweep, &Term), "OfTerm", |(sweep, term)| {
        /// Its name.
        param = &sweep.vary[term.of].name,
        /// Microseconds for each unit, or for each unit to the power of the exponent.
        per_unit_us = us(term.per_unit.value),
        /// Its 95 % interval.
        per_unit_ci95_us = AsIs(range_us(term.per_unit.ci95)),
        /// The exponent of the law.
        exponent = term.exponent,
        /// The exponent as it was found; null where there were too few values.
        exponent_found = term.found.map(|found| found.value).known(),
        /// Its 95 % interval.
        exponent_ci95 = AsIs(term.found.map(|found| found.ci95).known()),
        /// The meaning of that exponent.
        shape [stats::Shape::ALL.map(shape_name)] = shape_name(term.shape),
    }
}

pub(super) fn params(sweep: &Sweep, levels: &[usize]) -> BTreeMap<String, f64> {
    let values = sweep.vary.iter().zip(levels);
    let values = values.map(|(varied, level)| (varied.name.clone(), varied.values[*level]));
    values.collect()
}

/// Effects of each parameter; those for which there were too few runs are left out.
pub(super) fn effects<'a>(sweep: &'a Sweep, growth: &'a Growth) -> Vec<(&'a Varied, &'a Effect)> {
    let effects = sweep.vary.iter().zip(&growth.effects);
    effects
        .filter_map(|(varied, effect)| Some((varied, effect.as_ref()?)))
        .collect()
}

fn us(ns: f64) -> f64 {
    (ns / 1e3).known()
}

fn range_us((low, high): (f64, f64)) -> (f64, f64) {
    (us(low), us(high))
}
