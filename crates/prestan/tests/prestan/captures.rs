//! Packets recorded by `prestan capture`, and beside a run.

use std::fs::{self, File};
use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use testbed::need_or;
use trace::contents::{ReadingOptions, read_capture};
use trace::{CaptureReader, TracedRequest};

use crate::background;
use crate::support::Prestan;
use crate::support::load::{kept, plain, until};

fn requests(file: &Path) -> Vec<TracedRequest> {
    let mut requests = Vec::new();
    let visit = |request: &TracedRequest| requests.push(request.clone());
    let file = File::open(file).unwrap();
    read_capture(file, &ReadingOptions::default(), visit).unwrap();
    requests
}

#[test]
fn the_packets_of_a_run_are_recorded_beside_it() {
    let Some(()) = need_or(capture::available()) else {
        return;
    };
    let server = plain();
    let url = server.url();
    let prestan = Prestan::new();
    let file = prestan.home().join("run.pcapng");
    let outcome =
        prestan!(prestan => "run prestan {url} --only Put1K,Get1K -r 20 --capture {}", file)
            .ends(0);
    outcome.stderr_has(" packets in ");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let captured = requests(&file);
    let run = kept(&outcome);
    assert_eq!(run.samples.len(), 40);
    for sample in &run.samples {
        let mut captured = captured.iter();
        let request = captured.find(|request| request.number == Some(sample.number));
        let request = request.unwrap_or_else(|| panic!("{} is not in the capture", sample.number));
        // The packets and the kernel's stamps are the same moments; a busy machine has others in
        // between.
        let reported = sample.moments.response().unwrap_or_default();
        let difference = request.response_time_ns().unwrap() - i64::try_from(reported).unwrap();
        assert!(difference.abs() < 50_000_000, "{sample:?}: {request:?}");
    }

    // An existing file is not replaced.
    let again = prestan!(outcome.again() => "run prestan {url} --capture {}", file).ends(2);
    again.stderr_has("is there already");

    // A run that cannot begin leaves no file, so that the same command can be tried again.
    let refused = prestan!(background::prestan() => "run prestan {url} --capture none.pcapng \
        --background load.yaml,load=busy --sink 127.0.0.1:1 --sink-token-file token")
    .ends(4);
    assert!(!refused.home().join("none.pcapng").exists(), "{refused}");
}

#[test]
fn sigterm_ends_the_command_of_a_capture_and_its_file_is_whole() {
    let Some(()) = need_or(isolated()) else {
        return;
    };
    let prestan = Prestan::new();
    let file = prestan.home().join("own.pcapng");
    let running = prestan!(prestan => "capture {} --isolated -- sleep 600", file).spawn();
    until("the capture begins", || file.exists());
    let begun = Instant::now();
    let outcome = running.end_by(Signal::TERM);
    assert!(begun.elapsed() < Duration::from_secs(60), "{outcome}");
    outcome.stdout_has(" packets in ");
    let mut reader = CaptureReader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
    while reader.next_packet().unwrap().is_some() {}
}

/// Captures in a separate namespace are possible here.
fn isolated() -> Result<(), String> {
    let probe = Prestan::new();
    let possible = prestan!(probe => "capture p.pcapng --isolated -- true").run();
    (possible.code == 0).then_some(()).ok_or(possible.stderr)
}

#[test]
fn a_command_runs_in_another_namespace_and_its_packets_are_recorded() {
    let prestan = Prestan::new();
    let file = prestan.home().join("own.pcapng");
    let Some(()) = need_or(isolated()) else {
        return;
    };
    let program = env!("CARGO_BIN_EXE_prestan");
    let outcome = prestan!(prestan => "capture {} --isolated --snap 256 -- {program} demo -r 2 --no-save -q", file)
        .ends(0);
    let mut reader = CaptureReader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
    let mut packets = 0;
    while let Some(packet) = reader.next_packet().unwrap() {
        assert!(packet.bytes.len() <= 256 + 64, "{packet:?}");
        packets += 1;
    }
    assert!(packets > 200, "{packets}: {outcome}");
    outcome.stdout_has(&format!("{packets} packets in "));

    let failing = Prestan::new();
    prestan!(failing => "capture f.pcapng --isolated -- false").ends(1);
    let absent = Prestan::new();
    let left = absent.home().join("a.pcapng");
    let absent = prestan!(absent => "capture {} --isolated -- /nowhere/at-all", left).run();
    assert_eq!((absent.code, left.exists()), (2, false), "{absent}");
    let bounded = Prestan::new();
    let file = bounded.home().join("b.pcapng");
    let bounded = prestan!(bounded => "capture {} --isolated --packets 10 -- \
        {program} demo -r 2 --no-save -q", file)
    .run();
    bounded.stdout_has("10 packets in ");
    bounded.stdout_has("that number was asked for");
}
