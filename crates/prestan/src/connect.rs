//! Conversion of options to the access to a server.

use engine::{Family, TlsOptions};
use record::Http;
use runner::RunnerError;
use runner::access::{AccessRequest, CredentialRequest, RunRequest, read_header};
use runner::state;

use crate::args::{ClockOptions, ConnectOptions, Login, RunningOptions};

impl ConnectOptions {
    /// The requested access, without a login beside the URL.
    pub(crate) fn request(&self) -> Result<AccessRequest, RunnerError> {
        access(&Login::default(), self)
    }
}

pub(crate) fn access(
    login: &Login,
    options: &ConnectOptions,
) -> Result<AccessRequest, RunnerError> {
    // Not a parser of the command line, whose errors show the value: it may be a secret.
    let header = |text: &String| {
        read_header(text).map_err(|what| RunnerError::Usage(format!("--header: {what}")))
    };
    let identity = options.cert.clone().map(|cert| {
        let key = options.key.clone().unwrap_or_else(|| cert.clone());
        (cert, key)
    });
    Ok(AccessRequest {
        credentials: CredentialRequest {
            login: login.login_user.clone().zip(login.login_password.clone()),
            user: options.user.clone(),
            password_file: options.password_file.clone(),
            token_file: options.token_file.clone(),
            netrc: options.netrc,
            is_nobody: false,
        },
        auth: options.auth,
        unix_socket: options.unix_socket.clone(),
        family: match (options.ipv4, options.ipv6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        },
        resolve: options.resolve.clone(),
        tls: TlsOptions {
            cacert: options.cacert.clone(),
            insecure: options.insecure,
            identity,
        },
        connections: Http {
            version: options.http,
            full_handshakes: options.full_handshakes,
            addresses: options.addresses,
            haproxy_protocol: options.haproxy_protocol,
            ..Http::default()
        },
        headers: options
            .header
            .iter()
            .map(header)
            .collect::<Result<_, _>>()?,
        targets: options.targets.clone(),
    })
}

impl RunningOptions {
    pub(crate) fn request(&self, clock: ClockOptions) -> RunRequest {
        RunRequest {
            run_id: self.run_id.clone(),
            seed: self.seed.unwrap_or_else(state::new_seed),
            notes: self.notes.clone(),
            command: None,
            files: Vec::new(),
            threads: self.threads,
            timeout: self.timeout,
            is_http10: false,
            keep_alive: true,
            pipeline: 1,
            parallel: 1,
            nagle: self.nagle,
            two_writes: self.two_writes,
            clock: clock.clock,
            acks: clock.acks,
        }
    }
}
