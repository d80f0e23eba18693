//! Background traffic of a trial: a sink in every host that receives, a source in every host that sends.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ::traffic::Traffic;
use experiment::TrialTrafficSpec;
use lab::BuiltLab;
use serde_json::Value;

use super::programs::{LabProgram, prestan};
use super::{ENDING, LOOK, TOLERANCE, TrialFailure, TrialOutcome, TrialTask};

/// The port at which sinks agree with sources.
const PORT: u16 = 7000;

/// How long a sink may take until it listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// How long both may be silent: their connection passes the bottleneck, too. They end with the laboratory in any case.
const SILENCE: &str = "2m";

/// Bytes of a token.
const TOKEN: usize = 24;

/// Sinks and sources.
pub(super) struct TrialTraffic {
    sources: Vec<TrialSource>,
    sinks: Vec<LabProgram>,
    file: PathBuf,
    token: PathBuf,
    load: String,
    ends: Vec<(String, String)>,
}

/// What one host sends.
struct TrialSource {
    host: String,
    document: PathBuf,
    program: LabProgram,
}

impl TrialTraffic {
    /// Starts the sinks, and waits until they listen.
    pub(super) fn listen(
        lab: &BuiltLab,
        spec: &TrialTrafficSpec,
        task: &TrialTask<'_>,
    ) -> Result<TrialTraffic, TrialFailure> {
        let (load, ends) = planned(spec).map_err(TrialFailure::Failed)?;
        let files = lab.temporary_files();
        let (file, token) = (files.join("traffic.yaml"), files.join("traffic.token"));
        let writing = TrialFailure::while_trying("writing the background traffic of a trial");
        // JSON is YAML.
        let text = serde_json::to_string(&spec.file).map_err(|error| TrialFailure::of(&error))?;
        fs::write(&file, text).map_err(&writing)?;
        write_token(&token).map_err(&writing)?;
        let hosts: BTreeSet<&str> = ends.iter().map(|(_, sink)| sink.as_str()).collect();
        let mut sinks = Vec::new();
        for host in hosts {
            let mut command = traffic("sink")?;
            command
                .args(["--listen", &format!("[::]:{PORT}")])
                .args(["--allow", "any", "--json"])
                .args(["--max-rate", "none", "--max-flows", "10000"])
                .args(["--max-time", "2h", "--silence", SILENCE])
                .arg("--token-file")
                .arg(&token);
            let label = format!("traffic, sink in {host}");
            sinks.push(LabProgram::start(lab, host, label, command)?);
        }
        let begun = Instant::now();
        for sink in &mut sinks {
            while !sink.printed().contains("\"listening\"") {
                task.go_on()?;
                if sink.status().is_some() || begun.elapsed() > LISTENS_WITHIN {
                    return Err(sink.failed());
                }
                thread::sleep(LOOK);
            }
        }
        Ok(TrialTraffic {
            sources: Vec::new(),
            sinks,
            file,
            token,
            load,
            ends,
        })
    }

    /// Starts the sources.
    pub(super) fn send(
        &mut self,
        lab: &BuiltLab,
        task: &TrialTask<'_>,
    ) -> Result<(), TrialFailure> {
        let hosts: BTreeSet<&str> = self
            .ends
            .iter()
            .map(|(source, _)| source.as_str())
            .collect();
        for host in hosts {
            let document = lab.temporary_files().join(format!("traffic-{host}.json"));
            let own = self.ends.iter().filter(|(source, _)| source == host);
            let sinks: BTreeSet<&str> = own.map(|(_, sink)| sink.as_str()).collect();
            let mut command = traffic("run")?;
            command.arg(&self.file);
            command.args(["--load", &self.load, "--from-host", host]);
            command.args(["--seed", &task.seed.to_string(), "--token-file"]);
            command.arg(&self.token).arg("--json").arg(&document);
            command.args(["--silence", SILENCE]);
            for sink in sinks {
                // The name has the addresses of both versions of IP in the laboratory.
                command.args(["--sink", &format!("{sink}={sink}:{PORT}")]);
            }
            let label = format!("traffic, source in {host}");
            self.sources.push(TrialSource {
                host: host.to_owned(),
                document,
                program: LabProgram::start(lab, host, label, command)?,
            });
        }
        Ok(())
    }

    /// A source or sink that has ended by itself is a failure, unless the load is over.
    pub(super) fn check(&mut self) -> Result<(), TrialFailure> {
        for source in &mut self.sources {
            if source
                .program
                .status()
                .is_some_and(|status| !status.success())
            {
                return Err(source.program.failed());
            }
        }
        for sink in &mut self.sinks {
            if sink.status().is_some() {
                return Err(sink.failed());
            }
        }
        Ok(())
    }

    /// Asks the sources to end.
    pub(super) fn interrupt(&mut self) {
        for source in &mut self.sources {
            source.program.interrupt();
        }
    }

    /// Waits for the end of the sources, and ends the sinks.
    pub(super) fn end(&mut self) {
        for source in &mut self.sources {
            source.program.wait(ENDING);
        }
        for sink in &mut self.sinks {
            sink.interrupt();
        }
    }

    /// What arrived of it.
    pub(super) fn figures(
        &self,
        is_congested: bool,
        result: &mut TrialOutcome,
    ) -> Result<(), TrialFailure> {
        for source in &self.sources {
            let failed = |what: &dyn std::fmt::Display| {
                let host = &source.host;
                TrialFailure::Failed(format!(
                    "traffic: the source in {host} reports nothing: {what}"
                ))
            };
            let text = fs::read_to_string(&source.document).map_err(|error| failed(&error))?;
            let document: Value = serde_json::from_str(&text).map_err(|error| failed(&error))?;
            if let Some(why) = document["failure"].as_str() {
                result.warn(format!(
                    "the background traffic ended early: {}",
                    report::clean(why)
                ));
            }
            let components = document["components"].as_array().into_iter().flatten();
            for (place, component) in components.enumerate() {
                let rate = steady_rate(&document, place);
                component_figures(component, rate, is_congested, result);
            }
        }
        Ok(())
    }
}

/// Its load, and the hosts at both ends of its flows.
fn planned(spec: &TrialTrafficSpec) -> Result<(String, Vec<(String, String)>), String> {
    let traffic = Traffic::new(&spec.file).map_err(|error| format!("trial.traffic: {error}"))?;
    let loads = &traffic.loads;
    let found = match &spec.load {
        Some(name) => loads.get_key_value(name),
        None if loads.len() == 1 => loads.iter().next(),
        None => None,
    };
    let Some((name, load)) = found else {
        let names: Vec<&str> = loads.keys().map(String::as_str).collect();
        return Err(format!(
            "trial.traffic.load: name one of {}",
            names.join(", ")
        ));
    };
    let ends = load.flows.iter();
    let ends: BTreeSet<_> = ends
        .map(|flow| (flow.source.clone(), flow.sink.clone()))
        .collect();
    Ok((name.clone(), ends.into_iter().collect()))
}

/// Mean rate at the sinks in bit/s, without the first second, in which flows begin; `None` where there is no other.
fn steady_rate(document: &Value, component: usize) -> Option<f64> {
    let seconds = document["seconds"].as_array()?;
    let (mut bits, mut span) = (0.0, 0.0);
    for pair in seconds.windows(2) {
        let took = pair[1]["at_s"].as_f64()? - pair[0]["at_s"].as_f64()?;
        let rate = pair[1]["components"][component]["received_bits_per_second"].as_f64()?;
        bits += rate * took;
        span += took;
    }
    (span > 0.0).then(|| bits / span)
}

fn component_figures(
    component: &Value,
    steady_rate: Option<f64>,
    is_congested: bool,
    result: &mut TrialOutcome,
) {
    let Some(name) = component["name"].as_str() else {
        return;
    };
    let totals = &component["totals"];
    let rate = steady_rate.or_else(|| totals["received_bits_per_second"].as_f64());
    result.maybe(format!("traffic.{name}.rate"), rate);
    let loss = totals["lost_percent"].as_f64();
    result.maybe(
        format!("traffic.{name}.loss"),
        loss.map(|percent| percent / 100.0),
    );
    for (end, of) in [("source_congestion", "source"), ("sink_congestion", "sink")] {
        let names = component[end].as_array().into_iter().flatten();
        let names: Vec<&str> = names.filter_map(Value::as_str).collect();
        if !names.is_empty() {
            let key = format!("congestion of traffic {name}, {of}");
            result.facts.insert(key, names.join(", "));
        }
    }
    let planned = component["planned_bits_per_second"].as_f64();
    if !is_congested
        && let (Some(rate), Some(planned)) = (rate, planned)
        && (rate - planned).abs() > TOLERANCE * planned
    {
        result.warn(format!(
            "traffic {name} did not have its rate within 2 %, although no link was congested"
        ));
    }
}

fn traffic(what: &str) -> Result<Command, TrialFailure> {
    let mut command = prestan("traffic")?;
    command.arg(what);
    Ok(command)
}

/// A file that only its owner can read.
fn write_token(path: &Path) -> std::io::Result<()> {
    let token: String = rand::random::<[u8; TOKEN]>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut file = File::options();
    file.write(true).create_new(true).mode(0o600);
    file.open(path)?.write_all(token.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rates_are_those_behind_the_first_second() {
        let second = |at: f64, rate: f64| {
            json!({"at_s": at, "components": [{"received_bits_per_second": 0.0},
            {"received_bits_per_second": rate}]})
        };
        let document =
            json!({"seconds": [second(1.0, 100.0), second(2.0, 1000.0), second(2.5, 2000.0)]});
        let rate = steady_rate(&document, 1).unwrap();
        assert!((rate - 2000.0 / 1.5).abs() < 1e-9, "{rate}");
        assert_eq!(steady_rate(&document, 2), None);
        assert_eq!(
            steady_rate(&json!({"seconds": [second(1.0, 100.0)]}), 1),
            None
        );
        assert_eq!(steady_rate(&json!({}), 0), None);
    }
}
