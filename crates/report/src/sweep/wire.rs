//! The JSON document of a sweep. Its types have what those of `stats` lack: microseconds,
//! percentages, and names for indices of parameters.

use std::collections::BTreeMap;

use record::NoteRecord;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Effect, Fitted, Growth, Law, SweepPoint, SweptServer, Term};

use super::inside_wire::SweptInsideJson;
use super::words::shape_name;
use super::{Sweep, SweepServer, Varied, words};
use crate::incomplete::IncompleteJson;
use crate::json::{KnownDigits, SeedJson};

/// Version of the document. It grows when something is renamed or changes its meaning.
const SCHEMA_VERSION: u32 = 3;

/// How servers fare when something is varied.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Document", deny_unknown_fields, title = "Prestan sweep")]
pub(crate) struct SweepDocument {
    /// Version of this document.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// Why runs are missing; absent where all planned runs were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    incomplete: Option<IncompleteJson>,
    /// Name of the suite.
    suite: String,
    /// Which points were measured: grid (all combinations), one at a time (the others at their
    /// first value).
    #[schemars(extend("enum" = ["grid", "one at a time"]))]
    design: &'static str,
    /// How often each point was to be measured.
    repeats: usize,
    /// Seed of the order of the runs; theirs are this one and the number of the repeat, from 0.
    seed: SeedJson,
    /// Percent up to which an effect does not matter.
    same_within_percent: f64,
    /// Parameters that were varied.
    vary: Vec<Varied>,
    /// On which servers.
    servers: Vec<SweepServer>,
    /// Notes about the runs by their authors (`--note`); absent without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteRecord>,
    /// Caveats, to be read before the results.
    caveats: Vec<String>,
    /// Every row of the suite.
    tests: Vec<SweptTest>,
}

/// A row of the suite.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Test", deny_unknown_fields)]
struct SweptTest {
    /// Name of the row.
    measure: String,
    /// HTTP method.
    method: String,
    /// Results of each server.
    servers: Vec<ServerGrowth>,
}

/// Results of a server in a row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfServer", deny_unknown_fields)]
struct ServerGrowth {
    /// Which server: an index.
    server: usize,
    /// How its time grows, as a sentence.
    words: String,
    /// Every point that was measured.
    points: Vec<MeasuredPoint>,
    /// Effects of each parameter; those for which there were too few runs are missing.
    effects: Vec<ParameterEffect>,
    /// The law of the time; null where nothing that was varied matters.
    law: Option<LawJson>,
    /// How costs inside of the server grow; absent where that was not looked into.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<SweptInsideJson>,
}

/// A point.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Measured", deny_unknown_fields)]
struct MeasuredPoint {
    /// Values of the parameters.
    params: BTreeMap<String, f64>,
    /// Runs.
    runs: usize,
    /// The worst status of them: ok, failed, not_supported, skipped, not_drawn.
    status: &'static str,
    /// Operations that count.
    operations: u64,
    /// Operations that failed.
    failed: u64,
    /// Mean time in microseconds, over all operations of all runs; null where the status is not ok.
    mean_us: Option<f64>,
    /// Its 95 % interval, from how much runs differ.
    ci95_us: Option<(f64, f64)>,
    /// Time over that of the first server at the same point, from the ratios of the repeats: above
    /// 1, this server is slower. Null for the first server, and where one of both means is.
    ratio: Option<f64>,
    /// Its 95 % interval, which is not corrected for the number of points; null for a single
    /// repeat.
    ratio_ci95: Option<(f64, f64)>,
}

/// Effect of a parameter on the time.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfParameter", deny_unknown_fields)]
pub(super) struct ParameterEffect {
    /// Its name.
    param: String,
    /// Verdict: grows, falls, none, inconclusive.
    #[schemars(extend("enum" = stats::Growing::ALL.map(stats::Growing::name)))]
    verdict: &'static str,
    /// Smallest value.
    from: f64,
    /// Largest value.
    to: f64,
    /// Time at the largest over time at the smallest, everything else alike.
    ratio: f64,
    /// The 95 % interval of the ratio.
    ci95: (f64, f64),
    /// How probable such a ratio is where the parameter does nothing.
    p: f64,
    /// The same, corrected for all effects of the sweep (Holm).
    p_holm: f64,
}

/// base + per_unit * param^exponent + ...
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TheLaw", deny_unknown_fields)]
pub(super) struct LawJson {
    /// The constant part, in microseconds.
    base_us: f64,
    /// Its 95 % interval.
    base_ci95_us: (f64, f64),
    /// Typical distance of points from the law, in percent. It has no interval.
    misfit_percent: f64,
    /// The points clearly do not follow it: look at them.
    missed: bool,
    /// Terms that grow with parameters.
    terms: Vec<TermJson>,
}

/// Contribution of a parameter.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfTerm", deny_unknown_fields)]
struct TermJson {
    /// Its name.
    param: String,
    /// Microseconds for each unit, or for each unit to the power of the exponent.
    per_unit_us: f64,
    /// Its 95 % interval.
    per_unit_ci95_us: (f64, f64),
    /// The exponent of the law.
    exponent: f64,
    /// The exponent as it was found; null where there were too few values.
    exponent_found: Option<f64>,
    /// Its 95 % interval.
    exponent_ci95: Option<(f64, f64)>,
    /// The meaning of that exponent.
    #[schemars(extend("enum" = stats::Shape::ALL.map(shape_name)))]
    shape: &'static str,
}

impl From<&Sweep> for SweepDocument {
    fn from(sweep: &Sweep) -> SweepDocument {
        let tests = sweep.rows.iter().map(|row| SweptTest {
            measure: row.name.clone(),
            method: row.method.clone(),
            servers: row
                .servers
                .iter()
                .enumerate()
                .map(|(server, swept)| of_server(sweep, server, swept))
                .collect(),
        });
        SweepDocument {
            schema_version: SCHEMA_VERSION,
            incomplete: sweep.incomplete.as_ref().map(IncompleteJson::from),
            suite: sweep.suite.clone(),
            design: sweep.design.name(),
            repeats: sweep.repeats,
            seed: sweep.seed.into(),
            same_within_percent: (sweep.same_within * 100.0).known(),
            vary: sweep.vary.clone(),
            servers: sweep.servers.clone(),
            notes: sweep.notes.clone(),
            caveats: sweep.caveats.clone(),
            tests: tests.collect(),
        }
    }
}

fn of_server(sweep: &Sweep, server: usize, swept: &SweptServer) -> ServerGrowth {
    ServerGrowth {
        server,
        words: words::sentence(sweep, &swept.growth),
        points: swept
            .points
            .iter()
            .map(|point| measured(sweep, point))
            .collect(),
        effects: effects(sweep, &swept.growth),
        law: swept.growth.law.as_ref().map(|law| the_law(sweep, law)),
        inside: swept
            .inside
            .as_ref()
            .map(|own| SweptInsideJson::of(sweep, own)),
    }
}

fn measured(sweep: &Sweep, point: &SweepPoint) -> MeasuredPoint {
    let values = sweep.vary.iter().zip(&point.levels);
    MeasuredPoint {
        params: values
            .map(|(varied, level)| (varied.name.clone(), varied.values[*level]))
            .collect(),
        runs: point.runs,
        status: point.status.name(),
        operations: point.operations,
        failed: point.failed,
        mean_us: point.mean.map(us),
        ci95_us: point.ci95.map(range_us),
        ratio: point.ratio.map(|ratio| ratio.value).known(),
        ratio_ci95: point.ratio.and_then(|ratio| ratio.ci95).known(),
    }
}

/// Effects of each parameter; those for which there were too few runs are left out.
pub(super) fn effects(sweep: &Sweep, growth: &Growth) -> Vec<ParameterEffect> {
    let effects = sweep.vary.iter().zip(&growth.effects);
    effects
        .filter_map(|(varied, effect)| Some(of_parameter(varied, effect.as_ref()?)))
        .collect()
}

fn of_parameter(varied: &Varied, effect: &Effect) -> ParameterEffect {
    ParameterEffect {
        param: varied.name.clone(),
        verdict: effect.verdict.name(),
        from: effect.between.0,
        to: effect.between.1,
        ratio: effect.ratio.known(),
        ci95: effect.ci95.known(),
        p: effect.p.known(),
        p_holm: effect.p_holm.known(),
    }
}

pub(super) fn the_law(sweep: &Sweep, law: &Law) -> LawJson {
    let term = |term: &Term| TermJson {
        param: sweep.vary[term.of].name.clone(),
        per_unit_us: us(term.per_unit.value),
        per_unit_ci95_us: range_us(term.per_unit.ci95),
        exponent: term.exponent,
        exponent_found: term.found.map(|found: Fitted| found.value).known(),
        exponent_ci95: term.found.map(|found| found.ci95).known(),
        shape: shape_name(term.shape),
    };
    LawJson {
        base_us: us(law.base.value),
        base_ci95_us: range_us(law.base.ci95),
        misfit_percent: (law.misfit * 100.0).known(),
        missed: law.missed,
        terms: law.terms.iter().map(term).collect(),
    }
}

fn us(ns: f64) -> f64 {
    (ns / 1e3).known()
}

fn range_us((low, high): (f64, f64)) -> (f64, f64) {
    (us(low), us(high))
}
