//! Other programs as sources of background traffic, as described in a traffic file.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::FileError;
use crate::file::{IpVersion, one};
use crate::quantity::{TimeSpan, instances, port};

/// Placeholder for the address of the sink in the arguments of a generator.
pub const DESTINATION_PLACE: &str = "{destination}";
/// Placeholder for the port of the sink.
pub const PORT_PLACE: &str = "{port}";
/// Placeholder for a directory that exists while the generator runs.
pub const DIRECTORY_PLACE: &str = "{directory}";

/// Most instances of generators of a load: each is two processes.
pub(crate) const MOST_GENERATORS: u64 = 64;
const MOST_ARGUMENTS: usize = 256;
/// Longest argument, and longest text that is searched in a report, in bytes.
const LONGEST_TEXT: usize = 4096;
/// The longest time that a generator may take to be ready, in nanoseconds.
const LONGEST_START_NS: u64 = 600_000_000_000;
/// The longest time that it may take to end, for which the end of a run waits.
const LONGEST_STOP_NS: u64 = 10_000_000_000;

/// Another program that sends, to an address of this machine only: its sink takes part in no
/// agreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorSpec {
    /// The program that sends. One of its arguments has to contain `{destination}`.
    pub source: GeneratorProgramSpec,
    /// The program that receives, which is started first and stopped last. Default: none, as the
    /// source sends to one that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<GeneratorProgramSpec>,
    /// Version of IP of `{destination}`; default `v4`.
    #[serde(default)]
    pub ip: IpVersion,
    /// Value of `{port}`; further instances have the ports after it. Default: a free port.
    #[serde(
        default,
        deserialize_with = "port",
        skip_serializing_if = "Option::is_none"
    )]
    pub port: Option<u16>,
    /// How long sink and source may take to be ready, each; default 10s.
    #[serde(default = "ten_seconds")]
    pub ready_within: TimeSpan,
    /// How long they may take after SIGTERM, each, before SIGKILL; default 1s.
    #[serde(default = "one_second")]
    pub stop_within: TimeSpan,
}

/// A program of a generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorProgramSpec {
    /// Program and arguments; no shell reads them. `{destination}`, `{port}` and `{directory}` are
    /// replaced.
    pub command: Vec<String>,
    /// When it is ready; default `started` for a source, `listening` for a sink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<GeneratorReadiness>,
    /// Format of its report; default `none`.
    #[serde(default)]
    pub report: GeneratorReportFormat,
    /// A command that prints the report after the program has ended. Default: the program's
    /// standard output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decoder: Vec<String>,
}

/// When a program of a generator is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GeneratorReadiness {
    /// As soon as it runs.
    Started,
    /// When it listens on `{port}`, with TCP or UDP.
    Listening,
    /// When a line of its standard output contains this text.
    Line(String),
}

/// How the report of a generator is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GeneratorReportFormat {
    /// Not at all.
    #[default]
    None,
    /// `iperf3 --json`, of a client or a server.
    Iperf3,
    /// The text of `ITGDec`, which decodes the logs of D-ITG.
    ItgDec,
    /// Numbers after texts.
    Figures(ReportedFiguresSpec),
}

/// Texts after which numbers stand. Where a text occurs several times, the last one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportedFiguresSpec {
    /// Before the bytes that were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<String>,
    /// Before the bytes that were received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_bytes: Option<String>,
    /// Before the number of datagrams that were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<String>,
    /// Before the number of datagrams that were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// Instances of one generator in a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorSetSpec {
    /// Name of the generator.
    pub generator: String,
    /// Number of instances; default 1.
    #[serde(default = "one", deserialize_with = "instances")]
    pub n: u32,
}

/// One instance of a generator in a load.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedGenerator {
    /// Name of the generator.
    pub name: String,
    /// Instance, from 0.
    pub instance: u32,
    /// Value of `{port}`; `None` for a free port.
    pub port: Option<u16>,
    /// Its programs.
    pub spec: Arc<GeneratorSpec>,
}

fn ten_seconds() -> TimeSpan {
    TimeSpan::from_nanos(10_000_000_000)
}

fn one_second() -> TimeSpan {
    TimeSpan::from_nanos(1_000_000_000)
}

impl GeneratorProgramSpec {
    fn names(&self, key: &str) -> bool {
        let mut arguments = self.command.iter().skip(1);
        arguments.any(|argument| argument.contains(key))
    }
}

impl ReportedFiguresSpec {
    fn texts(&self) -> impl Iterator<Item = &String> {
        let (sent, received) = (&self.sent_bytes, &self.received_bytes);
        let texts = [sent, received, &self.packets, &self.lost];
        texts.into_iter().flatten()
    }
}

pub(crate) fn check(prefix: &str, spec: &GeneratorSpec) -> Result<(), FileError> {
    let wrong = |key: &str, why: &str| Err(FileError::new(format!("{prefix}.{key}"), why));
    check_program(&format!("{prefix}.source"), &spec.source, spec.port)?;
    if let Some(sink) = &spec.sink {
        check_program(&format!("{prefix}.sink"), sink, spec.port)?;
    }
    if !spec.source.names(DESTINATION_PLACE) {
        return wrong("source.command", "has no argument with {destination}");
    }
    if spec.port == Some(0) {
        return wrong("port", "is 0; ports begin at 1");
    }
    if !(1..=LONGEST_START_NS).contains(&spec.ready_within.nanos()) {
        return wrong("ready_within", "is not more than 0 s and at most 10 min");
    }
    if spec.stop_within.nanos() > LONGEST_STOP_NS {
        return wrong("stop_within", "is more than 10 s");
    }
    Ok(())
}

fn check_program(
    prefix: &str,
    program: &GeneratorProgramSpec,
    port: Option<u16>,
) -> Result<(), FileError> {
    let wrong = |key: &str, why: &str| Err(FileError::new(format!("{prefix}.{key}"), why));
    if program.command.first().is_none_or(String::is_empty) {
        return wrong("command", "names no program");
    }
    for (key, command) in [("command", &program.command), ("decoder", &program.decoder)] {
        let is_long = |argument: &String| argument.len() > LONGEST_TEXT || argument.contains('\0');
        if command.len() > MOST_ARGUMENTS || command.iter().any(is_long) {
            let why =
                "has more than 256 arguments, or one of more than 4096 bytes or with a zero byte";
            return wrong(key, why);
        }
    }
    if program.decoder.first().is_some_and(String::is_empty) {
        return wrong("decoder", "names no program");
    }
    if !program.decoder.is_empty() && program.report == GeneratorReportFormat::None {
        let why = "prints a report, and `report` does not name its format";
        return wrong("decoder", why);
    }
    match &program.ready {
        Some(GeneratorReadiness::Line(text)) if text.is_empty() || text.contains('\n') => {
            return wrong("ready.line", "is no part of a line");
        }
        Some(GeneratorReadiness::Listening) if port.is_none() && !program.names(PORT_PLACE) => {
            let why =
                "waits for {port}, which neither an argument contains nor the key `port` gives";
            return wrong("ready", why);
        }
        _ => {}
    }
    if let GeneratorReportFormat::Figures(figures) = &program.report {
        let is_wrong = |text: &String| text.is_empty() || text.len() > LONGEST_TEXT;
        if figures.texts().next().is_none() || figures.texts().any(is_wrong) {
            return wrong("report.figures", "has no text, or an empty one");
        }
    }
    Ok(())
}
