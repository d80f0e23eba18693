//! `cargo xtask bench NAME`: see the library for the benchmarks.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};

use benches::load::Prestan;
use benches::{
    BenchReport, BenchSize, accuracy, branches, builds, cost, docs, floor, inside, pages, scale,
    suite, threads, verdicts, verify,
};

/// Measures Prestan as a measuring instrument.
#[derive(Debug, Parser)]
#[command(name = "benches")]
struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Reported times beside those on the wire
    Accuracy(Versions),
    /// Detection of additional work in a branch of a server
    Branches(How),
    /// Processor time per request, beside other tools
    Cost {
        #[command(flatten)]
        versions: Versions,
        /// Compare with another build of Prestan instead of other tools
        #[arg(long, conflicts_with = "http2")]
        beside: Option<PathBuf>,
    },
    /// Processor time per file of a page, beside other tools
    Pages(How),
    /// Many users, and a schedule
    Scale {
        #[command(flatten)]
        how: How,
        /// With a run of ten million operations
        #[arg(long)]
        full: bool,
    },
    /// Effect of looking inside of a server on its response times
    Inside(How),
    /// How much of a suite's time is the server's
    Suite(How),
    /// One worker thread beside several, with the server on the same machine
    Threads(How),
    /// Correctness of comparisons
    Verdicts(How),
    /// Cost of verifying responses, in pages per second
    Verify(How),
    /// The server that `verdicts` compares
    Serve {
        /// Port on 127.0.0.1
        port: u16,
        /// The test whose requests take longer
        #[arg(long, requires = "by_ns")]
        slow: Option<String>,
        /// Additional time in nanoseconds
        #[arg(long)]
        by_ns: Option<u64>,
    },
    /// The bare client that `cost` compares with
    Floor {
        /// Server
        server: SocketAddr,
        /// Path to GET
        path: String,
        /// Kept connections
        #[arg(long)]
        connections: usize,
        /// Requests in all
        #[arg(long)]
        requests: u64,
    },
}

/// HTTP/1, then HTTP/2.
#[derive(Debug, Args)]
struct Versions {
    #[command(flatten)]
    how: How,
    /// Only HTTP/2
    #[arg(long)]
    http2: bool,
}

#[derive(Debug, Args)]
struct How {
    /// Measure much less
    #[arg(long)]
    quick: bool,
    /// Measure nothing; put the last tables into README.md, docs/ACCURACY.md and docs/COST.md
    #[arg(long, conflicts_with = "quick")]
    docs: bool,
}

fn main() -> ExitCode {
    match dispatch(BenchArgs::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(what: What) -> Result<()> {
    match what {
        What::Floor {
            server,
            path,
            connections,
            requests,
        } => floor::run(server, &path, connections, requests),
        What::Serve { port, slow, by_ns } => verdicts::serve(port, slow.as_deref().zip(by_ns)),
        What::Accuracy(Versions { how, http2 }) => {
            let size = how
                .size()
                .of(accuracy::AccuracySize::FULL, accuracy::AccuracySize::QUICK);
            if !http2 {
                perform("accuracy", &how, |prestan| accuracy::run(prestan, size))?;
            }
            perform("accuracy-http2", &how, |prestan| {
                accuracy::run_http2(prestan, size)
            })
        }
        What::Branches(how) => perform("branches", &how, |prestan| {
            branches::run(prestan, how.size())
        }),
        What::Cost {
            versions: Versions { how, .. },
            beside: Some(other),
        } => perform("cost-builds", &how, |prestan| {
            let size = how.size().of(cost::CostSize::FULL, cost::CostSize::QUICK);
            builds::run(prestan, &Prestan::at(other), size)
        }),
        What::Cost {
            versions: Versions { how, http2 },
            beside: None,
        } => {
            let size = how.size().of(cost::CostSize::FULL, cost::CostSize::QUICK);
            if !http2 {
                perform("cost", &how, |prestan| cost::run(prestan, size))?;
            }
            perform("cost-http2", &how, |prestan| cost::run_http2(prestan, size))
        }
        What::Inside(how) => perform("inside", &how, |prestan| inside::run(prestan, how.size())),
        What::Pages(how) => perform("pages", &how, |prestan| pages::run(prestan, how.size())),
        What::Scale { how, full } => perform("scale", &how, |prestan| {
            let size = how
                .size()
                .of(scale::ScaleSize::FULL, scale::ScaleSize::QUICK);
            scale::run(prestan, size, full.then_some(10_000_000))
        }),
        What::Suite(how) => perform("suite", &how, |prestan| suite::run(prestan, how.size())),
        What::Threads(how) => perform("threads", &how, |prestan| threads::run(prestan, how.size())),
        What::Verdicts(how) => perform("verdicts", &how, |prestan| {
            verdicts::run(prestan, how.size())
        }),
        What::Verify(how) => perform("verify", &how, |prestan| verify::run(prestan, how.size())),
    }
}

impl How {
    fn size(&self) -> BenchSize {
        if self.quick {
            BenchSize::Quick
        } else {
            BenchSize::Full
        }
    }
}

/// Measures, prints and saves, or puts saved results into the pages.
fn perform<R: BenchReport>(
    name: &str,
    how: &How,
    measure: impl FnOnce(&Prestan) -> Result<R>,
) -> Result<()> {
    let directory = beside_us()?;
    let path = directory
        .with_file_name("bench")
        .join(format!("{name}.json"));
    if how.docs {
        let report: R = read(&path)?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let root = root.context("no project around benches")?;
        docs::replace(root, name, &report.tables(), &report.machine().line())?;
        return match report.excerpt() {
            Some((name, table)) => docs::replace(root, name, &[table], ""),
            None => Ok(()),
        };
    }
    let report = measure(&Prestan::at(directory.join("prestan")))?;
    for table in report.tables() {
        println!("{table}");
    }
    println!("{}", report.machine().line());
    write(&path, &report)?;
    println!("{}", path.display());
    Ok(())
}

/// Directory of built programs, including `prestan`.
fn beside_us() -> Result<PathBuf> {
    let program = env::current_exe().context("find this program")?;
    let directory = program.parent().context("find this program's directory")?;
    Ok(directory.to_owned())
}

fn read<R: BenchReport>(path: &Path) -> Result<R> {
    let hint = || format!("read {}; run the benchmark first", path.display());
    let text = fs::read_to_string(path).with_context(hint)?;
    serde_json::from_str(&text).with_context(hint)
}

fn write<R: BenchReport>(path: &Path, report: &R) -> Result<()> {
    let what = || format!("write {}", path.display());
    let directory = path.parent().with_context(what)?;
    fs::create_dir_all(directory).with_context(what)?;
    let text = serde_json::to_string_pretty(report).with_context(what)?;
    fs::write(path, text + "\n").with_context(what)
}
