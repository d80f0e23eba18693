//! Every real server starts, responds, and stops with the process that started it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{litmus, send};
use testbed::real::{Recipe, StartError, UrlScheme, recipes, tested_of};
use testbed::{RealServer, need, need_or};

fn addr(server: &RealServer) -> SocketAddr {
    addr_and_path(server).0
}

fn addr_and_path(server: &RealServer) -> (SocketAddr, String) {
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap();
    let (addr, path) = address.split_once('/').unwrap();
    (addr.parse().unwrap(), format!("/{path}"))
}

/// Starts, uses and drops one; each file of `servers/` is a module of tests below.
fn lives_and_dies(recipe: &Recipe) {
    let installed = recipe.installed().unwrap();
    assert!(installed.version.starts_with(|c: char| c.is_ascii_digit()));
    let server = RealServer::start(recipe).unwrap_or_else(|error| panic!("{error}"));
    let (addr, path) = addr_and_path(&server);
    let file = format!("{path}file.txt");
    let before = server.contents().unwrap();
    let (user, password) = server.credentials().unzip();
    let authorization = match recipe.auth {
        UrlScheme::None => "",
        _ => "Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n",
    };
    assert_eq!(user.is_some(), recipe.auth != UrlScheme::None);
    assert_eq!(password.is_some(), recipe.auth != UrlScheme::None);

    let tagged = format!("{authorization}X-Prestan: prestan: 1 (Put1K)\r\n");
    let options = send(addr, "OPTIONS", &path, authorization, "");
    let put = send(addr, "PUT", &file, &tagged, "content");
    if recipe.auth == UrlScheme::Digest {
        assert_eq!((options.status, put.status), (401, 401));
        let challenge = put.header("www-authenticate").unwrap();
        let says = "Digest realm=\"prestan\"";
        assert!(challenge.starts_with(says), "{challenge}");
    } else if let Some(refused) = recipe.expected.refuses_files {
        assert_eq!((options.status, put.status), (200, refused));
        assert_eq!(server.contents().unwrap(), before);
    } else {
        assert_eq!(options.status, 200);
        assert!(options.header("dav").is_some(), "{}", options.head);
        assert_eq!(put.status, 201);
        let stored = fs::read_to_string(server.storage().join(&file[1..])).unwrap();
        assert_eq!(stored, "content");
        assert_eq!(server.contents().unwrap().len(), before.len() + 1);
        let get = send(addr, "GET", &file, authorization, "");
        assert_eq!((get.status, get.text().as_str()), (200, "content"));
    }

    let pids: Vec<u32> = server.pids().collect();
    let dir = server.storage().parent().unwrap().to_owned();
    let exists = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
    assert!(pids.iter().all(exists));
    let groups: Vec<u32> = pids.iter().map(|pid| group_of(*pid)).collect();
    drop(server);
    assert!(!pids.iter().any(exists));
    assert!(groups.iter().all(|group| group_members(*group).is_empty()));
    assert!(!dir.exists());
    assert!(TcpStream::connect(addr).is_err());
}

/// The group of a process that is not a zombie (those are init's to reap).
fn living_group_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name in parentheses: state, parent, group.
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let (state, group) = (fields.next()?, fields.nth(1)?);
    (state != "Z").then(|| group.parse().unwrap())
}

fn group_of(pid: u32) -> u32 {
    living_group_of(pid).unwrap()
}

fn group_members(group: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap();
    let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let members = pids.filter(|pid| living_group_of(*pid) == Some(group));
    members.collect()
}

/// The connection of a request for whose end a server waits that ends in order.
fn unfinished_request(address: SocketAddr) -> TcpStream {
    let mut connection = TcpStream::connect(address).unwrap();
    let head = "PUT /unfinished HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n";
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(&[b'x'; 1000]).unwrap();
    connection
}

/// Does something with each of some recipes, where it is installed.
fn each<'a>(recipes: impl IntoIterator<Item = &'a Recipe>, test: fn(&Recipe)) {
    for recipe in recipes {
        if need_or(recipe.installed()).is_some() {
            test(recipe);
        }
    }
}

macro_rules! of_each_file {
    ($($module:ident: $file:literal,)*) => {$(
        mod $module {
            use super::{each, tested_of};

            #[test]
            fn lives_and_dies() {
                each(&tested_of($file), super::lives_and_dies);
            }

            #[test]
            fn ends_when_its_owner_is_killed() {
                each(&tested_of($file), super::ends_when_its_owner_is_killed);
            }

            #[test]
            fn its_access_log_can_be_joined() {
                each(&tested_of($file), super::its_access_log_can_be_joined);
            }
        }
    )*};
}

builtin::each_server!(of_each_file);

#[test]
#[ignore = "nightly: they are built from source, which takes minutes"]
fn crates_live_and_die() {
    let crates = || recipes().iter().filter(|recipe| recipe.is_crate());
    each(crates(), lives_and_dies);
    each(crates(), ends_when_its_owner_is_killed);
    each(crates(), its_access_log_can_be_joined);
}

#[test]
fn a_server_may_be_started_on_a_thread_that_ends() {
    let recipe = Recipe::named("nginx").unwrap();
    if need_or(recipe.installed()).is_none() {
        return;
    }
    let started = std::thread::spawn(|| RealServer::start(recipe).unwrap());
    let server = started.join().unwrap();
    assert_eq!(send(addr(&server), "OPTIONS", "/", "", "").status, 200);
}

/// Processors that a process may use, as the system writes them: `0`, `1-3`.
fn allowed(pid: impl std::fmt::Display) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

#[test]
fn a_server_is_kept_to_its_processors_and_the_next_one_is_free() {
    let recipe = Recipe::named("nginx").unwrap();
    if need_or(recipe.installed()).is_none() {
        return;
    }
    let all = allowed("self");
    let last = all.rsplit([',', '-']).next().unwrap().parse().unwrap();
    let server = RealServer::start_on(recipe, &[last]).unwrap();
    assert_eq!(allowed(server.pid()), last.to_string());
    // Its workers, too.
    let pid = server.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    for child in children.split_whitespace() {
        assert_eq!(allowed(child), last.to_string());
    }
    let free = RealServer::start(recipe).unwrap();
    assert_eq!((allowed(free.pid()), allowed("self")), (all.clone(), all));
}

/// The recipe that the process started by [`ends_when_its_owner_is_killed`] starts.
const OWNER_OF: &str = "TESTBED_OWNER_OF";

/// No test: the owner that is to be killed. It names the server's process and waits.
#[test]
#[ignore = "run by ends_when_its_owner_is_killed"]
fn owner() {
    let Ok(name) = std::env::var(OWNER_OF) else {
        return;
    };
    let server = RealServer::start(Recipe::named(&name).unwrap()).unwrap();
    let storage = server.storage();
    let pids: Vec<String> = server.pids().map(|pid| pid.to_string()).collect();
    let (pids, address) = (pids.join(","), addr(&server));
    println!("\nstarted {pids} {address} {}", storage.display());
    // Until the test kills us, or has failed and closed our standard input.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn ends_when_its_owner_is_killed(recipe: &Recipe) {
    let name = &recipe.name;
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "real::owner", "--ignored", "--nocapture"])
        .env(OWNER_OF, name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    let started = lines.find(|line| line.starts_with("started ")).unwrap();
    let mut words = started.split(' ').skip(1);
    let groups = words.next().unwrap().split(',');
    let groups: Vec<u32> = groups.map(|pid| group_of(pid.parse().unwrap())).collect();
    let helpers = usize::from(recipe.helper.is_some());
    assert_eq!(groups.len(), 1 + helpers, "{name}");
    let address = words.next().unwrap().parse().unwrap();
    let requests = [(); 4].map(|()| unfinished_request(address));
    owner.kill().unwrap();
    owner.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(2);
    while groups.iter().any(|group| !group_members(*group).is_empty()) {
        assert!(Instant::now() < deadline, "{name} survives its owner");
        std::thread::yield_now();
    }
    drop(requests);
    let storage = Path::new(words.next().unwrap());
    while storage.parent().unwrap().exists() {
        let is_early = Instant::now() < deadline;
        assert!(is_early, "files of {name} survive its owner");
        std::thread::yield_now();
    }
}

#[test]
fn litmus_passes_where_the_server_is_known_to_be_complete() {
    for recipe in recipes().iter().filter(|recipe| recipe.expected.litmus) {
        let name = &recipe.name;
        let can_start = recipe.auth == UrlScheme::None && need("litmus");
        if !can_start || need_or(recipe.installed()).is_none() {
            continue;
        }
        let server = RealServer::start(recipe).unwrap();
        let printed = litmus(&server.url(), "basic copymove props locks");
        assert_eq!(printed.matches("100.0%").count(), 4, "{name}: {printed}");
    }
}

fn its_access_log_can_be_joined(recipe: &Recipe) {
    let name = &recipe.name;
    let server = RealServer::start(recipe).unwrap();
    let tag = "X-Prestan: prestan: 7 (Get1K)\r\n";
    send(addr(&server), "GET", "/none", tag, "");
    let Some(log) = server.logs().access else {
        return;
    };
    let line = loop {
        let text = fs::read_to_string(&log).unwrap_or_default();
        if let Some(line) = text.lines().find(|line| line.contains("Get1K")) {
            break line.to_owned();
        }
        std::thread::yield_now();
    };
    assert!(line.contains("GET /none"), "{name}: {line}");
    // The request has no password.
    let is_open = recipe.auth == UrlScheme::None;
    let status = if is_open { " 404 " } else { " 401 " };
    assert!(line.contains(status), "{name}: {line}");
    assert!(line.ends_with("\"prestan: 7 (Get1K)\""), "{name}: {line}");
}

#[test]
fn a_server_without_options_is_ready_when_it_says_so() {
    if need_or(testbed::real::find_program("python3").ok_or("python3 is missing")).is_none() {
        return;
    }
    // Its response to OPTIONS is 501; `localhost` may be an address at which it does not listen
    // first.
    let command = "exec python3 -m http.server --bind 127.0.0.1 {{ port }}";
    let recipe = Recipe::of_command("A", command, Some("http://localhost:{{ port }}/"));
    let server = RealServer::start(&recipe).unwrap();
    assert!(server.url().starts_with("http://localhost:"));
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let recipe = Recipe::named("lighttpd").unwrap();
    if need_or(recipe.installed()).is_none() {
        return;
    }
    let broken = recipe.clone().with_argument("--no-such-option");
    let error = RealServer::start(&broken).unwrap_err();
    assert!(matches!(error, StartError::Exited { .. }), "{error:?}");
    assert!(error.to_string().contains("output.log: "), "{error}");
}
