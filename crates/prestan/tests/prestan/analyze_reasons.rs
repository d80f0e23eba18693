//! `prestan analyze` on captures that show no reason: links that cannot be read, connections that
//! were never opened or carry no HTTP, pipelined requests, and what could not be judged.

use serde_json::Value;
use trace::file::LinkType;

use crate::analyze::{ACK, SYN, analyze_bytes, capture_of_links, printed, segment};
use crate::support::Outcome;
use crate::support::faulty::unwrapped;

/// Runs `analyze` on packets of this kind of link, one each millisecond.
fn analyze_packets(
    packets: &[Vec<u8>],
    link: impl Fn(usize) -> LinkType,
    options: &str,
) -> Outcome {
    let moments = (0..).step_by(1_000_000);
    let packets: Vec<(i64, Vec<u8>)> = moments.zip(packets.iter().cloned()).collect();
    let file = capture_of_links(&packets, link).finish().unwrap();
    analyze_bytes("made.pcapng", file, options)
}

/// The same of IP packets.
fn analyze_ip(packets: &[Vec<u8>], options: &str) -> Outcome {
    analyze_packets(packets, |_| LinkType::RAW, options)
}

/// The same with the moment of each packet, in nanoseconds.
fn analyze_timed(packets: &[(i64, Vec<u8>)], options: &str) -> Outcome {
    let file = capture_of_links(packets, |_| LinkType::RAW)
        .finish()
        .unwrap();
    analyze_bytes("made.pcapng", file, options)
}

#[test]
fn links_that_cannot_be_read_are_named() {
    let table = [
        (127, "Wi-Fi in monitor mode (link type 127"),
        (220, "USB (link type 220)"),
        (147, "link type 147"),
    ];
    let request = segment((40_000, 80), 1, 1, ACK, b"GET / HTTP/1.1\r\n\r\n");
    let packets = [request.clone(), request];
    for (link, says) in table {
        let outcome = analyze_packets(&packets, |_| LinkType(link), "");
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{outcome}");
        outcome.stderr_has(says);
    }
    // Packets that can be read beside them are analysed.
    let link = |index| match index {
        0 => LinkType(127),
        _ => LinkType::RAW,
    };
    let outcome = analyze_packets(&packets, link, "");
    let says = "their link type is not supported: Wi-Fi in monitor mode";
    assert!(words_of(&outcome).contains(says), "{outcome}");
}

/// Printed words, without line ends.
fn words_of(outcome: &Outcome) -> String {
    assert_eq!(outcome.code, 0, "{outcome}");
    unwrapped(&outcome.stdout)
}

#[test]
fn connections_that_were_never_opened_are_found() {
    const RST: u8 = 4;
    let mut packets = Vec::new();
    for port in [40_000, 40_001] {
        packets.push(segment((port, 81), 100, 0, SYN, b""));
        packets.push(segment((81, port), 0, 101, RST | ACK, b""));
    }
    for _ in 0..3 {
        packets.push(segment((40_002, 82), 100, 0, SYN, b""));
    }
    let outcome = analyze_ip(&packets, "");
    let text = words_of(&outcome);
    for says in [
        "The server refused 2 connections",
        "1 connection got no response to the SYN",
        "3 SYNs were sent",
    ] {
        assert!(text.contains(says), "no `{says}`: {outcome}");
    }
    // Neither is a connection that is opened and then reset.
    let opened = printed("reset", "");
    assert!(!opened.contains("refused") && !opened.contains("no response"));
}

/// A handshake at these ports, and then these payloads of client (true) and server.
fn conversation(ports: (u16, u16), payloads: &[(bool, &[u8])]) -> Vec<Vec<u8>> {
    let back = (ports.1, ports.0);
    let mut packets = vec![
        segment(ports, 100, 0, SYN, b""),
        segment(back, 500, 101, SYN | ACK, b""),
        segment(ports, 101, 501, ACK, b""),
    ];
    let (mut client, mut server) = (101, 501);
    for (is_client, payload) in payloads {
        let length = payload.len() as u32;
        if *is_client {
            packets.push(segment(ports, client, server, ACK, payload));
            client += length;
        } else {
            packets.push(segment(back, server, client, ACK, payload));
            server += length;
        }
    }
    packets
}

#[test]
fn what_is_no_http_has_no_requests() {
    let payloads: [(bool, &[u8]); 3] = [
        (false, b"SSH-2.0-OpenSSH_9.2\r\n"),
        (true, b"SSH-2.0-OpenSSH_9.9\r\n"),
        (false, b"key"),
    ];
    let ssh = conversation((40_000, 22), &payloads);
    let outcome = analyze_ip(&ssh, "--json r.json");
    let text = words_of(&outcome);
    assert!(text.contains("0 requests)"), "{outcome}");
    assert!(text.contains("not HTTP"), "{outcome}");
    let json: Value = serde_json::from_str(&outcome.read("r.json")).unwrap();
    assert_eq!(json["connections"][0]["protocol"], "other");
    assert!(!printed("persistent", "").contains("not HTTP"));
}

#[test]
fn pipelined_requests_are_marked() {
    let request: (bool, &[u8]) = (true, b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12";
    let begin: (bool, &[u8]) = (false, head);
    let end: (bool, &[u8]) = (false, b"34");
    // The second request is sent before the end of the first response; then one after the other.
    let pipelined = [request, begin, request, end, begin, end];
    let packets = conversation(
        (40_000, 80),
        &[&pipelined[..], &[request, begin, end]].concat(),
    );
    let outcome = analyze_ip(&packets, "--json r.json --csv r.csv");
    let marks = words_of(&outcome).matches("(pipelined)").count();
    assert_eq!(marks, 1, "{outcome}");
    let json: Value = serde_json::from_str(&outcome.read("r.json")).unwrap();
    let requests = json["connections"][0]["requests"].as_array().unwrap();
    let marked: Vec<&Value> = requests.iter().map(|of| &of["pipelined"]).collect();
    assert_eq!(marked, [false, true, false], "{outcome}");
    let sheet = outcome.read("r.csv");
    let cells: Vec<&str> = sheet
        .lines()
        .filter_map(|line| line.rsplit(',').next())
        .collect();
    assert_eq!(cells, ["pipelined", "false", "true", "false"]);
}

#[test]
fn time_before_a_connection_that_carried_nothing_is_no_part_of_transfers() {
    let syn = || segment((40_001, 80), 1, 0, SYN, b"");
    let mut packets = vec![syn()];
    let payloads: [(bool, &[u8]); 2] = [
        (true, b"GET / HTTP/1.1\r\n\r\n"),
        (false, b"HTTP/1.1 204 No Content\r\n\r\n"),
    ];
    packets.extend(conversation((40_000, 80), &payloads));
    // A packet each millisecond: the timer took longer than the transfer.
    packets.extend([syn(), segment((80, 40_001), 1, 2, SYN | ACK, b"")]);
    let text = words_of(&analyze_ip(&packets, ""));
    let says = "until it sent its SYN again: 6.00 ms";
    assert!(text.contains(says), "{text}");
    let (_, rest) = text.split_once("Without a cause: ").expect(&text);
    assert!(rest.contains(" of 4.00 ms"), "{text}");
    assert!(!rest.starts_with('0'), "{text}");
}

#[test]
fn what_could_not_be_judged_is_said() {
    // Only the client's half, without the handshake.
    let half = segment((40_000, 80), 1, 1, ACK, b"GET / HTTP/1.1\r\n\r\n");
    let text = words_of(&analyze_ip(std::slice::from_ref(&half), ""));
    for says in [
        "Not judged: - connection 1: only what the client sent was captured",
        "Findings: None that the capture shows.",
    ] {
        assert!(text.contains(says), "{text}");
    }
    assert!(!text.contains("Without a cause"), "{text}");
    // Both halves, without the handshake.
    let response = segment((80, 40_000), 1, 19, ACK, b"HTTP/1.1 200 OK\r\n\r\n");
    let text = words_of(&analyze_ip(&[half, response], ""));
    let says = "connection 1: the handshake was not captured";
    assert!(text.contains(says), "{text}");
    // No TCP.
    let mut datagram = segment((1, 2), 1, 1, ACK, b"");
    datagram[9] = 17;
    let text = words_of(&analyze_ip(&[datagram], ""));
    let says = "Not judged: - the whole capture: none of its 1 packet";
    assert!(text.contains(says), "{text}");
    let whole = printed("persistent", "");
    assert!(!whole.contains("Not judged"), "{whole}");
}

/// A handshake and three requests, a packet each millisecond.
fn three_requests() -> Vec<(i64, Vec<u8>)> {
    let request: (bool, &[u8]) = (true, b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    let response: (bool, &[u8]) = (false, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let packets = conversation((40_000, 80), &[request, response].repeat(3));
    (0..).step_by(1_000_000).zip(packets).collect()
}

fn assert_is_nowhere_negative(of: &Value) {
    match of {
        Value::Number(number) => assert!(number.as_f64().unwrap() >= 0.0, "{number}"),
        Value::Array(all) => all.iter().for_each(assert_is_nowhere_negative),
        Value::Object(all) => all.values().for_each(assert_is_nowhere_negative),
        _ => {}
    }
}

#[test]
fn time_stamps_that_go_back_give_no_negative_figure() {
    let mut packets = three_requests();
    // The second response is stamped before its request; in the third exchange the clock is set
    // back by an hour.
    packets[6].0 -= 1_050_000;
    packets[8].0 -= 3_600_000_000_000;
    let outcome = analyze_timed(&packets, "--json r.json --csv r.csv");
    let text = words_of(&outcome);
    let says = "Warnings: - 2 packets where time stamps go back (packet 7: 50.0 µs before packet 6; packet 9: 3600 s \
                before packet 8)";
    assert!(text.contains(says), "{outcome}");
    assert!(text.contains("3 requests)"), "{outcome}");
    let is_negative = |word: &str| word.len() > 1 && word.starts_with('-');
    assert!(!text.split(' ').any(is_negative), "{outcome}");
    let json: Value = serde_json::from_str(&outcome.read("r.json")).unwrap();
    assert_is_nowhere_negative(&json);
    let requests = json["connections"][0]["requests"].as_array().unwrap();
    let times = |of: &Value| [of["response_us"].as_f64(), of["total_us"].as_f64()];
    let times: Vec<_> = requests.iter().map(times).collect();
    assert_eq!(times, [[Some(1000.0); 2], [None; 2], [None; 2]]);
    let sheet = outcome.read("r.csv");
    assert!(!sheet.split(',').any(is_negative), "{sheet}");
}

#[test]
fn packets_that_stand_in_another_order_are_not_missing() {
    let sorted = three_requests();
    let expected = words_of(&analyze_timed(&sorted, ""));
    let mut packets = sorted.clone();
    // As two threads write them.
    for pair in packets[1..].chunks_exact_mut(2) {
        pair.swap(0, 1);
    }
    let text = words_of(&analyze_timed(&packets, ""));
    let says = "Warnings: - 4 packets behind later ones in the file: put into their order, by time stamps and \
                acknowledgments ";
    assert!(text.contains(says), "{text}");
    // Packets have their numbers in the file.
    let text = text.replace(says, "");
    let text = text.replace("packets: 1 to 8", "packets: 1 to 9");
    assert_eq!(text, expected);
    assert!(!expected.contains("Warning"), "{expected}");
}

#[test]
fn tunnels_are_read_or_named() {
    let frame = |kind: [u8; 2], inside: &[u8]| [&[0; 12][..], &kind, inside].concat();
    let session = |protocol: [u8; 2], inside: &[u8]| {
        let header = [0x11, 0, 0, 7, 0, 0, protocol[0], protocol[1]];
        frame([0x88, 0x64], &[&header, inside].concat())
    };
    let link = |_| LinkType::ETHERNET;
    let echo = session([0xc0, 0x21], &[9, 1, 0, 8, 0, 0, 0, 0]);
    let wire = frame([0x88, 0x47], &[0, 1, 1, 64, 0, 0, 0, 0]);
    let encrypted = frame([0x88, 0xe5], &[0; 46]);
    let neighbours = frame([0x88, 0xcc], &[0; 46]);
    let outcome = analyze_packets(&[echo.clone(), wire, encrypted, neighbours], link, "");
    assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{outcome}");
    let says =
        "none of its 4 packets can be read (not IP; PPPoE without IP; MPLS without IP; MACsec)";
    assert!(unwrapped(&outcome.stderr).contains(says), "{outcome}");
    let read = three_requests();
    let read = read.iter().map(|(_, ip)| session([0, 0x21], ip));
    let packets: Vec<Vec<u8>> = read.chain([echo]).collect();
    let text = words_of(&analyze_packets(&packets, link, ""));
    for says in ["3 requests)", "Packets left out: 1 PPPoE without IP"] {
        assert!(text.contains(says), "{text}");
    }
}
