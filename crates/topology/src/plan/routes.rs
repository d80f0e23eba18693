//! Routes with the fewest routers, and forwarding of switches.

use core::net::IpAddr;
use std::collections::VecDeque;

use super::{LabInterface, LabNetwork, LabNode, LabNodeKind, LabRoute, NodeNames};
use crate::FileError;
use crate::file::LabSpec;

pub(super) fn add(
    network: &mut LabNetwork,
    spec: &LabSpec,
    names: &NodeNames,
) -> Result<(), FileError> {
    let segments = segments_of(network);
    for segment in 0..segments {
        let ways = ways_to(network, segment, segments);
        let Some(member) = members(network, segment).next().cloned() else {
            continue;
        };
        for node in &mut network.nodes {
            if node.kind.has_kernel() {
                let routes = routes_to(node, &member, &ways);
                node.routes.extend(routes);
            }
        }
    }
    add_exceptions(network, spec, names)
}

fn segments_of(network: &LabNetwork) -> usize {
    let all = network.nodes.iter().flat_map(|node| &node.interfaces);
    all.map(|interface| interface.segment + 1)
        .max()
        .unwrap_or(0)
}

/// Interfaces with addresses of a network.
fn members(network: &LabNetwork, segment: usize) -> impl Iterator<Item = &LabInterface> {
    let all = network.nodes.iter().flat_map(|node| &node.interfaces);
    all.filter(move |interface| interface.segment == segment && !interface.addresses.is_empty())
}

/// Exit of a network towards another.
#[derive(Debug, Clone)]
struct NetworkWay {
    /// Number of routers on the path.
    distance: usize,
    /// Addresses of the first one in this network; empty in the destination.
    router: Vec<IpAddr>,
}

/// For each network, the path to the destination with the fewest routers; of several, through the
/// router whose name is first.
fn ways_to(network: &LabNetwork, to: usize, segments: usize) -> Vec<Option<NetworkWay>> {
    let mut ways: Vec<Option<NetworkWay>> = vec![None; segments];
    ways[to] = Some(NetworkWay {
        distance: 0,
        router: Vec::new(),
    });
    let mut reached = VecDeque::from([(to, 0)]);
    while let Some((segment, distance)) = reached.pop_front() {
        let routers = network.nodes.iter().filter(|node| {
            let is_there = node
                .interfaces
                .iter()
                .any(|interface| interface.segment == segment);
            node.kind == LabNodeKind::Router && is_there
        });
        for router in routers {
            for interface in &router.interfaces {
                let way = &mut ways[interface.segment];
                if way.is_none() {
                    *way = Some(NetworkWay {
                        distance: distance + 1,
                        router: interface
                            .addresses
                            .iter()
                            .map(|address| address.ip)
                            .collect(),
                    });
                    reached.push_back((interface.segment, distance + 1));
                }
            }
        }
    }
    ways
}

/// The routes of a node to a network, of which one member is known.
fn routes_to(node: &LabNode, member: &LabInterface, ways: &[Option<NetworkWay>]) -> Vec<LabRoute> {
    let nearest = node
        .interfaces
        .iter()
        .filter_map(|interface| Some((interface, ways[interface.segment].as_ref()?)))
        .min_by_key(|(_, way)| way.distance);
    let Some((interface, way)) = nearest else {
        return Vec::new();
    };
    let route = |address: &super::InterfaceAddress| {
        let is_same = |ip: &&IpAddr| ip.is_ipv4() == address.ip.is_ipv4();
        LabRoute {
            to: address.network(),
            via: way.router.iter().find(is_same).copied(),
            device: interface.device.clone(),
            options: node.options.clone(),
        }
    };
    member.addresses.iter().map(route).collect()
}

/// Adds routes to single nodes, for differences towards them.
fn add_exceptions(
    network: &mut LabNetwork,
    spec: &LabSpec,
    names: &NodeNames,
) -> Result<(), FileError> {
    for (name, host) in &spec.hosts {
        let from = names.find("hosts", name)?;
        for (other, different) in &host.to {
            let place = format!("hosts.{name}.to.{other}");
            let to = names.find(&place, other)?;
            if to == from || !network.nodes[to].kind.has_addresses() {
                let message = "is not another host or a router";
                return Err(FileError::new(place, message));
            }
            let options = network.nodes[from].options.with(&place, different)?;
            let interfaces = network.nodes[to].interfaces.iter();
            let addresses: Vec<_> = interfaces
                .flat_map(|interface| interface.addresses.clone())
                .collect();
            for address in addresses {
                let node = &mut network.nodes[from];
                let network = address.network();
                let Some(way) = node.routes.iter().find(|route| route.to == network) else {
                    let message = "no router leads there";
                    return Err(FileError::new(place, message));
                };
                let route = LabRoute {
                    to: address.alone(),
                    options: options.clone(),
                    ..way.clone()
                };
                node.routes.push(route);
            }
        }
    }
    if !spec.every_host.to.is_empty() {
        return Err(FileError::new(
            "every_host.to",
            "belongs to single hosts, because it would be a route of a host to itself",
        ));
    }
    Ok(())
}

impl LabNetwork {
    /// Forwarding of a switch: the port of each Ethernet address of its network.
    pub fn switched(&self, switch: usize) -> Vec<([u8; 6], &str)> {
        let mut found = Vec::new();
        for port in &self.nodes[switch].interfaces {
            let mut open = vec![(port.link, switch)];
            while let Some((link, from)) = open.pop() {
                let ends = self.links[link].ends;
                let Some(end) = ends.iter().find(|end| end.node != from) else {
                    continue;
                };
                let node = &self.nodes[end.node];
                if let Some(interface) = self.interface(*end)
                    && node.kind.has_addresses()
                {
                    found.push((interface.ethernet, port.device.as_str()));
                } else if !node.kind.has_addresses() {
                    let beyond = self.links.iter().enumerate().filter(|(number, other)| {
                        let is_there = other.ends.iter().any(|link_end| link_end.node == end.node);
                        *number != link && is_there
                    });
                    open.extend(beyond.map(|(number, _)| (number, end.node)));
                }
            }
        }
        found
    }
}
