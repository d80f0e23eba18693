//! Resolution of host names by programs of a laboratory: those of the laboratory come first.
//!
//! The C library queries the cache of nscd first, and then the sources of `/etc/nsswitch.conf`, in
//! that order. Resolvers of other languages read the same files. So these files are covered by
//! others for the programs, and nscd is hidden.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use topology::LabNetwork;

use crate::error::LabError;
use crate::processes::Cover;
use crate::scratch::ScratchDirectory;

/// Names of hosts and their addresses (hosts(5)).
const HOSTS: &str = "/etc/hosts";
/// Sources of the C library, by kind of name (nsswitch.conf(5)). Without it, these are files and
/// then DNS.
const NAME_SERVICES: &str = "/etc/nsswitch.conf";
/// Directories of nscd's socket; most systems have one directory under both names.
const CACHES: [&str; 2] = ["/var/run/nscd", "/run/nscd"];

/// Files that programs of a laboratory see in the place of those of the machine.
pub(crate) fn covers(
    network: &LabNetwork,
    scratch: &ScratchDirectory,
) -> Result<Vec<Cover>, LabError> {
    let hosts = match fs::read(HOSTS) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LabError::NoHostNames(missing_file(Path::new(HOSTS))));
        }
        // A file that this user may not read is not read by the user's programs either.
        Err(_) => String::new(),
    };
    let cover = |covering: PathBuf, covered: &str| Cover {
        covering,
        covered: covered.into(),
    };
    let mut covers = vec![cover(
        scratch.write("hosts", &host_names(network, &hosts))?,
        HOSTS,
    )];
    if let Ok(bytes) = fs::read(NAME_SERVICES) {
        let services = name_services(&String::from_utf8_lossy(&bytes));
        covers.push(cover(
            scratch.write("nsswitch.conf", &services)?,
            NAME_SERVICES,
        ));
    }
    let caches: BTreeSet<PathBuf> = CACHES
        .iter()
        .filter_map(|covered| fs::canonicalize(covered).ok())
        .filter(|covered| covered.is_dir())
        .collect();
    for covered in caches {
        let covering = scratch.directory("no-nscd")?;
        covers.push(Cover { covering, covered });
    }
    Ok(covers)
}

/// The file that has to exist so that a path leads to one: the path itself, or the end of its
/// links.
fn missing_file(path: &Path) -> PathBuf {
    let mut missing = path.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&missing) else {
            break;
        };
        missing = missing.parent().unwrap_or(Path::new("/")).join(target);
    }
    missing
}

/// The hosts of a network, and those of the machine that have other names.
fn host_names(network: &LabNetwork, machine: &str) -> String {
    let mut names = String::new();
    let mut lab_names = BTreeSet::new();
    for node in &network.nodes {
        let addresses = node
            .interfaces
            .iter()
            .flat_map(|interface| &interface.addresses);
        for address in addresses {
            names += &format!("{} {}\n", address.ip, node.name);
            lab_names.insert(node.name.to_ascii_lowercase());
        }
    }
    for line in machine.lines() {
        let entry = line.split('#').next().unwrap_or_default();
        let mut words = entry.split_whitespace();
        let Some(address) = words.next() else {
            continue;
        };
        let others: Vec<&str> = words
            .filter(|name| !lab_names.contains(&name.to_ascii_lowercase()))
            .collect();
        if !others.is_empty() {
            names += &format!("{address} {}\n", others.join(" "));
        }
    }
    names
}

/// Name services of the machine, of which those for hosts are files and, for names that they do not
/// have, DNS.
fn name_services(machine: &str) -> String {
    let is_of_hosts = |line: &&str| line.trim_start().starts_with("hosts:");
    let others = machine.lines().filter(|line| !is_of_hosts(line));
    let others: String = others.map(|line| format!("{line}\n")).collect();
    format!("{others}hosts: files dns\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_laboratory_are_first_and_have_no_other_address() {
        let text = "hosts: {client: {}, Server: {}}\nlinks: [{ends: [client, Server]}]";
        let network = LabNetwork::parse("x", text).unwrap();
        let machine = "# of this machine\n127.0.0.1\tlocalhost server # and more\n127.0.1.1 server\n\
                       ::1 ip6-localhost SERVER.example.org\n192.0.2.1\n";
        let expected = "198.18.0.1 Server\n2001:2::1 Server\n198.18.0.2 client\n2001:2::2 client\n\
                        127.0.0.1 localhost\n::1 ip6-localhost SERVER.example.org\n";
        assert_eq!(host_names(&network, machine), expected);
    }

    #[test]
    fn hosts_are_looked_up_in_files_first() {
        let machine = "passwd: files\n hosts: resolve [!UNAVAIL=return] files dns\nnetworks: files";
        let expected = "passwd: files\nnetworks: files\nhosts: files dns\n";
        assert_eq!(name_services(machine), expected);
    }
}
