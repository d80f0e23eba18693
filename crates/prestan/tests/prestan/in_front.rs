//! Intermediaries: a cache, a proxy that names connections, and several addresses of one name.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::certificates;
use crate::support::Outcome;
use crate::support::faulty::{Faulty, evidence};
use crate::support::load::{counted, kept};
use crate::support::real::{nginx, nginx_tls, started};
use crate::support::rows::row;
use serde_json::{Value, json};
use testbed::fault::{Fault, Rule};

/// A cache in front of a server that names itself.
const CACHE: &str = "
    proxy_cache_path {{ dir }}/tmp/cache keys_zone=c:1m;
    server {
      listen {{ host }}:{{ port }};
      location / {
        proxy_pass http://unix:{{ dir }}/origin.sock;
        proxy_cache c;
        proxy_cache_valid 200 1m;
        add_header X-Cache-Status $upstream_cache_status;
      }
    }
    server {
      listen unix:{{ dir }}/origin.sock;
      root {{ storage }};
    }
";

/// One server that accepts plain connections at its own address, and the PROXY protocol only at the
/// next one: there it responds only if the line is true.
const PROXIED: &str = r#"
    server {
      listen {{ host }}:{{ port }};
      listen 127.0.0.2:{{ port }} proxy_protocol;
      location / {
        set $ends "$proxy_protocol_addr $proxy_protocol_server_addr $proxy_protocol_server_port";
        if ($ends != "127.0.0.1 127.0.0.2 {{ port }}") { return 403; }
        return 200 x;
      }
    }
"#;

/// A proxy that leaves Destination as it is.
const PREFIX: &str = "
    server {
      listen {{ host }}:{{ port }};
      client_max_body_size 0;
      location /x/ { proxy_pass BEHIND; proxy_set_header Host $http_host; }
      location / { proxy_pass BEHIND; proxy_set_header Host other.example; }
    }
";

fn warnings(outcome: &Outcome) -> Vec<Value> {
    let result = outcome.json();
    result["warnings"].as_array().unwrap().clone()
}

#[test]
fn a_cache_in_front_is_reported_and_nothing_is_found_by_its_times() {
    let Some(server) = nginx(CACHE) else { return };
    fs::write(server.storage().join("a.txt"), "some text").unwrap();
    let url = format!("{}a.txt", server.url());
    let outcome = prestan!("load GET {url} --requests 200 --json - --fail-if 'p50 > 10s'").ends(0);
    let (result, _) = counted(&outcome);
    // The warm-up has filled the cache.
    let get = row(&result, "GET");
    let cached = json!({"responses": 200, "by": ["header X-Cache-Status"]});
    assert_eq!(get["cached"], cached, "{get:#}");
    assert_eq!(get["conclusion"], "pass", "{get:#}");
    let mut warnings = warnings(&outcome).into_iter();
    let cached = warnings
        .find(|warning| warning["kind"] == "cached")
        .unwrap();
    let text = "responses came from a cache (header X-Cache-Status): GET 200 of 200; their times are those of the cache";
    assert!(
        cached["text"].as_str().unwrap().starts_with(text),
        "{cached:#}"
    );
    let run = outcome.run();
    // Results of several runs have it, too.
    let compared = prestan!(outcome.again() => "compare --json - {} {}", run, run).run();
    let caveats = &compared.json()["b"][0]["caveats"];
    for server in ["A: ", "B: "] {
        let mut caveats_of_both = caveats.as_array().unwrap().iter();
        let expected = server.to_owned() + text;
        let has = caveats_of_both.any(|one| one.as_str().unwrap().starts_with(&expected));
        assert!(has, "{caveats:#}");
    }
    let suite =
        "suite: x\nneeds: http\ntests:\n  - name: Get\n    loop: [{GET: a.txt, measure: Get}]\n";
    let swept = outcome.again();
    swept.file("suite.yaml", suite);
    let swept = prestan!(swept => "sweep {} --suite suite.yaml --vary \
        users=1,2 -r 20 --repeat 2 --json -", server.url())
    .run();
    let says = "responses came from a cache (header X-Cache-Status)";
    let caveats = swept.json()["caveats"].to_string();
    assert!(caveats.contains(&format!("{says}: Get ")), "{swept}");
    let curve = prestan!(outcome.again() => "webstone --page /a.txt \
        --children 1,2 --json - {} --repeat 20", server.url())
    .run();
    let caveats = curve.json()["caveats"].to_string();
    assert!(caveats.contains(says), "{curve}");
    let diagnosed = prestan!(outcome.again() => "diagnose {}", run).run();
    diagnosed.stdout_has("no row could be checked");
    diagnosed.stdout_has("came from a cache");
}

#[test]
fn a_connection_begins_with_a_line_of_the_proxy_protocol() {
    let Some(server) = nginx(PROXIED) else { return };
    let second = server.url().replace("127.0.0.1", "127.0.0.2");
    let load = |options: &str| {
        prestan!("load GET {second} --requests 3 --json -")
            .words(options)
            .run()
    };
    for clock in ["kernel", "user"] {
        let outcome = load(&format!("--haproxy-protocol --clock {clock}")).ended(0);
        assert_eq!(outcome.json()["load"]["http"]["haproxy_protocol"], true);
    }
    // Without it, the server closes the connection.
    let outcome = load("").ended(4);
    let expected = "expects a line of the PROXY protocol first (--haproxy-protocol)";
    outcome.stderr_has(expected);
    let over_tls = second.replace("http://", "https://");
    prestan!("load GET {over_tls}").run().stderr_has(expected);
    // And with it, the response of another one is 400.
    let outcome = prestan!("{} --haproxy-protocol", server.url()).ends(4);
    outcome.stderr_has("does not expect a line of the PROXY protocol (without --haproxy-protocol)");
    // A response that begins as HTTP needs neither.
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort".to_vec();
    let cut = Rule::new(Fault::Garbage(short)).method("OPTIONS");
    let cut = Faulty::new(|builder| builder.rule(cut));
    let outcome = prestan!("{cut}").run();
    outcome.stderr_has("5 of 50 body bytes");
    outcome.stderr_lacks("perhaps");
}

/// Runs tests that cannot succeed because of the destination, and checks the message of each.
fn declined(url: &str, only: &str, said: &str) {
    let outcome = prestan!(
        "{url} --only {only} -r 1 --warmup 0 --param depth=2 --param width=2 --insecure --json -"
    )
    .ends(1);
    let result = outcome.json();
    for test in only.split(',') {
        let row = row(&result, test);
        assert_eq!(row["status"], "failed", "{row:#}");
        assert!(evidence(row).contains(said), "{row:#}");
    }
}

#[test]
fn a_destination_with_another_scheme_or_host_is_explained_where_it_is_answered_400() {
    let Some(server) = started("nginx") else {
        return;
    };
    let Some(proxy) = nginx(&PREFIX.replace("BEHIND", &server.url())) else {
        return;
    };
    let bad = "400 Bad Request; expected 2xx; PROPFIND works there";
    let host = format!(
        "{bad}: the server may take the destination for another server, as nginx does with this status; does a proxy \
         change Host"
    );
    declined(&proxy.url(), "Copy", &host);
    let identity = certificates::identity();
    let location = format!(
        "client_max_body_size 0; location / {{ proxy_pass {}; proxy_set_header Host $http_host; }}",
        server.url()
    );
    let proxy = nginx_tls("", &identity, &location).unwrap();
    let url = proxy.url().replace("http://", "https://");
    declined(&url, "Copy", "expects http:// in Destination");
}

#[test]
fn a_prefix_that_a_proxy_removes_is_no_missing_feature() {
    let Some(server) = started("apache") else {
        return;
    };
    let Some(proxy) = nginx(&PREFIX.replace("BEHIND", &server.url())) else {
        return;
    };
    let said = "403 Forbidden; a file is declined, too; PROPFIND finds the source and the collection of the destination: \
                does a proxy change paths";
    declined(&format!("{}x/", proxy.url()), "CopyCol,MoveCol", said);
}

/// A name with two addresses of this machine.
struct TwoAddresses {
    port: u16,
    options: Vec<String>,
}

impl TwoAddresses {
    fn url(&self) -> String {
        format!("http://two.example:{}/", self.port)
    }

    fn load(&self, options: &[&str]) -> Outcome {
        let url = self.url();
        prestan!("load GET {url} --json - --no-keep-alive")
            .args(&self.options)
            .args(options)
            .run()
    }

    /// Connections to each address, as the result has them.
    fn connections(outcome: &Outcome) -> Vec<(Ipv4Addr, u64)> {
        let result = outcome.json();
        let all = result["server"]["addresses"].as_array().unwrap().iter();
        let one = |value: &Value| {
            let address: SocketAddr = value["address"].as_str().unwrap().parse().unwrap();
            let SocketAddr::V4(address) = address else {
                panic!("{value:#}")
            };
            (*address.ip(), value["connections"].as_u64().unwrap())
        };
        all.map(one).collect()
    }
}

const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Listeners at both addresses with one port.
fn two_addresses() -> (TwoAddresses, [TcpListener; 2]) {
    loop {
        let first = TcpListener::bind((FIRST, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        // Another program may use it there.
        let Ok(second) = TcpListener::bind((SECOND, port)) else {
            continue;
        };
        let resolve =
            [FIRST, SECOND].map(|address| format!("--resolve=two.example:{port}:{address}"));
        let options = resolve.to_vec();
        return (TwoAddresses { port, options }, [first, second]);
    }
}

/// Sends one response on each of `connections` connections. After the last response, nothing
/// listens any more.
fn serve(listener: TcpListener, connections: usize) {
    let mut listener = Some(listener);
    thread::spawn(move || {
        for number in 1..=connections {
            let (mut stream, _) = listener.as_ref().unwrap().accept().unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            listener = listener.filter(|_| number < connections);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
        }
    });
}

/// Keeps as many connections waiting as make a listener drop all others, like a firewall.
fn silenced(listener: &TcpListener) -> Vec<TcpStream> {
    rustix::net::listen(listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300));
    std::iter::from_fn(|| connect().ok()).collect()
}

#[test]
fn the_second_address_takes_over_when_the_first_dies() {
    let (name, [first, second]) = two_addresses();
    serve(first, 20);
    serve(second, usize::MAX);
    let outcome = name.load(&["--total", "100"]).ended(0);
    let (result, run) = counted(&outcome);
    let used = TwoAddresses::connections(&outcome);
    assert_eq!(used[0], (FIRST, 20), "{used:?}");
    assert_eq!(used[1].0, SECOND, "{used:?}");
    let responses = row(&result, "GET")["addresses"].as_array().unwrap().clone();
    let counts = responses.iter().map(|row| row["responses"].as_u64());
    assert_eq!(counts.sum::<Option<u64>>(), Some(100), "{responses:?}");
    let mut warnings = warnings(&outcome).into_iter();
    assert!(
        warnings.any(|one| one["kind"] == "several_addresses"),
        "{outcome}"
    );
    assert_eq!(kept(&outcome).env.server.unwrap().addresses.len(), 2);
    assert_eq!(run.samples.len(), 100);
}

#[test]
fn a_silent_address_costs_its_moment_once() {
    let (name, [first, second]) = two_addresses();
    let _waiting = silenced(&first);
    serve(second, usize::MAX);
    let outcome = name.load(&["--requests", "20"]).ended(0);
    let used = TwoAddresses::connections(&outcome);
    let is_second = |(address, _): &(Ipv4Addr, u64)| *address == SECOND;
    assert!(used.iter().all(is_second), "{used:?}");
    let (_, run) = counted(&outcome);
    let connects = run.samples.iter().filter_map(|sample| sample.connect);
    let waited = connects.filter(|connect| connect.tcp >= 250_000_000);
    assert!(waited.count() < 5, "{outcome}");
    let text = prestan!(outcome.again() => "report").run();
    let mut lines = text.stdout.lines();
    let line = lines.find(|line| line.contains("Server Address"));
    let shown = format!("127.0.0.2:{}", name.port);
    assert!(line.is_some_and(|line| line.ends_with(&shown)), "{text}");
}

#[test]
fn addresses_are_taken_in_turn_where_that_is_asked_for() {
    let (name, [first, second]) = two_addresses();
    serve(first, usize::MAX);
    serve(second, usize::MAX);
    let outcome = name
        .load(&["--requests", "20", "--addresses", "round-robin"])
        .ended(0);
    let used = TwoAddresses::connections(&outcome);
    let difference = used[0].1.abs_diff(used[1].1);
    assert!(used.len() == 2 && difference <= 1, "{used:?}");
}

#[test]
fn an_address_that_is_silent_alone_is_reported_after_a_second() {
    let (name, [first, _second]) = two_addresses();
    let _waiting = silenced(&first);
    let option = &name.options[0];
    let outcome = prestan!("load GET {} --users 2 --timeout 5s {option}", name.url()).ends(4);
    let address = format!("127.0.0.1:{}", name.port);
    for (what, time) in [("connecting to ", "1s"), ("", "4.5s")] {
        let said = format!("{what}{address}: no response within {time}; nothing came back");
        outcome.stderr_has(&said);
    }
    outcome.stderr_lacks("warming up");
}
