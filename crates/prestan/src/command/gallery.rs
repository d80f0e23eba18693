//! `prestan gallery`: all installed servers, side by side, as a site.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use engine::ClockChoice;
use report::Comparisons;
use report::gallery::{Exhibit, Gallery, SiteFile};
use runner::RunnerError;
use runner::kept::KeptRun;
use runner::servers::tested_servers;
use stats::ComparedTimes;
use terminal::document_file;
use terminal::output::{self, print_message};
use testbed::real::{Recipe, UrlScheme, recipes};

use super::compare::side_by_side::{self, EarlyEnd, Extent, MeasuredSeries, SideBySide, SideSuite};
use super::compare::{MeasuredServer, compared, shown};
use crate::args::{
    CaptureFileOptions, ClockOptions, LabOptions, MeasuringOptions, RunsOptions, SideOptions,
    VerdictOptions, WARMUP, defaults, whole,
};
use crate::exit::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct GalleryArgs {
    /// Directory of the site; it must be new, empty, or a gallery
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Only these servers (see `prestan servers`); may be repeated [default: all installed ones
    /// that require no password]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) server: Vec<String>,

    /// Number of runs of each server, side by side
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = whole(2..=200_u32), help_heading = "Suite and duration")]
    pub(crate) repeat: u32,

    #[command(flatten)]
    pub(crate) side: SideOptions,

    #[command(flatten)]
    pub(crate) clock: ClockOptions,

    #[command(flatten)]
    pub(crate) packets: CaptureFileOptions,

    #[command(flatten)]
    pub(crate) runs: RunsOptions,

    #[command(flatten)]
    pub(crate) lab: LabOptions,
}

const LEAST: usize = 2;
const INDEX: &str = "index.html";
/// File that marks a directory as a gallery.
const MARK: &str = "assets/prestan.js";

/// Measures the servers and writes the site. After an early end, it shows the runs that all of them
/// have.
pub(crate) fn gallery(args: &GalleryArgs) -> Result<ExitStatus, RunnerError> {
    let recipes = chosen(&args.server)?;
    let is_new = check(&args.directory)?;
    let names: Vec<String> = recipes.iter().map(|recipe| recipe.name.clone()).collect();
    let measuring = MeasuringOptions {
        clock: args.clock,
        packets: args.packets.clone(),
        ..MeasuringOptions::default()
    };
    let how = SideBySide {
        names: None,
        side: &args.side,
        extent: Extent::Runs(args.repeat),
        measuring: &measuring,
        flames: false,
        runs: &args.runs,
    };
    let suite = SideSuite::of(&args.side)?;
    let measured = side_by_side::measure(&how, suite, tested_servers(&[], &names)?)?;
    let MeasuredSeries {
        mut servers,
        whole,
        ended,
    } = measured;
    let Some(EarlyEnd { why, .. }) = ended else {
        write_site(args, &recipes, &servers)?;
        return Ok(ExitStatus::Done);
    };
    let directory = args.directory.display();
    if whole > 0 && !is_new {
        print_message(&format!(
            "prestan: the gallery that was in {directory} stays as it was"
        ));
    } else if whole > 0 {
        // The last runs of the servers may have different tests.
        for server in &mut servers {
            server.runs.truncate(whole);
        }
        match write_site(args, &recipes, &servers) {
            Ok(()) => print_message(&format!(
                "prestan: the gallery in {directory} is incomplete: it shows {whole} of {} runs of each server",
                args.repeat
            )),
            Err(unwritten) => print_message(&format!("prestan: warning: {unwritten}")),
        }
    }
    Err(why)
}

/// Writes the site of these servers and their runs.
fn write_site(
    args: &GalleryArgs,
    recipes: &[&Recipe],
    servers: &[MeasuredServer],
) -> Result<(), RunnerError> {
    let comparison = without_places(compared(servers, args.side.verdicts.by())?);
    let kept = shown(servers)?;
    let runs = servers.first().map_or(0, |server| server.runs.len());
    let gallery = Gallery {
        day: engine::time_of_day().chars().take(10).collect(),
        command: command(args, servers),
        runs,
        planned: args.repeat as usize,
        exhibits: recipes.iter().zip(&kept).map(exhibit).collect(),
        comparison: &comparison,
    };
    let files = report::gallery::gallery(&gallery);
    write(&args.directory, &files)?;
    if !args.runs.quiet {
        print_message(&format!(
            "prestan: {} files are in {}; open index.html",
            files.len(),
            args.directory.display()
        ));
    }
    Ok(())
}

/// True if there is no gallery in the directory yet; refuses one with other content, before
/// anything is measured.
fn check(directory: &Path) -> Result<bool, RunnerError> {
    let failed = |error: std::io::Error| {
        let directory = directory.display();
        RunnerError::Local(format!(
            "nothing is measured, because nothing could be written to {directory}: {error}"
        ))
    };
    fs::create_dir_all(directory).map_err(failed)?;
    let is_empty = fs::read_dir(directory).map_err(failed)?.next().is_none();
    if is_empty || directory.join(MARK).is_file() {
        document_file::announce_all(directory, "html");
        output::check_path(&directory.join(INDEX))?;
        return Ok(is_empty);
    }
    Err(RunnerError::Usage(format!(
        "{} has something in it that is no gallery; give a new directory, or an empty one",
        directory.display()
    )))
}

/// The recipes of these names, or all installed ones without a password. One that keeps properties
/// in files comes first: the others are compared with it.
fn chosen(names: &[String]) -> Result<Vec<&'static Recipe>, RunnerError> {
    let is_chosen = |recipe: &&Recipe| match names {
        [] => recipe.auth == UrlScheme::None && recipe.installed().is_ok(),
        names => names.contains(&recipe.name),
    };
    let mut chosen: Vec<&Recipe> = recipes().iter().filter(is_chosen).collect();
    if let Some(unknown) = names.iter().find(|name| Recipe::named(name).is_none()) {
        return Err(RunnerError::Usage(format!(
            "no server is called `{unknown}`; see `prestan servers`"
        )));
    }
    if chosen.len() < LEAST {
        return Err(RunnerError::Usage(format!(
            "{} server is installed, and a gallery needs at least two; `prestan servers` lists how to \
             install others",
            chosen.len()
        )));
    }
    chosen.sort_by_key(|recipe| recipe.keeps.properties != testbed::real::Keeping::Files);
    Ok(chosen)
}

/// Names of runs in directory of their directories on this machine.
fn without_places(mut comparison: Comparisons) -> Comparisons {
    let versus = comparison.versus.iter_mut().map(|versus| &mut versus.runs);
    for path in versus.chain([&mut comparison.runs]).flatten() {
        if let Some(name) = Path::new(&*path).file_name() {
            *path = name.to_string_lossy().into_owned();
        }
    }
    comparison
}

fn exhibit<'a>((recipe, kept): (&&'a Recipe, &'a KeptRun)) -> Exhibit<'a> {
    let version = recipe.installed().map(|installed| installed.version);
    Exhibit {
        name: recipe.name.clone(),
        title: recipe.title.clone(),
        version: version.unwrap_or_default(),
        properties: recipe.keeps.properties.name(),
        locks: recipe.keeps.locks.name(),
        limits: &recipe.limits,
        shown: kept.page_run(Some(recipe.name.clone())),
        diagnosed: kept.diagnosed.clone(),
    }
}

/// The command line to repeat the gallery: options that differ from the defaults, and nothing about
/// this machine.
fn command(args: &GalleryArgs, servers: &[MeasuredServer]) -> String {
    let SideOptions { verdicts, load, .. } = &args.side;
    let usual: VerdictOptions = defaults();
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let list = |list: &[String]| (!list.is_empty()).then(|| list.join(","));
    let suite = servers.iter().flat_map(|server| &server.runs).next();
    let suite = suite.map(|run| run.run.plan.suite.name.clone());
    let mut options = vec![
        ("--server", list(&args.server)),
        ("--suite", suite.filter(|name| name != "prestan")),
        ("--repeat", Some(args.repeat.to_string())),
        ("-r", number(load.rounds.requests)),
        ("-c", number(load.rounds.concurrency)),
        ("-p", number(load.properties)),
        ("-d", number(load.depth)),
        ("-w", number(load.width)),
        ("--only", list(&load.only)),
        ("--skip", list(&load.rounds.skip)),
        (
            "--duration",
            load.duration.map(|time| format!("{}s", time.as_secs_f64())),
        ),
        (
            "--warmup",
            (load.warmup.warmup != WARMUP).then(|| load.warmup.warmup.to_string()),
        ),
        (
            "--threads",
            (load.running.threads != 1).then(|| load.running.threads.to_string()),
        ),
        ("--seed", load.running.seed.map(|seed| seed.to_string())),
        (
            "--same-within",
            (verdicts.same_within != usual.same_within)
                .then(|| format!("{}%", verdicts.same_within * 100.0)),
        ),
        (
            "--times",
            (verdicts.times == ComparedTimes::Total).then(|| "total".to_owned()),
        ),
    ];
    let param = |(name, value): &(String, String)| ("--param", Some(format!("{name}={value}")));
    options.extend(load.params.iter().map(param));
    if args.clock.clock == ClockChoice::User {
        options.push(("--clock", Some("user".to_owned())));
    }
    let options = options.into_iter();
    let given = options.filter_map(|(name, value)| Some(format!(" {name} {}", quoted(&value?))));
    format!("prestan gallery DIR{}", given.collect::<String>())
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=:/%".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\\\''"))
    }
}

/// Writes all files, and removes pages of an older gallery that this one does not have.
fn write(directory: &Path, files: &[SiteFile]) -> Result<(), RunnerError> {
    let failed = |path: &Path, error: std::io::Error| {
        RunnerError::Local(format!("writing {} failed: {error}", path.display()))
    };
    for file in files {
        let path = directory.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
        }
        document_file::write_drawn(&path, file.content.as_bytes())?;
    }
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, error))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_page =
            (name.starts_with("server-") || name.starts_with("test-")) && name.ends_with(".html");
        if is_page && files.iter().all(|file| file.path != name) {
            fs::remove_file(entry.path()).map_err(|error| failed(&entry.path(), error))?;
        }
    }
    Ok(())
}
