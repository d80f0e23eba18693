//! The TCP connections of a capture: segments in, figures of each connection out, in one pass and
//! bounded memory. Pure.
//!
//! ```text
//! segment --> TcpConnections --+--> kept: one ConnectionState for each pair of ends, up to a limit
//!                              `--> passing: of later connections, for their requests only
//! ```

use core::net::SocketAddr;
use std::collections::HashMap;

use crate::clock::{CaptureClock, ClockReversals};
use crate::connection::{ConnectionFigures, ConnectionState};
use crate::limits::AnalysisLimits;
use crate::segment::TcpSegment;
use crate::transaction::RequestVisitor;
use crate::wireshark::WiresharkMarks;

/// TCP in a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedConnections {
    /// Connections in the order of their first packets.
    pub connections: Vec<ConnectionFigures>,
    /// Segments of connections beyond the limit.
    pub ignored_segments: u64,
    /// Segments that were captured twice: the copies, which are left out.
    pub copies: u64,
    /// Reversals of the time stamps.
    pub reversals: ClockReversals,
}

/// The ends of a connection, in their order.
type ConnectionEnds = (SocketAddr, SocketAddr);

fn ends(segment: &TcpSegment<'_>) -> ConnectionEnds {
    (
        segment.source.min(segment.destination),
        segment.source.max(segment.destination),
    )
}

/// Reads the segments of a capture, in their order.
#[derive(Debug)]
pub struct TcpConnections {
    limits: AnalysisLimits,
    server: Option<SocketAddr>,
    clock: CaptureClock,
    /// Kept connections that are read, with their indices.
    reading: HashMap<ConnectionEnds, (usize, Box<ConnectionState>)>,
    /// Kept connections whose ports were used again, with their indices.
    finished: Vec<(usize, ConnectionFigures)>,
    passing: HashMap<ConnectionEnds, Box<ConnectionState>>,
    ignored_segments: u64,
    copies: u64,
}

impl TcpConnections {
    /// `server`: the server's address for connections whose SYN was not captured.
    pub fn new(limits: AnalysisLimits, server: Option<SocketAddr>) -> TcpConnections {
        TcpConnections {
            limits,
            server,
            clock: CaptureClock::default(),
            reading: HashMap::new(),
            finished: Vec::new(),
            passing: HashMap::new(),
            ignored_segments: 0,
            copies: 0,
        }
    }

    /// Reads a segment of the `packet`-th packet of the capture. `each` is called for each request
    /// that ends. Returns its marks, if its connection is analysed.
    pub fn add(
        &mut self,
        packet: u64,
        segment: &TcpSegment<'_>,
        each: RequestVisitor<'_>,
    ) -> Option<WiresharkMarks> {
        let mut segment = *segment;
        segment.at_ns = self.clock.moment(packet, segment.at_ns);
        let ends = ends(&segment);
        let known = self.reading.get(&ends);
        let is_anew = known.is_some_and(|(_, state)| state.begins_anew(&segment));
        if is_anew && let Some((index, over)) = self.reading.remove(&ends) {
            self.finished.push((index, over.finish(each)));
        }
        let index = self.kept();
        if index >= self.limits.connections && !self.reading.contains_key(&ends) {
            self.ignored_segments += 1;
            self.pass_on(packet, &segment, ends, each);
            return None;
        }
        let (_, state) = self.reading.entry(ends).or_insert_with(|| {
            let limits = self.limits.per_connection(index);
            let state = ConnectionState::new(packet, &segment, self.server, &limits);
            (index, Box::new(state))
        });
        if state.recent.is_copy(&segment) {
            self.copies += 1;
            return None;
        }
        Some(state.add(packet, &segment, is_anew, &mut self.clock, each))
    }

    fn kept(&self) -> usize {
        self.reading.len() + self.finished.len()
    }

    /// The offset of the first byte that the segment acknowledges and that has not passed.
    pub(crate) fn missing(&self, segment: &TcpSegment<'_>) -> Option<u32> {
        if !segment.flags.ack || segment.flags.rst {
            return None;
        }
        match self.reading.get(&ends(segment)) {
            Some((_, state)) => state.missing(segment),
            // It would be the first one of its connection.
            None => (self.kept() < self.limits.connections)
                .then(|| segment.acknowledged.wrapping_sub(1)),
        }
    }

    /// Reads a segment of a connection that is not kept.
    fn pass_on(
        &mut self,
        packet: u64,
        segment: &TcpSegment<'_>,
        ends: ConnectionEnds,
        each: RequestVisitor<'_>,
    ) {
        if self.limits.passing_connections == 0 {
            return;
        }
        let known = self.passing.get(&ends);
        let is_anew = known.is_some_and(|state| state.begins_anew(segment));
        if is_anew && let Some(over) = self.passing.remove(&ends) {
            over.finish(each);
        }
        if !self.passing.contains_key(&ends) {
            self.make_room(each);
        }
        let limits = self.limits.for_passing();
        let state = self.passing.entry(ends);
        let state = state.or_insert_with(|| {
            Box::new(ConnectionState::new(packet, segment, self.server, &limits))
        });
        if !state.recent.is_copy(segment) {
            state.add(packet, segment, is_anew, &mut self.clock, each);
        }
    }

    /// Ends half of the connections that are not kept, if there are too many: closed ones first,
    /// then those that were silent for longest.
    fn make_room(&mut self, each: RequestVisitor<'_>) {
        if self.passing.len() < self.limits.passing_connections {
            return;
        }
        let passing = self.passing.iter();
        let mut order: Vec<_> = passing
            .map(|(ends, state)| (state.closing.is_none(), state.last.0, *ends))
            .collect();
        order.sort_unstable();
        for (_, _, ends) in &order[..order.len().div_ceil(2)] {
            if let Some(over) = self.passing.remove(ends) {
                over.finish(each);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn passing(&self) -> usize {
        self.passing.len()
    }

    /// The figures of all kept connections. `each` is called for unfinished requests.
    pub fn finish(self, each: RequestVisitor<'_>) -> TracedConnections {
        let mut figures = self.finished;
        let mut reading: Vec<_> = self.reading.into_values().collect();
        reading.sort_unstable_by_key(|(index, _)| *index);
        let rest = reading.into_iter();
        figures.extend(rest.map(|(index, state)| (index, state.finish(each))));
        figures.sort_unstable_by_key(|(index, _)| *index);
        let mut passing: Vec<_> = self.passing.into_values().collect();
        passing.sort_unstable_by_key(|state| state.first.0);
        for state in passing {
            state.finish(each);
        }
        TracedConnections {
            connections: figures.into_iter().map(|(_, figures)| figures).collect(),
            ignored_segments: self.ignored_segments,
            copies: self.copies,
            reversals: self.clock.reversals,
        }
    }
}
