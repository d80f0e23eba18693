//! Packet filters, as classic BPF programs: they run in the kernel for every packet of an
//! interface.

pub(crate) mod selection;

/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const OUTGOING: u32 = 4;

const TCP: u32 = 6;
const UDP: u32 = 17;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FilterStep {
    /// Operation code.
    pub(crate) code: u16,
    /// Instructions to skip if a comparison holds.
    pub(crate) jt: u8,
    /// Instructions to skip otherwise.
    pub(crate) jf: u8,
    /// Its operand.
    pub(crate) k: u32,
}

/// A program that keeps nothing.
pub(crate) const REJECT_ALL: [FilterStep; 1] = [FilterStep {
    code: (libc::BPF_RET | libc::BPF_K) as u16,
    jt: 0,
    jf: 0,
    k: 0,
}];

fn step(code: u32, k: u32) -> FilterStep {
    FilterStep {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}
