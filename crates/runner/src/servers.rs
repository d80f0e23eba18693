//! Servers under test: running ones, and those that are started here.

use std::slice;
use std::time::Duration;

use engine::{Cancel, LONGEST_RUN_ID, RefusedTarget, RunPlace};
use record::{HttpVersion, Processors};
use report::Incomplete;
use testbed::RealServer;
use testbed::real::{EndedServer, Recipe, StartError};
use wire::auth::{Credentials, Secret};
use wire::target::Target;

use crate::RunnerError;
use crate::access::{
    AccessRequest, RunRequest, labels_of, one_label, read_target, route_to_started,
    to_started_server,
};
use crate::inside::{InsideRequest, WatchedServer};
use crate::place::server_place;
use crate::state;
use crate::words::number_of;

/// Access to servers, and options that all runs of a series share.
pub struct RunWays {
    /// Access to servers.
    pub access: AccessRequest,
    /// Options of each run.
    pub run: RunRequest,
}

/// Servers at these URLs, and of these recipes.
pub fn tested_servers(
    urls: &[String],
    recipes: &[String],
) -> Result<Vec<TestedServer>, RunnerError> {
    let running = urls.iter().map(|url| TestedServer::at(url));
    let started = |text: &String| Ok(TestedServer::from_recipe(recipe(text)?));
    running.chain(recipes.iter().map(started)).collect()
}

/// Adds names for reports: to all servers, or to none.
pub fn labelled(
    mut servers: Vec<TestedServer>,
    labels: &[String],
) -> Result<Vec<TestedServer>, RunnerError> {
    let labels = labels_of(labels, servers.len())?;
    for (server, label) in servers.iter_mut().zip(labels) {
        server.label = label;
    }
    Ok(servers)
}

/// Adds a name for reports, if there is one.
pub fn one_labelled(
    mut server: TestedServer,
    labels: &[String],
) -> Result<TestedServer, RunnerError> {
    server.label = one_label(labels)?;
    Ok(server)
}

/// Adds the processes of running servers: of all, or of none.
pub fn with_pids(
    mut servers: Vec<TestedServer>,
    pids: &[u32],
) -> Result<Vec<TestedServer>, RunnerError> {
    let running = servers.iter_mut().filter(|server| !server.is_own());
    let running: Vec<&mut TestedServer> = running.collect();
    if !pids.is_empty() && pids.len() != running.len() {
        return Err(RunnerError::Usage(format!(
            "--pid is given {} for {} that run already; give it once for each of them, in the same order, and --inside for \
             servers that Prestan starts",
            number_of(pids.len(), "time"),
            number_of(running.len(), "server")
        )));
    }
    for (server, pid) in running.into_iter().zip(pids) {
        server.pids = vec![*pid];
    }
    Ok(servers)
}

/// Labels of the servers of a series, each with the names and URLs that it replaces.
pub struct AnonymousServers(Vec<(Option<String>, Vec<String>)>);

impl AnonymousServers {
    pub(crate) fn of(servers: &[TestedServer]) -> AnonymousServers {
        let known = |server: &TestedServer| (server.label.clone(), server.known_as());
        AnonymousServers(servers.iter().map(known).collect())
    }

    /// The reason why a series ended early, for reports.
    pub fn incomplete(&self, series: &'static str, why: &RunnerError) -> Incomplete {
        Incomplete {
            series,
            failure: match why {
                RunnerError::Interrupted(_) => None,
                why => Some(self.shown(&without_logs(why))),
            },
            place: None,
            not_measured: Vec::new(),
        }
    }

    /// A message for reports. It may name any of the servers, whichever was measured.
    pub fn shown(&self, text: &str) -> String {
        let labels = self.0.iter().flat_map(|(label, known_as)| {
            let names = known_as.iter().map(slice::from_ref);
            names.filter_map(|name| Some((label.as_deref()?, name)))
        });
        report::labelled_text(labels, text)
    }
}

/// Start of the logs of a server in a message.
const LOG_FOLLOWS: &str = "; its logs end with\n";

/// The first line of a failure, for a report: that of a server that ended also has the end of its
/// logs.
fn without_logs(why: &RunnerError) -> String {
    let why = why.to_string();
    why.split(LOG_FOLLOWS).next().unwrap_or_default().to_owned()
}

/// The failure of a server that was started here and ended by itself.
fn server_ended(name: &str, during: &str, ended: &EndedServer) -> RunnerError {
    let EndedServer { status, log } = ended;
    // Output of the server must not look like ours: each of its lines begins with the name of its
    // file.
    RunnerError::Target(format!(
        "{name} ended during {during} ({status}){LOG_FOLLOWS}{log}"
    ))
}

/// Longest suffix to the name of a series in the name of a run: `-z1000-traced`, `-999999`.
const LONGEST_END: usize = 14;

/// State of a server according to its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunsOfServer<'a> {
    /// No failures.
    Well,
    /// A failure; the directory of the run, if an error shall name it.
    Failed(Option<&'a str>),
    /// The run did not begin, or was interrupted: its error is known.
    NotBegun,
}

/// Time in which a server that a supervisor restarts accepts connections.
const IS_BACK_WITHIN: Duration = Duration::from_secs(1);

/// The early end of a server.
pub(crate) struct ServerEnd {
    /// The reason why no more can be measured there.
    pub(crate) why: RunnerError,
    /// Its URL, if leftovers of runs have gone with it.
    pub(crate) url: Option<String>,
}

/// Time from the last accepted connection of a server to its end.
const ENDS_WITHIN: Duration = Duration::from_millis(200);

/// The name of a series: the requested one, or a new one.
pub(crate) fn name_of(run_id: Option<&str>) -> Result<String, RunnerError> {
    match run_id {
        Some(name) if name.len() + LONGEST_END > LONGEST_RUN_ID => {
            Err(RunnerError::Usage(format!(
                "--run-id {name}: each run of a series has a number behind this name; give it {} \
             characters at most",
                LONGEST_RUN_ID - LONGEST_END
            )))
        }
        Some(name) if state::is_series(name) => Err(RunnerError::Usage(format!(
            "--run-id {name}: there are runs of this name; choose another one, or remove them: `prestan runs \
             remove {name}`"
        ))),
        Some(name) => Ok(name.to_owned()),
        None => Ok(state::new_run_id()),
    }
}

/// Description of what the runs of a series make on running servers.
pub(crate) fn collections(servers: &[TestedServer], name: &str) -> Option<String> {
    let targets = servers.iter().flat_map(|server| match &server.origin {
        ServerOrigin::Running(targets) => &targets[..],
        ServerOrigin::Own { .. } => &[],
    });
    let names = targets.map(|target| {
        let collections = engine::collection_name(&format!("{name}-"));
        format!("{}{collections}...", target.url())
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("what `prestan clean` finds of {}", names.join(" and ")))
}

/// A server under test. Dropping it stops the server if it was started here.
pub struct TestedServer {
    /// Its URL, without a password, its recipe, or the command that starts it.
    pub name: String,
    /// Name in reports.
    pub label: Option<String>,
    /// First processes of a running server that is looked into.
    pids: Vec<u32>,
    origin: ServerOrigin,
    /// Place of its runs, except for their differences; `None` until its address is known.
    place: Option<RunPlace>,
}

enum ServerOrigin {
    /// A running one, possibly with a password, and further URLs of it.
    Running(Vec<Target>),
    Own {
        recipe: Box<Recipe>,
        running: Option<Box<RealServer>>,
        /// A resource below its collection; `None`: the collection.
        path: Option<String>,
    },
}

impl TestedServer {
    /// A running server at this URL.
    fn at(url: &str) -> Result<TestedServer, RunnerError> {
        Ok(TestedServer::running(vec![read_target(url)?]))
    }

    /// A running server at the URLs of its resources, at least one, over which users are spread.
    pub fn running(targets: Vec<Target>) -> TestedServer {
        TestedServer {
            name: targets[0].url(),
            label: None,
            pids: Vec::new(),
            origin: ServerOrigin::Running(targets),
            place: None,
        }
    }

    /// A server that is started here.
    pub fn from_recipe(recipe: Recipe) -> TestedServer {
        TestedServer {
            name: recipe.name.clone(),
            label: None,
            pids: Vec::new(),
            origin: ServerOrigin::Own {
                recipe: Box::new(recipe),
                running: None,
                path: None,
            },
            place: None,
        }
    }

    /// Sets the resource that is measured on a server that is started here: `/index.html`.
    pub fn at_path(mut self, matching: &str) -> TestedServer {
        if let ServerOrigin::Own { path, .. } = &mut self.origin {
            *path = Some(matching.trim_start_matches('/').to_owned());
        }
        self
    }

    /// Sets the first processes of a server that is looked into.
    pub fn looked_into(self, pids: &[u32]) -> TestedServer {
        TestedServer {
            pids: pids.to_vec(),
            ..self
        }
    }

    /// HTTP version of a server that a recipe starts.
    pub fn version(&self) -> Option<HttpVersion> {
        match &self.origin {
            ServerOrigin::Own { recipe, .. } => Some(version_of(recipe)),
            ServerOrigin::Running(_) => None,
        }
    }

    /// The server is started here.
    pub fn is_own(&self) -> bool {
        matches!(self.origin, ServerOrigin::Own { .. })
    }

    /// Stops the server if it was started here.
    pub(crate) fn stop(&mut self) {
        if let ServerOrigin::Own { running, .. } = &mut self.origin {
            drop(running.take());
        }
    }

    /// Starts the server if it is to be started here, after stopping a running one.
    pub(crate) fn start(
        &mut self,
        processors: Option<&Processors>,
        cancel: &Cancel,
    ) -> Result<(), RunnerError> {
        // Before the next one starts, which may need the same port.
        self.stop();
        if let ServerOrigin::Own {
            recipe, running, ..
        } = &mut self.origin
        {
            let processors = processors.map_or(&[][..], |processor| &processor.server);
            let place = server_place()?;
            let is_cancelled = || cancel.is_cancelled();
            let server = RealServer::start_at(recipe, processors, place.as_ref(), &is_cancelled);
            let server = server.map_err(|error| not_started(&error))?;
            *running = Some(Box::new(server));
        }
        Ok(())
    }

    /// The reason why no more can be measured there: it was started here and has ended by itself,
    /// or it refuses connections. Leftovers of runs go with a server that was started here.
    pub(crate) fn ended(
        &mut self,
        during: &str,
        are_reported: impl Fn(&str) -> bool,
        seen: RunsOfServer<'_>,
    ) -> Option<ServerEnd> {
        let url = self.started_url();
        let place = self.place.as_ref();
        if let ServerOrigin::Own {
            running: Some(server),
            ..
        } = &mut self.origin
        {
            let is_doubtful =
                seen != RunsOfServer::Well || url.as_deref().is_some_and(are_reported);
            let refuses = |place| engine::refusal(place, Duration::ZERO).is_some();
            // A dying server refuses connections shortly before the system has its exit status.
            let within = if is_doubtful && place.is_none_or(refuses) {
                ENDS_WITHIN
            } else {
                Duration::ZERO
            };
            if let Some(ended) = server.ended(within) {
                return Some(ServerEnd {
                    why: server_ended(&self.name, during, &ended),
                    url,
                });
            }
        }
        let RunsOfServer::Failed(kept) = seen else {
            // The error of a run that did not begin is known.
            return None;
        };
        let RefusedTarget { url, why } = engine::refusal(place?, IS_BACK_WITHIN)?;
        let kept = kept.map(|path| format!("; `prestan report {path}` prints what it measured"));
        let kept = kept.unwrap_or_default();
        Some(ServerEnd {
            why: RunnerError::Target(format!(
                "{url} refuses connections after {during}: {why}{kept}"
            )),
            url: None,
        })
    }

    /// Finds the route to the server, or to its current process. Only the first time, warnings are
    /// logged and a password is read; all runs use the same address.
    pub(crate) fn find(&mut self, ways: &RunWays) -> Result<(), RunnerError> {
        self.place = Some(match self.place.take() {
            None => ways.run.place(self.reached(&ways.access)?)?,
            Some(place) => self.followed(&ways.access, place)?,
        });
        Ok(())
    }

    /// Route and credentials, as resolved now.
    fn reached(&self, access: &AccessRequest) -> Result<RunPlace, RunnerError> {
        match &self.origin {
            ServerOrigin::Own { path, .. } => self.started_access(path.as_deref(), access),
            ServerOrigin::Running(targets) => connections_to(targets, access),
        }
    }

    /// Place of its runs, except for their differences.
    pub(crate) fn place(&self) -> Result<&RunPlace, RunnerError> {
        let place = self.place.as_ref();
        place.ok_or_else(|| RunnerError::Local(format!("{} does not run", self.name)))
    }

    /// Its names in messages: name and URLs.
    fn known_as(&self) -> Vec<String> {
        let others = self.place.iter().flat_map(|known| &known.others);
        let others = others.map(|other| other.target.url());
        let names = std::iter::once(self.name.clone()).chain(self.started_url());
        names.chain(others).collect()
    }

    pub(crate) fn reported_name(&self) -> &String {
        self.label.as_ref().unwrap_or(&self.name)
    }

    /// Its processes, if they are to be looked into.
    pub(crate) fn watched(
        &self,
        asked: InsideRequest,
    ) -> Result<Option<WatchedServer>, RunnerError> {
        WatchedServer::of(asked, &self.pids, self.started_server())
    }

    /// Adds its access log, if it has the times of requests. The server must have been started for
    /// this run.
    pub(crate) fn with_log(&self, watched: WatchedServer) -> WatchedServer {
        match self.started_server() {
            Some(server) => watched.with_log(server),
            None => watched,
        }
    }

    /// The place of an earlier start, for the current process.
    fn followed(
        &self,
        access: &AccessRequest,
        mut place: RunPlace,
    ) -> Result<RunPlace, RunnerError> {
        if let ServerOrigin::Own { path, .. } = &self.origin {
            let server = self.under_way()?;
            let mut target = started_target(server, path.as_deref())?;
            target.take_user_info();
            place.endpoint.route = if server.recipe().is_command() {
                access.route(&target)?
            } else {
                route_to_started(&target)?
            };
            place.endpoint.target = target;
        }
        Ok(place)
    }

    /// Access according to the recipe, or to the options for a server started by a command.
    fn started_access(
        &self,
        path: Option<&str>,
        access: &AccessRequest,
    ) -> Result<RunPlace, RunnerError> {
        let server = self.under_way()?;
        let target = started_target(server, path)?;
        if server.recipe().is_command() {
            return access.at(target);
        }
        to_started_server(target, credentials_of(server), version_of(server.recipe()))
    }

    /// The server, if it was started here and runs.
    fn started_server(&self) -> Option<&RealServer> {
        match &self.origin {
            ServerOrigin::Own { running, .. } => running.as_deref(),
            ServerOrigin::Running(_) => None,
        }
    }

    fn started_url(&self) -> Option<String> {
        let target = started_target(self.started_server()?, None);
        Some(target.ok()?.url())
    }

    fn under_way(&self) -> Result<&RealServer, RunnerError> {
        let server = self.started_server();
        server.ok_or_else(|| RunnerError::Local(format!("{} does not run", self.name)))
    }
}

fn not_started(error: &StartError) -> RunnerError {
    match error {
        StartError::Cancelled => RunnerError::Interrupted(error.to_string()),
        _ => RunnerError::Target(error.to_string()),
    }
}

/// A place with routes to all of these.
fn connections_to(targets: &[Target], access: &AccessRequest) -> Result<RunPlace, RunnerError> {
    let mut ways = targets.iter().map(|target| access.at(target.clone()));
    let mut first = ways
        .next()
        .unwrap_or_else(|| unreachable!("there is one"))?;
    for way in ways {
        first.others.push(way?.endpoint);
    }
    Ok(first)
}

/// URL of a server that was started here.
fn started_target(server: &RealServer, path: Option<&str>) -> Result<Target, RunnerError> {
    let target = match path {
        Some(path) => Target::resource(&format!("{}{path}", server.url())),
        None => Target::parse(&server.url()),
    };
    target.map_err(|error| RunnerError::Local(error.to_string()))
}

/// Credentials of a server that was started here.
fn credentials_of(server: &RealServer) -> Option<Credentials> {
    let (user, password) = server.credentials()?;
    Some(Credentials::Password {
        user,
        password: Secret::new(password),
    })
}

/// HTTP version of a server that was started here.
fn version_of(recipe: &Recipe) -> HttpVersion {
    if recipe.is_http2 {
        HttpVersion::Http2
    } else {
        HttpVersion::Http11
    }
}

/// The recipe of that name, with its parameters.
///
/// # Errors
///
/// There is no such recipe, or it has no such parameter.
pub fn recipe(text: &str) -> Result<Recipe, RunnerError> {
    let recipe = Recipe::with_parameters(text);
    recipe.map_err(|error| RunnerError::Usage(format!("--server {text}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_no_logs_of_a_server_that_ended() {
        let ended = EndedServer {
            status: "signal: 9".to_owned(),
            log: "  output.log: Killed".to_owned(),
        };
        let why = server_ended("A", "run 3", &ended);
        assert!(why.to_string().ends_with(&ended.log), "{why}");
        assert_eq!(without_logs(&why), "A ended during run 3 (signal: 9)");
    }

    #[test]
    fn a_message_about_any_server_has_the_label_of_that_server() {
        let url = |url: &str| TestedServer::at(url).ok().unwrap().known_as();
        let known = ["nginx", "http://127.0.0.1:4711/"].map(str::to_owned);
        let store = url("http://ann@dav.example.org/store/");
        let labels = ["A", "B"].map(|label| Some(label.to_owned()));
        let servers = labels.into_iter().zip([store, known.to_vec()]);
        let servers = AnonymousServers(servers.collect());
        let shown = [
            ("nginx ended during run 3", "B ended during run 3"),
            (
                "dav.example.org: none; then nginx ended",
                "A: none; then B ended",
            ),
            ("at http://127.0.0.1:4711/x", "at B/x"),
            ("at http://dav.example.org/store/x", "at A/x"),
        ];
        for (text, wanted) in shown {
            assert_eq!(servers.shown(text), wanted);
        }
        let named = AnonymousServers(vec![(None, url("http://dav.example.org/"))]);
        assert_eq!(named.shown("at dav.example.org"), "at dav.example.org");
    }
}
