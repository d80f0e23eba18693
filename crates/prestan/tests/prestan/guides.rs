//! The commands in README and the guides work, and print the shown lines.
//!
//! A `console` block has commands, which begin with `$ `, and lines of their output. Each command
//! is run by a shell, with fewer repetitions, against the embedded server in place of the reader's.
//! The shown lines must be printed in this order: the text before the first digit is compared,
//! since figures differ from run to run.
//!
//! Statements of a guide about proxies are tested with nginx in front of these servers.
//!
//! With `PRESTAN_GUIDES=PROGRAM` (`cargo xtask guides`) the commands are run by that program, as
//! written, and its figures replace those in the guides.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use testbed::{DemoServer, RealServer, Root, Slowdown};

use crate::certificates;
use crate::support::faulty::LOOPBACK;
use crate::support::names_in;
use crate::support::real::nginx;

/// Long commands, and shorter ones in their place.
const QUICKLY: [(&str, &str); 15] = [
    ("prestan diagnose", "prestan diagnose --suite features -r 3"),
    ("-r 100", "-r 3"),
    ("-r 20", "-r 2"),
    ("--duration 30s", "--duration 1s"),
    ("--duration 10s", "--duration 1s"),
    ("--duration 1m", "--duration 1s"),
    ("--for 5m", "--for 4s"),
    ("--for 30s", "--for 4s"),
    ("--rate 500", "--rate 50"),
    ("--users 64", "--users 4"),
    ("--children 24", "--children 2"),
    ("--children 1..64", "--children 1,2"),
    ("@10s", "@1s"),
    ("members=10,100,1000", "members=2,4"),
    ("prestan demo", "prestan demo -r 1"),
];

/// A command, and the shown part of its output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownCommand {
    /// As a shell runs it.
    pub(crate) line: String,
    /// The lines of the document.
    pub(crate) written: Vec<String>,
    pub(crate) output: Vec<String>,
}

/// The `console` blocks of a document.
pub(crate) fn blocks(text: &str) -> Vec<Vec<ShownCommand>> {
    let blocks = text.split("```console\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap_or(rest));
    blocks.map(commands).collect()
}

fn commands(block: &str) -> Vec<ShownCommand> {
    let mut found: Vec<ShownCommand> = Vec::new();
    let mut lines: VecDeque<&str> = block.lines().collect();
    while let Some(line) = lines.pop_front() {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => {
                let mut written = vec![line.to_owned()];
                let mut line = command.to_owned();
                while line.ends_with('\\') {
                    line.pop();
                    let next = lines.pop_front().unwrap_or_default();
                    line.push_str(next);
                    written.push(next.to_owned());
                }
                found.push(ShownCommand {
                    line,
                    written,
                    output: Vec::new(),
                });
            }
            (None, Some(last)) => last.output.push(line.to_owned()),
            (None, None) => panic!("a block begins with output: {line}"),
        }
    }
    found
}

/// Compared part of a line: its words before the first digit.
fn shape(line: &str) -> String {
    let words = line.split(|c: char| c.is_ascii_digit()).next();
    let words = words.unwrap_or_default().split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// The first line that is shown and not printed, where all before it are.
fn missing<'o>(shown: &'o [String], printed: &str) -> Option<&'o str> {
    let mut printed = printed.lines().map(shape);
    let mut shown = shown.iter().map(String::as_str);
    shown.find(|line| {
        let is_compared = !shape(line).is_empty() && line.trim() != "...";
        is_compared && !printed.any(|printed| printed == shape(line))
    })
}

/// The lines that are shown, with the figures that were printed.
fn refreshed(shown: &[String], printed: &str) -> Vec<String> {
    let mut printed = printed.lines();
    let line = |line: &String| {
        let shape_of_line = shape(line);
        if shape_of_line.is_empty() || line == "..." {
            return line.clone();
        }
        let found = printed.find(|printed| shape(printed) == shape_of_line);
        found.map_or_else(|| line.clone(), |found| found.trim_end().to_owned())
    };
    shown.iter().map(line).collect()
}

/// Proxies of a desk, by their addresses in the guide and here.
const PROXIES: [(&str, &str); 10] = [
    ("127.0.0.1:8082", "127.0.0.1:PORT"),
    ("127.0.0.1:8083", "127.0.0.2:PORT"),
    ("127.0.0.1:8084", "127.0.0.3:PORT"),
    ("127.0.0.1:8085", "127.0.0.4:PORT"),
    ("127.0.0.1:8443", "127.0.0.5:PORT"),
    ("files.example:80", "files.example:PORT"),
    ("192.0.2.1:80", "127.0.0.6:PORT"),
    ("192.0.2.2:80", "127.0.0.7:PORT"),
    ("192.0.2.1", "127.0.0.6"),
    ("192.0.2.2", "127.0.0.7"),
];

/// A cache, one that removes a prefix, one that limits requests, one whose server is down, one that
/// ends TLS, and one with two addresses.
const PROXY_SERVERS: &str = "
    proxy_cache_path {{ dir }}/tmp/cache keys_zone=c:1m;
    limit_req_zone $server_addr zone=l:1m rate=20r/s;
    proxy_set_header Host $http_host;
    client_max_body_size 0;
    server {
      listen {{ host }}:{{ port }};
      add_header X-Cache-Status $upstream_cache_status;
      location / { proxy_pass http://BEHIND; proxy_cache c; proxy_cache_valid 200 1h; }
    }
    server { listen 127.0.0.2:{{ port }}; location /files/ { proxy_pass http://BEHIND/; } }
    server {
      listen 127.0.0.3:{{ port }};
      limit_req zone=l;
      limit_req_status 429;
      location / { proxy_pass http://BEHIND; }
    }
    server { listen 127.0.0.4:{{ port }}; location / { proxy_pass http://unix:{{ dir }}/nobody.sock:; } }
    server {
      listen 127.0.0.5:{{ port }} ssl;
      ssl_certificate IDENTITY;
      ssl_certificate_key IDENTITY;
      location / { proxy_pass http://unix:{{ dir }}/dav.sock:; }
    }
    server {
      listen unix:{{ dir }}/dav.sock;
      root {{ storage }};
      location / { dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; }
    }
    server {
      listen 127.0.0.6:{{ port }};
      listen 127.0.0.7:{{ port }};
      location / { proxy_pass http://BEHIND; }
    }
";

/// Starts the proxies in front of a server, where nginx is installed.
fn proxies(behind: &str) -> Option<RealServer> {
    let files = TempDir::new().unwrap();
    let pem = files.path().join("pem");
    fs::write(&pem, certificates::identity()).unwrap();
    let servers = PROXY_SERVERS
        .replace("BEHIND", behind)
        .replace("IDENTITY", pem.to_str().unwrap());
    nginx(&servers)
}

/// Servers in place of those of the reader, and a working directory.
struct Desk {
    directory: TempDir,
    _servers: Vec<DemoServer>,
    proxies: Option<RealServer>,
    addresses: Vec<(String, String)>,
}

impl Desk {
    fn new() -> Desk {
        let directory = TempDir::new().unwrap();
        let slow = Slowdown {
            of: "PROPFIND".to_owned(),
            by: std::time::Duration::from_micros(300),
        };
        let files = directory.path().join("served");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("file"), "some text").unwrap();
        let servers = [
            ("127.0.0.1:8080", Root::Directory(files), None),
            ("127.0.0.1:8081", Root::Temporary, Some(slow)),
        ];
        let (mut running, mut addresses) = (Vec::new(), Vec::new());
        for (written, root, slow) in servers {
            let server = DemoServer::start_slowed(root, LOOPBACK, slow).unwrap();
            addresses.push((written.to_owned(), server.addr().to_string()));
            running.push(server);
        }
        let proxies = proxies(&addresses[0].1);
        if let Some(proxies) = &proxies {
            let url = proxies.url();
            let port = url.rsplit(':').next().unwrap().trim_end_matches('/');
            let replacement = |(written, replacement): (&str, &str)| {
                (written.to_owned(), replacement.replace("PORT", port))
            };
            addresses.extend(PROXIES.map(replacement));
        }
        Desk {
            directory,
            _servers: running,
            proxies,
            addresses,
        }
    }

    /// True for a command that is run here: servers are started already, and some may be missing
    /// outside of CI.
    fn runs(&self, command: &ShownCommand) -> bool {
        let is_of_others = command.line.contains("--server");
        let mut proxies = PROXIES.iter();
        let is_of_proxies = proxies.any(|(proxy, _)| command.line.contains(proxy));
        let has_servers = std::env::var_os("CI").is_some() || !is_of_others;
        let has_proxies = self.proxies.is_some() || !is_of_proxies;
        !command.line.starts_with("prestan serve ") && has_servers && has_proxies
    }

    /// Runs a command, and returns its status and all that it printed.
    fn run(&self, command: &ShownCommand) -> (Option<i32>, String) {
        let mut line = command.line.clone();
        let refreshing = refreshing();
        if refreshing.is_none() {
            for (long, quick) in QUICKLY {
                line = line.replace(long, quick);
            }
        }
        for (written, address) in &self.addresses {
            line = line.replace(written, address);
        }
        let program = refreshing.unwrap_or_else(|| env!("CARGO_BIN_EXE_prestan").into());
        let mut path = vec![program.parent().unwrap().to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
        let output = Command::new("sh")
            .args(["-c", &format!("({line}) 2>&1")])
            .current_dir(self.directory.path())
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("HOME", self.directory.path())
            .env("XDG_STATE_HOME", self.directory.path().join("state"))
            .env("COLUMNS", "130")
            .env("LANG", "C.UTF-8")
            .output()
            .unwrap();
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        for (written, address) in &self.addresses {
            printed = printed.replace(address, written);
        }
        (output.status.code(), printed)
    }
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = names_in(&root.join("docs/guides")).into_iter();
    let names = names.filter(|name| name.ends_with(".md"));
    let mut guides: Vec<PathBuf> = names
        .map(|name| root.join("docs/guides").join(name))
        .collect();
    guides.push(root.join("README.md"));
    guides.sort();
    guides
}

/// The program that gives new figures, where they are wanted.
fn refreshing() -> Option<PathBuf> {
    std::env::var_os("PRESTAN_GUIDES").map(PathBuf::from)
}

/// A document with new figures.
fn renewed(desk: &Desk, text: &str) -> String {
    let mut text = text.to_owned();
    for block in blocks(&text.clone()) {
        let (mut old, mut new) = (String::new(), String::new());
        for command in &block {
            let (_, printed) = desk.run(command);
            let output = refreshed(&command.output, &printed);
            let written = command.written.join("\n") + "\n";
            let lines = |output: &[String]| {
                output
                    .iter()
                    .map(|line| format!("{line}\n"))
                    .collect::<String>()
            };
            old += &(written.clone() + &lines(&command.output));
            new += &(written + &lines(&output));
        }
        text = text.replacen(&old, &new, 1);
    }
    text
}

/// The first failure of a block, whose commands build on one another.
fn fault(desk: &Desk, block: &[ShownCommand]) -> Option<String> {
    for command in block {
        if !desk.runs(command) {
            continue;
        }
        let (status, printed) = desk.run(command);
        // A run may have found something, be inconclusive on this machine, or have found no server.
        let command_line = &command.line;
        if !matches!(status, Some(0 | 1 | 3 | 4)) {
            return Some(format!(
                "$ {command_line}\nended with {status:?}:\n{printed}"
            ));
        }
        if let Some(line) = missing(&command.output, &printed) {
            return Some(format!(
                "$ {command_line}\ndoes not print this line, or not in its place:\n{line}\nbut\n{printed}"
            ));
        }
    }
    None
}

#[test]
fn commands_in_the_guides_print_what_stands_below_them() {
    let desk = Desk::new();
    let (mut count, mut faults) = (0, Vec::new());
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        if refreshing().is_some() {
            fs::write(&path, renewed(&desk, &text)).unwrap();
            continue;
        }
        for block in blocks(&text) {
            count += block.len();
            if let Some(fault) = fault(&desk, &block) {
                faults.push(format!("{}: {fault}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    let is_checked = count >= 12 || refreshing().is_some();
    assert!(is_checked, "only {count} commands were found");
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn shown_command(line: &str, written: &[&str], output: &[&str]) -> ShownCommand {
    ShownCommand {
        line: line.to_owned(),
        written: owned(written),
        output: owned(output),
    }
}

#[test]
fn a_line_that_is_not_printed_is_found() {
    let printed = "a  1 b\nGet  12 µs  13 µs\nPut  14 µs\n";
    let all = owned(&["a 7 c", "...", "Put 99 µs"]);
    assert_eq!(missing(&all, printed), None);
    assert_eq!(missing(&owned(&["Put 1", "Get 1"]), printed), Some("Get 1"));
    assert_eq!(missing(&owned(&["Copy 1"]), printed), Some("Copy 1"));
    let desk = Desk::new();
    for (line, output) in [
        ("prestan suites --nonsense", &[][..]),
        ("prestan suites", &["no such line"]),
    ] {
        let command = shown_command(line, &[], output);
        assert!(fault(&desk, &[command]).is_some(), "{line}");
    }
}

#[test]
fn blocks_are_commands_with_their_output() {
    let text = "text\n```console\n$ one \\\n  more\nout\n$ two\n```\n";
    let expected = vec![
        shown_command("one   more", &["$ one \\", "  more"], &["out"]),
        shown_command("two", &["$ two"], &[]),
    ];
    assert_eq!(blocks(text), [expected]);
}

#[test]
fn figures_become_those_that_were_printed() {
    let shown = owned(&["Get  1 µs", "...", "Put  2 µs  same", "Copy 3"]);
    let printed = "x\nGet  10 µs\ny 7\nPut  20 µs  slower\n";
    let expected = ["Get  10 µs", "...", "Put  20 µs  slower", "Copy 3"];
    assert_eq!(refreshed(&shown, printed), expected);
}
