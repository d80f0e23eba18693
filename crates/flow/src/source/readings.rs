//! Figures of flows while they run and when they have ended, from both ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::counters::{FlowCounters, PacingError};
use super::open::OpenFlow;
use crate::message::{DelaySummary, ReadingOccasion, SinkCounts, StreamStalls};
use crate::sys::{TcpFacts, tcp_facts};
use crate::{FlowError, FlowTransport};

/// Longest round trip with which data sent at a full second arrive before the sink reports the next
/// one.
const SHORT_ROUND_TRIP: Duration = Duration::from_millis(800);
/// Full seconds whose sent datagrams are kept.
const KEPT_SECONDS: usize = 64;
/// Most flow seconds kept that the sink has not reported yet.
const MOST_AWAITED: usize = 100_000;

/// Counts of one flow in an interval, or until its end. Both ends read their counts at full seconds
/// after the agreement, so that they differ by the time that the agreement took, however late the
/// sink's counts arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowReading {
    /// Bytes passed to the kernel of the source.
    pub sent_bytes: u64,
    /// Blocks or datagrams among them.
    pub sent_blocks: u64,
    /// Blocks that were sent more than 1 ms after their moments.
    pub late_blocks: u64,
    /// Blocks dropped because the source was later than the backlog allows.
    pub dropped_blocks: u64,
    /// Blocks dropped because the network had no room for earlier ones for so long.
    pub blocked_blocks: u64,
    /// Blocks not sent because they exceed the agreed rate.
    pub excess_blocks: u64,
    /// Blocks that the system refused to send: a full buffer, or a closed port.
    pub refused_blocks: u64,
    /// Bytes that were added to blocks shorter than their headers.
    pub padding_bytes: u64,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// The smoothed round trip of TCP at the end of the interval, in microseconds.
    pub round_trip_us: Option<u32>,
    /// Bytes that the sink received.
    pub received_bytes: u64,
    /// Arrivals of the first and the last of them, in nanoseconds after the agreement.
    pub arrived_ns: Option<(u64, u64)>,
    /// Datagrams received, or blocks with time stamps.
    pub received_blocks: u64,
    /// Datagrams lost: those missing at the sink, and those that were sent a second ago and have
    /// not arrived. In an interval: missing now and not before. Where some arrive late, later
    /// intervals have fewer.
    pub lost: u64,
    /// Datagrams among them, of all flows with the same port, that were dropped because the socket
    /// buffer of the sink was full: the first of these flows has the count.
    pub overflowed: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Datagrams that arrived repeatedly.
    pub duplicates: u64,
    /// Interarrival jitter at the end of the interval in nanoseconds (RFC 3550).
    pub jitter_ns: u64,
    /// The longest one-way delay above the shortest of the flow in nanoseconds (RFC 5481). In
    /// totals: of the last interval.
    pub delay_variation_ns: u64,
    /// Delays of the whole flow, when it has ended and has time stamps.
    pub delays: Option<DelaySummary>,
    /// Times without a byte of a stream without time stamps. In an interval: those that became
    /// longer than the limit in it, and by how much all of them grew.
    pub stalls: Option<StreamStalls>,
    /// DSCP of the last datagram at the sink.
    pub dscp: Option<u8>,
    /// The connection of the flow failed. In an interval: it failed in it.
    pub has_failed: bool,
}

/// All flows in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadReading {
    /// Its end, since the agreement, by the clock of the sink.
    pub at: Duration,
    /// Its length: a second, or less for a requested one. Where the flows ended, until the last
    /// byte was sent or arrived.
    pub span: Duration,
    /// A full second is over.
    pub is_full_second: bool,
    /// Flows in the order of the plan.
    pub flows: Vec<FlowReading>,
}

impl LoadReading {
    /// Rate of all flows together at the sink, in bytes per second.
    pub fn received_bytes_per_second(&self) -> f64 {
        let bytes = self.flows.iter().map(|flow| flow.received_bytes as f64);
        bytes.sum::<f64>() / self.span.as_secs_f64().max(1e-9)
    }

    /// Share of the datagrams of all flows that were lost.
    pub fn loss(&self) -> f64 {
        loss(&self.flows)
    }
}

/// All flows until their end.
#[derive(Debug, Clone)]
pub struct LoadTotals {
    /// From the beginning of sending to its end; for flows that ended early, to the last full
    /// second that the sink reported.
    pub elapsed: Duration,
    /// Flows in the order of the plan.
    pub flows: Vec<FlowReading>,
    /// Congestion control at the source, in the order of the plan; absent for datagrams.
    pub source_congestion_control: Vec<Option<String>>,
    /// The same at the sink.
    pub sink_congestion_control: Vec<Option<String>>,
    /// Accuracy of the schedules.
    pub pacing: PacingError,
    /// Why the flows ended early; absent where they did not. All figures are then those of the last
    /// full second that the sink reported.
    pub failure: Option<FlowError>,
}

impl LoadTotals {
    /// Share of the datagrams of all flows that were lost.
    pub fn loss(&self) -> f64 {
        loss(&self.flows)
    }
}

fn loss(flows: &[FlowReading]) -> f64 {
    let lost: f64 = flows.iter().map(|flow| flow.lost as f64).sum();
    let received: f64 = flows.iter().map(|flow| flow.received_blocks as f64).sum();
    lost / (lost + received).max(1.0)
}

/// Makes readings of the counts of both ends.
#[derive(Debug)]
pub(super) struct ReadingMaker {
    flows: Vec<WatchedFlow>,
    /// Totals at the last full second.
    before: Vec<FlowReading>,
    /// Totals sent at full seconds that the sink has not reported yet.
    awaited: VecDeque<Vec<FlowReading>>,
    /// Number of full seconds that it has reported.
    reported: u64,
    /// Datagrams sent until the last full second, and until those before it.
    sent_before: VecDeque<Vec<u64>>,
    /// The most that were lost at a full second.
    counted_lost: Vec<u64>,
    before_at: Duration,
    /// The last counts of the sink.
    sink: Vec<SinkCounts>,
}

#[derive(Debug)]
struct WatchedFlow {
    transport: FlowTransport,
    /// Length of the pieces of a stream without time stamps.
    piece_bytes: Option<u32>,
    counters: Arc<FlowCounters>,
    socket: Arc<socket2::Socket>,
}

impl ReadingMaker {
    pub(super) fn new(flows: &[OpenFlow]) -> ReadingMaker {
        let watched = flows.iter().map(|flow| WatchedFlow {
            transport: flow.plan.transport,
            piece_bytes: (flow.plan.transport == FlowTransport::Tcp && flow.plan.is_unlimited())
                .then_some(flow.plan.largest_block_bytes),
            counters: Arc::clone(&flow.counters),
            socket: Arc::clone(&flow.socket),
        });
        ReadingMaker {
            flows: watched.collect(),
            before: vec![FlowReading::default(); flows.len()],
            awaited: VecDeque::new(),
            reported: 0,
            sent_before: VecDeque::new(),
            counted_lost: vec![0; flows.len()],
            before_at: Duration::ZERO,
            sink: vec![SinkCounts::default(); flows.len()],
        }
    }

    /// Skips full seconds that the sink has reported while connections were made and nothing was
    /// sent.
    pub(super) fn pass(&mut self, seconds: u64) {
        self.reported += seconds;
        self.before_at = Duration::from_secs(seconds);
    }

    /// Keeps the sent totals, at each full second after the agreement.
    pub(super) fn look(&mut self, elapsed: Duration) {
        while self.reported + (self.awaited.len() as u64) < elapsed.as_secs()
            && (self.awaited.len() + 1) * self.flows.len() <= MOST_AWAITED.max(self.flows.len())
        {
            self.awaited.push_back(self.sent_now());
        }
    }

    fn sent_now(&self) -> Vec<FlowReading> {
        self.flows.iter().map(sent_by).collect()
    }

    /// Bytes that had arrived at the last report.
    pub(super) fn arrived_bytes(&self) -> u64 {
        self.sink.iter().map(|flow| flow.bytes).sum()
    }

    /// A reading from a message of the sink.
    pub(super) fn reading(
        &mut self,
        at: Duration,
        occasion: ReadingOccasion,
        counts: Vec<SinkCounts>,
        round_trip: Duration,
    ) -> LoadReading {
        if counts.len() == self.sink.len() {
            self.sink = counts;
        }
        let is_second = occasion == ReadingOccasion::Second;
        let awaited = is_second.then(|| self.awaited.pop_front()).flatten();
        let mut totals = self.with_sink(awaited.unwrap_or_else(|| self.sent_now()));
        for (number, now) in totals.iter_mut().enumerate() {
            let overdue = self.overdue(number, occasion, now, round_trip);
            now.lost = now.lost.max(overdue);
        }
        let pairs = totals.iter().zip(&self.before).zip(&self.counted_lost);
        let flows = pairs
            .map(|((now, before), counted_lost)| FlowReading {
                lost: now.lost.saturating_sub(*counted_lost),
                ..difference(now, before)
            })
            .collect();
        let span = at.saturating_sub(self.before_at);
        if is_second {
            self.reported += 1;
            for (counted, now) in self.counted_lost.iter_mut().zip(&totals) {
                *counted = now.lost.max(*counted);
            }
            let sent = totals.iter().map(|flow| flow.sent_blocks);
            self.sent_before.push_front(sent.collect());
            self.sent_before.truncate(KEPT_SECONDS);
            self.before = totals;
            self.before_at = at;
        }
        LoadReading {
            at,
            span,
            is_full_second: is_second,
            flows,
        }
    }

    /// Datagrams that were sent a second ago or earlier and have not arrived. The sink detects a
    /// missing number only when a later one arrives: when nothing arrives any more, it counts no
    /// loss. Where datagrams and messages together take seconds, only those from that many seconds
    /// before count.
    fn overdue(
        &self,
        number: usize,
        occasion: ReadingOccasion,
        now: &FlowReading,
        round_trip: Duration,
    ) -> u64 {
        if self.flows[number].transport != FlowTransport::Udp {
            return 0;
        }
        let beyond = round_trip.saturating_sub(SHORT_ROUND_TRIP);
        let seconds = usize::try_from(beyond.as_millis().div_ceil(1000)).unwrap_or(usize::MAX);
        // A reading within a second covers less than a second.
        let is_part = occasion != ReadingOccasion::Second;
        let age = seconds.saturating_add(usize::from(is_part));
        let sent = self.sent_before.get(age).map_or(0, |sent| sent[number]);
        sent.saturating_sub(now.received_blocks)
    }

    /// Totals until the last full second that the sink reported, and its time after the agreement.
    pub(super) fn last_second(&self) -> (Duration, Vec<FlowReading>) {
        (self.before_at, self.before.clone())
    }

    /// Totals until now. When all flows have ended, data that have not arrived are lost, too.
    pub(super) fn totals(&self, has_ended: bool) -> Vec<FlowReading> {
        let mut totals = self.with_sink(self.sent_now());
        for (reading, flow) in totals.iter_mut().zip(&self.flows) {
            if has_ended && flow.transport == FlowTransport::Udp {
                reading.lost = reading.sent_blocks.saturating_sub(reading.received_blocks);
            }
        }
        totals
    }

    /// Combines counts of the source and of the sink.
    fn with_sink(&self, sent: Vec<FlowReading>) -> Vec<FlowReading> {
        let flows = sent.into_iter().zip(&self.sink).zip(&self.flows);
        flows
            .map(|((sent, sink), flow)| FlowReading {
                received_bytes: sink.bytes,
                arrived_ns: sink.arrived_ns,
                received_blocks: sink.packets,
                lost: sink.lost,
                overflowed: sink.overflowed,
                reordered: sink.reordered,
                duplicates: sink.duplicates,
                jitter_ns: sink.jitter_ns,
                delay_variation_ns: sink.delay_variation_ns,
                delays: sink.delays,
                // A schedule may pause.
                stalls: sink.stalls.filter(|_| flow.piece_bytes.is_some()),
                dscp: sink.tos.map(|tos| tos >> 2),
                ..sent
            })
            .collect()
    }
}

/// Counts of the source of a flow.
fn sent_by(flow: &WatchedFlow) -> FlowReading {
    let counters = &flow.counters;
    let is_tcp = flow.transport == FlowTransport::Tcp;
    let read_now = || is_tcp.then(|| tcp_facts(std::os::fd::AsFd::as_fd(&*flow.socket)))?;
    let facts: Option<TcpFacts> = counters.last_facts().or_else(read_now);
    let sent_bytes = counters.sent_bytes.get();
    FlowReading {
        sent_bytes,
        sent_blocks: match flow.piece_bytes {
            Some(bytes) => sent_bytes / u64::from(bytes.max(1)),
            None => counters.sent_blocks.get(),
        },
        late_blocks: counters.late_blocks.get(),
        dropped_blocks: counters.dropped_blocks.get(),
        blocked_blocks: counters.blocked_blocks.get(),
        excess_blocks: counters.excess_blocks.get(),
        refused_blocks: counters.refused_blocks.get(),
        padding_bytes: counters.padding_bytes.get(),
        retransmissions: facts.map_or(0, |facts| u64::from(facts.retransmissions)),
        round_trip_us: facts.map(|facts| facts.round_trip_us),
        has_failed: counters.has_failed(),
        ..FlowReading::default()
    }
}

/// Counts of an interval; other figures as they are now.
fn difference(now: &FlowReading, before: &FlowReading) -> FlowReading {
    FlowReading {
        sent_bytes: now.sent_bytes.saturating_sub(before.sent_bytes),
        sent_blocks: now.sent_blocks.saturating_sub(before.sent_blocks),
        late_blocks: now.late_blocks.saturating_sub(before.late_blocks),
        dropped_blocks: now.dropped_blocks.saturating_sub(before.dropped_blocks),
        blocked_blocks: now.blocked_blocks.saturating_sub(before.blocked_blocks),
        excess_blocks: now.excess_blocks.saturating_sub(before.excess_blocks),
        refused_blocks: now.refused_blocks.saturating_sub(before.refused_blocks),
        padding_bytes: now.padding_bytes.saturating_sub(before.padding_bytes),
        retransmissions: now.retransmissions.saturating_sub(before.retransmissions),
        received_bytes: now.received_bytes.saturating_sub(before.received_bytes),
        received_blocks: now.received_blocks.saturating_sub(before.received_blocks),
        overflowed: now.overflowed.saturating_sub(before.overflowed),
        reordered: now.reordered.saturating_sub(before.reordered),
        duplicates: now.duplicates.saturating_sub(before.duplicates),
        stalls: now.stalls.map(|now| {
            let before = before.stalls.unwrap_or_default();
            StreamStalls {
                count: now.count.saturating_sub(before.count),
                total_ns: now.total_ns.saturating_sub(before.total_ns),
            }
        }),
        has_failed: now.has_failed && !before.has_failed,
        ..*now
    }
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Socket, Type};

    use super::*;
    use crate::payload::FlowId;
    use crate::source::plan::FlowPlan;

    /// The loss shown for 100 datagrams a second, after this many seconds of a network with this
    /// delay in each direction, which carries nothing from a moment on.
    fn lost(delay_ms: u64, passes_ms: u64, seconds: u64) -> u64 {
        let (mut maker, counters) = maker();
        let mut lost = 0;
        for second in 1..=seconds {
            let sent = (second * 1000 + delay_ms) / 10;
            counters.sent_blocks.add(sent - counters.sent_blocks.get());
            let counts = SinkCounts {
                packets: (second * 1000).min(passes_ms).saturating_sub(delay_ms) / 10,
                ..SinkCounts::default()
            };
            let round_trip = Duration::from_millis(2 * delay_ms);
            let at = Duration::from_secs(second);
            let reading = maker.reading(at, ReadingOccasion::Second, vec![counts], round_trip);
            lost += reading.flows[0].lost;
        }
        lost
    }

    /// A maker for one flow of datagrams.
    fn maker() -> (ReadingMaker, Arc<FlowCounters>) {
        let flow = OpenFlow {
            plan: FlowPlan::paced(FlowTransport::Udp, 100, 10_000, Duration::from_secs(60)),
            id: FlowId(1),
            socket: Arc::new(Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap()),
            counters: Arc::default(),
            congestion_control: None,
            sink_congestion_control: None,
        };
        let counters = Arc::clone(&flow.counters);
        (ReadingMaker::new(&[flow]), counters)
    }

    #[test]
    fn what_is_still_under_way_is_not_lost() {
        for (delay_ms, passes_ms) in [
            (0, 4000),
            (300, 4000),
            (600, 4000),
            (900, 4000),
            (6000, 9000),
        ] {
            let seconds = passes_ms / 1000 + 2 * delay_ms / 1000 + 5;
            assert_eq!(lost(delay_ms, u64::MAX, seconds), 0, "{delay_ms}");
            assert!(lost(delay_ms, passes_ms, seconds) >= 200, "{delay_ms}");
        }
    }

    #[test]
    fn a_report_that_comes_late_is_joined_with_what_had_been_sent_at_its_second() {
        let (mut maker, counters) = maker();
        for second in 1..=3 {
            counters.sent_blocks.add(100);
            maker.look(Duration::from_secs(second));
        }
        let mut sent = |occasion, second| {
            let counts = vec![SinkCounts::default()];
            let at = Duration::from_secs(second);
            maker.reading(at, occasion, counts, Duration::ZERO).flows[0].sent_blocks
        };
        let seconds = [1, 2, 3, 4].map(|second| sent(ReadingOccasion::Second, second));
        assert_eq!(seconds, [100, 100, 100, 0]);
        // The fourth second was read when its report arrived, and is not read again.
        maker.look(Duration::from_secs(4));
        assert!(maker.awaited.is_empty());
    }
}
