//! Background traffic that differs from its description, from the start or later; and runs steered
//! by it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use record::EventKind;
use rustix::process::Signal;
use serde_json::Value;

use crate::background::{SinkProcess, component, prestan};
use crate::page::open;
use crate::support::faulty::LOOPBACK;
use crate::support::load::{file, kept, plain, reading};
use crate::support::schema;

/// Loads beside the ones of [`prestan`].
const TRAFFIC: &str = "
models:
  steady:
    cbr: {rate: 800kbit, block: 500}
  stream:
    cbr: {rate: 1600kbit, block: 1000}
  rare:
    # Nothing arrives at all in half a minute, but once in 120,000 runs.
    cbr: {every: 1000h, block: 500}
components:
  voice: {model: steady, protocol: udp, port: 1}
  stream: {model: stream, protocol: tcp, port: 2}
  rare: {model: rare, protocol: udp, port: 1}
  anywhere: {model: steady, protocol: udp}
loads:
  unstable:
    flows: [{component: rare}]
  short:
    duration: 2s
    flows: [{component: voice}]
  stream:
    flows: [{component: stream}]
  two:
    flows: [{component: voice}, {component: stream}]
  to-both:
    flows: [{component: anywhere, direction: both}]
";

/// [`TRAFFIC`] with ports of its own, because tests run side by side.
fn traffic() -> String {
    let udp = UdpSocket::bind(LOOPBACK).unwrap().local_addr().unwrap();
    let tcp = TcpListener::bind(LOOPBACK).unwrap().local_addr().unwrap();
    let traffic = TRAFFIC.replace("port: 1}", &format!("port: {}}}", udp.port()));
    traffic.replace("port: 2}", &format!("port: {}}}", tcp.port()))
}

/// A relay to a sink: it passes on the control connection, and streams until they are that old,
/// when it ends them.
fn relay(sink: SocketAddr, ends: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut source, _) = listener.accept().unwrap();
        let mut sink = TcpStream::connect(sink).unwrap();
        let (mut from_source, mut to_sink) =
            (source.try_clone().unwrap(), sink.try_clone().unwrap());
        thread::spawn(move || {
            let _ = std::io::copy(&mut from_source, &mut to_sink);
            let _ = to_sink.shutdown(std::net::Shutdown::Both);
        });
        while let Some(message) = relayed_message(&mut sink, ends) {
            // The source may have ended.
            let _ = source.write_all(&message);
        }
        let _ = source.shutdown(std::net::Shutdown::Both);
    });
    address
}

/// The next message of a sink, with ports of relays in place of those of streams. Those of
/// datagrams stay.
fn relayed_message(sink: &mut TcpStream, ends: Duration) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    sink.read_exact(&mut length).ok()?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    sink.read_exact(&mut body).ok()?;
    let mut message: Value = serde_json::from_slice(&body).unwrap();
    if message["message"] == "agreed" {
        for group in message["groups"].as_array_mut().unwrap() {
            // Only streams have a congestion control.
            if group["congestion_control"].is_string() {
                let port = u16::try_from(group["port"].as_u64().unwrap()).unwrap();
                group["port"] = relay_streams(port, ends).into();
            }
        }
    }
    let body = message.to_string();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    Some([&length[..], body.as_bytes()].concat())
}

fn relay_streams(port: u16, ends: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut source, _) = listener.accept().unwrap();
        let mut sink = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let begun = Instant::now();
        let mut buffer = [0; 1 << 16];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            if begun.elapsed() >= ends || sink.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
    });
    relay
}

/// A load on a server, beside a load of [`TRAFFIC`] through a relay.
fn beside_relayed(load: &str, duration: &str, ends: Duration) -> (Value, String) {
    let server = plain();
    let url = file(&server, "doc");
    let prestan = prestan();
    prestan.file("faults.yaml", &traffic());
    let sink = SinkProcess::start(prestan.home(), &["--max-rate", "none"]);
    let relay = relay(sink.address.parse().unwrap(), ends).to_string();
    let background = format!("faults.yaml,load={load},stable=100%");
    let outcome = prestan!(prestan => "load GET {url} --duration {duration} --json - --background {background} --html \
        page.html --sink {relay} --sink-token-file token").ends(0);
    let mut document = outcome.json();
    document["inconclusive"] = outcome.inconclusive.into();
    let text = prestan!(outcome.again() => "report").run();
    let is_valid = schema("result.schema.json").is_valid(&outcome.json());
    assert!(is_valid, "{document}");
    assert!(
        outcome
            .read("page.html")
            .contains("id=\"background-figures\"")
    );
    (document, text.stdout)
}

fn warnings(document: &Value) -> Vec<&str> {
    let warnings = document["warnings"].as_array().unwrap().iter();
    let kinds = warnings.filter_map(|warning| warning["kind"].as_str());
    kinds
        .filter(|kind| kind.starts_with("background"))
        .collect()
}

#[test]
fn a_connection_that_fails_disqualifies_what_is_measured_beside_the_rest() {
    // Stable after three seconds: the connection fails while the run measures.
    let ends = Duration::from_secs;
    let (document, text) = beside_relayed("two", "6s", ends(5));
    assert_eq!(document["inconclusive"], true, "{document}");
    let found = warnings(&document);
    assert!(found.contains(&"background_flows_failed"), "{text}");
    assert!(!found.contains(&"background_ended"), "{text}");
    assert!(document["background"]["failure"].is_null(), "{document}");
    let stream = component(&document["background"], "stream");
    assert_eq!(stream["failed_flows"], 1, "{stream}");
    let says = "- stream: 1 of 1 connections failed";
    assert!(text.contains(says), "{text}");
    let seconds = document["background"]["seconds"].as_array().unwrap().iter();
    let failed = seconds.filter(|second| second["components"][1]["failed_flows"] == 1);
    assert_eq!(failed.count(), 1, "{document}");
    // Without the failure, it counts.
    let (document, text) = beside_relayed("two", "2s", ends(600));
    let found = warnings(&document);
    assert!(!found.contains(&"background_flows_failed"), "{text}");
    assert!(!text.contains("connections failed"), "{text}");
}

#[test]
fn a_load_of_which_all_connections_fail_has_failed() {
    let prestan = prestan();
    prestan.file("faults.yaml", &traffic());
    let sink = SinkProcess::start(prestan.home(), &[]);
    let relay = relay(sink.address.parse().unwrap(), Duration::from_secs(1)).to_string();
    let outcome = prestan!(prestan => "traffic run faults.yaml --load stream --for 4s --sink {relay} --token-file \
        token").ends(4);
    outcome.stderr_has("the connection of its flow failed");
    outcome.stdout_has("stream: 1 of 1 connections failed");
}

#[test]
fn totals_are_those_until_a_sink_died() {
    let prestan = prestan();
    let mut sink = SinkProcess::start(prestan.home(), &[]);
    let running = prestan!(prestan => "traffic run load.yaml --load voice-only --stable 100% --token-file token \
        --json result --sink {}", sink.address).spawn();
    sink.receives_for(2);
    drop(sink);
    let outcome = running.ends(4);
    outcome.stdout_has(", until the last report of the sinks before the traffic ended early.");
    let document: Value = serde_json::from_str(&outcome.read("result")).unwrap();
    let totals = &component(&document, "voice")["totals"];
    // Without it, the bytes of two seconds would be divided by more than four.
    let rate = totals["received_bits_per_second"].as_f64().unwrap();
    assert!((600_000.0..850_000.0).contains(&rate), "{totals}");
}

#[test]
fn totals_of_a_sink_that_died_are_of_its_own_time() {
    let prestan = prestan();
    prestan.file("faults.yaml", &traffic());
    let [mut dies, mut lives] = [(); 2].map(|()| SinkProcess::start(prestan.home(), &[]));
    let running = prestan!(prestan => "traffic run faults.yaml --load to-both --stable 100% --token-file token \
        --sink there={} --sink here={}", dies.address, lives.address).spawn();
    dies.receives_for(2);
    // The other one continues without its reports.
    dies.send(Signal::STOP);
    lives.receives_for(3);
    drop(dies);
    let outcome = running.ends(4);
    let rates = |component: &str| {
        let mut lines = outcome.stdout.lines();
        let row = lines.find(|line| line.starts_with(component)).unwrap();
        let figures = row.split_whitespace().filter_map(|word| word.parse().ok());
        // Planned, sent and received.
        figures.skip(1).take(3).collect::<Vec<f64>>()
    };
    for component in ["anywhere (udp)", "anywhere.backward (udp)"] {
        let rates = rates(component);
        // Without a time of its own, one had the bytes of two seconds divided by three.
        let in_range = rates.iter().all(|kbit| (650.0..850.0).contains(kbit));
        assert!(rates.len() == 3 && in_range, "{rates:?} {outcome}");
    }
    let died = ", until the last report of the sinks before the traffic ended early.";
    let of = |line: &&str| line.starts_with("Rates of anywhere are") && line.ends_with(died);
    assert!(outcome.stdout.lines().any(|line| of(&line)), "{outcome}");
}

#[test]
fn a_sink_at_an_address_that_is_taken_says_what_to_do() {
    let prestan = prestan();
    let sink = SinkProcess::start(prestan.home(), &[]);
    let outcome =
        prestan!(prestan => "traffic sink --token-file token --listen {}", sink.address).ends(1);
    let expected = format!(
        "prestan: listen on {}: Address already in use",
        sink.address
    );
    assert!(outcome.stderr.starts_with(&expected), "{outcome}");
    outcome.stderr_has("with --listen");
}

#[test]
fn a_check_of_a_suite_reads_its_traffic() {
    let table = "
        load.yaml => background_rate => load.yaml has several loads
        {file: load.yaml, load: none} => background_rate => no load `none`
        {file: load.yaml, load: busy} => background_rate(none) => is called `none`
        none.yaml => background_rate => reading none.yaml failed
        {file: load.yaml, load: busy} => background_rate(voice) =>
    ";
    for [background, figure, expected] in cases::rows(table) {
        let prestan = prestan();
        let suite = format!(
            "suite: s\nbackground: {background}\nconstraints: {{c: '{figure} > 1 B/s'}}\n\
             tests: [{{name: A, loop: [{{GET: f, measure: A}}]}}]\n"
        );
        prestan.file("suite.yaml", &suite);
        let outcome = prestan!(prestan => "suites check suite.yaml").run();
        let code = if expected.is_empty() { 0 } else { 2 };
        outcome.ended(code).stderr_has(expected);
    }
}

/// A run beside a load of [`TRAFFIC`] that cannot begin: nothing is measured, sent to the server or
/// reported, and the traffic has ended.
#[track_caller]
fn nothing_begins(load: &str, expected: &str) {
    let server = plain();
    let prestan = prestan();
    prestan.file("faults.yaml", &traffic());
    let sink = SinkProcess::start(prestan.home(), &[]);
    let background = format!("faults.yaml,load={load}");
    let outcome = prestan!(prestan => "run prestan {server} -r 5 --background {background} --json result.json --save \
        kept --sink {} --sink-token-file token", sink.address).ends(4);
    outcome.stderr_has(expected);
    assert!(server.exchanges().is_empty(), "{outcome}");
    assert!(!outcome.home().join("result.json").exists(), "{outcome}");
    assert!(!outcome.home().join("kept").exists(), "{outcome}");
    let (code, printed) = sink.end();
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("ended; in its "), "{printed}");
}

#[test]
fn a_load_that_does_not_become_stable_ends_the_run_and_leaves_nothing() {
    nothing_begins("unstable", "nothing was measured");
}

#[test]
fn a_load_that_ends_too_soon_ends_the_run_and_leaves_nothing() {
    nothing_begins("short", "ended before the measurement began");
}

const STEPS: &str = "
      - when: background_loss(voice, last 30 s) > 50 %
        steps:
          - HEAD: doc
            measure: Never
      - when: background_loss(voice, last 30 s) < 50 %
        steps:
          - HEAD: doc
            measure: Late
          - end: test
";

#[test]
fn a_condition_reads_the_loss_of_background_traffic() {
    let server = plain();
    let prestan = prestan();
    prestan.file("suite.yaml", &reading("", STEPS));
    let outcome = prestan!(prestan => "run suite.yaml {server} -r 1000000 --json - --background \
        load.yaml,load=voice-only,stable=100%")
    .ends(0);
    let document = outcome.json();
    let tests = document["tests"].as_array().unwrap();
    let operations = |name: &str| {
        let row = tests.iter().find(|test| test["measure"] == name);
        row.map_or(0, |row| row["operations"].as_u64().unwrap())
    };
    let found = (operations("Late"), operations("Never"));
    assert_eq!(found, (1, 0), "{document}");
    // Unknown before the first second.
    assert!(operations("Read") > 1, "{document}");
}

/// Numbers of users of a load whose rules read background traffic.
fn users(rule: &str) -> Vec<u32> {
    let server = plain();
    let prestan = prestan();
    let suite = "
suite: growing
adapt:
  users: [1, 4]
  every: 300ms
RULE
tests:
  - name: Reading
    loop: [{GET: '', measure: Read}]
";
    prestan.file("mix.yaml", &suite.replace("RULE", rule));
    let outcome =
        prestan!(prestan => "load --mix mix.yaml {server} --duration 3s --json - --background \
        load.yaml,load=voice-only,stable=100%")
        .ends(0);
    let run = kept(&outcome);
    let changes = run.events.iter().filter_map(|event| match &event.kind {
        EventKind::LoadChanged { users, .. } => Some(*users),
        _ => None,
    });
    changes.collect()
}

#[test]
fn a_load_adapts_to_what_the_sinks_see() {
    let by_loss =
        "  raise: background_loss(voice, last 30 s) < 50 %\n  lower: background_loss(voice) > 60 %";
    assert_eq!(users(by_loss), [1, 2, 4]);
    let by_rate = "  raise: background_rate(voice, last 30 s) > 1 GB/s\n  lower: p50(Read) > 1 h";
    assert_eq!(users(by_rate), [1]);
    let by_rate = "  raise: background_rate(voice, last 30 s) > 1 kB/s\n  lower: p50(Read) > 1 h";
    assert_eq!(users(by_rate), [1, 2, 4]);
}

#[test]
fn a_page_draws_background_traffic_beside_the_tests_of_a_suite() {
    let server = plain();
    let prestan = prestan();
    let outcome =
        prestan!(prestan => "run prestan {server} -r 40 --only Put1K,Get1K,MkCol --background \
        load.yaml,load=busy,stable=100% --html page.html --svg figures --json -")
        .ends(0);
    let svg = outcome.read("figures/background.svg");
    for expected in ["Background: rate that was received", "bulk.backward"] {
        assert!(svg.contains(expected), "{expected}");
    }
    let Some(mut browser) = open(&outcome.home().join("page.html")) else {
        return;
    };
    // The chart has the figures of the document.
    let drawn = browser.evaluate(
        "[...document.querySelectorAll('[data-id=background] .numbers tbody')]
            .filter((group) => group.rows[0].textContent.startsWith('voice'))
            .flatMap((group) => [...group.rows].slice(1).map((row) => row.cells[1].textContent))",
    );
    let rates = drawn.as_array().unwrap().iter();
    let rates = rates.filter_map(|rate| {
        let (number, unit) = rate.as_str()?.split_once(' ')?;
        let scale = match unit {
            "bit/s" => 1.0,
            "kbit/s" => 1e3,
            "Mbit/s" => 1e6,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * scale)
    });
    let drawn: Vec<f64> = rates.collect();
    let document = outcome.json();
    let seconds = document["background"]["seconds"].as_array().unwrap();
    let components = document["background"]["components"].as_array().unwrap();
    let mut components = components.iter();
    let voice = components
        .position(|component| component["name"] == "voice")
        .unwrap();
    let rate = |second: &Value| second["components"][voice]["received_bits_per_second"].as_f64();
    let said: Vec<f64> = seconds.iter().filter_map(rate).collect();
    assert!(!drawn.is_empty(), "{document}");
    for rate in drawn {
        let is_shown = said.iter().any(|said| (said - rate).abs() <= said * 0.02);
        assert!(is_shown, "{rate} {said:?}");
    }
    assert_eq!(browser.problems(), [""; 0]);
}
