//! The rate of a load, shared among its flows.

use std::sync::Arc;

use super::{Models, check_datagrams, checked_model, directions};
use crate::FileError;
use crate::file::{ComponentSpec, FlowSetSpec, LoadSpec, TrafficSpec};
use crate::model::Model;
use crate::quantity::{BitRate, Percentage};

/// Tolerance of the sum of shares to 100 %: thirds are written with two digits.
const TOLERANCE_PERCENT: f64 = 0.05;

/// Either no set has a share, or all have one and the load has a rate.
pub(super) fn check_shares(prefix: &str, load: &LoadSpec) -> Result<(), FileError> {
    let shares = load.flows.iter().filter_map(|set| set.share);
    let shares: Vec<f64> = shares.map(Percentage::percent).collect();
    let without = load.flows.iter().position(|set| set.share.is_none());
    let wrong = |key: &str, why: String| Err(FileError::new(format!("{prefix}.{key}"), why));
    match (load.rate, without) {
        (None, _) if !shares.is_empty() => {
            wrong("rate", "is missing: its flows have shares of it".into())
        }
        (Some(_), Some(index)) => wrong(
            &format!("flows[{index}].share"),
            "is missing: the load has a rate, of which each set has a share".into(),
        ),
        (Some(_), None) => {
            let total: f64 = shares.iter().sum();
            if (total - 100.0).abs() <= TOLERANCE_PERCENT {
                return Ok(());
            }
            let why = format!("the shares add up to {total:.2} %, and not to 100 %");
            wrong("flows", why)
        }
        (None, _) => Ok(()),
    }
}

/// The model of each instance of a set.
pub(super) fn models(
    prefix: &str,
    set: &FlowSetSpec,
    load: &LoadSpec,
    component: &ComponentSpec,
    spec: &TrafficSpec,
    models: &Models,
) -> Result<Vec<Arc<Model>>, FileError> {
    let weights = weights(prefix, set)?;
    let count = set.n as usize;
    let (Some(rate), Some(share)) = (load.rate, set.share) else {
        if !set.weights.is_empty() {
            let why = "divide a share, and this set has none";
            return Err(FileError::new(format!("{prefix}.weights"), why));
        }
        let Some(model) = models.get(&component.model) else {
            let why = format!(
                "model `{}` has no rate of its own, and this set has no share of one",
                component.model
            );
            return Err(FileError::new(format!("{prefix}.component"), why));
        };
        return Ok(vec![Arc::clone(model); count]);
    };
    let direction_bps =
        rate.bits_per_second() as f64 * share.percent() / 100.0 / directions(set).len() as f64;
    let total: f64 = weights.iter().sum();
    let mut found: Vec<Arc<Model>> = Vec::with_capacity(count);
    for (index, weight) in weights.iter().enumerate() {
        // Equal instances share their model.
        if index > 0 && weights[index - 1] == *weight {
            found.extend(found.last().cloned());
            continue;
        }
        let bits = libm::round(direction_bps * weight / total);
        if bits < 1.0 {
            let why = "leaves a flow less than 1 bit per second";
            return Err(FileError::new(format!("{prefix}.share"), why));
        }
        let rate = BitRate::from_bits_per_second(bits as u64);
        found.push(Arc::new(model_at(prefix, rate, component, spec)?));
    }
    Ok(found)
}

fn model_at(
    prefix: &str,
    rate: BitRate,
    component: &ComponentSpec,
    spec: &TrafficSpec,
) -> Result<Model, FileError> {
    let name = &component.model;
    let scaled = spec.models.get(name).and_then(|model| model.at_rate(rate));
    let Some(scaled) = scaled else {
        let why = format!(
            "model `{name}` cannot have a share: only full, cbr, on-off and self-similar can be set to a rate"
        );
        return Err(FileError::new(format!("{prefix}.share"), why));
    };
    let model = checked_model(&format!("models.{name}"), &scaled)?;
    check_datagrams(&format!("{prefix}.share"), component, &model)?;
    Ok(model)
}

fn weights(prefix: &str, set: &FlowSetSpec) -> Result<Vec<f64>, FileError> {
    if set.weights.is_empty() {
        return Ok(vec![1.0; set.n as usize]);
    }
    let wrong = |why: String| Err(FileError::new(format!("{prefix}.weights"), why));
    if set.weights.len() != set.n as usize {
        let (given, n) = (set.weights.len(), set.n);
        return wrong(format!("has {given} weights for {n} instances"));
    }
    let mut weights = set.weights.iter();
    match weights.find(|weight| !(1e-6..=1e6).contains(*weight)) {
        Some(weight) => wrong(format!("{weight} is not between 0.000001 and 1000000")),
        None => Ok(set.weights.clone()),
    }
}
