//! Packets that are no TCP segments, and how many there were.

use core::fmt;

/// Why a packet is not a TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotTcp {
    /// Its link type is not supported.
    UnknownLink,
    /// ARP.
    Arp,
    /// A protocol other than IP.
    OtherNetwork,
    /// UDP.
    Udp,
    /// ICMP or ICMPv6.
    Icmp,
    /// PPPoE that carries no IP.
    Pppoe,
    /// MPLS that carries no IP.
    Mpls,
    /// GRE that carries no IP, or of another version.
    Gre,
    /// MACsec, which may be encrypted.
    Macsec,
    /// Another protocol over IP.
    OtherTransport,
    /// A part of an IP packet whose other parts are still missing.
    Fragment,
    /// A fragment that overlaps another, ends behind the longest packet, or contradicts the others.
    BadFragment,
    /// The captured part does not contain its whole headers.
    CutOff,
    /// Lengths that contradict one another, or an unknown version of IP.
    Malformed,
}

impl NotTcp {
    /// All of them.
    pub const ALL: [NotTcp; 14] = [
        NotTcp::UnknownLink,
        NotTcp::Arp,
        NotTcp::OtherNetwork,
        NotTcp::Udp,
        NotTcp::Icmp,
        NotTcp::Pppoe,
        NotTcp::Mpls,
        NotTcp::Gre,
        NotTcp::Macsec,
        NotTcp::OtherTransport,
        NotTcp::Fragment,
        NotTcp::BadFragment,
        NotTcp::CutOff,
        NotTcp::Malformed,
    ];
}

impl fmt::Display for NotTcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotTcp::UnknownLink => "unknown link type",
            NotTcp::Arp => "ARP",
            NotTcp::OtherNetwork => "not IP",
            NotTcp::Udp => "UDP",
            NotTcp::Icmp => "ICMP",
            NotTcp::Pppoe => "PPPoE without IP",
            NotTcp::Mpls => "MPLS without IP",
            NotTcp::Gre => "GRE without IP",
            NotTcp::Macsec => "MACsec",
            NotTcp::OtherTransport => "other IP protocols",
            NotTcp::Fragment => "IP fragments",
            NotTcp::BadFragment => "bad IP fragments",
            NotTcp::CutOff => "cut off in the headers",
            NotTcp::Malformed => "malformed",
        })
    }
}

/// Packets of a capture, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacketCounts {
    /// TCP segments. A fragmented one counts once here, with the last fragment.
    pub tcp: u64,
    pub(crate) others: [u64; NotTcp::ALL.len()],
}

impl PacketCounts {
    /// Packets that were not TCP for that reason.
    pub fn of(&self, kind: NotTcp) -> u64 {
        self.others[kind as usize]
    }

    /// All kinds that occurred, except TCP.
    pub fn others(&self) -> impl Iterator<Item = (NotTcp, u64)> {
        let kinds = NotTcp::ALL.into_iter().map(|kind| (kind, self.of(kind)));
        kinds.filter(|(_, count)| *count > 0)
    }
}
