//! Programs in hosts of a lab.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus as ProcessStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::{BuiltLab, LabError, Surroundings};
use runner::place::surroundings;
use runner::{RunnerError, laboratory, start_thread};
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::SignalKind;
use topology::{LabNetwork, LabNodeKind};

use super::{become_root, find, warn_of_lateness};
use crate::args::LabOptions;
use crate::command::lab::{LabExecArgs, LabShellArgs, WhichLab};
use crate::exit::ExitStatus;
use crate::signals::{self, Signals};

const LOOK: Duration = Duration::from_millis(20);
/// Time in which all programs have received a signal from their terminal.
const MOMENT: Duration = Duration::from_millis(200);

/// Default shell of users.
const SHELL: &str = "/bin/sh";

pub(super) fn shell(args: &LabShellArgs) -> Result<ExitStatus, RunnerError> {
    let shell = env::var_os("SHELL").filter(|shell| !shell.is_empty());
    let command = [shell.unwrap_or_else(|| SHELL.into())];
    in_host(&args.which, &args.host, &command)
}

pub(super) fn exec(args: &LabExecArgs) -> Result<ExitStatus, RunnerError> {
    in_host(&args.which, &args.host, &args.command)
}

/// Default host of a command.
const USUAL_HOST: &str = "client";

/// Runs this program with these arguments in a newly built lab.
pub(super) fn run_inside(
    options: &LabOptions,
    args: Vec<OsString>,
) -> Result<ExitStatus, RunnerError> {
    let program = env::current_exe().map_err(|error| {
        RunnerError::Local(format!("this program cannot find its own file: {error}"))
    })?;
    let command: Vec<OsString> = [program.into()].into_iter().chain(args).collect();
    let which = WhichLab {
        lab: options.lab.clone(),
        server_host: options.server_host.clone(),
        server_ipv6: options.server_ipv6,
    };
    let host = options.lab_host.as_deref().unwrap_or(USUAL_HOST);
    in_host(&which, host, &command)
}

/// Runs a command in a host of a newly built lab, or of the one around this program.
fn in_host(which: &WhichLab, host: &str, command: &[OsString]) -> Result<ExitStatus, RunnerError> {
    if let Some(lab) = &which.lab {
        let mut network = find(lab)?;
        if let Some(name) = &which.server_host {
            network.server_host = Some(host_of(&network, name)?);
        }
        return run(&network, host, which.server_ipv6, command);
    }
    match surroundings()? {
        Some(around) => enter(around, host, command),
        None => Err(RunnerError::Usage(
            "this command is not in a lab; add --lab NAME (see `prestan lab list`)".to_owned(),
        )),
    }
}

/// Becomes a program in another host of the laboratory around this one.
fn enter(
    mut around: Surroundings,
    host: &str,
    command: &[OsString],
) -> Result<ExitStatus, RunnerError> {
    let usage = |error: LabError| RunnerError::Usage(error.to_string());
    let namespace = around.host(host).map_err(usage)?.open();
    let namespace = namespace.map_err(|error| match error {
        LabError::BareHost(_) => usage(error),
        other => other.into(),
    })?;
    host.clone_into(&mut around.here);
    let mut program = program(command)?;
    around.set_variables(&mut program);
    namespace.enter_before_exec(&mut program)?;
    Err(not_started(&command[0], &program.exec()))
}

/// Builds a network, runs a command in one of its hosts, and ends it.
pub(super) fn run(
    network: &LabNetwork,
    host: &str,
    server_ipv6: bool,
    command: &[OsString],
) -> Result<ExitStatus, RunnerError> {
    host_of(network, host)?;
    become_root()?;
    let received = received_signals()?;
    let mut lab = laboratory::build(network)?;
    if received.has_any() {
        return Ok(ExitStatus::Interrupted);
    }
    if server_ipv6 {
        lab.use_ipv6_for_servers();
    }
    let child = start(&lab, host, command)?;
    let status = wait(child, &received);
    warn_of_lateness(&lab);
    lab.end();
    match status {
        Err(error) => Err(RunnerError::Local(format!(
            "waiting for the command: {error}"
        ))),
        Ok(None) => Ok(ExitStatus::Interrupted),
        // A shell that waits for this process must see the signal that ended the program.
        Ok(Some(status)) if status.signal().is_some() && received.has_any_soon() => {
            Ok(ExitStatus::Interrupted)
        }
        Ok(Some(status)) => Ok(ExitStatus::Program(number_of(status))),
    }
}

fn start(lab: &BuiltLab, host: &str, command: &[OsString]) -> Result<Child, RunnerError> {
    let none = || RunnerError::Usage(format!("no host is called `{host}`"));
    let host = lab.host(host).ok_or_else(none)?;
    let mut program = program(command)?;
    if !io::stdin().is_terminal() {
        // A signal to the group of this process is passed on, and must not reach the program twice.
        program.process_group(0);
    }
    host.spawn(program).map_err(|error| match error {
        LabError::System { source, .. } => not_started(&command[0], &source),
        other => other.into(),
    })
}

fn program(command: &[OsString]) -> Result<Command, RunnerError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(RunnerError::Usage("there is no command".to_owned()));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn not_started(program: &OsString, error: &io::Error) -> RunnerError {
    let message = format!("starting {} failed: {error}", program.display());
    match error.kind() {
        io::ErrorKind::NotFound => RunnerError::ProgramNotFound(message),
        _ => RunnerError::ProgramNotStarted(message),
    }
}

/// Signals that this process has received.
#[derive(Default)]
struct ReceivedSignals {
    all: AtomicU32,
    /// Signals that a terminal does not send to its programs.
    terminations: AtomicU32,
}

impl ReceivedSignals {
    fn has_any(&self) -> bool {
        self.all.load(Ordering::Relaxed) > 0
    }

    /// True if there is one, or one arrives soon: a program may have died of a signal that this
    /// process has not received yet.
    fn has_any_soon(&self) -> bool {
        let begun = Instant::now();
        while !self.has_any() && begun.elapsed() < MOMENT {
            thread::sleep(LOOK);
        }
        self.has_any()
    }
}

/// Counts signals from now on.
fn received_signals() -> Result<Arc<ReceivedSignals>, RunnerError> {
    let mut signals = Signals::listen()?;
    let received = Arc::<ReceivedSignals>::default();
    let counted = Arc::clone(&received);
    let count = move || {
        loop {
            let terminations = u32::from(signals.wait() == SignalKind::terminate());
            let count = |signals: &AtomicU32, by| signals.fetch_add(by, Ordering::Relaxed);
            count(&counted.terminations, terminations);
            count(&counted.all, 1);
        }
    };
    start_thread(count)?;
    Ok(received)
}

/// Waits for a program; `None` if a second signal ended it. On a terminal, the program receives
/// Ctrl-C, too, and ends by itself. Other signals are passed on.
fn wait(mut child: Child, received: &ReceivedSignals) -> io::Result<Option<ProcessStatus>> {
    let is_shared = io::stdin().is_terminal();
    let (mut seen, mut passed_on) = (0, 0);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        seen = seen.max(received.all.load(Ordering::Relaxed));
        let terminations = received.terminations.load(Ordering::Relaxed);
        let to_pass_on = if is_shared { terminations } else { seen };
        if to_pass_on > passed_on {
            let signal = signals::received().and_then(Signal::from_named_raw);
            // It may have ended in the meantime.
            let _ = kill_process(Pid::from_child(&child), signal.unwrap_or(Signal::TERM));
        }
        passed_on = to_pass_on;
        if seen > 1 {
            return Ok(None);
        }
        thread::park_timeout(LOOK);
    }
}

/// The exit status as in shells: 128 plus the number of the signal that ended a program.
fn number_of(status: ProcessStatus) -> u8 {
    let number = status.code().or(status.signal().map(|signal| 128 + signal));
    number.map_or(1, |number| u8::try_from(number).unwrap_or(1))
}

/// Index of a host or router.
fn host_of(network: &LabNetwork, name: &str) -> Result<usize, RunnerError> {
    let found = network.find(name);
    let found = found.filter(|node| network.nodes[*node].kind.has_addresses());
    if let Some(node) = found
        && !network.nodes[node].kind.has_kernel()
    {
        let error = LabError::BareHost(name.to_owned());
        return Err(RunnerError::Usage(error.to_string()));
    }
    found.ok_or_else(|| {
        let hint = match network.nearest_host(name) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => {
                let hosts = network.nodes.iter();
                let hosts = hosts.filter(|node| node.kind == LabNodeKind::Host);
                let names: Vec<&str> = hosts.map(|node| node.name.as_str()).collect();
                format!("there are {}", names.join(", "))
            }
        };
        RunnerError::Usage(format!("no host of the lab is called `{name}`; {hint}"))
    })
}
