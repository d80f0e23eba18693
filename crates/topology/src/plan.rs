//! From a lab file to a network in which everything is resolved.

mod addresses;
mod names;
mod routes;
mod segments;

use core::net::IpAddr;

use crate::FileError;
use crate::bare_host::PlannedBareHost;
use crate::file::{LabHostSpec, LabSpec, RoutedSpec};
use crate::wire::{NO_RATE, PlannedWire};
use names::NodeNames;

/// Most links of a lab: the number of networks of 24 bits in 198.18.0.0/15.
const MOST_LINKS: usize = 512;

/// Default congestion control of a host.
const USUAL_CONGESTION: &str = "cubic";

/// Default MTU of a link.
const USUAL_MTU: u32 = 1500;

/// A checked lab, ready to build.
#[derive(Debug, Clone, PartialEq)]
pub struct LabNetwork {
    /// Title in one line; may be empty.
    pub title: String,
    /// Hosts, then routers, switches and hubs, each by name.
    pub nodes: Vec<LabNode>,
    /// Links, in the order of the file.
    pub links: Vec<LabLink>,
    /// Whether devices may have offloads.
    pub offloads: bool,
    /// Index of the host for servers.
    pub server_host: Option<usize>,
}

/// A node of a lab.
#[derive(Debug, Clone, PartialEq)]
pub struct LabNode {
    /// Its name.
    pub name: String,
    /// Kind.
    pub kind: LabNodeKind,
    /// Its devices, in the order of links. A hub has none: those of its stations are at its medium.
    pub interfaces: Vec<LabInterface>,
    /// Routes to all networks, with its own. A bare host has none: it responds to the sender.
    pub routes: Vec<LabRoute>,
    /// Addresses of all others in its networks; a bare host has none.
    pub neighbours: Vec<LabNeighbour>,
    /// Kernel parameters, in the order in which they are set.
    pub sysctls: Vec<PlannedSysctl>,
    /// Options of its connections, unless a route differs.
    pub options: PathOptions,
}

/// A kernel parameter of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSysctl {
    /// Its name, with dots.
    pub key: String,
    /// Value.
    pub value: String,
    /// The key of the lab file (`hosts.server.sysctl.net.ipv4.tcp_sack`); `None` if all have it.
    pub place: Option<String>,
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LabNodeKind {
    /// A machine that runs programs.
    Host,
    /// A web server on a TCP of its own.
    Bare(PlannedBareHost),
    /// A machine that forwards packets between networks.
    Router,
    /// A device that joins links to one network.
    Switch,
    /// A network whose stations share this medium.
    Hub(PlannedWire),
}

impl LabNodeKind {
    /// Name of the kind.
    pub fn word(self) -> &'static str {
        match self {
            LabNodeKind::Host => "host",
            LabNodeKind::Bare(_) => "bare host",
            LabNodeKind::Router => "router",
            LabNodeKind::Switch => "switch",
            LabNodeKind::Hub(_) => "hub",
        }
    }

    /// True if it has addresses.
    pub fn has_addresses(self) -> bool {
        self.has_kernel() || matches!(self, LabNodeKind::Bare(_))
    }

    /// True if it has the network stack of the kernel, and so can run programs.
    pub fn has_kernel(self) -> bool {
        matches!(self, LabNodeKind::Host | LabNodeKind::Router)
    }

    fn is_hub(self) -> bool {
        matches!(self, LabNodeKind::Hub(_))
    }
}

/// A device of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabInterface {
    /// Its name: `eth0`.
    pub device: String,
    /// Index of its link.
    pub link: usize,
    /// Number of its network: all links that switches and hubs join.
    pub segment: usize,
    /// Its Ethernet address, locally administered.
    pub ethernet: [u8; 6],
    /// Largest packet in bytes.
    pub mtu: u32,
    /// IPv4 and IPv6 addresses; ports of switches have none.
    pub addresses: Vec<InterfaceAddress>,
}

/// An address, and the length of the network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceAddress {
    /// The address.
    pub ip: IpAddr,
    /// Length of the prefix in bits.
    pub prefix: u8,
}

impl core::fmt::Display for InterfaceAddress {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.ip, self.prefix)
    }
}

/// A route of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabRoute {
    /// Destination: the first address of a network, or the address of one interface.
    pub to: InterfaceAddress,
    /// The router; `None` for a destination on the device's network.
    pub via: Option<IpAddr>,
    /// The device.
    pub device: String,
    /// Options of connections by this route.
    pub options: PathOptions,
}

/// Another node in a network of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabNeighbour {
    /// Device of this node.
    pub device: String,
    /// Its address.
    pub ip: IpAddr,
    /// Its Ethernet address.
    pub ethernet: [u8; 6],
}

/// Options of TCP connections of a host, set by routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathOptions {
    /// Congestion control.
    pub congestion: String,
    /// Least retransmission timeout in ns; none: the kernel's.
    pub rto_min: Option<u64>,
    /// Acknowledge every segment at once.
    pub quickack: Option<bool>,
    /// Initial congestion window in segments.
    pub initial_window: Option<u32>,
    /// Initial receive window in segments.
    pub initial_receive_window: Option<u32>,
}

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub struct LabLink {
    /// Its two ends.
    pub ends: [LabLinkEnd; 2],
    /// From the first end to the second, and back. Empty if an end is a hub: its medium counts.
    pub wires: [PlannedWire; 2],
}

impl LabLink {
    /// True if a direction changes frames.
    pub fn is_shaped(&self) -> bool {
        self.wires.iter().any(PlannedWire::is_shaped)
    }
}

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabLinkEnd {
    /// Index of the node.
    pub node: usize,
    /// Index of its interface; none at a hub.
    pub interface: Option<usize>,
}

impl LabNetwork {
    /// Parses and checks a lab file. `name` is its name in errors.
    ///
    /// # Errors
    /// The first defect, with its position in the YAML or its key.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        LabNetwork::new(&LabSpec::read(name, text)?)
    }

    /// Checks a parsed lab file, and plans it.
    ///
    /// # Errors
    /// The first defect, with its key.
    pub fn new(spec: &LabSpec) -> Result<Self, FileError> {
        let names = NodeNames::new(spec)?;
        let mut network = LabNetwork {
            title: spec.title.clone(),
            nodes: nodes(spec)?,
            links: Vec::new(),
            offloads: spec.offloads,
            server_host: None,
        };
        if spec.title.chars().any(char::is_control) {
            return Err(FileError::new("title", "has more than one line"));
        }
        if spec.links.len() > MOST_LINKS {
            let message = format!("has more than {MOST_LINKS} links");
            return Err(FileError::new("links", message));
        }
        for number in 0..spec.links.len() {
            network.add_link(spec, &names, number)?;
        }
        if let Some(lonely) = network
            .nodes
            .iter()
            .position(|node| !network.is_linked(node))
        {
            let node = &network.nodes[lonely];
            let place = format!("{}.{}", names::section(node.kind), node.name);
            return Err(FileError::new(place, "has no link"));
        }
        network.check_bare_hosts()?;
        segments::number(&mut network)?;
        addresses::assign(&mut network, spec, &names)?;
        routes::add(&mut network, spec, &names)?;
        network.server_host = server_host(spec, &names, &network)?;
        Ok(network)
    }

    /// Index of the node with this name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// The most similar name of a host or router that can run programs.
    pub fn nearest_host(&self, name: &str) -> Option<&str> {
        let hosts = self.nodes.iter().filter(|node| node.kind.has_kernel());
        nearest::meant(name, hosts.map(|node| node.name.as_str()))
    }

    /// The device at an end of a link; none at a hub.
    pub fn interface(&self, end: LabLinkEnd) -> Option<&LabInterface> {
        let node = self.nodes.get(end.node)?;
        node.interfaces.get(end.interface?)
    }

    /// The hub at an end of a link, and its medium.
    pub fn hub_of(&self, link: &LabLink) -> Option<(usize, PlannedWire)> {
        link.ends
            .iter()
            .find_map(|end| match self.nodes[end.node].kind {
                LabNodeKind::Hub(medium) => Some((end.node, medium)),
                _ => None,
            })
    }

    /// The wire from an end of a link (0 or 1), or the medium of the hub.
    pub fn wire(&self, link: &LabLink, from: usize) -> PlannedWire {
        let hub = self.hub_of(link);
        hub.map_or(link.wires[from.min(1)], |(_, medium)| medium)
    }

    /// Names of the nodes at the sending and the receiving end of a wire from an end (0 or 1).
    pub fn ends(&self, link: &LabLink, from: usize) -> [&str; 2] {
        let from = from.min(1);
        [from, 1 - from].map(|end| self.nodes[link.ends[end].node].name.as_str())
    }

    fn check_bare_hosts(&self) -> Result<(), FileError> {
        let is_bare = |node: &&LabNode| matches!(node.kind, LabNodeKind::Bare(_));
        let mut bare = self.nodes.iter().filter(is_bare);
        match bare.find(|node| node.interfaces.len() > 1) {
            None => Ok(()),
            Some(node) => Err(FileError::new(
                format!("hosts.{}", node.name),
                "has several links, and a bare host has one",
            )),
        }
    }

    fn is_linked(&self, node: &LabNode) -> bool {
        let at = |end: &LabLinkEnd| self.nodes[end.node].name == node.name;
        self.links.iter().any(|link| link.ends.iter().any(at))
    }

    fn add_link(
        &mut self,
        spec: &LabSpec,
        names: &NodeNames,
        number: usize,
    ) -> Result<(), FileError> {
        let link = &spec.links[number];
        let place = format!("links[{number}]");
        let fail =
            |key: &str, message: String| Err(FileError::new(format!("{place}.{key}"), message));
        let mut ends = [0; 2];
        for (end, name) in ends.iter_mut().zip(&link.ends) {
            *end = names.find(&format!("{place}.ends"), name)?;
        }
        if ends[0] == ends[1] {
            return fail("ends", format!("joins `{}` to itself", link.ends[0]));
        }
        let both = link.both();
        let wires = [
            PlannedWire::new(&place, "forth", &both, link.forth.as_ref())?,
            PlannedWire::new(&place, "back", &both, link.back.as_ref())?,
        ];
        if wires.iter().all(|wire| wire.rate.is_none()) {
            let given = [
                ("queue", link.queue.is_some()),
                ("overhead", link.overhead.is_some()),
            ];
            if let Some((key, _)) = given.iter().find(|(_, is_given)| *is_given) {
                return fail(key, NO_RATE.to_owned());
            }
        }
        let hubs = ends.iter().filter(|end| self.nodes[**end].kind.is_hub());
        match hubs.count() {
            0 => {}
            1 if !wires.iter().any(PlannedWire::is_shaped) => {}
            1 => {
                return fail(
                    "ends",
                    "a hub is at one end: its medium has the rate, delay and loss of all"
                        .to_owned(),
                );
            }
            _ => {
                return fail(
                    "ends",
                    "joins two hubs; put a switch or a router between them".to_owned(),
                );
            }
        }
        let mtu = link.mtu.unwrap_or(USUAL_MTU);
        if !(1280..=65_535).contains(&mtu) {
            return fail(
                "mtu",
                format!("is {mtu}: not from 1280 (the least for IPv6) to 65535"),
            );
        }
        if let Some(other) = link.addresses.keys().find(|name| !link.ends.contains(name)) {
            let ends = link.ends.join("` and `");
            return fail(
                "addresses",
                format!("`{other}` is no end of this link; its ends are `{ends}`"),
            );
        }
        let ends = ends.map(|node| self.add_interface(node, number, mtu));
        self.links.push(LabLink { ends, wires });
        Ok(())
    }

    fn add_interface(&mut self, node: usize, link: usize, mtu: u32) -> LabLinkEnd {
        if self.nodes[node].kind.is_hub() {
            return LabLinkEnd {
                node,
                interface: None,
            };
        }
        let all: usize = self.nodes.iter().map(|node| node.interfaces.len()).sum();
        let [high, low] = u16::try_from(all + 1).unwrap_or(u16::MAX).to_be_bytes();
        let interfaces = &mut self.nodes[node].interfaces;
        interfaces.push(LabInterface {
            device: format!("eth{}", interfaces.len()),
            link,
            segment: 0,
            ethernet: [0x02, 0, 0, 0, high, low],
            mtu,
            addresses: Vec::new(),
        });
        LabLinkEnd {
            node,
            interface: Some(interfaces.len() - 1),
        }
    }
}

fn nodes(spec: &LabSpec) -> Result<Vec<LabNode>, FileError> {
    let node = |name: &String, kind, sysctls, options| LabNode {
        name: name.clone(),
        kind,
        interfaces: Vec::new(),
        routes: Vec::new(),
        neighbours: Vec::new(),
        sysctls,
        options,
    };
    let mut nodes = Vec::new();
    let every = &spec.every_host;
    if every.bare.is_some() {
        let message = "belongs to single hosts, because a bare host cannot be a client";
        return Err(FileError::new("every_host.bare", message));
    }
    for (name, host) in &spec.hosts {
        let place = format!("hosts.{name}");
        if let Some(bare) = &host.bare {
            let kind = LabNodeKind::Bare(PlannedBareHost::new(&place, host, bare)?);
            nodes.push(node(name, kind, Vec::new(), PathOptions::default()));
            continue;
        }
        let options = PathOptions::of(&place, host, every)?;
        let sysctls = [
            names::sysctls("every_host", HOST_SYSCTLS, &every.sysctl)?,
            names::sysctls(&place, &[], &host.sysctl)?,
        ];
        nodes.push(node(name, LabNodeKind::Host, sysctls.concat(), options));
    }
    for (name, router) in &spec.routers {
        let sysctls = names::sysctls(&format!("routers.{name}"), ROUTER_SYSCTLS, &router.sysctl)?;
        nodes.push(node(
            name,
            LabNodeKind::Router,
            sysctls,
            PathOptions::default(),
        ));
    }
    for name in spec.switches.keys() {
        let kind = LabNodeKind::Switch;
        nodes.push(node(name, kind, Vec::new(), PathOptions::default()));
    }
    for (name, hub) in &spec.hubs {
        let medium = PlannedWire::from_hub(&format!("hubs.{name}"), hub)?;
        let kind = LabNodeKind::Hub(medium);
        nodes.push(node(name, kind, Vec::new(), PathOptions::default()));
    }
    Ok(nodes)
}

/// Without these, the kernel would reuse metrics of former connections.
const HOST_SYSCTLS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

const ROUTER_SYSCTLS: &[(&str, &str)] = &[
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
];

impl Default for PathOptions {
    fn default() -> PathOptions {
        PathOptions {
            congestion: USUAL_CONGESTION.to_owned(),
            rto_min: None,
            quickack: None,
            initial_window: None,
            initial_receive_window: None,
        }
    }
}

impl PathOptions {
    fn of(place: &str, host: &LabHostSpec, every: &LabHostSpec) -> Result<Self, FileError> {
        let spec = |host: &LabHostSpec| RoutedSpec {
            congestion: host.congestion.clone(),
            rto_min: host.rto_min,
            quickack: host.quickack,
            initial_window: host.initial_window,
            initial_receive_window: host.initial_receive_window,
        };
        let common = PathOptions::default().with("every_host", &spec(every))?;
        common.with(place, &spec(host))
    }

    /// The same with these differences.
    fn with(&self, place: &str, spec: &RoutedSpec) -> Result<PathOptions, FileError> {
        let fail =
            |key: &str, message: String| Err(FileError::new(format!("{place}.{key}"), message));
        if let Some(name) = &spec.congestion {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if name.is_empty() || name.len() > 15 || !name.chars().all(is_name) {
                return fail(
                    "congestion",
                    format!("`{name}` is no congestion control; write cubic, reno or bbr"),
                );
            }
        }
        let rto_min = spec.rto_min.map(traffic::TimeSpan::nanos);
        if rto_min.is_some_and(|time| !(1_000_000..=60_000_000_000).contains(&time)) {
            return fail("rto_min", "is not from 1ms to 60s".to_owned());
        }
        for (key, window) in [
            ("initial_window", spec.initial_window),
            ("initial_receive_window", spec.initial_receive_window),
        ] {
            if window.is_some_and(|window| !(1..=1000).contains(&window)) {
                return fail(key, "is not from 1 to 1000 segments".to_owned());
            }
        }
        Ok(PathOptions {
            congestion: spec.congestion.clone().unwrap_or(self.congestion.clone()),
            rto_min: rto_min.or(self.rto_min),
            quickack: spec.quickack.or(self.quickack),
            initial_window: spec.initial_window.or(self.initial_window),
            initial_receive_window: spec.initial_receive_window.or(self.initial_receive_window),
        })
    }
}

fn server_host(
    spec: &LabSpec,
    names: &NodeNames,
    network: &LabNetwork,
) -> Result<Option<usize>, FileError> {
    let is_host = |index: &usize| network.nodes[*index].kind == LabNodeKind::Host;
    let Some(name) = &spec.server_host else {
        return Ok(network.find("server").filter(is_host));
    };
    let found = names.find("server_host", name)?;
    if is_host(&found) {
        return Ok(Some(found));
    }
    let kind = network.nodes[found].kind.word();
    Err(FileError::new(
        "server_host",
        format!("`{name}` is a {kind}, and servers are started on hosts"),
    ))
}
