//! From options to a way to the server.

use std::sync::Arc;
use std::time::Duration;

use engine::{Family, Route, Settings, TlsOptions};
use wire::auth::{AuthScheme, Credentials};
use wire::target::Target;

use crate::args::{AuthArg, ConnectOptions, Login};
use crate::credentials::{self, Exposure};
use crate::exit::Failed;
use crate::output::tell;
use crate::state;

/// How the server is reached, and who we are.
pub(crate) struct Connection {
    pub(crate) target: Target,
    pub(crate) route: Route,
    pub(crate) tls: Arc<rustls::ClientConfig>,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) auth: AuthScheme,
    pub(crate) headers: Vec<(String, String)>,
}

/// Makes sense of the URL and the options; warns of a password that others can read.
pub(crate) fn connection(
    url: &str,
    login: &Login,
    options: &ConnectOptions,
) -> Result<Connection, Failed> {
    let mut target = Target::parse(url).map_err(|error| Failed::Usage(error.to_string()))?;
    let user_info = target.take_user_info();
    let (credentials, exposure) = credentials::find(login, options, user_info, target.host())?;
    if exposure == Exposure::ProcessList {
        tell(
            "prestan: warning: the password stands in the process list, where every user of this \
             machine can read it; better use --user with --password-file, or PRESTAN_PASSWORD",
        );
    }
    let route = match &options.unix_socket {
        Some(path) => Route::Unix(path.clone()),
        None => {
            let family = match (options.ipv4, options.ipv6) {
                (true, _) => Family::V4,
                (_, true) => Family::V6,
                _ => Family::Any,
            };
            engine::look_up(&target, family, &options.resolve).map_err(Failed::Target)?
        }
    };
    let tls = engine::tls_config(&TlsOptions {
        cacert: options.cacert.clone(),
        insecure: options.insecure,
        identity: options.cert.clone().zip(options.key.clone()),
    })
    .map_err(Failed::Usage)?;
    Ok(Connection {
        target,
        route,
        tls,
        credentials,
        auth: match options.auth {
            AuthArg::Auto => AuthScheme::Auto,
            AuthArg::Basic => AuthScheme::Basic,
            AuthArg::Digest => AuthScheme::Digest,
        },
        headers: options.header.clone(),
    })
}

/// The way to a server that we started ourselves: nothing the user says of others concerns it.
pub(crate) fn to_own_server(
    url: &str,
    credentials: Option<Credentials>,
) -> Result<Connection, Failed> {
    let target = Target::parse(url).map_err(|error| Failed::Local(error.to_string()))?;
    let route = engine::look_up(&target, Family::Any, &[]).map_err(Failed::Local)?;
    let tls = engine::tls_config(&TlsOptions::default()).map_err(Failed::Local)?;
    Ok(Connection {
        target,
        route,
        tls,
        credentials,
        auth: AuthScheme::Auto,
        headers: Vec::new(),
    })
}

impl Connection {
    /// Settings of one user who asks a few questions; a run has more to say.
    pub(crate) fn settings(self) -> Settings {
        Settings {
            target: self.target,
            route: self.route,
            tls: self.tls,
            credentials: self.credentials,
            auth: self.auth,
            headers: self.headers,
            run_id: state::new_run_id(),
            users: 1,
            warmup: 0,
            timeout: Duration::from_secs(60),
            seed: state::new_seed(),
            threads: 1,
        }
    }
}
