//! Background traffic: real processes on loopback.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::load::{file, plain, reading, seen, until};
use crate::support::rows::row;
use crate::support::{Prestan, program, schema};

const TRAFFIC: &str = "
models:
  steady:
    cbr: {rate: 800kbit, block: 500}
  stream:
    cbr: {rate: 1600kbit, block: 1000}
components:
  voice: {model: steady, protocol: udp}
  bulk: {model: stream, protocol: tcp}
loads:
  busy:
    flows:
      - {component: voice, n: 2}
      - {component: bulk, direction: both}
  voice-only:
    flows: [{component: voice}]
";

const VERSIONS: &str = "
models: {steady: {cbr: {rate: 800kbit, block: 500}}}
components:
  older: {model: steady, protocol: udp}
  newer: {model: steady, protocol: udp, ip: v6}
loads: {both: {flows: [{component: older}, {component: newer}]}}
";

const TOKEN: &str = "0123456789abcdef\n";

/// `prestan` in a home with a traffic file and a token. Each test has ports of its own: they run
/// side by side.
pub(crate) fn prestan() -> Prestan {
    let prestan = Prestan::new();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().min(65_533);
    let voice = format!("{{model: steady, protocol: udp, port: {port}}}");
    let traffic = TRAFFIC.replace("{model: steady, protocol: udp}", &voice);
    prestan.file("load.yaml", &traffic);
    prestan.file("token", TOKEN);
    prestan
}

/// A `prestan traffic sink`; dropping it kills it.
pub(crate) struct SinkProcess {
    child: Child,
    pub(crate) address: String,
}

impl SinkProcess {
    pub(crate) fn start(home: &Path, options: &[&str]) -> SinkProcess {
        let mut child = program()
            .args(["traffic", "sink", "--token-file", "token"])
            .args(options)
            .current_dir(home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut first = BufReader::with_capacity(1, child.stdout.as_mut().unwrap());
        first.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap();
        let address = address.to_owned();
        SinkProcess { child, address }
    }

    /// Waits until it has reported `seconds` seconds with received bytes.
    pub(crate) fn receives_for(&mut self, seconds: usize) {
        let stdout = self.child.stdout.as_mut().unwrap();
        let lines = BufReader::with_capacity(1, stdout).lines();
        assert_eq!(lines.take(seconds).map(Result::unwrap).count(), seconds);
    }

    pub(crate) fn send(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Ends it by Ctrl-C. Returns its exit status and output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        self.send(Signal::INT);
        let mut printed = String::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        stdout.read_to_string(&mut printed).unwrap();
        (self.child.wait().unwrap().code(), printed)
    }
}

impl Drop for SinkProcess {
    fn drop(&mut self) {
        // It has usually ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn component<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["components"].as_array().unwrap();
    all.iter().find(|line| line["name"] == name).unwrap()
}

#[test]
fn a_file_is_checked_and_its_flows_are_listed() {
    let outcome = prestan!(prestan() => "traffic check load.yaml").ends(0);
    outcome.stdout_has("load.yaml: 2 models, 2 loads");
    outcome.stdout_has("load busy: 4 flows, 4.80 Mbit/s");
    outcome.stdout_has("bulk.backward       tcp      1   1.60 Mbit/s");
    let wrong = outcome.again();
    wrong.file("wrong.yaml", &TRAFFIC.replace("n: 2", "n: 0"));
    let wrong = prestan!(wrong => "traffic check wrong.yaml").ends(2);
    wrong.stderr_has("loads.busy.flows[0].n: is 0");
}

#[test]
fn without_a_sink_both_ends_are_in_the_process() {
    let outcome = prestan!(prestan() => "traffic run load.yaml --load busy --stable 100% \
        --for 4s --json result")
    .ends(0);
    for expected in [
        "both ends are in this process, on loopback",
        "voice: sent ",
        "stable after 3 s",
        "congestion control",
        "Pacing error of ",
    ] {
        outcome.stdout_has(expected);
    }
    let document: Value = serde_json::from_str(&outcome.read("result")).unwrap();
    assert_eq!(document["in_process"], true);
    let voice = component(&document, "voice");
    let rate = &voice["totals"]["received_bits_per_second"];
    assert!((1.2e6..1.7e6).contains(&rate.as_f64().unwrap()), "{voice}");
    assert_eq!(voice["planned_bits_per_second"], 1_600_000.0);
    let seconds = document["seconds"].as_array().unwrap();
    assert!(seconds.len() >= 3, "{document}");
}

#[test]
fn more_flows_are_possible_than_the_soft_limit_of_open_files() {
    let home = Prestan::new();
    home.file(
        "many.yaml",
        "models: {stream: {cbr: {rate: 8kbit, block: 100}}}\n\
         components: {bulk: {model: stream, protocol: tcp}}\n\
         loads: {many: {flows: [{component: bulk, n: 150}]}}\n",
    );
    let command = format!(
        "ulimit -Sn 100; exec {} traffic run many.yaml --for 5s --stable 100% --json -",
        env!("CARGO_BIN_EXE_prestan")
    );
    let mut shell = Command::new("sh");
    let outcome = shell.args(["-c", &command]).current_dir(home.home());
    let outcome = outcome.output().unwrap();
    let printed = String::from_utf8_lossy(&outcome.stderr);
    assert_eq!(outcome.status.code(), Some(0), "{printed}");
    let document: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    let bulk = component(&document, "bulk");
    assert_eq!(bulk["totals"]["failed_flows"], 0, "{bulk}");
    let received = bulk["totals"]["received"].as_u64().unwrap();
    assert!(received > 3000, "{bulk}");
}

#[test]
fn a_sink_of_another_process_counts_what_arrives() {
    let prestan = prestan();
    let options = ["--max-rate", "100mbit", "--listen", "[::]:0"];
    let mut sink = SinkProcess::start(prestan.home(), &options);
    sink.address = sink.address.replace("[::]", "127.0.0.1");
    let outcome = prestan!(prestan => "traffic run load.yaml --load voice-only --for 4s --stable 100% --token-file \
        token --json - --sink {}", sink.address).ends(0);
    let document = outcome.json();
    assert_eq!(document["in_process"], false);
    let totals = &component(&document, "voice")["totals"];
    let (code, printed) = sink.end();
    assert_eq!(code, Some(0), "{printed}");
    // The sink prints full seconds; the rest is in the totals of the source.
    let received = totals["received"].as_u64().unwrap();
    let mut lines = printed.lines();
    let ended = lines.find(|line| line.contains("ended; in its ")).unwrap();
    let (before, _) = ended.rsplit_once(" blocks,").unwrap();
    let counted: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(
        counted > 300 && counted <= received,
        "{received}: {printed}"
    );
    assert!(ended.contains("lost 0"), "{printed}");
    assert!(ended.starts_with("127.0.0.1:"), "{printed}");
}

#[test]
fn a_host_has_a_sink_for_each_version_of_ip() {
    let prestan = prestan();
    prestan.file("versions.yaml", VERSIONS);
    let sink4 = SinkProcess::start(prestan.home(), &[]);
    let sink6 = SinkProcess::start(prestan.home(), &["--listen", "[::1]:0"]);
    let [older, newer] = [&sink4.address, &sink6.address].map(|address| format!("there={address}"));
    let outcome = prestan!(prestan => "traffic run versions.yaml --for 2s --token-file token --json - --sink {older} \
        --sink {newer}").ends(0);
    outcome.stderr_has("ended too soon to check that they are stable (that takes 4 s)");
    let document = outcome.json();
    for name in ["older", "newer"] {
        let totals = &component(&document, name)["totals"];
        let rate = totals["sent_bits_per_second"].as_f64().unwrap();
        let unsent = totals["unsent_blocks"].as_f64().unwrap() * 500.0 * 8.0 / 2.0;
        assert!((rate + unsent - 800_000.0).abs() < 2_100.0, "{totals}");
        assert!(totals["received"].as_u64().unwrap() > 0, "{totals}");
    }
}

/// A run of a load to a sink with these options, which refuses it in these words. Returns what the
/// sink printed.
fn refused(options: &[&str], prepare: impl FnOnce(&Prestan), said: &str) -> String {
    let prestan = prestan();
    let sink = SinkProcess::start(prestan.home(), options);
    prepare(&prestan);
    let outcome = prestan!(prestan => "traffic run load.yaml --load busy \
        --for 2s --token-file token --sink {}", sink.address)
    .ends(4);
    outcome.stderr_has(said);
    sink.end().1
}

#[test]
fn nothing_is_sent_that_the_sink_has_not_agreed_to() {
    let printed = refused(&["--max-rate", "1mbit"], |_| (), "this sink agrees to");
    assert!(printed.contains("refused or lost:"), "{printed}");
    assert!(!printed.contains("received"), "{printed}");

    let other_token = |prestan: &Prestan| drop(prestan.file("token", "another token that is long"));
    let printed = refused(&[], other_token, "token");
    assert!(!printed.contains("received"), "{printed}");

    let said = "accepts no sources from 127.0.0.1";
    refused(&["--allow", "192.0.2.0/24"], |_| (), said);
}

#[test]
fn command_lines_that_make_no_sense_are_refused_before_anything_is_sent() {
    let table = "
        load.yaml => has several loads; name one of busy, voice-only
        load.yaml --load none => has no load `none`
        absent.yaml => reading absent.yaml failed
        load.yaml --load busy --sink 127.0.0.1:7 => share a token
        load.yaml --load busy --sink there=127.0.0.1:7 --token-file token
          => to host `here`, for which there is no --sink
        load.yaml --load voice-only --sink ther=127.0.0.1:7 --sink 127.0.0.1:7 --token-file token
          => no flow of load voice-only goes to a host `ther`; its flows go to there
        versions.yaml --sink 127.0.0.1:7 --token-file token
          => component newer is IPv6, and the sink 127.0.0.1:7 has no address of this version
        versions.yaml --sink 127.0.0.1:7 --token-file token
          => of this version; give a second sink for it: --sink [2001:db8::1]:7000
        versions.yaml --sink there=[::1]:7 --token-file token => --sink there=192.0.2.1:7000
        load.yaml --load busy --token-file token => --sink
    ";
    for [line, expected] in cases::rows(table) {
        let prestan = prestan();
        prestan.file("versions.yaml", VERSIONS);
        let outcome = prestan!(prestan => "traffic run").words(line).run();
        assert_eq!(outcome.code, 2, "{line:?}: {outcome}");
        assert!(outcome.stderr.contains(expected), "{line:?}: {outcome}");
    }
}

/// A load on a server for this time, beside the flow of `voice-only`.
fn measured(prestan: Prestan, url: &str, duration: &str) -> Prestan {
    prestan!(prestan => "load GET {url} --duration {duration} --json - --background \
        load.yaml,load=voice-only,stable=100%")
}

#[test]
fn a_run_has_what_the_sinks_saw_in_its_record_and_reports() {
    let server = plain();
    let url = file(&server, "doc");
    let pass = "background_rate(voice) > 1 GB/s or background_loss > 99 %";
    let outcome = prestan!(measured(prestan(), &url, "3s") => "--fail-if {pass}").ends(0);
    let document = outcome.json();
    let background = &document["background"];
    assert_eq!(background["load"], "voice-only");
    assert_eq!(background["failure"], Value::Null);
    let voice = component(background, "voice");
    let rate = &voice["measured"]["received_bits_per_second"];
    assert!((4e5..1.2e6).contains(&rate.as_f64().unwrap()), "{voice}");
    let seconds = background["seconds"].as_array().unwrap();
    assert!(seconds.len() >= 2, "{background}");
    assert_eq!(document["constraints"][0]["verdict"], "pass");
    assert!(
        schema("result.schema.json").is_valid(&document),
        "{document}"
    );

    let again = prestan!(outcome.again() => "report --json -").run();
    assert_eq!(again.json()["background"], *background);
    let text = prestan!(outcome.again() => "report").run();
    text.stdout_has("\nBackground traffic while measuring:\n- load voice-only of load.yaml, seed ");
    text.stdout_has("- voice (udp, 1 flow): planned 800 kbit/s, sent ");
    let fail = ["report", "--fail-if", "background_rate < 1 GB/s"];
    outcome.again().args(fail).ends(1);
}

#[test]
fn constraints_on_background_traffic_need_some() {
    let server = plain();
    let url = file(&server, "doc");
    let none = prestan!("load GET {url} -n 5 --fail-if 'background_loss > 1 %'").ends(2);
    none.stderr_has("(--background)");
    let other = measured(prestan(), &url, "1s");
    let other = prestan!(other => "--fail-if 'background_loss(bulk) > 1 %'").ends(2);
    other.stderr_has("no component of the background traffic");
    assert!(server.exchanges().is_empty());
}

/// Waits for an event in a record. Returns the time of its arrival.
fn wait_for_event(kept: &Path, event: &str) -> Instant {
    let event = format!("\"event\":\"{event}\"");
    until(&event, || {
        let events = std::fs::read_to_string(kept.join("events.jsonl"));
        events.is_ok_and(|events| events.contains(&event))
    });
    Instant::now()
}

#[test]
fn a_sink_that_dies_ends_the_background_and_disqualifies_the_run() {
    let server = plain();
    let url = file(&server, "doc");
    let prestan = prestan();
    let sink = SinkProcess::start(prestan.home(), &[]);
    let kept = prestan.home().join("kept");
    let running = prestan!(measured(prestan, &url, "8s") => "--sink {} --sink-token-file token --save kept", sink.address).spawn();
    wait_for_event(&kept, "background");
    let killed = Instant::now();
    sink.send(Signal::KILL);
    let ended = wait_for_event(&kept, "background_ended");
    let left = ended - killed;
    assert!(left < Duration::from_secs(2), "{left:?}");
    let outcome = running.wait();
    assert!(outcome.inconclusive, "{outcome}");
    outcome.stderr_has("the background traffic ended");
    let document = outcome.json();
    assert!(document["background"]["failure"].is_string(), "{document}");
    let mut warnings = document["warnings"].as_array().unwrap().iter();
    let has_warning = warnings.any(|warning| warning["kind"] == "background_ended");
    assert!(has_warning, "{document}");
}

#[test]
fn a_sink_that_refuses_ends_the_run_before_it_measures() {
    let server = plain();
    let url = file(&server, "doc");
    let prestan = prestan();
    let sink = SinkProcess::start(prestan.home(), &["--max-rate", "100kbit"]);
    let measured = measured(prestan, &url, "1s");
    let outcome = prestan!(measured => "--sink {} --sink-token-file token", sink.address).ends(4);
    outcome.stderr_has("this sink agrees to");
    assert!(seen(&server, "GET").is_empty(), "{outcome}");
}

#[test]
fn ctrl_c_stops_the_background_and_keeps_what_was_counted() {
    let server = plain();
    let url = file(&server, "doc");
    let prestan = prestan();
    let sink = SinkProcess::start(prestan.home(), &[]);
    let kept = prestan.home().join("kept");
    let running = prestan!(measured(prestan, &url, "60s") => "--sink {} --sink-token-file token --save kept", sink.address).spawn();
    wait_for_event(&kept, "background");
    let outcome = running.end_by(Signal::INT);
    let background = &outcome.json()["background"];
    assert_eq!(background["failure"], Value::Null);
    let seconds = background["seconds"].as_array().unwrap();
    assert!(!seconds.is_empty(), "{background}");
    let (code, printed) = sink.end();
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("ended; in its "), "{printed}");
    assert!(!printed.contains("lost:"), "{printed}");
}

#[test]
fn a_condition_reads_what_the_sinks_see_while_the_run_goes_on() {
    let server = plain();
    let prestan = prestan();
    let steps = "
      - when: background_rate(voice, last 30 s) > 1 kB/s
        steps:
          - HEAD: doc
            measure: Late
          - end: test
";
    prestan.file("suite.yaml", &reading("", steps));
    let outcome = prestan!(prestan => "run suite.yaml {server} -r 1000000 --json - --background \
        load.yaml,load=voice-only,stable=100%")
    .ends(0);
    let document = outcome.json();
    let reason = "a step of the suite ended its test";
    assert_eq!(document["ended_early"][0], reason);
    assert_eq!(row(&document, "Late")["operations"], 1, "{document}");
}
