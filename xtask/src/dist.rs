//! `cargo xtask dist`: what is published, in `target/dist`.
//!
//! ```text
//! prestan-VERSION-TRIPLE.tar.gz   the program, manual pages, completions, documents, licences
//! prestan_VERSION_ARCH.deb        the same for Debian
//! prestan-VERSION.cdx.json        the parts of the program (a CycloneDX SBOM)
//! SHA256SUMS                      checksums of all of them
//! ```
//!
//! The same commit makes the same bytes with the same compilers: the time in all files is that of the
//! commit (`SOURCE_DATE_EPOCH`), entries are sorted and belong to root, and no path of the machine is in
//! the program. What was made is unpacked and tried at the end.

mod check;
mod content;
mod debian;
mod parts;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::{Metadata, host};
use crate::project::{cargo_with, output, output_of, root};
use content::Content;
use parts::Parts;

/// The profile with all optimisations; see `Cargo.toml`.
const PROFILE: &str = "release-lto";

pub(crate) const CHECKSUMS: &str = "SHA256SUMS";

/// What everything that is published is called by.
pub(crate) struct Release {
    version: String,
    triple: String,
    /// Seconds since 1970 that all files have as their time.
    epoch: String,
}

/// Does `dist [--program FILE] [--into DIR]`: with a program that is already built, or elsewhere, for
/// tests.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut program, mut into) = (None, None);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let place = match word.as_str() {
            "--program" => &mut program,
            "--into" => &mut into,
            other => bail!("dist takes --program FILE and --into DIR, and not {other}"),
        };
        let path = words
            .next()
            .with_context(|| format!("{word} needs a path"))?;
        *place = Some(PathBuf::from(path));
    }
    let metadata = Metadata::read()?;
    let into = into.unwrap_or_else(|| metadata.target_directory.join("dist"));
    let program = match program {
        Some(program) => program,
        None => build(&["prestan"])?.join("prestan"),
    };
    let release = Release {
        version: metadata.package("prestan")?.version.clone(),
        triple: host()?,
        epoch: epoch()?,
    };
    empty(&into)?;
    let parts = Parts::of(&metadata)?;
    let content = Content::gather(&release, &program, &parts)?;
    content.archive(&release, &into)?;
    debian::package(&release, &content, &into)?;
    parts.write_sbom(&release, &into)?;
    write_checksums(&into)?;
    check::everything(&release, &into)?;
    for file in files_in(&into)? {
        eprintln!("xtask: {}", into.join(file).display());
    }
    Ok(())
}

/// Does it, and again with everything built anew elsewhere.
pub(crate) fn run_twice() -> Result<()> {
    run(&[])?;
    let target = Metadata::read()?.target_directory;
    let sums = |target: &Path| {
        let path = target.join("dist").join(CHECKSUMS);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let elsewhere = target.join("dist-again");
    empty(&elsewhere)?;
    let mut again = Command::new(env::current_exe().context("find this program")?);
    again.arg("dist").env("CARGO_TARGET_DIR", &elsewhere);
    output_of(&mut again)?;
    if sums(&target)? != sums(&elsewhere)? {
        bail!("{} and {} differ", target.display(), elsewhere.display());
    }
    fs::remove_dir_all(&elsewhere).with_context(|| format!("remove {}", elsewhere.display()))
}

/// Builds packages with all optimisations, as they are published and as the benchmarks measure them.
/// Gives the directory of the programs.
pub(crate) fn build(packages: &[&str]) -> Result<PathBuf> {
    let mut arguments = vec!["build", "--locked", "--profile", PROFILE, "--features", "prestan/png"];
    for package in packages {
        arguments.extend(["--package", package]);
    }
    // Messages of panics name source files, which are elsewhere on each machine.
    let registry = cargo_home()?;
    let target = Metadata::read()?.target_directory;
    // The last one that fits holds, and the target directory may lie in the project.
    let places = [
        (root()?, "."),
        (registry.as_path(), "cargo"),
        (target.as_path(), "target"),
    ];
    let remapped = |option: &str, separator: &str| {
        let options: Vec<String> = places
            .iter()
            .map(|(from, to)| format!("{option}={}={to}", from.display()))
            .collect();
        options.join(separator)
    };
    let flags = [
        (
            "CARGO_ENCODED_RUSTFLAGS",
            remapped("--remap-path-prefix", "\u{1f}").into(),
        ),
        ("CFLAGS", remapped("-ffile-prefix-map", " ").into()),
    ];
    cargo_with(&arguments, &flags)?;
    Ok(target.join(PROFILE))
}

fn cargo_home() -> Result<PathBuf> {
    let given = env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    given
        .or_else(usual)
        .context("neither CARGO_HOME nor HOME says where cargo keeps its packages")
}

/// The time that `SOURCE_DATE_EPOCH` gives, or that of the last commit.
fn epoch() -> Result<String> {
    match env::var("SOURCE_DATE_EPOCH") {
        Ok(epoch) => Ok(epoch),
        Err(_) => output("git", &["log", "-1", "--format=%ct"]).context(
            "without a git repository, SOURCE_DATE_EPOCH has to give the time of all files",
        ),
    }
}

fn empty(directory: &Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).with_context(|| format!("empty {}", directory.display()))?;
    }
    fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))
}

/// Names of the files in a directory, sorted.
fn files_in(directory: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(directory).with_context(|| format!("read {}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn write_checksums(directory: &Path) -> Result<()> {
    let mut sums = Command::new("sha256sum");
    let sums = output_of(sums.args(files_in(directory)?).current_dir(directory))?;
    let path = directory.join(CHECKSUMS);
    fs::write(&path, sums).with_context(|| format!("write {}", path.display()))
}
