//! Checks that a trial fits its laboratory.

use std::collections::BTreeSet;

use topology::{LabNetwork, LabNodeKind, LabSpec, PAPER_FILES_KIB};
use traffic::Traffic;

use crate::FileError;
use crate::setup::{self, is_bare};
use crate::trial::{BARE_RECIPE, MeasuredSpec, TrialSpec, TrialTrafficSpec};
use crate::trial_figures::OTHER_FIGURES;

/// Longest trial, in ns.
const LONGEST: u64 = 3_600_000_000_000;

pub(crate) fn trial(
    trial: &TrialSpec,
    lab: &LabSpec,
    network: &LabNetwork,
) -> Result<(), FileError> {
    let hosts = TrialHosts {
        trial,
        lab,
        network,
    };
    for (name, server) in &trial.servers {
        let place = format!("trial.servers.{name}");
        hosts.known(&place, name)?;
        let is_bare = server.recipe == BARE_RECIPE;
        match (is_bare, setup::is_bare(lab, name)) {
            (true, false) => {
                let message = format!("is `{BARE_RECIPE}`, and `{name}` is no bare host");
                return Err(FileError::new(format!("{place}.recipe"), message));
            }
            (false, true) => {
                let message = format!(
                    "`{name}` is a bare host, which is its own server; its recipe is `{BARE_RECIPE}`"
                );
                return Err(FileError::new(place, message));
            }
            _ => {}
        }
        if server.recipe.trim().is_empty() {
            return Err(FileError::new(format!("{place}.recipe"), "is empty"));
        }
    }
    for (name, requests) in &trial.requests {
        let place = format!("trial.requests.{name}");
        hosts.ends(&place, &requests.from, &requests.to)?;
        path(&place, &requests.path)?;
    }
    for (name, measured) in &trial.measured {
        hosts.measured(&format!("trial.measured.{name}"), measured)?;
        told_apart(trial, name, measured)?;
    }
    names(trial)?;
    if let Some(traffic) = &trial.traffic {
        hosts.traffic("trial.traffic", traffic)?;
    }
    let mut captured = BTreeSet::new();
    for (index, host) in trial.captures.iter().enumerate() {
        let place = format!("trial.captures[{index}]");
        hosts.known(&place, host)?;
        if !captured.insert(host) {
            let message = format!("`{host}` is named twice");
            return Err(FileError::new(place, message));
        }
    }
    for (key, time) in [("settle", trial.settle), ("longest", trial.longest)] {
        if time.nanos() > LONGEST {
            let place = format!("trial.{key}");
            return Err(FileError::new(place, "is longer than an hour"));
        }
    }
    if trial.longest.nanos() == 0 {
        return Err(FileError::new("trial.longest", "is 0"));
    }
    Ok(())
}

/// Names must be unique, because names of figures begin with them.
fn names(trial: &TrialSpec) -> Result<(), FileError> {
    if trial.measured.is_empty() {
        return Err(FileError::new("trial.measured", "is empty"));
    }
    let measured = trial.measured.keys().map(|name| ("measured", name));
    let requests = trial.requests.keys().map(|name| ("requests", name));
    for (section, name) in measured.chain(requests) {
        let place = || format!("trial.{section}.{name}");
        if !is_plain(name, "-_") {
            let message = "a name has letters, digits, - and _, at most 64";
            return Err(FileError::new(place(), message));
        }
        let is_taken = OTHER_FIGURES.contains(&name.as_str())
            || (section == "requests" && trial.measured.contains_key(name));
        if is_taken {
            let message = "the name is taken by other figures; choose another";
            return Err(FileError::new(place(), message));
        }
    }
    Ok(())
}

/// A capture distinguishes requests by their hosts and paths.
fn told_apart(trial: &TrialSpec, name: &str, measured: &MeasuredSpec) -> Result<(), FileError> {
    if measured.path.is_none() || !trial.captures.contains(&measured.to) {
        return Ok(());
    }
    let is_same = |from: &str, to: &str, path: Option<&str>| {
        from == measured.from && to == measured.to && path == measured.path.as_deref()
    };
    let measured = trial.measured.iter();
    let measured = measured
        .filter(|(other, spec)| {
            *other != name && is_same(&spec.from, &spec.to, spec.path.as_deref())
        })
        .map(|(other, _)| format!("measured.{other}"));
    let requests = trial.requests.iter();
    let requests = requests
        .filter(|(_, spec)| is_same(&spec.from, &spec.to, Some(&spec.path)))
        .map(|(other, _)| format!("requests.{other}"));
    match measured.chain(requests).next() {
        None => Ok(()),
        Some(other) => Err(FileError::new(
            format!("trial.measured.{name}"),
            format!(
                "has the hosts and the path of trial.{other}, so that a capture cannot tell them apart; let one of \
                 them come from another host"
            ),
        )),
    }
}

struct TrialHosts<'a> {
    trial: &'a TrialSpec,
    lab: &'a LabSpec,
    network: &'a LabNetwork,
}

impl TrialHosts<'_> {
    fn known(&self, place: &str, name: &str) -> Result<(), FileError> {
        if self.lab.hosts.contains_key(name) {
            return Ok(());
        }
        if let Some(node) = self.network.find(name) {
            let kind = self.network.nodes[node].kind;
            if kind != LabNodeKind::Host {
                let message = format!("`{name}` is a {}, not a host", kind.word());
                return Err(FileError::new(place, message));
            }
        }
        let known = self.lab.hosts.keys().map(String::as_str);
        Err(FileError::unknown(place, "host", name, known))
    }

    fn program(&self, place: &str, name: &str) -> Result<(), FileError> {
        self.known(place, name)?;
        if is_bare(self.lab, name) {
            let message = format!("`{name}` is a bare host, which executes no programs");
            return Err(FileError::new(place, message));
        }
        Ok(())
    }

    /// Requires a client, and a host with a server.
    fn ends(&self, place: &str, from: &str, to: &str) -> Result<(), FileError> {
        self.program(&format!("{place}.from"), from)?;
        let place = format!("{place}.to");
        self.known(&place, to)?;
        if !self.trial.servers.contains_key(to) && !is_bare(self.lab, to) {
            let message = format!("`{to}` has no server");
            return Err(FileError::new(place, message));
        }
        if from == to {
            let message = format!("is `{to}`, from which the requests come");
            return Err(FileError::new(place, message));
        }
        Ok(())
    }

    fn measured(&self, place: &str, measured: &MeasuredSpec) -> Result<(), FileError> {
        self.ends(place, &measured.from, &measured.to)?;
        match (&measured.path, &measured.suite) {
            (Some(_), None) if !measured.arguments.is_empty() => {
                let message = "are for suites, and this is a single request";
                Err(FileError::new(format!("{place}.arguments"), message))
            }
            (Some(file), None) => path(place, file),
            (None, Some(suite)) if suite.trim().is_empty() => {
                Err(FileError::new(format!("{place}.suite"), "is empty"))
            }
            (None, Some(_)) if is_bare(self.lab, &measured.to) => {
                let message = format!(
                    "`{}` is a bare host, which stores nothing, so that no suite can be measured there",
                    measured.to
                );
                Err(FileError::new(format!("{place}.suite"), message))
            }
            (None, Some(_)) => Ok(()),
            (Some(_), Some(_)) => {
                let message = "has a path and a suite; one of them is measured";
                Err(FileError::new(place, message))
            }
            (None, None) => {
                let message = "has neither a path nor a suite";
                Err(FileError::new(place, message))
            }
        }
    }

    fn traffic(&self, place: &str, traffic: &TrialTrafficSpec) -> Result<(), FileError> {
        let file = format!("{place}.file");
        let checked = Traffic::new(&traffic.file).map_err(|error| error.below(&file))?;
        let place = format!("{place}.load");
        let load = match (&traffic.load, checked.loads.len()) {
            (Some(name), _) => checked.loads.get(name).ok_or_else(|| {
                let known = checked.loads.keys().map(String::as_str);
                FileError::unknown(&place, "load", name, known)
            })?,
            (None, 1) => match checked.loads.values().next() {
                Some(load) => load,
                None => return Ok(()),
            },
            (None, count) => {
                let message = format!("is missing, and the file has {count} loads");
                return Err(FileError::new(place, message));
            }
        };
        for flow in &load.flows {
            let place = format!("{file}.components.{}", flow.component);
            self.program(&place, &flow.source)?;
            self.program(&place, &flow.sink)?;
        }
        if !load.generators.is_empty() {
            let message = "programs of their own cannot send in a laboratory; use components";
            return Err(FileError::new(format!("{file}.generators"), message));
        }
        Ok(())
    }
}

/// Requires the path of a file that all servers have: `/320k`.
fn path(place: &str, path: &str) -> Result<(), FileError> {
    let files = PAPER_FILES_KIB.map(|kib| format!("/{kib}k"));
    if files.iter().any(|file| file == path) {
        return Ok(());
    }
    let message = format!(
        "`{path}` is no file of the servers, which have {}",
        files.join(", ")
    );
    Err(FileError::new(format!("{place}.path"), message))
}

/// True for 1 to 64 letters, digits and these other characters.
pub(crate) fn is_plain(name: &str, others: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(is_allowed)
}
