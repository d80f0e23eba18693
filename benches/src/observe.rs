//! Captures the packets of an action.

use std::fs::File;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use capture::{CaptureSource, PacketSelection, Recording, RecordingOptions};
use trace::contents::{ReadingOptions, read_capture};
use trace::{AnalysisLimits, TracedRequest};

/// Memory of the kernel for packets that are not yet written: those of a second or more.
const RING: usize = 64 << 20;

/// Longest headers of a packet (Ethernet, IP and TCP with all options), and space for the head of a
/// request.
const KEPT: u32 = 14 + 60 + 60 + 1024;

/// Connections whose requests are read at the same time.
const CONNECTIONS: usize = 4096;

/// Calls `act`, which makes requests to this port of loopback. Returns its result and the requests,
/// in the order of their first bytes. The packets are recorded and read as by `prestan capture` and
/// `prestan analyze`.
pub fn observe<T>(port: u16, act: impl FnOnce() -> Result<T>) -> Result<(T, Vec<TracedRequest>)> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("packets.pcapng");
    let options = RecordingOptions {
        source: CaptureSource::Interface("lo".to_owned()),
        selection: PacketSelection {
            hosts: Vec::new(),
            ports: vec![port],
        },
        snap_length: KEPT,
        ring_bytes: RING,
        ..RecordingOptions::default()
    };
    let recording = Recording::start(&path, &options, Arc::default())?;
    let output = act()?;
    let summary = recording.stop()?;
    let counted = summary.counters;
    if counted.dropped > 0 {
        bail!(
            "the capture of port {port} lost {} of {} packets and is discarded; stop other programs, or make \
             fewer requests",
            counted.dropped,
            counted.packets
        );
    }
    let options = ReadingOptions {
        limits: AnalysisLimits {
            connections: 0,
            passing_connections: CONNECTIONS,
            ..AnalysisLimits::default()
        },
        servers: Vec::new(),
    };
    let mut requests = Vec::new();
    let file = File::open(&path)?;
    let contents = read_capture(file, &options, |request| requests.push(request.clone()));
    let contents = contents.context("read the packets of a capture")?;
    if let Some(damage) = contents.damage {
        bail!("the capture of port {port} cannot be read: {damage}");
    }
    requests.sort_by_key(|request| request.request_first_ns);
    Ok((output, requests))
}
