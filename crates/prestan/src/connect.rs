//! From options to a way to the server.

use std::time::Duration;

use engine::{
    ClockChoice, Drive, Endpoint, Family, HttpOptions, Rounds, Route, Settings, TlsOptions,
};
use record::{Clock, Http, HttpVersion};
use runner::RunnerError;
use runner::state;
use wire::auth::{AuthScheme, Credentials};
use wire::target::Target;

use crate::args::{
    AuthArg, ClockArg, ClockOptions, ConnectOptions, Login, RunningOptions, TlsResumptionArg,
};
use crate::credentials::{self, Exposure};
use crate::output::tell;

/// How long one of a few requests may take; a run has its own limit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How the server is reached, and who we are.
pub(crate) struct ServerAccess {
    pub(crate) endpoint: Endpoint,
    /// Further targets of a suite.
    pub(crate) others: Vec<Endpoint>,
    pub(crate) http: HttpOptions,
}

/// Makes sense of the URL and the options; warns of a password that others can read.
pub(crate) fn connection(
    url: &str,
    login: &Login,
    options: &ConnectOptions,
) -> Result<ServerAccess, RunnerError> {
    let target = Target::parse(url).map_err(|error| RunnerError::Usage(error.to_string()))?;
    connection_to(target, login, options)
}

/// The same for a target that may be any resource.
pub(crate) fn connection_to(
    target: Target,
    login: &Login,
    options: &ConnectOptions,
) -> Result<ServerAccess, RunnerError> {
    let other = |(name, url): &(String, String)| -> Result<Endpoint, RunnerError> {
        let target = Target::parse(url).map_err(|why| RunnerError::Usage(why.to_string()))?;
        Ok(Endpoint {
            name: Some(name.clone()),
            ..endpoint(target, login, options)?
        })
    };
    let headers = options
        .header
        .iter()
        .map(|text| header(text).map_err(|what| RunnerError::Usage(format!("--header: {what}"))))
        .collect::<Result<_, _>>()?;
    Ok(ServerAccess {
        endpoint: endpoint(target, login, options)?,
        others: options
            .targets
            .iter()
            .map(other)
            .collect::<Result<_, _>>()?,
        http: HttpOptions {
            connections: Http {
                version: options.http.into(),
                full_handshakes: has_full_handshakes(options),
                addresses: options.addresses.into(),
                haproxy_protocol: options.haproxy_protocol,
                ..Http::default()
            },
            headers,
            auth: scheme(options),
            timeout: TIMEOUT,
        },
    })
}

fn has_full_handshakes(options: &ConnectOptions) -> bool {
    options.tls_resumption == TlsResumptionArg::Off
}

fn scheme(options: &ConnectOptions) -> AuthScheme {
    match options.auth {
        AuthArg::Auto => AuthScheme::Auto,
        AuthArg::Basic => AuthScheme::Basic,
        AuthArg::Digest => AuthScheme::Digest,
        AuthArg::Bearer => AuthScheme::Bearer,
    }
}

/// The way to one of the servers.
fn endpoint(
    mut target: Target,
    login: &Login,
    options: &ConnectOptions,
) -> Result<Endpoint, RunnerError> {
    let user_info = target.take_user_info();
    let (credentials, exposure) = credentials::find(login, options, user_info, target.host())?;
    if exposure == Exposure::ProcessList {
        tell(
            "prestan: warning: the password stands in the process list, where every user of this \
             machine can read it; better use --user with --password-file, or PRESTAN_PASSWORD",
        );
    }
    let route = route(&target, options)?;
    let is_token = matches!(credentials, Some(Credentials::Bearer(_)));
    if is_token && scheme(options) != AuthScheme::Bearer && !route.is_private(&target) {
        tell(&format!(
            "prestan: the token is sent over plain HTTP to {} only if the server asks for it; \
             --auth bearer sends it with every request, readable by everyone on the way",
            target.authority()
        ));
    }
    let identity = options.cert.clone().map(|cert| {
        let key = options.key.clone().unwrap_or_else(|| cert.clone());
        (cert, key)
    });
    let options_of_tls = TlsOptions {
        cacert: options.cacert.clone(),
        insecure: options.insecure,
        identity,
        without_resumption: has_full_handshakes(options),
    };
    let tls = engine::tls_config(&options_of_tls, target.scheme()).map_err(RunnerError::Usage)?;
    Ok(Endpoint {
        target,
        route,
        tls,
        credentials,
        name: None,
    })
}

/// How connections get there.
pub(crate) fn route(target: &Target, options: &ConnectOptions) -> Result<Route, RunnerError> {
    if let Some(path) = &options.unix_socket {
        return Ok(Route::Unix(path.clone()));
    }
    let family = match (options.ipv4, options.ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    };
    engine::look_up(target, family, &options.resolve).map_err(RunnerError::Target)
}

/// The clock that can be had on this route; warns where it is the second best.
pub(crate) fn clock(options: ClockOptions, route: &Route) -> Result<Clock, RunnerError> {
    let choice = match options.clock {
        ClockArg::Auto => ClockChoice::Auto,
        ClockArg::Kernel => ClockChoice::Kernel,
        ClockArg::User => ClockChoice::User,
    };
    let (clock, warning) = engine::choose_clock(choice, route).map_err(RunnerError::Usage)?;
    if let Some(warning) = warning {
        tell(&format!("prestan: warning: {warning}"));
    }
    if options.acks && clock == Clock::User {
        return Err(RunnerError::Usage(
            "--acks needs the kernel's time stamps, and there are none".to_owned(),
        ));
    }
    Ok(clock)
}

/// Headers that make another request of a request; sent with every one, they could lead a run out
/// of its collection. Those that a suite writes, or must not write, are refused as well.
const CHANGING_HEADERS: &[&str] = &["if", "lock-token"];

/// Whether a header is written for each request, or would change what it does.
fn is_reserved(name: &str) -> bool {
    let keyed = suite::KEYED_HEADERS.iter().map(|(header, _)| header);
    suite::OWN_HEADERS
        .iter()
        .chain(keyed)
        .chain(suite::METHOD_HEADERS)
        .chain(CHANGING_HEADERS)
        .any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// Reads a `--header`. Not as the command line is parsed, which shows what it refuses: a value may
/// be a secret.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write 'Name: value'")?;
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Err(format!("`{name}` is no header name"));
    }
    if is_reserved(name) {
        let instead = match name.to_ascii_lowercase().as_str() {
            "authorization" => "; give credentials with --user, --token-file or --netrc",
            "depth" => "; `prestan load` has --depth",
            "host" => "; give the name in the URL and the address with --resolve",
            name if suite::METHOD_HEADERS.contains(&name) => {
                "; it makes a request with another method of each one"
            }
            _ => "; write it in a suite, for the requests that need it",
        };
        return Err(format!("{name} cannot be sent with every request{instead}"));
    }
    if value.chars().any(char::is_control) {
        return Err("a header value has no control characters".to_owned());
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// The way to a server that we started ourselves: nothing the user says of others concerns it.
pub(crate) fn to_own_server(
    url: &str,
    credentials: Option<Credentials>,
    version: HttpVersion,
) -> Result<ServerAccess, RunnerError> {
    let target = Target::parse(url).map_err(|error| RunnerError::Local(error.to_string()))?;
    let route = engine::look_up(&target, Family::Any, &[]).map_err(RunnerError::Local)?;
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

/// The label of a run of one server.
fn one_label(labels: &[String]) -> Result<Option<String>, RunnerError> {
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
pub(crate) fn labels_of(
    labels: &[String],
    servers: usize,
) -> Result<Vec<Option<String>>, RunnerError> {
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

impl ServerAccess {
    /// Settings of a run; what it does is still to be said.
    pub(crate) fn settings_of_run(
        self,
        running: &RunningOptions,
        clock_options: ClockOptions,
    ) -> Result<Settings, RunnerError> {
        let run_id = running.run_id.clone();
        let acks = clock_options.acks;
        let clock = clock(clock_options, &self.endpoint.route)?;
        let mut settings = self.settings();
        let connections = &mut settings.http.connections;
        (connections.nagle, connections.two_writes) = (running.nagle, running.two_writes);
        if running.two_writes && connections.version == HttpVersion::Http2 {
            return Err(RunnerError::Usage(
                "--two-writes is about HTTP/1: with HTTP/2, head and body are frames of one stream; leave out one \
                 of --two-writes and --http 2"
                    .to_owned(),
            ));
        }
        Ok(Settings {
            run_id: run_id.unwrap_or_else(state::new_run_id),
            seed: running.seed.unwrap_or_else(state::new_seed),
            notes: running.notes.clone(),
            label: one_label(&running.label)?,
            threads: running.threads,
            http: HttpOptions {
                timeout: running.timeout,
                ..settings.http
            },
            clock,
            acks,
            ..settings
        })
    }

    /// Settings of one user who sends a few requests; a run has more to say.
    pub(crate) fn settings(self) -> Settings {
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
