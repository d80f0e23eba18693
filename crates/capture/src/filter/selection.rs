//! The filter of a recording: hosts, ports, and each packet of loopback once.
//!
//! Everything is addressed from the network header on (`SKF_NET_OFF`), so that the same program
//! serves Ethernet with and without a VLAN tag, cooked and raw interfaces.
//!
//! ```text
//! protocol --> ipv4 --> ports --> request  --> accept, or reject one of two copies
//!          `-> ipv6 --^      `--> response --^
//! ```

use std::net::IpAddr;

use libc::{
    BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IMM, BPF_IND, BPF_JA, BPF_JEQ, BPF_JGE,
    BPF_JMP, BPF_K, BPF_LD, BPF_LDX, BPF_LSH, BPF_MEM, BPF_MSH, BPF_RET, BPF_RSH, BPF_ST, BPF_W,
    BPF_X,
};

use super::{FilterStep, OUTGOING, TCP, UDP, step};

/// The most instructions of a program (`BPF_MAXINSNS`).
const MOST_STEPS: usize = 4096;

/// Next header of an IPv6 packet that is a fragment.
const FRAGMENT: u32 = 44;
/// Extension headers that begin with the next header and a length in units of 8 bytes, of which the
/// first is not counted (RFC 8200, section 4): hop-by-hop options, routing, destination options.
const EXTENSIONS: [u32; 3] = [0, 43, 60];
/// Most extension headers that are followed: a filter has no loops. RFC 8200, section 4.1 has this
/// many before TCP.
const MOST_EXTENSIONS: usize = 4;
/// Length of an IPv6 header in bytes.
const IPV6_HEADER: u32 = 40;

pub(crate) const NET: u32 = libc::SKF_NET_OFF.cast_unsigned();
pub(crate) const PROTOCOL: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL).cast_unsigned();
pub(crate) const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();
pub(crate) const INTERFACE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_IFINDEX).cast_unsigned();

/// Indices of the program's memory.
const SOURCE_PORT: u32 = 0;
const DESTINATION_PORT: u32 = 1;
const NEXT_HEADER: u32 = 2;
const OFFSET: u32 = 3;

/// Selection of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacketSelection {
    /// Keeps IP packets from or to one of these hosts; empty: all.
    pub hosts: Vec<IpAddr>,
    /// Keeps TCP and UDP packets from or to one of these ports, and fragments of IP, most of which
    /// have no ports; empty: all. On loopback they are assumed to be the ports of servers.
    pub ports: Vec<u16>,
}

/// A position in the program that instructions jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Label {
    Version,
    Ipv4,
    Host4,
    Ports4,
    Ipv6,
    /// After the comparison with a host.
    NextHost(usize),
    Host6,
    /// After this number of extension headers.
    Extension(usize),
    Ports6,
    Ports,
    FromServer,
    Nearer,
    NoIp,
    NoPorts,
    Request,
    Response,
    Accept,
    Reject,
}

/// The program that keeps `snap_length` bytes of the selected packets. Of packets on the interface
/// `once_on`, which is loopback, it keeps one of two copies (see `recording`). `None` if it is too
/// long.
pub(crate) fn program(
    selection: &PacketSelection,
    snap_length: u32,
    once_on: Option<u32>,
) -> Option<Vec<FilterStep>> {
    let mut program = Assembler::default();
    let PacketSelection { hosts, ports } = selection;
    // Packets to ::ffff:192.0.2.1 are those of IPv4 (RFC 4038, section 4.2).
    let hosts: Vec<IpAddr> = hosts.iter().map(IpAddr::to_canonical).collect();
    program.load(BPF_W | BPF_ABS, PROTOCOL);
    program.goto_if(0x0800, Label::Ipv4);
    program.goto_if(0x86dd, Label::Ipv6);
    // The tag is still in the packet: check the version of IP.
    program.goto_if(0x8100, Label::Version);
    program.goto_if(0x88a8, Label::Version);
    program.goto(Label::NoIp);
    program.mark(Label::Version);
    program.load(BPF_B | BPF_ABS, NET);
    program.push(BPF_ALU | BPF_RSH | BPF_K, 4);
    program.goto_if(4, Label::Ipv4);
    program.goto_if(6, Label::Ipv6);
    program.mark(Label::NoIp);
    let is_selective = !hosts.is_empty() || !ports.is_empty();
    program.goto(if is_selective {
        Label::Reject
    } else {
        Label::Response
    });
    ipv4(&mut program, &hosts);
    ipv6(&mut program, &hosts);
    program.mark(Label::NoPorts);
    program.goto(if ports.is_empty() {
        Label::Response
    } else {
        Label::Reject
    });
    compare_ports(&mut program, ports);
    choose_copy(&mut program, once_on);
    program.mark(Label::Accept);
    program.push(BPF_RET | BPF_K, snap_length);
    program.mark(Label::Reject);
    program.push(BPF_RET | BPF_K, 0);
    let steps = program.finish();
    (steps.len() <= MOST_STEPS).then_some(steps)
}

fn ipv4(program: &mut Assembler, hosts: &[IpAddr]) {
    program.mark(Label::Ipv4);
    for offset in [12, 16] {
        program.load(BPF_W | BPF_ABS, NET.wrapping_add(offset));
        for host in hosts {
            if let IpAddr::V4(host) = host {
                program.goto_if(u32::from(*host), Label::Host4);
            }
        }
    }
    if !hosts.is_empty() {
        program.goto(Label::Reject);
    }
    program.mark(Label::Host4);
    program.load(BPF_H | BPF_ABS, NET.wrapping_add(6));
    program.push(BPF_ALU | BPF_AND | BPF_K, 0x3fff);
    // Of a fragment, keep the incoming copy.
    program.goto_unless(0, Label::Response);
    program.load(BPF_B | BPF_ABS, NET.wrapping_add(9));
    program.goto_if(TCP, Label::Ports4);
    program.goto_if(UDP, Label::Ports4);
    program.goto(Label::NoPorts);
    program.mark(Label::Ports4);
    // X becomes the length of the IP header.
    program.push(BPF_LDX | BPF_B | BPF_MSH, NET);
    program.store_ports(BPF_H | BPF_IND, NET);
    program.goto(Label::Ports);
}

/// After more than [`MOST_EXTENSIONS`] extension headers, ports are not looked for.
fn ipv6(program: &mut Assembler, hosts: &[IpAddr]) {
    program.mark(Label::Ipv6);
    for (end, address) in [8, 24].into_iter().enumerate() {
        for (index, host) in hosts.iter().enumerate() {
            let IpAddr::V6(host) = host else { continue };
            let next = Label::NextHost(end * hosts.len() + index);
            for (offset, word) in (address..).step_by(4).zip(host.octets().as_chunks::<4>().0) {
                program.load(BPF_W | BPF_ABS, NET.wrapping_add(offset));
                program.goto_unless(u32::from_be_bytes(*word), next);
            }
            program.goto(Label::Host6);
            program.mark(next);
        }
    }
    if !hosts.is_empty() {
        program.goto(Label::Reject);
    }
    program.mark(Label::Host6);
    // X is where the next header begins, and A its type.
    program.push(BPF_LDX | BPF_IMM, IPV6_HEADER);
    program.load(BPF_B | BPF_ABS, NET.wrapping_add(6));
    for passed in 0..=MOST_EXTENSIONS {
        program.goto_if(TCP, Label::Ports6);
        program.goto_if(UDP, Label::Ports6);
        program.goto_if(FRAGMENT, Label::Response);
        if passed == MOST_EXTENSIONS {
            break;
        }
        for extension in EXTENSIONS {
            program.goto_if(extension, Label::Extension(passed));
        }
        program.goto(Label::NoPorts);
        program.mark(Label::Extension(passed));
        pass_extension(program);
    }
    program.goto(Label::NoPorts);
    program.mark(Label::Ports6);
    program.store_ports(BPF_H | BPF_IND, NET);
    program.goto(Label::Ports);
}

fn pass_extension(program: &mut Assembler) {
    program.load(BPF_B | BPF_IND, NET);
    program.push(BPF_ST, NEXT_HEADER);
    program.load(BPF_B | BPF_IND, NET.wrapping_add(1));
    program.push(BPF_ALU | BPF_ADD | BPF_K, 1);
    program.push(BPF_ALU | BPF_LSH | BPF_K, 3);
    program.push(BPF_ALU | BPF_ADD | BPF_X, 0);
    program.push(BPF_ST, OFFSET);
    program.push(BPF_LDX | BPF_MEM, OFFSET);
    program.load(BPF_MEM, NEXT_HEADER);
}

/// Compares the ports, and decides if the packet goes to the server or comes from it.
fn compare_ports(program: &mut Assembler, ports: &[u16]) {
    program.mark(Label::Ports);
    if !ports.is_empty() {
        program.load(BPF_MEM, SOURCE_PORT);
        for port in ports {
            program.goto_if(u32::from(*port), Label::FromServer);
        }
        program.load(BPF_MEM, DESTINATION_PORT);
        for port in ports {
            program.goto_if(u32::from(*port), Label::Request);
        }
        program.goto(Label::Reject);
        program.mark(Label::FromServer);
        program.load(BPF_MEM, DESTINATION_PORT);
        for port in ports {
            program.goto_if(u32::from(*port), Label::Nearer);
        }
        program.goto(Label::Response);
    }
    // If both or neither are selected: servers have the lower port.
    program.mark(Label::Nearer);
    program.push(BPF_LDX | BPF_MEM, SOURCE_PORT);
    program.load(BPF_MEM, DESTINATION_PORT);
    program.branch(BPF_JGE | BPF_X, 0, Label::Response);
    program.goto(Label::Request);
}

/// Keeps the outgoing copy of requests, and the incoming one of everything else.
fn choose_copy(program: &mut Assembler, once_on: Option<u32>) {
    let copies = [(Label::Request, false), (Label::Response, true)];
    for (label, incoming) in copies {
        program.mark(label);
        if let Some(interface) = once_on {
            program.load(BPF_W | BPF_ABS, INTERFACE);
            program.goto_unless(interface, Label::Accept);
            program.load(BPF_W | BPF_ABS, PACKET_TYPE);
            let (if_outgoing, otherwise) = if incoming {
                (Label::Reject, Label::Accept)
            } else {
                (Label::Accept, Label::Reject)
            };
            program.goto_if(OUTGOING, if_outgoing);
            program.goto(otherwise);
        } else {
            program.goto(Label::Accept);
        }
    }
}

/// Instructions with jumps to labels. Jumps of classic BPF go forward, and a conditional one at
/// most 255 instructions: each is a short one followed by an unconditional one, which has no such
/// limit.
#[derive(Debug, Default)]
struct Assembler {
    steps: Vec<FilterStep>,
    jumps: Vec<(usize, Label)>,
    marks: Vec<(Label, usize)>,
}

impl Assembler {
    fn push(&mut self, code: u32, k: u32) {
        self.steps.push(step(code, k));
    }

    fn load(&mut self, from: u32, k: u32) {
        self.push(BPF_LD | from, k);
    }

    fn store_ports(&mut self, from: u32, header: u32) {
        for (offset, memory) in [(0, SOURCE_PORT), (2, DESTINATION_PORT)] {
            self.load(from, header.wrapping_add(offset));
            self.push(BPF_ST, memory);
        }
    }

    fn mark(&mut self, label: Label) {
        self.marks.push((label, self.steps.len()));
    }

    fn goto(&mut self, label: Label) {
        self.jumps.push((self.steps.len(), label));
        self.push(BPF_JMP | BPF_JA, 0);
    }

    fn goto_if(&mut self, value: u32, label: Label) {
        self.branch(BPF_JEQ | BPF_K, value, label);
    }

    fn goto_unless(&mut self, value: u32, label: Label) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, value);
        if let Some(step) = self.steps.last_mut() {
            step.jt = 1;
        }
        self.goto(label);
    }

    fn branch(&mut self, comparison: u32, value: u32, label: Label) {
        self.push(BPF_JMP | comparison, value);
        if let Some(step) = self.steps.last_mut() {
            step.jf = 1;
        }
        self.goto(label);
    }

    fn finish(mut self) -> Vec<FilterStep> {
        for (from, label) in self.jumps {
            let to = self.marks.iter().find(|(marked, _)| *marked == label);
            let to = to.map_or(self.steps.len(), |(_, to)| *to);
            debug_assert!(to > from && to < self.steps.len());
            self.steps[from].k = (to - from - 1) as u32;
        }
        self.steps
    }
}
