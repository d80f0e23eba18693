//! `prestan traffic`: background traffic without a measurement.

mod args;
mod run;
mod sink;

use std::path::Path;

use ::traffic::PlannedFlow;
use record::BackgroundComponent;
use runner::RunnerError;
use runner::background::{TrafficFile, components_of, shown_generators};
use runner::words::number_of;

use crate::exit::ExitStatus;
pub(crate) use args::{
    AllowedNetwork, MaxRate, TrafficAction, TrafficArgs, TrafficRunArgs, TrafficSinkArgs,
};
use terminal::output::{print_described, print_text};

pub(crate) fn traffic(args: &TrafficArgs) -> Result<ExitStatus, RunnerError> {
    match &args.action {
        TrafficAction::Check { file } => print_described(&check(file)?)?,
        TrafficAction::Sink(args) => return sink::sink(args),
        TrafficAction::Run(args) => return run::run(args),
        TrafficAction::Schema => print_text(::traffic::SCHEMA)?,
    }
    Ok(ExitStatus::Done)
}

/// The loads of a file, each with a table of its flows.
fn check(path: &Path) -> Result<String, RunnerError> {
    let file = TrafficFile::read(path)?;
    let name = report::clean(&path.display().to_string());
    let loads = &file.traffic.loads;
    let mut text = format!(
        "{name}: {}, {}\n",
        number_of(file.traffic.models.len(), "model"),
        number_of(loads.len(), "load")
    );
    for (name, load) in loads {
        let flows: Vec<_> = load.flows.iter().collect();
        let components = components_of(&flows);
        text += &format!(
            "\nload {name}: {}, {}{}{}\n",
            number_of(flows.len(), "flow"),
            total(&components),
            and_generators(load.generators.len()),
            times(load)
        );
        text += &report::planned_table(&components);
        text += &absent_congestion(&load.flows);
        text += &report::planned_generators(&shown_generators(&load.generators));
    }
    Ok(text)
}

/// A note on congestion controls of flows that this machine does not have. Their source may be
/// another one.
fn absent_congestion(flows: &[PlannedFlow]) -> String {
    let Ok(known) = lab::congestion_controls() else {
        return String::new();
    };
    let mut absent: Vec<&str> = flows
        .iter()
        .filter_map(|flow| flow.congestion.as_deref())
        .filter(|name| known.split_whitespace().all(|available| available != *name))
        .collect();
    absent.sort_unstable();
    absent.dedup();
    let note = |name: &str| {
        format!(
            "note: congestion control {name} is not available on this machine (it has {}); both ends of its \
             flows need it\n",
            known.trim()
        )
    };
    absent.into_iter().map(note).collect()
}

/// The planned rate of all components together.
fn total(components: &[BackgroundComponent]) -> String {
    let rates = components.iter().map(|component| component.planned_bps);
    let total: Option<f64> = rates.sum();
    total.map_or("as fast as it goes".to_owned(), report::bits)
}

/// Programs of a load, which start at its source.
fn and_generators(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", {}", number_of(count, "generator")),
    }
}

fn times(load: &::traffic::TrafficLoad) -> String {
    let seconds = |ns: u64| ns as f64 / 1e9;
    match (load.start_ns, load.end_ns) {
        (0, None) => String::new(),
        (start, None) => format!(", from {} s on", seconds(start)),
        (start, Some(end)) => format!(", from {} s to {} s", seconds(start), seconds(end)),
    }
}
