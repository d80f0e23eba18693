//! The texts of a suite are sent unchanged, byte for byte.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::roles::write;
use crate::support::Outcome;
use crate::support::heads::answering;

/// The tag of everything that [`Heads`] gives: no UTF-8.
const TAG: &[u8] = b"\"Z\xfc\"";

/// A server that responds to everything (with 304 to a conditional request that names its tag), and
/// keeps all heads.
struct Heads {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Heads {
    fn start() -> Heads {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let address = answering(move |head| {
            kept.lock().unwrap().push(head.to_vec());
            let condition = [b"If-None-Match: ", TAG, b"\r\n"].concat();
            let names_it = head.windows(condition.len()).any(|part| part == condition);
            let status: &[u8] = if names_it {
                b"304 Not Modified"
            } else {
                b"200 OK\r\nContent-Length: 0"
            };
            let response = [b"HTTP/1.1 ", status, b"\r\nETag: ", TAG, b"\r\n\r\n"].concat();
            (response, true)
        });
        Heads { address, seen }
    }

    fn run(&self, suite: &str, options: &str) -> Outcome {
        let (_directory, path) = write(suite);
        let url = format!("http://{}/", self.address);
        let run = prestan!("run {} {url} -q -r 2 --json -", path);
        run.words(options).run()
    }

    /// Lines of the heads of measured requests.
    fn lines(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let heads = seen.iter().map(|head| String::from_utf8_lossy(head));
        let measured = heads.filter(|head| head.contains("(M)"));
        let lines = measured.map(|head| head.lines().map(str::to_owned).collect::<Vec<_>>());
        lines.flatten().collect()
    }
}

#[test]
fn yaml_changes_nothing_of_what_is_sent() {
    let server = Heads::start();
    let suite = "
suite: written
needs: http
params: {gzip: true, version: 1.10, long: 12345678901234567890123}
tests:
  - name: T
    loop:
      - GET: no
        query: v=1e3
        headers: {Accept-Language: no, X-Version: 1.10, X-Param: '{{ version }}', X-Long: '{{ long }}'}
        measure: M
      - REPORT: 007
        headers: {X-Gzip: '{% if gzip %}on{% else %}off{% endif %}', X-Raw: '{% raw %}{{ n * 2 }}{% endraw %}'}
        expect: {status: [200]}
        measure: M
";
    let outcome = server.run(suite, "--param gzip=false").ended(0);
    let lines = server.lines();
    for sent in [
        "GET /no?v=1e3 HTTP/1.1",
        "Accept-Language: no",
        "X-Version: 1.10",
        "X-Param: 1.10",
        "X-Long: 12345678901234567890123",
        "REPORT /007 HTTP/1.1",
        "X-Gzip: off",
        "X-Raw: {{ n * 2 }}",
    ] {
        assert!(lines.iter().any(|line| line == sent), "{sent}: {lines:#?}");
    }
    let record = outcome.run().join("plan.yaml");
    let record = std::fs::read_to_string(record).unwrap();
    let versions = ["version: '1.10'", "version: \"1.10\""];
    assert!(
        versions.iter().any(|version| record.contains(version)),
        "{record}"
    );
}

#[test]
fn a_saved_header_is_sent_back_as_it_was_received() {
    let server = Heads::start();
    let suite = "
suite: conditional
needs: http
tests:
  - name: Conditional
    loop:
      - GET: page
        save: {tag: header ETag}
        measure: Full
      - GET: page
        headers: {If-None-Match: '{{ tag }}'}
        expect: {status: [304]}
        measure: NotModified
";
    let outcome = server.run(suite, "").ended(0);
    let second = outcome.json()["tests"][1].clone();
    assert_eq!(second["outcomes"]["ok"], 2, "{second:#}");
}

#[test]
fn a_condition_in_a_url_cannot_wait_for_the_run() {
    let url = "http://127.0.0.1:9/{{ 'a' if user == 0 else 'b' }}";
    let outcome = prestan!("load GET {url}").ends(2);
    outcome.stderr_has("`user` has a value only while the test runs");
}
