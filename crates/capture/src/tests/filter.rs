use std::net::IpAddr;

use etherparse::PacketBuilder;
use libc::{
    BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IMM, BPF_IND, BPF_JA, BPF_JEQ, BPF_JGE,
    BPF_JMP, BPF_K, BPF_LD, BPF_LDX, BPF_LSH, BPF_MEM, BPF_MSH, BPF_RET, BPF_RSH, BPF_ST, BPF_W,
    BPF_X,
};

use crate::filter::FilterStep;
use crate::filter::selection::{INTERFACE, NET, PACKET_TYPE, PROTOCOL, PacketSelection, program};

const LOOPBACK: u32 = 1;
const OUTGOING: u32 = 4;

/// Input of a filter.
struct FilteredPacket<'a> {
    protocol: u32,
    interface: u32,
    kind: u32,
    network: &'a [u8],
}

/// Runs a program like the kernel (`Documentation/networking/filter.rst`). Returns the bytes to
/// keep.
fn run(program: &[FilterStep], packet: &FilteredPacket<'_>) -> u32 {
    let (mut a, mut x, mut memory, mut next) = (0_u32, 0_u32, [0_u32; 16], 0);
    let load = |size: u32, index: u32| match index {
        PROTOCOL => Some(packet.protocol),
        INTERFACE => Some(packet.interface),
        PACKET_TYPE => Some(packet.kind),
        index => {
            let index = index.checked_sub(NET)? as usize;
            let count = [(BPF_W, 4), (BPF_H, 2), (BPF_B, 1)];
            let count = count.iter().find(|(code, _)| *code == size)?.1;
            let bytes = packet.network.get(index..index + count)?;
            Some(
                bytes
                    .iter()
                    .fold(0, |value, byte| (value << 8) | u32::from(*byte)),
            )
        }
    };
    loop {
        let FilterStep { code, jt, jf, k } = program[next];
        next += 1;
        let code = u32::from(code);
        let size = code & 0x18;
        let operand = if code & BPF_X == 0 { k } else { x };
        match code & 7 {
            BPF_LD if code & 0xe0 == BPF_MEM => a = memory[k as usize],
            BPF_LD => {
                let offset = match code & 0xe0 {
                    BPF_ABS => k,
                    BPF_IND => k.wrapping_add(x),
                    mode => panic!("{mode}"),
                };
                match load(size, offset) {
                    Some(value) => a = value,
                    None => return 0,
                }
            }
            BPF_LDX if code & 0xe0 == BPF_MSH => x = 4 * (load(BPF_B, k).unwrap() & 15),
            BPF_LDX if code & 0xe0 == BPF_IMM => x = k,
            BPF_LDX => x = memory[k as usize],
            BPF_ST => memory[k as usize] = a,
            BPF_ALU => match code & 0xf0 {
                BPF_AND => a &= operand,
                BPF_RSH => a >>= operand,
                BPF_LSH => a <<= operand,
                BPF_ADD => a = a.wrapping_add(operand),
                operation => panic!("{operation}"),
            },
            BPF_JMP if code & 0xf0 == BPF_JA => next += k as usize,
            BPF_JMP => {
                let holds = match code & 0xf0 {
                    BPF_JEQ => a == operand,
                    BPF_JGE => a >= operand,
                    comparison => panic!("{comparison}"),
                };
                next += usize::from(if holds { jt } else { jf });
            }
            BPF_RET => return k,
            class => panic!("{class}"),
        }
        assert_eq!(BPF_K, 0);
    }
}

fn tcp(is_ipv6: bool, from: u16, to: u16) -> Vec<u8> {
    let tcp = if is_ipv6 {
        PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(from, to, 1, 2)
    } else {
        // With options of IP, so that the length of its header counts.
        let options = etherparse::Ipv4Options::try_from(&[1_u8, 1, 1, 1][..]).unwrap();
        PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
            etherparse::Ipv4Header {
                source: [10, 0, 0, 1],
                destination: [10, 0, 0, 2],
                time_to_live: 64,
                options,
                ..Default::default()
            },
            Default::default(),
        ))
        .tcp(from, to, 1, 2)
    };
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, b"x").unwrap();
    bytes
}

fn selection(hosts: &[&str], ports: &[u16]) -> PacketSelection {
    PacketSelection {
        hosts: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        ports: ports.to_vec(),
    }
}

#[test]
fn hosts_and_ports_are_selected() {
    let first6 = IpAddr::from([1; 16]).to_string();
    let second6 = IpAddr::from([2; 16]).to_string();
    let other6 = "101:101:101:101:101:101:101:102";
    // A selection, and whether it includes packets between the first and the second host and from
    // port 4000 to 80.
    let table = [
        (selection(&[], &[]), true, true),
        (selection(&[], &[80]), true, true),
        (selection(&[], &[4000]), true, true),
        (selection(&[], &[81, 80]), true, true),
        (selection(&[], &[81]), false, false),
        (selection(&["10.0.0.1"], &[]), true, false),
        (selection(&["10.0.0.9", "10.0.0.2"], &[80]), true, false),
        (selection(&["10.0.0.1"], &[81]), false, false),
        (selection(&["10.0.0.3"], &[]), false, false),
        (selection(&[&first6], &[80]), false, true),
        (selection(&[other6, &second6], &[]), false, true),
        (selection(&["10.0.0.1", &first6], &[]), true, true),
        (selection(&[other6], &[]), false, false),
    ];
    for (selection, ipv4, ipv6) in table {
        let program = program(&selection, 96, None).unwrap();
        for (is_ipv6, expected) in [(false, ipv4), (true, ipv6)] {
            // In both directions, also behind a VLAN tag that is still in the packet.
            for (protocol, is_tagged) in [
                (0x0800, false),
                (0x86dd, false),
                (0x8100, true),
                (0x88a8, true),
            ] {
                if !is_tagged && is_ipv6 != (protocol == 0x86dd) {
                    continue;
                }
                for (from, to) in [(4000, 80), (80, 4000)] {
                    let packet = FilteredPacket {
                        protocol,
                        interface: LOOPBACK,
                        kind: OUTGOING,
                        network: &tcp(is_ipv6, from, to),
                    };
                    let kept = run(&program, &packet);
                    assert_eq!(
                        kept,
                        if expected { 96 } else { 0 },
                        "{selection:?} {protocol:x}"
                    );
                }
            }
        }
    }
}

/// An IPv6 packet with extension headers of these types and lengths in units of 8 bytes.
fn extended(extensions: &[(u8, u8)]) -> Vec<u8> {
    let mut packet = tcp(true, 4000, 80);
    for (kind, length) in extensions.iter().rev() {
        let mut header = vec![0; 8 * usize::from(*length)];
        (header[0], header[1]) = (packet[6], length - 1);
        packet.splice(40..40, header);
        packet[6] = *kind;
    }
    packet
}

#[test]
fn ports_are_found_behind_extension_headers() {
    let table: [(&[(u8, u8)], bool); 7] = [
        (&[], true),
        (&[(0, 1)], true),
        (&[(0, 1), (60, 3), (43, 2)], true),
        (&[(0, 1), (60, 1), (43, 1), (60, 32)], true),
        (&[(0, 1), (60, 1), (43, 1), (60, 1), (60, 1)], false),
        // An authentication header, which is not followed.
        (&[(51, 1)], false),
        // Whatever comes behind the header of a fragment.
        (&[(0, 1), (44, 1)], true),
    ];
    for (extensions, expected) in table {
        for (port, is_port) in [(80, true), (81, false)] {
            let program = program(&selection(&[], &[port]), 96, None).unwrap();
            let packet = FilteredPacket {
                protocol: 0x86dd,
                interface: LOOPBACK,
                kind: OUTGOING,
                network: &extended(extensions),
            };
            let is_fragment = extensions.iter().any(|(kind, _)| *kind == 44);
            let kept = run(&program, &packet) > 0;
            assert_eq!(kept, expected && (is_port || is_fragment), "{extensions:?}");
        }
    }
}

#[test]
fn other_packets_are_kept_unless_something_is_selected() {
    let mut fragment = tcp(false, 4000, 80);
    fragment[7] = 1;
    let mut icmp = tcp(false, 4000, 80);
    icmp[9] = 1;
    let mut fragment6 = tcp(true, 4000, 80);
    fragment6[6] = 44;
    let arp = vec![0, 1, 8, 0];
    // Without a selection, by host, by port.
    let table = [
        (0x0800, &fragment, [true, true, true]),
        (0x86dd, &fragment6, [true, false, true]),
        (0x0800, &icmp, [true, true, false]),
        (0x0806, &arp, [true, false, false]),
        (0x8100, &arp, [true, false, false]),
    ];
    let selections = [
        selection(&[], &[]),
        selection(&["10.0.0.1"], &[]),
        selection(&[], &[80]),
    ];
    for (protocol, network, expected) in table {
        for (selection, expected) in selections.iter().zip(expected) {
            let program = program(selection, 96, Some(LOOPBACK)).unwrap();
            let packet = FilteredPacket {
                protocol,
                interface: LOOPBACK,
                kind: 0,
                network,
            };
            assert_eq!(
                run(&program, &packet) > 0,
                expected,
                "{protocol:x} {selection:?}"
            );
        }
    }
}

#[test]
fn each_packet_of_loopback_is_kept_once_and_of_requests_the_outgoing_copy() {
    // Selected ports, source, destination, whether it is a request.
    let table: [(&[u16], u16, u16, bool); 8] = [
        (&[8080], 40_000, 8080, true),
        (&[8080], 8080, 40_000, false),
        (&[50_000], 40_000, 50_000, true),
        (&[50_000], 50_000, 40_000, false),
        (&[80, 8080], 8080, 80, true),
        (&[], 40_000, 80, true),
        (&[], 80, 40_000, false),
        (&[], 7, 7, false),
    ];
    for (ports, from, to, is_request) in table {
        for is_ipv6 in [false, true] {
            let program = program(&selection(&[], ports), 96, Some(LOOPBACK)).unwrap();
            let network = tcp(is_ipv6, from, to);
            let keeps = |interface, kind| {
                let protocol = if is_ipv6 { 0x86dd } else { 0x0800 };
                let packet = FilteredPacket {
                    protocol,
                    interface,
                    kind,
                    network: &network,
                };
                run(&program, &packet) > 0
            };
            let copies = (keeps(LOOPBACK, OUTGOING), keeps(LOOPBACK, 0));
            assert_eq!(copies, (is_request, !is_request), "{ports:?} {from} {to}");
            // Elsewhere there is one copy.
            assert!(keeps(2, OUTGOING) && keeps(2, 0));
        }
    }
}

#[test]
fn a_program_that_is_too_long_is_refused() {
    let hosts: Vec<String> = (0..300).map(|last| format!("fd00::{last}")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    assert!(program(&selection(&hosts[..100], &[80]), 96, None).is_some());
    assert!(program(&selection(&hosts, &[80]), 96, None).is_none());
}

#[test]
fn a_mapped_address_selects_packets_of_ipv4() {
    let plain = program(&selection(&["127.0.0.1"], &[80]), 96, None);
    let mapped = program(&selection(&["::ffff:127.0.0.1"], &[80]), 96, None);
    assert_eq!(mapped, plain);
}
