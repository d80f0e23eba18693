//! Networks of lab files, built and measured.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use builtin::{BuiltinFile, LABS};
use lab::{BuiltLab, ForwarderSettings, LabError};
use topology::{LabNetwork, judge};

use super::support::{DEADLINE, can_build, wait_until};

fn build(text: &str) -> BuiltLab {
    let network = LabNetwork::parse("test", text).unwrap();
    BuiltLab::new(&network, &ForwarderSettings::default()).unwrap()
}

fn built_in(name: &str) -> BuiltLab {
    build(BuiltinFile::find(LABS, name).unwrap().text)
}

fn listen(lab: &BuiltLab, host: &str, is_ipv6: bool) -> TcpListener {
    let host = lab.host(host).unwrap();
    let address = host.address(is_ipv6).unwrap();
    host.namespace()
        .run(|| TcpListener::bind((address, 0)).unwrap())
        .unwrap()
}

/// Time of a TCP handshake, in the best of several.
fn handshake(lab: &BuiltLab, host: &str, to: SocketAddr, attempts: usize) -> Duration {
    let connect = || {
        let start = Instant::now();
        TcpStream::connect_timeout(&to, DEADLINE).unwrap();
        start.elapsed()
    };
    let connect_all = || (0..attempts).map(|_| connect()).min().unwrap();
    lab.host(host)
        .unwrap()
        .namespace()
        .run(connect_all)
        .unwrap()
}

#[test]
fn every_built_in_lab_is_built_and_its_hosts_reach_each_other() {
    if !can_build() {
        return;
    }
    for BuiltinFile { name, .. } in LABS {
        let start = Instant::now();
        let lab = built_in(name);
        let took = start.elapsed();
        let names: Vec<&str> = lab.network().nodes.iter().map(|node| &*node.name).collect();
        let hosts = names.iter().filter_map(|name| lab.host(name));
        let hosts: Vec<_> = hosts.filter(|host| host.bare_report().is_none()).collect();
        let (first, last) = (hosts[0], *hosts.last().unwrap());
        for is_ipv6 in [false, true] {
            for (from, to) in [(first, last), (last, first)] {
                let listener = listen(&lab, to.name(), is_ipv6);
                handshake(&lab, from.name(), listener.local_addr().unwrap(), 1);
            }
        }
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
        eprintln!("{name}: built in {took:?}");
    }
}

const ROUTED: &str = "
hosts: {client: {congestion: reno, to: {server: {congestion: cubic}}}, server: {}, third: {}}
routers: {r: {}}
switches: {s: {}}
links:
  - {ends: [client, s]}
  - {ends: [third, s]}
  - {ends: [s, r], rate: 20mbit, delay: 10ms, back: {delay: 5ms}}
  - {ends: [r, server], mtu: 1400}
";

#[test]
fn paths_have_round_trips_and_the_congestion_control_of_both_ends() {
    if !can_build() {
        return;
    }
    let lab = build(ROUTED);
    for is_ipv6 in [false, true] {
        let path = lab.probe_path("client", "server", is_ipv6, None).unwrap();
        let round_trip = path.round_trip.as_secs_f64() * 1e3;
        assert!((15.0..18.0).contains(&round_trip), "{round_trip} ms");
        assert_eq!(path.client_congestion, "cubic");
        assert_eq!(path.server_congestion.as_deref(), Some("cubic"));
        let other = lab.probe_path("third", "client", is_ipv6, None).unwrap();
        assert!(other.round_trip < Duration::from_millis(2), "{other:?}");
        assert_eq!(other.server_congestion.as_deref(), Some("reno"));
    }
    let refused = lab
        .probe_path("client", "server", false, Some(9))
        .unwrap_err();
    let message = "the host `client` cannot open a connection to the host `server`";
    assert!(refused.to_string().starts_with(message), "{refused}");
    let missing = lab.probe_path("client", "sever", false, None).unwrap_err();
    assert_eq!(missing.to_string(), "no host is called `sever`");
}

#[test]
fn links_are_as_described_and_a_wrong_description_is_found() {
    if !can_build() {
        return;
    }
    let lab = build(ROUTED);
    let network = lab.network();
    for (number, link) in network.links.iter().enumerate() {
        for from in [0, 1] {
            let measured = lab.measure(number, from).unwrap();
            let verdict = judge(&network.wire(link, from), &measured);
            assert!(
                verdict.is_as_described(),
                "{number} {from}: {measured:?} {verdict:?}"
            );
        }
    }
    let measured = lab.measure(2, 0).unwrap();
    for (from, to, respect) in [("20mbit", "25mbit", 0), ("delay: 10ms", "delay: 11ms", 1)] {
        let other = LabNetwork::parse("other", &ROUTED.replace(from, to)).unwrap();
        let verdict = judge(&other.wire(&other.links[2], 0), &measured);
        let holds = [verdict.rate, verdict.delay, Some(verdict.loss)];
        let wrong = holds.iter().position(|holds| *holds == Some(false));
        assert_eq!(wrong, Some(respect), "{to}");
    }
    assert!(lab.link_counters(2, 0).unwrap().delivered > 0);
    assert_eq!(lab.link_counters(0, 0), None);
    assert!(lab.measure(9, 0).is_err());
}

#[test]
fn wires_with_queue_disciplines_are_as_described_and_count_what_they_drop() {
    if !can_build() {
        return;
    }
    for queue in ["codel", "fq-codel"] {
        let lab = build(&format!(
            "hosts: {{a: {{}}, b: {{}}}}\nlinks: [{{ends: [a, b], rate: 20mbit, delay: 2ms, queue: {queue}}}]"
        ));
        let measured = lab.measure(0, 0).unwrap();
        let verdict = judge(&lab.network().links[0].wires[0], &measured);
        assert!(verdict.is_as_described(), "{queue}: {measured:?}");
        // The rate was measured by sending more than the wire carries.
        wait_until("the forwarder counts all", || {
            let counters = lab.link_counters(0, 0).unwrap();
            let gone = counters.dropped_by_queue + counters.dropped_by_delay;
            counters.dropped_by_delay > 0 && counters.delivered + gone == counters.frames
        });
    }
}

#[test]
fn a_lossy_wire_is_measured() {
    if !can_build() {
        return;
    }
    let text = "hosts: {a: {}, b: {}}\nlinks: [{ends: [a, b], forth: {loss: 5%}}]";
    let lab = build(text);
    let wire = |text: &str| LabNetwork::parse("x", text).unwrap().links[0].wires[0];
    let measured = lab.measure(0, 0).unwrap();
    assert!(
        judge(&wire(text), &measured).is_as_described(),
        "{measured:?}"
    );
    for other in ["loss: 0%", "loss: 20%"] {
        let other = wire(&text.replace("loss: 5%", other));
        assert!(!judge(&other, &measured).loss, "{other:?}");
    }
    let back = lab.measure(0, 1).unwrap();
    assert_eq!(back.sent, back.received);
}

#[test]
fn a_hub_is_one_medium_for_all_stations() {
    if !can_build() {
        return;
    }
    let lab = built_in("one-segment");
    let network = lab.network();
    let measured = lab.measure(0, 0).unwrap();
    let verdict = judge(&network.wire(&network.links[0], 0), &measured);
    assert!(verdict.is_as_described(), "{measured:?}");
    // Two pairs at once: together they have the rate of one.
    let seconds = Duration::from_millis(700);
    let pair = |from: &str, to: &str| {
        let receiver = lab.host(to).unwrap();
        let address = receiver.address(false).unwrap();
        let bind = |ip: IpAddr| UdpSocket::bind((ip, 0)).unwrap();
        let receiver = receiver.namespace().run(|| bind(address)).unwrap();
        let sender = lab.host(from).unwrap();
        let address = sender.address(false).unwrap();
        let sender = sender.namespace().run(|| bind(address)).unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver
            .set_read_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        (sender, receiver)
    };
    let received: usize = std::thread::scope(|scope| {
        let threads = [("heintel", "ltpc8"), ("ltpc15", "ltpc26")].map(|(from, to)| {
            let (sender, receiver) = pair(from, to);
            let (arrived, arrivals) = mpsc::channel();
            // Ten blocks are in flight all the time.
            for _ in 0..10 {
                sender.send(&[0; 1472]).unwrap();
            }
            scope.spawn(move || {
                for () in arrivals {
                    // The receiver may have ended.
                    let _ = sender.send(&[0; 1472]);
                }
            });
            scope.spawn(move || {
                let start = Instant::now();
                let mut count = 0;
                while start.elapsed() < seconds && receiver.recv(&mut [0; 2000]).is_ok() {
                    count += 1;
                    arrived.send(()).unwrap();
                }
                count
            })
        });
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    // 1538 bytes on the medium each.
    let rate = received as f64 * 1538.0 * 8.0 / seconds.as_secs_f64();
    assert!((8e6..10.5e6).contains(&rate), "{rate}");
}

#[test]
fn hosts_have_their_congestion_control_parameters_and_mtu() {
    if !can_build() {
        return;
    }
    let text = ROUTED.replace("server: {}", "server: {sysctl: {net.ipv4.tcp_sack: 0}}");
    let lab = build(&text);
    let client = lab.host("client").unwrap().namespace();
    let server = lab.host("server").unwrap();
    for is_ipv6 in [false, true] {
        // Towards the server it differs from all others.
        for (other, expected) in [("server", "cubic"), ("third", "reno")] {
            let listener = listen(&lab, other, is_ipv6);
            let to = listener.local_addr().unwrap();
            let socket = client.run(|| TcpStream::connect(to).unwrap()).unwrap();
            let found = rustix::net::sockopt::tcp_congestion(&socket).unwrap();
            assert_eq!(found, expected, "{other}");
        }
    }
    let read = |path: &str| {
        let text = server
            .namespace()
            .run(|| std::fs::read_to_string(path).unwrap());
        text.unwrap().trim().to_owned()
    };
    assert_eq!(read("/proc/sys/net/ipv4/tcp_sack"), "0");
    assert_eq!(read("/proc/sys/net/ipv6/conf/eth0/mtu"), "1400");
}

#[test]
fn offloads_are_off_so_that_packets_are_as_long_as_the_mtu() {
    if !can_build() {
        return;
    }
    for (offloads, expected) in [("false", true), ("true", false)] {
        let text =
            format!("offloads: {offloads}\nhosts: {{a: {{}}, b: {{}}}}\nlinks: [{{ends: [a, b]}}]");
        let lab = build(&text);
        let listener = listen(&lab, "b", false);
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect(address).unwrap();
        let mut sender = lab.host("a").unwrap().namespace().run(connect).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || std::io::copy(&mut receiver, &mut std::io::sink()));
        std::io::Write::write_all(&mut sender, &vec![0; 1 << 20]).unwrap();
        drop(sender);
        assert_eq!(reader.join().unwrap().unwrap(), 1 << 20);
        // Packets that the device of `a` counted as sent.
        let packets = sent_packets(&lab);
        assert_eq!(packets >= (1 << 20) / 1448, expected, "{packets}");
    }
}

fn sent_packets(lab: &BuiltLab) -> u64 {
    let read = || std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let table = lab.host("a").unwrap().namespace().run(read).unwrap();
    let line = table
        .lines()
        .find(|line| line.trim().starts_with("eth0:"))
        .unwrap();
    line.split_whitespace().nth(10).unwrap().parse().unwrap()
}

#[test]
fn programs_see_their_own_processes_and_find_the_other_hosts() {
    if !can_build() {
        return;
    }
    let lab = built_in("link");
    let script = "readlink /proc/self/ns/net; echo $$ $(cut -d' ' -f1 /proc/self/stat); \
                  echo $PRESTAN_LAB_HOST $PRESTAN_LAB_SERVER_HOST; \
                  p=${PRESTAN_LAB_HOSTS##*server=}; readlink ${p%%,*}";
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    let child = lab.host("client").unwrap().spawn(command).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let name = |host: &str| {
        let stat = rustix::fs::fstat(lab.host(host).unwrap().namespace()).unwrap();
        format!("net:[{}]", stat.st_ino)
    };
    assert_eq!(lines[0], name("client"));
    let numbers: Vec<u32> = lines[1]
        .split(' ')
        .map(|line| line.parse().unwrap())
        .collect();
    // The second is that of `cut`, by /proc. In a container /proc may be that of the machine.
    if numbers[1] < 1000 {
        assert!(numbers[1] > numbers[0], "{numbers:?}");
    }
    assert_eq!(lines[2], "client server");
    assert_eq!(lines[3], name("server"));
}

#[test]
fn a_kernel_that_lacks_something_is_named_before_anything_is_built() {
    if !can_build() {
        return;
    }
    let text = "hosts: {a: {congestion: none_such}, b: {}}\nlinks: [{ends: [a, b]}]";
    let network = LabNetwork::parse("x", text).unwrap();
    let refused = BuiltLab::new(&network, &ForwarderSettings::default());
    let Err(LabError::Kernel { what, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(what, "congestion control `none_such`");
}

#[test]
fn one_hop_of_50_ms_measures_50_ms() {
    if !can_build() {
        return;
    }
    let lab = built_in("link");
    let listener = listen(&lab, "server", false);
    let address = listener.local_addr().unwrap();
    // On a busy machine; that in `quiet` is exact.
    let time = handshake(&lab, "client", address, 20);
    let nanos = time.as_nanos() as f64 / 1e6;
    assert!((100.0..101.0).contains(&nanos), "{nanos} ms");
    let measured = lab.measure(0, 0).unwrap();
    let delay = measured.least_delay.unwrap() / 1e6;
    assert!((50.0..50.3).contains(&delay), "{delay} ms");
    wait_until("the forwarder counts", || lab.link_counters(0, 0).is_some());
}

mod quiet {
    use super::*;

    #[test]
    #[ignore = "nightly: optimised, and alone on this machine"]
    fn one_hop_of_50_ms_measures_50_ms_within_a_tenth() {
        if !can_build() {
            return;
        }
        let lab = build(
            "hosts: {client: {}, server: {}}\nlinks: [{ends: [client, server], delay: 50ms}]",
        );
        let listener = listen(&lab, "server", false);
        let time = handshake(&lab, "client", listener.local_addr().unwrap(), 50);
        let each = time.as_nanos() as f64 / 2e6;
        assert!((50.0..=50.1).contains(&each), "{each} ms");
        for from in [0, 1] {
            let delay = lab.measure(0, from).unwrap().least_delay.unwrap() / 1e6;
            assert!((49.9..=50.1).contains(&delay), "{delay} ms");
        }
    }
}
