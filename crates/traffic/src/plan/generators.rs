//! The generators of a load, and their ports.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::PlannedFlow;
use crate::FileError;
use crate::file::{LoadSpec, TrafficSpec};
use crate::generator::{MOST_GENERATORS, PlannedGenerator};

/// All instances of the generators of a load, whose flows have their ports already.
pub(super) fn planned(
    prefix: &str,
    load: &LoadSpec,
    spec: &TrafficSpec,
    flows: &[PlannedFlow],
) -> Result<Vec<PlannedGenerator>, FileError> {
    let total: u64 = load.generators.iter().map(|set| u64::from(set.n)).sum();
    if total > MOST_GENERATORS {
        let why = format!("{total} generators are too many: a load has at most {MOST_GENERATORS}");
        return Err(FileError::new(format!("{prefix}.generators"), why));
    }
    let mut ports: BTreeSet<u16> = flows.iter().map(|flow| flow.sink_port).collect();
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut planned = Vec::new();
    for (index, set) in load.generators.iter().enumerate() {
        let wrong = |key: &str, why: String| {
            let key = format!("{prefix}.generators[{index}].{key}");
            Err(FileError::new(key, why))
        };
        let Some(generator) = spec.generators.get(&set.generator) else {
            let why = format!("there is no generator `{}`", set.generator);
            return wrong("generator", why);
        };
        if set.n == 0 {
            return wrong("n", "is 0; a set has at least one generator".to_owned());
        }
        let generator = Arc::new(generator.clone());
        for _ in 0..set.n {
            let count = counts.entry(&set.generator).or_default();
            let instance = *count;
            *count += 1;
            let port = match generator.port {
                None => None,
                Some(first) => match u16::try_from(u32::from(first) + instance) {
                    Ok(port) if ports.insert(port) => Some(port),
                    Ok(port) => {
                        let why = format!("port {port} of instance {instance} has another use");
                        return wrong("generator", why);
                    }
                    Err(_) => return wrong("n", "65535 is the last port".to_owned()),
                },
            };
            planned.push(PlannedGenerator {
                name: set.generator.clone(),
                instance,
                port,
                spec: Arc::clone(&generator),
            });
        }
    }
    Ok(planned)
}
