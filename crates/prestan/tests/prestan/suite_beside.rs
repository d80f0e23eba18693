//! Suites with background traffic and packets of their own, and background traffic of series.

use std::fs;

use record::{EventKind, Run};
use testbed::need_or;

use crate::support::load::{file, kept, plain, reading};
use crate::support::{Outcome, Prestan, names_in};

/// A suite with these keys at its top.
fn suite(keys: &str) -> String {
    reading(&format!("{keys}\n"), "")
}

/// Traffic that may stand in a file, or in a suite. Ports are free ones, since the sinks are in the
/// process.
const TRAFFIC: &str = "{models: {m: {cbr: {rate: 800kbit, block: 500}}}, components: {voice: {model: m, protocol: \
                       udp}}, loads: {one: {flows: [{component: voice}]}, two: {flows: [{component: voice, n: 2}]}}}";

fn prestan(keys: &str) -> Prestan {
    let prestan = Prestan::new();
    let directory = prestan.home().join("suites");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("load.yaml"), TRAFFIC).unwrap();
    fs::write(directory.join("beside.yaml"), suite(keys)).unwrap();
    prestan
}

fn run(keys: &str, options: &str) -> Outcome {
    let server = plain();
    let run = prestan!(prestan(keys) => "run suites/beside.yaml {server} -r 5");
    run.words(options).run()
}

/// The load and the flows of the background traffic of a run, as its record has them.
fn background(run: &Run) -> Option<(&str, u32)> {
    let background = run.plan.background.as_ref()?;
    Some((&background.load, background.components[0].flows))
}

#[test]
fn a_suite_says_which_background_traffic_it_is_measured_beside() {
    let by_file = "params: {traffic: two}\nbackground: {file: load.yaml, load: \"{{ traffic }}\", stable: 100%}";
    let outcome = run(by_file, "").ended(0);
    let recorded = kept(&outcome);
    assert_eq!(background(&recorded), Some(("two", 2)));
    outcome.stdout_has("voice (udp, 2 flows)");
    let ended = recorded.events.iter();
    let ended = ended.filter(|event| matches!(event.kind, EventKind::BackgroundEnded(_)));
    assert_eq!(ended.count(), 1);

    // The parameter selects another load; the option another file.
    let other = run(by_file, "--param traffic=one");
    assert_eq!(background(&kept(&other)), Some(("one", 1)), "{other}");
    let option = "suites/load.yaml,load=one,stable=100%";
    let other = run(by_file, &format!("--background {option}"));
    assert_eq!(background(&kept(&other)), Some(("one", 1)), "{other}");

    let here = format!("background: {{load: two, stable: 100%, traffic: {TRAFFIC}}}");
    let outcome = run(&here, "");
    assert_eq!(background(&kept(&outcome)), Some(("two", 2)), "{outcome}");
    outcome.stdout_has("load two of reading");
}

#[test]
fn background_traffic_of_a_suite_that_makes_no_sense_is_refused_before_anything_is_sent() {
    let table = "
        background: absent.yaml => reading suites/absent.yaml failed
        background: load.yaml => has several loads; name one of one, two
        background: {file: load.yaml, load: six} => has no load `six`
    ";
    for [keys, expected] in cases::rows(table) {
        run(keys, "").ended(2).stderr_has(expected);
    }
}

#[test]
fn a_suite_may_keep_the_packets_of_its_runs() {
    let Some(()) = need_or(capture::available()) else {
        return;
    };
    let outcome = run("capture: {snap: 500}", "").ended(0);
    let packets = outcome.run().join("packets.pcapng");
    let analysed =
        prestan!(outcome.again() => "analyze --json - {} --run {}", packets, outcome.run()).ends(0);
    let joined = &analysed.json()["run"];
    assert_eq!(joined["joined"], 5, "{joined}");

    let name = outcome.run();
    let name = name.file_name().unwrap().to_str().unwrap();
    let removed = prestan!(outcome.again() => "runs remove {}", name).ends(0);
    assert!(!packets.exists(), "{removed}");

    let nowhere = run("capture: true", "--no-save").ended(2);
    nowhere.stderr_has("leave out --no-save");
}

/// The runs that were kept, by their names.
fn runs(outcome: &Outcome) -> Vec<Run> {
    let kept = outcome.home().join("kept");
    let paths = names_in(&kept).into_iter().map(|name| kept.join(name));
    paths.map(|path| rundir::load(&path).unwrap()).collect()
}

/// Background traffic received in a whole run, by its last event.
fn received(run: &Run) -> u64 {
    let ended = run.events.iter().find_map(|event| match &event.kind {
        EventKind::BackgroundEnded(end) => Some(end),
        _ => None,
    });
    let ended = ended.unwrap_or_else(|| panic!("{}: it has not ended", run.plan.run_id));
    assert_eq!(ended.failure, None);
    let counts = ended.components.iter().map(|component| component.counts);
    counts.map(|counts| counts.received).sum()
}

#[test]
fn runs_that_take_turns_share_their_background_traffic() {
    let (a, b) = (plain(), plain());
    let prestan = prestan("background: {file: load.yaml, load: one, stable: 100%}");
    let outcome = prestan!(prestan => "compare --suite suites/beside.yaml --repeat 2 -r 5 --save kept {a} {b}").ends(0);
    let runs = runs(&outcome);
    assert_eq!(runs.len(), 4);
    // Blocks 1 and 2 of server a, then those of server b.
    assert_eq!(received(&runs[0]), received(&runs[2]));
    assert_eq!(received(&runs[1]), received(&runs[3]));
    for run in &runs {
        assert_eq!(background(run), Some(("one", 1)));
    }
    let seeds = |run: &Run| run.plan.background.as_ref().unwrap().seed;
    assert_ne!(seeds(&runs[0]), seeds(&runs[1]));
}

#[test]
fn runs_of_a_sweep_have_the_background_traffic_of_their_point() {
    let server = plain();
    let keys = "params: {traffic: one}\nbackground: {file: load.yaml, load: \"{{ traffic }}\", stable: 100%}";
    let outcome = prestan!(prestan(keys) => "sweep --suite suites/beside.yaml --vary requests=2,3 --repeat 2 --save \
        kept {server}").run();
    let runs = runs(&outcome);
    assert_eq!(runs.len(), 4, "{outcome}");
    for run in &runs {
        assert_eq!(background(run), Some(("one", 1)));
        assert!(received(run) > 0);
    }
}

#[test]
fn trials_of_a_search_are_made_beside_background_traffic() {
    let server = plain();
    let url = file(&server, "doc");
    let outcome = prestan!(prestan("") => "search GET {url} --find users --to 1 --while 'failures > 0' --background \
        suites/load.yaml,load=one,stable=100% --duration 300ms --save kept --json -")
        .run();
    let runs = runs(&outcome);
    assert!(!runs.is_empty(), "{outcome}");
    assert!(runs.iter().all(|run| received(run) > 0), "{outcome}");
    // If this machine is too busy to send on time, the result is unknown, which is accepted here.
    if outcome.inconclusive {
        return;
    }
    // The condition never holds.
    assert_eq!(outcome.code, 1, "{outcome}");
    let points = outcome.json()["points"].as_array().unwrap().len();
    // Trials in which this machine stalled are no points.
    assert!((1..=runs.len()).contains(&points), "{outcome}");
}
