//! How costs inside of a server grow, as JSON.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::{CallGrowth, CallLaw, SweptInside};

use super::wire::{LawJson, ParameterEffect, effects, the_law};
use super::{Sweep, words};
use crate::json::{KnownDigits, thousandths};

/// How costs inside of a server grow.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SweptInside", deny_unknown_fields)]
pub(super) struct SweptInsideJson {
    /// How processor time grows, as a sentence.
    words: String,
    /// Effects of each parameter on it; those for which there were too few runs are missing.
    effects: Vec<ParameterEffect>,
    /// Its law; null where nothing that was varied matters.
    law: Option<LawJson>,
    /// How numbers of system calls on the storage grow.
    calls: Vec<CallLawJson>,
}

/// How a number of system calls on the storage grows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CallLaw", deny_unknown_fields)]
struct CallLawJson {
    /// The kind: fsync (`fdatasync` and its like, too), open, stat and so on.
    call: &'static str,
    /// constant; linear (base and so many per unit); assumed_linear (too few points to show it);
    /// other; varying (between the repeats of a point).
    #[schemars(extend("enum" = ["constant", "linear", "assumed_linear", "other", "varying"]))]
    growth: &'static str,
    /// Calls in any case; null for another law. There is no interval: the law misses no point.
    base: Option<f64>,
    /// Calls for each unit of each parameter; empty for another law.
    per_unit: BTreeMap<String, f64>,
    /// Of another law with a single parameter, the exponent between its two largest values. There
    /// is no interval.
    exponent: Option<f64>,
    /// The number at each point.
    points: Vec<CallPoint>,
}

/// A number of calls at a point.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CallPoint", deny_unknown_fields)]
struct CallPoint {
    /// Values of the parameters.
    params: BTreeMap<String, f64>,
    /// Calls per operation, the mean of all repeats. There is no interval.
    per_operation: f64,
}

impl SweptInsideJson {
    pub(super) fn of(sweep: &Sweep, inside: &SweptInside) -> SweptInsideJson {
        let law = inside.processor.law.as_ref();
        SweptInsideJson {
            words: words::sentence(sweep, &inside.processor),
            effects: effects(sweep, &inside.processor),
            law: law.map(|law| the_law(sweep, law)),
            calls: inside.calls.iter().map(|law| of_call(sweep, law)).collect(),
        }
    }
}

fn of_call(sweep: &Sweep, law: &CallLaw) -> CallLawJson {
    let (growth, base) = match &law.growth {
        CallGrowth::Constant(number) => ("constant", Some(*number)),
        CallGrowth::Linear {
            base,
            is_exact: true,
            ..
        } => ("linear", Some(*base)),
        CallGrowth::Linear { base, .. } => ("assumed_linear", Some(*base)),
        CallGrowth::Other(_) => ("other", None),
        CallGrowth::Varying => ("varying", None),
    };
    let per_unit = match &law.growth {
        CallGrowth::Linear { per_unit, .. } => {
            let names = sweep.vary.iter().map(|varied| varied.name.clone());
            names
                .zip(per_unit.iter().map(|calls| calls.known()))
                .collect()
        }
        _ => BTreeMap::new(),
    };
    let exponent = match law.growth {
        CallGrowth::Other(exponent) => exponent,
        _ => None,
    };
    let point = |(levels, number): &(Vec<usize>, f64)| CallPoint {
        params: sweep
            .vary
            .iter()
            .zip(levels)
            .map(|(varied, level)| (varied.name.clone(), varied.values[*level]))
            .collect(),
        per_operation: thousandths(*number),
    };
    CallLawJson {
        call: law.call.name(),
        growth,
        base: base.known(),
        per_unit,
        exponent: exponent.known(),
        points: law.points.iter().map(point).collect(),
    }
}
