//! Conversion of a traffic file to flows without open references.

mod generators;
mod ports;
mod rates;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::FileError;
use crate::file::{
    ComponentSpec, Dscp, FlowDirection, FlowProtocol, FlowSetSpec, IpVersion, LoadSpec, TrafficSpec,
};
use crate::generator::{self, PlannedGenerator};
use crate::model::{Model, ModelSpec};
use crate::source::Behaviour;
use ports::Ports;

/// Most flows of a load.
pub const MOST_FLOWS: usize = 10_000;
/// Shortest block of a UDP flow in bytes: sources put a sequence number and a time stamp into each
/// datagram.
pub const LEAST_DATAGRAM: u32 = 32;
/// Longest block of a UDP flow in bytes: the payload of the longest IPv4 packet.
pub const MOST_DATAGRAM: u32 = 65_507;
/// Shortest block of a TCP flow that can carry a sequence number and a time stamp, in bytes.
pub const LEAST_STAMPED_BLOCK: u32 = 20;
/// Longest window: what TCP can advertise (RFC 7323).
const MOST_WINDOW: u64 = 1 << 30;
const LONGEST_NAME: usize = 64;

/// A checked traffic file.
#[derive(Debug, Clone)]
pub struct Traffic {
    /// Its models, by name, except those whose rate is the share of a load.
    pub models: BTreeMap<String, Arc<Model>>,
    /// Its loads, by name.
    pub loads: BTreeMap<String, TrafficLoad>,
}

/// A load: flows that are active together.
#[derive(Debug, Clone)]
pub struct TrafficLoad {
    /// When it begins, in nanoseconds after the beginning of the background traffic.
    pub start_ns: u64,
    /// When it ends; without it, when the measurement ends.
    pub end_ns: Option<u64>,
    /// Its flows.
    pub flows: Vec<PlannedFlow>,
    /// Other programs that send beside them.
    pub generators: Vec<PlannedGenerator>,
}

/// One flow of a load.
#[derive(Debug, Clone)]
pub struct PlannedFlow {
    /// Number in the load, from 0, which also selects its random numbers.
    pub number: u32,
    /// Name of its component.
    pub component: String,
    /// Instance of its set, from 0.
    pub instance: u32,
    /// The flow goes from the sink to the source of the component; `source` and `sink` are already
    /// exchanged.
    pub is_backward: bool,
    /// Behaviour of its source.
    pub model: Arc<Model>,
    /// Protocol.
    pub protocol: FlowProtocol,
    /// Version of IP.
    pub ip: IpVersion,
    /// Name of the host that sends.
    pub source: String,
    /// Name of the host that receives.
    pub sink: String,
    /// Port of the source, if it was given.
    pub source_port: Option<u16>,
    /// Port of the sink. No other flow of the load has it with this protocol.
    pub sink_port: u16,
    /// TCP: size of the socket buffers in bytes.
    pub window_bytes: Option<u32>,
    /// TCP: congestion control.
    pub congestion: Option<String>,
    /// Differentiated services code point.
    pub dscp: Dscp,
}

impl PlannedFlow {
    /// True if its blocks carry sequence numbers and time stamps. Those of a TCP flow do unless
    /// more than one in a thousand is too short for them: then all are sent unchanged, and the sink
    /// counts bytes.
    pub fn has_stamps(&self) -> bool {
        let least = u64::from(LEAST_STAMPED_BLOCK);
        self.protocol == FlowProtocol::Udp || self.model.check_lengths(least, u64::MAX).is_ok()
    }

    /// Behaviour of its source. Blocks of UDP flows are between [`LEAST_DATAGRAM`] and
    /// [`MOST_DATAGRAM`] bytes long: fewer than one in a thousand had to be changed for that.
    pub fn behaviour(&self, seed: u64) -> Behaviour {
        match (self.protocol, self.model.behaviour(seed, self.number)) {
            (FlowProtocol::Udp, Behaviour::Scheduled(schedule)) => {
                Behaviour::Scheduled(schedule.with_bytes_between(LEAST_DATAGRAM, MOST_DATAGRAM))
            }
            (_, behaviour) => behaviour,
        }
    }
}

impl Traffic {
    /// Reads and checks a traffic file. `name` is its name in errors.
    ///
    /// # Errors
    /// The first defect, with its position in the YAML or the wrong key.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        Traffic::new(&TrafficSpec::read(name, text)?)
    }

    /// Checks a file that was read.
    ///
    /// # Errors
    /// The first defect, with the wrong key.
    pub fn new(spec: &TrafficSpec) -> Result<Self, FileError> {
        let mut models = BTreeMap::new();
        for (name, model) in &spec.models {
            check_name("models", name)?;
            if !model.has_no_rate() {
                let prefix = format!("models.{name}");
                models.insert(name.clone(), Arc::new(checked_model(&prefix, model)?));
            }
        }
        for (name, component) in &spec.components {
            check_name("components", name)?;
            check_component(name, component, spec, &models)?;
        }
        for (name, generator) in &spec.generators {
            check_name("generators", name)?;
            generator::check(&format!("generators.{name}"), generator)?;
        }
        let mut loads = BTreeMap::new();
        for (name, load) in &spec.loads {
            check_name("loads", name)?;
            let prefix = format!("loads.{name}");
            loads.insert(name.clone(), checked_load(&prefix, load, spec, &models)?);
        }
        Ok(Traffic { models, loads })
    }
}

type Models = BTreeMap<String, Arc<Model>>;

fn checked_model(prefix: &str, spec: &ModelSpec) -> Result<Model, FileError> {
    Model::new(spec).map_err(|(key, why)| FileError::new(format!("{prefix}.{key}"), why))
}

/// Names are parts of the names of rows and files.
fn check_name(map: &str, name: &str) -> Result<(), FileError> {
    if is_name(name, "-_") {
        return Ok(());
    }
    let why = format!("a name has letters, digits, - and _, at most {LONGEST_NAME}");
    Err(FileError::new(format!("{map}.{name}"), why))
}

fn is_name(name: &str, also: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || also.contains(c);
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_allowed)
}

fn check_component(
    name: &str,
    component: &ComponentSpec,
    spec: &TrafficSpec,
    models: &Models,
) -> Result<(), FileError> {
    let wrong =
        |key: &str, why: String| Err(FileError::new(format!("components.{name}.{key}"), why));
    if !spec.models.contains_key(&component.model) {
        let why = format!("there is no model `{}`", component.model);
        return wrong("model", why);
    }
    for (key, host) in [("source", &component.source), ("sink", &component.sink)] {
        if !is_name(host, "-_.:") {
            return wrong(key, format!("`{host}` is no name of a host"));
        }
    }
    if component.source == component.sink {
        let why = "is the same host as the source; give one of them another name";
        return wrong("sink", why.into());
    }
    for (key, port) in [
        ("port", component.port),
        ("source_port", component.source_port),
    ] {
        if port == Some(0) {
            return wrong(key, "is 0; ports begin at 1".into());
        }
    }
    if let Some(window) = component.window
        && !(1024..=MOST_WINDOW).contains(&window.bytes())
    {
        return wrong("window", format!("{window} is not between 1KiB and 1GiB"));
    }
    if let Some(congestion) = &component.congestion
        && !is_name(congestion, "-_")
    {
        let why = format!("`{congestion}` is no congestion control");
        return wrong("congestion", why);
    }
    if component.protocol == FlowProtocol::Udp {
        let has = [
            ("window", component.window.is_some()),
            ("congestion", component.congestion.is_some()),
        ];
        if let Some((key, _)) = has.into_iter().find(|(_, is_there)| *is_there) {
            return wrong(key, "is for TCP, and this is a UDP flow".into());
        }
    }
    match models.get(&component.model) {
        Some(model) => check_datagrams(&format!("components.{name}.model"), component, model),
        None => Ok(()),
    }
}

fn check_datagrams(
    prefix: &str,
    component: &ComponentSpec,
    model: &Model,
) -> Result<(), FileError> {
    if component.protocol == FlowProtocol::Tcp {
        return Ok(());
    }
    let checked = model.check_lengths(u64::from(LEAST_DATAGRAM), u64::from(MOST_DATAGRAM));
    checked.map_err(|why| {
        let why = format!("`{}` does not fit into UDP: {why}", component.model);
        FileError::new(prefix, why)
    })
}

fn checked_load(
    prefix: &str,
    load: &LoadSpec,
    spec: &TrafficSpec,
    models: &Models,
) -> Result<TrafficLoad, FileError> {
    let wrong = |key: &str, why: &str| Err(FileError::new(format!("{prefix}.{key}"), why));
    let start_ns = load.start.nanos();
    let end_ns = match (load.duration, load.end) {
        (Some(_), Some(_)) => {
            return wrong("end", "stands beside `duration`; one of them is enough");
        }
        (Some(duration), None) => Some(start_ns + duration.nanos()),
        (None, end) => end.map(|end| end.nanos()),
    };
    if end_ns.is_some_and(|end_ns| end_ns <= start_ns) {
        let key = load.end.map_or("duration", |_| "end");
        return wrong(key, "the load ends before it has begun");
    }
    if load.flows.is_empty() && load.generators.is_empty() {
        return wrong("flows", "is missing or empty");
    }
    rates::check_shares(prefix, load)?;
    check_counts(prefix, load)?;
    let mut flows = Vec::new();
    for (index, set) in load.flows.iter().enumerate() {
        let prefix = format!("{prefix}.flows[{index}]");
        flows.extend(flows_of_set(&prefix, set, load, spec, models)?);
    }
    Ports::default().assign(prefix, spec, &mut flows)?;
    for (number, flow) in flows.iter_mut().enumerate() {
        flow.number = number as u32;
    }
    Ok(TrafficLoad {
        start_ns,
        end_ns,
        generators: generators::planned(prefix, load, spec, &flows)?,
        flows,
    })
}

fn directions(set: &FlowSetSpec) -> &'static [bool] {
    match set.direction {
        FlowDirection::Forward => &[false],
        FlowDirection::Backward => &[true],
        FlowDirection::Both => &[false, true],
    }
}

fn check_counts(prefix: &str, load: &LoadSpec) -> Result<(), FileError> {
    let mut total = 0;
    for (index, set) in load.flows.iter().enumerate() {
        if set.n == 0 {
            let why = "is 0; a set has at least one flow";
            return Err(FileError::new(format!("{prefix}.flows[{index}].n"), why));
        }
        total += u64::from(set.n) * directions(set).len() as u64;
    }
    if total > MOST_FLOWS as u64 {
        let why = format!("{total} flows are too many: a load has at most {MOST_FLOWS}");
        return Err(FileError::new(format!("{prefix}.flows"), why));
    }
    Ok(())
}

/// The flows of a set, without their numbers and the ports of their sinks.
fn flows_of_set(
    prefix: &str,
    set: &FlowSetSpec,
    load: &LoadSpec,
    spec: &TrafficSpec,
    models: &Models,
) -> Result<Vec<PlannedFlow>, FileError> {
    let Some(component) = spec.components.get(&set.component) else {
        let why = format!("there is no component `{}`", set.component);
        return Err(FileError::new(format!("{prefix}.component"), why));
    };
    let mut flows = Vec::new();
    let instance_models = rates::models(prefix, set, load, component, spec, models)?;
    for is_backward in directions(set) {
        for (instance, model) in (0..set.n).zip(&instance_models) {
            let (source, sink) = if *is_backward {
                (&component.sink, &component.source)
            } else {
                (&component.source, &component.sink)
            };
            flows.push(PlannedFlow {
                number: 0,
                component: set.component.clone(),
                instance,
                is_backward: *is_backward,
                model: Arc::clone(model),
                protocol: component.protocol,
                ip: component.ip,
                source: source.clone(),
                sink: sink.clone(),
                source_port: component.source_port,
                sink_port: 0,
                // At most 1 GiB, as checked before.
                window_bytes: component.window.map(|window| window.bytes() as u32),
                congestion: component.congestion.clone(),
                dscp: component.dscp,
            });
        }
    }
    Ok(flows)
}
