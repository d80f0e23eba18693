//! `prestan analyze`: what a capture says about connections and requests, and why transfers were slow.

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use record::{Outcome, Sample};
use report::{CaptureAnalysis, RunOnWire, TimeoutStudy};
use rundir::Recorded;
use trace::contents::{CaptureContents, ReadingOptions, read_capture};
use trace::on_wire::{ReportedTime, pair};
use trace::{AnalysisLimits, Exchanges, TcpSegment};
use wire::target::Target;

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
    let run = args.run.as_deref().map(RecordedTimes::read).transpose()?;
    let mut exchanges = Exchanges::default();
    let contents = read(&args.file, &options, |segment| {
        if let Some(run) = &run {
            run.pass_on(segment, &mut exchanges);
        }
    })?;
    let damage = contents.damage.as_ref().map(ToString::to_string);
    let connections = &contents.traced.connections;
    let analysis = CaptureAnalysis {
        file: name(&args.file),
        timeouts: args
            .rto
            .map(|formulas| TimeoutStudy::of(connections, formulas)),
        run: run.map(|run| run.beside(exchanges)),
        contents,
    };
    print(&analysis, args)?;
    match damage {
        None => Ok(ExitStatus::Done),
        Some(damage) => Err(Failed::Local(format!(
            "reading {} failed: {damage}",
            name(&args.file)
        ))),
    }
}

/// Points of courses are needed for figures only.
fn limits(args: &AnalyzeArgs) -> AnalysisLimits {
    let usual = AnalysisLimits::default();
    match args.output.html {
        Some(_) => usual,
        None => AnalysisLimits { points: 2, ..usual },
    }
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
    each: impl FnMut(&TcpSegment<'_>),
) -> Result<CaptureContents, Failed> {
    let failed = |error: &dyn std::fmt::Display| {
        Failed::Usage(format!("reading {} failed: {error}", name(file)))
    };
    let source: Box<dyn Read> = if file.as_os_str() == STANDARD_INPUT {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(file).map_err(|error| failed(&error))?)
    };
    read_capture(source, options, each).map_err(|error| failed(&error))
}

/// The response times of a recorded run.
struct RecordedTimes {
    name: String,
    /// Ports of its servers.
    ports: Vec<u16>,
    times: Vec<ReportedTime>,
}

impl RecordedTimes {
    fn read(run: &Path) -> Result<RecordedTimes, Failed> {
        let path = state::find_run(Some(run))?;
        let failed = |error: &dyn std::fmt::Display| {
            Failed::Usage(format!(
                "reading the run {} failed: {error}",
                path.display()
            ))
        };
        let Recorded { plan, samples, .. } = rundir::open(&path).map_err(|error| failed(&error))?;
        let targets = plan.servers().map(Target::parse);
        let ports = targets.filter_map(|target| Some(target.ok()?.port()));
        let mut times = Vec::new();
        for piece in samples.pieces().map_err(|error| failed(&error))? {
            let piece = piece.map_err(|error| failed(&error))?;
            times.extend(piece.iter().filter_map(reported));
        }
        Ok(RecordedTimes {
            name: path.display().to_string(),
            ports: ports.collect(),
            times,
        })
    }

    /// Adds a segment to or from the servers of the run.
    fn pass_on(&self, segment: &TcpSegment<'_>, exchanges: &mut Exchanges) {
        if self.ports.contains(&segment.destination.port()) {
            exchanges.request(segment);
        } else if self.ports.contains(&segment.source.port()) {
            exchanges.response(segment);
        }
    }

    fn beside(self, exchanges: Exchanges) -> RunOnWire {
        let exchanges = exchanges.finish();
        let numbered = exchanges
            .iter()
            .filter(|exchange| exchange.number.is_some());
        RunOnWire {
            numbered: numbered.count() as u64,
            pairs: pair(&self.times, &exchanges),
            run: self.name,
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
