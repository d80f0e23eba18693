//! Test programs: built by cargo, and asked for their tests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::TestChoice;
use crate::project::{cargo_messages, output_of};

/// Programs with tests of ten seconds and more. They come first, so that short tests fill the end.
const LONG: [&str; 6] = [
    "prestan/prestan",
    "engine",
    "stats",
    "traffic/traffic",
    "xtask/dist",
    "testbed/testbed",
];

/// A program with tests in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// The crate, and the program if it is not the unit tests: `stats`, `lab/lab`.
    pub(crate) label: String,
    pub(crate) executable: PathBuf,
    /// Directory of the crate, in which tests run.
    pub(crate) directory: PathBuf,
}

/// A test in the list of its program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListedTest {
    pub(crate) name: String,
    pub(crate) is_ignored: bool,
}

/// A line of cargo's messages about a build; other kinds of lines have none of these fields.
#[derive(Deserialize)]
struct BuildMessage {
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<BuiltTarget>,
    profile: Option<BuiltProfile>,
}

#[derive(Deserialize)]
struct BuiltTarget {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct BuiltProfile {
    test: bool,
}

/// Crates with modules `quiet`.
const MEASURED: [&str; 3] = ["prestan-flow", "prestan-lab", "prestan-trace"];

/// Builds the test programs of the workspace, and returns them in the order in which they shall
/// run.
///
/// # Errors
/// The build fails; cargo has printed the reason.
pub(crate) fn build(choice: TestChoice) -> Result<Vec<TestProgram>> {
    // The fuzz targets have no tests, and would enable features of common dependencies.
    let mut build = vec!["test", "--workspace", "--exclude=prestan-fuzz"];
    match choice {
        TestChoice::Usual => {}
        TestChoice::WithIgnored => build.push("--features=prestan/png"),
        TestChoice::Optimised => {
            build = vec!["test", "--release"];
            build.extend(MEASURED.iter().flat_map(|name| ["--package", *name]));
        }
    }
    build.extend(["--no-run", "--message-format=json-render-diagnostics"]);
    let messages = cargo_messages(&build)?;
    let mut programs = Vec::new();
    for line in messages.lines() {
        programs.extend(built(line).with_context(|| format!("read what cargo says: {line}"))?);
    }
    let index = |program: &TestProgram| LONG.iter().position(|long| program.label == *long);
    programs.sort_by_key(|program| index(program).unwrap_or(LONG.len()));
    Ok(programs)
}

fn built(line: &str) -> Result<Option<TestProgram>> {
    let message: BuildMessage = serde_json::from_str(line)?;
    let BuildMessage {
        executable: Some(executable),
        manifest_path: Some(manifest),
        target: Some(target),
        profile,
    } = message
    else {
        return Ok(None);
    };
    let directory = manifest.parent().context("a manifest in no directory")?;
    let package = directory
        .file_name()
        .context("a crate without a directory")?;
    let package = package.to_string_lossy();
    let is_test = profile.is_some_and(|profile| profile.test);
    let label = if target.kind.iter().any(|kind| kind == "test") {
        format!("{package}/{}", target.name)
    } else {
        package.into_owned()
    };
    Ok(is_test.then(|| TestProgram {
        label,
        executable,
        directory: directory.to_owned(),
    }))
}

impl TestProgram {
    /// All its tests, in its order.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn tests(&self) -> Result<Vec<ListedTest>> {
        let list = |which: &[&str]| -> Result<Vec<String>> {
            let mut command = Command::new(&self.executable);
            command.args(["--list", "--format=terse"]).args(which);
            Ok(names(&output_of(command.current_dir(&self.directory))?))
        };
        let ignored: BTreeSet<String> = list(&["--ignored"])?.into_iter().collect();
        let listed = |name| ListedTest {
            is_ignored: ignored.contains(&name),
            name,
        };
        Ok(list(&[])?.into_iter().map(listed).collect())
    }
}

/// The names in a list of tests.
fn names(list: &str) -> Vec<String> {
    let names = list.lines().filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_tests_are_read_from_what_cargo_and_they_print() {
        let line = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/x/crates/lab/Cargo.toml","target":{{"kind":["{kind}"],
                "name":"lab"}},"profile":{{"test":{test}}},"executable":"/t/lab-1"}}"#
            )
            .replace('\n', "")
        };
        let label = |line: &str| built(line).unwrap().map(|program| program.label);
        assert_eq!(label(&line("test", true)).as_deref(), Some("lab/lab"));
        assert_eq!(label(&line("lib", true)).as_deref(), Some("lab"));
        assert_eq!(label(&line("bin", false)), None);
        assert_eq!(label(r#"{"reason":"build-finished","success":true}"#), None);
        assert!(built("no JSON").is_err());
        let list = "a::b: test\nc: benchmark\n\nd: test\n";
        assert_eq!(names(list), ["a::b", "d"]);
    }

    /// Packages whose sources have a module with this name.
    fn packages_with(module: &str) -> BTreeSet<String> {
        let crates = crate::project::root().unwrap().join("crates");
        let mut search = Command::new("grep");
        search.args(["--recursive", "--files-with-matches", "--include=*.rs"]);
        let found = output_of(search.arg(format!("^ *mod {module}\\b")).arg(&crates)).unwrap();
        let package = |file: &str| {
            let file = std::path::Path::new(file).strip_prefix(&crates).unwrap();
            format!("prestan-{}", file.iter().next().unwrap().display())
        };
        found.lines().map(package).collect()
    }

    #[test]
    fn crates_with_quiet_tests_are_built_for_them() {
        assert_eq!(packages_with("quiet"), MEASURED.map(str::to_owned).into());
    }
}
