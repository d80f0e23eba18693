//! From options to a way to the server.

use std::sync::Arc;

use engine::{Family, Route, TlsOptions};
use wire::auth::{AuthScheme, Credentials};
use wire::target::Target;

use crate::args::{AuthArg, ConnectOptions, Login};
use crate::credentials::{self, Exposure};
use crate::exit::Failed;

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
        eprintln!(
            "prestan: warning: the password stands in the process list, where every user of this \
             machine can read it; better use --user with --password-file, or PRESTAN_PASSWORD"
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
