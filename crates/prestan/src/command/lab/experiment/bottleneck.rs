//! Before the first trial: whether the links that do something to frames are as described.

use std::collections::BTreeMap;

use engine::Cancel;
use lab::BuiltLab;
use topology::{LabNetwork, judge, measured_table};

use super::super::{build, local};
use crate::exit::Failed;

/// Beginning of the facts about links.
pub(super) const FACT: &str = "link ";

/// How often a link that is not as described is measured again: other programs may have used the processors.
const ATTEMPTS: usize = 3;

/// Builds the network, and measures its links. Returns what was found, as facts.
pub(super) fn verify(
    network: &LabNetwork,
    cancel: &Cancel,
) -> Result<BTreeMap<String, String>, Failed> {
    let lab = build(network)?;
    let mut facts = BTreeMap::new();
    for (number, link) in network.links.iter().enumerate() {
        if !link.is_shaped() && network.hub_of(link).is_none() {
            continue;
        }
        for from in [0, 1] {
            if cancel.is_cancelled() {
                let why = "interrupted before anything was measured";
                return Err(Failed::Interrupted(why.to_owned()));
            }
            // What a hub sends on is measured from its stations.
            if link.ends[from].interface.is_some() {
                let rate = wire(&lab, number, from)?;
                let name = |end: usize| network.nodes[link.ends[end].node].name.as_str();
                facts.insert(format!("{FACT}{} -> {}", name(from), name(1 - from)), rate);
            }
        }
    }
    lab.end();
    Ok(facts)
}

/// Measures a direction of a link, until it is as described.
fn wire(lab: &BuiltLab, number: usize, from: usize) -> Result<String, Failed> {
    let network = lab.network();
    let described = network.wire(&network.links[number], from);
    let mut attempt = 1;
    loop {
        let measured = lab.measure(number, from).map_err(local)?;
        let verdict = judge(&described, &measured);
        if verdict.is_as_described() {
            let rate = described.rate.map_or(String::new(), |_| {
                format!("{:.4} Mbit/s, ", measured.rate / 1e6)
            });
            return Ok(format!("{rate}{:.1} µs", measured.least_delay / 1e3));
        }
        if attempt == ATTEMPTS {
            let table = measured_table(network, &[(number, from, measured, verdict)]);
            return Err(Failed::Target(format!(
                "a link of the laboratory is not as described, so that nothing was measured; stop other programs, and \
                 see `prestan lab check`:\n{table}"
            )));
        }
        attempt += 1;
    }
}
