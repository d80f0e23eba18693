//! What a run needs to know beside its plan.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wire::auth::{AuthScheme, Credentials};
use wire::target::Target;

/// Everything about a run that is not in the plan.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The collection below which the run works.
    pub target: Target,
    /// How the server is reached.
    pub route: Route,
    /// TLS, used when the target is https.
    pub tls: Arc<rustls::ClientConfig>,
    /// Who we are.
    pub credentials: Option<Credentials>,
    /// How we say so.
    pub auth: AuthScheme,
    /// Sent with every request.
    pub headers: Vec<(String, String)>,
    /// Names the run.
    pub run_id: String,
    /// Users at work at the same time.
    pub users: u32,
    /// Times each user goes through a loop before measuring.
    pub warmup: u32,
    /// After which an operation without a complete answer is given up.
    pub timeout: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads the users are spread over.
    pub threads: u32,
}

/// How the server is reached.
#[derive(Debug, Clone)]
pub enum Route {
    /// These addresses, in order.
    Tcp(Vec<SocketAddr>),
    /// A local socket; the target only gives the Host header.
    Unix(PathBuf),
}

/// Which addresses of a host may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// All.
    #[default]
    Any,
    /// Only IPv4.
    V4,
    /// Only IPv6.
    V6,
}

impl Family {
    fn admits(self, address: &SocketAddr) -> bool {
        match self {
            Family::Any => true,
            Family::V4 => address.is_ipv4(),
            Family::V6 => address.is_ipv6(),
        }
    }
}

/// `--resolve HOST:PORT:ADDRESS`: this address for that host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Host name as in the URL.
    pub host: String,
    /// Port as in the URL.
    pub port: u16,
    /// Where it is.
    pub address: IpAddr,
}

/// Looks up the addresses of `target`, once for a run.
///
/// # Errors
/// A sentence that says what was looked up and what came back.
pub fn look_up(target: &Target, family: Family, resolve: &[Resolve]) -> Result<Route, String> {
    use std::net::ToSocketAddrs;
    let host = target.host();
    let port = target.port();
    let given = resolve
        .iter()
        .find(|resolve| resolve.host.eq_ignore_ascii_case(host) && resolve.port == port);
    let addresses: Vec<SocketAddr> = match given {
        Some(resolve) => vec![SocketAddr::new(resolve.address, port)],
        None => (host, port)
            .to_socket_addrs()
            .map_err(|error| format!("looking up the host {host} failed: {error}; check its name"))?
            .collect(),
    };
    let usable: Vec<SocketAddr> = addresses
        .iter()
        .copied()
        .filter(|address| family.admits(address))
        .collect();
    if usable.is_empty() {
        let wanted = match family {
            Family::V4 => "IPv4 ",
            Family::V6 => "IPv6 ",
            Family::Any => "",
        };
        return Err(format!("the host {host} has no {wanted}address"));
    }
    Ok(Route::Tcp(usable))
}
