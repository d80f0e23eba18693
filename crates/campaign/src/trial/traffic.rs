//! Background traffic of a trial: a sink in each host that receives, a source in each sender.

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
use report::{BackgroundComponentJson, BackgroundJson, BackgroundSecondJson};

use super::programs::{LabProgram, prestan};
use super::{ENDING, LOOK, TOLERANCE, TrialFailure, TrialOutcome, TrialTask};

/// Port at which sinks and sources agree.
const PORT: u16 = 7000;

/// Time limit for a sink to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// Longest silence of both: their connection passes the bottleneck, too. They end with the
/// laboratory in any case.
const SILENCE: &str = "2m";

/// Bytes of a token.
const TOKEN: usize = 24;

pub(super) struct TrialTraffic {
    sources: Vec<TrialSource>,
    sinks: Vec<LabProgram>,
    file: PathBuf,
    token: PathBuf,
    load: String,
    ends: Vec<(String, String)>,
}

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
            let of_host = self.ends.iter().filter(|(source, _)| source == host);
            let sinks: BTreeSet<&str> = of_host.map(|(_, sink)| sink.as_str()).collect();
            let mut command = traffic("run")?;
            command.arg(&self.file);
            command.args(["--load", &self.load, "--from-host", host]);
            command.args(["--seed", &task.seed.to_string(), "--token-file"]);
            command.arg(&self.token).arg("--json").arg(&document);
            command.args(["--silence", SILENCE]);
            for sink in sinks {
                // In the laboratory, the name has the addresses of both versions of IP.
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

    /// A source or sink that has ended by itself is a failure, unless the load has ended.
    pub(super) fn check(&mut self) -> Result<(), TrialFailure> {
        for source in &mut self.sources {
            let status = source.program.status();
            if status.is_some_and(|status| !status.success()) {
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
            let document: BackgroundJson =
                serde_json::from_str(&text).map_err(|error| failed(&error))?;
            if let Some(why) = &document.failure {
                result.warn(format!(
                    "the background traffic ended early: {}",
                    report::clean(why)
                ));
            }
            for (index, component) in document.components.iter().enumerate() {
                let rate = steady_rate(&document.seconds, index);
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

/// Mean rate at the sinks in bit/s, without the first second, in which flows begin; `None` if there
/// is no other.
fn steady_rate(seconds: &[BackgroundSecondJson], component: usize) -> Option<f64> {
    let (mut bits, mut span) = (0.0, 0.0);
    for pair in seconds.windows(2) {
        let took = pair[1].at_s - pair[0].at_s;
        bits += pair[1].components.get(component)?.received_bits_per_second * took;
        span += took;
    }
    (span > 0.0).then(|| bits / span)
}

fn component_figures(
    component: &BackgroundComponentJson,
    steady_rate: Option<f64>,
    is_congested: bool,
    result: &mut TrialOutcome,
) {
    let name = &component.name;
    let totals = component.totals.as_ref();
    let rate = steady_rate.or_else(|| Some(totals?.received_bits_per_second));
    result.maybe(format!("traffic.{name}.rate"), rate);
    let lost_percent = totals.and_then(|totals| totals.lost_percent);
    result.maybe(
        format!("traffic.{name}.loss"),
        lost_percent.map(|percent| percent / 100.0),
    );
    for (names, of) in [
        (&component.source_congestion, "source"),
        (&component.sink_congestion, "sink"),
    ] {
        if !names.is_empty() {
            let key = format!("congestion of traffic {name}, {of}");
            result.facts.insert(key, names.join(", "));
        }
    }
    if !is_congested
        && let (Some(rate), Some(planned)) = (rate, component.planned_bits_per_second)
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
    use record::{
        BackgroundComponent, BackgroundCounts, BackgroundEnd, BackgroundPacing, BackgroundReading,
        BackgroundRecord, BackgroundTotals,
    };

    use super::*;

    /// The document of two components; the second one receives these bits in these seconds.
    fn document(seconds: &[(u64, u64)]) -> BackgroundJson {
        let component = |name: &str| BackgroundComponent {
            name: name.to_owned(),
            protocol: "udp".to_owned(),
            flows: 1,
            planned_bps: Some(1000.0),
        };
        let counts = |bits: u64| BackgroundCounts {
            received_bytes: bits / 8,
            ..BackgroundCounts::default()
        };
        let record = BackgroundRecord {
            file: "traffic.yaml".to_owned(),
            load: "all".to_owned(),
            seed: u64::MAX,
            in_process: false,
            checked_stable: false,
            components: vec![component("one"), component("other")],
            generators: Vec::new(),
        };
        let mut at = 0;
        let readings = seconds.iter().map(|&(milliseconds, bits)| {
            let span = milliseconds * 1_000_000;
            at += span;
            let components = vec![counts(0), counts(bits)];
            (at, BackgroundReading { span, components })
        });
        let totals = |received: u64| BackgroundTotals {
            counts: BackgroundCounts {
                received: 3 * received,
                lost: received,
                ..counts(8 * received)
            },
            source_congestion: vec!["reno".to_owned()],
            ..BackgroundTotals::default()
        };
        let end = BackgroundEnd {
            elapsed: 1_000_000_000,
            components: vec![totals(0), totals(100)],
            pacing: BackgroundPacing::default(),
            failure: None,
            generators: Vec::new(),
        };
        let text = report::background_json(&record, &readings.collect::<Vec<_>>(), &end);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn rates_are_those_behind_the_first_second() {
        let rate = |seconds: &[(u64, u64)]| steady_rate(&document(seconds).seconds, 1);
        let found = rate(&[(1000, 800), (1000, 8000), (500, 8000)]).unwrap();
        assert!((found - 16_000.0 / 1.5).abs() < 1e-9, "{found}");
        assert_eq!(rate(&[(1000, 800)]), None);
        assert_eq!(rate(&[]), None);
        let seconds = document(&[(1000, 800), (1000, 8000)]).seconds;
        assert_eq!(steady_rate(&seconds, 2), None);
    }

    #[test]
    fn figures_of_a_component_are_those_of_its_document() {
        let document = document(&[(1000, 0), (1000, 960)]);
        let figures = |rate: Option<f64>, is_congested: bool| {
            let mut result = TrialOutcome::default();
            component_figures(&document.components[1], rate, is_congested, &mut result);
            let figures =
                ["rate", "loss"].map(|end| result.figures[&format!("traffic.other.{end}")]);
            (figures, result)
        };
        let (found, result) = figures(steady_rate(&document.seconds, 1), false);
        assert_eq!(found, [960.0, 0.25]);
        assert_eq!(result.facts["congestion of traffic other, source"], "reno");
        assert_eq!((result.facts.len(), result.warnings.len()), (1, 1));
        // In less than two seconds, the rate is that of the whole time.
        let (found, result) = figures(None, true);
        assert_eq!(found, [800.0, 0.25]);
        assert_eq!(result.warnings.len(), 0);
    }
}
