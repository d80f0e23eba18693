//! The filter of the captures that benchmarks compare with.
//!
//! It runs in the kernel for every packet of the loopback interface, in the time that is being
//! measured. So it is short, and keeps what is needed and no more: requests as they leave,
//! responses as they arrive, none without payload; of requests enough for the head, of responses
//! enough for the headers of frames of HTTP/2, where the response is small.

use libc::{
    BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JGT, BPF_JMP, BPF_K,
    BPF_LD, BPF_LDX, BPF_MISC, BPF_MSH, BPF_RET, BPF_RSH, BPF_TAX, BPF_W, BPF_X,
};

use super::{FilterStep, INCOMING, OUTGOING, TCP, step};

/// Longest headers of a packet: Ethernet, IP and TCP with all options.
const HEADERS: u32 = 14 + 60 + 60;

/// Room for the head of a request.
const HEAD: u32 = 1024;

/// Room for the HEADERS frame of a response, and the header of the frame behind it.
const RESPONSE_FRAMES: u32 = 256;

/// Start of the IP header behind that of the link.
const IP: u32 = 14;

/// Which way a packet goes, seen from the client.
#[derive(Debug, Clone, Copy)]
enum Way {
    There,
    Back,
}

/// The program for a server's port: four blocks, one for each way and each version of IP. Whatever
/// does not fit goes on to the next block, and in the end is not kept.
pub(crate) fn program(port: u16) -> Vec<FilterStep> {
    let mut steps = Vec::new();
    for way in [Way::There, Way::Back] {
        for block in [ipv4(way, port), ipv6(way, port)] {
            steps.extend(block.finish(way));
        }
    }
    steps.push(step(BPF_RET | BPF_K, 0));
    steps
}

fn ipv4(way: Way, port: u16) -> FilterBlock {
    let mut block = FilterBlock::new(way);
    block.demand(BPF_H | BPF_ABS, 12, 0x0800);
    block.demand(BPF_B | BPF_ABS, IP + 9, TCP);
    // X becomes the length of the IP header, so that IND with `IP` added is the TCP header.
    block.push(BPF_LDX | BPF_B | BPF_MSH, IP);
    block.demand(BPF_H | BPF_IND, IP + way.port_at(), u32::from(port));
    // 12 bytes into the TCP header, whose length is in the upper half: to X, with IP's added.
    block.push(BPF_LD | BPF_B | BPF_IND, IP + 12);
    block.push(BPF_ALU | BPF_AND | BPF_K, 0xf0);
    block.push(BPF_ALU | BPF_RSH | BPF_K, 2);
    block.push(BPF_ALU | BPF_ADD | BPF_X, 0);
    block.push(BPF_MISC | BPF_TAX, 0);
    block.demand_more_than_x(IP + 2);
    block
}

fn ipv6(way: Way, port: u16) -> FilterBlock {
    let tcp = IP + 40; // without extension headers, as loopback sends them
    let mut block = FilterBlock::new(way);
    block.demand(BPF_H | BPF_ABS, 12, 0x86dd);
    block.demand(BPF_B | BPF_ABS, IP + 6, TCP);
    block.demand(BPF_H | BPF_ABS, tcp + way.port_at(), u32::from(port));
    block.push(BPF_LD | BPF_B | BPF_ABS, tcp + 12);
    block.push(BPF_ALU | BPF_AND | BPF_K, 0xf0);
    block.push(BPF_ALU | BPF_RSH | BPF_K, 2);
    block.push(BPF_MISC | BPF_TAX, 0);
    block.demand_more_than_x(IP + 4);
    block
}

impl Way {
    fn packet_type(self) -> u32 {
        match self {
            Way::There => OUTGOING,
            Way::Back => INCOMING,
        }
    }

    /// Place of the server's port in the TCP header.
    fn port_at(self) -> u32 {
        match self {
            Way::There => 2,
            Way::Back => 0,
        }
    }

    fn kept(self) -> u32 {
        match self {
            Way::There => HEADERS + HEAD,
            Way::Back => HEADERS + RESPONSE_FRAMES,
        }
    }
}

/// FilterSteps of which each comparison leads on, or out of the block.
struct FilterBlock(Vec<FilterStep>);

impl FilterBlock {
    fn new(way: Way) -> FilterBlock {
        let mut block = FilterBlock(Vec::new());
        let packet_type = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();
        block.demand(BPF_W | BPF_ABS, packet_type, way.packet_type());
        block
    }

    fn push(&mut self, code: u32, k: u32) {
        self.0.push(step(code, k));
    }

    fn demand(&mut self, size: u32, place: u32, value: u32) {
        self.push(BPF_LD | size, place);
        self.push(BPF_JMP | BPF_JEQ | BPF_K, value);
    }

    /// The 16 bits there are more than X: of IP's length, something is left for the payload.
    fn demand_more_than_x(&mut self, place: u32) {
        self.push(BPF_LD | BPF_H | BPF_ABS, place);
        self.push(BPF_JMP | BPF_JGT | BPF_X, 0);
    }

    fn finish(mut self, way: Way) -> Vec<FilterStep> {
        self.push(BPF_RET | BPF_K, way.kept());
        let end = self.0.len();
        for (index, step) in self.0.iter_mut().enumerate() {
            if u32::from(step.code) & 7 == BPF_JMP {
                step.jf = (end - index - 1) as u8;
            }
        }
        self.0
    }
}
