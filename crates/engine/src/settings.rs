//! What a run needs to know beside its plan.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use record::{Clock, Http, Pace, Processors};
use wire::auth::{AuthScheme, Authenticator, Credentials};
use wire::target::{Scheme, Target};

use crate::publish::Publish;
use crate::stamps;

/// Everything about a run that is not in the plan.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The collection below which the run works.
    pub target: Target,
    /// How the server is reached.
    pub route: Route,
    /// Further servers, or further ways to the same one: users are spread over all of them.
    pub others: Vec<Endpoint>,
    /// Put into the collection of the run before it measures.
    pub files: Vec<Publish>,
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
    /// Who decides when an operation begins. What follows is for a load run, where users do not
    /// go through the tests of a suite.
    pub pace: Pace,
    /// Operations of all users together.
    pub requests: Option<u64>,
    /// How long is measured in a closed loop.
    pub duration: Option<Duration>,
    /// The interval that is to become narrow enough; kept with the run, and judged by the
    /// [`Sink`](crate::Sink).
    pub until: Option<String>,
    /// Connections opened a second, over all users, before measuring begins.
    pub connect_rate: f64,
    /// How long before a planned moment waiting becomes spinning.
    pub spin: Duration,
    /// Times each user goes through a loop before measuring.
    pub warmup: u32,
    /// How long users of a load run do so at least.
    pub warmup_time: Duration,
    /// How long a user of a suite goes on warming up at most, beyond `warmup`, until its rounds get
    /// no quicker any more.
    pub steady_within: Duration,
    /// The server was started for this run.
    pub fresh_start: bool,
    /// The processors that worker threads and the server are kept to; `None` leaves it to the system.
    pub processors: Option<Processors>,
    /// After which an operation without a complete answer is given up.
    pub timeout: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Threads the users are spread over.
    pub threads: u32,
    /// Which clock it is timed with; [`choose_clock`] finds out what is possible.
    pub clock: Clock,
    /// Whether the kernel's stamps of acknowledgements are wanted as well.
    pub acks: bool,
    /// How connections are used.
    pub http: Http,
    /// Directory in which tokens of locks are kept while they are held, for `prestan clean`.
    pub lock_tokens: Option<PathBuf>,
    /// Operations of a load run come in the order of the suite, not drawn by their weights.
    pub in_turn: bool,
}

/// A collection and the way to it.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The collection.
    pub target: Target,
    /// How its server is reached.
    pub route: Route,
    /// TLS, used when the target is https.
    pub tls: Arc<rustls::ClientConfig>,
    /// Who we are there, and nowhere else.
    pub credentials: Option<Credentials>,
}

impl Endpoint {
    /// Basic and Bearer send a secret in the clear, so it is sent unasked only where nobody on the
    /// way can read it, or where the user has chosen that scheme.
    pub(crate) fn authenticator(&self, auth: AuthScheme) -> Authenticator {
        let is_chosen = match &self.credentials {
            Some(Credentials::Bearer(_)) => auth == AuthScheme::Bearer,
            Some(Credentials::Password { .. }) | None => auth == AuthScheme::Basic,
        };
        let unasked = is_chosen || self.route.is_private(&self.target);
        Authenticator::new(self.credentials.clone(), auth, unasked)
    }
}

impl Settings {
    /// All collections below which the run works.
    pub(crate) fn endpoints(&self) -> Vec<Endpoint> {
        let first = Endpoint {
            target: self.target.clone(),
            route: self.route.clone(),
            tls: Arc::clone(&self.tls),
            credentials: self.credentials.clone(),
        };
        let others = self.others.iter().cloned();
        std::iter::once(first).chain(others).collect()
    }
}

/// Which clock a run is to be timed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClockChoice {
    /// The kernel's where the system has stamps, else that of user space, with a warning.
    #[default]
    Auto,
    /// The kernel's, or none.
    Kernel,
    /// That of user space.
    User,
}

/// How the server is reached.
#[derive(Debug, Clone)]
pub enum Route {
    /// These addresses, in order.
    Tcp(Vec<SocketAddr>),
    /// A local socket; the target only gives the Host header.
    Unix(PathBuf),
}

impl Route {
    /// Whether nobody on the way to the target can read along: TLS, a local socket, loopback.
    pub fn is_private(&self, target: &Target) -> bool {
        let is_local = match self {
            Route::Unix(_) => true,
            Route::Tcp(addresses) => addresses.iter().all(|address| address.ip().is_loopback()),
        };
        is_local || target.scheme() == Scheme::Https
    }
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

/// The clock that a choice comes to on this route, with a warning where it is the second best.
///
/// # Errors
/// When the kernel's clock was asked for and cannot be had.
pub fn choose_clock(choice: ClockChoice, route: &Route) -> Result<(Clock, Option<String>), String> {
    let without_stamps = match (choice, route) {
        (ClockChoice::User, _) => return Ok((Clock::User, None)),
        (_, Route::Unix(_)) => "a local socket has no time stamps of the kernel".to_owned(),
        (_, Route::Tcp(_)) => match stamps::try_out() {
            Ok(()) => return Ok((Clock::Kernel, None)),
            Err(error) => format!("this system gives no time stamps of the kernel: {error}"),
        },
    };
    match choice {
        ClockChoice::Kernel => Err(format!(
            "{without_stamps}; use --clock user, or auto for the best there is"
        )),
        _ => Ok((
            Clock::User,
            Some(format!(
                "{without_stamps}; the clock of user space is used, which adds the time this \
                 machine needs to wake up"
            )),
        )),
    }
}
