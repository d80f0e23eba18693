//! A capture file read whole: its packets counted, and the figures of its connections. Pure.

use core::net::SocketAddr;
use std::io::Read;

use crate::connections::{TcpConnections, TracedConnections};
use crate::file::{CaptureFileError, CaptureReader, LinkType};
use crate::limits::AnalysisLimits;
use crate::link::Dissector;
use crate::not_tcp::{NotTcp, PacketCounts};
use crate::order::OrderWindow;
use crate::transaction::{RequestVisitor, TracedRequest};

/// Kinds of links that are listed.
const MOST_UNKNOWN_LINKS: usize = 8;

/// Options of reading a capture.
#[derive(Debug, Clone, Default)]
pub struct ReadingOptions {
    /// Limits of memory.
    pub limits: AnalysisLimits,
    /// Only connections with one of these ends, which are the servers; all if empty.
    pub servers: Vec<SocketAddr>,
}

/// Contents of a capture.
#[derive(Debug)]
pub struct CaptureContents {
    /// Complete packets.
    pub packets: u64,
    /// Moment of the first of them, in nanoseconds since 1970; no moment of a connection is before
    /// it.
    pub start_ns: i64,
    /// The kinds of links, in the order of their first packets.
    pub links: Vec<LinkType>,
    /// Packets of which only a part was captured.
    pub cut: u64,
    /// Packets without a time.
    pub untimed: u64,
    /// TCP segments that stood behind later ones in the file, and were moved.
    pub moved: u64,
    /// Packets that the capturing program lost, if the file has their number.
    pub dropped: Option<u64>,
    /// Packets by kind.
    pub counts: PacketCounts,
    /// IP packets of which fragments are missing.
    pub incomplete_datagrams: u64,
    /// Segments of connections with other servers than the requested ones.
    pub other_segments: u64,
    /// Kinds of links whose packets cannot be read.
    pub unknown_links: Vec<LinkType>,
    /// The connections.
    pub traced: TracedConnections,
    /// Why the file could not be read to its end. Everything before that point was read.
    pub damage: Option<CaptureFileError>,
}

/// Reads a capture; `each` is called for every request when it ends, including those that are not
/// kept.
///
/// # Errors
/// The source is not a capture file. One that is damaged behind its header gives the contents
/// before the damage, and [`CaptureContents::damage`].
pub fn read_capture(
    source: impl Read,
    options: &ReadingOptions,
    mut each: impl FnMut(&TracedRequest),
) -> Result<CaptureContents, CaptureFileError> {
    let mut reader = CaptureReader::new(source)?;
    let mut dissector = Dissector::default();
    // The end that is the server if no SYN was captured: of several addresses the first that
    // occurs.
    let mut connections: Option<TcpConnections> = None;
    let mut order = OrderWindow::default();
    let (mut packets, mut cut, mut other_segments) = (0, 0, 0);
    let (mut start_ns, mut links, mut unknown_links) = (None, Vec::new(), Vec::new());
    let damage = loop {
        let packet = match reader.next_packet() {
            Ok(Some(packet)) => packet,
            Ok(None) => break None,
            Err(error) => break Some(error),
        };
        packets += 1;
        start_ns.get_or_insert(packet.at_ns);
        cut += u64::from((packet.bytes.len() as u64) < u64::from(packet.wire_length));
        if links.last() != Some(&packet.link) && !links.contains(&packet.link) {
            links.push(packet.link);
        }
        let link = packet.link;
        let segment = match dissector.segment(&packet) {
            Ok(segment) => segment,
            Err(NotTcp::UnknownLink) => {
                if !unknown_links.contains(&link) && unknown_links.len() < MOST_UNKNOWN_LINKS {
                    unknown_links.push(link);
                }
                continue;
            }
            Err(_) => continue,
        };
        let mut ends = [segment.source, segment.destination].into_iter();
        let server = ends.find(|end| options.servers.contains(end));
        if server.is_none() && !options.servers.is_empty() {
            other_segments += 1;
            continue;
        }
        let connections =
            connections.get_or_insert_with(|| TcpConnections::new(options.limits, server));
        order.add(packet.number, &segment);
        pass_on(&mut order, false, connections, &mut each);
    };
    let mut connections = connections.unwrap_or_else(|| TcpConnections::new(options.limits, None));
    pass_on(&mut order, true, &mut connections, &mut each);
    let traced = connections.finish(&mut each);
    let starts = traced
        .connections
        .iter()
        .map(|connection| connection.start_ns);
    Ok(CaptureContents {
        packets,
        start_ns: starts.chain(start_ns).min().unwrap_or(0),
        links,
        cut,
        untimed: reader.untimed(),
        moved: order.moved,
        dropped: reader.dropped(),
        counts: dissector.counts().clone(),
        incomplete_datagrams: dissector.incomplete_datagrams(),
        other_segments,
        unknown_links,
        traced,
        damage,
    })
}

/// Passes on the segments whose turn it is, each behind those that it acknowledges.
fn pass_on(
    order: &mut OrderWindow,
    is_end: bool,
    connections: &mut TcpConnections,
    each: RequestVisitor<'_>,
) {
    while let Some(next) = order.next(is_end) {
        let segment = next.segment();
        while let Some(missing) = connections.missing(&segment)
            && let Some(earlier) = order.take(&segment, missing)
        {
            connections.add(earlier.packet, &earlier.segment(), each);
        }
        connections.add(next.packet, &segment, each);
    }
}
