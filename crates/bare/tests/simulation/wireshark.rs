//! Wireshark agrees with this crate about the frames of the server.

use std::process::Command;

use bare::{CongestionControl, SenderSettings};
use trace::file::{CaptureInterface, LinkType, PacketDirection};
use trace::rto::{PAPER_WEIGHTS, SamplingStrategy};
use trace::{CapturedPacket, PcapngWriter};

use crate::client::ClientSettings;
use crate::link::{LinkSettings, delayed};
use crate::world::World;

const MS: u64 = 1_000_000;

/// Output of `tshark` for a capture: one line for each packet that the filter selects.
fn tshark(capture: &[u8], filter: &str) -> Option<Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("frames.pcapng");
    std::fs::write(&path, capture).unwrap();
    let checks = ["ip.check_checksum:TRUE", "tcp.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-Y", filter]);
    for check in checks {
        command.args(["-o", check]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: tshark: {error}");
            return None;
        }
        Err(error) => panic!("tshark: {error}"),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    Some(printed.lines().map(str::to_owned).collect())
}

fn capture(frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), "a test", None).unwrap();
    writer
        .interface(&CaptureInterface {
            name: None,
            link: LinkType::ETHERNET,
            snap_length: 65_535,
            dropped: None,
        })
        .unwrap();
    for (number, (at_ns, frame)) in (1..).zip(frames) {
        let packet = CapturedPacket {
            number,
            interface: 0,
            link: LinkType::ETHERNET,
            at_ns: *at_ns as i64,
            wire_length: frame.len() as u32,
            direction: PacketDirection::Unknown,
            bytes: frame,
        };
        writer.packet(&packet).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn nothing_is_malformed_and_retransmissions_are_seen_as_such() {
    let bare = SenderSettings::bare(PAPER_WEIGHTS[0], SamplingStrategy::One);
    for (sender, is_ipv6) in [
        (bare, false),
        (bare, true),
        (
            SenderSettings::conventional(CongestionControl::Cubic),
            false,
        ),
        (SenderSettings::conventional(CongestionControl::Reno), true),
    ] {
        let client = ClientSettings {
            is_ipv6,
            ..ClientSettings::default()
        };
        let to_client = LinkSettings {
            delay_ns: 10 * MS,
            lost: [6, 40].into_iter().collect(),
            ..LinkSettings::default()
        };
        let to_server = delayed(10 * MS);
        let mut world = World::new(sender, 160 * 1024, client, to_client, to_server);
        assert!(world.run(60_000 * MS));
        let resent = world.ended().sender.resent_segments;
        let mut capture = capture(&world.frames_at_server);
        let bad = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0";
        let Some(found) = tshark(&capture, bad) else {
            return;
        };
        assert_eq!(found, Vec::<String>::new());
        let filter = "tcp.srcport == 80 && tcp.analysis.retransmission";
        let retransmissions = tshark(&capture, filter).unwrap();
        assert_eq!(retransmissions.len() as u64, resent);
        // A byte of the last packet, which has a checksum.
        let last = world.frames_at_server.last().unwrap().1[..].to_vec();
        let mut windows = capture.windows(last.len());
        let index = windows.rposition(|bytes| bytes == last).unwrap();
        capture[index + last.len() - 1] ^= 1;
        assert_eq!(tshark(&capture, bad).unwrap().len(), 1);
    }
}
