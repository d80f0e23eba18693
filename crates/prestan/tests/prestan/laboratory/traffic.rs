//! Background traffic over links whose queues and delays are longer than a control connection
//! usually waits.

use serde_json::Value;

use super::commands::{PRESTAN, can_build};
use crate::support::Prestan;

/// A queue that takes seven seconds to drain.
const DEEP: &str = "--rate 1mbit --queue 600 --delay 1ms";

/// Ten times the capacity of the link of the first test.
const LOAD: &str = "models: {m: {cbr: {rate: 10mbit, block: 1460}}}
components: {c: {model: m, protocol: udp}}
loads: {l: {flows: [{component: c}]}}
";

/// Sends from hosts of a link to their peers, at the same time. Returns the result of each source.
fn sent(link: &str, time: &str, sources: &[(&str, &str)]) -> Vec<Value> {
    let prestan = Prestan::new();
    prestan.file("load.yaml", LOAD);
    prestan.file("token", "a token of these tests");
    let options = "--silence 1.5s --token-file token";
    let mut script = "chmod 600 token\n".to_owned();
    for (_, sink) in sources {
        script += &format!(
            "{PRESTAN} lab exec {sink} -- {PRESTAN} traffic sink --listen 0.0.0.0:7000 --allow any {options} \
             > {sink}.out 2>&1 &\n"
        );
    }
    for (_, sink) in sources {
        script += &format!("until [ -s {sink}.out ]; do sleep 0.05; done\n");
    }
    let mut all = String::new();
    for (source, sink) in sources {
        script += &format!(
            "{PRESTAN} lab exec {source} -- {PRESTAN} traffic run load.yaml --sink {sink}:7000 --for {time} {options} \
             --json {source}.json & pid_{source}=$!\n"
        );
        // A load that ends before four seconds are over is not stable.
        all += &format!("wait $pid_{source} || [ $? = 1 ] || exit 100\n");
    }
    let script = script + &all;
    let prestan = prestan!(prestan => "lab link").words(link);
    let outcome = prestan!(prestan => "-- sh -c {script}").ends(0);
    let read = |(source, _): &(&str, &str)| {
        serde_json::from_str(&outcome.read(&format!("{source}.json"))).unwrap()
    };
    sources.iter().map(read).collect()
}

#[test]
fn a_queue_of_seconds_is_no_death() {
    if !can_build() {
        return;
    }
    check_figures(&sent(DEEP, "3s", &[("client", "server")])[0]);
}

#[test]
fn queues_of_seconds_in_both_directions_are_no_death() {
    if !can_build() {
        return;
    }
    let sources = [("client", "server"), ("server", "client")];
    let documents = sent(DEEP, "3s", &sources);
    documents.iter().for_each(check_figures);
}

/// More was sent than the link carries, and no received rate is above that of the link.
fn check_figures(document: &Value) {
    assert_eq!(document["failure"], Value::Null, "{document}");
    let figure = |counts: &Value, name: &str| counts[name].as_f64().unwrap();
    let totals = &document["components"][0]["totals"];
    let sent = figure(totals, "sent_bits_per_second");
    assert!((5e6..11e6).contains(&sent), "{document}");
    let received = figure(totals, "received_bits_per_second");
    assert!((0.8e6..1.05e6).contains(&received), "{document}");
    // Bytes that a busy machine counts late are in the next interval; the last one may be short.
    for second in document["seconds"].as_array().unwrap() {
        let received = figure(&second["components"][0], "received_bits_per_second");
        assert!(received < 3e6, "{document}");
    }
}

/// Its system continues to acknowledge, so that its path is not regarded as slow.
#[test]
fn a_sink_that_hangs_behind_long_round_trips_is_noticed_soon() {
    if !can_build() {
        return;
    }
    let prestan = Prestan::new();
    prestan.file("load.yaml", LOAD);
    prestan.file("token", "a token of these tests");
    let options = "--silence 1.5s --token-file token";
    let script = format!(
        "chmod 600 token
        {PRESTAN} lab exec server -- sh -c 'echo $$ > pid; exec {PRESTAN} traffic sink --listen 0.0.0.0:7000 \
            --allow any {options}' > sink.out 2>&1 &
        until [ -s sink.out ]; do sleep 0.05; done
        {PRESTAN} traffic run load.yaml --sink server:7000 --for 60s {options} --json found.json > source.out 2>&1 &
        until grep -q received source.out; do sleep 0.05; done
        kill -STOP $(cat pid)
        wait $!; found=$?
        kill -KILL $(cat pid)
        exit $found"
    );
    let outcome = prestan!(prestan => "lab link --delay 300ms -- sh -c {script}").ends(4);
    let document: Value = serde_json::from_str(&outcome.read("found.json")).unwrap();
    let failure = document["failure"].as_str().unwrap();
    let (_, silence) = failure.split_once("silent for ").expect(failure);
    let seconds: f64 = silence.trim_end_matches(" s").parse().unwrap();
    assert!((1.5..5.0).contains(&seconds), "{failure}");
}

#[test]
fn round_trips_of_several_seconds_are_agreed() {
    if !can_build() {
        return;
    }
    let documents = sent(
        "--rate 20mbit --delay 1500ms",
        "1s",
        &[("client", "server")],
    );
    assert_eq!(documents[0]["failure"], Value::Null);
    let totals = &documents[0]["components"][0]["totals"];
    assert_eq!(totals["lost"], 0, "{totals}");
    assert!(totals["received"].as_u64().unwrap() > 100, "{totals}");
}
