//! The project and the programs that work on it: its directory, cargo, git.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::metadata::Metadata;

/// Last lines of a failed program's output that an error repeats.
const LAST_LINES: usize = 20;

/// The top directory.
pub(crate) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("no project around xtask")
}

/// Replaces the content between two lines of a page.
pub(crate) fn between(page: &str, (begin, end): (&str, &str), content: &str) -> Result<String> {
    let missing = |mark: &str| format!("the page has no `{}`", mark.trim_end());
    let (before, rest) = page.split_once(begin).with_context(|| missing(begin))?;
    let (_, after) = rest.split_once(end).with_context(|| missing(end))?;
    Ok([before, begin, "\n", content, end, after].concat())
}

/// Prints a message on standard error. A closed pipe (`| head`) is no reason to panic.
macro_rules! message {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

/// Runs cargo in the top directory.
pub(crate) fn cargo(arguments: &[&str], environment: &[(&str, OsString)]) -> Result<()> {
    print_and_run(arguments, environment, Stdio::inherit()).map(drop)
}

/// Output of cargo in the top directory.
pub(crate) fn cargo_output(arguments: &[&str]) -> Result<String> {
    let mut cargo = cargo_command()?;
    output_of(cargo.args(arguments))
}

/// Standard output of cargo in the top directory; errors and progress are printed.
pub(crate) fn cargo_messages(arguments: &[&str]) -> Result<String> {
    let output = print_and_run(arguments, &[], Stdio::piped())?;
    String::from_utf8(output).context("what cargo says is not UTF-8")
}

/// Standard output of cargo, if it is a pipe.
fn print_and_run(
    arguments: &[&str],
    environment: &[(&str, OsString)],
    stdout: Stdio,
) -> Result<Vec<u8>> {
    let command = format!("cargo {}", arguments.join(" "));
    message!("xtask: {command}");
    let mut cargo = cargo_command()?;
    cargo
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)));
    let started = cargo.stdout(stdout).spawn();
    let output = started.and_then(|cargo| cargo.wait_with_output());
    let output = output.with_context(|| format!("starting `{command}`"))?;
    if !output.status.success() {
        bail!("`{command}` failed ({})", output.status);
    }
    Ok(output.stdout)
}

/// Builds packages as users install them. Returns the directory of the programs.
pub(crate) fn build_release(packages: &[&str]) -> Result<PathBuf> {
    let packages = packages.iter().flat_map(|name| ["--package", *name]);
    let build = ["build", "--locked", "--release"].into_iter();
    let build: Vec<&str> = build.chain(packages).collect();
    cargo(&build, &[])?;
    Ok(Metadata::read()?.target_directory.join("release"))
}

/// Cargo in the top directory.
pub(crate) fn cargo_command() -> Result<Command> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Variables of cargo about this package do not apply to that one: build scripts that read them
    // would run again, and libraries would be built twice.
    let mut cargo = Command::new(program);
    for (name, _) in env::vars_os() {
        if is_of_a_package(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    cargo.current_dir(root()?);
    Ok(cargo)
}

fn is_of_a_package(variable: &str) -> bool {
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    prefixes.iter().any(|prefix| variable.starts_with(prefix))
}

/// Runs a command, which must succeed.
pub(crate) fn finish(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).status();
    let status = status.with_context(|| format!("run {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}; what it said is above");
    }
    Ok(())
}

/// Output of a program in the top directory, without surrounding blanks.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = output_of(Command::new(program).args(arguments).current_dir(root()?))?;
    Ok(output.trim().to_owned())
}

/// Standard output of a command.
///
/// # Errors
/// It cannot be started or fails; the last lines of its output are in the message.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        // Some, such as apt, print the reason on standard output.
        let printed = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&printed);
        let lines: Vec<&str> = text.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
        bail!("{command:?} failed ({}): {last}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of {command:?}"))
}
