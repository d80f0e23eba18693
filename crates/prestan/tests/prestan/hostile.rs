//! The binary against a server that lies about its content, and against users who close the pipe:
//! other resources are not touched, and ours are removed.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::Prestan;
use crate::support::rows::{assert_adds_up, row};
use testbed::{DemoServer, Root};

/// A server that responds with `respond`, given method and path, and records its requests. Its
/// threads end with the process of the test.
struct Liar {
    url: String,
    requests: Arc<Mutex<Vec<(String, String)>>>,
}

impl Liar {
    fn start(respond: impl Fn(&str, &str) -> (u16, String) + Send + Sync + 'static) -> Liar {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}/a/", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (memory, respond) = (Arc::clone(&requests), Arc::new(respond));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (memory, respond) = (Arc::clone(&memory), Arc::clone(&respond));
                thread::spawn(move || serve(&stream, &memory, &*respond));
            }
        });
        Liar { url, requests }
    }

    /// The requested paths with this method, sorted and each once.
    fn requested(&self, method: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let of_method = requests.iter().filter(|(other, _)| other == method);
        let paths: BTreeSet<String> = of_method.map(|(_, path)| path.clone()).collect();
        paths.into_iter().collect()
    }
}

fn serve(
    stream: &TcpStream,
    memory: &Mutex<Vec<(String, String)>>,
    respond: &dyn Fn(&str, &str) -> (u16, String),
) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut words = line.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if header.trim().is_empty() {
                break;
            }
        }
        std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink()).unwrap();
        memory.lock().unwrap().push((method.clone(), path.clone()));
        let (status, body) = respond(&method, &path);
        let head = format!(
            "HTTP/1.1 {status} x\r\nDAV: 1, 2\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut writer = stream;
        if writer.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// A 207 about these hrefs, each with this inside its `prop`.
fn multistatus(members: &[(&str, &str)]) -> String {
    let response = |(href, prop): &(&str, &str)| {
        format!(
            "<response><href>{href}</href><propstat><prop>{prop}</prop>\
             <status>HTTP/1.1 200 OK</status></propstat></response>"
        )
    };
    let responses: String = members.iter().map(response).collect();
    format!("<multistatus xmlns='DAV:'>{responses}</multistatus>")
}

const COLLECTION: &str = "<resourcetype><collection/></resourcetype>";

/// A marker of a run that ended long ago, for any requested path.
fn old_marker(path: &str) -> String {
    let run_id = path.rsplit("PrestanTest-").next().unwrap();
    let run_id = run_id.split('/').next().unwrap();
    format!(
        "{{\"about\": \"\", \"run_id\": \"{run_id}\", \"started_at\": \"2020-01-02T03:04:05Z\", \
         \"boot_id\": \"b\", \"pid_namespace\": \"p\", \"pid\": 1, \"pid_since\": 1}}"
    )
}

#[test]
fn clean_removes_nothing_outside_the_target_whatever_the_server_lists() {
    let liar = Liar::start(|method, path| match method {
        "OPTIONS" => (200, String::new()),
        "PROPFIND" => {
            let listed = [
                ("/a/", COLLECTION),
                ("/a/PrestanTest-ours/", COLLECTION),
                ("/victim/PrestanTest-r1/", COLLECTION),
                ("/a/sub/../../PrestanTest-r2/", COLLECTION),
                ("/a/x%2FPrestanTest-r3/", COLLECTION),
                ("/a/PrestanTest-%2e%2e/", COLLECTION),
                ("/a/PrestanTest-a%20b/", COLLECTION),
                ("/a/PrestanTest-r4/deeper/", COLLECTION),
            ];
            (207, multistatus(&listed))
        }
        "GET" => (200, old_marker(path)),
        _ => (204, String::new()),
    });
    prestan!("clean {}", liar.url).ends(0);
    assert_eq!(liar.requested("DELETE"), ["/a/PrestanTest-ours/"]);
    let marker = "/a/PrestanTest-ours/prestan-run.json";
    assert_eq!(liar.requested("GET"), [marker]);
}

#[test]
fn clean_releases_our_locks_and_no_others() {
    const OURS: &str = "<lockdiscovery><activelock><locktoken><href>urn:ours</href></locktoken>\
                        <lockroot><href>/a/PrestanTest-r/x</href></lockroot></activelock>\
                        </lockdiscovery>";
    const ABOVE: &str = "<lockdiscovery><activelock><locktoken><href>urn:above</href></locktoken>\
                         <lockroot><href>/a/</href></lockroot></activelock></lockdiscovery>";
    const ELSEWHERE: &str = "<lockdiscovery><activelock><locktoken><href>urn:else</href>\
                             </locktoken></activelock></lockdiscovery>";
    let liar = Liar::start(|method, path| match (method, path) {
        ("OPTIONS", _) => (200, String::new()),
        ("PROPFIND", "/a/") => (207, multistatus(&[("/a/PrestanTest-r/", COLLECTION)])),
        ("PROPFIND", _) => {
            let locked = [
                ("/a/PrestanTest-r/x", OURS),
                ("/a/PrestanTest-r/y", ABOVE),
                ("/elsewhere/z", ELSEWHERE),
                ("/a/PrestanTest-r/../../z", ELSEWHERE),
                ("/a/PrestanTest-r/..%2f..%2fz", ELSEWHERE),
                ("/a/PrestanTest-r/..%5cz", ELSEWHERE),
                ("/a/PrestanTest-r/%252e%252e%252fz", ELSEWHERE),
            ];
            (207, multistatus(&locked))
        }
        ("GET", path) => (200, old_marker(path)),
        ("DELETE", _) => (423, String::new()),
        _ => (204, String::new()),
    });
    let outcome = prestan!("clean {}", liar.url).ends(1);
    outcome.stdout_has("could not be removed");
    assert_eq!(liar.requested("UNLOCK"), ["/a/PrestanTest-r/x"]);
}

#[test]
fn a_run_that_nobody_can_see_is_only_removed_by_force() {
    let liar = Liar::start(|method, path| match (method, path) {
        ("OPTIONS", _) => (200, String::new()),
        ("PROPFIND", _) => (207, multistatus(&[("/a/PrestanTest-r/", COLLECTION)])),
        // Begun in the future, by the clock of a machine that is ahead of ours.
        ("GET", path) => (200, old_marker(path).replace("2020-", "2999-")),
        _ => (204, String::new()),
    });
    prestan!("clean {}", liar.url).ends(0).stdout_has("--force");
    assert!(liar.requested("DELETE").is_empty());
    prestan!("clean --force {}", liar.url).ends(0);
    assert_eq!(liar.requested("DELETE").len(), 1);
}

#[test]
fn control_characters_of_a_server_do_not_reach_the_terminal() {
    let liar = Liar::start(|method, _| match method {
        "OPTIONS" => (200, String::new()),
        "PROPFIND" => (404, String::new()),
        // A C1 control sequence introducer, which survives in a header where ESC does not.
        _ => (403, "\u{9b}31m".to_owned()),
    });
    let outcome = prestan!("{}", liar.url).ends(4);
    let printed = outcome.stdout + &outcome.stderr;
    let is_harmful = |c: char| c != '\n' && c.is_control();
    assert!(!printed.contains(is_harmful), "{printed:?}");
}

#[test]
fn who_closed_standard_output_before_reads_that_nothing_arrives() {
    let prestan = env!("CARGO_BIN_EXE_prestan");
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", "exec \"$0\" suites >&-", prestan]);
    let output = shell.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let says = "standard output failed: it is closed";
    assert!(said.contains(says), "{said}");
}

#[test]
fn a_closed_pipe_does_not_end_the_run() {
    let server = DemoServer::start(Root::Temporary, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    for users in ["1", "4"] {
        let options = format!("--no-save -v -r2 -w2 -d2 --threads 2 -c {users}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_prestan"))
            .arg(server.url())
            .args(options.split(' '))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut first).unwrap();
        drop(stderr);
        assert!(!first.is_empty());
        // On a busy machine, two requests are no evidence about a server, and no end either.
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(0 | 3)), "{users} users: {code:?}");
        assert_eq!(std::fs::read_dir(server.root()).unwrap().count(), 0);
    }
}

#[test]
fn an_operation_without_what_it_needs_is_counted_as_dropped() {
    let server = DemoServer::start(Root::Temporary, (Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let prestan = Prestan::new();
    let suite = prestan.file(
        "tag.yaml",
        "suite: tag\ntests:\n- name: T\n  loop:\n  - PUT: a\n    body: {size: 1}\n    \
         save: {tag: header X-No-Such}\n    measure: Put\n  - GET: a\n    \
         headers: {If-Match: \"{{ tag }}\"}\n    measure: Get\n",
    );
    let outcome = prestan!(prestan => "run {} {} -r3 --json -", suite, server.url()).ends(1);
    let result = outcome.json();
    assert_adds_up(&result);
    assert_eq!(row(&result, "Put")["outcomes"]["wrong_body"], 3);
    assert_eq!(row(&result, "Get")["outcomes"]["dropped"], 3);
}
