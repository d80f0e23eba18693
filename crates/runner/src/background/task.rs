//! Background traffic checked and resolved before anything is sent.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::text_file;
use flow::SharedToken;
use record::{BackgroundComponent, BackgroundRecord};
use traffic::{
    FlowProtocol, IpVersion, PlannedFlow, PlannedGenerator, Traffic, TrafficLoad, TrafficSpec,
};

use super::generators::recorded;
use super::token;
use crate::error::RunnerError;

/// Most components of a load: the record has figures of each for every second.
const MOST_COMPONENTS: usize = 64;
/// Longest duration of flows of a load without an end, at a sink elsewhere.
const LONGEST_ELSEWHERE: Duration = Duration::from_secs(3600);
/// Longest duration of flows of a load without an end, at a sink in this process.
pub(super) const LONGEST_HERE: Duration = Duration::from_secs(366 * 24 * 3600);

/// Largest deviation from the mean of a load that is stable, in percent.
pub(super) const STABLE_PERCENT: f64 = 5.0;

/// A sink, and the host of the traffic file that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkPlace {
    /// `None`: for all hosts without a sink of their own.
    pub name: Option<String>,
    /// `HOST:PORT`.
    pub address: String,
}

/// Sources and sinks of flows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrafficEnds {
    /// Empty: sinks in this process, on loopback.
    pub sinks: Vec<SinkPlace>,
    /// Sends only the flows of this host.
    pub from_host: Option<String>,
}

/// A traffic file.
pub struct TrafficFile {
    /// Path as given.
    pub path: PathBuf,
    spec: TrafficSpec,
    /// Its components and loads.
    pub traffic: Traffic,
}

impl TrafficFile {
    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<TrafficFile, RunnerError> {
        let name = path.display().to_string();
        let text = text_file::read(path)
            .map_err(|error| RunnerError::Usage(format!("reading {name} failed: {error}")))?;
        let usage = |error: traffic::FileError| text_file::defect(&name, &error);
        let spec = TrafficSpec::read(&name, &text).map_err(usage)?;
        let traffic = Traffic::new(&spec).map_err(usage)?;
        Ok(TrafficFile {
            path: path.to_owned(),
            spec,
            traffic,
        })
    }

    /// The same for traffic in a suite named `suite`.
    pub fn within(suite: &str, spec: &TrafficSpec) -> Result<TrafficFile, RunnerError> {
        let usage =
            |error| RunnerError::Usage(format!("the background traffic of suite {suite}: {error}"));
        Ok(TrafficFile {
            path: suite.into(),
            traffic: Traffic::new(spec).map_err(usage)?,
            spec: spec.clone(),
        })
    }

    /// The load of that name, or the only one.
    fn load(&self, name: Option<&str>) -> Result<(&str, &TrafficLoad), RunnerError> {
        let loads = &self.traffic.loads;
        let found = match name {
            Some(name) => loads.get_key_value(name),
            None if loads.len() == 1 => loads.iter().next(),
            None => None,
        };
        found
            .map(|(name, load)| (name.as_str(), load))
            .ok_or_else(|| {
                let names: Vec<&str> = loads.keys().map(String::as_str).collect();
                let file = self.path.display();
                RunnerError::Usage(match (name, names.is_empty()) {
                    (_, true) => format!("{file} has no loads; only loads can be sent"),
                    (Some(name), _) => {
                        format!(
                            "{file} has no load `{name}`; there are {}",
                            names.join(", ")
                        )
                    }
                    (None, _) => {
                        format!("{file} has several loads; name one of {}", names.join(", "))
                    }
                })
            })
    }
}

/// Options of a load to send.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundOptions {
    /// Name of the load; `None` for the only one.
    pub load: Option<String>,
    /// Longest duration of flows, from the start of the load.
    pub duration: Option<Duration>,
    /// Largest deviation from the mean of a load that is stable, in percent.
    pub stable_percent: f64,
    /// Seed of the schedules.
    pub seed: u64,
    /// Silence after which a sink is regarded as dead.
    pub longest_silence: Duration,
}

/// A flow and its properties beside its plan.
pub(super) struct TaskFlow {
    pub(super) planned: PlannedFlow,
    /// Index of its component in the record.
    pub(super) component: usize,
    /// The rate is constant, so that stability can be checked.
    pub(super) is_steady: bool,
    /// The file has a port for its sink.
    pub(super) has_port: bool,
}

pub(super) struct TaskSource {
    pub(super) sink: TaskSink,
    pub(super) flows: Vec<TaskFlow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaskSink {
    /// In this process, at this address.
    Own(IpAddr),
    Elsewhere(SocketAddr),
}

/// A load ready to send.
pub struct BackgroundTask {
    /// Its part in the record of a run.
    pub record: BackgroundRecord,
    pub(super) sources: Vec<TaskSource>,
    /// Programs that send on loopback.
    pub(super) generators: Vec<PlannedGenerator>,
    /// `None` where all sinks are in this process.
    pub(super) token: Option<SharedToken>,
    pub(super) start: Duration,
    /// Longest duration of its flows.
    pub(super) duration: Duration,
    pub(super) stable_percent: f64,
    /// Silence after which a sink is regarded as dead.
    pub(super) longest_silence: Duration,
}

impl BackgroundTask {
    /// A load of a traffic file, for these sinks.
    pub fn new(
        file: &TrafficFile,
        options: &BackgroundOptions,
        ends: &TrafficEnds,
        token_file: Option<&Path>,
    ) -> Result<BackgroundTask, RunnerError> {
        let (name, load) = file.load(options.load.as_deref())?;
        if !load.generators.is_empty() && !ends.sinks.is_empty() {
            return Err(RunnerError::Usage(format!(
                "load {name} has generators, which send on loopback only, because their sinks on another \
                 machine cannot be asked; leave --sink out, or name another load"
            )));
        }
        let flows: Vec<&PlannedFlow> = load.flows.iter().collect();
        let flows = match &ends.from_host {
            None => flows,
            Some(host) => flows
                .into_iter()
                .filter(|flow| flow.source == *host)
                .collect(),
        };
        if flows.is_empty() && load.generators.is_empty() {
            let host = ends.from_host.as_deref().unwrap_or_default();
            return Err(RunnerError::Usage(format!(
                "load {name} has no flow from host `{host}`"
            )));
        }
        check_names(name, &load.flows, &ends.sinks)?;
        let components = components_of(&flows);
        if components.len() > MOST_COMPONENTS {
            return Err(RunnerError::Usage(format!(
                "load {name} has {} components in both directions; at most {MOST_COMPONENTS} can be sent",
                components.len()
            )));
        }
        let mut sources: Vec<TaskSource> = Vec::new();
        for flow in flows {
            let sink = sink_of(flow, &ends.sinks)?;
            let index = components
                .iter()
                .position(|component| component.name == name_of(flow));
            let component = file.spec.components.get(&flow.component);
            let flow = TaskFlow {
                planned: flow.clone(),
                component: index.unwrap_or_default(),
                is_steady: is_steady(flow),
                has_port: component.is_some_and(|component| component.port.is_some()),
            };
            match sources.iter_mut().find(|source| source.sink == sink) {
                Some(source) => source.flows.push(flow),
                None => sources.push(TaskSource {
                    sink,
                    flows: vec![flow],
                }),
            }
        }
        let all_flows = || sources.iter().flat_map(|source| &source.flows);
        let in_process = ends.sinks.is_empty();
        let longest = if in_process {
            LONGEST_HERE
        } else {
            LONGEST_ELSEWHERE
        };
        let planned = load
            .end_ns
            .map(|end| Duration::from_nanos(end.saturating_sub(load.start_ns)));
        let asked = [planned, options.duration].into_iter().flatten().min();
        Ok(BackgroundTask {
            record: BackgroundRecord {
                file: file
                    .path
                    .file_name()
                    .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
                load: name.to_owned(),
                seed: options.seed,
                in_process,
                checked_stable: all_flows().any(|flow| flow.is_steady),
                components,
                generators: recorded(&load.generators),
            },
            generators: load.generators.clone(),
            token: (!in_process).then(|| token(token_file)).transpose()?,
            sources,
            start: Duration::from_nanos(load.start_ns),
            duration: asked.unwrap_or(longest),
            stable_percent: options.stable_percent,
            longest_silence: options.longest_silence,
        })
    }
}

/// Name of a component in a record.
fn name_of(flow: &PlannedFlow) -> String {
    let behind = if flow.is_backward { ".backward" } else { "" };
    format!("{}{behind}", flow.component)
}

/// The components of flows, in each direction, in their order.
pub fn components_of(flows: &[&PlannedFlow]) -> Vec<BackgroundComponent> {
    let mut components: Vec<BackgroundComponent> = Vec::new();
    for flow in flows {
        let name = name_of(flow);
        let rate = flow.model.mean_rate_bps();
        match components
            .iter_mut()
            .find(|component| component.name == name)
        {
            Some(sums) => {
                sums.flows += 1;
                sums.planned_bps = sums.planned_bps.zip(rate).map(|(sum, rate)| sum + rate);
            }
            None => components.push(BackgroundComponent {
                name,
                protocol: match flow.protocol {
                    FlowProtocol::Tcp => "tcp".to_owned(),
                    FlowProtocol::Udp => "udp".to_owned(),
                },
                flows: 1,
                planned_bps: rate,
            }),
        }
    }
    components
}

/// True for a constant rate, or for as much as the network takes.
fn is_steady(flow: &PlannedFlow) -> bool {
    match (flow.model.mean_rate_bps(), flow.model.peak_rate_bps()) {
        (None, None) => true,
        (Some(mean), Some(peak)) => peak <= mean * 1.001,
        _ => false,
    }
}

/// Every sink must be for a host of the load: a misspelt name would send its flows elsewhere.
fn check_names(load: &str, flows: &[PlannedFlow], sinks: &[SinkPlace]) -> Result<(), RunnerError> {
    let mut hosts: Vec<&str> = flows.iter().map(|flow| flow.sink.as_str()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let names = sinks.iter().filter_map(|sink| sink.name.as_deref());
    let unknown = names.into_iter().find(|name| !hosts.contains(name));
    unknown.map_or(Ok(()), |name| {
        Err(RunnerError::Usage(format!(
            "--sink {name}=...: no flow of load {load} goes to a host `{name}`; its flows go to {}",
            hosts.join(", ")
        )))
    })
}

/// The sink of a flow. A host may have one for each version of IP.
fn sink_of(flow: &PlannedFlow, sinks: &[SinkPlace]) -> Result<TaskSink, RunnerError> {
    if sinks.is_empty() {
        return Ok(TaskSink::Own(match flow.ip {
            IpVersion::V4 => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
            IpVersion::V6 => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        }));
    }
    let has_name = sinks
        .iter()
        .any(|sink| sink.name.as_ref() == Some(&flow.sink));
    let name = has_name.then_some(&flow.sink);
    let candidates = sinks.iter().filter(|sink| sink.name.as_ref() == name);
    let mut others = Vec::new();
    for SinkPlace { address, .. } in candidates {
        let addresses = address.to_socket_addrs().map_err(|error| {
            RunnerError::Target(format!(
                "background traffic: the sink {address} cannot be resolved: {error}"
            ))
        })?;
        let fits = |address: &SocketAddr| address.is_ipv4() == (flow.ip == IpVersion::V4);
        match addresses.into_iter().find(fits) {
            Some(found) => return Ok(TaskSink::Elsewhere(found)),
            None => others.push(address.as_str()),
        }
    }
    if others.is_empty() {
        return Err(RunnerError::Usage(format!(
            "component {} has flows from host `{}` to host `{}`, for which there is no --sink; give --sink \
             {2}=HOST:PORT, or send only the flows of one host with --from-host NAME",
            flow.component, flow.source, flow.sink
        )));
    }
    let (version, example) = match flow.ip {
        IpVersion::V4 => (4, "192.0.2.1:7000"),
        IpVersion::V6 => (6, "[2001:db8::1]:7000"),
    };
    let name = name.map_or(String::new(), |name| format!("{name}="));
    Err(RunnerError::Usage(format!(
        "component {} is IPv{version}, and the sink {} has no address of this version; give a second sink for \
         it: --sink {name}{example}, of a `prestan traffic sink` that listens there",
        flow.component,
        others.join(", ")
    )))
}
