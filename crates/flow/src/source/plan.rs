//! The plan of a source.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use traffic::{FlowProtocol, IpVersion, PlannedFlow};

use crate::behaviour::{BlockSchedule, FlowBehaviour};
use crate::message::{FlowGroup, MOST_FLOWS};
use crate::payload::{BLOCK_HEADER, DATAGRAM_HEADER, LARGEST_BLOCK};
use crate::sys::LARGEST_DATAGRAM;
use crate::{FlowError, FlowTransport};

/// All flows from this source to one sink.
#[derive(Debug)]
pub struct SourcePlan {
    /// Control port of the sink.
    pub sink: SocketAddr,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// Threads for flows with a schedule, at least 1. Flows that send as fast as they can share
    /// another one, so that they do not delay schedules.
    pub threads: usize,
    /// Silence after which the sink is regarded as dead; usually [`crate::LONGEST_SILENCE`].
    pub longest_silence: Duration,
}

/// One flow.
#[derive(Debug)]
pub struct FlowPlan {
    /// Its protocol.
    pub transport: FlowTransport,
    /// Its blocks and their moments.
    pub behaviour: FlowBehaviour,
    /// Its largest block in bytes.
    pub largest_block_bytes: u32,
    /// Highest rate, which is requested of the sink; the excess of a schedule over it in the long
    /// run (more than a second's worth) is counted and not sent. Absent: unlimited.
    pub bytes_per_second: Option<u64>,
    /// Duration of the flow.
    pub duration: Duration,
    /// Options of its socket.
    pub options: FlowOptions,
}

/// Options of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowOptions {
    /// `SO_SNDBUF` here and `SO_RCVBUF` at the sink; absent: the systems' defaults.
    pub window_bytes: Option<u32>,
    /// Congestion control at both ends; absent: the systems' defaults.
    pub congestion_control: Option<String>,
    /// Differentiated services code point, 0 to 63.
    pub dscp: Option<u8>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// Local address and port.
    pub bind: Option<SocketAddr>,
    /// Port at the sink; absent: any.
    pub sink_port: Option<u16>,
    /// The sink may choose one of the next ports if this one is in use.
    pub may_move: bool,
    /// Blocks of a scheduled stream carry a header with a time stamp. Shorter blocks are then
    /// padded to its 20 bytes.
    pub has_stamps: bool,
    /// Time after its moment at which an unsent block is dropped. This bounds the burst after a
    /// delay to the blocks of this time. Absent: 50 ms for datagrams, 1 s for streams.
    pub backlog: Option<Duration>,
}

impl Default for FlowOptions {
    fn default() -> FlowOptions {
        FlowOptions {
            window_bytes: None,
            congestion_control: None,
            dscp: None,
            no_delay: false,
            bind: None,
            sink_port: None,
            may_move: false,
            has_stamps: true,
            backlog: None,
        }
    }
}

impl FlowPlan {
    /// A flow that sends as fast as it can.
    pub fn full(transport: FlowTransport, block_bytes: u32, duration: Duration) -> FlowPlan {
        FlowPlan {
            transport,
            behaviour: FlowBehaviour::Full { block_bytes },
            largest_block_bytes: block_bytes,
            bytes_per_second: None,
            duration,
            options: FlowOptions::default(),
        }
    }

    /// A flow with evenly spaced blocks.
    pub fn paced(
        transport: FlowTransport,
        block_bytes: u32,
        bytes_per_second: u64,
        duration: Duration,
    ) -> FlowPlan {
        FlowPlan {
            bytes_per_second: Some(bytes_per_second),
            ..FlowPlan::full(transport, block_bytes, duration)
        }
    }

    /// A flow with a schedule.
    pub fn scheduled(
        transport: FlowTransport,
        schedule: impl Into<BlockSchedule>,
        largest_block_bytes: u32,
        bytes_per_second: Option<u64>,
        duration: Duration,
    ) -> FlowPlan {
        FlowPlan {
            transport,
            behaviour: FlowBehaviour::Scheduled(schedule.into()),
            largest_block_bytes,
            bytes_per_second,
            duration,
            options: FlowOptions::default(),
        }
    }

    /// A flow of a load that is described in a file. The highest long-term rate of its model, if it
    /// has one, is requested of the sink.
    pub fn planned(flow: &PlannedFlow, seed: u64, duration: Duration) -> FlowPlan {
        let is_tcp = flow.protocol == FlowProtocol::Tcp;
        let behaviour = FlowBehaviour::from(flow.behaviour(seed));
        let largest_block_bytes = match (&behaviour, is_tcp) {
            (FlowBehaviour::Full { block_bytes }, _) => *block_bytes,
            (FlowBehaviour::Scheduled(_), true) => LARGEST_BLOCK,
            (FlowBehaviour::Scheduled(_), false) => LARGEST_DATAGRAM as u32,
        };
        let local = match flow.ip {
            IpVersion::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpVersion::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let peak = flow.model.peak_rate_bps();
        FlowPlan {
            transport: if is_tcp {
                FlowTransport::Tcp
            } else {
                FlowTransport::Udp
            },
            behaviour,
            largest_block_bytes,
            // Bits to bytes, rounded up.
            bytes_per_second: peak.map(|bits| (bits / 8.0).ceil() as u64),
            duration,
            options: FlowOptions {
                window_bytes: flow.window_bytes,
                congestion_control: flow.congestion.clone(),
                dscp: Some(flow.dscp.code_point()).filter(|dscp| *dscp > 0),
                bind: flow.source_port.map(|port| SocketAddr::new(local, port)),
                sink_port: Some(flow.sink_port),
                has_stamps: flow.has_stamps(),
                ..FlowOptions::default()
            },
        }
    }

    /// True if it sends as fast as it can.
    pub(super) fn is_unlimited(&self) -> bool {
        matches!(self.behaviour, FlowBehaviour::Full { .. }) && self.bytes_per_second.is_none()
    }

    /// True if blocks have headers.
    pub(super) fn has_stamps(&self) -> bool {
        match self.transport {
            FlowTransport::Udp => true,
            FlowTransport::Tcp => self.options.has_stamps && !self.is_unlimited(),
        }
    }

    /// Length of its shortest block.
    pub(super) fn least_block_bytes(&self) -> u32 {
        match self.transport {
            FlowTransport::Udp => DATAGRAM_HEADER as u32,
            FlowTransport::Tcp if self.has_stamps() => BLOCK_HEADER as u32,
            FlowTransport::Tcp => 1,
        }
    }

    pub(super) fn backlog_ns(&self) -> u64 {
        let backlog = self.options.backlog.unwrap_or(match self.transport {
            FlowTransport::Udp => Duration::from_millis(50),
            FlowTransport::Tcp => Duration::from_secs(1),
        });
        u64::try_from(backlog.as_nanos()).unwrap_or(u64::MAX)
    }

    fn group(&self) -> FlowGroup {
        let options = &self.options;
        let is_tcp = self.transport == FlowTransport::Tcp;
        FlowGroup {
            transport: self.transport,
            flows: 1,
            bytes_per_second: self.bytes_per_second,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            block_bytes: self.largest_block_bytes.max(self.least_block_bytes()),
            has_stamps: self.has_stamps(),
            port: options.sink_port,
            may_move: options.may_move,
            window_bytes: options.window_bytes,
            congestion_control: options.congestion_control.clone().filter(|_| is_tcp),
        }
    }

    fn check(&self) -> Result<(), String> {
        let dscp = self.options.dscp.unwrap_or(0);
        if dscp > 63 {
            return Err(format!("DSCP {dscp} is not a number from 0 to 63"));
        }
        let is_datagram = self.transport == FlowTransport::Udp;
        let bytes = self.largest_block_bytes;
        if bytes == 0 || is_datagram && bytes as usize > LARGEST_DATAGRAM {
            return Err(format!("a block of {bytes} bytes cannot be sent"));
        }
        if self.bytes_per_second == Some(0) || self.duration.is_zero() {
            return Err("a flow without a rate or a duration sends nothing".to_owned());
        }
        Ok(())
    }
}

impl SourcePlan {
    /// The groups that are requested of the sink. Equal flows that follow each other share a group.
    ///
    /// # Errors
    /// A flow is impossible.
    pub(super) fn groups(&self) -> Result<Vec<FlowGroup>, FlowError> {
        if self.flows.is_empty() || self.flows.len() > MOST_FLOWS as usize {
            let count = self.flows.len();
            return Err(FlowError::Settings(format!(
                "{count} flows; a source has 1 to {MOST_FLOWS}"
            )));
        }
        let mut groups: Vec<FlowGroup> = Vec::new();
        for (number, flow) in self.flows.iter().enumerate() {
            let refused = |problem| FlowError::Settings(format!("flow {}: {problem}", number + 1));
            flow.check().map_err(refused)?;
            let group = flow.group();
            match groups.last_mut() {
                Some(last) if is_alike(last, &group) => last.flows += 1,
                _ => groups.push(group),
            }
        }
        Ok(groups)
    }
}

fn is_alike(group: &FlowGroup, flow_group: &FlowGroup) -> bool {
    let flows = group.flows;
    let flow_group = FlowGroup {
        flows,
        ..flow_group.clone()
    };
    *group == flow_group
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of TCP that are too short for a header are sent unchanged.
    #[test]
    fn blocks_are_as_long_as_planned() {
        const { assert!(traffic::LEAST_STAMPED_BLOCK == BLOCK_HEADER as u32) };
        for (model, has_stamps) in [
            ("cbr: {rate: 8kbit, block: 19}", false),
            ("cbr: {rate: 8kbit, block: 20}", true),
            ("telnet: {}", false),
            ("www: {}", true),
            ("ftp: {}", true),
            ("voip: {codec: g729}", true),
        ] {
            let file = format!(
                "models: {{m: {{{model}}}}}\ncomponents: {{c: {{model: m, protocol: tcp}}}}\n\
                 loads: {{l: {{flows: [{{component: c}}]}}}}\n"
            );
            let traffic = traffic::Traffic::parse("load.yaml", &file).unwrap();
            let flow = &traffic.loads["l"].flows[0];
            let plan = FlowPlan::planned(flow, 1, Duration::from_secs(1));
            assert_eq!(plan.has_stamps(), has_stamps, "{model}");
            let least = plan.least_block_bytes();
            assert_eq!(least, if has_stamps { 20 } else { 1 }, "{model}");
        }
    }

    fn plan(flows: Vec<FlowPlan>) -> SourcePlan {
        SourcePlan {
            sink: "127.0.0.1:1".parse().unwrap(),
            flows,
            threads: 1,
            longest_silence: crate::LONGEST_SILENCE,
        }
    }

    #[test]
    fn flows_that_are_alike_share_a_group() {
        let second = Duration::from_secs(1);
        let paced = || FlowPlan::paced(FlowTransport::Udp, 100, 1000, second);
        let full = || FlowPlan::full(FlowTransport::Tcp, 8192, second);
        let plan = plan(vec![paced(), paced(), full(), full(), paced()]);
        let facts = |group: &FlowGroup| (group.transport, group.flows, group.has_stamps);
        let found: Vec<_> = plan.groups().unwrap().iter().map(facts).collect();
        let (tcp, udp) = (FlowTransport::Tcp, FlowTransport::Udp);
        assert_eq!(found, [(udp, 2, true), (tcp, 2, false), (udp, 1, true)]);
    }

    #[test]
    fn impossible_flows_are_refused_before_the_sink_is_asked() {
        let (second, never) = (Duration::from_secs(1), Duration::ZERO);
        let udp = FlowTransport::Udp;
        let mut marked = FlowPlan::full(udp, 100, second);
        marked.options.dscp = Some(64);
        let table = [
            (vec![], "0 flows"),
            (vec![marked], "flow 1: DSCP 64"),
            (vec![FlowPlan::full(udp, 65_508, second)], "65508 bytes"),
            (vec![FlowPlan::full(udp, 0, second)], "0 bytes"),
            (vec![FlowPlan::paced(udp, 1, 0, second)], "sends nothing"),
            (vec![FlowPlan::full(udp, 1, never)], "sends nothing"),
        ];
        for (flows, expected) in table {
            let error = plan(flows).groups().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
