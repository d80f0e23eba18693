//! How servers are reached, with which credentials.

mod credentials;
mod headers;

use std::path::PathBuf;
use std::time::Duration;

use engine::{
    ClockChoice, Endpoint, Family, HttpOptions, Publish, Resolve, Route, RunPlace, TlsOptions,
};
use record::{Clock, Http, HttpVersion, NoteRecord};
use wire::auth::{AuthScheme, Credentials};
use wire::target::Target;

use crate::error::RunnerError;
use crate::state;
use credentials::Exposure;

pub use credentials::CredentialRequest;
pub use headers::read_header;

/// Time limit of one request, where only a few are sent; a run has its own limit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Route, credentials and connection options for all servers of a command.
#[derive(Clone, Default)]
pub struct AccessRequest {
    /// User and password, or token.
    pub credentials: CredentialRequest,
    /// Scheme of authentication.
    pub auth: AuthScheme,
    /// A local socket in place of an address.
    pub unix_socket: Option<PathBuf>,
    /// Which addresses of a host may be used.
    pub family: Family,
    /// Addresses of hosts, in place of those that the resolver has.
    pub resolve: Vec<Resolve>,
    /// Certificates.
    pub tls: TlsOptions,
    /// How connections are used.
    pub connections: Http,
    /// Headers that are sent with every request.
    pub headers: Vec<(String, String)>,
    /// Further targets of a suite: name and URL.
    pub targets: Vec<(String, String)>,
}

impl AccessRequest {
    /// A place for a few requests of one user: looks up the host, and reads credentials and
    /// certificates. Warns of a password that other users can read.
    ///
    /// # Errors
    ///
    /// One of these does not exist or is invalid.
    pub fn at(&self, target: Target) -> Result<RunPlace, RunnerError> {
        let other = |(name, url): &(String, String)| -> Result<Endpoint, RunnerError> {
            Ok(Endpoint {
                name: Some(name.clone()),
                ..self.endpoint(read_target(url)?)?
            })
        };
        let endpoint = self.endpoint(target)?;
        let http = HttpOptions {
            connections: self.connections,
            headers: self.headers.clone(),
            auth: self.auth,
            timeout: TIMEOUT,
        };
        let others = self.targets.iter().map(other).collect::<Result<_, _>>()?;
        Ok(place_of(endpoint, others, http))
    }

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

/// Parses the URL of a server.
///
/// # Errors
///
/// The text is not such a URL.
pub fn read_target(url: &str) -> Result<Target, RunnerError> {
    Target::parse(url).map_err(|error| RunnerError::Usage(error.to_string()))
}

/// An endpoint for a server that Prestan started: options about other servers do not apply.
pub(crate) fn to_started_server(
    target: Target,
    credentials: Option<Credentials>,
    version: HttpVersion,
) -> Result<RunPlace, RunnerError> {
    let tls = engine::tls_config(&TlsOptions::default(), target.scheme());
    let endpoint = Endpoint {
        route: route_to_started(&target)?,
        tls: tls.map_err(RunnerError::Local)?,
        target,
        credentials,
        name: None,
    };
    let http = HttpOptions {
        connections: Http {
            version,
            ..Http::default()
        },
        headers: Vec::new(),
        auth: AuthScheme::Auto,
        timeout: TIMEOUT,
    };
    Ok(place_of(endpoint, Vec::new(), http))
}

/// The place from which one user sends a few requests to these endpoints.
fn place_of(endpoint: Endpoint, others: Vec<Endpoint>, http: HttpOptions) -> RunPlace {
    RunPlace {
        endpoint,
        others,
        http,
        files: Vec::new(),
        lock_tokens: state::lock_tokens(),
        made_files: state::made_files(),
        threads: 1,
        clock: Clock::User,
        acks: false,
        inside: None,
        processors: None,
    }
}

pub(crate) fn route_to_started(target: &Target) -> Result<Route, RunnerError> {
    engine::look_up(target, Family::Any, &[]).map_err(RunnerError::Local)
}

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

/// A label for each of `servers` servers: for all, or for none.
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

/// Options of any run, whatever it measures.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Name of the run; `None`: one is generated.
    pub run_id: Option<String>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Notes for the report.
    pub notes: Vec<NoteRecord>,
    /// The command line, where reports repeat it, with redacted credentials.
    pub command: Option<String>,
    /// Files that are put into the collection of the run before it measures.
    pub files: Vec<Publish>,
    /// Worker threads.
    pub threads: u32,
    /// Time limit of an operation.
    pub timeout: Duration,
    /// Requests are HTTP/1.0, whatever version the server is configured for.
    pub is_http10: bool,
    /// A connection is used for more than one operation.
    pub keep_alive: bool,
    /// Most requests in flight on one connection.
    pub pipeline: u32,
    /// Connections of one user, for the files of a page.
    pub parallel: u32,
    /// Nagle's algorithm is on.
    pub nagle: bool,
    /// Head and body of a request are sent in two writes.
    pub two_writes: bool,
    /// Clock of the run.
    pub clock: ClockChoice,
    /// Records when requests were acknowledged.
    pub acks: bool,
}

impl RunRequest {
    /// The best clock available on this route; warns where it is the second best.
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

    /// The place of a run that reaches its servers by `reached`.
    ///
    /// # Errors
    ///
    /// The clock is not available, or the connections contradict the request.
    pub(crate) fn place(&self, reached: RunPlace) -> Result<RunPlace, RunnerError> {
        let clock = self.clock_on(&reached.endpoint.route)?;
        let usual = reached.http.connections;
        let version = if self.is_http10 {
            HttpVersion::Http10
        } else {
            usual.version
        };
        if self.two_writes && version == HttpVersion::Http2 {
            return Err(RunnerError::Usage(
                "--two-writes is about HTTP/1: with HTTP/2, head and body are frames of one stream; leave out one \
                 of --two-writes and --http 2"
                    .to_owned(),
            ));
        }
        Ok(RunPlace {
            http: HttpOptions {
                connections: Http {
                    version,
                    keep_alive: self.keep_alive,
                    pipeline: self.pipeline,
                    parallel: self.parallel,
                    nagle: self.nagle,
                    two_writes: self.two_writes,
                    ..usual
                },
                timeout: self.timeout,
                ..reached.http
            },
            files: self.files.clone(),
            threads: self.threads,
            clock,
            acks: self.acks,
            ..reached
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests over a local socket, which needs no host.
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
