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
use crate::support::load::{kept, plain, send, until};

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
    let url = server.server.url();
    let prestan = Prestan::new();
    let file = prestan.home().join("run.pcapng");
    let options = ["--only", "Put1K,Get1K", "-r", "20", "--capture"];
    let outcome = prestan
        .args(["run", "prestan", &url])
        .args(options)
        .arg(&file)
        .run();
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(outcome.stderr.contains(" packets in "), "{outcome}");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let captured = requests(&file);
    let run = kept(&outcome);
    assert_eq!(run.samples.len(), 40);
    for sample in &run.samples {
        let own = captured
            .iter()
            .find(|own| own.number == Some(sample.number));
        let own = own.unwrap_or_else(|| panic!("{} is not in the capture", sample.number));
        // The packets and the kernel's stamps are the same moments; a busy machine has others in between.
        let reported = sample.moments.response().unwrap_or_default();
        let difference = own.response_time_ns().unwrap() - i64::try_from(reported).unwrap();
        assert!(difference.abs() < 50_000_000, "{sample:?}: {own:?}");
    }

    // What is there is not replaced.
    let again = outcome
        .again()
        .args(["run", "prestan", &url, "--capture"])
        .arg(&file)
        .run();
    assert_eq!(again.code, 2, "{again}");
    assert!(again.stderr.contains("is there already"), "{again}");
    let many = outcome.again();
    let many = many.args([
        "webstone",
        "general",
        &url,
        "-c",
        "1,2",
        "--capture",
        "x.pcapng",
    ]);
    let many = many.run();
    assert!(many.stderr.contains("--capture is for one run"), "{many}");

    // A run that cannot begin leaves no file, so that the same command can be tried again.
    let refused = background::prestan();
    let refused = refused.args(["run", "prestan", &url, "--capture", "none.pcapng"]);
    let refused = refused.args(["--background", "load.yaml,load=busy"]);
    let refused = refused.args(["--sink", "127.0.0.1:1", "--sink-token-file", "token"]);
    let refused = refused.run();
    assert_eq!(refused.code, 4, "{refused}");
    assert!(!refused.home().join("none.pcapng").exists(), "{refused}");
}

#[test]
fn sigterm_ends_the_command_of_a_capture_and_its_file_is_whole() {
    let Some(()) = need_or(isolated()) else {
        return;
    };
    let prestan = Prestan::new();
    let file = prestan.home().join("own.pcapng");
    let running = prestan
        .arg("capture")
        .arg(&file)
        .args(["--isolated", "--", "sleep", "600"])
        .spawn();
    until("the capture begins", || file.exists());
    let begun = Instant::now();
    send(&running, Signal::TERM);
    let outcome = running.wait();
    assert_eq!(outcome.code, -Signal::TERM.as_raw(), "{outcome}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{outcome}");
    assert!(outcome.stdout.contains(" packets in "), "{outcome}");
    let mut reader = CaptureReader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
    while reader.next_packet().unwrap().is_some() {}
}

/// Whether captures in a namespace of their own are possible here.
fn isolated() -> Result<(), String> {
    let probe = Prestan::new();
    let probe = probe.args(["capture", "p.pcapng", "--isolated", "--", "true"]);
    let possible = probe.run();
    (possible.code == 0).then_some(()).ok_or(possible.stderr)
}

#[test]
fn a_command_runs_in_a_namespace_of_its_own_and_its_packets_are_recorded() {
    let prestan = Prestan::new();
    let file = prestan.home().join("own.pcapng");
    let Some(()) = need_or(isolated()) else {
        return;
    };
    let program = env!("CARGO_BIN_EXE_prestan");
    let outcome = prestan
        .arg("capture")
        .arg(&file)
        .args([
            "--isolated",
            "--snap",
            "256",
            "--",
            program,
            "demo",
            "-r",
            "2",
            "--no-save",
            "-q",
        ])
        .run();
    assert_eq!(outcome.code, 0, "{outcome}");
    let mut reader = CaptureReader::new(BufReader::new(File::open(&file).unwrap())).unwrap();
    let mut packets = 0;
    while let Some(packet) = reader.next_packet().unwrap() {
        assert!(packet.bytes.len() <= 256 + 64, "{packet:?}");
        packets += 1;
    }
    assert!(packets > 200, "{packets}: {outcome}");
    assert!(
        outcome.stdout.contains(&format!("{packets} packets in ")),
        "{outcome}"
    );

    let failing = Prestan::new();
    let failing = failing
        .args(["capture", "f.pcapng", "--isolated", "--", "false"])
        .run();
    assert_eq!(failing.code, 1, "{failing}");
    let absent = Prestan::new();
    let left = absent.home().join("a.pcapng");
    let absent = absent
        .arg("capture")
        .arg(&left)
        .args(["--isolated", "--", "/nowhere/at-all"])
        .run();
    assert_eq!((absent.code, left.exists()), (2, false), "{absent}");
    let bounded = Prestan::new();
    let file = bounded.home().join("b.pcapng");
    let limits = [
        "--isolated",
        "--packets",
        "10",
        "--",
        program,
        "demo",
        "-r",
        "2",
        "--no-save",
        "-q",
    ];
    let bounded = bounded.arg("capture").arg(&file).args(limits).run();
    assert!(bounded.stdout.contains("10 packets in "), "{bounded}");
    assert!(
        bounded.stdout.contains("that number was asked for"),
        "{bounded}"
    );
}
