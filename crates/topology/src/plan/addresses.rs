//! Addresses of hosts and routers.
//!
//! A network gets the next 24 bits of 198.18.0.0/15 (RFC 2544, appendix C.2.2) and the next 64 of
//! 2001:2::/48 (RFC 5180, section 8), both for benchmarks, unless the file gives one.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use super::{InterfaceAddress, LabNeighbour, LabNetwork, NodeNames};
use crate::FileError;
use crate::file::LabSpec;

const IPV4: u32 = 0xc612_0000;
const IPV6: u128 = 0x2001_0002 << 96;

/// An address as a number, of a version of IP with this many bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NumberedAddress {
    bits: u8,
    number: u128,
    prefix: u8,
}

impl NumberedAddress {
    fn of(address: InterfaceAddress) -> NumberedAddress {
        let (bits, number) = match address.ip {
            IpAddr::V4(ip) => (32, u128::from(ip.to_bits())),
            IpAddr::V6(ip) => (128, ip.to_bits()),
        };
        NumberedAddress {
            bits,
            number,
            prefix: address.prefix,
        }
    }

    fn address(self) -> InterfaceAddress {
        let ip = if self.bits == 32 {
            Ipv4Addr::from_bits(self.number as u32).into()
        } else {
            Ipv6Addr::from_bits(self.number).into()
        };
        InterfaceAddress {
            ip,
            prefix: self.prefix,
        }
    }

    fn host_bits(self) -> u32 {
        u32::from(self.bits - self.prefix.min(self.bits))
    }

    fn network(self) -> u128 {
        let host = self.host_bits();
        let above = self.number.checked_shr(host).unwrap_or(0);
        above.checked_shl(host).unwrap_or(0)
    }

    fn overlaps(self, other: NumberedAddress) -> bool {
        let wide = self.prefix.min(other.prefix);
        let cut = |address: NumberedAddress| {
            NumberedAddress {
                prefix: wide,
                ..address
            }
            .network()
        };
        self.bits == other.bits && cut(self) == cut(other)
    }
}

impl InterfaceAddress {
    /// The first address of the network.
    pub fn network(self) -> InterfaceAddress {
        let numbered = NumberedAddress::of(self);
        NumberedAddress {
            number: numbered.network(),
            ..numbered
        }
        .address()
    }

    /// The same address alone.
    pub fn alone(self) -> InterfaceAddress {
        InterfaceAddress {
            prefix: if self.ip.is_ipv4() { 32 } else { 128 },
            ..self
        }
    }
}

/// Parses `192.0.2.1/24`.
fn read(place: &str, text: &str) -> Result<InterfaceAddress, FileError> {
    let parts = text.split_once('/');
    let address = parts.and_then(|(ip, prefix)| {
        let ip = ip.parse().ok()?;
        let prefix = prefix.parse().ok()?;
        Some(InterfaceAddress { ip, prefix })
    });
    let found = address.filter(|address| {
        let numbered = NumberedAddress::of(*address);
        (8..numbered.bits - 1).contains(&address.prefix)
    });
    found.ok_or_else(|| {
        let message =
            format!("`{text}` is no address with a prefix; write 192.0.2.1/24 or 2001:db8::1/64");
        FileError::new(place, message)
    })
}

/// Assigns an IPv4 and an IPv6 address on each link to every host and router, and adds the
/// addresses of their neighbours.
pub(super) fn assign(
    network: &mut LabNetwork,
    spec: &LabSpec,
    names: &NodeNames,
) -> Result<(), FileError> {
    take_given(network, spec, names)?;
    let segments = network.nodes.iter().flat_map(|node| &node.interfaces);
    let segments = segments.map(|interface| interface.segment + 1).max();
    let mut used: Vec<NumberedAddress> = Vec::new();
    for segment in 0..segments.unwrap_or(0) {
        for bits in [32, 128] {
            let subnet = fill(network, segment, bits)?;
            if let Some(other) = used.iter().find(|other| other.overlaps(subnet)) {
                return Err(FileError::new(
                    "links",
                    format!(
                        "two networks overlap, {} and {}; give them other addresses",
                        subnet.address(),
                        other.address()
                    ),
                ));
            }
            used.push(subnet);
        }
    }
    add_neighbours(network);
    Ok(())
}

fn take_given(
    network: &mut LabNetwork,
    spec: &LabSpec,
    names: &NodeNames,
) -> Result<(), FileError> {
    let mut taken: BTreeMap<IpAddr, String> = BTreeMap::new();
    for (number, link) in spec.links.iter().enumerate() {
        for (name, given) in &link.addresses {
            let place = format!("links[{number}].addresses.{name}");
            let node = &mut network.nodes[names.find(&place, name)?];
            if !node.kind.has_addresses() {
                let message = format!("a {} has no addresses", node.kind.word());
                return Err(FileError::new(place, message));
            }
            let interface = node
                .interfaces
                .iter_mut()
                .find(|interface| interface.link == number);
            let Some(interface) = interface else { continue };
            for text in given {
                let address = read(&place, text)?;
                if let Some(other) = taken.insert(address.ip, name.clone()) {
                    let message = format!("{} is an address of `{other}` already", address.ip);
                    return Err(FileError::new(place, message));
                }
                let is_same = |known: &InterfaceAddress| known.ip.is_ipv4() == address.ip.is_ipv4();
                if interface.addresses.iter().any(is_same) {
                    let message = "has two addresses of the same version of IP";
                    return Err(FileError::new(place, message));
                }
                interface.addresses.push(address);
            }
        }
    }
    Ok(())
}

/// Gives the interfaces of a network addresses of one version that have none. Returns its subnet.
fn fill(network: &mut LabNetwork, segment: usize, bits: u8) -> Result<NumberedAddress, FileError> {
    let is_of_version = |address: &&InterfaceAddress| NumberedAddress::of(**address).bits == bits;
    let of_segment = network.nodes.iter().flat_map(|node| &node.interfaces);
    let of_segment = of_segment.filter(|interface| interface.segment == segment);
    let given = of_segment.filter_map(|interface| {
        let address = interface.addresses.iter().find(is_of_version)?;
        Some((interface.link, NumberedAddress::of(*address)))
    });
    let given: Vec<(usize, NumberedAddress)> = given.collect();
    let usual = NumberedAddress {
        bits,
        number: if bits == 32 {
            u128::from(IPV4) + ((segment as u128) << 8)
        } else {
            IPV6 + ((segment as u128) << 64)
        },
        prefix: if bits == 32 { 24 } else { 64 },
    };
    let subnet = given.first().map_or(usual, |(_, first)| NumberedAddress {
        number: first.network(),
        ..*first
    });
    for (link, address) in &given {
        if address.prefix != subnet.prefix || !address.overlaps(subnet) {
            return Err(FileError::new(
                format!("links[{link}].addresses"),
                format!(
                    "{} is not of the network {} that others on the same network have",
                    address.address(),
                    subnet.address()
                ),
            ));
        }
    }
    let most = 1_u128
        .checked_shl(subnet.host_bits())
        .map_or(u128::MAX, |all| all - 1);
    let mut free = (1..most).map(|host| subnet.number | host).filter(|number| {
        given
            .iter()
            .all(|(_, given_address)| given_address.number != *number)
    });
    for node in &mut network.nodes {
        if !node.kind.has_addresses() {
            continue;
        }
        let interfaces = node.interfaces.iter_mut();
        for interface in interfaces.filter(|interface| interface.segment == segment) {
            if interface
                .addresses
                .iter()
                .any(|address| is_of_version(&address))
            {
                continue;
            }
            let Some(number) = free.next() else {
                return Err(FileError::new(
                    format!("links[{}]", interface.link),
                    format!("the network {} has no address left", subnet.address()),
                ));
            };
            let address = NumberedAddress { number, ..subnet };
            interface.addresses.push(address.address());
        }
    }
    for node in &mut network.nodes {
        for interface in &mut node.interfaces {
            interface.addresses.sort();
        }
    }
    Ok(subnet)
}

fn add_neighbours(network: &mut LabNetwork) {
    let mut all = Vec::new();
    for (index, node) in network.nodes.iter().enumerate() {
        for interface in &node.interfaces {
            for address in &interface.addresses {
                all.push((index, interface.segment, address.ip, interface.ethernet));
            }
        }
    }
    for (index, node) in network.nodes.iter_mut().enumerate() {
        if !node.kind.has_kernel() {
            continue;
        }
        for interface in &node.interfaces {
            let others = all
                .iter()
                .filter(|(other, segment, ..)| *other != index && *segment == interface.segment);
            node.neighbours
                .extend(others.map(|(_, _, ip, ethernet)| LabNeighbour {
                    device: interface.device.clone(),
                    ip: *ip,
                    ethernet: *ethernet,
                }));
        }
    }
}
