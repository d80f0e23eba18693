//! The other hosts as seen by a program in a laboratory: their namespaces and addresses.
//!
//! These are passed in environment variables, which programs pass on to those that they start. The
//! namespaces are paths below `/proc`, which need no descriptor to be inherited.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::LabError;
use crate::namespace::Namespace;

/// The hosts: `name=path,address,address;name=...`. A bare host has no path.
const HOSTS: &str = "PRESTAN_LAB_HOSTS";
/// The host in which the program is.
const HERE: &str = "PRESTAN_LAB_HOST";
/// The host in which it starts servers.
const SERVER_HOST: &str = "PRESTAN_LAB_SERVER_HOST";

/// The version of IP of servers, where it is not 4.
const SERVER_IP: &str = "PRESTAN_LAB_SERVER_IP";

/// The laboratory around a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The host in which it is.
    pub here: String,
    /// The host in which it starts servers.
    pub server_host: Option<String>,
    /// Servers listen at the IPv6 address of their host.
    pub is_ipv6: bool,
    /// All hosts and routers.
    pub hosts: Vec<SurroundingHost>,
}

/// A host or a router of the laboratory around a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurroundingHost {
    /// Its name.
    pub name: String,
    /// Path of its network namespace; none for a bare host, which runs no programs.
    pub path: Option<PathBuf>,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

impl Surroundings {
    /// Reads them from environment variables; `None` outside of laboratories.
    ///
    /// # Errors
    /// The variables were not set by a laboratory.
    pub fn read(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Surroundings>, LabError> {
        let (Some(hosts), Some(here)) = (variable(HOSTS), variable(HERE)) else {
            return Ok(None);
        };
        let hosts: Option<Vec<_>> = hosts.split(';').map(read_host).collect();
        let wrong = || LabError::Surroundings(format!("{HOSTS} is not what `prestan lab` sets"));
        Ok(Some(Surroundings {
            here,
            server_host: variable(SERVER_HOST).filter(|name| !name.is_empty()),
            is_ipv6: variable(SERVER_IP).is_some_and(|version| version == "6"),
            hosts: hosts.ok_or_else(wrong)?,
        }))
    }

    /// The host of a name.
    pub fn host(&self, name: &str) -> Result<&SurroundingHost, LabError> {
        let found = self.hosts.iter().find(|host| host.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
            LabError::Surroundings(format!(
                "no host of this laboratory is called `{name}`; there are {}",
                names.join(", ")
            ))
        })
    }

    /// Sets the variables of a program.
    pub fn set_variables(&self, command: &mut Command) {
        let hosts = self.hosts.iter().map(|host| {
            let addresses = host.addresses.iter().map(|address| format!(",{address}"));
            let addresses: String = addresses.collect();
            let path = host.path.as_deref().unwrap_or(Path::new(""));
            format!("{}={}{addresses}", host.name, path.display())
        });
        let hosts: Vec<String> = hosts.collect();
        command
            .env(HOSTS, hosts.join(";"))
            .env(HERE, &self.here)
            .env(SERVER_HOST, self.server_host.as_deref().unwrap_or_default())
            .env(SERVER_IP, if self.is_ipv6 { "6" } else { "4" });
    }
}

impl SurroundingHost {
    /// Opens its namespace.
    ///
    /// # Errors
    /// The laboratory has ended, or this program is not in it, or this is a bare host.
    pub fn open(&self) -> Result<Namespace, LabError> {
        let Some(path) = &self.path else {
            return Err(LabError::BareHost(self.name.clone()));
        };
        Namespace::open(&self.name, path).map_err(|error| {
            LabError::Surroundings(format!(
                "the host `{}` cannot be entered: {error}; is its laboratory still there?",
                self.name
            ))
        })
    }
}

fn read_host(text: &str) -> Option<SurroundingHost> {
    let (name, rest) = text.split_once('=')?;
    let mut parts = rest.split(',');
    let path = Some(parts.next()?).filter(|path| !path.is_empty());
    let addresses: Option<Vec<IpAddr>> = parts.map(|part| part.parse().ok()).collect();
    Some(SurroundingHost {
        name: name.to_owned(),
        path: path.map(Into::into),
        addresses: addresses?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_is_told_is_read() {
        let written = Surroundings {
            here: "client".to_owned(),
            server_host: Some("server".to_owned()),
            is_ipv6: true,
            hosts: ["client", "server"]
                .map(|name| SurroundingHost {
                    name: name.to_owned(),
                    path: (name == "client").then(|| "/proc/1/fd/7".into()),
                    addresses: vec!["198.18.0.1".parse().unwrap(), "2001:2::1".parse().unwrap()],
                })
                .to_vec(),
        };
        let mut command = Command::new("true");
        written.set_variables(&mut command);
        let text = |value: &std::ffi::OsStr| value.to_str().unwrap().to_owned();
        let variables: BTreeMap<String, String> = command
            .get_envs()
            .map(|(key, value)| (text(key), text(value.unwrap())))
            .collect();
        let read = |name: &str| variables.get(name).cloned();
        let found = Surroundings::read(read).unwrap().unwrap();
        assert_eq!(found, written);
        let server = found.host("server").unwrap();
        assert!(matches!(server.open(), Err(LabError::BareHost(name)) if name == "server"));
        let error = found.host("sever").unwrap_err().to_string();
        assert!(error.ends_with("there are client, server"), "{error}");
        assert_eq!(Surroundings::read(|_| None).unwrap(), None);
    }

    #[test]
    fn other_texts_are_refused() {
        for hosts in ["", "a", "a=/x,1.2.3", "a=,x", "a=/x;b"] {
            let read = |name: &str| match name {
                HOSTS => Some(hosts.to_owned()),
                HERE => Some("a".to_owned()),
                _ => None,
            };
            assert!(Surroundings::read(read).is_err(), "{hosts}");
        }
    }
}
