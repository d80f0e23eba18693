//! Options of background traffic. The comments on fields are the texts of `--help`.

use std::path::PathBuf;

use clap::Args;
use runner::background::{BackgroundRequest, RequestedTraffic, SinkPlace, TrafficEnds};

/// Sinks of flows.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct SinkOptions {
    /// Sink of background traffic (`prestan traffic sink`), as HOST:PORT, or NAME=HOST:PORT for the
    /// flows to one host of the traffic file; may be repeated, for each host and version of IP
    /// [default: a sink in this process, on loopback]
    #[arg(long, value_name = "[NAME=]HOST:PORT")]
    pub(crate) sink: Vec<SinkPlace>,

    /// Send only the flows of this host of the traffic file
    ///
    /// The flows of other hosts are sent there, by a `prestan traffic run` of the same file and
    /// seed.
    #[arg(long, value_name = "NAME", requires = "sink")]
    pub(crate) from_host: Option<String>,
}

impl SinkOptions {
    pub(crate) fn ends(&self) -> TrafficEnds {
        TrafficEnds {
            sinks: self.sink.clone(),
            from_host: self.from_host.clone(),
        }
    }
}

/// Background traffic beside a run.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Background traffic")]
pub(crate) struct BackgroundArgs {
    /// Send the flows of a traffic file while measuring (docs/TRAFFIC.md):
    /// FILE[,load=NAME][,stable=PERCENT][,for=TIME]
    ///
    /// They start before the measurement, which waits until flows with constant rates are stable
    /// (within 5 %, or `stable`), and stop at its end. What the sinks see is in the record and in
    /// every report.
    #[arg(long, value_name = "FILE[,KEY=VALUE...]")]
    pub(crate) background: Option<RequestedTraffic>,

    #[command(flatten)]
    pub(crate) ends: SinkOptions,

    /// File with the token that the sinks share [default: the variable PRESTAN_TRAFFIC_TOKEN]
    #[arg(long, value_name = "FILE", requires = "sink")]
    pub(crate) sink_token_file: Option<PathBuf>,
}

impl BackgroundArgs {
    pub(crate) fn request(&self) -> BackgroundRequest {
        BackgroundRequest {
            traffic: self.background.clone(),
            ends: self.ends.ends(),
            token_file: self.sink_token_file.clone(),
        }
    }
}
