//! Effects of a link on real traffic.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use lab::{
    Bandwidth, Delay, ForwarderSettings, Impairment, LinkModel, LinkQueue, Namespace, Transit,
    TwoHosts,
};

use socket2::{Domain, Protocol, Socket, Type};

use super::support::{DEADLINE, DatagramPath, can_build, delay, forth, wait_until};

#[test]
fn nothing_passes_an_unused_link() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
    let path = DatagramPath::new(&hosts);
    path.send(1, 100);
    path.receive(1);
    wait_until("the datagram is counted", || {
        hosts.forwarder.counters().forth.delivered > 0
    });
    let counters = hosts.forwarder.counters();
    assert_eq!((counters.forth.frames, counters.back.frames), (1, 0));
    // Headers of Ethernet, IPv4 and UDP.
    assert_eq!(counters.forth.bytes, 100 + 14 + 20 + 8);
    assert_eq!(hosts.dropped_at_devices().unwrap(), 0);
}

/// A socket of the client for ICMP echo: the server's kernel replies, without a program.
fn pinger(hosts: &TwoHosts) -> Socket {
    let groups = [("net.ipv4.ping_group_range", "0 0")];
    hosts.client.sysctl(&groups).unwrap();
    let open = || Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4)).unwrap();
    let socket = hosts.client.run(open).unwrap();
    let address = SocketAddr::from((TwoHosts::SERVER.ipv4, 0));
    socket.connect(&address.into()).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// Sends an echo request, and waits for the reply. Returns the time between.
fn ping(socket: &Socket, number: u16) -> Duration {
    let [high, low] = number.to_be_bytes();
    let start = Instant::now();
    // An echo request; the kernel fills in checksum and identifier (icmp(7)).
    socket.send(&[8, 0, 0, 0, 0, 0, high, low]).unwrap();
    let mut reply = [0; 8];
    let mut socket = socket;
    assert_eq!(socket.read(&mut reply).unwrap(), 8);
    let time = start.elapsed();
    assert_eq!([reply[0], reply[6], reply[7]], [0, high, low]);
    time
}

/// The shortest round-trip times of a link with a delay and of one without.
#[derive(Debug)]
struct ShortestTimes {
    delayed: Duration,
    undelayed: Duration,
}

impl ShortestTimes {
    /// True if the first link has this delay in both directions: never less, and not much more than
    /// this machine adds without a delay.
    fn show(&self, delay: Duration) -> bool {
        self.delayed >= 2 * delay
            && self.delayed < 2 * delay + self.undelayed + Duration::from_micros(100)
    }
}

#[test]
fn a_round_trip_takes_the_delay_of_both_directions() {
    if !can_build() {
        return;
    }
    const DELAY: Duration = Duration::from_millis(5);
    let with_delay = |base| ForwarderSettings {
        forth: delay(base),
        back: delay(base),
        ..ForwarderSettings::default()
    };
    let delayed = TwoHosts::new(&with_delay(DELAY)).unwrap();
    let undelayed = TwoHosts::new(&with_delay(Duration::ZERO)).unwrap();
    let [delayed_socket, undelayed_socket] = [&delayed, &undelayed].map(pinger);
    let mut shortest = ShortestTimes {
        delayed: Duration::MAX,
        undelayed: Duration::MAX,
    };
    // Other programs lengthen some times of both links, and the shortest of many less often.
    for number in 0..1_000 {
        shortest.undelayed = shortest.undelayed.min(ping(&undelayed_socket, number));
        shortest.delayed = shortest.delayed.min(ping(&delayed_socket, number));
        if shortest.show(DELAY) {
            break;
        }
    }
    assert!(shortest.show(DELAY), "{shortest:?}");
    let millisecond = Duration::from_millis(1);
    for other in [DELAY - millisecond, DELAY + millisecond] {
        assert!(!shortest.show(other), "{shortest:?}");
    }
    let counters = delayed.forwarder.stop().unwrap();
    assert!(counters.lateness.count() >= 2);
    assert_eq!(counters.forth.delayed, counters.forth.frames);
    assert_eq!(undelayed.forwarder.stop().unwrap().forth.delayed, 0);
}

/// Numbers of the frames that a link loses, of this many.
fn lost(impairment: &Impairment, seed: u64, count: u32) -> Vec<u32> {
    let mut link = LinkModel::new(impairment, seed).unwrap();
    let is_lost = |_: &u32| matches!(link.offer(0, &[0; 60]), Transit::Dropped);
    (0..count).filter(is_lost).collect()
}

#[test]
fn a_link_loses_the_frames_that_its_seed_says() {
    if !can_build() {
        return;
    }
    const COUNT: u32 = 1_000;
    let impairment = Impairment {
        loss: 0.1,
        ..Impairment::default()
    };
    let settings = ForwarderSettings {
        seed: 7,
        ..forth(impairment.clone())
    };
    let hosts = TwoHosts::new(&settings).unwrap();
    let path = DatagramPath::new(&hosts);
    path.send(COUNT, 18);
    let expected = lost(&impairment, 7, COUNT);
    let received = path.receive(COUNT as usize - expected.len());
    let missing: Vec<u32> = (0..COUNT)
        .filter(|number| received.iter().all(|(other, _)| other != number))
        .collect();
    assert_eq!(missing, expected);
    assert_ne!(missing, lost(&impairment, 8, COUNT));
    let counters = hosts.forwarder.stop().unwrap().forth;
    assert_eq!(counters.lost, expected.len() as u64);
    assert_eq!(counters.delivered, received.len() as u64);
}

#[test]
fn frames_with_a_shorter_delay_overtake_others() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&forth(Impairment {
        delay: Delay {
            base: Duration::from_millis(100),
            jitter: Duration::from_millis(100),
            may_reorder: true,
        },
        ..Impairment::default()
    }))
    .unwrap();
    let path = DatagramPath::new(&hosts);
    path.send(100, 100);
    let received = path.receive(100).into_iter().map(|(number, _)| number);
    let received: Vec<u32> = received.collect();
    assert!(!received.is_sorted(), "{received:?}");
    let all = received.iter().copied().collect::<BTreeSet<u32>>();
    assert_eq!(all, (0..100).collect());
    assert!(hosts.forwarder.stop().unwrap().forth.reordered > 0);
}

/// The time between two of 1,000 datagrams: of each of the first half and the one 500 later, the
/// median. Those that a busy machine delivers late are few, and the others are on time again.
fn gap_at_rate(bits_per_second: u64) -> Duration {
    let hosts = TwoHosts::new(&forth(Impairment {
        bandwidth: Some(Bandwidth {
            bits_per_second,
            overhead: 24,
            queue: LinkQueue::Frames(1_000),
        }),
        ..Impairment::default()
    }))
    .unwrap();
    let path = DatagramPath::new(&hosts);
    let received = thread::scope(|scope| {
        let receiver = scope.spawn(|| path.receive(1_000));
        path.send(1_000, 1_358);
        receiver.join().unwrap()
    });
    let (first, second) = received.split_at(500);
    let mut times: Vec<Duration> = first
        .iter()
        .zip(second)
        .map(|((_, earlier), (_, later))| *later - *earlier)
        .collect();
    times.sort();
    times[250] / 500
}

#[test]
fn a_limited_rate_is_kept_within_two_percent() {
    if !can_build() {
        return;
    }
    for rate in [20_000_000, 50_000_000] {
        let gap = gap_at_rate(rate).as_secs_f64();
        // 1424 bytes each, with the headers of UDP, IPv4 and Ethernet and the overhead.
        let is_of = |rate: u64| (gap * rate as f64 / (1424.0 * 8.0) - 1.0).abs() <= 0.02;
        assert!(is_of(rate), "{rate} bit/s: {gap} s between datagrams");
        assert!(!is_of(rate * 105 / 100));
    }
}

#[test]
fn a_full_queue_drops_what_arrives() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&forth(Impairment {
        bandwidth: Some(Bandwidth {
            bits_per_second: 100_000,
            overhead: 0,
            queue: LinkQueue::Frames(5),
        }),
        ..Impairment::default()
    }))
    .unwrap();
    let path = DatagramPath::new(&hosts);
    // One takes 80 ms, in which all others arrive.
    path.send(50, 958);
    let received: Vec<u32> = path
        .receive(6)
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert_eq!(received, [0, 1, 2, 3, 4, 5]);
    let counters = hosts.forwarder.stop().unwrap().forth;
    assert_eq!(counters.dropped_by_queue, 44);
    assert_eq!(counters.peak_queue_frames, 5);
    assert_eq!(counters.peak_queue_bytes, 5_000);
    assert_eq!(path.rest(), [0_u32; 0]);
}

#[test]
fn copies_arrive_twice() {
    if !can_build() {
        return;
    }
    let twice = Impairment {
        duplication: 1.0,
        ..Impairment::default()
    };
    let hosts = TwoHosts::new(&forth(twice)).unwrap();
    let path = DatagramPath::new(&hosts);
    path.send(3, 50);
    let received: Vec<u32> = path
        .receive(6)
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    assert_eq!(received, [0, 0, 1, 1, 2, 2]);
}

#[test]
fn ipv6_passes_as_well() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
    let receiver = hosts
        .server
        .run(|| UdpSocket::bind((TwoHosts::SERVER.ipv6, 0)).unwrap());
    let receiver = receiver.unwrap();
    receiver.set_read_timeout(Some(DEADLINE)).unwrap();
    let sender = hosts
        .client
        .run(|| UdpSocket::bind((TwoHosts::CLIENT.ipv6, 0)).unwrap());
    sender
        .unwrap()
        .send_to(b"six", receiver.local_addr().unwrap())
        .unwrap();
    let mut datagram = [0; 10];
    let (length, from) = receiver.recv_from(&mut datagram).unwrap();
    assert_eq!(&datagram[..length], b"six");
    assert_eq!(from.ip(), TwoHosts::CLIENT.ipv6);
}

#[test]
fn congestion_control_is_that_of_the_laboratory() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
    let bind = || TcpListener::bind((TwoHosts::SERVER.ipv4, 0)).unwrap();
    let listener = hosts.server.run(bind).unwrap();
    let address: SocketAddr = listener.local_addr().unwrap();
    let names = || {
        let connect = || TcpStream::connect(address).unwrap();
        let client = hosts.client.run(connect).unwrap();
        let (server, _) = listener.accept().unwrap();
        [client, server].map(|stream| {
            let name = socket2::SockRef::from(&stream).tcp_congestion().unwrap();
            String::from_utf8_lossy(&name)
                .trim_end_matches('\0')
                .to_owned()
        })
    };
    assert_eq!(names(), ["cubic", "cubic"]);
    hosts.set_congestion_control("reno").unwrap();
    assert_eq!(names(), ["reno", "reno"]);
    assert!(hosts.set_congestion_control("none-such").is_err());
}

#[test]
fn two_namespaces_are_joined_by_virtual_ethernet() {
    if !can_build() {
        return;
    }
    let [left, right] = ["left", "right"].map(|label| Namespace::new(label).unwrap());
    left.join("a", &right, "b").unwrap();
    left.ip(&["addr add 198.18.1.1/24 dev a", "link set dev a up"])
        .unwrap();
    right
        .ip(&["addr add 198.18.1.2/24 dev b", "link set dev b up"])
        .unwrap();
    let bind = |last| move || UdpSocket::bind((Ipv4Addr::new(198, 18, 1, last), 0)).unwrap();
    let receiver = right.run(bind(2)).unwrap();
    receiver.set_read_timeout(Some(DEADLINE)).unwrap();
    let sender = left.run(bind(1)).unwrap();
    sender
        .send_to(b"hello", receiver.local_addr().unwrap())
        .unwrap();
    assert_eq!(receiver.recv(&mut [0; 10]).unwrap(), 5);
}

#[test]
fn a_forwarder_ends_when_its_device_disappears() {
    if !can_build() {
        return;
    }
    let hosts = TwoHosts::new(&ForwarderSettings::default()).unwrap();
    assert!(!hosts.forwarder.has_ended());
    hosts.client.ip(&["link del dev eth0"]).unwrap();
    wait_until("the forwarder ends", || hosts.forwarder.has_ended());
    assert!(hosts.forwarder.stop().is_err());
}
