//! Credentials: where user, password and token come from, kept out of all messages.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use wire::auth::{Credentials, Secret, netrc_entry};

use crate::error::RunnerError;

const PASSWORD: &str = "PRESTAN_PASSWORD";

/// How other users of this machine could read the password or token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exposure {
    None,
    /// In the process list, because it stands on the command line.
    ProcessList,
}

/// Sources of user, password and token.
#[derive(Clone, Default)]
pub struct CredentialRequest {
    /// User and password, as they stand on the command line.
    pub login: Option<(String, String)>,
    /// A user, or USER:PASSWORD.
    pub user: Option<String>,
    /// A file with the password in its first line; `-` is standard input.
    pub password_file: Option<PathBuf>,
    /// A file with a Bearer token in its first line; `-` is standard input.
    pub token_file: Option<PathBuf>,
    /// Credentials are in a netrc file.
    pub netrc: bool,
    /// No credentials at all: the server was started by Prestan, and options about other servers do
    /// not apply.
    pub is_nobody: bool,
}

/// Finds the credentials: command line, URL, netrc, environment, in this order.
pub(super) fn find(
    request: &CredentialRequest,
    url_user: Option<(String, Option<String>)>,
    host: &str,
) -> Result<(Option<Credentials>, Exposure), RunnerError> {
    if request.is_nobody {
        return Ok((None, Exposure::None));
    }
    if let Some((user, password)) = &request.login {
        return Ok((Some(password_of(user, password)), Exposure::ProcessList));
    }
    if let Some(user) = &request.user {
        return named(user, request, Exposure::ProcessList);
    }
    if let Some(file) = &request.token_file {
        return Ok((
            Some(Credentials::Bearer(Secret::new(first_line(file)?))),
            Exposure::None,
        ));
    }
    match url_user {
        Some((user, Some(password))) => {
            return Ok((Some(password_of(&user, &password)), Exposure::ProcessList));
        }
        Some((user, None)) => {
            return Ok((
                Some(password_of(&user, &password(request)?)),
                Exposure::None,
            ));
        }
        None => {}
    }
    if request.netrc {
        return Ok((Some(from_netrc(host)?), Exposure::None));
    }
    from_environment(request)
}

/// The environment comes last: it is not about this server in particular.
fn from_environment(
    request: &CredentialRequest,
) -> Result<(Option<Credentials>, Exposure), RunnerError> {
    if let Some(user) = variable("PRESTAN_USER")? {
        return named(&user, request, Exposure::None);
    }
    let password = match &request.password_file {
        Some(_) => Some("--password-file"),
        None => variable(PASSWORD)?.map(|_| PASSWORD),
    };
    if let Some(password) = password {
        return Err(RunnerError::Usage(format!(
            "{password} gives a password, and there is no user for it; add --user NAME, or set PRESTAN_USER"
        )));
    }
    let Some(token) = variable("PRESTAN_TOKEN")? else {
        return Ok((None, Exposure::None));
    };
    let token = token.trim();
    if token.is_empty() || token.chars().any(char::is_control) {
        return Err(RunnerError::Usage(
            "PRESTAN_TOKEN is empty or has control characters in it".to_owned(),
        ));
    }
    Ok((
        Some(Credentials::Bearer(Secret::new(token.to_owned()))),
        Exposure::None,
    ))
}

/// A variable of the environment, if set; its value is in no message.
fn variable(name: &str) -> Result<Option<String>, RunnerError> {
    let text = env::var_os(name).map(OsString::into_string).transpose();
    text.map_err(|_| RunnerError::Usage(format!("{name} is set to bytes that are no UTF-8")))
}

/// A user, or USER:PASSWORD, with the exposure of its source.
fn named(
    user: &str,
    request: &CredentialRequest,
    exposure: Exposure,
) -> Result<(Option<Credentials>, Exposure), RunnerError> {
    match user.split_once(':') {
        Some((user, password)) => Ok((Some(password_of(user, password)), exposure)),
        None => Ok((Some(password_of(user, &password(request)?)), Exposure::None)),
    }
}

fn password_of(user: &str, password: &str) -> Credentials {
    Credentials::Password {
        user: user.to_owned(),
        password: Secret::new(password.to_owned()),
    }
}

fn password(request: &CredentialRequest) -> Result<String, RunnerError> {
    if let Some(file) = &request.password_file {
        return first_line(file);
    }
    variable(PASSWORD)?.ok_or_else(|| {
        RunnerError::Usage(
            "a user without a password; give it with --password-file FILE (- is standard input) \
             or in the environment variable PRESTAN_PASSWORD (for the number of concurrent users: --concurrency)"
                .to_owned(),
        )
    })
}

fn first_line(file: &Path) -> Result<String, RunnerError> {
    if file.as_os_str() == "-" {
        // Every server needs it, and it can be read only once.
        static STANDARD_INPUT: OnceLock<Result<String, String>> = OnceLock::new();
        let line = STANDARD_INPUT.get_or_init(|| secret_in(io::stdin()));
        return line
            .clone()
            .map_err(|what| unreadable("standard input", &what));
    }
    let name = file.display().to_string();
    let opened = fs::File::open(file).map_err(|error| unreadable(&name, &error.to_string()))?;
    secret_in(opened).map_err(|what| unreadable(&name, &what))
}

fn unreadable(name: &str, what: &str) -> RunnerError {
    RunnerError::Usage(format!("reading {name} failed: {what}"))
}

fn secret_in(source: impl Read) -> Result<String, String> {
    let mut line = String::new();
    BufReader::new(source.take(64 * 1024))
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    let secret = line.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        Err("its first line is empty".to_owned())
    } else {
        Ok(secret.to_owned())
    }
}

fn from_netrc(host: &str) -> Result<Credentials, RunnerError> {
    let path = match env::var_os("NETRC") {
        Some(path) => path.into(),
        None => env::home_dir().unwrap_or_default().join(".netrc"),
    };
    let text = fs::read_to_string(&path).map_err(|error| {
        RunnerError::Usage(format!("reading {} failed: {error}", path.display()))
    })?;
    let (user, password) = netrc_entry(&text, host).ok_or_else(|| {
        RunnerError::Usage(format!(
            "{} has no entry with login and password for {host}",
            path.display()
        ))
    })?;
    Ok(password_of(user, password))
}
