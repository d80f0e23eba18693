//! Recordings on loopback. They need `CAP_NET_RAW`, and are skipped without it except in CI.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use etherparse::{PacketBuilder, VlanId};
use trace::file::{LinkType, PacketDirection};
use trace::{CaptureReader, CapturedPacket, Dissector};

use crate::error::CaptureError;
use crate::recording::{
    CaptureLimits, CaptureSource, LoopbackCopies, PacketSelection, PacketTap, Recording,
    RecordingEnd, RecordingOptions, RecordingSummary, available,
};
use crate::socket::counted;

/// False, with a message, where packets cannot be captured.
fn can_capture() -> bool {
    let Err(reason) = available() else {
        return true;
    };
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
    false
}

/// True if the program exists; in CI it must exist.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        assert!(std::env::var_os("CI").is_none(), "there is no {program}");
        eprintln!("skipped: there is no {program}");
    }
    found
}

fn loopback(port: u16) -> RecordingOptions {
    RecordingOptions {
        source: CaptureSource::Interface("lo".to_owned()),
        selection: PacketSelection {
            hosts: Vec::new(),
            ports: vec![port],
        },
        ring_bytes: 8 << 20,
        ..RecordingOptions::default()
    }
}

fn start(path: &Path, options: &RecordingOptions) -> Result<Recording, CaptureError> {
    // A test may record to one file several times.
    if path.is_file() {
        std::fs::remove_file(path).unwrap();
    }
    Recording::start(path, options, Arc::new(AtomicBool::new(false)))
}

/// Sends 10 bytes in both directions of a connection, `rounds` times.
fn talk(listener: &TcpListener, rounds: usize) {
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let (mut server, _) = listener.accept().unwrap();
            let mut buffer = [0; 10];
            while server.read_exact(&mut buffer).is_ok() {
                server.write_all(&buffer).unwrap();
            }
        });
        let mut client = TcpStream::connect(address).unwrap();
        for _ in 0..rounds {
            client.write_all(b"0123456789").unwrap();
            client.read_exact(&mut [0; 10]).unwrap();
        }
    });
}

fn listener(address: &str) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Packets of a conversation on that port in a file.
#[derive(Debug, Default)]
struct Found {
    packets: u64,
    payload_there: u64,
    payload_back: u64,
    times: Vec<i64>,
    ways: BTreeMap<(bool, bool), u64>,
}

fn found(path: &Path, port: u16) -> Found {
    let mut reader = CaptureReader::new(File::open(path).unwrap()).unwrap();
    let mut dissector = Dissector::default();
    let mut found = Found::default();
    while let Some(packet) = reader.next_packet().unwrap() {
        let CapturedPacket {
            at_ns, direction, ..
        } = packet;
        found.packets += 1;
        // Another program may use the port with UDP.
        let Ok(segment) = dissector.segment(&packet) else {
            continue;
        };
        let is_request = segment.destination.port() == port;
        *(if is_request {
            &mut found.payload_there
        } else {
            &mut found.payload_back
        }) += u64::from(segment.length);
        let way = (is_request, direction == PacketDirection::Outgoing);
        *found.ways.entry(way).or_default() += 1;
        found.times.push(at_ns);
    }
    found
}

/// Times of all TCP frames in nanoseconds, read by tshark.
fn tshark(path: &Path) -> Vec<i64> {
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-Y", "tcp"];
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(fields)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let times = text.lines().map(|line| {
        let (seconds, rest) = line.split_once('.').unwrap();
        seconds.parse::<i64>().unwrap() * 1_000_000_000 + rest.parse::<i64>().unwrap()
    });
    times.collect()
}

#[test]
fn a_recording_of_loopback_has_each_packet_once_as_the_client_saw_it() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (address, source) in [
        ("127.0.0.1", CaptureSource::Interface("lo".to_owned())),
        ("::1", CaptureSource::Interface("lo".to_owned())),
        ("127.0.0.1", CaptureSource::Any),
    ] {
        let (listener, address) = listener(address);
        let path = directory.path().join("a.pcapng");
        let options = RecordingOptions {
            source,
            ..loopback(address.port())
        };
        let recording = start(&path, &options).unwrap();
        talk(&listener, 50);
        let summary = recording.stop().unwrap();
        let found = found(&path, address.port());
        assert_eq!((found.payload_there, found.payload_back), (500, 500));
        assert_eq!(found.packets, summary.packets);
        assert_eq!(summary.counters.dropped, 0);
        assert_eq!(summary.counters.packets, summary.packets);
        assert_eq!(summary.end, RecordingEnd::Stopped);
        assert_eq!(summary.bytes, path.metadata().unwrap().len());
        // Requests at their departure, responses at their arrival.
        assert_eq!(
            found.ways.keys().collect::<Vec<_>>(),
            [&(false, false), &(true, true)]
        );
        assert!(found.times.is_sorted());
        if has("tshark") {
            assert_eq!(tshark(&path), found.times);
        }
    }
}

#[test]
fn both_copies_are_recorded_on_demand() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pcapng");
    let (listener, address) = listener("127.0.0.1");
    let options = RecordingOptions {
        copies: LoopbackCopies::Both,
        snap_length: 60,
        ..loopback(address.port())
    };
    let recording = start(&path, &options).unwrap();
    talk(&listener, 50);
    recording.stop().unwrap();
    let found = found(&path, address.port());
    assert_eq!((found.payload_there, found.payload_back), (1000, 1000));
    assert_eq!(found.ways.len(), 4);
}

/// Sends packets until the recording has ended.
fn record_until_it_ends(options: RecordingOptions, path: &Path) -> RecordingSummary {
    let (listener, address) = listener("127.0.0.1");
    let options = RecordingOptions {
        selection: loopback(address.port()).selection,
        ..options
    };
    let recording = start(path, &options).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !recording.is_finished() && Instant::now() < deadline {
        talk(&listener, 20);
    }
    let progress = recording.progress();
    let summary = recording.wait().unwrap();
    assert_eq!(progress.packets, summary.packets);
    assert_eq!(found(path, address.port()).packets, summary.packets);
    summary
}

#[test]
fn a_recording_ends_at_its_limits() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pcapng");
    let limited = |limits| RecordingOptions {
        limits,
        ..loopback(0)
    };
    let packets = limited(CaptureLimits {
        packets: Some(33),
        ..CaptureLimits::default()
    });
    let summary = record_until_it_ends(packets, &path);
    assert_eq!((summary.packets, summary.end), (33, RecordingEnd::Packets));
    let bytes = limited(CaptureLimits {
        bytes: Some(5000),
        ..CaptureLimits::default()
    });
    let summary = record_until_it_ends(bytes, &path);
    assert!((4800..=5000).contains(&summary.bytes), "{summary:?}");
    assert_eq!(summary.end, RecordingEnd::Bytes);
    let time = limited(CaptureLimits {
        time: Some(Duration::from_millis(300)),
        ..CaptureLimits::default()
    });
    let summary = record_until_it_ends(time, &path);
    assert_eq!(summary.end, RecordingEnd::Time);
    assert!(summary.packets > 0);
}

#[test]
fn a_recording_stops_promptly_and_counts_what_it_lost() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pcapng");
    let started = Instant::now();
    // Reserved ports: other tests run at the same time.
    let (_taken, address) = listener("127.0.0.1");
    start(&path, &loopback(address.port()))
        .unwrap()
        .stop()
        .unwrap();
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(found(&path, address.port()).packets, 0);

    // The ring is too small for the packets that arrive before they are read: the kernel counts its
    // drops.
    let (listener, address) = listener("127.0.0.1");
    let small = RecordingOptions {
        ring_bytes: 2 << 20,
        ..loopback(address.port())
    };
    let mut tap = PacketTap::open(&small).unwrap();
    talk(&listener, 20_000);
    let mut shown = 0;
    while tap
        .ring
        .wait(&tap.socket, Duration::from_millis(500))
        .unwrap()
    {
        tap.ring.read_block(|_| shown += 1);
    }
    let counters = counted(&tap.socket).unwrap();
    assert!(counters.dropped > 0, "{counters:?}");
    assert_eq!(counters.packets, shown + counters.dropped);
}

#[test]
fn what_cannot_be_recorded_is_an_error() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pcapng");
    let absent = RecordingOptions {
        source: CaptureSource::Interface("absent0".to_owned()),
        ..RecordingOptions::default()
    };
    let error = start(&path, &absent).unwrap_err().to_string();
    assert!(
        error.starts_with("there is no interface \"absent0\"; there are "),
        "{error}"
    );
    assert!(error.contains("lo") && !path.exists());
    let error = start(&directory.path().join("no/such"), &loopback(1))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("creating ") && error.contains("no/such failed"),
        "{error}"
    );
    let error = start(Path::new("/dev/full"), &loopback(1))
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("writing /dev/full failed: "), "{error}");
}

/// A process that ends with its test, even after a panic.
struct OwnProcess(Child);

impl Drop for OwnProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn files_of_tcpdump_are_read() {
    if !can_capture() || !has("tcpdump") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (source, precision) in [("lo", "micro"), ("lo", "nano"), ("any", "nano")] {
        let path = directory.path().join("a.pcap");
        let (listener, address) = listener("127.0.0.1");
        let tcpdump = Command::new("tcpdump")
            .args(["-i", source, "-U", "--immediate-mode", "-s", "64", "-w"])
            .arg(&path)
            .arg(format!("--time-stamp-precision={precision}"))
            .args(["port", &address.port().to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut tcpdump = OwnProcess(tcpdump);
        // It prints "listening on" when it is ready.
        let mut stderr = tcpdump.0.stderr.take().unwrap();
        let mut reports = Vec::new();
        while !String::from_utf8_lossy(&reports).contains("listening on") {
            let mut byte = [0];
            assert_eq!(
                stderr.read(&mut byte).unwrap(),
                1,
                "{}",
                String::from_utf8_lossy(&reports)
            );
            reports.push(byte[0]);
        }
        talk(&listener, 50);
        // Until it has written the last packet, which ends the connection.
        let deadline = Instant::now() + Duration::from_secs(20);
        let all = || path.exists() && is_complete(&path);
        while !all() && Instant::now() < deadline {
            thread::yield_now();
        }
        let id = tcpdump.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        tcpdump.0.wait().unwrap();
        let found = found(&path, address.port());
        // libpcap leaves the outgoing copies of loopback out.
        assert_eq!(
            (found.payload_there, found.payload_back),
            (500, 500),
            "{source}"
        );
        if has("tshark") {
            assert_eq!(tshark(&path), found.times);
        }
    }
}

/// True if a file has the last packet of [`talk`], which acknowledges the second FIN.
fn is_complete(path: &Path) -> bool {
    let Ok(mut reader) = CaptureReader::new(File::open(path).unwrap()) else {
        return false;
    };
    let (mut dissector, mut ends) = (Dissector::default(), 0);
    while let Ok(Some(packet)) = reader.next_packet() {
        let Ok(segment) = dissector.segment(&packet) else {
            continue;
        };
        ends += u32::from(segment.flags.fin || ends >= 2);
    }
    ends >= 3
}

#[test]
fn link_types_are_those_of_the_interfaces() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.pcapng");
    // A reserved port: other tests run at the same time.
    let (_taken, address) = listener("127.0.0.1");
    let table = [
        (CaptureSource::Any, LinkType::LINUX_SLL2, "any"),
        (
            CaptureSource::Interface("lo".to_owned()),
            LinkType::ETHERNET,
            "lo",
        ),
    ];
    for (source, link, name) in table {
        let options = RecordingOptions {
            source,
            comment: Some("a test".to_owned()),
            ..loopback(address.port())
        };
        start(&path, &options).unwrap().stop().unwrap();
        let mut reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
        assert!(reader.next_packet().unwrap().is_none());
        let [interface] = reader.interfaces() else {
            panic!("{:?}", reader.interfaces());
        };
        assert_eq!(
            (interface.link, interface.name.as_deref()),
            (link, Some(name))
        );
        assert_eq!(reader.dropped(), Some(0));
    }
}

/// The kernel removes the tag of a packet that arrives, here at one of a pair of interfaces in a
/// network namespace.
#[test]
fn a_tag_that_the_kernel_took_out_is_recorded() {
    if !can_capture() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let script = "ip link set lo up && ip link add va0 type veth peer name va1 && ip link set va0 up && \
                  ip link set va1 up && exec \"$0\" \"$@\"";
    let output = Command::new("unshare")
        .args(["--net", "sh", "-ec", script])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "tests::recording::inside_a_namespace_with_a_pair_of_interfaces",
            "--ignored",
        ])
        .env("PRESTAN_TEST_DIRECTORY", directory.path())
        .output();
    let Ok(output) = output else {
        assert!(std::env::var_os("CI").is_none(), "there is no unshare");
        return;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("Operation not permitted") && std::env::var_os("CI").is_none() {
        eprintln!("skipped: {errors}");
        return;
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{errors}\n{stdout}");
    assert!(stdout.contains("1 passed"), "{stdout}");
}

#[test]
#[ignore = "another test runs it in a network namespace"]
fn inside_a_namespace_with_a_pair_of_interfaces() {
    let Some(directory) = std::env::var_os("PRESTAN_TEST_DIRECTORY") else {
        return;
    };
    let path = Path::new(&directory).join("a.pcapng");
    let mut frame = Vec::new();
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [0xff; 6]);
    let builder = builder.single_vlan(VlanId::try_new(5).unwrap());
    let builder = builder.ipv4([10, 9, 0, 1], [10, 9, 0, 2], 64);
    builder.udp(4000, 9).write(&mut frame, b"tagged").unwrap();
    let sender = crate::socket::open(socket2::Type::RAW).unwrap();
    let index = |name| rustix::net::netdevice::name_to_index(&sender, name).unwrap();
    crate::socket::bind(&sender, index("va0")).unwrap();
    // The kernel passes a packet to the socket that was opened first last.
    let mut witness = crate::socket::open(socket2::Type::RAW).unwrap();
    crate::socket::bind(&witness, index("va1")).unwrap();
    witness.set_nonblocking(false).unwrap();
    witness
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    for source in [
        CaptureSource::Interface("va1".to_owned()),
        CaptureSource::Any,
    ] {
        let options = RecordingOptions {
            source: source.clone(),
            ..loopback(9)
        };
        let recording = start(&path, &options).unwrap();
        sender.send(&frame).unwrap();
        let mut received = [0; 2048];
        loop {
            let length = witness.read(&mut received).unwrap();
            if received[..length].ends_with(b"tagged") {
                break;
            }
        }
        recording.stop().unwrap();
        let mut reader = CaptureReader::new(File::open(&path).unwrap()).unwrap();
        let mut tags = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            // At departure, older kernels leave out the tag of a cooked packet.
            if packet.direction == PacketDirection::Outgoing {
                continue;
            }
            let inside = trace::link::link_payload(packet.link, packet.bytes, packet.wire_length);
            let inside = inside.unwrap();
            assert_eq!((inside.bytes.len(), inside.wire_length), (34, 34));
            tags.push(inside.vlan);
        }
        assert_eq!(tags, [Some(5)], "{source:?}");
    }
}
