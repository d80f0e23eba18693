//! `prestan analyze`: captures of the tests of `trace`, damaged files, and requests with hostile
//! texts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;
use serde_json::Value;
use trace::file::{CaptureInterface, CapturedPacket, LinkType, PacketDirection, PcapngWriter};

use crate::support::browser::Browser;
use crate::support::{Outcome, Prestan, names_in, schema};

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/captures")
}

/// A command line in a home with this capture, in a terminal of 100 columns.
fn analyze(capture: &str, options: &str) -> Outcome {
    let prestan = Prestan::new();
    let file = format!("{capture}.pcap");
    fs::copy(captures().join(&file), prestan.home().join(&file)).unwrap();
    run(prestan, &file, options)
}

/// The same with a file of this content.
pub(crate) fn analyze_bytes(file: &str, bytes: impl AsRef<[u8]>, options: &str) -> Outcome {
    let prestan = Prestan::new();
    fs::write(prestan.home().join(file), bytes).unwrap();
    run(prestan, file, options)
}

pub(crate) fn run(prestan: Prestan, file: &str, options: &str) -> Outcome {
    prestan!(prestan => "analyze {}", file)
        .env("COLUMNS", "100")
        .words(options)
        .run()
}

#[track_caller]
pub(crate) fn printed(capture: &str, options: &str) -> String {
    let outcome = analyze(capture, options);
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""), "{outcome}");
    outcome.stdout
}

#[test]
fn findings_are_explained_in_words() {
    let captures = "timeout-twice spurious-timeout zero-window nagle window-limited syn-loss \
                    after-idle persistent reused-ports tls queue receiver-timeout random-loss \
                    random-loss-sender";
    for capture in captures.split(' ') {
        assert_snapshot!(format!("analyze_{capture}"), printed(capture, ""));
    }
}

#[test]
fn the_guide_shows_what_is_printed() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/captures.md");
    let guide = fs::read_to_string(guide).unwrap();
    let blocks = guide.split("```text\n$ prestan analyze ").skip(1);
    let mut checked = 0;
    for block in blocks {
        let (file, shown) = block.split_once('\n').unwrap();
        let shown = shown.split("```").next().unwrap();
        let text = printed(file.strip_suffix(".pcap").unwrap(), "");
        let mut rest = text.lines();
        for line in shown.lines().filter(|line| *line != "...") {
            assert!(rest.any(|printed| printed == line), "{file}: no `{line}`");
        }
        checked += 1;
    }
    assert_eq!(checked, 5);
}

#[test]
fn narrow_terminals_and_long_addresses() {
    let prestan = Prestan::new();
    let file = captures().join("ipv6.pcap");
    fs::copy(file, prestan.home().join("ipv6.pcap")).unwrap();
    let outcome = prestan!(prestan => "analyze ipv6.pcap")
        .env("COLUMNS", "60")
        .run();
    assert_snapshot!("analyze_narrow", outcome.stdout);
}

#[test]
fn timeouts_of_other_settings() {
    let study = |options: &str| {
        let text = printed("random-loss-sender", options);
        let (_, study) = text.split_once("Timeouts of other settings").unwrap();
        study.to_owned()
    };
    assert_snapshot!("analyze_rto", study("--rto"));
    let one = "--rto=alpha=1/8,beta=1/4,k=4,g=250us,min=0.2";
    assert_snapshot!("analyze_rto_one", study(one));
    let json: Value =
        serde_json::from_str(&printed("random-loss-sender", "--rto --json -")).unwrap();
    let rows = json["timeouts"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 27);
    for row in rows {
        let counts = ["short_within", "short_exceeded", "short_exceeded_long"];
        let counts = counts.into_iter().chain(["long_within", "long_exceeded"]);
        let sum: u64 = counts.map(|name| row[name].as_u64().unwrap()).sum();
        assert_eq!(row["segments"], sum, "{row}");
    }
    analyze("fast", "--rto=alpha=7").ended(2);
}

#[test]
fn documents_keep_to_the_published_schema() {
    let validator = schema("analysis.schema.json");
    let names = names_in(&captures());
    let mut checked = 0;
    for name in names.iter().filter_map(|name| name.strip_suffix(".pcap")) {
        let json: Value = serde_json::from_str(&printed(name, "--rto --json -")).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&json)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0], "{name}");
        checked += 1;
    }
    assert!(checked >= 20, "{checked}");
    assert!(!validator.is_valid(&serde_json::json!({"schema_version": 1})));
}

#[test]
fn a_row_of_the_sheet_for_each_request() {
    let sheet = printed("persistent", "--csv -");
    let rows = sheet.lines().map(|line| line.split(',').collect());
    let rows: Vec<Vec<&str>> = rows.collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let column = |name| rows[0].iter().position(|of| *of == name).unwrap();
    for row in &rows[1..] {
        let request = (row[column("method")], row[column("status")]);
        assert_eq!(request, ("GET", "200"));
        let response_us: f64 = row[column("response_us")].parse().unwrap();
        assert!((60_000.0..70_000.0).contains(&response_us), "{response_us}");
    }
}

#[test]
fn only_one_server() {
    let all = analyze("persistent", "--server 10.9.0.2:8080");
    all.stdout_has("1 TCP connection, 3 requests");
    let none = analyze("persistent", "--server [::1]:80").ended(0);
    none.stdout_has("0 TCP connections");
    none.stdout_has("138 of other servers");
    analyze("persistent", "--server nothing").ended(2);
}

#[test]
fn a_damaged_file_is_reported_up_to_the_damage() {
    let bytes = fs::read(captures().join("timeout-twice.pcap")).unwrap();
    let outcome = analyze_bytes("cut.pcap", &bytes[..bytes.len() - 50], "").ended(1);
    outcome.stderr_has("reading cut.pcap failed: packet 69 at byte");
    for says in [
        "Incomplete: the capture could not be read to its end (packet 69",
        "68 packets",
        "waited for 3 retransmission timeouts",
    ] {
        outcome.stdout_has(says);
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn captures_that_gzip_compressed_are_read_as_they_are_unpacked() {
    let name = "zero-window";
    let plain = fs::read(captures().join(format!("{name}.pcap"))).unwrap();
    let (first, rest) = plain.split_at(1000);
    // Parts that were packed one after the other are one file.
    let parts = [packed(first), packed(rest)].concat();
    let expected = printed(name, "");
    for packed in [packed(&plain), parts.clone()] {
        let outcome = analyze_bytes("zero-window.pcap", packed, "").ended(0);
        assert_eq!(outcome.stdout, expected);
    }
    // Packets before the damage are analysed.
    let cut = &parts[..parts.len() - 20];
    let outcome = analyze_bytes("cut.pcap", cut, "").ended(1);
    outcome.stdout_has("Incomplete");
    outcome.stderr_has("reading failed after packet");
}

#[test]
fn what_is_no_capture_is_refused() {
    let prestan = Prestan::new();
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0];
    fs::write(prestan.home().join("packed"), zstd).unwrap();
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
    fs::write(prestan.home().join("cut.gz"), gzip).unwrap();
    fs::write(prestan.home().join("text.gz"), packed(b"GET / HTTP/1.1")).unwrap();
    prestan.file("empty", "");
    prestan.file("text", "GET / HTTP/1.1\r\n\r\n");
    let first = prestan!(prestan => "suites").run();
    let table = [
        ("packed", "unpack it first (`zstd -dc FILE |"),
        ("cut.gz", "reading failed after packet 0"),
        ("text.gz", "it is not a capture file"),
        ("empty", "it is not a capture file"),
        ("text", "it is not a capture file"),
        ("nothing", "No such file"),
        (".", "Is a directory"),
    ];
    for (file, says) in table {
        let outcome = run(first.again(), file, "");
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{outcome}");
        outcome.stderr_has(says);
    }
}

/// When captures of these tests begin.
const START_NS: i64 = 1_700_000_000_000_000_000;

pub(crate) const SYN: u8 = 2;
pub(crate) const ACK: u8 = 16;

/// A TCP segment over IPv4, both ends on one host.
pub(crate) fn segment(
    ports: (u16, u16),
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    payload: &[u8],
) -> Vec<u8> {
    let length = u16::try_from(40 + payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, 6, 0, 0];
    bytes.extend([192, 0, 2, 1, 192, 0, 2, 1]);
    bytes.extend(ports.0.to_be_bytes());
    bytes.extend(ports.1.to_be_bytes());
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(acknowledged.to_be_bytes());
    bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend(payload);
    bytes
}

/// Writes packets with their moments, in nanoseconds.
fn capture_file(packets: &[(i64, Vec<u8>)]) -> PcapngWriter<Vec<u8>> {
    capture_of_links(packets, |_| LinkType::RAW)
}

/// The same with a kind of link for each packet.
pub(crate) fn capture_of_links(
    packets: &[(i64, Vec<u8>)],
    link: impl Fn(usize) -> LinkType,
) -> PcapngWriter<Vec<u8>> {
    let mut writer = PcapngWriter::new(Vec::new(), "tests", None).unwrap();
    for index in 0..packets.len() {
        let interface = CaptureInterface {
            name: None,
            link: link(index),
            snap_length: 0,
            dropped: None,
        };
        writer.interface(&interface).unwrap();
    }
    for (index, (at_ns, bytes)) in packets.iter().enumerate() {
        let packet = CapturedPacket {
            number: index as u64 + 1,
            interface: index as u32,
            link: link(index),
            at_ns: START_NS + at_ns,
            wire_length: bytes.len() as u32,
            direction: PacketDirection::Unknown,
            bytes,
        };
        writer.packet(&packet).unwrap();
    }
    writer
}

/// A capture of a request.
fn capture_of(request: &[u8]) -> Vec<u8> {
    let (client, server) = ((40_000, 80), (80, 40_000));
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let end = 101 + request.len() as u32;
    let packets = [
        segment(client, 100, 0, SYN, b""),
        segment(server, 500, 101, SYN | ACK, b""),
        segment(client, 101, 501, ACK, b""),
        segment(client, 101, 501, ACK, request),
        segment(server, 501, end, ACK, response),
        segment(client, end, 501 + response.len() as u32, ACK, b""),
    ];
    let moments = (0..).step_by(1_000_000);
    let packets: Vec<(i64, Vec<u8>)> = moments.zip(packets).collect();
    let mut writer = capture_file(&packets);
    writer.statistics(0, START_NS, 6, 12).unwrap();
    writer.finish().unwrap()
}

#[test]
fn what_strangers_wrote_is_harmless() {
    let requests: [&[u8]; 4] = [
        b"=cmd() /\xc2\x9b31m\xe2\x80\xae?token=SECRET&a=1 HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /<script>alert(1)</script>;jsessionid=SECRET HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET http://user:SECRET@h/ HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET /\x1b[2J\x07 HTTP/1.1\r\nHost: h\r\n\r\n",
    ];
    for request in requests {
        let files = "--json r.json --csv r.csv --html r.html";
        let outcome = analyze_bytes("hostile.pcapng", capture_of(request), files).ended(0);
        outcome.stdout_has("Warnings:\n- 12 packets could not be captured");
        let (json, csv) = (outcome.read("r.json"), outcome.read("r.csv"));
        for text in [&outcome.stdout, &json, &csv] {
            assert!(!text.contains("SECRET"), "{text}");
            let is_harmful = |c: char| {
                c.is_control() && !matches!(c, '\n' | '\r')
                    || ('\u{202a}'..='\u{202e}').contains(&c)
            };
            assert!(!text.contains(is_harmful), "{text:?}");
        }
        let html = outcome.read("r.html");
        assert!(!html.contains("SECRET") && !html.contains("<script>alert"));
        assert!(!csv.contains(",=cmd"), "{csv}");
    }
}

#[test]
fn many_rows_are_bounded() {
    let request = |number: u16| {
        let bytes = segment((40_000 + number, 80), 1, 1, ACK, b"GET / HTTP/1.1\r\n\r\n");
        (i64::from(number), bytes)
    };
    let packets: Vec<(i64, Vec<u8>)> = (0..100).map(request).collect();
    let file = capture_file(&packets).finish().unwrap();
    let outcome = analyze_bytes("many.pcapng", file, "").ended(0);
    outcome.stdout_has("Connections, the 20 with the most payload of 100");
    outcome.stdout_has("Requests, the slowest 40 of 100");
    assert!(outcome.stdout.lines().count() < 100, "{outcome}");
}

/// How much longer a response takes on the wire of these tests than was reported.
const LATER_NS: i64 = 1_500;

/// A capture of the operations of a run; the first of them is missing.
fn capture_of_run(run: &Path) -> Vec<u8> {
    let recorded = rundir::open(run).unwrap();
    let target = wire::target::Target::parse(&recorded.plan.target);
    let port = target.unwrap().port();
    let pieces = recorded.samples.pieces().unwrap();
    let samples = pieces.flat_map(|piece| piece.unwrap());
    let mut packets = Vec::new();
    for (index, sample) in samples.enumerate().skip(1) {
        let client = 20_000 + index as u16;
        let (sent, first) = (sample.moments.sent.unwrap(), sample.moments.first.unwrap());
        let number = format!("{:06}", sample.number);
        let request = format!("GET /x HTTP/1.1\r\nX-Prestan: suite: {number} (row)\r\n\r\n");
        let end = 1 + request.len() as u32;
        let at_ns = index as i64 * 1_000_000_000;
        let response_ns = first.cast_signed() - sent.cast_signed() + LATER_NS;
        let request = segment((client, port), 1, 1, ACK, request.as_bytes());
        packets.push((at_ns, request));
        let response = segment((port, client), 1, end, ACK, b"HTTP/1.1 200 OK\r\n\r\n");
        packets.push((at_ns + response_ns, response));
    }
    capture_file(&packets).finish().unwrap()
}

#[test]
fn a_run_beside_its_capture() {
    let outcome = prestan!("demo -q --only Get1K -r 40 --run-id joined").run();
    assert!([0, 3].contains(&outcome.code), "{outcome}");
    let capture = capture_of_run(&outcome.home().join("state/prestan/runs/joined"));
    fs::write(outcome.home().join("run.pcapng"), capture).unwrap();
    let beside = run(outcome.again(), "run.pcapng", "--run joined --json -").ended(0);
    let joined = &beside.json()["run"];
    assert!(joined["joined"].as_u64().unwrap() >= 20, "{joined}");
    assert_eq!(joined["not_captured"], 1, "{joined}");
    for name in ["p1", "p50", "p99", "max"] {
        assert_eq!(joined["difference_us"][name], -1.5, "{joined}");
    }
    assert_eq!(joined["within_us"], 1.5, "{joined}");
    let text = run(outcome.again(), "run.pcapng", "--run joined");
    text.stdout_has("reported minus wire: p1 -1.5, p50 -1.5, p99 -1.5, max -1.5");
    run(outcome.again(), "run.pcapng", "--run nothing").ended(2);
    // Without a file it is the one in the record.
    let alone =
        |outcome: &Outcome| prestan!(outcome.again() => "analyze --run joined --json -").run();
    let missing = alone(&outcome).ended(2);
    missing.stderr_has("the run has recorded no packets");
    let record = outcome.home().join("state/prestan/runs/joined");
    let packets = record.join("packets.pcapng");
    fs::rename(outcome.home().join("run.pcapng"), packets).unwrap();
    let recorded = alone(&outcome);
    assert_eq!(recorded.json()["run"]["joined"], joined["joined"]);
}

#[test]
fn a_page_with_courses() {
    let outcome = analyze("random-loss-sender", "--html page.html --rto").ended(0);
    let Some(mut browser) = Browser::start() else {
        return;
    };
    browser.open(&outcome.home().join("page.html"));
    browser.until("document.readyState === 'complete'");
    let figures = browser.evaluate(
        "[...document.querySelectorAll('figure')].map((figure) =>
            [figure.dataset.id, figure.querySelectorAll('svg path, svg text').length])",
    );
    let figures = figures.as_array().unwrap();
    let ids: Vec<&str> = figures.iter().map(|of| of[0].as_str().unwrap()).collect();
    let all = ["sequence", "rtt", "throughput", "flight"].map(|id| format!("{id}-1-server"));
    assert_eq!(ids, all);
    for figure in figures {
        assert!(figure[1].as_u64().unwrap() > 8, "{figure}");
    }
    // The legend hides a series.
    let hidden = browser.evaluate(
        "[...document.querySelectorAll('.legend button')].map((button) => {
            button.click();
            return button.getAttribute('aria-pressed');
        })",
    );
    let hidden = hidden.as_array().unwrap();
    assert!(
        hidden.len() >= 4 && hidden.iter().all(|pressed| pressed == "false"),
        "{hidden:?}"
    );
    let text = browser.evaluate("document.body.innerText");
    for says in [
        "The server repaired losses",
        "GET /file-0",
        "W9 (1/16, 1/8)",
    ] {
        assert!(text.as_str().unwrap().contains(says), "{says}");
    }
    assert_eq!(browser.problems(), [""; 0]);
}
