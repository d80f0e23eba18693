//! Servers that Prestan starts. The comments on fields are the texts of `--help`.

use clap::Args;
use record::HttpVersion;
use runner::RunnerError;
use runner::servers::{TestedServer, recipe};
use runner::words::may_be_url;
use testbed::real::Recipe;
use wire::redact::redacted_target;
use wire::target::Target;

use super::{ConnectOptions, connecting};

/// One server that is started, measured and stopped.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server that Prestan starts")]
pub(crate) struct ServerOptions {
    /// Start this server (see `prestan servers`), measure it, stop it
    ///
    /// A command that measures a single resource takes a path on it instead of a URL: /index.html.
    #[arg(long, value_name = "NAME", conflicts_with_all = connecting())]
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) start: StartOptions,
}

/// Servers that are started, measured and stopped.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server that Prestan starts")]
pub(crate) struct ServersOptions {
    /// Start this server (see `prestan servers`), measure it, stop it; once for each server
    ///
    /// Parameters follow the name, separated by commas: program=PATH, arg=ARGUMENT, env.NAME=VALUE,
    /// and file.NAME=PATH for one of its configuration files. `prestan compare --server apache
    /// --server apache,program=/opt/httpd/bin/httpd` compares two builds.
    #[arg(long, value_name = "NAME", conflicts_with_all = connecting())]
    pub(crate) server: Vec<String>,
}

/// A server that a command starts.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server that Prestan starts")]
pub(crate) struct StartOptions {
    /// Start a server by this command, measure it, stop it
    ///
    /// A shell runs the command in the current directory; it must stay in the foreground and end on
    /// SIGTERM. In the command, {{ port }} is a free port, {{ storage }} a new directory that is
    /// removed with the server, and {{ dir }} the parent of that directory. The server is at
    /// http://127.0.0.1:{{ port }}/.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["server", "unix_socket"])]
    pub(crate) start: Option<String>,
}

impl StartOptions {
    /// The server of the command, under this name.
    pub(crate) fn tested(
        &self,
        connect: &ConnectOptions,
    ) -> Result<Option<TestedServer>, RunnerError> {
        let start = self.start.as_ref();
        let tested =
            |command: &String| command_server("--start", "server", (command, None), connect);
        start.map(tested).transpose()
    }
}

/// URL of a server that is not started yet, for its paths.
const NOT_STARTED: &str = "http://localhost";

impl ServerOptions {
    /// True if a server is to be started.
    pub(crate) fn is_given(&self) -> bool {
        self.server.is_some() || self.start.start.is_some()
    }

    /// The server to start, if any.
    pub(crate) fn tested(
        &self,
        connect: &ConnectOptions,
    ) -> Result<Option<TestedServer>, RunnerError> {
        match &self.server {
            Some(name) => Ok(Some(TestedServer::from_recipe(recipe(name)?))),
            None => self.start.tested(connect),
        }
    }

    /// The words of a request, `METHOD URL`; if a server is to be started, a path replaces the URL.
    pub(crate) fn words(&self, mut words: Vec<String>) -> Result<Vec<String>, RunnerError> {
        if !self.is_given() {
            return Ok(words);
        }
        let path = match words.last() {
            Some(word) if word.starts_with('/') => words.pop().unwrap_or_default(),
            _ => "/".to_owned(),
        };
        match &words[..] {
            [] => {}
            [method] if !may_be_url(method) => {}
            [.., url] => {
                return Err(RunnerError::Usage(format!(
                    "`{}` is given, and a server that is to be started; write a path on it, /index.html for example",
                    redacted_target(url)
                )));
            }
        }
        words.push(format!("{NOT_STARTED}{path}"));
        Ok(words)
    }

    /// The server of the requests for that target: the one to start, or that of the target.
    pub(crate) fn serving(
        &self,
        target: Target,
        connect: &ConnectOptions,
    ) -> Result<TestedServer, RunnerError> {
        let Some(server) = self.tested(connect)? else {
            return Ok(TestedServer::running(vec![target]));
        };
        if !target.url().starts_with(NOT_STARTED) {
            return Err(RunnerError::Usage(format!(
                "{} is listed, and a server that is to be started; list paths on it, /index.html for example",
                target.url()
            )));
        }
        Ok(match target.path() {
            "/" => server,
            path => server.at_path(path),
        })
    }
}

/// A server started by the command of that option, under this name; with its URL, unless it is at a
/// free port.
pub(crate) fn command_server(
    option: &str,
    name: &str,
    (command, url): (&str, Option<&str>),
    connect: &ConnectOptions,
) -> Result<TestedServer, RunnerError> {
    let mut recipe = Recipe::of_command(name, command, url);
    if recipe.lacks_port() {
        return Err(RunnerError::Usage(format!(
            "{option}: the command has no {{{{ port }}}}, so the server cannot listen where it is measured; put it into the \
             command, or give the URL of the server"
        )));
    }
    let checked = recipe.check();
    checked.map_err(|why| RunnerError::Usage(format!("{option}: {why}")))?;
    recipe.is_http2 = connect.http == HttpVersion::Http2;
    Ok(TestedServer::from_recipe(recipe))
}
