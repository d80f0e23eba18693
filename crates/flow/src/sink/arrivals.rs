//! The flows of the data thread: whose data are whose, and what has arrived.

use std::collections::HashMap;

use crate::message::SinkCounts;
use crate::payload::{FlowId, read_datagram};
use crate::planned::{BlockArrival, FlowArrivals};
use crate::sys::Received;

/// A flow at the sink.
#[derive(Debug)]
pub(super) struct SinkFlow {
    session: u64,
    arrivals: FlowArrivals,
    tos: Option<u8>,
    has_stream: bool,
    has_ended: bool,
}

/// All flows of a sink.
#[derive(Debug, Default)]
pub(super) struct SinkFlows {
    flows: Vec<Option<SinkFlow>>,
    free: Vec<usize>,
    places: HashMap<FlowId, usize>,
    /// The places of each session, in the order of its agreement.
    sessions: HashMap<u64, Vec<usize>>,
}

/// The flow of the last datagram: most belong to the same as the one before.
pub(super) type LastFlow = Option<(FlowId, usize)>;

impl SinkFlows {
    pub(super) fn add(&mut self, session: u64, ids: &[FlowId]) {
        for id in ids {
            let flow = Some(SinkFlow {
                session,
                arrivals: FlowArrivals::default(),
                tos: None,
                has_stream: false,
                has_ended: false,
            });
            let place = match self.free.pop() {
                Some(place) => {
                    self.flows[place] = flow;
                    place
                }
                None => {
                    self.flows.push(flow);
                    self.flows.len() - 1
                }
            };
            self.places.insert(*id, place);
            self.sessions.entry(session).or_default().push(place);
        }
    }

    pub(super) fn remove_session(&mut self, session: u64) {
        for place in self.sessions.remove(&session).unwrap_or_default() {
            self.flows[place] = None;
            self.free.push(place);
        }
        let flows = &self.flows;
        self.places.retain(|_, place| flows[*place].is_some());
    }

    /// What has arrived of the flows of a session.
    pub(super) fn counts(&mut self, session: u64, begins_interval: bool) -> Vec<SinkCounts> {
        let places = self.sessions.get(&session).map(Vec::as_slice);
        let mut counts = Vec::new();
        for place in places.unwrap_or_default() {
            let Some(flow) = &mut self.flows[*place] else {
                continue;
            };
            counts.push(SinkCounts {
                arrivals: flow.arrivals.counts(),
                tos: flow.tos,
                has_ended: flow.has_ended,
            });
            if begins_interval {
                flow.arrivals.begin_interval();
            }
        }
        counts
    }

    fn of(&self, session: u64, id: FlowId) -> Option<usize> {
        let place = *self.places.get(&id)?;
        let flow = self.flows[place].as_ref()?;
        (flow.session == session).then_some(place)
    }

    /// A stream begins: its place, unless it is a stranger's or the second of its flow.
    pub(super) fn begin_stream(&mut self, session: u64, id: FlowId) -> Option<usize> {
        let place = self.of(session, id)?;
        let flow = self.flows[place].as_mut()?;
        (!std::mem::replace(&mut flow.has_stream, true)).then_some(place)
    }

    pub(super) fn end_stream(&mut self, place: usize) {
        if let Some(flow) = &mut self.flows[place] {
            flow.has_ended = true;
        }
    }

    /// The arithmetic of a flow.
    pub(super) fn arrivals(&mut self, place: usize) -> Option<&mut FlowArrivals> {
        self.flows[place].as_mut().map(|flow| &mut flow.arrivals)
    }

    /// Counts what a socket of a session has received; returns how many datagrams were strangers'.
    pub(super) fn record_datagrams(
        &mut self,
        session: u64,
        received: &Received<'_>,
        received_ns: i64,
        last: &mut LastFlow,
    ) -> u64 {
        let mut strange = 0;
        for datagram in received.bytes.chunks(received.segment_bytes.max(1)) {
            let Some((id, stamp)) = read_datagram(datagram) else {
                strange += 1;
                continue;
            };
            let known = last.filter(|(last, _)| *last == id).map(|(_, place)| place);
            let Some(place) = known.or_else(|| self.of(session, id)) else {
                strange += 1;
                continue;
            };
            *last = Some((id, place));
            let Some(flow) = &mut self.flows[place] else {
                continue;
            };
            flow.tos = received.tos.or(flow.tos);
            flow.arrivals.record(&BlockArrival {
                sequence: stamp.sequence,
                sent_ns: stamp.sent_ns,
                received_ns,
                bytes: datagram.len() as u32,
            });
        }
        // An empty datagram has no pieces.
        strange + u64::from(received.bytes.is_empty())
    }
}
