//! Commands of `ip` and `bridge` that configure a node.

use std::fmt::Write as _;

use topology::{LabNode, LabRoute};

use super::bare_hosts::DEVICE;

/// Frames that wait at a device until they are read. The kernel's 1000 are less than several TCP
/// senders emit at once, and the only losses must be those of the described queue.
const DEVICE_QUEUE: u32 = 10_000;

/// Commands for a host or a router. Its links carry only frames of programs: neighbours are entered
/// by hand, so that no ARP request can be lost, there are no link-local addresses, and the devices
/// resolve no addresses.
pub(super) fn host(node: &LabNode) -> Vec<String> {
    let mut commands = Vec::new();
    for interface in &node.interfaces {
        let device = &interface.device;
        commands.push(format!(
            "link set dev {device} address {} mtu {} txqueuelen {DEVICE_QUEUE} addrgenmode none arp off",
            ethernet(interface.ethernet),
            interface.mtu
        ));
        commands.push(format!("link set dev {device} up"));
        for address in &interface.addresses {
            let nodad = if address.ip.is_ipv6() { " nodad" } else { "" };
            commands.push(format!(
                "addr add {address} dev {device}{nodad} noprefixroute"
            ));
        }
    }
    for neighbour in &node.neighbours {
        commands.push(format!(
            "neigh replace {} lladdr {} dev {} nud permanent",
            neighbour.ip,
            ethernet(neighbour.ethernet),
            neighbour.device
        ));
    }
    // A router can be named when it can be reached.
    let (direct, indirect): (Vec<_>, Vec<_>) =
        node.routes.iter().partition(|route| route.via.is_none());
    commands.extend(direct.into_iter().chain(indirect).map(route));
    commands
}

/// Congestion control is a property of the route, because the kernel lets a namespace other than
/// the first choose its default only among those that are allowed to every user.
fn route(route: &LabRoute) -> String {
    let mut text = format!("route replace {}", route.to);
    // Writing to a `String` cannot fail.
    if let Some(via) = route.via {
        let _ = write!(text, " via {via}");
    }
    let options = &route.options;
    let _ = write!(text, " dev {} congctl {}", route.device, options.congestion);
    if let Some(nanos) = options.rto_min {
        let _ = write!(text, " rto_min {}ms", nanos.div_ceil(1_000_000));
    }
    if let Some(quickack) = options.quickack {
        let _ = write!(text, " quickack {}", u8::from(quickack));
    }
    if let Some(window) = options.initial_window {
        let _ = write!(text, " initcwnd {window}");
    }
    if let Some(window) = options.initial_receive_window {
        let _ = write!(text, " initrwnd {window}");
    }
    text
}

/// Commands for a switch.
pub(super) fn switch(node: &LabNode) -> Vec<String> {
    let ports = node.interfaces.iter();
    bridge(ports.map(|port| (port.device.as_str(), Some(port.ethernet), port.mtu)))
}

/// Commands for a bare host: a bridge between the device of its link and that of its server. The
/// Ethernet address of the plan is the server's, so that the device of the link has another one:
/// frames to that of a port are for the bridge itself.
pub(super) fn bare_host(node: &LabNode) -> Vec<String> {
    let mut ports = Vec::new();
    let mut mtu = 1500;
    for interface in &node.interfaces {
        let [_, _, rest @ ..] = interface.ethernet;
        let [a, b, c, d] = rest;
        mtu = interface.mtu;
        ports.push((
            interface.device.as_str(),
            Some([0x02, 0x01, a, b, c, d]),
            mtu,
        ));
    }
    bridge([(DEVICE, None, mtu)].into_iter().chain(ports))
}

/// Commands for a bridge that sends no frames of its own, and its ports: device, Ethernet address
/// if it changes, MTU.
fn bridge<'a>(ports: impl Iterator<Item = (&'a str, Option<[u8; 6]>, u32)>) -> Vec<String> {
    let mut commands = vec![
        "link add name br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0".to_owned(),
        "link set dev br0 addrgenmode none".to_owned(),
    ];
    for (device, address, mtu) in ports {
        let address = address.map_or(String::new(), |octets| {
            format!(" address {}", ethernet(octets))
        });
        commands.push(format!(
            "link set dev {device}{address} mtu {mtu} txqueuelen {DEVICE_QUEUE} addrgenmode none master br0"
        ));
        commands.push(format!("link set dev {device} up"));
    }
    commands.push("link set dev br0 up".to_owned());
    commands
}

/// Forwarding entries of a switch, so that the first frame to a host is not sent to all.
pub(super) fn forwarding(entries: &[([u8; 6], &str)]) -> Vec<String> {
    let entry = |(address, port): &([u8; 6], &str)| {
        format!(
            "fdb replace {} dev {port} master static",
            ethernet(*address)
        )
    };
    entries.iter().map(entry).collect()
}

fn ethernet(address: [u8; 6]) -> String {
    let bytes: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
    bytes.join(":")
}
