//! Analyses of capture files: connections and requests.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use record::{Outcome, Sample};
use report::{CaptureAnalysis, FormulaName, RunOnWire, TimeoutStudy};
use rundir::{Recorded, RunFolder};
use trace::AnalysisLimits;
use trace::contents::{CaptureContents, ReadingOptions, read_capture};
use trace::not_tcp::NotTcp;
use trace::on_wire::{ReportedTime, WireJoin};

use crate::RunnerError;
use crate::state;

/// Stands for standard input where a file name is expected.
const STANDARD_INPUT: &str = "-";

/// A capture to analyse.
#[derive(Debug)]
pub struct AnalysisRequest {
    /// Capture file; `None`: the packets of the run.
    pub file: Option<PathBuf>,
    /// A run whose recorded times are compared with those of the capture.
    pub run: Option<PathBuf>,
    /// Server as `HOST:PORT`; `None`: guessed from the packets.
    pub server: Option<String>,
    /// Formula of retransmission timeouts to try.
    pub rto: Option<FormulaName>,
    /// Figures are drawn.
    pub is_drawn: bool,
}

/// Analyses a capture. If the file is damaged behind its header, the packets before the damage are
/// used.
pub fn analyse(request: AnalysisRequest) -> Result<CaptureAnalysis, RunnerError> {
    let options = ReadingOptions {
        limits: limits(&request),
        servers: request
            .server
            .as_deref()
            .map_or(Ok(Vec::new()), addresses)?,
    };
    let run = request
        .run
        .as_deref()
        .map(|run| state::find_run(Some(run)))
        .transpose()?;
    let OpenCapture { name, bytes } = OpenCapture::open(request.file.as_deref(), run.as_deref())?;
    let failed =
        |error: &dyn Display| RunnerError::Usage(format!("reading {name} failed: {error}"));
    let mut run = run.as_deref().map(RecordedTimes::read).transpose()?;
    let bytes = unpacked(bytes).map_err(|error| failed(&error))?;
    let contents = read_capture(bytes, &options, |request| {
        if let Some(run) = &mut run {
            run.join.captured(request);
        }
    });
    let contents = contents.map_err(|error| failed(&error))?;
    readable(&contents).map_err(|why| failed(&why))?;
    let connections = &contents.traced.connections;
    Ok(CaptureAnalysis {
        timeouts: request
            .rto
            .map(|formulas| TimeoutStudy::of(connections, formulas)),
        run: run.map(RecordedTimes::beside),
        file: name,
        contents,
    })
}

struct OpenCapture {
    name: String,
    bytes: Box<dyn Read>,
}

impl OpenCapture {
    /// Opens the named file, or the packets that a run recorded.
    fn open(named: Option<&Path>, run: Option<&Path>) -> Result<OpenCapture, RunnerError> {
        if let Some(file) = named {
            return OpenCapture::named(file);
        }
        let packets = run.map(|run| (RunFolder::open(run)?.packets()).map(|it| (run, it)));
        let packets = packets.transpose();
        let packets = packets.map_err(|error| RunnerError::Usage(error.to_string()))?;
        match packets {
            Some((run, Some(file))) => Ok(OpenCapture {
                name: run.join(rundir::PACKETS).display().to_string(),
                bytes: Box::new(file),
            }),
            _ => Err(RunnerError::Usage(
                "the run has recorded no packets; name a capture file, or run a suite with the key `capture`"
                    .to_owned(),
            )),
        }
    }

    fn named(file: &Path) -> Result<OpenCapture, RunnerError> {
        if file.as_os_str() == STANDARD_INPUT {
            return Ok(OpenCapture {
                name: "standard input".to_owned(),
                bytes: Box::new(io::stdin().lock()),
            });
        }
        let name = file.display().to_string();
        let opened = File::open(file);
        let opened = opened
            .map_err(|error| RunnerError::Usage(format!("reading {name} failed: {error}")))?;
        Ok(OpenCapture {
            bytes: Box::new(opened),
            name,
        })
    }
}

/// Points of a time series are needed for figures only, and connections beyond those in the report
/// only to compare with a run.
fn limits(request: &AnalysisRequest) -> AnalysisLimits {
    let mut limits = AnalysisLimits::default();
    if !request.is_drawn {
        limits.points = 2;
    }
    if request.run.is_some() {
        limits.passing_connections = limits.connections;
    }
    limits
}

fn addresses(server: &str) -> Result<Vec<SocketAddr>, RunnerError> {
    let found = server.to_socket_addrs().map_err(|error| {
        RunnerError::Usage(format!(
            "--server {server}: {error}; write an address or a name, and a port: 192.0.2.1:80, \
             [2001:db8::1]:80"
        ))
    })?;
    Ok(found.collect())
}

fn readable(contents: &CaptureContents) -> Result<(), String> {
    let links = contents.unknown_links.iter().map(ToString::to_string);
    let links = links.collect::<Vec<_>>().join(", ");
    let mut why = Vec::new();
    for (kind, _) in contents.counts.others() {
        why.push(match kind {
            NotTcp::UnknownLink => format!("a link type that is not supported: {links}"),
            NotTcp::Arp | NotTcp::Udp | NotTcp::Icmp => return Ok(()),
            NotTcp::OtherTransport | NotTcp::Fragment | NotTcp::BadFragment => return Ok(()),
            kind => kind.to_string(),
        });
    }
    if why.is_empty() || contents.counts.tcp > 0 {
        return Ok(());
    }
    Err(format!(
        "none of its {} packets can be read ({}); capture whole packets at an interface of Ethernet, loopback, \
         \"any\" or raw IP",
        contents.packets,
        why.join("; ")
    ))
}

/// A reader of the unpacked content if the source is compressed with gzip, otherwise of the source.
fn unpacked(mut source: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    const MAGIC: [u8; 2] = [0x1f, 0x8b];
    let mut first = Vec::new();
    source
        .by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut first)?;
    let is_packed = first == MAGIC;
    let whole = Cursor::new(first).chain(source);
    Ok(if is_packed {
        Box::new(MultiGzDecoder::new(whole))
    } else {
        Box::new(whole)
    })
}

struct RecordedTimes {
    name: String,
    join: WireJoin,
}

impl RecordedTimes {
    fn read(path: &Path) -> Result<RecordedTimes, RunnerError> {
        let failed = |error: &dyn std::fmt::Display| {
            RunnerError::Usage(format!(
                "reading the run {} failed: {error}",
                path.display()
            ))
        };
        let Recorded { samples, .. } = rundir::open(path).map_err(|error| failed(&error))?;
        let mut join = WireJoin::default();
        for piece in samples.pieces().map_err(|error| failed(&error))? {
            let piece = piece.map_err(|error| failed(&error))?;
            for time in piece.iter().filter_map(reported) {
                join.reported(time);
            }
        }
        Ok(RecordedTimes {
            name: path.display().to_string(),
            join,
        })
    }

    fn beside(self) -> RunOnWire {
        RunOnWire {
            run: self.name,
            pairs: self.join.finish(),
        }
    }
}

/// An operation that is ok and has a response time. Negative times count: they are a difference
/// worth reporting.
fn reported(sample: &Sample) -> Option<ReportedTime> {
    let (sent, first) = (sample.moments.sent?, sample.moments.first?);
    (sample.outcome == Outcome::Ok).then(|| ReportedTime {
        number: sample.number,
        response_ns: first.cast_signed() - sent.cast_signed(),
    })
}
