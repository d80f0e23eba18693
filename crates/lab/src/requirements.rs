//! Checks the requirements of a laboratory, before anything is built.

use std::collections::BTreeSet;
use std::{fs, io};

use topology::{LabNetwork, LabNodeKind};

use crate::error::LabError;
use crate::namespace::Namespace;
use crate::processes::Lab;
use crate::tap::Tap;

/// The congestion controls that the kernel has, separated by spaces. Those of modules that could be
/// loaded are not included: loading them needs a privilege.
pub fn congestion_controls() -> io::Result<String> {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
}

/// Builds and removes the smallest laboratory: one namespace with a TAP device.
pub fn check_requirements() -> Result<(), LabError> {
    let namespace = Namespace::new("check")?;
    Tap::create(&namespace, "eth0")?;
    Lab::new()?;
    Ok(())
}

/// Tries each kind of device that a network needs, in a new namespace, and searches its congestion
/// controls.
pub(crate) fn check_network(network: &LabNetwork) -> Result<(), LabError> {
    let namespace = Namespace::new("check")?;
    let needs_tap = network.links.iter().any(|link| link.is_shaped());
    let has_hubs = network
        .nodes
        .iter()
        .any(|node| matches!(node.kind, LabNodeKind::Hub(_)));
    let is_bare = |node: &topology::LabNode| matches!(node.kind, LabNodeKind::Bare(_));
    let has_bare_hosts = network.nodes.iter().any(is_bare);
    if needs_tap || has_hubs || has_bare_hosts {
        Tap::create(&namespace, "tap0")?;
    }
    let is_plain = |link: &topology::LabLink| !link.is_shaped() && network.hub_of(link).is_none();
    let devices = [
        (
            true,
            "addr add 2001:2::1/128 dev lo",
            "usable IPv6, and every host of a lab has an address of it",
            "load its module as root (modprobe ipv6), boot without ipv6.disable=1, or permit it (sysctl \
             net.ipv6.conf.default.disable_ipv6=0)",
        ),
        (
            network.links.iter().any(is_plain),
            "link add name veth0 type veth peer name veth1",
            "virtual Ethernet devices",
            "load its module as root (modprobe veth)",
        ),
        (
            network
                .nodes
                .iter()
                .any(|node| node.kind == LabNodeKind::Switch),
            "link add name br0 type bridge",
            "bridges, and the lab has switches",
            "load its module as root (modprobe bridge), or write routers instead of switches",
        ),
        (
            has_bare_hosts,
            "link add name br1 type bridge",
            "bridges, and the lab has a bare host",
            "load its module as root (modprobe bridge)",
        ),
    ];
    for (is_needed, command, what, remedy) in devices {
        if is_needed {
            match namespace.ip(&[command]) {
                Err(LabError::Iproute { message, .. }) => {
                    return Err(LabError::Kernel {
                        what: what.to_owned(),
                        message,
                        remedy: remedy.to_owned(),
                    });
                }
                other => other?,
            }
        }
    }
    let known = namespace.run(congestion_controls)?;
    let known = known.map_err(LabError::system(
        "read the congestion controls of the kernel",
    ))?;
    check_congestion(network, &known)
}

fn check_congestion(network: &LabNetwork, known: &str) -> Result<(), LabError> {
    let routes = network.nodes.iter().flat_map(|node| &node.routes);
    let wanted: BTreeSet<&str> = routes.map(|route| &*route.options.congestion).collect();
    let missing = wanted
        .into_iter()
        .find(|name| !known.split_whitespace().any(|available| available == *name));
    match missing {
        None => Ok(()),
        Some(name) => Err(LabError::Kernel {
            what: format!("congestion control `{name}`"),
            message: format!("it has {}", known.trim()),
            remedy: format!("load its module as root (modprobe tcp_{name}), or write another"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_congestion_control_that_the_kernel_lacks_is_named_with_the_remedy() {
        let text =
            "hosts: {a: {congestion: reno}, b: {congestion: westwood}}\nlinks: [{ends: [a, b]}]";
        let network = LabNetwork::parse("x", text).unwrap();
        assert!(check_congestion(&network, "reno westwood\n").is_ok());
        let error = check_congestion(&network, "reno cubic\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "this kernel has no congestion control `westwood` (it has reno cubic); load its module as root \
             (modprobe tcp_westwood), or write another"
        );
    }
}
