//! Ports of sinks: the given ones first, the others from the rest.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::PlannedFlow;
use crate::FileError;
use crate::file::{FlowProtocol, TrafficSpec};

/// First port that is given to a flow without one: below the ports that Linux gives to clients
/// (32768).
const FIRST_PORT: u16 = 20_000;

/// Protocol and port. Hosts are not distinguished, as two names may be one machine, and neither are
/// IPv4 and IPv6, as a socket may serve both.
type End = (FlowProtocol, u16);

/// The ports that have been given.
#[derive(Debug, Default)]
pub(super) struct Ports {
    taken: BTreeMap<End, String>,
}

impl Ports {
    /// Gives each flow the port of its sink and, where a component has one, that of its source.
    pub(super) fn assign(
        &mut self,
        prefix: &str,
        spec: &TrafficSpec,
        flows: &mut [PlannedFlow],
    ) -> Result<(), FileError> {
        // Instances of a component are counted over all sets and both directions.
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for flow in flows.iter_mut() {
            let component = spec.components.get(&flow.component);
            let count = counts.entry(flow.component.clone()).or_default();
            if let Some(first) = component.and_then(|component| component.port) {
                flow.sink_port = self.take(prefix, flow, "port", first, *count)?;
            }
            if let Some(first) = flow.source_port {
                let port = self.take(prefix, flow, "source_port", first, *count)?;
                flow.source_port = Some(port);
            }
            *count += 1;
        }
        let mut next = FIRST_PORT;
        for flow in flows.iter_mut().filter(|flow| flow.sink_port == 0) {
            flow.sink_port = self.free(prefix, flow, &mut next)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        prefix: &str,
        flow: &PlannedFlow,
        key: &str,
        first: u16,
        instance: u32,
    ) -> Result<u16, FileError> {
        let key = format!("components.{}.{key}", flow.component);
        let port = u32::from(first) + instance;
        let Ok(port) = u16::try_from(port) else {
            let why =
                format!("instance {instance} in {prefix} has the port {port}; 65535 is the last");
            return Err(FileError::new(key, why));
        };
        let end = (flow.protocol, port);
        match self.taken.insert(end, flow.component.clone()) {
            None => Ok(port),
            Some(other) => {
                let why = format!("port {port} is also one of `{other}` in {prefix}");
                Err(FileError::new(key, why))
            }
        }
    }

    fn free(&mut self, prefix: &str, flow: &PlannedFlow, next: &mut u16) -> Result<u16, FileError> {
        while *next < u16::MAX {
            let port = *next;
            *next += 1;
            let end = (flow.protocol, port);
            if let Entry::Vacant(free) = self.taken.entry(end) {
                free.insert(flow.component.clone());
                return Ok(port);
            }
        }
        let why = "no port is left; give fewer flows";
        Err(FileError::new(format!("{prefix}.flows"), why))
    }
}
