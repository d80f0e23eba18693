//! `cargo xtask setup`: installs everything that tests need beside Rust.
//!
//! ```text
//! Debian packages      --> apt-get, as root, starting nothing
//! packages of PyPI     --> a Python environment in the tool cache
//! programs in Go       --> go build into the tool cache
//! crates, for nightly  --> cargo install into the tool cache
//! ```
//!
//! Packages of servers stand in their recipes (`install`, in `servers/`).
//!
//! With `--peers` also the load generators that `cargo xtask bench` compares with; nothing else
//! needs them. k6 is left out, with a message, if Go is too old for it.
//!
//! Each step first checks if its work is done, so that a second run takes no time.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use recipe::{Recipe, recipes};

use crate::project::{finish, root};

/// Debian packages of no server, each with a file that proves the presence of it or of an
/// equivalent package.
const PACKAGES: [(&str, &str); 11] = [
    ("chromium", "/usr/bin/chromium"),
    ("litmus", "/usr/bin/litmus"),
    ("iproute2", "/sbin/ip"),
    ("tshark", "/usr/bin/tshark"),
    ("tcpdump", "/usr/bin/tcpdump"),
    ("strace", "/usr/bin/strace"),
    ("iperf3", "/usr/bin/iperf3"),
    ("man-db", "/usr/bin/man"),
    ("wget", "/usr/bin/wget"),
    ("jq", "/usr/bin/jq"),
    ("lintian", "/usr/bin/lintian"),
];

/// Load generators, in the same form.
const PEERS: [(&str, &str); 4] = [
    ("wrk", "/usr/bin/wrk"),
    ("nghttp2-client", "/usr/bin/h2load"),
    ("apache2-utils", "/usr/bin/ab"),
    ("hey", "/usr/bin/hey"),
];

/// Makes Python environments; its presence is proved only by Python itself.
const PYTHON_VENV: &str = "python3-venv";

/// Provides `go` if there is none.
const GO: &str = "golang-go";

/// A program of crates.io, and its version.
pub(crate) type PublishedTool = (&'static str, &'static str);

pub(crate) const MDBOOK: PublishedTool = ("mdbook", "0.5.4");
pub(crate) const CARGO_DENY: PublishedTool = ("cargo-deny", "0.20.2");
pub(crate) const CARGO_FUZZ: PublishedTool = ("cargo-fuzz", "0.13.2");
const OHA: PublishedTool = ("oha", "1.16.0");

const K6_VERSION: &str = "1.8.1";
/// Oldest version of Go that builds k6.
const K6_NEEDS: &str = "1.25";

/// Installs missing programs.
pub(crate) fn run() -> Result<()> {
    let cache = tool_cache()?;
    let _one_at_a_time = lock(&cache)?;
    let mut packages = missing(&PACKAGES);
    packages.extend(server_packages(Recipe::is_missing));
    if !python_is_there(&cache) && !python_makes_environments() {
        packages.push(PYTHON_VENV);
    }
    let mut in_go = recipes().iter().filter_map(GoProgram::of);
    if go_version().is_none() && in_go.clone().any(|program| !program.is_there(&cache)) {
        packages.push(GO);
    }
    // All steps, even if the first fails: some need no root.
    let debian = debian_packages(&packages);
    let python = python(&cache);
    let go = in_go.try_for_each(|program| program.build(&cache));
    debian.and(python).and(go)
}

/// Builds the servers that only the ignored tests need: they have no package, and take minutes to
/// build.
pub(crate) fn crates() -> Result<()> {
    let crates = recipes().iter();
    let mut crates = crates.filter_map(|recipe| recipe.install.published.as_ref());
    crates.try_for_each(|program| published((&program.name, &program.version)).map(drop))
}

/// Installs a program, and returns its path.
pub(crate) fn published(tool: PublishedTool) -> Result<PathBuf> {
    let cache = tool_cache()?;
    let _one_at_a_time = lock(&cache)?;
    cargo_install(&cache, tool)?;
    Ok(cache.join("bin").join(tool.0))
}

/// Installs missing load generators.
pub(crate) fn peers() -> Result<()> {
    let cache = tool_cache()?;
    let _one_at_a_time = lock(&cache)?;
    let outcomes = [
        debian_packages(&missing(&PEERS)),
        cargo_install(&cache, OHA),
        k6(&cache),
    ];
    outcomes.into_iter().collect()
}

/// Installs missing Debian packages; each has a file that proves its presence.
pub(crate) fn packages(packages: &[(&'static str, &str)]) -> Result<()> {
    let cache = tool_cache()?;
    let _one_at_a_time = lock(&cache)?;
    debian_packages(&missing(packages))
}

/// `PATH` with the tools that are installed here before all others.
pub(crate) fn path() -> Result<OsString> {
    let tools = tool_cache()?.join("bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(tools).chain(env::split_paths(&path));
    env::join_paths(all).context("the path of the tool cache cannot stand in PATH")
}

/// Where tools are installed.
pub(crate) fn tool_cache() -> Result<PathBuf> {
    let cache = recipe::tool_cache();
    cache.context("neither XDG_CACHE_HOME nor HOME names a directory for tools")
}

fn lock(cache: &Path) -> Result<File> {
    fs::create_dir_all(cache).with_context(|| format!("create {}", cache.display()))?;
    let path = cache.join("lock");
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock()
        .with_context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

fn missing(packages: &[(&'static str, &str)]) -> Vec<&'static str> {
    let packages = packages.iter();
    let absent = packages.filter(|(_, file)| !Path::new(file).exists());
    absent.map(|(package, _)| *package).collect()
}

/// Debian packages of servers, once each.
fn server_packages(is_needed: impl Fn(&Recipe) -> bool) -> Vec<&'static str> {
    let needed = recipes().iter().filter(|recipe| is_needed(recipe));
    let packages = needed.flat_map(|recipe| &recipe.install.debian);
    let mut packages: Vec<&str> = packages.map(String::as_str).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn debian_packages(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        bail!(
            "missing Debian packages: {list}\n\
             this needs root and apt-get; run `cargo xtask setup` as root, or install them by hand \
             (their services need not run), or what provides the same programs on this system"
        );
    }
    let _nothing_starts = PolicyRcD::put()?;
    print_step(&format!("Debian packages: {list}"));
    apt_get(&["update", "--quiet=2"])?;
    let mut arguments = vec!["install", "--quiet=2", "--yes", "--no-install-recommends"];
    arguments.extend(missing);
    apt_get(&arguments)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    finish(
        command
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}

/// Prevents packages from starting services when installed: package scripts first call
/// `/usr/sbin/policy-rc.d`, and 101 means no. Dropping it removes the file.
struct PolicyRcD;

impl PolicyRcD {
    const PATH: &str = "/usr/sbin/policy-rc.d";

    /// The second line distinguishes it from an administrator's, if an earlier run was killed.
    const TEXT: &str = "#!/bin/sh\n# temporary, of prestan's `cargo xtask setup`\nexit 101\n";

    /// `None` if the administrator has a policy already, which remains in force.
    fn put() -> Result<Option<PolicyRcD>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o755);
        match options.open(PolicyRcD::PATH) {
            Ok(mut file) => {
                let ours = PolicyRcD; // removed from here on, whatever happens
                file.write_all(PolicyRcD::TEXT.as_bytes())
                    .with_context(|| format!("write {}", PolicyRcD::PATH))?;
                Ok(Some(ours))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let text = fs::read_to_string(PolicyRcD::PATH).unwrap_or_default();
                Ok((text == PolicyRcD::TEXT).then_some(PolicyRcD))
            }
            Err(error) => Err(error).with_context(|| format!("create {}", PolicyRcD::PATH)),
        }
    }
}

impl Drop for PolicyRcD {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(PolicyRcD::PATH) {
            message!("setup: cannot remove {}: {error}", PolicyRcD::PATH);
        }
    }
}

fn python_makes_environments() -> bool {
    succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}

/// Packages of PyPI of all servers, in the form of pip: a line each.
fn requirements() -> String {
    let packages = recipes().iter().flat_map(|recipe| &recipe.install.python);
    packages.map(|package| format!("{package}\n")).collect()
}

/// The list of installed packages, written last: it exists only if everything does.
fn python_stamp(cache: &Path) -> PathBuf {
    cache.join("venv/installed.txt")
}

fn python_is_there(cache: &Path) -> bool {
    fs::read_to_string(python_stamp(cache)).is_ok_and(|installed| installed == requirements())
}

fn python(cache: &Path) -> Result<()> {
    if python_is_there(cache) {
        return Ok(());
    }
    print_step("servers in Python, into a separate environment");
    let venv = cache.join("venv");
    let mut create = Command::new("python3");
    finish(create.args(["-m", "venv", "--clear"]).arg(&venv))?;
    let list = venv.join("requirements.txt");
    fs::write(&list, requirements()).with_context(|| format!("write {}", list.display()))?;
    let mut install = Command::new(venv.join("bin/python"));
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    finish(install.arg("--requirement").arg(&list))?;
    let stamp = python_stamp(cache);
    fs::rename(&list, &stamp).with_context(|| format!("create {}", stamp.display()))
}

/// Builds a program of crates.io.
fn cargo_install(cache: &Path, (name, version): PublishedTool) -> Result<()> {
    let program = cache.join("bin").join(name);
    let asked = Command::new(&program).arg("--version").output();
    let is_there = asked.is_ok_and(|output| {
        let found = String::from_utf8_lossy(&output.stdout);
        found.trim().replace(" v", " ") == format!("{name} {version}")
    });
    if is_there {
        return Ok(());
    }
    print_slow_step(name, version);
    let build = cache.join("build");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut install = Command::new(cargo);
    install
        .args(["install", name, "--version", version, "--locked"])
        .args([OsStr::new("--root"), cache.as_os_str()])
        .args([OsStr::new("--target-dir"), build.as_os_str()])
        // Cargo's own list may have a program that was removed.
        .args(["--force", "--quiet"])
        .current_dir(cache); // away from this workspace's configuration
    finish(&mut install)?;
    fs::remove_dir_all(&build).with_context(|| format!("remove {}", build.display()))
}

/// Output of `go version`: `go version go1.19.8 linux/amd64`. `None` without Go.
fn go_version() -> Option<String> {
    let output = Command::new("go").arg("version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| version.trim().to_owned())
}

/// The program of a server that is built from its source in Go.
#[derive(Clone, Copy)]
struct GoProgram {
    name: &'static str,
    /// Directory of the source, all its versions pinned.
    source: &'static str,
}

impl GoProgram {
    fn of(recipe: &'static Recipe) -> Option<GoProgram> {
        Some(GoProgram {
            name: &recipe.program,
            source: recipe.install.go.as_ref()?,
        })
    }

    fn file(self, cache: &Path) -> PathBuf {
        cache.join("bin").join(self.name)
    }

    /// The source from which the program was built, written last: it exists only if the program
    /// does.
    fn stamp(self, cache: &Path) -> PathBuf {
        cache.join(format!("{}.txt", self.name))
    }

    /// All files of the source, one behind the other.
    fn text(self) -> Result<String> {
        let directory = root()?.join(self.source);
        let read = || -> io::Result<String> {
            let entries = fs::read_dir(&directory)?.map(|entry| Ok(entry?.path()));
            let mut files = entries.collect::<io::Result<Vec<_>>>()?;
            files.sort();
            files.into_iter().map(fs::read_to_string).collect()
        };
        read().with_context(|| format!("read {}", directory.display()))
    }

    fn is_there(self, cache: &Path) -> bool {
        let built = fs::read_to_string(self.stamp(cache)).ok();
        self.file(cache).is_file() && built.is_some() && built == self.text().ok()
    }

    fn build(self, cache: &Path) -> Result<()> {
        if self.is_there(cache) {
            return Ok(());
        }
        print_step(&format!("{}, from {}", self.name, self.source));
        let mut build = Command::new("go");
        build
            // The version of this project is irrelevant to it, and Git may refuse to show it to
            // another user.
            .args(["build", "-buildvcs=false", "-trimpath", "-o"])
            .arg(self.file(cache))
            .current_dir(root()?.join(self.source));
        finish(&mut build)?;
        let stamp = self.stamp(cache);
        fs::write(&stamp, self.text()?).with_context(|| format!("write {}", stamp.display()))
    }
}

/// Builds k6 if Go is new enough: that of Debian 12 is not, and the benchmarks work without k6.
fn k6(cache: &Path) -> Result<()> {
    let asked = Command::new(cache.join("bin/k6")).arg("version").output();
    let is_there = asked.is_ok_and(|output| {
        let version = String::from_utf8_lossy(&output.stdout);
        version.starts_with(&format!("k6 v{K6_VERSION} "))
    });
    if is_there {
        return Ok(());
    }
    let go = go_version();
    if !go.as_deref().is_some_and(|go| is_recent(go, K6_NEEDS)) {
        let found = go.as_deref().unwrap_or("no `go` in PATH");
        message!(
            "setup: k6 {K6_VERSION} is left out: building it needs Go {K6_NEEDS} or later, and this \
             machine has: {found}; put a later `go` first in PATH and run this again"
        );
        return Ok(());
    }
    print_slow_step("k6", K6_VERSION);
    let mut install = Command::new("go");
    install
        .arg("install")
        .arg(format!("go.k6.io/k6@v{K6_VERSION}"))
        .env("GOBIN", cache.join("bin"))
        .current_dir(cache); // away from any module
    finish(&mut install)
}

/// True if the output of `go version` has this version or a later one.
fn is_recent(version: &str, needed: &str) -> bool {
    let numbers = |text: &str| -> Option<(u32, u32)> {
        let mut numbers = text.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    let words = version.split(' ');
    let found = words.filter_map(|word| numbers(word.strip_prefix("go")?));
    found.max() >= numbers(needed)
}

fn print_slow_step(name: &str, version: &str) {
    print_step(&format!(
        "{name} {version}, which takes some minutes to build"
    ));
}

fn print_step(what: &str) {
    message!("setup: installing {what}");
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_servers_stand_in_their_recipes() {
        let of_nginx = server_packages(|recipe| recipe.name == "nginx");
        assert_eq!(of_nginx, ["libnginx-mod-http-dav-ext", "nginx-light"]);
        let all = server_packages(|_| true);
        let of_nginx = all.iter().filter(|package| **package == "nginx-light");
        assert_eq!(of_nginx.count(), 1);
        assert_eq!(server_packages(|_| false), [""; 0]);
        assert!(requirements().contains("wsgidav==") && requirements().ends_with('\n'));
        let in_go: Vec<_> = recipes().iter().filter_map(GoProgram::of).collect();
        let mut sources = in_go.iter().map(|program| program.text().unwrap());
        assert!(sources.all(|text| text.contains("package main")));
        assert_eq!(in_go[0].name, "prestan-xnet");
    }

    #[test]
    fn versions_of_go_are_compared_as_numbers() {
        for (text, is) in [
            ("go version go1.19.8 linux/amd64", false),
            ("go version go1.24 linux/amd64", false),
            ("go version go1.25.0 linux/amd64", true),
            ("go version go1.100.1 linux/arm64", true),
            ("go version go2.0 linux/arm64", true),
            ("go version devel +2a1b linux/amd64", false),
            ("", false),
        ] {
            assert_eq!(is_recent(text, "1.25"), is, "{text}");
        }
    }
}
