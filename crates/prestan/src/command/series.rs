//! Runs of a series: each is kept, none has a report of its own.

mod progress;

use std::slice;
use std::time::Duration;

use engine::{Cancel, LONGEST_RUN_ID, Settings};
use record::Processors;
use runner::RunnerError;
use runner::access::{ServerAccess, labels_of, to_own_server};
use runner::inside::{InsideRequest, WatchedServer};
use runner::place::server_place;
use runner::state;
use testbed::RealServer;
use testbed::real::{EndedServer, Recipe};
use wire::target::Target;

use crate::args::{
    ClockOptions, ConnectOptions, InsideOptions, LoadOptions, Login, RunningOptions,
};
use crate::command::run::{credentials_of, recipe, settings, version_of};
use crate::connect::{connection, route};
use crate::output::number_of;
use crate::signals::{Interruptible, on_interrupt};

pub(crate) use progress::SeriesProgress;

/// A series of runs of these servers: what all of them have in common.
pub(crate) struct RunSeries {
    /// The names of its runs begin with it.
    pub(crate) name: String,
    pub(crate) servers: Vec<TestedServer>,
    /// Those that the servers which run now, and what measures them, are kept to.
    pub(crate) processors: Option<Processors>,
    /// What Ctrl-C ends.
    pub(crate) cancel: Cancel,
    _interruptible: Interruptible,
}

/// Servers at these URLs, and those of these recipes.
pub(crate) fn tested_servers(
    urls: &[String],
    recipes: &[String],
) -> Result<Vec<TestedServer>, RunnerError> {
    let running = urls.iter().map(|url| TestedServer::at(url));
    let own = |text: &String| Ok(TestedServer::of_recipe(recipe(text)?));
    running.chain(recipes.iter().map(own)).collect()
}

/// The same servers, called so in reports: all of them, or none.
pub(crate) fn labelled(
    mut servers: Vec<TestedServer>,
    labels: &[String],
) -> Result<Vec<TestedServer>, RunnerError> {
    let labels = labels_of(labels, servers.len())?;
    for (server, label) in servers.iter_mut().zip(labels) {
        server.label = label;
    }
    Ok(servers)
}

/// The same servers; those that run already have these processes: all of them, or none.
pub(crate) fn with_pids(
    mut servers: Vec<TestedServer>,
    pids: &[u32],
) -> Result<Vec<TestedServer>, RunnerError> {
    let running: Vec<&mut TestedServer> = servers
        .iter_mut()
        .filter(|server| !server.is_own())
        .collect();
    if !pids.is_empty() && pids.len() != running.len() {
        return Err(RunnerError::Usage(format!(
            "--pid is given {} for {} that run already; give it once for each of them, in the same order, and --inside for \
             servers that Prestan starts",
            number_of(pids.len(), "time"),
            number_of(running.len(), "server")
        )));
    }
    for (server, pid) in running.into_iter().zip(pids) {
        server.pid = Some(*pid);
    }
    Ok(servers)
}

impl RunSeries {
    /// For these servers; those that are to be started are, in this order, on these processors. Ctrl-C is looked after
    /// before they are.
    pub(crate) fn of(
        mut servers: Vec<TestedServer>,
        run_id: Option<&str>,
        processors: Option<Processors>,
        order: &[usize],
    ) -> Result<RunSeries, RunnerError> {
        let name = name_of(run_id)?;
        let cancel = Cancel::default();
        let interruptible = on_interrupt(cancel.clone(), collections(&servers, &name))?;
        for place in order {
            servers[*place].start(processors.as_ref())?;
            if cancel.is_cancelled() {
                let why = "interrupted before anything was measured";
                return Err(RunnerError::Interrupted(why.to_owned()));
            }
        }
        Ok(RunSeries {
            name,
            servers,
            processors,
            cancel,
            _interruptible: interruptible,
        })
    }

    /// Stops all servers that were started here, and starts them again in this order, on these processors.
    pub(crate) fn start_anew(
        &mut self,
        processors: Option<Processors>,
        order: &[usize],
    ) -> Result<(), RunnerError> {
        self.processors = processors;
        self.servers.iter_mut().for_each(TestedServer::stop);
        let mut order = order.iter();
        order.try_for_each(|place| self.servers[*place].start(self.processors.as_ref()))
    }

    /// How its servers are known, for what reports say of them.
    pub(crate) fn anonymous(&self) -> AnonymousServers {
        let known = |server: &TestedServer| (server.label.clone(), server.known_as());
        AnonymousServers(self.servers.iter().map(known).collect())
    }

    /// Why the series ends with the runs of this number: a server that was started here has ended by itself.
    /// Of the others, what these runs could not remove there is named.
    pub(crate) fn ended_server(
        &mut self,
        run: usize,
        shown: &SeriesProgress,
    ) -> Option<RunnerError> {
        let servers = self.servers.iter_mut();
        let ended = servers.filter_map(|server| server.ended(run, shown));
        let (gone, reasons): (Vec<String>, Vec<RunnerError>) = ended.unzip();
        shown.tell_left_behind(&gone);
        reasons.into_iter().next()
    }
}

/// The labels of the servers of a series, each with the names and URLs of its server.
pub(crate) struct AnonymousServers(Vec<(Option<String>, Vec<String>)>);

impl AnonymousServers {
    /// A message as reports may show it. It may be about any of the servers, whichever was measured when it arose.
    pub(crate) fn shown(&self, text: &str) -> String {
        let labels = self.0.iter().flat_map(|(label, known_as)| {
            let names = known_as.iter().map(slice::from_ref);
            names.filter_map(|name| Some((label.as_deref()?, name)))
        });
        report::labelled_text(labels, text)
    }
}

/// Before the end of the logs of a server.
pub(crate) const LOG_FOLLOWS: &str = "; its logs end with\n";

/// The failure of a server that was started here and ended by itself meanwhile.
pub(crate) fn server_ended(name: &str, during: &str, ended: &EndedServer) -> RunnerError {
    let EndedServer { status, log } = ended;
    // What it wrote must not pass for a line of ours: each of its lines begins with the name of its file.
    RunnerError::Target(format!(
        "{name} ended during {during} ({status}){LOG_FOLLOWS}{log}"
    ))
}

/// Longest end that the name of a run gets behind that of its series: `-z1000-traced`, `-999999`.
const LONGEST_END: usize = 14;

/// Time from the last connection that a server accepts to its end.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_millis(200);

/// The name of a series: the one that was asked for, or a new one.
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

/// What the runs of a series make on servers that are not ours.
fn collections(servers: &[TestedServer], name: &str) -> Option<String> {
    let is_running = |server: &&TestedServer| matches!(server.origin, ServerOrigin::Url(_));
    let names = servers.iter().filter(is_running).map(|server| {
        let collections = engine::collection_name(&format!("{name}-"));
        format!("{}{collections}...", server.name)
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("what `prestan clean` finds of {}", names.join(" and ")))
}

/// A server that is to be measured. It is stopped when this goes, if it was started here.
pub(crate) struct TestedServer {
    /// Its URL, without a password, its recipe, or the command that starts it.
    pub(crate) name: String,
    /// What reports call it instead.
    pub(crate) label: Option<String>,
    /// Its first process, where one that runs already is to be looked into.
    pid: Option<u32>,
    origin: ServerOrigin,
}

/// How it is reached.
enum ServerOrigin {
    /// As it was typed, maybe with a password.
    Url(String),
    Own {
        recipe: Box<Recipe>,
        running: Option<Box<RealServer>>,
    },
}

impl TestedServer {
    /// One that runs, by its URL.
    fn at(url: &str) -> Result<TestedServer, RunnerError> {
        let target = Target::parse(url).map_err(|error| RunnerError::Usage(error.to_string()))?;
        Ok(TestedServer {
            name: target.url(),
            label: None,
            pid: None,
            origin: ServerOrigin::Url(url.to_owned()),
        })
    }

    /// One that is started here.
    pub(crate) fn of_recipe(recipe: Recipe) -> TestedServer {
        TestedServer {
            name: recipe.name.clone(),
            label: None,
            pid: None,
            origin: ServerOrigin::Own {
                recipe: Box::new(recipe),
                running: None,
            },
        }
    }

    /// Whether it is started here.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.origin, ServerOrigin::Own { .. })
    }

    /// Stops it, if it was started here.
    fn stop(&mut self) {
        if let ServerOrigin::Own { running, .. } = &mut self.origin {
            drop(running.take());
        }
    }

    /// Starts it, if it is to be started here; one that runs already is stopped first.
    pub(crate) fn start(&mut self, processors: Option<&Processors>) -> Result<(), RunnerError> {
        // Before the next one starts, which may want the same port.
        self.stop();
        if let ServerOrigin::Own { recipe, running } = &mut self.origin {
            let processors = processors.map_or(&[][..], |own| &own.server);
            let place = server_place()?;
            let server = RealServer::start_at(recipe, processors, place.as_ref());
            let server = server.map_err(|error| RunnerError::Target(error.to_string()))?;
            *running = Some(Box::new(server));
        }
        Ok(())
    }

    /// Its URL, and why no more can be measured there, if it was started here and has ended by itself.
    fn ended(&mut self, run: usize, shown: &SeriesProgress) -> Option<(String, RunnerError)> {
        let ServerOrigin::Own { running, .. } = &mut self.origin else {
            return None;
        };
        let server = running.as_mut()?;
        let url = own_target(server).ok()?.url();
        // It refuses connections a little before the system has its exit status.
        let within = if shown.has_left_behind(&url) {
            ENDS_WITHIN
        } else {
            Duration::ZERO
        };
        let ended = server.ended(within)?;
        Some((url, server_ended(&self.name, &format!("run {run}"), &ended)))
    }

    /// How its runs are to be done, but for what differs between them. Called once for each server:
    /// warnings are printed once, a password is read once, and all runs go to the same address.
    pub(crate) fn settings(
        &self,
        connect: &ConnectOptions,
        load: &LoadOptions,
        clock: ClockOptions,
    ) -> Result<Settings, RunnerError> {
        let connection = match &self.origin {
            ServerOrigin::Own { running, .. } => self.own_connection(running.as_deref(), connect),
            ServerOrigin::Url(url) => connection(url, &Login::default(), connect),
        };
        let load = LoadOptions {
            running: RunningOptions {
                label: self.label.iter().cloned().collect(),
                ..load.running.clone()
            },
            ..load.clone()
        };
        settings(connection?, &load, clock)
    }

    /// What messages call it: its name, and its URL where it was started here.
    fn known_as(&self) -> Vec<String> {
        let running = match &self.origin {
            ServerOrigin::Own { running, .. } => running.as_deref(),
            ServerOrigin::Url(_) => None,
        };
        let running = running.and_then(|server| Some(own_target(server).ok()?.url()));
        std::iter::once(self.name.clone()).chain(running).collect()
    }

    /// What reports call it.
    pub(crate) fn reported_name(&self) -> &String {
        self.label.as_ref().unwrap_or(&self.name)
    }

    /// Its processes, where they are to be looked into.
    pub(crate) fn watched(
        &self,
        options: &InsideOptions,
    ) -> Result<Option<WatchedServer>, RunnerError> {
        let running = match &self.origin {
            ServerOrigin::Own { running, .. } => running.as_deref(),
            ServerOrigin::Url(_) => None,
        };
        let request = InsideRequest {
            pids: self.pid.into_iter().collect(),
            ..options.request()
        };
        let watched = WatchedServer::of(&request, running)?;
        Ok(watched.map(WatchedServer::compared))
    }

    /// Points the settings of an earlier start at the process that runs now.
    pub(crate) fn follow(
        &self,
        connect: &ConnectOptions,
        settings: &mut Settings,
    ) -> Result<(), RunnerError> {
        if let ServerOrigin::Own { running, .. } = &self.origin {
            let server = self.running(running.as_deref())?;
            let mut target = own_target(server)?;
            target.take_user_info();
            settings.endpoint.route = route(&target, connect)?;
            settings.endpoint.target = target;
        }
        Ok(())
    }

    /// One of a recipe is reached as that says, and one of a command as the options do.
    fn own_connection(
        &self,
        running: Option<&RealServer>,
        connect: &ConnectOptions,
    ) -> Result<ServerAccess, RunnerError> {
        let server = self.running(running)?;
        if server.recipe().is_command() {
            return connection(&server.url(), &Login::default(), connect);
        }
        to_own_server(&server.url(), credentials_of(server), version_of(server))
    }

    fn running<'s>(&self, running: Option<&'s RealServer>) -> Result<&'s RealServer, RunnerError> {
        running.ok_or_else(|| RunnerError::Local(format!("{} does not run", self.name)))
    }
}

/// Where a server that was started here listens.
fn own_target(server: &RealServer) -> Result<Target, RunnerError> {
    Target::parse(&server.url()).map_err(|error| RunnerError::Local(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_any_server_has_the_label_of_that_server() {
        let url = |url: &str| TestedServer::at(url).ok().unwrap().known_as();
        let own = ["nginx", "http://127.0.0.1:4711/"].map(str::to_owned);
        let servers = AnonymousServers(vec![
            (
                Some("A".to_owned()),
                url("http://ann@dav.example.org/store/"),
            ),
            (Some("B".to_owned()), own.to_vec()),
        ]);
        let shown = [
            ("nginx ended during run 3", "B ended during run 3"),
            (
                "dav.example.org: no address; then nginx ended",
                "A: no address; then B ended",
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
