//! Checks that links that change frames are as described, before the first trial.

use std::collections::BTreeMap;

use engine::Cancel;
use lab::BuiltLab;
use runner::RunnerError;
use runner::laboratory;
use topology::{JudgedWire, LabNetwork, measured_table};

/// Prefix of the facts about links.
pub(crate) const FACT: &str = "link ";

/// Measurements of a link that is not as described: other programs may have used the processors.
const ATTEMPTS: usize = 3;

/// Builds the network, and measures its links. Returns the results as facts.
pub(crate) fn verify(
    network: &LabNetwork,
    cancel: &Cancel,
) -> Result<BTreeMap<String, String>, RunnerError> {
    let lab = laboratory::build(network)?;
    let mut facts = BTreeMap::new();
    for (number, link) in network.links.iter().enumerate() {
        if !link.is_shaped() && network.hub_of(link).is_none() {
            continue;
        }
        for from in [0, 1] {
            if cancel.is_cancelled() {
                let why = "interrupted before anything was measured";
                return Err(RunnerError::Interrupted(why.to_owned()));
            }
            // Frames that a hub sends on are measured from its stations.
            if link.ends[from].interface.is_some() {
                let rate = wire(&lab, number, from)?;
                let name = network.ends(link, from).join(" -> ");
                facts.insert(format!("{FACT}{name}"), rate);
            }
        }
    }
    lab.end();
    Ok(facts)
}

/// Measures a direction of a link, until it is as described.
fn wire(lab: &BuiltLab, number: usize, from: usize) -> Result<String, RunnerError> {
    let network = lab.network();
    let mut attempt = 1;
    loop {
        let measured = lab.measure(number, from)?;
        let figure = |value: Option<f64>, unit: f64, digits: usize, name: &str| {
            value.map_or("not measured".to_owned(), |value| {
                format!("{:.digits$} {name}", value / unit)
            })
        };
        let rate = figure(measured.rate, 1e6, 4, "Mbit/s");
        let delay = figure(measured.least_delay, 1e3, 1, "µs");
        let wires = [JudgedWire::new(network, number, from, measured)];
        let Some(why) = refusal(network, &wires) else {
            let described = network.wire(&network.links[number], from);
            let rate = described.rate.map(|_| format!("{rate}, "));
            return Ok(format!("{}{delay}", rate.unwrap_or_default()));
        };
        if attempt == ATTEMPTS {
            let table = measured_table(network, &wires);
            return Err(RunnerError::Target(format!(
                "nothing was measured: {why}; stop other programs, and see `prestan lab check`\n{table}"
            )));
        }
        attempt += 1;
    }
}

/// The reason to measure nothing in a laboratory: the names of wires that are not as described.
pub fn refusal(network: &LabNetwork, wires: &[JudgedWire]) -> Option<String> {
    let wrong = wires.iter().filter(|wire| !wire.verdict.is_as_described());
    let names = wrong.map(|link| link.ends(network).join(" -> "));
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        return None;
    }
    let plural = if wires.len() == 1 { "" } else { "s" };
    Some(format!(
        "{} of {} wire{plural} are not as described ({})",
        names.len(),
        wires.len(),
        names.join(", ")
    ))
}
