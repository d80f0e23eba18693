//! Captures, with results of tshark and the kernel about them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use trace::AnalysisLimits;
use trace::connections::{TcpConnections, TracedConnections};
use trace::file::{CaptureReader, LinkType};
use trace::segment::{self, TcpSegment};
use trace::wireshark::WiresharkMarks;

/// Names of marks, as in tshark's output.
pub(crate) const MARKS: [&str; 14] = [
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "lost_segment",
    "ack_lost_segment",
    "keep_alive",
    "keep_alive_ack",
    "window_update",
    "window_full",
    "zero_window",
    "zero_window_probe",
    "zero_window_probe_ack",
    "reused_ports",
];

/// Fields before those of the marks.
const FIELDS: [&str; 12] = [
    "frame.number",
    "frame.time_epoch",
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.flags",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.duplicate_ack_num",
    "http.request.method",
];

/// The captures; others can be named in the environment.
fn directory() -> PathBuf {
    match env::var_os("PRESTAN_CAPTURES") {
        Some(directory) => PathBuf::from(directory),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures"),
    }
}

/// A capture with Ethernet frames.
pub(crate) struct Capture {
    pub(crate) name: String,
    packets: Vec<(i64, Vec<u8>)>,
}

impl Capture {
    pub(crate) fn all() -> Vec<Capture> {
        let files = fs::read_dir(directory()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
        let captures = names.filter_map(|name| name.strip_suffix(".pcap").map(str::to_owned));
        let mut names: Vec<String> = captures.collect();
        names.sort();
        assert!(names.len() >= 20, "{} captures", names.len());
        names.iter().map(|name| Capture::read(name)).collect()
    }

    pub(crate) fn read(name: &str) -> Capture {
        let file = fs::File::open(directory().join(format!("{name}.pcap"))).unwrap();
        let mut reader = CaptureReader::new(file).unwrap();
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            assert_eq!(packet.link, LinkType::ETHERNET, "{name}");
            packets.push((packet.at_ns, packet.bytes.to_vec()));
        }
        let name = name.to_owned();
        Capture { name, packets }
    }

    pub(crate) fn path(&self, ending: &str) -> PathBuf {
        directory().join(format!("{}.{ending}", self.name))
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = TcpSegment<'_>> {
        let packets = self.packets.iter();
        packets.map(|(at_ns, packet)| segment::parse(packet, *at_ns).unwrap())
    }

    /// Counters of the sender's kernel.
    pub(crate) fn kernel(&self) -> HashMap<String, u64> {
        let text = fs::read_to_string(self.path("kernel.txt")).unwrap();
        let pairs = text.lines().map(|line| line.split_once(' ').unwrap());
        pairs
            .map(|(name, count)| (name.to_owned(), count.parse().unwrap()))
            .collect()
    }
}

/// The marks of all segments, and the figures.
pub(crate) fn analyse(capture: &Capture) -> (Vec<WiresharkMarks>, TracedConnections) {
    let mut connections = TcpConnections::new(AnalysisLimits::default(), None);
    let segments = capture.segments().enumerate();
    let marks = segments
        .map(|(index, segment)| {
            connections
                .add(index as u64 + 1, &segment, &mut |_| ())
                .unwrap()
        })
        .collect();
    (marks, connections.finish(&mut |_| ()))
}

/// Result of tshark for a packet.
#[derive(Debug)]
pub(crate) struct TsharkPacket {
    pub(crate) number: u64,
    pub(crate) at_ns: i64,
    pub(crate) stream: String,
    pub(crate) ports: (u16, u16),
    pub(crate) sequence: i64,
    pub(crate) acknowledged: i64,
    pub(crate) length: i64,
    pub(crate) flags: u32,
    pub(crate) ack_rtt_ns: Option<i64>,
    pub(crate) duplicate_ack: Option<u32>,
    pub(crate) is_request: bool,
    pub(crate) marks: Vec<String>,
}

pub(crate) struct TsharkResults {
    pub(crate) packets: Vec<TsharkPacket>,
}

/// True if tshark is installed, in the version whose rules are followed.
pub(crate) fn has_tshark() -> bool {
    let version = Command::new("tshark").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let is_known = version.is_ok_and(|text| text.contains("TShark (Wireshark) 4.0."));
    if !is_known {
        assert!(env::var_os("CI").is_none(), "no tshark 4.0");
        eprintln!("skipped: no tshark 4.0 (apt-get install tshark)");
    }
    is_known
}

fn nanoseconds(seconds: &str) -> i64 {
    let (whole, part) = seconds.split_once('.').unwrap();
    let whole: i64 = whole.parse().unwrap();
    let part: i64 = format!("{part:0<9}").parse().unwrap();
    whole * 1_000_000_000 + part
}

impl TsharkResults {
    pub(crate) fn from_tshark(capture: &Capture) -> String {
        let mut command = Command::new("tshark");
        command.args(["-n", "-T", "fields", "-d", "tcp.port==8080,http", "-r"]);
        command.arg(capture.path("pcap"));
        let marks = MARKS.map(|mark| format!("tcp.analysis.{mark}"));
        for field in FIELDS
            .iter()
            .copied()
            .chain(marks.iter().map(String::as_str))
        {
            command.args(["-e", field]);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}: tshark failed", capture.name);
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn stored(capture: &Capture) -> TsharkResults {
        let text = fs::read_to_string(capture.path("tshark.txt")).unwrap();
        let packets = text.lines().map(TsharkPacket::parse).collect();
        TsharkResults { packets }
    }

    /// From each request to the last acknowledgment of new payload by its client, before the
    /// client's FIN and before its next request.
    pub(crate) fn delays(&self) -> Vec<Option<i64>> {
        let requests = self.packets.iter().enumerate();
        let requests = requests.filter(|(_, packet)| packet.is_request);
        requests.map(|(index, _)| self.delay(index)).collect()
    }

    fn delay(&self, index: usize) -> Option<i64> {
        let request = &self.packets[index];
        let server_ports = (request.ports.1, request.ports.0);
        let (mut payload_end, mut acknowledged, mut last_ns) = (1, 1, None);
        for (later, packet) in self.packets.iter().enumerate() {
            if packet.stream != request.stream {
                continue;
            }
            if packet.ports == server_ports {
                payload_end = payload_end.max(packet.sequence + packet.length);
                continue;
            }
            let (is_fin, is_rst, is_ack) = (
                packet.flags & 1 != 0,
                packet.flags & 4 != 0,
                packet.flags & 16 != 0,
            );
            if is_fin {
                break;
            }
            let valid = packet.acknowledged.min(payload_end);
            if is_ack && !is_rst && valid > acknowledged {
                acknowledged = valid;
                if later > index {
                    last_ns = Some(packet.at_ns);
                }
            }
            if later > index && packet.is_request {
                break;
            }
        }
        Some(last_ns? - request.at_ns)
    }
}

impl TsharkPacket {
    fn parse(line: &str) -> TsharkPacket {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<i64>().unwrap();
        let flags = fields[8].trim_start_matches("0x");
        let marked = MARKS.iter().zip(&fields[FIELDS.len()..]);
        let marked = marked.filter(|(_, mark)| !mark.is_empty());
        TsharkPacket {
            number: number(0).unsigned_abs(),
            at_ns: nanoseconds(fields[1]),
            stream: fields[2].to_owned(),
            ports: (number(3) as u16, number(4) as u16),
            sequence: number(5),
            acknowledged: number(6),
            length: number(7),
            flags: u32::from_str_radix(flags, 16).unwrap(),
            ack_rtt_ns: (!fields[9].is_empty()).then(|| nanoseconds(fields[9])),
            duplicate_ack: fields[10].parse().ok(),
            is_request: !fields[11].is_empty(),
            marks: marked.map(|(mark, _)| (*mark).to_owned()).collect(),
        }
    }
}
