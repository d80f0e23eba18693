//! Bare hosts of lab files: the kernel downloads from them over each kind of link.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use bare::{EndedConnection, test_pattern};
use lab::{BareHostReport, BuiltHost, BuiltLab, ForwarderSettings, LabError};
use topology::{LabNetwork, judge};

use super::scenes::{self, PlayedScene};
use super::support::{DEADLINE, can_build, wait_until};

fn build(text: &str) -> BuiltLab {
    let network = LabNetwork::parse("test", text).unwrap();
    BuiltLab::new(&network, &ForwarderSettings::default()).unwrap()
}

/// Downloads a file. Returns the body.
fn download(client: BuiltHost<'_>, server: BuiltHost<'_>, is_ipv6: bool, path: &str) -> Vec<u8> {
    let to = SocketAddr::new(server.address(is_ipv6).unwrap(), 80);
    let connect = || TcpStream::connect_timeout(&to, DEADLINE).unwrap();
    let mut stream = client.namespace().run(connect).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let head = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    response.split_off(head.unwrap() + 4)
}

/// Report of a bare host, once this many connections have ended.
fn report(host: BuiltHost<'_>, connections: usize) -> BareHostReport {
    let mut ended: Vec<EndedConnection> = Vec::new();
    let mut last = BareHostReport::default();
    wait_until("connections end", || {
        last = host.bare_report().unwrap();
        ended.append(&mut last.ended);
        ended.len() >= connections
    });
    last.ended = ended;
    last
}

/// A bare host at each kind of link.
const LINKS: &str = "
    a pair of devices => links:↵  - {ends: [client, server]}
    a shaped link => links:↵  - {ends: [client, server], rate: 50mbit, delay: 2ms}
    a long packet => links:↵  - {ends: [client, server], rate: 50mbit, mtu: 4000}
    a switch => switches: {s: {}}↵links:↵  - {ends: [client, s]}↵  - {ends: [s, server]}
    a hub => hubs: {h: {rate: 50mbit}}↵links:↵  - {ends: [client, h]}↵  - {ends: [h, server]}
    a router => routers: {r: {}}↵links:↵  - {ends: [client, r], delay: 1ms}↵  - {ends: [r, server]}
";

#[test]
fn files_are_served_at_every_kind_of_link() {
    if !can_build() {
        return;
    }
    for [name, links] in cases::rows(LINKS) {
        let lab = build(&format!(
            "hosts: {{client: {{}}, server: {{bare: {{preset: conventional}}}}}}\n{links}\n"
        ));
        let [client, server] = ["client", "server"].map(|host| lab.host(host).unwrap());
        for is_ipv6 in [false, true] {
            let body = download(client, server, is_ipv6, "/160k");
            assert!(body == test_pattern(160 * 1024), "{name}");
        }
        let report = report(server, 2);
        let done = report.server;
        assert_eq!(
            (done.requests, done.aborted, report.refused_frames),
            (2, 0, 0),
            "{name}: {done:?}"
        );
        // The only other packets are the groups that an IPv6 router reports (RFC 3810).
        let reported = if name == "a router" { 4 } else { 0 };
        assert!(done.ignored <= reported, "{name}: {done:?}");
        assert_eq!(lab.dropped_at_devices().unwrap(), 0, "{name}");
        assert!(client.bare_report().is_none());
    }
}

const LOSSY: &str = "
hosts: {client: {}, server: {bare: {weights: W2, sampling: all, rto_min: 50ms}}}
routers: {r: {}}
links:
  - {ends: [client, r], rate: 20mbit, queue: 50, delay: 5ms, back: {loss: 2%}}
  - {ends: [r, server]}
";

#[test]
fn a_bottleneck_with_loss_makes_timeouts_which_the_report_has() {
    if !can_build() {
        return;
    }
    let lab = build(LOSSY);
    let [client, server] = ["client", "server"].map(|host| lab.host(host).unwrap());
    for path in ["/504k", "/320k"] {
        let kib: usize = path[1..4].parse().unwrap();
        let body = download(client, server, false, path);
        assert!(body == test_pattern(kib * 1024), "{path}");
    }
    let report = report(server, 2);
    let sender = report.server.sender;
    assert!(
        sender.timeouts > 0 && sender.resent_segments > 0,
        "{sender:?}"
    );
    assert_eq!(sender.fast_retransmits, 0, "{sender:?}");
    for connection in &report.ended {
        let entries = connection.round_trips.entries();
        assert!(!entries.is_empty());
        for entry in entries {
            assert!(
                entry.sample.rtt_ns >= 10_000_000 && entry.rto_ns >= 50_000_000,
                "{entry:?}"
            );
        }
    }
}

#[test]
fn links_of_a_bare_host_are_measured_and_it_runs_no_programs() {
    if !can_build() {
        return;
    }
    let lab = build(LOSSY);
    let network = lab.network();
    for from in [0, 1] {
        let measured = lab.measure(1, from).unwrap();
        assert!(
            judge(&network.links[1].wires[from], &measured).is_as_described(),
            "{measured:?}"
        );
    }
    let server = lab.host("server").unwrap();
    let refused = server.spawn(Command::new("true"));
    assert!(matches!(refused, Err(LabError::BareHost(name)) if name == "server"));
    let around = lab.host("client").unwrap().surroundings();
    assert!(around.host("server").unwrap().open().is_err());
}

/// The scene: holds a laboratory with a bare host until it is killed.
pub(crate) fn hold() {
    let lab = build(LOSSY);
    let names = ["client", "server"].map(|name| {
        let stat = rustix::fs::fstat(lab.host(name).unwrap().namespace()).unwrap();
        format!("net:[{}]", stat.st_ino)
    });
    scenes::print(names.join(" "));
    let [client, server] = ["client", "server"].map(|host| lab.host(host).unwrap());
    loop {
        download(client, server, false, "/504k");
    }
}

#[test]
fn nothing_is_left_of_a_bare_host_whose_process_was_killed() {
    if !can_build() {
        return;
    }
    let mut scene = PlayedScene::start(scenes::command("hold a bare host")).unwrap();
    let line = scene.line().unwrap();
    let namespaces: BTreeSet<String> = line.split(' ').map(str::to_owned).collect();
    assert_eq!(namespaces.len(), 2);
    assert!(!super::lifetime::holders(&namespaces).is_empty());
    scene.child.kill().unwrap();
    scene.child.wait().unwrap();
    wait_until("all holders of the namespaces end", || {
        super::lifetime::holders(&namespaces).is_empty()
    });
}
