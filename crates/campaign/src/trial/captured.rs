//! Captures of a trial: recorded at the devices of hosts, and read at its end.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use capture::{CaptureSource, Recording, RecordingOptions};
use experiment::MeasuredSpec;
use lab::BuiltLab;
use trace::retransmission::RetransmissionKind;
use trace::rto::{PAPER_WEIGHTS, RtoFormula, RtoStudyRow, SamplingStrategy, study};
use trace::waits::ConnectionEnd;
use trace::{AnalysisLimits, ConnectionFigures, TracedRequest, contents};

use super::{TrialFailure, TrialOutcome};

/// Bytes kept of each packet: headers, and the first line of a request.
const SNAP: u32 = 256;

/// Most connections of a capture: those of a background at 1 Gbit/s for half a minute.
const MOST_CONNECTIONS: usize = 16_384;

/// Running recordings, by host.
pub(super) struct TrialCaptures(Vec<(String, PathBuf, Recording)>);

pub(super) struct ReadCaptures(BTreeMap<String, ReadCapture>);

struct ReadCapture {
    file: PathBuf,
    connections: Vec<ConnectionFigures>,
}

pub(super) struct FoundRequest<'a> {
    connection: &'a ConnectionFigures,
    request: &'a TracedRequest,
}

impl TrialCaptures {
    /// Begins to capture at all devices of these hosts.
    pub(super) fn begin(lab: &BuiltLab, hosts: &[String]) -> Result<TrialCaptures, TrialFailure> {
        let mut captures = TrialCaptures(Vec::new());
        for name in hosts {
            let options = RecordingOptions {
                source: source(lab, name),
                snap_length: SNAP,
                ..RecordingOptions::default()
            };
            let host = lab.host(name);
            let host =
                host.ok_or_else(|| TrialFailure::Failed(format!("no host is called `{name}`")))?;
            let file = lab.temporary_files().join(format!("{name}.pcapng"));
            let start = || Recording::start(&file, &options, Arc::default());
            let recording = host.namespace().run(start)?;
            let recording = recording.map_err(|error| TrialFailure::of(&error))?;
            captures.0.push((name.clone(), file, recording));
        }
        Ok(captures)
    }

    pub(super) fn end(&mut self) -> Vec<(String, PathBuf, Result<u64, TrialFailure>)> {
        let ended = std::mem::take(&mut self.0).into_iter();
        // Each takes a moment to read the rest: end all at once.
        thread::scope(|scope| {
            let ending: Vec<_> = ended
                .map(|(name, file, recording)| {
                    let thread = thread::Builder::new();
                    let thread = thread.spawn_scoped(scope, || recording.stop());
                    (name, file, thread)
                })
                .collect();
            let joined = ending.into_iter().map(|(name, file, thread)| {
                let summary = match thread.map(|thread| thread.join()) {
                    Ok(Ok(summary)) => summary.map_err(|error| TrialFailure::of(&error)),
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    Err(error) => Err(TrialFailure::Failed(limits::no_thread(&error))),
                };
                (name, file, summary.map(|summary| summary.counters.dropped))
            });
            joined.collect()
        })
    }
}

/// The device of a host; all if it has several: those of a bare host pass the same frames.
fn source(lab: &BuiltLab, host: &str) -> CaptureSource {
    let network = lab.network();
    let node = network.find(host).map(|node| &network.nodes[node]);
    match node.map(|node| &node.interfaces[..]) {
        Some([only]) => CaptureSource::Interface(only.device.clone()),
        _ => CaptureSource::Any,
    }
}

/// Smallest response that is a file, not the response to a query about the server.
const SMALLEST_FILE: u64 = 64 << 10;

/// Reads captures, and gathers the figures of their hosts. `span`: when background began and
/// captures were ended, in nanoseconds since 1970.
pub(super) fn read(
    lab: &BuiltLab,
    captures: Vec<(String, PathBuf, Result<u64, TrialFailure>)>,
    span: (i64, i64),
    result: &mut TrialOutcome,
) -> Result<ReadCaptures, TrialFailure> {
    let mut read = BTreeMap::new();
    for (name, file, dropped) in captures {
        if dropped? > 0 {
            result.warn(format!(
                "packets are missing in the capture at {name}, which was too slow"
            ));
        }
        let host = lab.host(&name);
        let own_addresses: Vec<IpAddr> = host.iter().flat_map(|host| host.addresses()).collect();
        let connections = connections(&name, &file, result)?;
        // Programs query the server first, and send half a second later, for a tenth at most.
        let with_files = connections
            .iter()
            .filter(|connection| sent_by(&own_addresses, connection) >= SMALLEST_FILE);
        let first = with_files.map(|connection| connection.start_ns).min();
        let begun = first.map_or(span.0, |first| first.max(span.0));
        let last = connections.iter().map(|connection| connection.end_ns);
        let took = last.fold(span.1, i64::max) - begun;
        host_figures(
            &name,
            &own_addresses,
            &connections,
            took as f64 / 1e9,
            result,
        );
        read.insert(name, ReadCapture { file, connections });
    }
    Ok(ReadCaptures(read))
}

/// Bytes of payload that a host sent on a connection.
fn sent_by(addresses: &[IpAddr], connection: &ConnectionFigures) -> u64 {
    let ends = [ConnectionEnd::Client, ConnectionEnd::Server];
    let directions = ends.map(|end| connection.from(end));
    let sent = directions
        .iter()
        .filter(|direction| is_of(addresses, direction.sender));
    sent.map(|direction| direction.payload_bytes).sum()
}

/// True for an end of a connection at a host with these addresses.
fn is_of(addresses: &[IpAddr], end: SocketAddr) -> bool {
    addresses.contains(&end.ip().to_canonical())
}

fn connections(
    name: &str,
    file: &Path,
    result: &mut TrialOutcome,
) -> Result<Vec<ConnectionFigures>, TrialFailure> {
    let failed = |error: &dyn std::fmt::Display| {
        TrialFailure::Failed(format!("the capture at {name} cannot be read: {error}"))
    };
    let options = contents::ReadingOptions {
        limits: AnalysisLimits {
            connections: MOST_CONNECTIONS,
            points: 2,
            ..AnalysisLimits::default()
        },
        servers: Vec::new(),
    };
    let source = BufReader::new(File::open(file).map_err(|error| failed(&error))?);
    let contents = contents::read_capture(source, &options, |_| {});
    let contents = contents.map_err(|error| failed(&error))?;
    if let Some(damage) = contents.damage {
        return Err(failed(&damage));
    }
    if contents.traced.ignored_segments > 0 {
        result.warn(format!(
            "the capture at {name} has more connections than are read"
        ));
    }
    Ok(contents.traced.connections)
}

fn host_figures(
    name: &str,
    addresses: &[IpAddr],
    connections: &[ConnectionFigures],
    took: f64,
    result: &mut TrialOutcome,
) {
    let (mut all, mut new) = (0, 0);
    let mut handshakes = Vec::new();
    let mut round_trips = Vec::new();
    for connection in connections {
        for end in [ConnectionEnd::Client, ConnectionEnd::Server] {
            let direction = connection.from(end);
            if is_of(addresses, direction.sender) {
                all += direction.payload_bytes;
                new += direction.unique_bytes;
                round_trips.push(direction.rtt.samples());
            }
        }
        handshakes.extend(connection.handshake.rtt_ns);
    }
    let rate = |bytes: u64| bytes as f64 * 8.0 / took;
    result.figure(format!("{name}.captured"), rate(all));
    result.figure(format!("{name}.new"), rate(new));
    handshakes.sort_unstable();
    let median = handshakes.get(handshakes.len() / 2);
    result.maybe(format!("{name}.rtt"), median.map(|ns| *ns as f64 / 1e9));
    for row in study(&round_trips, &PAPER_WEIGHTS.map(RtoFormula::paper)) {
        timeout_figures(name, &row, result);
    }
}

/// The study of timeouts over the round trips of a host's packets.
fn timeout_figures(name: &str, row: &RtoStudyRow, result: &mut TrialOutcome) {
    let Some([within, exceeded, far_exceeded, long_within, long_exceeded]) = row.table.shares()
    else {
        return;
    };
    let strategy = match row.strategy {
        SamplingStrategy::One => "one",
        SamplingStrategy::Some => "some",
        SamplingStrategy::All => "all",
    };
    let prefix = format!("{name}.rto.W{}.{strategy}", row.weights);
    for (end, share) in [
        ("within", within + long_within),
        ("long", long_within + long_exceeded),
        ("short_within", within),
        ("short_exceeded", exceeded),
        ("short_exceeded_long", far_exceeded),
        ("long_within", long_within),
        ("long_exceeded", long_exceeded),
    ] {
        result.figure(format!("{prefix}.{end}"), share);
    }
    for (minimum, share) in ["0.25", "0.5", "0.75", "1"].into_iter().zip(row.up_to) {
        result.maybe(format!("{prefix}.avoided.{minimum}"), share);
    }
}

impl ReadCaptures {
    /// The measured request in the capture at its server, if there is one.
    pub(super) fn request(&self, lab: &BuiltLab, spec: &MeasuredSpec) -> Option<FoundRequest<'_>> {
        let capture = self.0.get(&spec.to)?;
        let addresses = |name: &str| -> Vec<IpAddr> {
            let host = lab.host(name);
            host.iter().flat_map(|host| host.addresses()).collect()
        };
        let (clients, servers) = (addresses(&spec.from), addresses(&spec.to));
        let path = spec.path.as_deref()?;
        let is_between = |figures: &&ConnectionFigures| {
            clients.contains(&figures.client.ip().to_canonical())
                && servers.contains(&figures.server.ip().to_canonical())
        };
        let is_asked = |request: &&TracedRequest| {
            let target = request.path.as_deref().unwrap_or_default();
            request.method.as_deref() == Some("GET") && target.ends_with(path)
        };
        let connections = capture.connections.iter().filter(is_between);
        let requests = connections.flat_map(|connection| {
            let requests = connection.requests.iter().filter(is_asked);
            requests.map(move |request| FoundRequest {
                connection,
                request,
            })
        });
        requests.max_by_key(|found| found.request.request_first_ns)
    }
}

/// Figures of a request, as the dissertation defines them. Unfinished, it has the longest time.
pub(super) fn figures(
    name: &str,
    found: Option<FoundRequest<'_>>,
    is_finished: bool,
    longest: f64,
    result: &mut TrialOutcome,
) {
    let captured = found.as_ref().map(|found| found.request);
    if is_finished {
        let delay = captured.and_then(TracedRequest::delay_ns);
        result.maybe(format!("{name}.delay"), delay.map(|ns| ns as f64 / 1e9));
    } else {
        result.figure(format!("{name}.delay"), longest);
    }
    for (end, with_resent) in [("throughput", true), ("goodput", false)] {
        let rate = captured.and_then(|request| {
            if is_finished {
                return request.throughput(with_resent);
            }
            let bytes =
                request.from_client.bytes(with_resent) + request.from_server.bytes(with_resent);
            Some(bytes as f64 / longest)
        });
        result.maybe(format!("{name}.{end}"), rate.map(|bytes| bytes * 8.0));
    }
    if let Some(FoundRequest {
        connection,
        request,
    }) = found
    {
        let resent = request.from_server.retransmissions;
        result.figure(format!("{name}.retransmissions"), resent as f64);
        let counts = &connection.from_server.retransmissions;
        let timeouts = counts.of(RetransmissionKind::Timeout);
        result.figure(format!("{name}.timeouts"), timeouts as f64);
    }
}

/// Copies captures of a trial to the directory where they are kept.
pub(super) fn keep(
    captures: &ReadCaptures,
    directory: &Path,
    name: &str,
) -> Result<(), TrialFailure> {
    let keeping = TrialFailure::while_trying("keeping a capture");
    for (host, capture) in &captures.0 {
        let kept = directory.join(format!("{name}-{host}.pcapng"));
        fs::copy(&capture.file, kept).map_err(&keeping)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use trace::PcapngWriter;

    use super::*;

    #[test]
    fn captures_that_cannot_be_read_are_failures_with_their_host() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("capture");
        let read = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            connections("server", &file, &mut TrialOutcome::default())
        };
        let failed = |bytes: &[u8]| match read(bytes) {
            Err(TrialFailure::Failed(why)) => why,
            other => panic!("{other:?}"),
        };
        let begins = "the capture at server cannot be read: ";
        for bytes in [&b""[..], b"no capture", &[0xff; 4096]] {
            assert!(failed(bytes).starts_with(begins));
        }
        // A section header, and bytes that are no block.
        let mut torn = Vec::new();
        PcapngWriter::new(&mut torn, "a test", None).unwrap();
        assert!(read(&torn).unwrap().is_empty());
        torn.extend([0x06, 0, 0, 0, 0xff, 0xff, 0xff]);
        assert!(failed(&torn).starts_with(begins));
    }
}
