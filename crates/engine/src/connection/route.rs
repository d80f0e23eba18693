//! The location of a server, and how requests reach it.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use record::Http;
use wire::auth::{AuthScheme, Authenticator, Credentials};
use wire::target::{Scheme, Target};

/// A collection and the route to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The collection.
    pub target: Target,
    /// Route to its server.
    pub route: Route,
    /// TLS, used when the target is https.
    pub tls: Arc<rustls::ClientConfig>,
    /// Credentials for it, and for no other.
    pub credentials: Option<Credentials>,
    /// Its name in a suite with several targets; `None` for the first, and if there is one.
    pub name: Option<String>,
}

impl Endpoint {
    /// Basic and Bearer send a secret in the clear, so it is sent before a challenge only if nobody
    /// on the path can read it, or if the user has chosen that scheme.
    pub(crate) fn authenticator(&self, auth: AuthScheme) -> Authenticator {
        let is_chosen = match &self.credentials {
            Some(Credentials::Bearer(_)) => auth == AuthScheme::Bearer,
            Some(Credentials::Password { .. }) | None => auth == AuthScheme::Basic,
        };
        let unasked = is_chosen || self.route.is_private(&self.target);
        Authenticator::new(self.credentials.clone(), auth, unasked)
    }
}

/// How requests are sent, to all servers.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Use of connections.
    pub connections: Http,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// Scheme of authentication.
    pub auth: AuthScheme,
    /// Time after which an operation without a complete response is aborted.
    pub timeout: Duration,
}

/// Route to a server.
#[derive(Debug, Clone)]
pub enum Route {
    /// These addresses, in order.
    Tcp(Vec<SocketAddr>),
    /// A local socket; the target only provides the Host header.
    Unix(PathBuf),
}

impl Route {
    /// True if nobody on the path to the target can read along: TLS, a local socket, loopback.
    pub fn is_private(&self, target: &Target) -> bool {
        let is_local = match self {
            Route::Unix(_) => true,
            Route::Tcp(addresses) => addresses.iter().all(|address| address.ip().is_loopback()),
        };
        is_local || target.scheme() == Scheme::Https
    }
}

/// Addresses of a host that may be used.
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

/// `--resolve HOST:PORT:ADDRESS`: this address for that host and port, or one of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Host name as in the URL.
    pub host: String,
    /// Port as in the URL.
    pub port: u16,
    /// The address.
    pub address: IpAddr,
}

/// Looks up the addresses of `target`, once for a run.
///
/// # Errors
/// A sentence with the name that was looked up and the result.
pub fn look_up(target: &Target, family: Family, resolve: &[Resolve]) -> Result<Route, String> {
    use std::net::ToSocketAddrs;
    let host = target.host();
    let port = target.port();
    let given = resolve
        .iter()
        .filter(|resolve| resolve.host.eq_ignore_ascii_case(host) && resolve.port == port);
    let given = given.map(|resolve| SocketAddr::new(resolve.address, port));
    let mut addresses: Vec<SocketAddr> = given.collect();
    if addresses.is_empty() {
        let found = (&*target.address(), port).to_socket_addrs();
        let failed = |error| format!("looking up the host {host} failed: {error}; check its name");
        addresses.extend(found.map_err(failed)?);
    }
    addresses.retain(|address| family.admits(address));
    if addresses.is_empty() {
        let wanted = match family {
            Family::V4 => "IPv4 ",
            Family::V6 => "IPv6 ",
            Family::Any => "",
        };
        return Err(format!("the host {host} has no {wanted}address"));
    }
    Ok(Route::Tcp(addresses))
}
