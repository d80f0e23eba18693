//! Capture files read whole.

use std::fs;
use std::path::PathBuf;

use trace::TracedRequest;
use trace::contents::{CaptureContents, ReadingOptions, read_capture};
use trace::file::{CaptureFileError, LinkType};

fn bytes(name: &str) -> Vec<u8> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    fs::read(directory.join(format!("{name}.pcap"))).unwrap()
}

fn read(bytes: &[u8], servers: &[&str]) -> CaptureContents {
    let options = ReadingOptions {
        servers: servers.iter().map(|end| end.parse().unwrap()).collect(),
        ..ReadingOptions::default()
    };
    read_capture(bytes, &options, |_| ()).unwrap()
}

#[test]
fn packets_are_counted_and_connections_found() {
    let bytes = bytes("persistent");
    let mut requests = Vec::new();
    let visit = |request: &TracedRequest| requests.push(request.clone());
    let contents = read_capture(&bytes[..], &ReadingOptions::default(), visit).unwrap();
    assert_eq!(contents.packets, contents.counts.tcp);
    assert_eq!(contents.links, [LinkType::ETHERNET]);
    assert_eq!(contents.traced.connections.len(), 1);
    assert_eq!(contents.traced.connections[0].request_count, 3);
    assert_eq!(contents.traced.connections[0].requests, requests);
    assert!(contents.cut > 0 && contents.untimed == 0 && contents.dropped.is_none());
    assert!(contents.damage.is_none());
}

#[test]
fn only_connections_of_the_servers_that_were_asked_for_are_analysed() {
    let bytes = bytes("persistent");
    let all = read(&bytes, &[]);
    let server = all.traced.connections[0].server.to_string();
    let of_server = read(&bytes, &["[::1]:80", &server]);
    assert_eq!(of_server.traced, all.traced);
    assert_eq!(of_server.other_segments, 0);
    let none = read(&bytes, &["192.0.2.1:80"]);
    assert_eq!(none.traced.connections.len(), 0);
    assert_eq!(none.other_segments, all.packets);
}

#[test]
fn a_damaged_file_gives_what_stands_before_the_damage() {
    let bytes = bytes("persistent");
    let cut = read(&bytes[..bytes.len() / 2], &[]);
    assert_eq!(cut.traced.connections.len(), 1);
    let Some(CaptureFileError::Packet { number, .. }) = cut.damage else {
        panic!("{:?}", cut.damage);
    };
    assert_eq!(number, cut.packets + 1);
}

#[test]
fn what_is_no_capture_is_refused() {
    let options = ReadingOptions::default();
    for bytes in [
        &b""[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0x1f, 0x8b, 8, 0, 0, 0],
    ] {
        assert!(read_capture(bytes, &options, |_| ()).is_err());
    }
}
