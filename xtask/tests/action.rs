//! The step of `action.yml` that installs prestan, run by bash as on GitHub, with releases on
//! loopback.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the step runs, and what runs the step and its `cargo`.
const TOOLS: [&str; 9] = [
    "bash",
    "curl",
    "grep",
    "gzip",
    "sed",
    "sh",
    "sha256sum",
    "tar",
    "uname",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Files of releases, by their paths on the server.
type Releases = BTreeMap<String, Vec<u8>>;

/// Serves them until the test ends; gives the URL.
fn serve(releases: Releases) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let releases = Arc::new(releases);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let releases = Arc::clone(&releases);
            thread::spawn(move || respond(stream.unwrap(), &releases));
        }
    });
    url
}

fn respond(mut stream: TcpStream, releases: &Releases) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let request = lines.next().unwrap().unwrap();
    let _head: Vec<String> = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let path = request.split(' ').nth(1).unwrap();
    let (status, body) = match releases.get(path) {
        Some(body) => ("200 OK", body.as_slice()),
        None => ("404 Not Found", &b"no such file"[..]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
}

/// Environment and results of the step.
struct Runner {
    home: TempDir,
}

impl Runner {
    /// With the programs of the step, a `cargo` that notes its arguments, and no `prestan`,
    /// whatever is installed here.
    fn new() -> Runner {
        let home = TempDir::new().unwrap();
        let runner = Runner { home };
        fs::create_dir(runner.path("bin")).unwrap();
        for tool in TOOLS {
            let programs = ["/usr/bin", "/bin"].map(|directory| Path::new(directory).join(tool));
            let found = programs
                .into_iter()
                .find(|program| program.exists())
                .unwrap();
            symlink(found, runner.path("bin").join(tool)).unwrap();
        }
        let cargo = "#!/bin/sh\necho \"$*\" >> \"$RUNNER_TEMP/cargo.log\"\n";
        runner.program("bin/cargo", cargo);
        runner
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// An archive with this text as its program, and the checksum of it.
    fn release(&self, program: &str) -> Releases {
        let name = format!("prestan-{VERSION}-{ARCH}-unknown-linux-gnu");
        self.program(&format!("made/{name}/prestan"), program);
        let archive = format!("{name}.tar.gz");
        let made = self.path("made");
        let output = |command: &mut Command| {
            let output = command.current_dir(&made).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            output.stdout
        };
        output(Command::new("tar").args(["-czf", &archive, &name]));
        let sums = output(Command::new("sha256sum").arg(&archive));
        let url = |file: &str| format!("/o/prestan/releases/download/v{VERSION}/{file}");
        let content = fs::read(made.join(&archive)).unwrap();
        Releases::from([(url(&archive), content), (url("SHA256SUMS"), sums)])
    }

    /// Runs the step with releases at this URL.
    fn install(&self, url: &str, repository: &str) -> Output {
        let text = fs::read_to_string(root().join("action.yml")).unwrap();
        let action: Value = yaml::read(&text).unwrap();
        let step = &action["runs"]["steps"][0];
        assert!(step["env"].as_object().is_some_and(|env| env.len() == 1));
        Command::new("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c"])
            .arg(step["run"].as_str().unwrap())
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("RUNNER_TEMP", self.home.path())
            .env("GITHUB_PATH", self.path("path"))
            .env("GITHUB_ACTION_PATH", root())
            .env("GITHUB_SERVER_URL", url)
            .env("ACTION_REPOSITORY", repository)
            .output()
            .unwrap()
    }
}

#[test]
fn the_action_takes_the_archive_of_its_version() {
    let runner = Runner::new();
    let url = serve(runner.release("#!/bin/sh\necho prestan of the release\n"));
    let output = runner.install(&url, "o/prestan");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(runner.read("cargo.log"), "");
    let program = Path::new(runner.read("path").trim()).join("prestan");
    let output = Command::new(program).output().unwrap().stdout;
    assert_eq!(output, b"prestan of the release\n");
}

#[test]
fn the_action_refuses_an_archive_with_another_checksum() {
    let runner = Runner::new();
    let mut releases = runner.release("#!/bin/sh\n");
    let (archive, content) = releases
        .iter_mut()
        .find(|(path, _)| path.ends_with(".gz"))
        .unwrap();
    let archive = archive.clone();
    content.push(0);
    let output = runner.install(&serve(releases.clone()), "o/prestan");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text.contains("::error::"), "{output:?}");
    // Nor one that the list does not name.
    let mut others = releases.iter_mut().filter(|(path, _)| **path != archive);
    let sums = others.next().unwrap().1;
    sums.clear();
    let output = runner.install(&serve(releases), "o/prestan");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(
        (runner.read("path"), runner.read("cargo.log")),
        Default::default()
    );
}

#[test]
fn the_action_compiles_where_no_archive_runs() {
    let compiles = |url: &str, repository: &str| {
        let runner = Runner::new();
        let output = runner.install(url, repository);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(runner.read("path"), "");
        let log = runner.read("cargo.log");
        assert!(log.starts_with("install --locked --path "), "{log}");
        let manifest = log
            .trim()
            .rsplit(' ')
            .next()
            .map(|path| Path::new(path).join("Cargo.toml"));
        assert!(manifest.unwrap().is_file(), "{log}");
    };
    compiles(&serve(Releases::new()), "o/prestan");
    // Nothing is asked for a release of a checkout.
    compiles("http://127.0.0.1:9", "");
    let broken = Runner::new().release("#!/bin/sh\nexit 127\n");
    compiles(&serve(broken), "o/prestan");
}

#[test]
fn the_action_fails_where_the_releases_cannot_be_read() {
    let runner = Runner::new();
    let output = runner.install("http://127.0.0.1:9", "o/prestan");
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(
        (runner.read("path"), runner.read("cargo.log")),
        Default::default()
    );
}
