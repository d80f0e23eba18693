//! Other load generators: their command lines and output. Programs that are not installed are left
//! out.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use record::HttpVersion;
use testbed::real::{find_program, tool_cache};

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// One thread with an event loop, in C.
    Wrk,
    /// Of nghttp2, the only one with HTTP/2 in clear text.
    H2load,
    /// In Rust, on hyper.
    Oha,
    /// In Go, on net/http.
    Hey,
    /// Apache's.
    Ab,
    /// In Go, with scripts.
    K6,
}

/// Script of k6, which has no command line for a GET.
const K6_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/k6.js");

/// The job of a load generator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerJob<'a> {
    /// URL of the GET.
    pub(crate) url: &'a str,
    pub(crate) connections: u32,
    pub(crate) requests: u64,
    /// The same as whole seconds, for tools that do not count requests.
    pub(crate) seconds: u64,
    /// With HTTP/2 one stream at a time.
    pub(crate) version: HttpVersion,
}

/// Figures that it reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PeerFigures {
    pub(crate) requests: u64,
    /// Median and 99th percentile in microseconds, if reported.
    pub(crate) p50_p99_us: Option<(f64, f64)>,
}

impl Peer {
    const ALL: [Peer; 6] = [
        Peer::Wrk,
        Peer::H2load,
        Peer::Oha,
        Peer::Hey,
        Peer::Ab,
        Peer::K6,
    ];

    /// Name of its program.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Wrk => "wrk",
            Peer::H2load => "h2load",
            Peer::Oha => "oha",
            Peer::Hey => "hey",
            Peer::Ab => "ab",
            Peer::K6 => "k6",
        }
    }

    pub(crate) fn installed() -> impl Iterator<Item = Peer> {
        let all = Peer::ALL.into_iter();
        all.filter(|peer| peer.program().is_some())
    }

    /// Path of its program, if installed.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let cached = tool_cache().map(|cache| cache.join("bin").join(self.name()));
        cached
            .filter(|program| program.is_file())
            .or_else(|| find_program(self.name()))
    }

    /// `wrk 4.1.0`; `hey` has no option for it.
    pub(crate) fn version(self) -> String {
        let argument = match self {
            Peer::Ab => "-V",
            Peer::Wrk => "-v",
            Peer::H2load | Peer::Oha | Peer::K6 => "--version",
            // Its argument would be a URL; the version is that of the Debian package.
            Peer::Hey => return format!("hey {}", debian_version("hey")),
        };
        let output = self
            .program()
            .map(|program| Command::new(program).arg(argument).output());
        let output = output.and_then(Result::ok);
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let words = text.as_deref().unwrap_or_default().split([' ', '/', '\n']);
        let version = words
            .map(|word| word.split('-').next().unwrap_or_default())
            .map(|word| word.trim_start_matches('v'))
            .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
        format!("{} {}", self.name(), version.unwrap_or("unknown"))
    }

    /// Its command line, with one thread if that is an option. With a log, it reports its times
    /// with the highest precision, there or on standard output.
    pub(crate) fn command(self, job: PeerJob<'_>, log: Option<&Path>) -> Result<Command> {
        let program = self.program();
        let program = program.with_context(|| format!("{} is not installed", self.name()))?;
        let mut command = Command::new(program);
        let connections = job.connections.to_string();
        let requests = job.requests.to_string();
        let clients = ["-c", connections.as_str()];
        let total = ["-n", requests.as_str()];
        match self {
            Peer::Wrk => {
                command.arg("-t1").args(clients);
                command.arg(format!("-d{}s", job.seconds)).arg("--latency");
            }
            Peer::H2load => {
                let version = match job.version {
                    HttpVersion::Http2 => "-m1",
                    _ => "--h1",
                };
                command.args([version, "-t1"]).args(clients).args(total);
                if let Some(log) = log {
                    command.arg("--log-file").arg(log);
                }
            }
            Peer::Oha => {
                command.env("TOKIO_WORKER_THREADS", "1");
                command.args(["--no-tui", "--output-format", "json"]);
                command.args(clients).args(total);
            }
            Peer::Hey => {
                command.args(["-cpus", "1"]).args(clients).args(total);
                if log.is_some() {
                    command.args(["-o", "csv"]);
                }
            }
            Peer::Ab => {
                command.args(["-k", "-q"]).args(clients).args(total);
                if let Some(log) = log {
                    command.arg("-e").arg(log);
                }
            }
            Peer::K6 => {
                command.env("GOMAXPROCS", "1").args(["run", "--quiet"]);
                command.args(["--vus", &connections, "--iterations", &requests]);
                command.args(["--summary-trend-stats", "med,p(99)"]);
                if let Some(log) = log {
                    command.arg("--summary-export").arg(log);
                }
                command.arg("--env").arg(format!("URL={}", job.url));
            }
        }
        command.arg(if self == Peer::K6 { K6_SCRIPT } else { job.url });
        Ok(command)
    }

    /// Parses its output and its log.
    pub(crate) fn figures(self, stdout: &str, job: PeerJob<'_>) -> Result<PeerFigures> {
        let text = match self {
            Peer::Wrk => wrk(stdout),
            Peer::H2load => h2load(stdout, job),
            Peer::Oha => oha(stdout, job),
            Peer::Hey => hey(stdout, job),
            Peer::Ab => ab(stdout),
            Peer::K6 => k6(stdout, job),
        };
        text.with_context(|| format!("{} printed an unknown format:\n{stdout}", self.name()))
    }
}

fn debian_version(package: &str) -> String {
    let query = ["--show", "--showformat=${Version}", package];
    let output = Command::new("dpkg-query").args(query).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = text.unwrap_or_default();
    match version.split('-').next() {
        Some(version) if !version.is_empty() => version.to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// The first word after the beginning of a line.
fn after<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(str::trim_start);
    let rest = lines.find_map(|line| line.strip_prefix(beginning))?;
    rest.split_whitespace().next()
}

fn wrk(stdout: &str) -> Option<PeerFigures> {
    let mut lines = stdout.lines();
    let total = lines.find_map(|line| line.split_once(" requests in "))?.0;
    let time = |share| time_us(after(stdout, share)?);
    Some(PeerFigures {
        requests: total.trim().parse().ok()?,
        p50_p99_us: time("50%").zip(time("99%")),
    })
}

/// `98.00us`, `1.20ms`, `2.00s`.
fn time_us(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * factor)
    })
}

/// Its log has one line per request: start, status, microseconds.
fn h2load(stdout: &str, job: PeerJob<'_>) -> Option<PeerFigures> {
    stdout.contains("finished in").then_some(())?;
    let times = stdout.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        columns.nth(2)?.parse().ok()
    });
    Some(PeerFigures {
        requests: job.requests,
        p50_p99_us: middle_and_edge(times.collect()),
    })
}

fn oha(stdout: &str, job: PeerJob<'_>) -> Option<PeerFigures> {
    let document: serde_json::Value = serde_json::from_str(stdout).ok()?;
    let time = |share: &str| Some(document["latencyPercentiles"][share].as_f64()? * 1e6);
    Some(PeerFigures {
        requests: job.requests,
        p50_p99_us: Some((time("p50")?, time("p99")?)),
    })
}

/// With CSV one line per request, seconds first; otherwise a summary.
fn hey(stdout: &str, job: PeerJob<'_>) -> Option<PeerFigures> {
    let times = stdout.lines().filter_map(|line| {
        let seconds: f64 = line.split_once(',')?.0.parse().ok()?;
        Some(seconds * 1e6)
    });
    Some(PeerFigures {
        requests: job.requests,
        p50_p99_us: middle_and_edge(times.collect()),
    })
}

/// Its CSV has one line per percentile, in milliseconds.
fn ab(stdout: &str) -> Option<PeerFigures> {
    let time = |share: &str| Some(after(stdout, share)?.parse::<f64>().ok()? * 1e3);
    Some(PeerFigures {
        requests: after(stdout, "Complete requests:")?.parse().ok()?,
        p50_p99_us: time("50,").zip(time("99,")),
    })
}

/// Its export is a document of all metrics, in milliseconds; without one, it prints a summary. Its
/// response time is `http_req_duration`: sending, waiting and receiving, without connecting.
fn k6(stdout: &str, job: PeerJob<'_>) -> Option<PeerFigures> {
    stdout.contains("http_req_duration").then_some(())?;
    // The export begins a line; a row of the summary is named `{ expected_response:true }`.
    let export = stdout.find("\n{").map(|start| &stdout[start..]);
    let export: Option<serde_json::Value> = export.map(serde_json::from_str).transpose().ok()?;
    let time = |share: &str| {
        let times = &export.as_ref()?["metrics"]["http_req_duration"];
        Some(times[share].as_f64()? * 1e3)
    };
    Some(PeerFigures {
        requests: job.requests,
        p50_p99_us: time("med").zip(time("p(99)")),
    })
}

fn middle_and_edge(mut times: Vec<f64>) -> Option<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    let at = |share| trace::on_wire::rank(&times, share).copied();
    at(0.5).zip(at(0.99))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: PeerJob<'_> = PeerJob {
        url: "http://h/",
        connections: 2,
        requests: 3,
        seconds: 1,
        version: HttpVersion::Http11,
    };

    #[test]
    fn what_the_programs_print_is_understood() {
        let cases = [
            (
                Peer::Wrk,
                "Running 1s test @ http://127.0.0.1:1/1k.bin\n  Latency Distribution\n     \
                 50%   98.00us\n     75%  110.00us\n     90%  130.00us\n     99%    1.20ms\n  \
                 123456 requests in 1.00s, 150.00MB read\n",
                (123_456, Some((98.0, 1200.0))),
            ),
            (
                Peer::H2load,
                "1700000000000001\t200\t40\n1700000000000002\t200\t60\n1700000000000003\t200\t50\n\
                 finished in 1.00ms, 3 req/s\n",
                (3, Some((50.0, 60.0))),
            ),
            (Peer::H2load, "finished in 1.00ms, 3 req/s\n", (3, None)),
            (
                Peer::Oha,
                r#"{"summary": {}, "latencyPercentiles": {"p50": 0.00005, "p99": 0.0025}}"#,
                (3, Some((50.0, 2500.0))),
            ),
            (
                Peer::Hey,
                "response-time,DNS+dialup,offset\n0.0001,0.0000,0\n0.0003,0.0,0\n0.0002,0.0,0\n",
                (3, Some((200.0, 300.0))),
            ),
            (
                Peer::Ab,
                "Complete requests:      1000\nPercentage served,Time in ms\n0,0.030\n\
                 50,0.051\n99,1.250\n",
                (1000, Some((51.0, 1250.0))),
            ),
            (
                Peer::K6,
                "    http_req_duration..............: med=51us p(99)=1.25ms\n      \
                 { expected_response:true }...: med=51us p(99)=1.25ms\n\n\n\
                 {\n    \"root_group\": {\"name\": \"\"},\n    \"metrics\": {\n        \
                 \"http_req_duration\": {\"med\": 0.051, \"p(99)\": 1.25}\n    }\n}",
                (3, Some((51.0, 1250.0))),
            ),
            (
                Peer::K6,
                "    http_req_duration..............: med=51us p(99)=1.25ms\n      \
                 { expected_response:true }...: med=51us p(99)=1.25ms\n",
                (3, None),
            ),
        ];
        for (peer, stdout, (requests, times)) in cases {
            let reported = peer.figures(stdout, JOB).unwrap();
            assert_eq!(reported.requests, requests, "{peer:?}");
            let rounded = reported
                .p50_p99_us
                .map(|(p50, p99)| (p50.round(), p99.round()));
            assert_eq!(rounded, times, "{peer:?}");
        }
        for peer in [Peer::Wrk, Peer::H2load, Peer::Oha, Peer::Ab, Peer::K6] {
            assert!(peer.figures("usage: no idea", JOB).is_err(), "{peer:?}");
        }
    }
}
