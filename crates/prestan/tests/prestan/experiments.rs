//! Repetition of the experiments of Xu (2004): Nagle's algorithm, two writes, X-Prestan as printed;
//! and the facts beside the figures in the paper: the round trip, and the machines.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use testbed::fault::ServedExchange;

use crate::support::faulty::anonymous_run;
use crate::support::load::plain;

/// How many bytes each read had of the requests with POST.
type Reads = Arc<Mutex<Vec<Vec<usize>>>>;

/// A server that records its reads: the bytes of one system call of the client arrive in one read,
/// unless they are joined with later ones. Returns its URL.
fn noting_server() -> (String, Reads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/file", listener.local_addr().unwrap());
    let reads = Reads::default();
    let noted = Arc::clone(&reads);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, noted) = (stream.unwrap(), Arc::clone(&noted));
            thread::spawn(move || serve(stream, &noted));
        }
    });
    (url, reads)
}

/// Serves a connection to its end.
fn serve(mut stream: TcpStream, noted: &Reads) {
    let mut buffer = vec![0; 64 * 1024];
    let (mut reads, mut text) = (Vec::new(), Vec::new());
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
        reads.push(count);
        if !is_whole(&text) {
            continue;
        }
        if text.starts_with(b"POST") {
            noted.lock().unwrap().push(std::mem::take(&mut reads));
        }
        reads.clear();
        text.clear();
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        if stream.write_all(response).is_err() {
            return;
        }
    }
}

/// True if a request has arrived with its body.
fn is_whole(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

/// Reads and the median of the times in µs from the first system call to the response, of ten
/// POSTs.
fn posts(options: &str) -> (Vec<Vec<usize>>, f64, String) {
    let (url, reads) = noting_server();
    let outcome = prestan!(
        "load POST {url} --body x=1 --writes -n 10 --warmup 0 --clock user --json result.json \
        --output text"
    )
    .words(options)
    .run();
    let text = outcome.read("text");
    let json: serde_json::Value = serde_json::from_str(&outcome.read("result.json")).unwrap();
    let row = &json["tests"][0];
    assert_eq!(row["outcomes"]["ok"], 10, "{outcome}");
    let reads = reads.lock().unwrap().clone();
    (reads, row["response_us"]["p50"].as_f64().unwrap(), text)
}

#[test]
fn nagles_algorithm_with_two_writes_waits_for_a_delayed_acknowledgement() {
    let (reads, usual, text) = posts("");
    assert!(reads.iter().all(|reads| reads.len() == 1), "{reads:?}");
    assert!(!text.contains("experiment"), "{text}");
    // Figure 1: the body waits until the head is acknowledged, which Linux delays by 40 ms.
    let (reads, with_nagle, text) = posts("--nagle --two-writes");
    // The first segments of a connection are acknowledged immediately, and may be read together
    // with later ones.
    let twice = reads.iter().filter(|reads| reads.len() == 2).count();
    assert!(twice > reads.len() / 2, "{reads:?}");
    assert!(with_nagle > 20_000.0, "{with_nagle}: {text}");
    assert!(usual < 20_000.0, "{usual}");
    for part in [
        "HTTP/1.1, with Nagle's algorithm, head and body in two writes",
        "figures of an experiment",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // Figure 2: without it nothing waits; nor does it with one write.
    for options in ["--two-writes", "--nagle"] {
        let (_, without, text) = posts(options);
        assert!(without < 20_000.0, "{options:?} {without}");
        assert!(text.contains("figures of an experiment"), "{text}");
    }
}

#[test]
fn two_writes_are_of_http_1() {
    let refused = prestan!("http://127.0.0.1:1/ --two-writes --http 2").ends(2);
    refused.stderr_has("leave out one of --two-writes");
}

#[test]
fn x_prestan_is_as_it_was_printed() {
    let faulty = plain();
    prestan!(anonymous_run(&faulty.url(), "*", 1) => "--x-prestan 2004").ends(0);
    // Section 5, page by page: headers of a method, and the path, if several have it.
    let printed = [
        ("PROPPATCH", "prop", "(null): 4 (propfinddead)"),
        ("PROPPATCH", "prop", "(null): 3 (proppatch)"),
        ("PROPFIND", "prop", "(null): 4 (propfinddead)"),
        ("PROPFIND", "prop", "(null): 5 (propfindlive)"),
        ("PUT", "res", "(null): 6 (put1K)"),
        ("PUT", "res", "(null): 1 (put64K)"),
        ("PUT", "res", "(null): 8 (put1024K)"),
        ("GET", "res", "(null): 6 (get1K)"),
        ("GET", "res", "(null): 7 (get64K)"),
        ("GET", "res", "(null): 8 (get1024K)"),
        ("MKCOL", "coll/", "(null): 10 (my_collection)"),
        ("COPY", "copy", "(null): 1 (begin)"),
        ("COPY", "copy_col/", "(null): 10 (my_collection)"),
        ("MOVE", "move", "(null): 1 (begin)"),
        ("MOVE", "move_col/", "(null): 10 (my_collection)"),
        ("DELETE", "delete", "(null): 1 (begin)"),
        ("DELETE", "delete_col/", "(null): 10 (my_collection)"),
        ("LOCK", "lockme", "(null): 11 (locks)"),
        ("LOCK", "lockme2/", "(null): 11 (locks)"),
        ("UNLOCK", "lockme", "(null): 11 (locks)"),
        ("UNLOCK", "lockme2/", "(null): 11 (locks)"),
    ];
    let exchanges = faulty.exchanges();
    for (method, path, label) in printed {
        let is_printed = |one: &ServedExchange| {
            let is_path = one.path.ends_with(&format!("/{path}"));
            one.method == method && is_path && one.label() == label
        };
        assert!(exchanges.iter().any(is_printed), "{method} {path} {label}");
    }
    // Below the collections of tests, there is no other.
    for one in &exchanges {
        let is_printed = printed.iter().any(|(.., label)| *label == one.label());
        assert!(
            is_printed || one.label().starts_with("prestan: 0 ("),
            "{one:?}"
        );
    }
    let elsewhere = prestan!("run locks {faulty} --x-prestan 2004").ends(2);
    elsewhere.stderr_has("for the tests of the suite prestan");
}

#[test]
fn round_trip_and_machines_are_stated() {
    let faulty = plain();
    let began = std::time::Instant::now();
    let outcome =
        prestan!(anonymous_run(&faulty.url(), "Get1K", 3) => "--output text --html page.html")
            .run();
    assert!(began.elapsed() < Duration::from_secs(60));
    let json = outcome.json();
    let round_trip = &json["server"]["round_trip"];
    let tcp = round_trip["tcp_us"].as_f64().unwrap();
    assert!(tcp < 100_000.0, "{round_trip}");
    if let Some(pings) = round_trip["icmp_us"].as_object() {
        let of = |name: &str| pings[name].as_f64().unwrap();
        assert!(of("n") >= 1.0 && of("min") <= of("p50") && of("p50") <= of("max"));
    }
    assert_eq!(json["server"]["same_machine"], "loopback");
    let (text, page) = (outcome.read("text"), outcome.read("page.html"));
    for words in ["(TCP, the shortest)", "its address is a loopback address"] {
        assert!(text.contains(words), "{words}: {text}");
        assert!(page.contains(words), "{words}");
    }
}
