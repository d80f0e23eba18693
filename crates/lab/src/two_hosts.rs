//! The smallest laboratory: two hosts and the link between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use flow::external::ClosedNetwork;

use crate::error::LabError;
use crate::forwarder::{Forwarder, ForwarderSettings};
use crate::namespace::Namespace;
use crate::processes::Lab;
use crate::tap::Tap;

/// Device of both hosts.
const DEVICE: &str = "eth0";

/// Frames that wait at a device until the forwarder reads them. The kernel's 500 are less than a
/// TCP sender emits at once.
const DEVICE_QUEUE: u32 = 10_000;

/// Addresses of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddresses {
    /// IPv4, of a network of 24 bits.
    pub ipv4: Ipv4Addr,
    /// IPv6, of a network of 64 bits.
    pub ipv6: Ipv6Addr,
    /// Address of the device.
    pub ethernet: [u8; 6],
}

/// Two hosts, client and server, joined by one link. Their devices are `eth0`.
///
/// The link carries only frames of programs: neighbours are entered by hand, so that no ARP request
/// can be lost; there are no link-local addresses; and the devices resolve no addresses, so that no
/// group of multicast listeners has to be reported. Congestion control is Cubic, whatever it is on
/// this machine, and the kernel keeps no metrics of former connections.
#[derive(Debug)]
pub struct TwoHosts {
    /// The link: `forth` is from the client to the server.
    pub forwarder: Forwarder,
    /// The client's namespace.
    pub client: Namespace,
    /// The server's namespace.
    pub server: Namespace,
    /// Programs in both.
    pub lab: Lab,
}

impl TwoHosts {
    /// The client's addresses.
    pub const CLIENT: HostAddresses = addresses(1);
    /// The server's addresses.
    pub const SERVER: HostAddresses = addresses(2);

    /// Builds the laboratory.
    ///
    /// # Errors
    /// A missing requirement, with the remedy; or a setting is out of range.
    pub fn new(settings: &ForwarderSettings) -> Result<TwoHosts, LabError> {
        let (client, client_tap) = host("client", TwoHosts::CLIENT, TwoHosts::SERVER)?;
        let (server, server_tap) = host("server", TwoHosts::SERVER, TwoHosts::CLIENT)?;
        Ok(TwoHosts {
            lab: Lab::new()?,
            forwarder: Forwarder::start(client_tap, server_tap, settings)?,
            client,
            server,
        })
    }

    /// Sets kernel parameters of both hosts, by their names with dots.
    pub fn sysctl(&self, values: &[(&str, &str)]) -> Result<(), LabError> {
        self.client.sysctl(values)?;
        self.server.sysctl(values)
    }

    /// Sets the congestion control of connections that begin from now on, in both hosts: `reno`,
    /// `cubic` (which it is at first).
    ///
    /// # Errors
    /// The kernel has no such congestion control.
    pub fn set_congestion_control(&self, name: &str) -> Result<(), LabError> {
        route(&self.client, name)?;
        route(&self.server, name)
    }

    /// Frames that the kernel dropped at the devices, before the forwarder read them or after it
    /// wrote them: losses that no counter of the link contains.
    pub fn dropped_at_devices(&self) -> Result<u64, LabError> {
        Ok(self.client.dropped(DEVICE)? + self.server.dropped(DEVICE)?)
    }
}

/// Its devices are TAP devices of this process: no packet leaves it.
impl ClosedNetwork for TwoHosts {
    fn contains(&self, address: IpAddr) -> bool {
        let hosts = [TwoHosts::CLIENT, TwoHosts::SERVER];
        hosts.iter().any(|host| match address.to_canonical() {
            IpAddr::V4(address) => address == host.ipv4,
            IpAddr::V6(address) => address == host.ipv6,
        })
    }
}

/// Addresses of the host of a number. 198.18.0.0/15 is for benchmarks (RFC 2544, appendix C.2.2),
/// and so is 2001:2::/48 (RFC 5180, section 8).
const fn addresses(number: u8) -> HostAddresses {
    HostAddresses {
        ipv4: Ipv4Addr::new(198, 18, 0, number),
        ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, number as u16),
        // Locally administered.
        ethernet: [0x02, 0, 0, 0, 0, number],
    }
}

fn host(
    label: &str,
    addresses: HostAddresses,
    other: HostAddresses,
) -> Result<(Namespace, Tap), LabError> {
    let namespace = Namespace::new(label)?;
    let tap = Tap::create(&namespace, DEVICE)?;
    namespace.sysctl(&[("net.ipv4.tcp_no_metrics_save", "1")])?;
    let link = format!(
        "link set dev {DEVICE} address {} txqueuelen {DEVICE_QUEUE} addrgenmode none arp off",
        ethernet(addresses)
    );
    let neighbour = |address: &dyn std::fmt::Display| {
        let ethernet = ethernet(other);
        format!("neigh replace {address} lladdr {ethernet} dev {DEVICE} nud permanent")
    };
    let commands = [
        link,
        format!("link set dev {DEVICE} up"),
        format!("addr add {}/24 dev {DEVICE} noprefixroute", addresses.ipv4),
        format!(
            "addr add {}/64 dev {DEVICE} nodad noprefixroute",
            addresses.ipv6
        ),
        neighbour(&other.ipv4),
        neighbour(&other.ipv6),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    namespace.ip(&commands)?;
    route(&namespace, "cubic")?;
    namespace.wait_for_ipv6(addresses.ipv6)?;
    Ok((namespace, tap))
}

/// Sets the routes to the other host. Congestion control is a property of the route, because the
/// kernel lets a namespace other than the first choose its default only among those that are
/// allowed to every user.
fn route(namespace: &Namespace, congestion_control: &str) -> Result<(), LabError> {
    let to = |network: &str| {
        format!("route replace {network} dev {DEVICE} congctl {congestion_control}")
    };
    namespace.ip(&[&to("198.18.0.0/24"), &to("2001:2::/64")])
}

fn ethernet(host: HostAddresses) -> String {
    let bytes: Vec<String> = host
        .ethernet
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    bytes.join(":")
}
