//! `prestan lab`: networks of hosts and links on this machine.

mod args;
mod check;
mod experiment;
mod program;

use std::env;
use std::path::Path;

use builtin::{BuiltinFile, LABS};
use lab::{BuiltLab, user_namespace};
use runner::{RunnerError, laboratory, text_file};
use topology::{LabHostSpec, LabLinkSpec, LabNetwork, LabSpec};

use crate::args::LabOptions;
use crate::exit::ExitStatus;
pub(crate) use args::{
    CampaignDocuments, LabAction, LabArgs, LabExecArgs, LabLinkArgs, LabReportArgs, LabRunArgs,
    LabShellArgs, WhichLab,
};
use terminal::document_file;
use terminal::output::{check_path, print_described, print_message, print_named, print_text};

/// Runs this command inside of its lab, without the options about the lab.
pub(crate) fn run_inside(options: &LabOptions) -> Result<ExitStatus, RunnerError> {
    program::run_inside(options, LabOptions::removed_from(env::args_os().skip(1)))
}

pub(crate) fn lab(args: &LabArgs) -> Result<ExitStatus, RunnerError> {
    match &args.action {
        LabAction::List => print_named(&list()?)?,
        LabAction::Show { lab, svg } => show(lab, svg.as_deref())?,
        LabAction::Check { lab, json } => return check::check(lab, &find(lab)?, json),
        LabAction::Shell(args) => return program::shell(args),
        LabAction::Exec(args) => return program::exec(args),
        LabAction::Link(args) => {
            let network = LabNetwork::new(&link_lab(args)).map_err(usage)?;
            return program::run(&network, "client", args.server_ipv6, &args.command);
        }
        LabAction::Experiments { schema: true } => print_text(::experiment::SCHEMA)?,
        LabAction::Experiments { schema: false } => experiment::list()?,
        LabAction::Run(args) => return experiment::run(args),
        LabAction::Report(args) => return experiment::report(args),
        LabAction::Schema => print_text(topology::SCHEMA)?,
    }
    Ok(ExitStatus::Done)
}

fn list() -> Result<Vec<(&'static str, String)>, RunnerError> {
    let item = |lab: &BuiltinFile| {
        let network = LabNetwork::parse(lab.name, lab.text).map_err(usage)?;
        Ok((lab.name, network.title))
    };
    LABS.iter().map(item).collect()
}

fn show(name: &str, svg: Option<&Path>) -> Result<(), RunnerError> {
    let network = find(name)?;
    if let Some(file) = svg {
        check_path(file)?;
        document_file::write(file, topology::svg(name, &network).as_bytes())?;
    }
    print_described(&topology::described(&report::clean(name), &network))
}

/// A built-in lab by its name, or a file.
fn find(name: &str) -> Result<LabNetwork, RunnerError> {
    let text = text_file::builtin_or_read(name, LABS, ("lab", "list"))?;
    LabNetwork::parse(name, &text).map_err(|error| text_file::defect(name, &error))
}

/// Two hosts and a link between them.
fn link_lab(args: &LabLinkArgs) -> LabSpec {
    let host = || LabHostSpec {
        congestion: Some(args.congestion.clone()),
        ..LabHostSpec::default()
    };
    let ends = ["client".to_owned(), "server".to_owned()];
    LabSpec {
        hosts: ends.iter().map(|name| (name.clone(), host())).collect(),
        links: vec![LabLinkSpec {
            ends,
            rate: args.rate,
            delay: args.delay,
            jitter: args.jitter,
            loss: args.loss,
            queue: args.queue,
            mtu: args.mtu,
            ..LabLinkSpec::default()
        }],
        ..LabSpec::default()
    }
}

/// Becomes root of a user namespace, unless this is root already. Before the first thread starts.
fn become_root() -> Result<(), RunnerError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Ok(user_namespace::enter()?)
}

/// Warns if the forwarder was late.
fn warn_of_lateness(lab: &BuiltLab) {
    let Some(counters) = lab.forwarder_counters() else {
        return;
    };
    let late = counters.lateness.quantile(0.99);
    if late < laboratory::LATE {
        return;
    }
    let remedy = if counters.is_real_time {
        "stop other programs, or use a machine with more processors"
    } else {
        "stop other programs, or run it as root, which gives the forwarder real-time priority"
    };
    print_message(&format!(
        "prestan: warning: 1 % of the packets on shaped links were passed on more than {} ms late, because \
         other programs used the processors; {remedy}",
        late.as_millis()
    ));
}

fn usage(error: topology::FileError) -> RunnerError {
    RunnerError::Usage(error.to_string())
}
