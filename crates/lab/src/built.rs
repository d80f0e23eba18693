//! A whole laboratory: the network of a lab file, built.
//!
//! Links that change or delay frames, and hubs, are TAP devices and the forwarder; all others are
//! pairs of virtual Ethernet devices, and switches are bridges of the kernel. Nothing is shaped by
//! a queue discipline: the kernel takes the time stamp of a sent packet below it, so that time in
//! the queue would be missing in response times. At a TAP device the stamp is taken when the
//! forwarder receives the frame, before the frame waits.

mod bare_hosts;
mod commands;
mod paths;
mod probes;

use std::fs::{self, Permissions};
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use topology::{
    LabNetwork, LabNode, LabNodeKind, PlannedCodel, PlannedSysctl, PlannedWire, WireQueue,
};

use crate::bare_host::{BareHost, BareHostReport};
use crate::counters::LinkCounters;
use crate::error::LabError;
use crate::forwarder::{Cable, Forwarder, ForwarderCounters, ForwarderSettings};
use crate::host_names;
use crate::impairment::{Bandwidth, CodelSettings, Delay, FqCodelSettings, Impairment, LinkQueue};
use crate::namespace::Namespace;
use crate::processes::Lab;
use crate::requirements;
use crate::scratch::ScratchDirectory;
use crate::surroundings::{SurroundingHost, Surroundings};
use crate::tap::Tap;

pub use paths::PathProbe;

/// A built laboratory. It ends, with all programs in it, when it is dropped or this process ends.
#[derive(Debug)]
pub struct BuiltLab {
    // Dropped in this order: programs end before the directory that they use.
    lab: Lab,
    scratch: ScratchDirectory,
    forwarder: Option<Forwarder>,
    /// Bare hosts by node; most nodes have none.
    bare_hosts: Vec<Option<BareHost>>,
    /// Index of the forwarder's model, by link and the end from which frames come.
    models: Vec<[Option<usize>; 2]>,
    /// Namespaces by node; hubs have none.
    namespaces: Vec<Option<Namespace>>,
    network: LabNetwork,
    has_ipv6_servers: bool,
}

/// A host or a router of a laboratory. A bare host has a namespace, too, which contains only a
/// bridge between the device of its link and that of its server: captures can be made there.
#[derive(Debug, Clone, Copy)]
pub struct BuiltHost<'a> {
    lab: &'a BuiltLab,
    node: usize,
    namespace: &'a Namespace,
}

impl BuiltLab {
    /// Builds a network. The impairments in the settings of its forwarder are ignored.
    ///
    /// # Errors
    /// The first missing requirement, with its remedy, before anything is built; or a refusal of
    /// the system.
    pub fn new(network: &LabNetwork, settings: &ForwarderSettings) -> Result<BuiltLab, LabError> {
        requirements::check_network(network)?;
        let namespaces = network.nodes.iter().map(|node| match node.kind {
            LabNodeKind::Hub(_) => Ok(None),
            _ => Namespace::new(&node.name).map(Some),
        });
        let namespaces: Vec<Option<Namespace>> = namespaces.collect::<Result<_, _>>()?;
        let (cables, models) = lay_cables(network, &namespaces)?;
        let bare_taps = bare_hosts::taps(network, &namespaces)?;
        for (node, namespace) in network.nodes.iter().zip(&namespaces) {
            if let Some(namespace) = namespace {
                configure(network, node, namespace)?;
            }
        }
        let forwarder = if cables.is_empty() {
            None
        } else {
            Some(Forwarder::start_cables(cables, settings)?)
        };
        let bare_hosts = bare_hosts::start(network, bare_taps, settings.seed)?;
        let held: Vec<&Namespace> = namespaces.iter().flatten().collect();
        let scratch = scratch_directory()?;
        let lab = Lab::with_namespaces(&held, host_names::covers(network, &scratch)?)?;
        for (node, namespace) in network.nodes.iter().zip(&namespaces) {
            if !node.kind.has_kernel() {
                continue;
            }
            let addresses = node
                .interfaces
                .iter()
                .flat_map(|interface| &interface.addresses);
            for address in addresses {
                if let (IpAddr::V6(ip), Some(namespace)) = (address.ip, namespace) {
                    namespace.wait_for_ipv6(ip)?;
                }
            }
        }
        Ok(BuiltLab {
            lab,
            scratch,
            forwarder,
            bare_hosts,
            models,
            namespaces,
            network: network.clone(),
            has_ipv6_servers: false,
        })
    }

    /// Lets servers started by programs of this laboratory listen at IPv6 addresses.
    pub fn use_ipv6_for_servers(&mut self) {
        self.has_ipv6_servers = true;
    }

    /// The network that was built.
    pub fn network(&self) -> &LabNetwork {
        &self.network
    }

    /// The host or router of a name.
    pub fn host(&self, name: &str) -> Option<BuiltHost<'_>> {
        let node = self.network.find(name)?;
        let has_addresses = self.network.nodes[node].kind.has_addresses();
        let namespace = self.namespaces[node].as_ref()?;
        has_addresses.then_some(BuiltHost {
            lab: self,
            node,
            namespace,
        })
    }

    /// The namespace of a node; a hub has none.
    pub fn namespace(&self, node: usize) -> Option<&Namespace> {
        self.namespaces.get(node)?.as_ref()
    }

    /// Counters of one direction of a link, from its end 0 or 1 on; at a hub, those of its medium.
    /// `None` for links that the kernel forwards without this process.
    pub fn link_counters(&self, link: usize, from: usize) -> Option<LinkCounters> {
        let model = (*self.models.get(link)?.get(from)?)?;
        let counters = self.forwarder.as_ref()?.counters();
        counters.models.get(model).copied()
    }

    /// Counters of the forwarder; `None` if no link needs one.
    pub fn forwarder_counters(&self) -> Option<ForwarderCounters> {
        self.forwarder.as_ref().map(Forwarder::counters)
    }

    /// Frames that the kernel dropped at all devices: losses that no counter of a link contains.
    pub fn dropped_at_devices(&self) -> Result<u64, LabError> {
        let mut dropped = 0;
        for (node, namespace) in self.network.nodes.iter().zip(&self.namespaces) {
            for interface in &node.interfaces {
                if let Some(namespace) = namespace {
                    dropped += namespace.dropped(&interface.device)?;
                }
            }
            if let (LabNodeKind::Bare(_), Some(namespace)) = (node.kind, namespace) {
                dropped += namespace.dropped(bare_hosts::DEVICE)?;
            }
        }
        Ok(dropped)
    }

    /// Description of the laboratory for programs in a host ([`Surroundings`]).
    fn surroundings(&self, here: &str) -> Surroundings {
        let mut hosts = Vec::new();
        let held = self.network.nodes.iter().zip(&self.namespaces);
        let held = held.filter(|(_, namespace)| namespace.is_some());
        for (number, (node, _)) in held.enumerate() {
            if !node.kind.has_addresses() {
                continue;
            }
            let addresses = node
                .interfaces
                .iter()
                .flat_map(|interface| &interface.addresses);
            hosts.push(SurroundingHost {
                name: node.name.clone(),
                path: self.lab.path_of(number).filter(|_| node.kind.has_kernel()),
                addresses: addresses.map(|address| address.ip).collect(),
            });
        }
        let server_host = self.network.server_host;
        Surroundings {
            here: here.to_owned(),
            is_ipv6: self.has_ipv6_servers,
            server_host: server_host.map(|host| self.network.nodes[host].name.clone()),
            hosts,
        }
    }

    /// A directory for temporary files, which is removed with the laboratory, also when this
    /// process is killed. Other users may read files whose names they know.
    pub fn temporary_files(&self) -> &Path {
        self.scratch.path()
    }

    /// Ends all programs, and removes everything. Dropping does the same.
    pub fn end(self) {}
}

impl<'a> BuiltHost<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.lab.network.nodes[self.node].name
    }

    /// Its namespace: programs and sockets there are in this host, a capture, too.
    pub fn namespace(&self) -> &'a Namespace {
        self.namespace
    }

    /// The laboratory as programs here see it.
    pub fn surroundings(&self) -> Surroundings {
        self.lab.surroundings(self.name())
    }

    /// Its addresses, those of its first link first.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<'a> {
        let interfaces = self.lab.network.nodes[self.node].interfaces.iter();
        interfaces.flat_map(|interface| interface.addresses.iter().map(|address| address.ip))
    }

    /// Its first address of a version of IP.
    pub fn address(&self, is_ipv6: bool) -> Option<IpAddr> {
        self.addresses().find(|ip| ip.is_ipv6() == is_ipv6)
    }

    /// Report of the server of a bare host, with the connections that have ended since the last
    /// call; `None` at hosts and routers of the kernel. A connection has ended when its TIME-WAIT
    /// of one second has.
    pub fn bare_report(&self) -> Option<BareHostReport> {
        let bare_host = self.lab.bare_hosts.get(self.node)?.as_ref()?;
        Some(bare_host.report())
    }

    /// Starts a program here. It ends with the laboratory, its temporary files (`TMPDIR`) are
    /// removed with it, and a `prestan` in it finds the other hosts.
    ///
    /// # Errors
    /// The program cannot start, or this is a bare host.
    pub fn spawn(&self, mut command: Command) -> Result<Child, LabError> {
        if !self.lab.network.nodes[self.node].kind.has_kernel() {
            return Err(LabError::BareHost(self.name().to_owned()));
        }
        self.surroundings().set_variables(&mut command);
        command.env("TMPDIR", self.lab.scratch.path());
        self.lab.lab.spawn(self.namespace, command)
    }
}

/// The directory is open to servers that run as another user.
fn scratch_directory() -> Result<ScratchDirectory, LabError> {
    let make = || {
        let made = ScratchDirectory::new("prestan-lab-", None)?;
        fs::set_permissions(made.path(), Permissions::from_mode(0o711))?;
        Ok(made)
    };
    make().map_err(LabError::system("create a directory for temporary files"))
}

/// An error of the kernel about a parameter, with the key of the lab file that sets it, if any.
fn refused_by_kernel(node: &LabNode, error: LabError) -> LabError {
    let LabError::Sysctl { key, value, .. } = &error else {
        return error;
    };
    let refused = |sysctl: &&PlannedSysctl| sysctl.key == *key && sysctl.value == *value;
    let sysctl = node.sysctls.iter().find(refused);
    match (sysctl.and_then(|sysctl| sysctl.place.clone()), error) {
        (Some(key), LabError::Sysctl { value, source, .. }) => LabError::RefusedSysctl {
            key,
            value,
            host: node.name.clone(),
            source,
        },
        (_, error) => error,
    }
}

/// Creates the devices of all links. Returns the cables of the forwarder, and which of its models
/// each link passes.
#[expect(clippy::type_complexity, reason = "used once, and explained above")]
fn lay_cables(
    network: &LabNetwork,
    namespaces: &[Option<Namespace>],
) -> Result<(Vec<Cable>, Vec<[Option<usize>; 2]>), LabError> {
    let mut hubs: Vec<Vec<Tap>> = network.nodes.iter().map(|_| Vec::new()).collect();
    let mut models = vec![[None; 2]; network.links.len()];
    let mut cables = Vec::new();
    let mut count = 0;
    for (number, link) in network.links.iter().enumerate() {
        let ends: Vec<(&Namespace, &str)> = link
            .ends
            .iter()
            .filter_map(|end| {
                let device = network.interface(*end)?.device.as_str();
                Some((namespaces[end.node].as_ref()?, device))
            })
            .collect();
        match (ends.as_slice(), network.hub_of(link)) {
            ([(namespace, device)], Some((hub, _))) => {
                hubs[hub].push(Tap::create(namespace, device)?);
            }
            ([(one, device), (other, peer)], None) if link.is_shaped() => {
                let taps = [Tap::create(one, device)?, Tap::create(other, peer)?];
                let [forth, back] = link.wires.map(|wire| impairment(&wire));
                let [first, second] = taps;
                cables.push(Cable::link(first, second, forth, back));
                models[number] = [Some(count), Some(count + 1)];
                count += 2;
            }
            ([(one, device), (other, peer)], None) => one.join(device, other, peer)?,
            // A plan has no other links.
            _ => {}
        }
    }
    for ((hub, node), taps) in network.nodes.iter().enumerate().zip(hubs) {
        let LabNodeKind::Hub(medium) = node.kind else {
            continue;
        };
        cables.push(Cable::hub(taps, impairment(&medium)));
        for (model, link) in models.iter_mut().zip(&network.links) {
            if link.ends.iter().any(|end| end.node == hub) {
                *model = [Some(count); 2];
            }
        }
        count += 1;
    }
    Ok((cables, models))
}

fn configure(network: &LabNetwork, node: &LabNode, namespace: &Namespace) -> Result<(), LabError> {
    for interface in &node.interfaces {
        let link = &network.links[interface.link];
        let is_tap = link.is_shaped() || network.hub_of(link).is_some();
        if !is_tap && !network.offloads {
            namespace.switch_off_offloads(&interface.device)?;
        }
    }
    let sysctls = node.sysctls.iter();
    let sysctls: Vec<(&str, &str)> = sysctls
        .map(|sysctl| (&*sysctl.key, &*sysctl.value))
        .collect();
    namespace
        .sysctl(&sysctls)
        .map_err(|error| refused_by_kernel(node, error))?;
    let commands = match node.kind {
        LabNodeKind::Switch => commands::switch(node),
        LabNodeKind::Bare(_) => commands::bare_host(node),
        _ => commands::host(node),
    };
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    namespace.ip(&commands)?;
    let entries = match (node.kind, network.find(&node.name)) {
        (LabNodeKind::Switch, Some(index)) => network.switched(index),
        (LabNodeKind::Bare(_), _) => bare_hosts::forwarding(node),
        _ => Vec::new(),
    };
    if !entries.is_empty() {
        let entries = commands::forwarding(&entries);
        let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
        namespace.bridge(&entries)?;
    }
    Ok(())
}

fn codel(planned: PlannedCodel) -> CodelSettings {
    CodelSettings {
        frames: planned.packets,
        target: planned.target,
        interval: planned.interval,
    }
}

/// Impairment of the forwarder for a wire.
fn impairment(wire: &PlannedWire) -> Impairment {
    Impairment {
        bandwidth: wire.rate.map(|rate| Bandwidth {
            bits_per_second: rate,
            overhead: wire.overhead,
            queue: match wire.queue {
                WireQueue::Packets(packets) => LinkQueue::Frames(packets),
                WireQueue::Bytes(bytes) => LinkQueue::Bytes(bytes),
                WireQueue::Codel(planned) => LinkQueue::Codel(codel(planned)),
                WireQueue::FqCodel {
                    codel: planned,
                    flows,
                    quantum,
                } => LinkQueue::FqCodel(FqCodelSettings {
                    codel: codel(planned),
                    flows,
                    quantum,
                }),
            },
        }),
        delay: Delay {
            base: Duration::from_nanos(wire.delay),
            jitter: Duration::from_nanos(wire.jitter),
            may_reorder: wire.may_reorder,
        },
        loss: wire.loss,
        duplication: wire.duplication,
    }
}
