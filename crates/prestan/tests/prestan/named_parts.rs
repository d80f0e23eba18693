//! Pages whose first file names their parts, and pages that programs make.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use record::EventKind;
use serde_json::Value;
use testbed::fault::{Fault, Rule};
use testbed::need_or;

use crate::support::faulty::{Faulty, status};
use crate::support::load::{kept, plain};
use crate::support::rows::row;
use crate::support::{Outcome, Prestan};

const SITE: &str = r#"<!doctype html><link rel=stylesheet href=s.css?v=1&amp;w=2><script src=/s.js></script>
<img src=img/a.png><img src=img/a.png#again><img src="http://elsewhere.example/x.png"><!-- <img src=no> -->"#;

/// Paths that the site has, beside its first file.
const PARTS: [&str; 3] = ["/s.css?v=1&w=2", "/s.js", "/img/a.png"];

/// A suite with the site fetched in each way.
const SUITE: &str = "suite: shop
needs: http
constraints:
  whole: failures(Order) == 0 and failures(Order, last 60 s) == 0
  counted: operations(Order) > 0 and connections(Order) <= operations(Order)
  longer: min(Order) > min(OrderText) and first(Order) > 0 s
tests:
  - name: Order
    loop:
      - page: Order
        measure: OrderParts
        steps: [{GET: index.html, measure: OrderText}, {parts: html}]
  - name: Four
    http: {connections: 4, keep: page}
    loop:
      - page: Four
        measure: FourParts
        steps: [{GET: index.html}, {parts: html}]
  - name: Piped
    http: {pipeline: 8}
    loop:
      - page: Piped
        measure: PipedParts
        steps: [{GET: index.html}, {parts: html}, {GET: last.gif}]
  - name: None
    http: {keep: page}
    loop:
      - page: None
        measure: NoneParts
        steps: [{GET: none.html, measure: NoneText}, {parts: html}]
";

fn site() -> Faulty {
    let server = plain();
    let root = server.demo.root();
    fs::create_dir(root.join("img")).unwrap();
    let files = [
        ("index.html", SITE),
        ("none.html", ""),
        ("s.css", "b {}"),
        ("s.js", "1"),
        ("img/a.png", "png"),
        ("last.gif", "gif"),
    ];
    for (name, content) in files {
        fs::write(root.join(name), content).unwrap();
    }
    server
}

fn run(url: &str) -> Outcome {
    let prestan = Prestan::new();
    prestan.file("shop.yaml", SUITE);
    prestan!(prestan => "run shop.yaml {url} -r 5 --warmup 0 --json -").run()
}

/// The suite with its first test alone.
fn orders() -> Prestan {
    let prestan = Prestan::new();
    prestan.file("shop.yaml", &SUITE[..SUITE.find("  - name: Four").unwrap()]);
    prestan
}

/// Pages, errors, files and connections of each page.
fn pages(outcome: &Outcome) -> BTreeMap<String, [u64; 4]> {
    let document = outcome.json();
    let pages = document["webstone"]["pages"].as_array().unwrap().iter();
    let page = |page: &Value| {
        let figures = ["pages", "errors", "files", "connects"];
        let numbers = figures.map(|what| page["retrieved"][what].as_u64().unwrap());
        (page["name"].as_str().unwrap().to_owned(), numbers)
    };
    pages.map(page).collect()
}

#[test]
fn a_page_names_its_parts() {
    let server = site();
    let outcome = run(&server.url()).ended(0);
    let pages = pages(&outcome);
    assert_eq!(pages["Order"], [5, 0, 20, 1], "{outcome}");
    // The first on one connection, three parts on as many.
    assert_eq!(pages["Four"], [5, 0, 20, 15], "{outcome}");
    let [piped, _, files, _] = pages["Piped"];
    assert_eq!((piped, files), (5, 25), "{outcome}");
    assert_eq!(pages["None"], [5, 0, 5, 5], "{outcome}");
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for one in server.exchanges() {
        if one.method == "GET" {
            *asked.entry(one.path).or_default() += 1;
        }
    }
    for part in PARTS {
        assert_eq!(asked[part], 15, "{asked:?}");
    }
    assert_eq!((asked["/last.gif"], asked["/none.html"]), (5, 5));
    assert!(!asked.contains_key("/no"), "{asked:?}");
    assert!(!asked.contains_key("/x.png"), "{asked:?}");
    let run = kept(&outcome);
    let notes = run.events.iter().filter_map(|event| match &event.kind {
        EventKind::Note { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let notes: Vec<&str> = notes.collect();
    let parts = PARTS.map(|path| &path[1..]).join(", ");
    let names = format!("it names 3 parts: {parts}; not requested: 1 on other servers");
    let count = |text: &str| notes.iter().filter(|note| **note == text).count();
    assert_eq!(count(&names), 3, "{notes:?}");
    assert_eq!(count("it names no part"), 1, "{notes:?}");
    // A part begins after the file that names it, and the record has their number.
    let mut firsts: BTreeMap<u64, u64> = BTreeMap::new();
    for sample in &run.samples {
        let is_first = run.plan.measures[usize::from(sample.measure.0)].name == "OrderText";
        if is_first {
            assert_eq!(sample.parts, Some(3));
            firsts.insert(sample.visit.unwrap(), sample.moments.done.unwrap());
        }
        if let Some(done) = firsts.get(&sample.visit.unwrap()).filter(|_| !is_first) {
            assert!(*done <= sample.moments.started);
        }
    }
    let none = row(&outcome.json(), "NoneParts")["status"].clone();
    assert_eq!(none, "not_drawn", "{outcome}");
}

#[test]
fn a_page_is_incomplete_where_a_part_or_the_first_file_does_not_come() {
    let server = site();
    fs::remove_file(server.demo.root().join("s.js")).unwrap();
    fs::remove_file(server.demo.root().join("none.html")).unwrap();
    let outcome = run(&server.url()).ended(1);
    let whole = &outcome.json()["constraints"][0];
    assert_eq!(whole["verdict"], "fail", "{outcome}");
    assert_eq!(whole["readings"][0]["value"], 5.0, "{outcome}");
    let pages = pages(&outcome);
    assert_eq!(pages["Order"][1..3], [5, 15], "{outcome}");
    assert_eq!(pages["None"][1..3], [5, 0], "{outcome}");
}

#[test]
fn a_load_of_such_pages_counts_them() {
    let server = site();
    let outcome =
        prestan!(orders() => "load --mix shop.yaml {server} --users 3 --total 60 --json -").ends(0);
    let webstone = &outcome.json()["webstone"];
    let both = |what: &str| {
        let counts = ["retrieved", "left_out"].map(|part| webstone[part][what].as_u64());
        counts.into_iter().sum::<Option<u64>>()
    };
    let counts = ["pages", "errors", "files"].map(|what| both(what).unwrap());
    assert_eq!(counts, [60, 0, 240], "{outcome}");
    let piped = Prestan::new();
    piped.file("shop.yaml", SUITE);
    let outcome = prestan!(piped => "suites check shop.yaml").run();
    outcome.stdout_has("not with --pipeline");
}

#[test]
fn what_is_compressed_is_read_and_what_cannot_be_read_fails() {
    let document = |headers: &[(&str, &str)], body: &[u8]| {
        let mut fault = status(200, headers, "");
        if let Fault::Status { body: sent, .. } = &mut fault {
            *sent = body.to_vec();
        }
        fault
    };
    let long = format!("{SITE}{}", "text ".repeat(600_000));
    let html = ("Content-Type", "text/html");
    let cases = [
        (
            document(&[("Content-Type", "text/plain")], SITE.as_bytes()),
            "a page of HTML was expected",
            1,
        ),
        (
            document(&[html, ("Content-Encoding", "gzip")], b"not gzip"),
            "its parts are not known: the body is not gzip",
            1,
        ),
        (Fault::Gzip, "it names 3 parts: s.css", 0),
        (
            document(&[html, ("Content-Encoding", "gzip")], &gzip(&long)),
            "and was not read to its end",
            0,
        ),
    ];
    for (fault, says, code) in cases {
        let server = site();
        server.server.add_rule(Rule::new(fault).path("index.html"));
        let outcome = prestan!(orders() => "run shop.yaml {server} -r 3").ends(code);
        outcome.stdout_has(says);
        let [complete, ..] = pages(&prestan!(outcome.again() => "report --json -").run())["Order"];
        assert_eq!(complete > 0, code == 0, "{outcome}");
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A CGI script that returns its request.
const SCRIPT: &str = "#!/bin/sh
[ \"$REQUEST_METHOD\" = POST ] && form=$(head -c \"$CONTENT_LENGTH\")
printf 'Content-Type: text/plain\\n\\n%s %s\\n' \"$REQUEST_METHOD\" \"$QUERY_STRING\"
echo \"$REQUEST_METHOD $QUERY_STRING$form\" >> asked.log
";

/// Apache with `mod_cgi`, which a test configures for itself.
const CONFIGURATION: &str = "ServerRoot {dir}
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
PidFile {dir}/pid
DefaultRuntimeDir {dir}
Mutex file:{dir}
ErrorLog {dir}/error.log
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so
LoadModule cgi_module /usr/lib/apache2/modules/mod_cgi.so
DocumentRoot {dir}/site
ScriptAlias /cgi-bin/ {dir}/cgi-bin/
<Directory {dir}>
  Require all granted
</Directory>
";

/// Ends with the test.
struct Apache(std::process::Child);

impl Drop for Apache {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

#[test]
fn apache_is_asked_for_dynamic_pages_as_they_are_written() {
    let needed = ["/usr/sbin/apache2", "/usr/lib/apache2/modules/mod_cgi.so"];
    let missing = needed.iter().find(|path| !Path::new(path).exists());
    let found = missing.map_or(Ok(()), |path| Err(format!("{path} is not installed")));
    let Some(()) = need_or(found) else { return };
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    // Its children may be another user.
    fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
    for (name, mode) in [("site", 0o755), ("cgi-bin", 0o777)] {
        fs::create_dir(dir.join(name)).unwrap();
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let script = dir.join("cgi-bin/send");
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.join("site/file1k.html"), [b'x'; 1024]).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let configuration = CONFIGURATION
        .replace("{dir}", dir.to_str().unwrap())
        .replace("{port}", &port.to_string());
    fs::write(dir.join("httpd.conf"), configuration).unwrap();
    let mut command = Command::new("/usr/sbin/apache2");
    command.arg("-DFOREGROUND").arg("-f");
    command.arg(dir.join("httpd.conf"));
    // It ends its whole process group when it ends.
    command.process_group(0);
    let _apache = Apache(command.spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        let log = fs::read_to_string(dir.join("error.log")).unwrap_or_default();
        assert!(Instant::now() < until, "{log}");
        thread::park_timeout(Duration::from_millis(20)); // between two attempts
    }
    let prestan = Prestan::new();
    let list = "1 4\n/file1k.html\n/cgi-bin/send?size=1024&name=a%20b%2f\n/cgi-bin/send?b\n\
                POST /cgi-bin/send item=5&name=a%20b\n";
    let list = prestan.file("dynamic.list", list).display().to_string();
    let url = format!("http://127.0.0.1:{port}/");
    let refused = prestan!("webstone {} {url}", list).ends(2);
    refused.stderr_has("give --writes");
    let outcome =
        prestan!(prestan => "webstone {} {url} --writes --repeat 3 --children 2 --json -", list)
            .ends(0);
    let retrieved = &outcome.json()["webstone"]["retrieved"];
    assert_eq!(retrieved["errors"], 0, "{outcome}");
    let asked = fs::read_to_string(dir.join("cgi-bin/asked.log")).unwrap();
    let queries = [
        "GET size=1024&name=a%20b%2f",
        "GET b",
        "POST item=5&name=a%20b",
    ];
    for query in queries {
        let times = asked.lines().filter(|line| *line == query).count();
        assert!(times >= 6, "{times} of {query} in {asked}");
    }
    // Nothing can be put there for a program.
    let prepared = Prestan::new();
    prepared.file("l", "1 1\n/a?b\n");
    let outcome = prestan!(prepared => "webstone l {url} --prepare").ends(2);
    outcome.stderr_has("/a is dynamic");
}
