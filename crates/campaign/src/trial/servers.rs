//! The servers of a trial, each in its host, with the same files.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bare::{RttLogEntry, ServedFiles};
use engine::Cancel;
use experiment::TrialSpec;
use lab::{BareHostReport, BuiltHost, BuiltLab};
use testbed::RealServer;
use testbed::real::{Recipe, ServerPlace, StartError, in_url};
use topology::LabNodeKind;

use super::{LOOK, TrialFailure, TrialOutcome};
use runner::laboratory::LATE;

/// Time limit for the connections of a bare host to end.
const TIME_WAIT: Duration = Duration::from_millis(1300);

pub(super) const BARE_PORT: u16 = 80;

pub(super) struct TrialServers {
    started: BTreeMap<String, RealServer>,
}

pub(super) fn is_bare(lab: &BuiltLab, host: &str) -> bool {
    let network = lab.network();
    let node = network.find(host).map(|node| network.nodes[node].kind);
    matches!(node, Some(LabNodeKind::Bare(_)))
}

pub(super) fn is_ipv6(trial: &TrialSpec, host: &str) -> bool {
    trial.servers.get(host).is_some_and(|server| server.ipv6)
}

impl TrialServers {
    /// Starts the servers of a trial. A bare host is its own server, whose recipe may be `bare`.
    ///
    /// # Errors
    ///
    /// A recipe is unknown, or its server does not start.
    pub(super) fn start(
        lab: &BuiltLab,
        (trial, cancel): (&TrialSpec, &Cancel),
        result: &mut TrialOutcome,
    ) -> Result<TrialServers, TrialFailure> {
        let mut servers = TrialServers {
            started: BTreeMap::new(),
        };
        for (name, spec) in &trial.servers {
            if is_bare(lab, name) {
                continue;
            }
            let failed =
                |error: String| TrialFailure::Failed(format!("trial.servers.{name}: {error}"));
            let recipe = Recipe::with_parameters(&spec.recipe).map_err(failed)?;
            let host = lab.host(name);
            let host = host.ok_or_else(|| failed("no such host".to_owned()))?;
            let address = host.address(spec.ipv6);
            let place = ServerPlace {
                namespace: host.namespace().try_clone()?,
                address: address.ok_or_else(|| failed("has no such address".to_owned()))?,
                files: Some(lab.temporary_files().to_owned()),
            };
            let server =
                RealServer::start_at(&recipe, &[], Some(&place), &|| cancel.is_cancelled());
            let server = server.map_err(|error| match error {
                StartError::Cancelled => TrialFailure::Interrupted,
                error => TrialFailure::of(&format_args!("trial.servers.{name}: {error}")),
            })?;
            furnish(&server)?;
            let version = format!("{} {}", spec.recipe, server.installed().version);
            result.facts.insert(format!("server in {name}"), version);
            servers.started.insert(name.clone(), server);
        }
        Ok(servers)
    }

    /// The URL of a path at the server of a host; without a path, of the measured collection.
    pub(super) fn url(
        &self,
        lab: &BuiltLab,
        trial: &TrialSpec,
        host: &str,
        path: Option<&str>,
    ) -> Result<String, TrialFailure> {
        let path = path.unwrap_or("/").trim_start_matches('/');
        if let Some(server) = self.started.get(host) {
            return Ok(server.url() + path);
        }
        let found = lab.host(host);
        let address = found.and_then(|found| found.address(is_ipv6(trial, host)));
        match address.filter(|_| is_bare(lab, host)) {
            Some(ip) => Ok(format!("http://{}/{path}", in_url(ip))),
            None => Err(TrialFailure::Failed(format!(
                "no server runs in the host `{host}`; name one under trial.servers"
            ))),
        }
    }

    /// Passes user, password and certificate of a host's server to a program.
    pub(super) fn introduce(&self, host: &str, command: &mut Command) {
        let Some(server) = self.started.get(host) else {
            return;
        };
        if let Some((user, password)) = server.credentials() {
            command.env("PRESTAN_USER", user);
            command.env("PRESTAN_PASSWORD", password);
        }
        let mut given = command.get_args();
        if server.recipe().is_http2 && !given.any(|argument| argument == "--http") {
            command.args(["--http", "2"]);
        }
    }

    /// A server that has ended by itself is a failure.
    pub(super) fn check(&mut self) -> Result<(), TrialFailure> {
        for (host, server) in &mut self.started {
            if let Some(ended) = server.ended(Duration::ZERO) {
                let name = &server.recipe().name;
                return Err(TrialFailure::of(&format_args!(
                    "{name} in {host} ended ({}); its logs end with\n{}",
                    ended.status, ended.log
                )));
            }
        }
        Ok(())
    }
}

/// Figures that bare hosts report. Other figures are in the captures.
pub(super) fn bare_figures(lab: &BuiltLab, result: &mut TrialOutcome) {
    for node in &lab.network().nodes {
        let name = &node.name;
        let Some(report) = lab.host(name).and_then(|host| ended_report(&host)) else {
            continue;
        };
        let sender = &report.server.sender;
        for (end, count) in [
            ("timeouts", sender.timeouts),
            ("resent", sender.resent_segments),
            ("fast-retransmits", sender.fast_retransmits),
            ("round-trips", sender.round_trips),
        ] {
            result.figure(format!("{name}.{end}"), count as f64);
        }
        let entries = report.ended.iter();
        let entries: Vec<_> = entries
            .flat_map(|entry| entry.round_trips.entries())
            .collect();
        let mean = |value: fn(&RttLogEntry) -> f64| {
            let sum: f64 = entries.iter().map(|entry| value(entry)).sum();
            (!entries.is_empty()).then(|| sum / entries.len() as f64 / 1e9)
        };
        result.maybe(
            format!("{name}.round-trip"),
            mean(|entry| entry.sample.rtt_ns as f64),
        );
        result.maybe(format!("{name}.srtt"), mean(|entry| entry.srtt_ns));
        result.maybe(format!("{name}.rto"), mean(|entry| entry.rto_ns as f64));
        if report.server.refused > 0 {
            result.warn(format!(
                "the bare host {name} refused connections, because it had 64"
            ));
        }
        if report.latest_timer_ns > LATE.as_nanos() as u64 {
            result.warn(format!(
                "timers of the bare host {name} expired more than 1 ms late, because other programs used the \
                 processors"
            ));
        }
    }
}

/// The report of a bare host, when its connections have ended, with a TIME-WAIT of a second.
fn ended_report(host: &BuiltHost<'_>) -> Option<BareHostReport> {
    let mut all = host.bare_report()?;
    let begun = Instant::now();
    while (all.ended.len() as u64) < all.server.connections && begun.elapsed() < TIME_WAIT {
        thread::sleep(LOOK);
        let next = host.bare_report()?;
        all.ended.extend(next.ended);
        all.server = next.server;
        all.latest_timer_ns = next.latest_timer_ns;
    }
    Some(all)
}

fn furnish(server: &RealServer) -> Result<(), TrialFailure> {
    let writing = TrialFailure::while_trying("writing the files of a server");
    for (path, contents) in ServedFiles::paper().iter() {
        let file = server.storage().join(path.trim_start_matches('/'));
        fs::write(&file, contents).map_err(&writing)?;
        // A server that runs as another user reads them, regardless of the umask.
        fs::set_permissions(&file, Permissions::from_mode(0o644)).map_err(&writing)?;
    }
    Ok(())
}

/// The length of a file that all servers have.
pub(super) fn length_of(path: &str) -> Result<u64, TrialFailure> {
    let files = ServedFiles::paper();
    let found = files.iter().find(|(known, _)| *known == path);
    found
        .map(|(_, contents)| contents.len() as u64)
        .ok_or_else(|| {
            let names: Vec<&str> = files.iter().map(|(name, _)| name).collect();
            TrialFailure::Failed(format!(
                "no server has the file `{path}`; there are {}",
                names.join(", ")
            ))
        })
}
