//! Captures of packets, on the command line.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::args::{positive_duration, size, whole};

/// What is captured, and for how long.
#[derive(Debug, Args)]
pub(crate) struct CaptureArgs {
    /// File to write, in the format pcapng; it must not exist
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Program to start; the capture ends when it ends
    #[arg(value_name = "COMMAND", last = true, num_args = 1..)]
    pub(crate) command: Vec<OsString>,

    /// Capture on this interface [default: all]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) interface: Option<String>,

    /// Only packets from or to this address; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Vec<IpAddr>,

    /// Only packets from or to this TCP or UDP port; may be repeated
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Vec<u16>,

    /// End after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = positive_duration)]
    pub(crate) time: Option<Duration>,

    /// End after this number of packets
    #[arg(long, value_name = "N", value_parser = whole(1_u64..))]
    pub(crate) packets: Option<u64>,

    /// End when the file would become longer than this
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub(crate) max_size: u64,

    /// Keep this much of each packet [default: all]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) snap: Option<u64>,

    /// Start the command in a network namespace of its own, with nothing but loopback, and capture there
    ///
    /// This needs no root where the system allows user namespaces. The namespace ends with the command.
    #[arg(long, requires = "command", conflicts_with = "interface")]
    pub(crate) isolated: bool,
}
