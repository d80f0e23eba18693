//! Programs that send beside the flows of a load, to an address of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::time::{Duration, Instant};

use flow::FlowError;
use flow::external::{
    ExternalDestination, ExternalEnd, ExternalFigures, ExternalGenerator, ExternalHandle,
    ExternalRole, ExternalSettings, ReadyCondition,
};
use lab::ScratchDirectory;
use record::{BackgroundGenerator, BackgroundGeneratorEnd};
use traffic::{
    DIRECTORY_PLACE, GeneratorProgramSpec, GeneratorReadiness, IpVersion, PORT_PLACE,
    PlannedGenerator,
};

use wire::redact::redacted_arguments;

use super::running::LOOK;
use crate::error::RunnerError;

/// Time that a sink has to end by itself after its source has ended.
const SINK_END: Duration = Duration::from_millis(500);
/// Time limit to read and decode the report of a killed program.
const LAST_REPORT: Duration = Duration::from_secs(15);

/// The generators of a load, with redacted commands, for records and `prestan traffic check`.
pub fn recorded(planned: &[PlannedGenerator]) -> Vec<BackgroundGenerator> {
    let redacted = |generator: BackgroundGenerator| BackgroundGenerator {
        command: redacted_arguments(&generator.command),
        sink_command: redacted_arguments(&generator.sink_command),
        ..generator
    };
    described(planned).into_iter().map(redacted).collect()
}

fn described(planned: &[PlannedGenerator]) -> Vec<BackgroundGenerator> {
    let record = |generator: &PlannedGenerator| BackgroundGenerator {
        name: name_of(generator),
        command: generator.spec.source.command.clone(),
        sink_command: generator
            .spec
            .sink
            .as_ref()
            .map(|sink| sink.command.clone())
            .unwrap_or_default(),
    };
    planned.iter().map(record).collect()
}

fn name_of(planned: &PlannedGenerator) -> String {
    match planned.instance {
        0 => planned.name.clone(),
        instance => format!("{}#{}", planned.name, u64::from(instance) + 1),
    }
}

/// A running generator. Dropping it stops the source, then the sink.
pub(super) struct RunningGenerator {
    name: String,
    stop_within: Duration,
    source: ExternalHandle,
    sink: Option<ExternalHandle>,
    /// Removed after both have ended.
    _directory: Option<ScratchDirectory>,
}

impl RunningGenerator {
    /// Starts the sink, waits until it is ready, and does the same with the source.
    pub(super) fn start(
        planned: &PlannedGenerator,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<RunningGenerator, RunnerError> {
        let name = name_of(planned);
        let failed = |what: &str, why: String| {
            let why = report::clean(&why);
            RunnerError::Target(format!(
                "background traffic: the {what} of generator {name}: {why}"
            ))
        };
        let start = |what: &str, role, program: &GeneratorProgramSpec, place: &GeneratorPlace| {
            let settings = place.settings(planned, role, program);
            let handle = settings.and_then(ExternalGenerator::start);
            let handle = handle.map_err(|error| failed(what, error.to_string()))?;
            let within = Duration::from_nanos(planned.spec.ready_within.nanos());
            match wait_until_ready(&handle, within, is_cancelled) {
                Ok(true) => Ok(handle),
                Ok(false) => Err(RunnerError::Interrupted("interrupted".to_owned())),
                Err(error) => Err(failed(what, error.to_string())),
            }
        };
        let place = GeneratorPlace::prepare(planned)
            .map_err(|error| failed("place", format!("it cannot be prepared: {error}")))?;
        let sink = planned.spec.sink.as_ref();
        let sink = sink
            .map(|sink| start("sink", ExternalRole::Sink, sink, &place))
            .transpose()?;
        let source = start("source", ExternalRole::Source, &planned.spec.source, &place)?;
        Ok(RunningGenerator {
            stop_within: Duration::from_nanos(planned.spec.stop_within.nanos()),
            source,
            sink,
            _directory: place.directory,
            name,
        })
    }

    pub(super) fn is_active(&self) -> bool {
        self.source.is_active() && self.sink.as_ref().is_none_or(ExternalHandle::is_active)
    }

    pub(super) fn ask_to_stop(&mut self) {
        self.source.ask_to_stop();
    }

    /// Stops source and sink. The second value is the reason why one had ended before, if it
    /// failed.
    pub(super) fn end(mut self, was_active: bool) -> (BackgroundGeneratorEnd, Option<String>) {
        self.ask_to_stop();
        let patience = self.stop_within + LAST_REPORT;
        let source = self.source.finish(patience);
        let sink = self.sink.take().map(|mut sink| {
            // Sinks that serve one client have ended by themselves.
            sink.finish(SINK_END).or_else(|_| {
                sink.ask_to_stop();
                sink.finish(patience)
            })
        });
        let failure = (!was_active)
            .then(|| {
                let ended = [
                    Some(("source", &source)),
                    sink.as_ref().map(|sink| ("sink", sink)),
                ];
                let mut failures = ended.into_iter().flatten().filter_map(why_it_ended);
                failures.next()
            })
            .flatten()
            .map(|why| format!("generator {}: {why}", self.name));
        (end_of(source, sink), failure)
    }
}

/// The end of a program that was not stopped; `None` if it succeeded.
fn why_it_ended((what, ended): (&str, &Result<ExternalEnd, FlowError>)) -> Option<String> {
    match ended {
        Ok(end) if end.status == "exit status: 0" => None,
        Ok(end) => Some(format!("its {what} ended ({}){}", end.status, end.reason())),
        Err(error) => Some(format!("its {what}: {error}")),
    }
}

fn end_of(
    source: Result<ExternalEnd, FlowError>,
    sink: Option<Result<ExternalEnd, FlowError>>,
) -> BackgroundGeneratorEnd {
    let mut errors = Vec::new();
    let mut read = |what: &str, end: Result<ExternalEnd, FlowError>| {
        let figures = end
            .map_err(|error| error.to_string())
            .and_then(|end| end.figures);
        figures.unwrap_or_else(|error| {
            errors.push(format!("{what}: {error}"));
            ExternalFigures::default()
        })
    };
    let status = match &source {
        Ok(end) => end.status.clone(),
        Err(_) => "unknown status".to_owned(),
    };
    let mut figures = read("source", source);
    if let Some(sink) = sink {
        figures = figures.with_sink(read("sink", sink));
    }
    let totals = figures.totals();
    BackgroundGeneratorEnd {
        status,
        report_error: (!errors.is_empty()).then(|| report::clean(&errors.join("; "))),
        seconds: totals.seconds,
        sent_bytes: totals.sent_bytes,
        received_bytes: totals.received_bytes,
        packets: totals.packets,
        lost: totals.lost,
        jitter_ns: totals.jitter_ns,
        mean_delay_ns: totals.mean_delay_ns,
        retransmissions: totals.retransmissions,
    }
}

/// Waits for a program to be ready. False if cancelled.
fn wait_until_ready(
    handle: &ExternalHandle,
    within: Duration,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<bool, FlowError> {
    let begun = Instant::now();
    loop {
        let left = within.saturating_sub(begun.elapsed());
        match handle.ready(left.min(LOOK)) {
            Ok(()) => return Ok(true),
            Err(FlowError::TimedOut { what, .. }) if left.is_zero() => {
                return Err(FlowError::TimedOut {
                    what,
                    seconds: within.as_secs_f64(),
                });
            }
            Err(FlowError::TimedOut { .. }) => {}
            Err(error) => return Err(error),
        }
        if is_cancelled() {
            return Ok(false);
        }
    }
}

/// Destination of a generator, and the directory of its files.
struct GeneratorPlace {
    address: IpAddr,
    port: Option<u16>,
    directory: Option<ScratchDirectory>,
}

impl GeneratorPlace {
    fn prepare(planned: &PlannedGenerator) -> std::io::Result<GeneratorPlace> {
        let address = match planned.spec.ip {
            IpVersion::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpVersion::V6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        let programs = [Some(&planned.spec.source), planned.spec.sink.as_ref()];
        let programs = || programs.into_iter().flatten();
        let names = |place: &str| {
            programs().any(|program| {
                let mut arguments = program.command.iter().chain(&program.decoder);
                arguments.any(|argument| argument.contains(place))
            })
        };
        let port = match planned.port {
            // Another program could take the port before the sink does; the sink then reports it.
            None if names(PORT_PLACE) => {
                Some(TcpListener::bind((address, 0))?.local_addr()?.port())
            }
            port => port,
        };
        let directory =
            names(DIRECTORY_PLACE).then(|| ScratchDirectory::new("prestan-generator-", None));
        Ok(GeneratorPlace {
            address,
            port,
            directory: directory.transpose()?,
        })
    }

    fn settings(
        &self,
        planned: &PlannedGenerator,
        role: ExternalRole,
        program: &GeneratorProgramSpec,
    ) -> Result<ExternalSettings, FlowError> {
        let destination = ExternalDestination::loopback(self.address)?;
        let default = match role {
            ExternalRole::Source => GeneratorReadiness::Started,
            // A sink without a port cannot be seen to listen.
            ExternalRole::Sink if self.port.is_none() => GeneratorReadiness::Started,
            ExternalRole::Sink => GeneratorReadiness::Listening,
        };
        let ready = match (program.ready.as_ref().unwrap_or(&default), self.port) {
            (GeneratorReadiness::Listening, Some(port)) => ReadyCondition::Listening(port),
            (GeneratorReadiness::Line(text), _) => ReadyCondition::Line(text.clone()),
            _ => ReadyCondition::Started,
        };
        Ok(ExternalSettings {
            port: self.port,
            directory: self.directory.as_ref().map(|made| made.path().to_owned()),
            ready,
            stop_patience: Duration::from_nanos(planned.spec.stop_within.nanos()),
            report: (&program.report).into(),
            decoder: program.decoder.clone(),
            ..ExternalSettings::new(role, program.command.clone(), destination)
        })
    }
}
