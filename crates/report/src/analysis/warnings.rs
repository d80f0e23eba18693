//! What limits the figures of a capture.

use trace::not_tcp::NotTcp;

use super::CaptureAnalysis;
use super::figures::time;
use crate::document::Block;
use crate::incomplete::alert;
use crate::lists::number_of;

pub(super) fn damage(of: &CaptureAnalysis) -> Option<Block> {
    let damage = of.contents.damage.as_ref()?;
    Some(alert(&format!(
        "the capture could not be read to its end ({damage}). What stands before that place is analysed."
    )))
}

/// What is missing in the capture or was left out, most important first.
pub(super) fn warnings(of: &CaptureAnalysis) -> Vec<String> {
    let contents = &of.contents;
    let mut warnings = Vec::new();
    let mut warn = |count: u64, unit: &str, what: &str| {
        if count > 0 {
            warnings.push(format!("{} {what}", number_of(count, unit)));
        }
    };
    warn(
        contents.dropped.unwrap_or(0),
        "packet",
        "could not be captured: figures of losses and retransmissions may be wrong",
    );
    let uncaptured = contents.traced.connections.iter();
    let uncaptured = uncaptured.map(|connection| {
        connection.from_client.uncaptured_bytes + connection.from_server.uncaptured_bytes
    });
    warn(
        uncaptured.sum(),
        "byte",
        "acknowledged, but not in the capture: the capturing program missed packets",
    );
    warn(
        contents.traced.copies,
        "segment",
        "captured twice (with the same identification of IPv4): the copies are left out; capture at one interface",
    );
    let reversals = &contents.traced.reversals;
    let named = reversals.first.iter().map(|of| {
        let back = time(of.back_ns);
        format!("packet {}: {back} before packet {}", of.packet, of.follows)
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = if reversals.count > reversals.first.len() as u64 {
        "; ..."
    } else {
        ""
    };
    let named = format!(
        "where time stamps go back ({named}{more}): requests and round trips across them have no times, and other \
         times count on from there"
    );
    warn(reversals.count, "packet", &named);
    warn(
        contents.moved,
        "packet",
        "behind later ones in the file: put into their order, by time stamps and acknowledgments",
    );
    warn(
        contents.untimed,
        "packet",
        "without a time: each has the time of the packet before it",
    );
    warn(
        contents.incomplete_datagrams,
        "IP packet",
        "left out, because fragments are missing",
    );
    warn(
        contents.traced.ignored_segments,
        "segment",
        "left out, because the capture has too many connections",
    );
    let unknown: Vec<String> = contents
        .unknown_links
        .iter()
        .map(ToString::to_string)
        .collect();
    let unknown = format!(
        "left out, because their link type is not supported: {}",
        unknown.join(", ")
    );
    for (kind, what) in [
        (NotTcp::UnknownLink, &*unknown),
        (
            NotTcp::CutOff,
            "left out, because the headers were not captured",
        ),
        (
            NotTcp::Malformed,
            "left out, because the lengths contradict one another",
        ),
        (
            NotTcp::BadFragment,
            "left out, because fragments contradict one another",
        ),
    ] {
        warn(contents.counts.of(kind), "packet", what);
    }
    warn(
        contents.cut,
        "packet",
        "captured in part: what lies behind that part, such as paths of requests, may be missing",
    );
    warnings
}

/// Packets that are no TCP, or of other servers, in a sentence.
pub(super) fn left_out(of: &CaptureAnalysis) -> Option<String> {
    let contents = &of.contents;
    let is_expected = |kind: &NotTcp| {
        use NotTcp::{Arp, Gre, Icmp, Macsec, Mpls, OtherNetwork, OtherTransport, Pppoe, Udp};
        let is_tunnel = matches!(kind, Pppoe | Mpls | Gre | Macsec);
        is_tunnel || matches!(kind, Arp | OtherNetwork | Udp | Icmp | OtherTransport)
    };
    let others = contents.counts.others();
    let others = others.filter(|(kind, _)| is_expected(kind));
    let mut parts: Vec<String> = others
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    if contents.other_segments > 0 {
        parts.push(format!("{} of other servers", contents.other_segments));
    }
    (!parts.is_empty()).then(|| format!("Packets left out: {}", parts.join(", ")))
}
