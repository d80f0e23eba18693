//! The trial of a cell: templates filled in, hosts of the laboratory changed, all checked.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use topology::{LabHostSpec, LabNetwork, LabSpec};
use traffic::{ComponentSpec, GeneratorSpec, LoadSpec, ModelSpec, TrafficSpec};

use crate::FileError;
use crate::file::ExperimentSpec;
use crate::record::LevelCombination;
use crate::template::CellTemplates;
use crate::trial::{MeasuredSpec, RequestsSpec, ServerSpec, TrialSpec, TrialTrafficSpec};
use crate::trial_check;

/// Everything that a trial of a cell needs.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSetup {
    /// Its events and measurements.
    pub trial: TrialSpec,
    /// The laboratory, with the hosts of the trial.
    pub lab: LabSpec,
    /// The network to build.
    pub network: LabNetwork,
}

impl ExperimentSpec {
    /// The trial of a cell, checked against the laboratory.
    ///
    /// # Errors
    /// The first defect, with its key.
    pub fn setup(&self, cell: &LevelCombination) -> Result<TrialSetup, FileError> {
        let templates = CellTemplates::new(self, cell)?;
        let mut filled = fill_trial(&templates, &self.trial)?;
        remove_idle_requests(&mut filled);
        let trial = read_trial(&filled)?;
        let lab = match &trial.lab {
            Some(choice) => choice.lab("trial.lab")?,
            None => self.lab()?,
        };
        let lab = with_hosts(lab, &trial, &filled)?;
        let network = LabNetwork::new(&lab).map_err(|error| error.below("lab"))?;
        trial_check::trial(&trial, &lab, &network)?;
        Ok(TrialSetup {
            trial,
            lab,
            network,
        })
    }
}

impl TrialSetup {
    /// True for a bare host: its own server, which executes no programs.
    pub fn is_bare(&self, host: &str) -> bool {
        is_bare(&self.lab, host)
    }
}

pub(crate) fn is_bare(lab: &LabSpec, host: &str) -> bool {
    let host = lab.hosts.get(host).map(serde_json::to_value);
    matches!(host, Some(Ok(Value::Object(keys))) if keys.contains_key("bare"))
}

/// Fills in a trial. A server, requests, a measurement or traffic that becomes `null` is left out.
fn fill_trial(templates: &CellTemplates, trial: &Value) -> Result<Value, FileError> {
    let Value::Object(sections) = trial else {
        return templates.fill("trial", trial);
    };
    let mut filled = Map::new();
    for (key, section) in sections {
        let place = format!("trial.{key}");
        let section = match (key.as_str(), section) {
            ("servers" | "requests" | "measured", Value::Object(entries)) => {
                let mut kept = Map::new();
                for (name, entry) in entries {
                    if let Some(entry) = templates.fill_entry(&format!("{place}.{name}"), entry)? {
                        kept.insert(name.clone(), entry);
                    }
                }
                Some(Value::Object(kept))
            }
            ("traffic", _) => templates.fill_entry(&place, section)?,
            _ => Some(templates.fill(&place, section)?),
        };
        let section = section.filter(|section| !section.is_null());
        filled.extend(section.map(|section| (key.clone(), section)));
    }
    Ok(Value::Object(filled))
}

fn remove_idle_requests(trial: &mut Value) {
    let Some(Value::Object(requests)) = trial.get_mut("requests") else {
        return;
    };
    let is_zero = |rate: &Value| match rate {
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let digits = text
                .trim()
                .trim_end_matches(|c: char| c.is_alphabetic() || c == '/');
            digits.trim().parse() == Ok(0.0)
        }
        _ => false,
    };
    requests.retain(|_, request| !request.get("rate").is_some_and(is_zero));
}

/// The laboratory with the additional or different settings of a trial's hosts. Only keys that the
/// trial names are changed.
fn with_hosts(mut lab: LabSpec, trial: &TrialSpec, filled: &Value) -> Result<LabSpec, FileError> {
    for name in trial.hosts.keys() {
        let place = format!("trial.hosts.{name}");
        let Some(host) = lab.hosts.get_mut(name) else {
            let known = lab.hosts.keys().map(String::as_str);
            return Err(FileError::unknown(place, "host", name, known));
        };
        let mut merged = serde_json::to_value(&*host).unwrap_or_default();
        if let Some(changes) = filled.pointer(&format!("/hosts/{}", escaped(name))) {
            merge(&mut merged, changes);
        }
        *host = section(&place, &merged)?;
    }
    // Trials name the hosts of their servers.
    let server_host = lab.server_host.take();
    lab.server_host = server_host.filter(|name| !is_bare(&lab, name));
    Ok(lab)
}

/// A key in a JSON pointer (RFC 6901).
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn merge(into: &mut Value, changes: &Value) {
    let (Value::Object(into), Value::Object(changes)) = (&mut *into, changes) else {
        *into = changes.clone();
        return;
    };
    for (key, change) in changes {
        match into.get_mut(key) {
            Some(existing) => merge(existing, change),
            None => {
                into.insert(key.clone(), change.clone());
            }
        }
    }
}

fn section<T: DeserializeOwned>(place: &str, value: &Value) -> Result<T, FileError> {
    T::deserialize(value).map_err(|error| FileError::from_json(place, &error))
}

/// Parses a trial. JSON values have no positions: the parts are parsed again to find the error.
fn read_trial(value: &Value) -> Result<TrialSpec, FileError> {
    let whole = section("trial", value);
    if whole.is_ok() {
        return whole;
    }
    let Value::Object(trial) = value else {
        return whole;
    };
    sections::<LabHostSpec>("trial", trial, "hosts")?;
    sections::<ServerSpec>("trial", trial, "servers")?;
    sections::<RequestsSpec>("trial", trial, "requests")?;
    sections::<MeasuredSpec>("trial", trial, "measured")?;
    if let Some(traffic) = trial.get("traffic") {
        if let Some(Value::Object(file)) = traffic.get("file") {
            let place = "trial.traffic.file";
            sections::<ModelSpec>(place, file, "models")?;
            sections::<ComponentSpec>(place, file, "components")?;
            sections::<GeneratorSpec>(place, file, "generators")?;
            sections::<LoadSpec>(place, file, "loads")?;
            section::<TrafficSpec>(place, &Value::Object(file.clone()))?;
        }
        section::<TrialTrafficSpec>("trial.traffic", traffic)?;
    }
    whole
}

fn sections<T: DeserializeOwned>(
    place: &str,
    value: &Map<String, Value>,
    key: &str,
) -> Result<(), FileError> {
    let Some(Value::Object(entries)) = value.get(key) else {
        return Ok(());
    };
    entries.iter().try_for_each(|(name, entry)| {
        section::<T>(&format!("{place}.{key}.{name}"), entry).map(|_| ())
    })
}
