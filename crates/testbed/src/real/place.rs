//! Where a server is started: on loopback, or in a host of a laboratory.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Command;

use lab::{LabError, Namespace, Surroundings};

use super::port::Port;

/// A host of a laboratory.
#[derive(Debug)]
pub struct ServerPlace {
    /// Its network namespace.
    pub namespace: Namespace,
    /// The address at which servers listen there.
    pub address: IpAddr,
    /// Where its files are made; default: where this program makes temporary files.
    pub files: Option<PathBuf>,
}

impl ServerPlace {
    /// The host in which servers are started, of the laboratory around this program; `None` outside
    /// of laboratories. Servers listen at its first address of the version of IP that the
    /// laboratory has for them.
    pub fn around(surroundings: Option<&Surroundings>) -> Result<Option<ServerPlace>, LabError> {
        let Some(surroundings) = surroundings else {
            return Ok(None);
        };
        let name = surroundings.server_host.as_deref().ok_or_else(|| {
            LabError::Surroundings(
                "the laboratory has no host for servers; name one by `server_host` of its file, or by \
                 `prestan lab exec --server-host NAME`"
                    .to_owned(),
            )
        })?;
        let host = surroundings.host(name)?;
        let mut addresses = host.addresses.iter().copied();
        let address = addresses.find(|address| address.is_ipv6() == surroundings.is_ipv6);
        let none = || LabError::Surroundings(format!("the host `{name}` has no such address"));
        Ok(Some(ServerPlace {
            namespace: host.open()?,
            address: address.ok_or_else(none)?,
            files: None,
        }))
    }
}

/// The address at which a server listens.
pub(super) fn address_of(place: Option<&ServerPlace>) -> IpAddr {
    place.map_or(Ipv4Addr::LOCALHOST.into(), |place| place.address)
}

/// Reserves a port there.
pub(super) fn reserve(place: Option<&ServerPlace>) -> io::Result<Port> {
    let address = address_of(place);
    there(place, || Port::reserve(address))?
}

/// Does something there.
pub(super) fn there<T: Send>(
    place: Option<&ServerPlace>,
    action: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    match place {
        None => Ok(action()),
        Some(place) => place.namespace.run(action).map_err(io::Error::other),
    }
}

/// Makes a program start there, between fork and exec.
pub(super) fn enter(place: Option<&ServerPlace>, command: &mut Command) -> io::Result<()> {
    match place {
        None => Ok(()),
        Some(place) => {
            let entered = place.namespace.enter_before_exec(command);
            entered.map_err(io::Error::other)
        }
    }
}

/// This user namespace has a user and a group of these numbers. The first one has all; one that an
/// ordinary user made has only its root.
pub(super) fn has_user(uid: u32, gid: u32) -> bool {
    let has = |path: &str, id: u32| {
        let map = fs::read_to_string(path).unwrap_or_default();
        map.trim().is_empty() || is_mapped(&map, id)
    };
    has("/proc/self/uid_map", uid) && has("/proc/self/gid_map", gid)
}

/// A map has a number: its lines are the first number inside, the first outside, and how many there
/// are (user_namespaces(7)).
fn is_mapped(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let numbers = line.split_whitespace().map(|number| number.parse().ok());
        let numbers: Option<Vec<u64>> = numbers.collect();
        matches!(numbers.as_deref(), Some([inside, _, count])
            if (*inside..inside.saturating_add(*count)).contains(&u64::from(id)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_namespace_are_those_of_its_map() {
        let all = "         0          0 4294967295\n";
        assert!(is_mapped(all, 33) && is_mapped(all, 0));
        let one = "         0       1000          1\n";
        assert!(is_mapped(one, 0) && !is_mapped(one, 33));
        let two = "0 1000 1\n1 100000 65536\n";
        assert!(is_mapped(two, 33) && !is_mapped(two, 70_000));
        assert!(!is_mapped("odd", 0));
    }
}
