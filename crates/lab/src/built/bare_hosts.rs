//! Bare hosts of a laboratory.
//!
//! ```text
//!  namespace of the host                             this process
//!  [device of the link] - [bridge] - [TAP `bare0`] == thread of the server
//! ```
//!
//! With the bridge between them, a bare host can have any kind of link, and captures are made in
//! its namespace as in those of other hosts.

use std::net::IpAddr;

use bare::{BareServer, BareServerSettings, ServedFiles};
use topology::{LabNetwork, LabNode, LabNodeKind, PlannedBareHost};

use crate::bare_host::BareHost;
use crate::error::LabError;
use crate::namespace::Namespace;
use crate::tap::Tap;

/// The device of the server.
pub(super) const DEVICE: &str = "bare0";

/// Longest packet that the server has buffers for, in bytes.
const LONGEST_PACKET: u32 = 9000;

pub(super) fn taps(
    network: &LabNetwork,
    namespaces: &[Option<Namespace>],
) -> Result<Vec<Option<Tap>>, LabError> {
    let nodes = network.nodes.iter().zip(namespaces);
    let tap = |(node, namespace): (&LabNode, &Option<Namespace>)| match (node.kind, namespace) {
        (LabNodeKind::Bare(_), Some(namespace)) => Tap::create(namespace, DEVICE).map(Some),
        _ => Ok(None),
    };
    nodes.map(tap).collect()
}

pub(super) fn start(
    network: &LabNetwork,
    taps: Vec<Option<Tap>>,
    seed: u64,
) -> Result<Vec<Option<BareHost>>, LabError> {
    let nodes = network.nodes.iter().zip(taps);
    let start = |(node, tap): (&LabNode, Option<Tap>)| match (node.kind, tap) {
        (LabNodeKind::Bare(planned), Some(tap)) => {
            let server = server(node, &planned, seed)?;
            BareHost::start(tap, server).map(Some)
        }
        _ => Ok(None),
    };
    nodes.map(start).collect()
}

fn server(node: &LabNode, planned: &PlannedBareHost, seed: u64) -> Result<BareServer, LabError> {
    let mut settings = BareServerSettings::new([0; 6], planned.sender);
    settings.secret = seed;
    if let Some(interface) = node.interfaces.first() {
        settings.ethernet = interface.ethernet;
        settings.mtu = u16::try_from(interface.mtu.min(LONGEST_PACKET)).unwrap_or(1500);
        for address in &interface.addresses {
            match address.ip {
                IpAddr::V4(ip) => settings.ipv4 = Some(ip),
                IpAddr::V6(ip) => settings.ipv6 = Some(ip),
            }
        }
    }
    BareServer::new(settings, ServedFiles::paper())
        .map_err(|error| LabError::Setting(format!("the bare host `{}`: {error}", node.name)))
}

/// Forwarding entries of the bridge: frames to the server pass at once. The bridge learns all
/// others from requests.
pub(super) fn forwarding(node: &LabNode) -> Vec<([u8; 6], &'static str)> {
    let interfaces = node.interfaces.iter();
    interfaces
        .map(|interface| (interface.ethernet, DEVICE))
        .collect()
}
