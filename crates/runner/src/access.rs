//! How servers are reached, as whom, and with which settings.

mod credentials;
mod headers;

use std::path::PathBuf;
use std::time::Duration;

use engine::{
    ClockChoice, Drive, Endpoint, Family, HttpOptions, Resolve, Rounds, Route, Settings, TlsOptions,
};
use record::{Clock, Http, HttpVersion, NoteRecord};
use wire::auth::{AuthScheme, Credentials};
use wire::target::Target;

use crate::error::RunnerError;
use crate::state;
use credentials::Exposure;

pub use credentials::CredentialRequest;
pub use headers::read_header;

/// How long one of a few requests may take; a run has its own limit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How servers are to be reached, and as whom.
#[derive(Clone, Default)]
pub struct AccessRequest {
    /// Who is to be authenticated.
    pub credentials: CredentialRequest,
    /// How.
    pub auth: AuthScheme,
    /// A local socket in place of an address.
    pub unix_socket: Option<PathBuf>,
    /// Which addresses of a host may be used.
    pub family: Family,
    /// Addresses of hosts, in place of those that the resolver has.
    pub resolve: Vec<Resolve>,
    /// Certificates, and whether sessions are resumed.
    pub tls: TlsOptions,
    /// How connections are used.
    pub connections: Http,
    /// Headers that are sent with every request.
    pub headers: Vec<(String, String)>,
    /// Further targets of a suite: name and URL.
    pub targets: Vec<(String, String)>,
}

/// How the server is reached, and who we are.
pub struct ServerAccess {
    /// The server.
    pub endpoint: Endpoint,
    /// Further targets of a suite.
    pub others: Vec<Endpoint>,
    /// What all requests have in common.
    pub http: HttpOptions,
}

impl AccessRequest {
    /// The access to a server: looks its host up, and reads credentials and certificates. Warns of a password that
    /// others can read.
    ///
    /// # Errors
    ///
    /// One of these is not there or is invalid.
    pub fn at(&self, target: Target) -> Result<ServerAccess, RunnerError> {
        let other = |(name, url): &(String, String)| -> Result<Endpoint, RunnerError> {
            Ok(Endpoint {
                name: Some(name.clone()),
                ..self.endpoint(read_target(url)?)?
            })
        };
        Ok(ServerAccess {
            endpoint: self.endpoint(target)?,
            others: self.targets.iter().map(other).collect::<Result<_, _>>()?,
            http: HttpOptions {
                connections: self.connections,
                headers: self.headers.clone(),
                auth: self.auth,
                timeout: TIMEOUT,
            },
        })
    }

    /// The way to one of the servers.
    fn endpoint(&self, mut target: Target) -> Result<Endpoint, RunnerError> {
        let user_info = target.take_user_info();
        let (credentials, exposure) =
            credentials::find(&self.credentials, user_info, target.host())?;
        if exposure == Exposure::ProcessList {
            log::warn!(
                "the password stands in the process list, where every user of this machine can read it; better \
                 use --user with --password-file, or PRESTAN_PASSWORD"
            );
        }
        let route = self.route(&target)?;
        let is_token = matches!(credentials, Some(Credentials::Bearer(_)));
        if is_token && self.auth != AuthScheme::Bearer && !route.is_private(&target) {
            log::info!(
                "the token is sent over plain HTTP to {} only if the server asks for it; --auth bearer sends it \
                 with every request, readable by everyone on the way",
                target.authority()
            );
        }
        let tls = engine::tls_config(&self.tls, target.scheme()).map_err(RunnerError::Usage)?;
        Ok(Endpoint {
            target,
            route,
            tls,
            credentials,
            name: None,
        })
    }

    /// How connections get to a target.
    ///
    /// # Errors
    ///
    /// Its host has no address.
    pub fn route(&self, target: &Target) -> Result<Route, RunnerError> {
        match &self.unix_socket {
            Some(path) => Ok(Route::Unix(path.clone())),
            None => {
                engine::look_up(target, self.family, &self.resolve).map_err(RunnerError::Target)
            }
        }
    }
}

/// A URL of a server.
///
/// # Errors
///
/// It is none.
pub fn read_target(url: &str) -> Result<Target, RunnerError> {
    Target::parse(url).map_err(|error| RunnerError::Usage(error.to_string()))
}

/// The way to a server that we started ourselves: nothing the user says of others concerns it.
pub(crate) fn to_own_server(
    target: Target,
    credentials: Option<Credentials>,
    version: HttpVersion,
) -> Result<ServerAccess, RunnerError> {
    let route = route_to_own(&target)?;
    let tls =
        engine::tls_config(&TlsOptions::default(), target.scheme()).map_err(RunnerError::Local)?;
    Ok(ServerAccess {
        endpoint: Endpoint {
            target,
            route,
            tls,
            credentials,
            name: None,
        },
        others: Vec::new(),
        http: HttpOptions {
            connections: Http {
                version,
                ..Http::default()
            },
            headers: Vec::new(),
            auth: AuthScheme::Auto,
            timeout: TIMEOUT,
        },
    })
}

/// How connections get to such a server.
pub(crate) fn route_to_own(target: &Target) -> Result<Route, RunnerError> {
    engine::look_up(target, Family::Any, &[]).map_err(RunnerError::Local)
}

/// The label of a run of one server.
pub(crate) fn one_label(labels: &[String]) -> Result<Option<String>, RunnerError> {
    match labels {
        [] => Ok(None),
        [label] => Ok(Some(label.clone())),
        several => Err(RunnerError::Usage(format!(
            "--label is given {} times, and one server is measured; give it once",
            several.len()
        ))),
    }
}

/// The label of each of so many servers: of all, or of none.
pub fn labels_of(labels: &[String], servers: usize) -> Result<Vec<Option<String>>, RunnerError> {
    if labels.is_empty() {
        return Ok(vec![None; servers]);
    }
    if labels.len() != servers {
        return Err(RunnerError::Usage(format!(
            "--label is given {} times for {servers} servers; give one for each, in their order",
            labels.len()
        )));
    }
    Ok(labels.iter().cloned().map(Some).collect())
}

/// What holds for a run, whatever it does.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Its name; `None`: one is generated.
    pub run_id: Option<String>,
    /// Seed of all random numbers; `None`: a random one.
    pub seed: Option<u64>,
    /// Notes for the report.
    pub notes: Vec<NoteRecord>,
    /// Worker threads.
    pub threads: u32,
    /// How long an operation may take.
    pub timeout: Duration,
    /// Whether Nagle's algorithm is on.
    pub nagle: bool,
    /// Whether head and body of a request are sent in two writes.
    pub two_writes: bool,
    /// The clock that times it.
    pub clock: ClockChoice,
    /// Whether it is recorded when requests were acknowledged.
    pub acks: bool,
}

impl RunRequest {
    /// The clock that can be had on this route; warns where it is the second best.
    fn clock_on(&self, route: &Route) -> Result<Clock, RunnerError> {
        let (clock, warning) =
            engine::choose_clock(self.clock, route).map_err(RunnerError::Usage)?;
        if let Some(warning) = warning {
            log::warn!("{warning}");
        }
        if self.acks && clock == Clock::User {
            return Err(RunnerError::Usage(
                "--acks needs the kernel's time stamps, and there are none".to_owned(),
            ));
        }
        Ok(clock)
    }
}

impl ServerAccess {
    /// Settings of a run; what it does is still to be said.
    ///
    /// # Errors
    ///
    /// The clock cannot be had, or the connections contradict the request.
    pub(crate) fn settings_of_run(self, request: RunRequest) -> Result<Settings, RunnerError> {
        let clock = request.clock_on(&self.endpoint.route)?;
        let mut settings = self.settings();
        let connections = &mut settings.http.connections;
        (connections.nagle, connections.two_writes) = (request.nagle, request.two_writes);
        if request.two_writes && connections.version == HttpVersion::Http2 {
            return Err(RunnerError::Usage(
                "--two-writes is about HTTP/1: with HTTP/2, head and body are frames of one stream; leave out one \
                 of --two-writes and --http 2"
                    .to_owned(),
            ));
        }
        Ok(Settings {
            run_id: request.run_id.unwrap_or_else(state::new_run_id),
            seed: request.seed.unwrap_or_else(state::new_seed),
            notes: request.notes,
            threads: request.threads,
            http: HttpOptions {
                timeout: request.timeout,
                ..settings.http
            },
            clock,
            acks: request.acks,
            ..settings
        })
    }

    /// Settings of one user who sends a few requests; a run has more to say.
    pub fn settings(self) -> Settings {
        Settings {
            run_id: state::new_run_id(),
            seed: state::new_seed(),
            http: self.http,
            endpoint: self.endpoint,
            others: self.others,
            files: Vec::new(),
            lock_tokens: state::lock_tokens(),
            made_files: state::made_files(),
            users: 1,
            threads: 1,
            drive: Drive::Rounds(Rounds::default()),
            clock: Clock::User,
            acks: false,
            start_place: None,
            beside: Vec::new(),
            background: None,
            inside: None,
            processors: None,
            command: None,
            notes: Vec::new(),
            label: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests over a local socket, for which no host is looked up.
    fn over_a_socket(user: Option<&str>) -> AccessRequest {
        AccessRequest {
            credentials: CredentialRequest {
                user: user.map(str::to_owned),
                ..CredentialRequest::default()
            },
            unix_socket: Some("/run/dav".into()),
            targets: vec![("other".to_owned(), "http://b:pw-b@h:81/x/".to_owned())],
            ..AccessRequest::default()
        }
    }

    fn user_of(endpoint: &Endpoint) -> Option<&str> {
        match &endpoint.credentials {
            Some(Credentials::Password { user, .. }) => Some(user),
            _ => None,
        }
    }

    #[test]
    fn each_target_has_its_own_credentials_unless_a_user_is_named() {
        let target = || read_target("http://a:pw-a@h/dav/").unwrap();
        let access = over_a_socket(None).at(target()).unwrap();
        assert_eq!(access.endpoint.target.url(), "http://h/dav/");
        assert_eq!(user_of(&access.endpoint), Some("a"));
        let [other] = &access.others[..] else {
            panic!("{} others", access.others.len());
        };
        assert_eq!(other.name.as_deref(), Some("other"));
        assert_eq!(
            (other.target.url(), user_of(other)),
            ("http://h:81/x/".to_owned(), Some("b"))
        );

        let access = over_a_socket(Some("c:pw-c")).at(target()).unwrap();
        let all = [&access.endpoint, &access.others[0]];
        assert_eq!(all.map(user_of), [Some("c"), Some("c")]);
    }

    #[test]
    fn labels_are_for_all_servers_or_for_none() {
        let labels = ["one".to_owned(), "two".to_owned()];
        assert_eq!(labels_of(&[], 2).unwrap(), [None, None]);
        assert_eq!(labels_of(&labels, 2).unwrap(), labels.clone().map(Some));
        assert!(labels_of(&labels, 3).is_err());
        assert_eq!(one_label(&labels[..1]).unwrap().as_deref(), Some("one"));
        assert!(one_label(&labels).is_err());
    }
}
