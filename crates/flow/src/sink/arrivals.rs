//! The flows of the data thread: which data belong to which flow, and the counts of arrivals.

use std::collections::HashMap;

use traffic::sink::{DatagramArrival, DatagramSink, SequenceWidth, StreamFigures, StreamSink};

use crate::clock::stamp_ns;
use crate::message::{DelaySummary, SinkCounts, StreamStalls};
use crate::payload::{BlockStamp, FlowId, read_datagram};
use crate::sys::Received;

/// A pause of a stream that counts as a stall: the shortest retransmission time-out of Linux.
const STALL_NS: u64 = 200_000_000;

/// Selects counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CountsWanted {
    /// With the delays of this second since the agreement.
    Second(usize),
    /// With the delays of the last second.
    Now,
    /// With the delays of the whole flow.
    Last,
}

/// Statistics of a flow.
#[derive(Debug)]
enum FlowArithmetic {
    /// Numbered blocks.
    Blocks(Box<DatagramSink>),
    /// A stream of bytes.
    Bytes(Box<StreamSink>),
}

/// A flow at the sink.
#[derive(Debug)]
pub(super) struct SinkFlow {
    session: u64,
    arithmetic: FlowArithmetic,
    /// Datagrams dropped by its socket because the buffer was full.
    overflowed: u64,
    tos: Option<u8>,
    has_stream: bool,
    has_ended: bool,
}

impl SinkFlow {
    fn new(session: u64, has_stamps: bool) -> SinkFlow {
        let origin = stamp_ns();
        SinkFlow {
            session,
            arithmetic: if has_stamps {
                let sink = DatagramSink::new(origin, 0, SequenceWidth::Bits64);
                FlowArithmetic::Blocks(Box::new(sink))
            } else {
                FlowArithmetic::Bytes(Box::new(StreamSink::new(origin, STALL_NS)))
            },
            overflowed: 0,
            tos: None,
            has_stream: false,
            has_ended: false,
        }
    }

    pub(super) fn add_bytes(&mut self, received_ns: u64, bytes: u64) {
        if let FlowArithmetic::Bytes(sink) = &mut self.arithmetic {
            sink.arrive(received_ns, bytes);
        }
    }

    pub(super) fn add_block(&mut self, stamp: BlockStamp, received_ns: u64, bytes: u32) {
        if let FlowArithmetic::Blocks(sink) = &mut self.arithmetic {
            sink.arrive(&DatagramArrival {
                sequence: stamp.sequence,
                sent_ns: stamp.sent_ns,
                received_ns,
                bytes,
            });
        }
    }

    fn counts(&self, wanted: CountsWanted) -> SinkCounts {
        let mut counts = match &self.arithmetic {
            FlowArithmetic::Bytes(sink) => {
                // After its end, a stream cannot stall.
                let now_ns = if self.has_ended { 0 } else { stamp_ns() };
                stream_counts(&sink.figures(now_ns))
            }
            FlowArithmetic::Blocks(sink) => block_counts(sink, wanted),
        };
        counts.overflowed = self.overflowed;
        counts.tos = self.tos;
        counts.has_ended = self.has_ended;
        counts
    }
}

/// Reads of a stream are not blocks.
fn stream_counts(figures: &StreamFigures) -> SinkCounts {
    SinkCounts {
        bytes: figures.bytes,
        arrived_ns: figures.arrived_ns,
        stalls: Some(StreamStalls {
            count: figures.stalls,
            total_ns: figures.stalled_ns,
        }),
        ..SinkCounts::default()
    }
}

fn block_counts(sink: &DatagramSink, wanted: CountsWanted) -> SinkCounts {
    let figures = match wanted {
        CountsWanted::Last => sink.figures(None),
        CountsWanted::Second(_) | CountsWanted::Now => sink.counts(),
    };
    let second = match wanted {
        CountsWanted::Second(second) => Some(second),
        CountsWanted::Now | CountsWanted::Last => sink.seconds().len().checked_sub(1),
    };
    let variation = second.and_then(|second| sink.delay_variation_of(second));
    SinkCounts {
        bytes: figures.bytes,
        arrived_ns: figures.arrived_ns,
        packets: figures.packets - figures.duplicates.min(figures.packets),
        lost: figures.lost,
        reordered: figures.reordered,
        duplicates: figures.duplicates,
        jitter_ns: figures.jitter_ns as u64,
        delay_variation_ns: variation.unwrap_or(0),
        delays: figures.delay.map(|delay| DelaySummary {
            mean_ns: delay.mean_ns as u64,
            p50_ns: delay.p50_ns,
            p95_ns: delay.p95_ns,
            p99_ns: delay.p99_ns,
            max_ns: delay.max_ns,
            drift_ppb: delay.drift_ppm.map(|drift| (drift * 1000.0) as i64),
        }),
        ..SinkCounts::default()
    }
}

/// All flows of a sink.
#[derive(Debug, Default)]
pub(super) struct SinkFlows {
    flows: Vec<Option<SinkFlow>>,
    free: Vec<usize>,
    indices: HashMap<FlowId, usize>,
    /// Indices of the flows of each session, in the order of its agreement.
    sessions: HashMap<u64, Vec<usize>>,
}

/// The flow of the last datagram: most datagrams belong to the flow of the one before.
pub(super) type LastFlow = Option<(FlowId, usize)>;

impl SinkFlows {
    /// Adds flows of a session; returns the index of the first.
    pub(super) fn add(&mut self, session: u64, ids: &[FlowId], has_stamps: bool) -> Option<usize> {
        let mut first = None;
        for id in ids {
            let flow = Some(SinkFlow::new(session, has_stamps));
            let index = match self.free.pop() {
                Some(index) => {
                    self.flows[index] = flow;
                    index
                }
                None => {
                    self.flows.push(flow);
                    self.flows.len() - 1
                }
            };
            self.indices.insert(*id, index);
            self.sessions.entry(session).or_default().push(index);
            first.get_or_insert(index);
        }
        first
    }

    /// Adds datagrams that the socket of a flow dropped because its buffer was full.
    pub(super) fn add_overflowed(&mut self, index: usize, datagrams: u64) {
        if let Some(flow) = &mut self.flows[index] {
            flow.overflowed = flow.overflowed.saturating_add(datagrams);
        }
    }

    pub(super) fn remove_session(&mut self, session: u64) {
        for index in self.sessions.remove(&session).unwrap_or_default() {
            self.flows[index] = None;
            self.free.push(index);
        }
        let flows = &self.flows;
        self.indices.retain(|_, index| flows[*index].is_some());
    }

    pub(super) fn counts(&self, session: u64, wanted: CountsWanted) -> Vec<SinkCounts> {
        let indices = self.sessions.get(&session).map(Vec::as_slice);
        let indices = indices.unwrap_or_default().iter();
        let counts = |index: &usize| Some(self.flows[*index].as_ref()?.counts(wanted));
        indices.filter_map(counts).collect()
    }

    fn index(&self, session: u64, id: FlowId) -> Option<usize> {
        let index = *self.indices.get(&id)?;
        let flow = self.flows[index].as_ref()?;
        (flow.session == session).then_some(index)
    }

    /// Begins a stream: its index, unless its flow is unknown or already has a stream.
    pub(super) fn begin_stream(&mut self, session: u64, id: FlowId) -> Option<usize> {
        let index = self.index(session, id)?;
        let flow = self.flows[index].as_mut()?;
        (!std::mem::replace(&mut flow.has_stream, true)).then_some(index)
    }

    pub(super) fn end_stream(&mut self, index: usize) {
        if let Some(flow) = &mut self.flows[index] {
            flow.has_ended = true;
        }
    }

    pub(super) fn flow(&mut self, index: usize) -> Option<&mut SinkFlow> {
        self.flows[index].as_mut()
    }

    /// Counts the datagrams that a socket of a session has received; returns how many belong to no
    /// flow.
    pub(super) fn record_datagrams(
        &mut self,
        session: u64,
        received: &Received<'_>,
        received_ns: u64,
        last: &mut LastFlow,
    ) -> u64 {
        let mut strange = 0;
        for datagram in received.bytes.chunks(received.segment_bytes.max(1)) {
            let Some((id, stamp)) = read_datagram(datagram) else {
                strange += 1;
                continue;
            };
            let known = last.filter(|(last, _)| *last == id).map(|(_, index)| index);
            let Some(index) = known.or_else(|| self.index(session, id)) else {
                strange += 1;
                continue;
            };
            *last = Some((id, index));
            let Some(flow) = &mut self.flows[index] else {
                continue;
            };
            flow.tos = received.tos.or(flow.tos);
            flow.add_block(stamp, received_ns, datagram.len() as u32);
        }
        // An empty datagram has no pieces.
        strange + u64::from(received.bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn what_arrives_is_counted_whatever_the_clock_says() {
        for has_stamps in [true, false] {
            let mut flow = SinkFlow::new(0, has_stamps);
            let origin_ns = stamp_ns();
            let mut arrived = 0;
            // A clock that goes back by minutes, and a flow that lasts longer than a day.
            for second in [0, 200, 201, 1, 50, 100_000, 100_001] {
                let at_ns = origin_ns + second * SECOND_NS;
                let stamp = BlockStamp {
                    sequence: arrived,
                    sent_ns: at_ns,
                };
                if has_stamps {
                    flow.add_block(stamp, at_ns, 100);
                } else {
                    flow.add_bytes(at_ns, 100);
                }
                arrived += 1;
                let counts = flow.counts(CountsWanted::Now);
                let packets = if has_stamps { arrived } else { 0 };
                assert_eq!((counts.bytes, counts.packets), (100 * arrived, packets));
            }
        }
    }
}
