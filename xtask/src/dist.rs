//! `cargo xtask dist`: the files of a release, in `target/dist`.
//!
//! ```text
//! prestan-VERSION-TRIPLE.tar.gz       the program, manual pages, completions, documents, licences
//! prestan_VERSION_ARCH.deb            the same for Debian
//! prestan-VERSION-py3-none-TAG.whl    the program and licences for Python
//! prestan-VERSION.cdx.json            the parts of the program (a CycloneDX SBOM)
//! SHA256SUMS                          checksums of all of them
//! ```
//!
//! The first three are made for each processor of [`target::ALL`], or the command fails; `--target`
//! selects fewer.
//!
//! The same commit makes the same bytes with the same compilers: the time of all files is that of
//! the commit (`SOURCE_DATE_EPOCH`), entries are sorted and belong to root, modes do not depend on
//! the umask, and no path of the machine is in the program. At the end, the files are unpacked and
//! tried.

mod check;
mod content;
mod debian;
mod documents;
mod image;
mod install;
mod parts;
mod target;
mod wheel;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metadata::Metadata;
use crate::project::{cargo, output, output_of, root};
use content::Content;
use parts::Parts;
use target::ReleaseTarget;

/// The profile of programs for users; see `Cargo.toml`.
const PROFILE: &str = "release";

pub(crate) const CHECKSUMS: &str = "SHA256SUMS";

/// Names and properties of a release.
pub(crate) struct Release {
    version: String,
    /// The program in one line.
    summary: String,
    /// An SPDX expression.
    licence: String,
    /// Seconds since 1970 that all files have as their time.
    epoch: String,
}

impl Release {
    fn of(metadata: &Metadata) -> Result<Release> {
        let program = metadata.package("prestan")?;
        let version = program.version.clone();
        if version.contains(['-', '+']) {
            bail!("version {version} is a pre-release, which Debian and Python write differently");
        }
        let description = program.description.clone();
        let licence = program.license.clone();
        Ok(Release {
            version,
            summary: description.context("prestan has no description")?,
            licence: licence.context("prestan names no licence")?,
            epoch: epoch()?,
        })
    }
}

/// Options of `dist`.
#[derive(Default)]
struct DistOptions {
    /// Targets; empty: all.
    targets: Vec<ReleaseTarget>,
    /// Programs that are already built, for tests.
    programs: Vec<PathBuf>,
    into: Option<PathBuf>,
    /// The files are also installed in bare roots.
    installs: bool,
}

impl DistOptions {
    fn read(arguments: &[String]) -> Result<DistOptions> {
        let mut options = DistOptions::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word == "--install" {
                options.installs = true;
                continue;
            }
            let mut value = || {
                words
                    .next()
                    .with_context(|| format!("{word} needs a value"))
            };
            match word.as_str() {
                "--target" => options.targets.push(ReleaseTarget::from_triple(value()?)?),
                "--program" => options.programs.push(value()?.into()),
                "--into" => options.into = Some(value()?.into()),
                other => bail!(
                    "dist takes --target TRIPLE, --program FILE, --into DIR and --install, and not {other}"
                ),
            }
        }
        if !options.targets.is_empty() && !options.programs.is_empty() {
            bail!("dist takes the target from each --program, and no --target beside it");
        }
        Ok(options)
    }

    /// Programs with their targets, in the order of these; built if none is given.
    fn programs(&self) -> Result<Vec<(ReleaseTarget, PathBuf)>> {
        if self.programs.is_empty() {
            let named = &self.targets;
            return build_for(if named.is_empty() {
                &target::ALL
            } else {
                named
            });
        }
        let mut programs = Vec::new();
        for program in &self.programs {
            programs.push((ReleaseTarget::from_program(program)?, program.clone()));
        }
        let targets: Vec<ReleaseTarget> = programs.iter().map(|(target, _)| *target).collect();
        target::install_tools(&targets)?;
        Ok(programs)
    }
}

/// Executes `dist [--target TRIPLE]... [--program FILE]... [--into DIR] [--install]`: for all
/// targets or some, with programs that are already built, in another directory, with a trial in
/// bare roots.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = DistOptions::read(arguments)?;
    let metadata = Metadata::read()?;
    let release = Release::of(&metadata)?;
    let into = options.into.clone();
    let into = into.unwrap_or_else(|| metadata.target_directory.join("dist"));
    let programs = options.programs()?;
    empty(&into)?;
    let parts = Parts::of(&metadata)?;
    let licences = parts.licences()?;
    for (target, program) in &programs {
        let content = Content::gather(&release, *target, program, &licences)?;
        content.archive(&release, *target, &into)?;
        debian::package(&release, *target, &content, &into)?;
        wheel::package(&release, *target, &content, &into)?;
    }
    parts.write_sbom(&release, &into)?;
    write_checksums(&into)?;
    let targets: Vec<ReleaseTarget> = programs.iter().map(|(target, _)| *target).collect();
    check::everything(&release, &targets, &into)?;
    for file in files_in(&into)? {
        message!("xtask: {}", into.join(file).display());
    }
    if options.installs {
        install::everywhere(&release, &targets, &into, &metadata.target_directory)?;
    }
    Ok(())
}

/// Executes it twice, the second time with everything built anew in another directory.
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

/// Installs the files of [`run`] in bare roots of all processors.
pub(crate) fn install() -> Result<()> {
    let metadata = Metadata::read()?;
    let made = metadata.target_directory.join("dist");
    let release = Release::of(&metadata)?;
    install::everywhere(&release, &target::ALL, &made, &metadata.target_directory)
}

/// Builds the program for each target, in one run of cargo: common parts are built once, and no
/// core waits for the end of the first.
fn build_for(targets: &[ReleaseTarget]) -> Result<Vec<(ReleaseTarget, PathBuf)>> {
    target::install_tools(targets)?;
    let mut arguments = vec!["--package", "prestan", "--features", "prestan/png"];
    let compiler = target::compiler(targets)?;
    let compiler = compiler.map(|rustc| ("RUSTC".to_owned(), rustc));
    let mut variables: Vec<(String, OsString)> = compiler.into_iter().collect();
    for target in targets {
        arguments.extend(["--target", target.triple]);
        variables.extend(target.linker()?);
    }
    compile(&arguments, variables)?;
    let built = Metadata::read()?.target_directory;
    let program = |target: &ReleaseTarget| {
        let directory = built.join(target.triple).join(PROFILE);
        (*target, directory.join("prestan"))
    };
    Ok(targets.iter().map(program).collect())
}

/// Runs `cargo build` with [`PROFILE`], so that the program does not depend on the machine.
fn compile(arguments: &[&str], mut variables: Vec<(String, OsString)>) -> Result<()> {
    // Messages of panics name source files, whose paths differ between machines.
    let registry = cargo_home()?;
    let target = Metadata::read()?.target_directory;
    // The last matching one applies, and the target directory may be in the project.
    let paths = [
        (root()?, "."),
        (registry.as_path(), "cargo"),
        (target.as_path(), "target"),
    ];
    let remapped = |option: &str, separator: &str| {
        let options = paths.iter();
        let options = options.map(|(from, to)| format!("{option}={}={to}", from.display()));
        options.collect::<Vec<_>>().join(separator)
    };
    let rust_flags = remapped("--remap-path-prefix", "\u{1f}");
    let flags = [
        ("CARGO_ENCODED_RUSTFLAGS", rust_flags),
        ("CFLAGS", remapped("-ffile-prefix-map", " ")),
    ];
    variables.extend(flags.map(|(name, flags)| (name.to_owned(), flags.into())));
    let build = ["build", "--locked", "--profile", PROFILE];
    let variables = variables.iter();
    let variables = variables.map(|(name, value)| (name.as_str(), value.clone()));
    let variables: Vec<(&str, OsString)> = variables.collect();
    cargo(&[&build, arguments].concat(), &variables)
}

fn cargo_home() -> Result<PathBuf> {
    let given = env::var_os("CARGO_HOME").map(PathBuf::from);
    let usual = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    let home = given.or_else(usual);
    home.context("neither CARGO_HOME nor HOME says where cargo keeps its packages")
}

/// The time of `SOURCE_DATE_EPOCH`, or of the last commit.
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
