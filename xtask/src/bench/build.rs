//! `cargo xtask bench build`: cost of building and testing this project.
//!
//! ```text
//! round by round, HEAD and --against in turn --> fresh clone --> command of README --> medians --> docs/COST.md
//! ```
//!
//! Dependencies are downloaded before; clones are made in TMPDIR. Processor times hardly change on
//! a busy machine; wall times need an idle one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::project::{between, cargo_command, finish, output, root};

const USAGE: &str =
    "usage: cargo xtask bench build [--build-only] [--times N] [--against COMMIT] | --docs";
/// A table of docs/COST.md: its file, and the lines around it on the page.
type CostTable = (&'static str, (&'static str, &'static str));
/// Costs of the commands of README.
const ALONE: CostTable = (
    "build.md",
    ("<!-- bench:build -->\n", "<!-- /bench:build -->"),
);
/// Costs of those of another commit, in turn with them.
const BESIDE: CostTable = (
    "build-against.md",
    (
        "<!-- bench:build-against -->\n",
        "<!-- /bench:build-against -->",
    ),
);

/// A command of README: its name in the table, and the arguments of cargo.
type ReadmeCommand = (&'static str, [&'static str; 2]);
const BUILD: ReadmeCommand = ("`cargo build --release`", ["build", "--release"]);
const TEST: ReadmeCommand = ("`cargo xtask test`", ["xtask", "test"]);
const TEST_AGAIN: ReadmeCommand = ("the same, when everything is built", TEST.1);

/// Variables that would use files of another build, or change where tests keep their files.
const OTHERS: [&str; 5] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "TMPDIR",
];

#[derive(Debug, PartialEq)]
struct BuildOptions {
    is_build_only: bool,
    times: usize,
    against: Option<String>,
    /// Measure nothing; put the last table into the page.
    is_docs: bool,
}

/// Cost of a command.
#[derive(Debug, Clone, PartialEq)]
struct BuildCost {
    /// Time of all its processes, user and system, in seconds.
    processor: f64,
    /// In seconds.
    wall: f64,
    /// Compiled packages.
    packages: usize,
    /// Bytes of the program; of builds only.
    program: Option<u64>,
}

/// A row of the table.
struct CostRow {
    command: &'static str,
    commit: String,
    /// One for each round.
    costs: Vec<BuildCost>,
}

pub(super) fn run(arguments: &[String]) -> Result<()> {
    let options = BuildOptions::parse(arguments)?;
    if options.is_docs {
        return write_docs();
    }
    let (file, _) = options.against.as_ref().map_or(ALONE, |_| BESIDE);
    let table = logs()?.join(file);
    fs::create_dir_all(logs()?)?;
    let name = |commit| output("git", &["rev-parse", "--short=8", "--verify", commit]);
    let mut commits = vec![name("HEAD")?];
    if let Some(against) = &options.against {
        commits.push(name(against)?);
    }
    if !output("git", &["status", "--porcelain"])?.is_empty() {
        message!("xtask: what is not committed is not measured");
    }
    let mut rows = Vec::new();
    for times in 1..=options.times {
        for commit in &commits {
            let clone = clone_of(commit)?;
            let mut cost = measured(clone.path(), BUILD)?;
            let program = clone.path().join("target/release/prestan");
            cost.program = Some(fs::metadata(program).context("look at the program")?.len());
            add(&mut rows, BUILD, commit, cost);
            drop(clone);
            if !options.is_build_only {
                let clone = clone_of(commit)?;
                for command in [TEST, TEST_AGAIN] {
                    add(&mut rows, command, commit, measured(clone.path(), command)?);
                }
            }
        }
        // A later failure does not lose earlier rounds.
        let text = table_of(&rows, commits.get(1)) + &format!("\n{}\n", machine(times)?);
        fs::write(&table, &text).with_context(|| format!("write {}", table.display()))?;
        let _ = writeln!(io::stdout(), "{text}");
    }
    Ok(())
}

/// Puts the saved tables into the page.
fn write_docs() -> Result<()> {
    let (page, logs) = (root()?.join("docs/COST.md"), logs()?);
    let measured = [ALONE, BESIDE].map(|(file, marks)| (logs.join(file), marks));
    let measured: Vec<_> = measured
        .iter()
        .filter(|(table, _)| table.exists())
        .collect();
    if measured.is_empty() {
        bail!("no table is in {}; run the benchmark first", logs.display());
    }
    let mut text = fs::read_to_string(&page)?;
    for (table, marks) in measured {
        let new = fs::read_to_string(table).with_context(|| format!("read {}", table.display()))?;
        text = between(&text, *marks, &(new + "\n"))?;
    }
    fs::write(&page, text).with_context(|| format!("write {}", page.display()))
}

/// Directory of tables and of the output of commands.
fn logs() -> Result<PathBuf> {
    Ok(root()?.join("target/bench"))
}

impl BuildOptions {
    fn parse(arguments: &[String]) -> Result<BuildOptions> {
        let mut options = BuildOptions {
            is_build_only: false,
            times: 3,
            against: None,
            is_docs: false,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let missing = || format!("{argument} needs a value; {USAGE}");
            let mut value = || rest.next().with_context(missing);
            match argument.as_str() {
                "--build-only" => options.is_build_only = true,
                "--docs" => options.is_docs = true,
                "--against" => options.against = Some(value()?.clone()),
                "--times" => {
                    let times = value()?;
                    let wrong = || format!("--times {times}: it must be a number above 0");
                    let number = times.parse().ok().filter(|number| *number > 0);
                    options.times = number.with_context(wrong)?;
                }
                other => bail!("bench build has no {other}; {USAGE}"),
            }
        }
        Ok(options)
    }
}

/// A fresh clone of a commit. Its dependencies have been downloaded.
fn clone_of(commit: &str) -> Result<TempDir> {
    let clone = TempDir::with_prefix("prestan-build-")?;
    let inside = |mut command: Command, arguments: &[&str]| {
        finish(command.current_dir(clone.path()).args(arguments))
    };
    let git = || Command::new("git");
    let origin = root()?.to_string_lossy();
    inside(git(), &["clone", "--quiet", &origin, "."])?;
    inside(git(), &["checkout", "--quiet", "--detach", commit])?;
    inside(cargo_command()?, &["fetch", "--quiet", "--locked"])?;
    Ok(clone)
}

/// Runs a command in a clone.
fn measured(clone: &Path, (name, arguments): ReadmeCommand) -> Result<BuildCost> {
    let mut cargo = cargo_command()?;
    cargo.args(arguments).current_dir(clone);
    for variable in OTHERS {
        cargo.env_remove(variable);
    }
    let log = logs()?.join("build.log");
    message!("xtask: {name}; its output is in {}", log.display());
    let cost = cost_of(&mut cargo, &log)?;
    let BuildCost {
        processor, wall, ..
    } = cost;
    message!("xtask: {processor:.0} s of processor time in {wall:.0} s");
    Ok(cost)
}

/// Cost of a command that must succeed, with the number of packages that cargo reports as compiled.
fn cost_of(command: &mut Command, log: &Path) -> Result<BuildCost> {
    let file = File::create(log).with_context(|| format!("write {}", log.display()))?;
    let (processor, begun) = (processor_time_of_children()?, Instant::now());
    let status = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .with_context(|| format!("run {command:?}"))?;
    let wall = begun.elapsed().as_secs_f64();
    let processor = processor_time_of_children()? - processor;
    if !status.success() {
        bail!("{command:?}: {status}; its output is in {}", log.display());
    }
    Ok(BuildCost {
        processor,
        wall,
        packages: compiled(&String::from_utf8_lossy(&fs::read(log)?)),
        program: None,
    })
}

/// Seconds of all processes that this one, or one of its children, has waited for.
fn processor_time_of_children() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
    let ticks = ticks_of_children(&stat).context("/proc/self/stat has no times of children")?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// The fields `cutime` and `cstime` (proc_pid_stat(5)) together.
fn ticks_of_children(stat: &str) -> Option<u64> {
    // The name of the program may contain any character.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Packages that cargo reports as compiled, each once.
fn compiled(log: &str) -> usize {
    let packages = log
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("Compiling "));
    packages.collect::<BTreeSet<&str>>().len()
}

fn add(rows: &mut Vec<CostRow>, (command, _): ReadmeCommand, commit: &str, cost: BuildCost) {
    let is_own = |row: &&mut CostRow| row.command == command && row.commit == commit;
    match rows.iter_mut().find(is_own) {
        Some(row) => row.costs.push(cost),
        None => rows.push(CostRow {
            command,
            commit: commit.to_owned(),
            costs: vec![cost],
        }),
    }
}

/// Medians with the least and the greatest; with `against`, also the ratio of processor times to
/// those of that commit.
fn table_of(rows: &[CostRow], against: Option<&String>) -> String {
    let commit_column = against.map_or(String::new(), |commit| format!(" of {commit} |"));
    let mut text = format!(
        "| command | commit | processor time, s |{commit_column} wall time, s | packages | program, MB |\n\
         |---|---|---:|---:|---:|---:|{}\n",
        if against.is_some() { "---:|" } else { "" },
    );
    let mut sorted: Vec<&CostRow> = rows.iter().collect();
    sorted.sort_by_key(|row| rows.iter().position(|known| known.command == row.command));
    for row in sorted {
        let of_all = |figure: fn(&BuildCost) -> f64| spread(row.costs.iter().map(figure), 0);
        let is_other = |baseline: &&CostRow| {
            baseline.command == row.command && Some(&baseline.commit) == against
        };
        let ratio = rows.iter().find(is_other).map_or(String::new(), |other| {
            let pairs = row.costs.iter().zip(&other.costs);
            let ratios = pairs.map(|(current, other)| current.processor / other.processor);
            format!(" {} |", spread(ratios, 2))
        });
        let processor = of_all(|cost| cost.processor);
        let wall = of_all(|cost| cost.wall);
        let last = row.costs.last();
        let packages = last.map_or(0, |cost| cost.packages);
        let program = last.and_then(|cost| cost.program);
        let program = program.map_or(String::new(), |bytes| format!("{:.1}", bytes as f64 / 1e6));
        let CostRow {
            command, commit, ..
        } = row;
        text += &format!(
            "| {command} | {commit} | {processor} |{ratio} {wall} | {packages} | {program} |\n"
        );
    }
    text
}

/// `median [least, greatest]`.
fn spread(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (Some(least), Some(greatest)) = (values.first(), values.last()) else {
        return String::new();
    };
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    let median = (low + high) / 2.0;
    format!("{median:.digits$} [{least:.digits$}, {greatest:.digits$}]")
}

/// Description of the machine, and number of rounds.
fn machine(times: usize) -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown processor", |line| {
        line.trim_matches([' ', '\t', ':'])
    });
    let threads = thread::available_parallelism()?;
    let (system, rustc) = (output("uname", &["-sr"])?, output("rustc", &["--version"])?);
    let count = match times {
        1 => "once".to_owned(),
        _ => format!("median of {times} fresh clones, with the least and the greatest"),
    };
    Ok(format!(
        "{model}, {threads} cores, {system}, {rustc}; {count}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<BuildOptions> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        BuildOptions::parse(&words)
    }

    #[test]
    fn options_are_read_or_refused() {
        let all = options("--build-only --times 5 --against abc").unwrap();
        assert_eq!(
            (all.is_build_only, all.times, all.is_docs),
            (true, 5, false)
        );
        assert_eq!(all.against.as_deref(), Some("abc"));
        assert_eq!(options("").unwrap().times, 3);
        for wrong in ["--times", "--times 0", "--times x", "--against", "--quick"] {
            assert!(options(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn processor_time_of_children_and_packages_are_counted() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; \
                    echo '   Compiling a v1' >&2; echo '   Compiling b v1'; echo '   Compiling a v1'";
        let cost = cost_of(Command::new("sh").args(["-c", work]), &log).unwrap();
        assert!(cost.processor > 0.0 && cost.wall > 0.0, "{cost:?}");
        assert_eq!(cost.packages, 2);
        let failed = cost_of(Command::new("sh").args(["-c", "exit 3"]), &log).unwrap_err();
        assert!(failed.to_string().contains("its output is in"), "{failed}");
    }

    #[test]
    fn the_fields_of_children_follow_those_of_the_process() {
        let stat = "1 (a ) b) S 0 1 1 0 -1 0 1 2 3 4 100 200 30 40 20 0 1 0 5";
        assert_eq!(ticks_of_children(stat), Some(70));
        assert_eq!(ticks_of_children("1 (a) S 0"), None);
    }

    #[test]
    fn commits_stand_beside_each_other_with_their_ratio() {
        let mut rows = Vec::new();
        for (commit, processor) in [("new", 30.0), ("old", 100.0), ("new", 40.0), ("old", 80.0)] {
            let cost = BuildCost {
                processor,
                wall: processor / 2.0,
                packages: 200,
                program: Some(20_040_000),
            };
            add(&mut rows, BUILD, commit, cost);
        }
        assert_eq!(
            table_of(&rows, Some(&"old".to_owned())),
            "| command | commit | processor time, s | of old | wall time, s | packages | program, MB |\n\
             |---|---|---:|---:|---:|---:|---:|\n\
             | `cargo build --release` | new | 35 [30, 40] | 0.40 [0.30, 0.50] | 18 [15, 20] | 200 | 20.0 |\n\
             | `cargo build --release` | old | 90 [80, 100] | 1.00 [1.00, 1.00] | 45 [40, 50] | 200 | 20.0 |\n"
        );
        assert!(!table_of(&rows, None).contains(" of "));
    }

    #[test]
    fn the_page_has_the_marks() {
        let page = fs::read_to_string(root().unwrap().join("docs/COST.md")).unwrap();
        for (file, marks) in [ALONE, BESIDE] {
            assert!(between(&page, marks, "table\n").is_ok(), "{file}");
        }
    }
}
