//! Network namespaces, held by a file descriptor: the namespace ends when the last one closes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::system;

/// Longest wait for an IPv6 address.
const IPV6_DEADLINE: Duration = Duration::from_secs(10);

/// Commands of linux/ethtool.h that set offloads: segmentation (TSO, GSO), receive offload (GRO),
/// checksums of received and sent packets, and scattered buffers.
const OFFLOADS: [u32; 6] = [0x1f, 0x24, 0x2c, 0x15, 0x17, 0x19];

/// A new network namespace. It has no name in `/run/netns`: it ends when this value is dropped (or
/// this process ends) and no process or socket is left in it.
#[derive(Debug)]
pub struct Namespace {
    label: String,
    network: OwnedFd,
}

impl Namespace {
    /// Creates a namespace whose `lo` is up. The label is used in messages only.
    ///
    /// # Errors
    /// The kernel refuses it (without root and outside a user namespace), or `ip` is missing.
    pub fn new(label: &str) -> Result<Namespace, LabError> {
        let create = || -> io::Result<OwnedFd> {
            system::unshare_network()?;
            Ok(File::open("/proc/thread-self/ns/net")?.into())
        };
        let network = in_a_thread(create)
            .flatten()
            .map_err(|source| LabError::Namespace {
                kind: "network",
                source,
            })?;
        let namespace = Namespace {
            label: label.to_owned(),
            network,
        };
        namespace.ip(&["link set lo up"])?;
        Ok(namespace)
    }

    /// The namespace at a path: `/proc/1/fd/7`. The label is used in messages only.
    pub fn open(label: &str, path: &Path) -> Result<Namespace, LabError> {
        let file = File::open(path).map_err(LabError::system("open a network namespace"))?;
        Ok(Namespace {
            label: label.to_owned(),
            network: file.into(),
        })
    }

    /// Its label.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The same namespace, for another owner.
    pub fn try_clone(&self) -> Result<Namespace, LabError> {
        Ok(Namespace {
            label: self.label.clone(),
            network: self.descriptor()?,
        })
    }

    /// A descriptor of the namespace, for others that start programs in it. The namespace lives as
    /// long as the descriptor does.
    pub fn descriptor(&self) -> Result<OwnedFd, LabError> {
        self.network.try_clone().map_err(copying)
    }

    /// Runs a closure in this namespace, on a new thread. Sockets that it opens stay in this
    /// namespace.
    ///
    /// # Errors
    /// The thread could not start or could not enter the namespace.
    ///
    /// # Panics
    /// If the closure panics.
    pub fn run<T: Send>(&self, action: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        let enter_and_act = || {
            system::enter_network(self.network.as_fd())?;
            Ok(action())
        };
        in_a_thread(enter_and_act)
            .flatten()
            .map_err(LabError::system("enter a network namespace"))
    }

    /// Makes the program start in this namespace, which it keeps alive. Start it with
    /// [`crate::Lab::spawn`] if it should end with this process.
    pub fn enter_before_exec(&self, command: &mut Command) -> Result<(), LabError> {
        self.enter_with(command, Vec::new())
    }

    fn enter_with(&self, command: &mut Command, passed: Vec<OwnedFd>) -> Result<(), LabError> {
        let network = self.descriptor()?;
        system::start_in_network(command, network, passed);
        Ok(())
    }

    /// Runs commands of `ip` in this namespace, in one process: `addr add 10.0.0.1/24 dev eth0`.
    ///
    /// # Errors
    /// `ip` is missing, or it refuses a command; those before it have been executed.
    pub fn ip(&self, commands: &[&str]) -> Result<(), LabError> {
        self.batch("ip", commands, Vec::new())
    }

    /// Runs commands of `bridge` in this namespace, in one process.
    ///
    /// # Errors
    /// `bridge` is missing, or it refuses a command; those before it have been executed.
    pub fn bridge(&self, commands: &[&str]) -> Result<(), LabError> {
        self.batch("bridge", commands, Vec::new())
    }

    /// Runs a program of iproute2 with commands.
    fn batch(
        &self,
        program: &'static str,
        commands: &[&str],
        passed: Vec<OwnedFd>,
    ) -> Result<(), LabError> {
        let mut command = Command::new(program);
        command
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        self.enter_with(&mut command, passed)?;
        let missing = |source| LabError::Program {
            program,
            package: "iproute2",
            source,
        };
        let mut child = command.spawn().map_err(missing)?;
        if let Some(mut input) = child.stdin.take() {
            // The program ends at the first command that it refuses, and closes its input: its
            // output is the reason.
            let _ = writeln!(input, "{}", commands.join("\n"));
        }
        let output = child.wait_with_output().map_err(missing)?;
        if output.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&output.stderr);
        if message.contains("BusyBox") {
            return Err(LabError::BusyBox(program));
        }
        Err(LabError::Iproute {
            program,
            namespace: self.label.clone(),
            commands: commands.join("; "),
            message: message.trim().replace('\n', "; "),
        })
    }

    /// Switches off the offloads by which a device passes on segments longer than its MTU, and
    /// checksums that are not computed yet.
    ///
    /// # Errors
    /// There is no such device, or the kernel refuses it.
    pub fn switch_off_offloads(&self, device: &str) -> Result<(), LabError> {
        let switch_off = || -> io::Result<()> {
            let socket: OwnedFd = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?.into();
            for offload in OFFLOADS {
                system::switch_off(&socket, device, offload)?;
            }
            Ok(())
        };
        self.run(switch_off)?
            .map_err(LabError::system("switch off the offloads of a device"))
    }

    /// Joins two namespaces by a pair of virtual Ethernet devices. Both are down.
    pub fn join(&self, device: &str, other: &Namespace, peer: &str) -> Result<(), LabError> {
        // The program inherits the descriptor under the number it has here.
        let passed = other.network.try_clone().map_err(copying)?;
        let network = passed.as_raw_fd();
        let add = format!(
            "link add name {device} type veth peer name {peer} netns /proc/self/fd/{network}"
        );
        self.batch("ip", &[&add], vec![passed])
    }

    /// Sets kernel parameters of this namespace, by their names with dots:
    /// `net.ipv4.tcp_congestion_control`.
    ///
    /// # Errors
    /// There is no such parameter here, or the kernel refuses the value.
    pub fn sysctl(&self, values: &[(&str, &str)]) -> Result<(), LabError> {
        let write = || {
            for (key, value) in values {
                let path = format!("/proc/sys/{}", key.replace('.', "/"));
                fs::write(path, value).map_err(|source| LabError::Sysctl {
                    key: (*key).to_owned(),
                    value: (*value).to_owned(),
                    namespace: self.label.clone(),
                    source,
                })?;
            }
            Ok(())
        };
        self.run(write).flatten()
    }

    /// Waits until packets to an IPv6 address of this namespace are received. The kernel inserts
    /// the route for that some time after `ip addr add` has succeeded, also without duplicate
    /// address detection, and drops earlier packets.
    ///
    /// # Errors
    /// None within ten seconds, as for an address that is not of this namespace.
    pub fn wait_for_ipv6(&self, address: Ipv6Addr) -> Result<(), LabError> {
        let failed = LabError::system("use an IPv6 address");
        let wait = || {
            let start = Instant::now();
            loop {
                let routes = fs::read_to_string("/proc/thread-self/net/ipv6_route")?;
                if has_host_route(&routes, address) {
                    return Ok(());
                }
                if start.elapsed() > IPV6_DEADLINE {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                thread::sleep(Duration::from_millis(1));
            }
        };
        self.run(wait)?.map_err(failed)
    }

    /// Frames that the kernel dropped at a device of this namespace, in both directions, since it
    /// was created.
    pub fn dropped(&self, device: &str) -> Result<u64, LabError> {
        let read = || fs::read_to_string("/proc/thread-self/net/dev");
        let failed = LabError::system("read the counters of a device");
        let table = self.run(read)?.map_err(&failed)?;
        let count = dropped_in(&table, device);
        count.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.network.as_fd()
    }
}

fn copying(source: io::Error) -> LabError {
    LabError::system("copy the file descriptor of a namespace")(source)
}

/// The sum of the columns `drop` of received and of sent frames (proc_net_dev(5)).
fn dropped_in(table: &str, device: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() == device).then_some(counts)
    })?;
    let count = |column| line.split_whitespace().nth(column)?.parse::<u64>().ok();
    Some(count(3)? + count(11)?)
}

/// True if a table of IPv6 routes has one to this address alone. A line begins with the destination
/// and the length of its prefix, both in hexadecimal.
fn has_host_route(table: &str, address: Ipv6Addr) -> bool {
    let start = format!("{:032x} 80 ", u128::from(address));
    table.lines().any(|line| line.starts_with(&start))
}

/// Runs an action on a new thread, so that a namespace it enters is left with the thread.
fn in_a_thread<T: Send>(action: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("namespace".to_owned());
        let thread = thread.spawn_scoped(scope, action)?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_frames_of_a_device_are_those_of_both_directions() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
                     face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
                     lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
                     eth0:  1000      10    0    3    0     0          0         0     2000      20    0   40    0     0       0          0\n";
        assert_eq!(dropped_in(table, "eth0"), Some(43));
        assert_eq!(dropped_in(table, "lo"), Some(0));
        assert_eq!(dropped_in(table, "eth1"), None);
    }

    #[test]
    fn a_host_route_is_found_by_address_and_prefix() {
        let zeros = "0".repeat(32);
        let line = |prefix: &str| {
            let address = "20010002000000000000000000000001";
            format!(
                "{address} {prefix} {zeros} 00 {zeros} 00000000 00000002 00000000 80200001     eth0\n"
            )
        };
        let address = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
        assert!(has_host_route(&(line("40") + &line("80")), address));
        assert!(!has_host_route(&line("40"), address));
        assert!(!has_host_route(&line("80"), Ipv6Addr::LOCALHOST));
    }
}
