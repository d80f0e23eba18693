//! The paths of a trial before anything else begins: round trips and congestion controls.

use std::collections::BTreeSet;

use experiment::TrialSpec;
use lab::BuiltLab;

use super::servers::{BARE_PORT, is_bare, is_ipv6};
use super::{TrialFailure, TrialOutcome};

/// Measures the round trip to the measured server (the first by name), and records the congestion
/// control of all servers.
///
/// # Errors
///
/// A host cannot be reached, or its congestion control is not the planned one.
pub(super) fn probe(
    lab: &BuiltLab,
    trial: &TrialSpec,
    result: &mut TrialOutcome,
) -> Result<(), TrialFailure> {
    let measured = trial
        .measured
        .values()
        .map(|measured| (&measured.from, &measured.to));
    let requests = trial
        .requests
        .values()
        .map(|request| (&request.from, &request.to));
    let mut seen = BTreeSet::new();
    let pairs: Vec<_> = measured
        .chain(requests)
        .filter(|pair| seen.insert(*pair))
        .collect();
    for (number, (from, to)) in pairs.into_iter().enumerate() {
        let port = is_bare(lab, to).then_some(BARE_PORT);
        let path = lab.probe_path(from, to, is_ipv6(trial, to), port)?;
        if number == 0 {
            result.figure("path.rtt".to_owned(), path.round_trip.as_secs_f64());
        }
        let Some(congestion) = path.server_congestion else {
            continue;
        };
        check(lab, from, to, &congestion)?;
        // One server may have another congestion control towards each client.
        let key = format!("congestion of {to}");
        match result.facts.get(&key) {
            Some(other) if *other != congestion => {
                result.facts.insert(format!("{key} to {from}"), congestion);
            }
            _ => {
                result.facts.insert(key, congestion);
            }
        }
    }
    Ok(())
}

/// A host whose file names no other congestion control for single nodes must have its own.
fn check(lab: &BuiltLab, from: &str, to: &str, found: &str) -> Result<(), TrialFailure> {
    let network = lab.network();
    let Some(node) = network.find(to).map(|node| &network.nodes[node]) else {
        return Ok(());
    };
    let planned = &node.options.congestion;
    let routed = node.routes.iter();
    let differs = |options: &topology::PathOptions| options.congestion != *planned;
    if found == planned || routed.into_iter().any(|route| differs(&route.options)) {
        return Ok(());
    }
    Err(TrialFailure::Failed(format!(
        "the host `{to}` has the congestion control {found} towards `{from}`, and {planned} was planned"
    )))
}
