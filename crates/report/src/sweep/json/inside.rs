//! How costs inside of a server grow, as JSON.

use std::collections::BTreeMap;

use stats::{CallGrowth, CallLaw, SweptInside};

use super::super::{Sweep, words};
use super::{effects, params};
use crate::fields::{each, fields};
use crate::json::{KnownDigits, thousandths};

fields! {
    /// How costs inside of a server grow.
    (&Sweep, &SweptInside), "SweptInside", |(sweep, inside)| {
        /// How processor time grows, as a sentence.
        words = words::sentence(sweep, &inside.processor),
        /// Effects of each parameter on it; those for which there were too few runs are missing.
        effects = effects(sweep, &inside.processor),
        /// Its law; null where nothing that was varied matters.
        law = inside.processor.law.as_ref().map(|law| (*sweep, law)),
        /// How numbers of system calls on the storage grow.
        calls = each(&inside.calls, |law| (*sweep, law)),
    }
}

fields! {
    /// How a number of system calls on the storage grows.
    (&Sweep, &CallLaw), "CallLaw", |(sweep, law)| {
        /// The kind: fsync (`fdatasync` and its like, too), open, stat and so on.
        call = law.call.name(),
        /// constant; linear (base and so many per unit); assumed_linear (too few points to show
        /// it); other; varying (between the repeats of a point).
        growth [["constant", "linear", "assumed_linear", "other", "varying"]] = growth(&law.growth).0,
        /// Calls in any case; null for another law. There is no interval: the law misses no point.
        base = growth(&law.growth).1.known(),
        /// Calls for each unit of each parameter; empty for another law.
        per_unit = per_unit(sweep, &law.growth),
        /// Of another law with a single parameter, the exponent between its two largest values.
        /// There is no interval.
        exponent = match law.growth {
            CallGrowth::Other(exponent) => exponent.known(),
            _ => None,
        },
        /// The number at each point.
        points = each(&law.points, |(levels, calls)| (*sweep, levels, *calls)),
    }
}

fields! {
    /// A number of calls at a point.
    (&Sweep, &Vec<usize>, f64), "CallPoint", |(sweep, levels, calls)| {
        /// Values of the parameters.
        params = params(sweep, levels),
        /// Calls per operation, the mean of all repeats. There is no interval.
        per_operation = thousandths(*calls),
    }
}

/// The name of a growth, and the calls in any case.
fn growth(of: &CallGrowth) -> (&'static str, Option<f64>) {
    match of {
        CallGrowth::Constant(number) => ("constant", Some(*number)),
        CallGrowth::Linear {
            base,
            is_exact: true,
            ..
        } => ("linear", Some(*base)),
        CallGrowth::Linear { base, .. } => ("assumed_linear", Some(*base)),
        CallGrowth::Other(_) => ("other", None),
        CallGrowth::Varying => ("varying", None),
    }
}

fn per_unit(sweep: &Sweep, of: &CallGrowth) -> BTreeMap<String, f64> {
    let CallGrowth::Linear { per_unit, .. } = of else {
        return BTreeMap::new();
    };
    let names = sweep.vary.iter().map(|varied| varied.name.clone());
    names
        .zip(per_unit.iter().map(|calls| calls.known()))
        .collect()
}
