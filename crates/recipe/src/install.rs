//! Programs: what installs those of a server, and where they are.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};

use serde::Deserialize;

/// Sources of a server, from which `cargo xtask setup` installs it. Empty if every system has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Install {
    /// Debian packages.
    pub debian: Vec<String>,
    /// Packages of PyPI with their versions, all that the server needs: `lxml==6.1.3`.
    pub python: Vec<String>,
    /// A program of crates.io. Building it takes minutes.
    #[serde(rename = "crate")]
    pub published: Option<PublishedCrate>,
    /// Directory with the source of its program in Go, in the repository.
    pub go: Option<String>,
}

/// A program of crates.io.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedCrate {
    /// Name of the crate, and of its program.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl fmt::Display for Install {
    /// Sources for people, as a part of a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |of: &str, names: &[String]| match names {
            [] => None,
            [name] => Some(format!("{of} {name}")),
            [names @ .., last] => Some(format!("{of}s {} and {last}", names.join(", "))),
        };
        let published = self.published.as_ref().map(|tool| &tool.name);
        let ways = [
            list("Debian package", &self.debian),
            list("PyPI package", &self.python),
            published.map(|name| format!("crate {name} (cargo install {name})")),
            self.go
                .as_ref()
                .map(|source| format!("{source}, built with Go")),
        ];
        let ways: Vec<String> = ways.into_iter().flatten().collect();
        match &ways[..] {
            [] => f.write_str("the system"),
            ways => f.write_str(&ways.join("; ")),
        }
    }
}

/// Finds an executable: a path, or a name in the project's tool cache, on PATH, or where Debian
/// keeps servers.
pub fn find_program(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        // The server may run in another directory.
        let file = path::absolute(program).ok()?;
        return is_executable(&file).then_some(file);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let tools = tool_cache();
    let cached = tools
        .iter()
        .flat_map(|dir| [dir.join("bin"), dir.join("venv/bin")]);
    let system = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    cached
        .chain(env::split_paths(&path))
        .chain(system)
        .map(|dir| dir.join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Directory of programs that no Debian package has, in the user's cache; `cargo xtask setup` fills
/// it.
pub fn tool_cache() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("prestan/tools"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_install_are_parts_of_a_sentence() {
        let table = "
            {} => the system
            {debian: [nginx-light]} => Debian package nginx-light
            {debian: [a, b, c]} => Debian packages a, b and c
            {python: [lxml==6.1.3, x==1], debian: [d]} => Debian package d; PyPI packages lxml==6.1.3 and x==1
            {crate: {name: dufs, version: 0.47.0}} => crate dufs (cargo install dufs)
            {go: servers/xnet} => servers/xnet, built with Go
        ";
        for [written, said] in cases::rows(table) {
            let install: Install = yaml::read(written).unwrap();
            assert_eq!(install.to_string(), said);
        }
        for wrong in ["{deb: [a]}", "{crate: dufs}", "{debian: a}"] {
            assert!(yaml::read::<Install>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_may_be_a_path() {
        let directory = tempfile::tempdir_in(".").unwrap();
        let file = directory.path().join("serve");
        fs::write(&file, "").unwrap();
        let relative = Path::new(".").join(directory.path().file_name().unwrap());
        let relative = relative.join("serve");
        let relative = relative.to_str().unwrap();
        assert_eq!(find_program(relative), None, "it cannot be executed");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let found = find_program(relative).unwrap();
        assert!(found.is_absolute() && found.ends_with("serve"), "{found:?}");
    }
}
