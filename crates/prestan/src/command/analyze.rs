//! `prestan analyze`: what a capture says about connections and requests, and why transfers were slow.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use record::{Outcome, Sample};
use report::{CaptureAnalysis, RunOnWire, TimeoutStudy};
use rundir::Recorded;
use trace::contents::{CaptureContents, ReadingOptions, read_capture};
use trace::link::NotTcp;
use trace::on_wire::{ReportedTime, WireJoin};
use trace::{AnalysisLimits, TracedRequest};

use crate::args::AnalyzeArgs;
use crate::exit::{ExitStatus, Failed};
use crate::{output, state};

/// Stands for standard input where a file could stand.
const STANDARD_INPUT: &str = "-";

/// Reads the capture and prints what it says. A file that is damaged behind its header fails, but what stands before
/// the damage is printed.
pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<ExitStatus, Failed> {
    let out = &args.output;
    output::check_documents(&[&out.json, &out.csv, &out.html, &out.output])?;
    let options = ReadingOptions {
        limits: limits(args),
        servers: args.server.as_deref().map_or(Ok(Vec::new()), addresses)?,
    };
    let run = args
        .run
        .as_deref()
        .map(|run| state::find_run(Some(run)))
        .transpose()?;
    let file = capture_file(args.file.as_deref(), run.as_deref())?;
    let mut run = run.as_deref().map(RecordedTimes::read).transpose()?;
    let contents = read(&file, &options, |request| {
        if let Some(run) = &mut run {
            run.join.captured(request);
        }
    })?;
    readable(&contents, &file)?;
    let damage = contents.damage.as_ref().map(ToString::to_string);
    let connections = &contents.traced.connections;
    let analysis = CaptureAnalysis {
        file: name(&file),
        timeouts: args
            .rto
            .map(|formulas| TimeoutStudy::of(connections, formulas)),
        run: run.map(RecordedTimes::beside),
        contents,
    };
    print(&analysis, args)?;
    match damage {
        None => Ok(ExitStatus::Done),
        Some(damage) => Err(Failed::Local(format!(
            "reading {} failed: {damage}",
            name(&file)
        ))),
    }
}

/// The file that is named, or the packets that a run recorded.
fn capture_file(named: Option<&Path>, run: Option<&Path>) -> Result<PathBuf, Failed> {
    if let Some(file) = named {
        return Ok(file.to_owned());
    }
    let packets = run.map(|run| run.join(rundir::PACKETS));
    packets.filter(|file| file.exists()).ok_or_else(|| {
        Failed::Usage(
            "the run has recorded no packets; name a capture file, or run a suite with the key `capture`"
                .to_owned(),
        )
    })
}

/// Points of courses are needed for figures only, and connections beyond those that are shown for a run only.
fn limits(args: &AnalyzeArgs) -> AnalysisLimits {
    let mut limits = AnalysisLimits::default();
    if args.output.html.is_none() {
        limits.points = 2;
    }
    if args.run.is_some() {
        limits.passing_connections = limits.connections;
    }
    limits
}

/// The addresses of a server.
fn addresses(server: &str) -> Result<Vec<SocketAddr>, Failed> {
    let found = server.to_socket_addrs().map_err(|error| {
        Failed::Usage(format!(
            "--server {server}: {error}; write an address or a name, and a port: 192.0.2.1:80, \
             [2001:db8::1]:80"
        ))
    })?;
    Ok(found.collect())
}

fn name(file: &Path) -> String {
    if file.as_os_str() == STANDARD_INPUT {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    }
}

fn read(
    file: &Path,
    options: &ReadingOptions,
    each: impl FnMut(&TracedRequest),
) -> Result<CaptureContents, Failed> {
    let failed = |error: &dyn std::fmt::Display| {
        Failed::Usage(format!("reading {} failed: {error}", name(file)))
    };
    let source: Box<dyn Read> = if file.as_os_str() == STANDARD_INPUT {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).map_err(|error| failed(&error))?)
    };
    let source = unpacked(source).map_err(|error| failed(&error))?;
    read_capture(source, options, each).map_err(|error| failed(&error))
}

/// Fails where no packet of the capture can be read.
fn readable(contents: &CaptureContents, file: &Path) -> Result<(), Failed> {
    let unknown = contents.counts.of(NotTcp::UnknownLink);
    if unknown == 0 || unknown < contents.packets {
        return Ok(());
    }
    let links: Vec<String> = contents
        .unknown_links
        .iter()
        .map(ToString::to_string)
        .collect();
    Err(Failed::Usage(format!(
        "reading {} failed: none of its {} packets can be read, because this link type is not supported: {}; capture \
         at an interface of Ethernet, loopback, \"any\" or raw IP",
        name(file),
        contents.packets,
        links.join(", ")
    )))
}

/// The content of a source that gzip has compressed, unpacked as it is read; any other source as it is.
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

/// The response times of a recorded run.
struct RecordedTimes {
    name: String,
    join: WireJoin,
}

impl RecordedTimes {
    fn read(path: &Path) -> Result<RecordedTimes, Failed> {
        let failed = |error: &dyn std::fmt::Display| {
            Failed::Usage(format!(
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

/// An operation that is ok and has a response time. A negative one counts as it is: that is a difference to be seen.
fn reported(sample: &Sample) -> Option<ReportedTime> {
    let (sent, first) = (sample.moments.sent?, sample.moments.first?);
    (sample.outcome == Outcome::Ok).then(|| ReportedTime {
        number: sample.number,
        response_ns: first.cast_signed() - sent.cast_signed(),
    })
}

fn print(analysis: &CaptureAnalysis, args: &AnalyzeArgs) -> Result<(), Failed> {
    let out = &args.output;
    let json = out.json.as_deref();
    let json = json.map(|path| (path, report::analysis_json(analysis)));
    let csv = out.csv.as_deref();
    let csv = csv.map(|path| (path, report::analysis_csv(analysis)));
    let html = out.html.as_deref();
    let html = html.map(|path| (path, report::analysis_html(analysis)));
    output::print_all(
        [json, csv, html].into_iter().flatten().collect(),
        out.output.as_deref(),
        out.color,
        |color, width| report::analysis_text(analysis, color, width),
    )
}
