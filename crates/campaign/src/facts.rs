//! Facts of a campaign: the machine and its software.

use std::collections::{BTreeMap, BTreeSet};

use experiment::{BARE_RECIPE, TrialSetup};
use runner::RunnerError;
use testbed::real::Recipe;

/// The machine, the servers of these trials, and the congestion controls of their hosts.
///
/// # Errors
/// A server is unknown, or not installed.
pub(crate) fn facts(setups: &[TrialSetup]) -> Result<BTreeMap<String, String>, RunnerError> {
    let machine = engine::machine();
    let mut facts = BTreeMap::from([
        ("kernel".to_owned(), machine.os),
        (
            "processor".to_owned(),
            format!("{}, {} cores", machine.cpu, machine.cores),
        ),
    ]);
    if let Ok(known) = lab::congestion_controls() {
        facts.insert(
            "congestion controls of the kernel".to_owned(),
            known.trim().to_owned(),
        );
    }
    for (name, recipe) in recipes(setups)? {
        let installed = recipe
            .installed()
            .map_err(|missing| RunnerError::Usage(format!("cannot start {name}: {missing}")))?;
        facts.insert(name.to_owned(), installed.version);
    }
    for (host, names) in congestion_controls(setups) {
        let names: Vec<&str> = names.into_iter().collect();
        let by_trial = if names.len() > 1 { ", by trial" } else { "" };
        let names = names.join(", ");
        facts.insert(
            format!("congestion control of {host}"),
            format!("{names}{by_trial}"),
        );
    }
    Ok(facts)
}

/// The servers of these trials that are no bare hosts, by the text that names them.
///
/// # Errors
/// A server is unknown.
pub(crate) fn recipes(setups: &[TrialSetup]) -> Result<BTreeMap<&str, Recipe>, RunnerError> {
    let servers = setups.iter().flat_map(|setup| setup.trial.servers.values());
    let names: BTreeSet<&str> = servers.map(|server| server.recipe.as_str()).collect();
    let names = names.into_iter().filter(|name| *name != BARE_RECIPE);
    let recipes = names.map(|name| {
        Ok((
            name,
            Recipe::with_parameters(name).map_err(RunnerError::Usage)?,
        ))
    });
    recipes.collect()
}

/// Congestion controls of hosts with a server or a flow's source, in all trials.
fn congestion_controls(setups: &[TrialSetup]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for setup in setups {
        for host in setup.trial.servers.keys() {
            let node = setup.network.find(host);
            let node = node.map(|node| &setup.network.nodes[node]);
            if let Some(node) = node.filter(|_| !setup.is_bare(host)) {
                let names = found.entry(host).or_default();
                names.insert(&node.options.congestion);
            }
        }
    }
    found
}
