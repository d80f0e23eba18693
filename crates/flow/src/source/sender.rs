//! A flow that sends: by its schedule, or as fast as it can.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::MemfdFlags;
use socket2::Socket;
use traffic::{DepartureSchedule, PlannedDeparture};

use super::counters::{FlowCounters, LATE_NS, PacingHistogram};
use super::datagrams::DatagramSender;
use super::open::OpenFlow;
use super::stream::{StreamSender, Written};
use crate::FlowTransport;
use crate::behaviour::{BlockSchedule, FlowBehaviour};
use crate::clock::monotonic_ns;
use crate::sys::tcp_facts;

/// Blocks of a schedule, or datagrams that are sent together, before the next flow is served.
const TURN: usize = 64;
/// Blocks of a schedule that are dropped at once. A source that cannot even keep up with dropping
/// sends late blocks for the rest of its turn.
const MOST_DROPPED: u64 = 1 << 20;
/// Length of the content, which is sent repeatedly.
pub(super) const CONTENT: usize = 256 << 10;

/// Buffers shared by the flows of a thread.
pub(super) struct SendBuffers {
    /// The content. Headers overwrite its beginning.
    pub(super) content: Box<[u8]>,
    /// The same as a file in memory, whose pages the kernel sends without copying them.
    pub(super) file: OwnedFd,
    pacing: Arc<PacingHistogram>,
}

impl SendBuffers {
    pub(super) fn new(pacing: Arc<PacingHistogram>) -> io::Result<SendBuffers> {
        // Incompressible, and the same every time: xorshift64 (Marsaglia, 2003).
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let words = (0..CONTENT / 8).flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_ne_bytes()
        });
        let content: Box<[u8]> = words.collect();
        let file = rustix::fs::memfd_create("traffic", MemfdFlags::CLOEXEC)?;
        let mut rest = &*content;
        while !rest.is_empty() {
            let written = rustix::io::write(&file, rest)?;
            rest = &rest[written..];
        }
        Ok(SendBuffers {
            content,
            file,
            pacing,
        })
    }
}

/// When a flow continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextMoment {
    At(u64),
    /// When its socket has room.
    WithRoom,
    /// After the next flow was served.
    Now,
    Never,
}

enum FlowPace {
    Unlimited,
    Scheduled {
        schedule: BlockSchedule,
        next: Option<PlannedDeparture>,
    },
}

/// Permits a rate, and at most a second of it at once.
#[derive(Debug)]
struct RateCap {
    bytes_per_ns: f64,
    depth: f64,
    left: f64,
    at: u64,
}

impl RateCap {
    fn new(bytes_per_second: u64, largest_block: u32) -> RateCap {
        let rate = bytes_per_second as f64;
        let depth = rate.max(f64::from(largest_block));
        RateCap {
            bytes_per_ns: rate / 1e9,
            depth,
            left: depth,
            at: 0,
        }
    }

    fn permits(&mut self, now: u64, bytes: u32) -> bool {
        let passed = now.saturating_sub(self.at);
        self.at = now;
        self.left = (self.left + passed as f64 * self.bytes_per_ns).min(self.depth);
        let is_permitted = self.left >= f64::from(bytes);
        if is_permitted {
            self.left -= f64::from(bytes);
        }
        is_permitted
    }
}

enum FlowSocket {
    Stream(StreamSender),
    Datagrams(DatagramSender),
}

pub(super) struct SendingFlow {
    socket: Arc<Socket>,
    kind: FlowSocket,
    counters: Arc<FlowCounters>,
    pace: FlowPace,
    cap: Option<RateCap>,
    least_block: u32,
    largest_block: u32,
    backlog_ns: u64,
    start: u64,
    duration_ns: u64,
    is_blocked: bool,
    /// When its socket had room again: blocks of earlier moments waited for the network.
    unblocked_at: u64,
    has_ended: bool,
}

impl SendingFlow {
    /// `number` is that of the flow in its plan.
    pub(super) fn new(flow: OpenFlow, number: usize) -> SendingFlow {
        let plan = flow.plan;
        let largest_block = plan.largest_block_bytes.max(plan.least_block_bytes());
        let rate = plan.bytes_per_second;
        let cap = rate.map(|rate| RateCap::new(rate, largest_block));
        let kind = match plan.transport {
            FlowTransport::Tcp => FlowSocket::Stream(StreamSender::new(
                plan.has_stamps(),
                plan.options.no_delay.then_some(largest_block),
            )),
            FlowTransport::Udp => FlowSocket::Datagrams(DatagramSender::new(flow.id)),
        };
        let (least_block, backlog_ns) = (plan.least_block_bytes(), plan.backlog_ns());
        let pace = match (plan.behaviour, rate) {
            (FlowBehaviour::Full { .. }, None) => FlowPace::Unlimited,
            (FlowBehaviour::Full { block_bytes }, Some(rate)) => {
                scheduled(evenly(rate, block_bytes.max(least_block), number))
            }
            (FlowBehaviour::Scheduled(schedule), _) => scheduled(schedule),
        };
        SendingFlow {
            socket: flow.socket,
            kind,
            counters: flow.counters,
            pace,
            cap,
            least_block,
            largest_block,
            backlog_ns,
            start: 0,
            duration_ns: u64::try_from(plan.duration.as_nanos()).unwrap_or(u64::MAX),
            is_blocked: false,
            unblocked_at: 0,
            has_ended: false,
        }
    }

    /// Sets the start of the schedule; returns the moment of its first block.
    pub(super) fn begin(&mut self, start: u64) -> u64 {
        self.start = start;
        match &self.pace {
            FlowPace::Scheduled {
                next: Some(next), ..
            } => start.saturating_add(next.at_ns),
            _ => start,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.duration_ns)
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// True if it may have to wait for room in its socket.
    pub(super) fn waits_for_room(&self) -> bool {
        matches!(self.kind, FlowSocket::Stream(_)) || matches!(self.pace, FlowPace::Unlimited)
    }

    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Sends the blocks that are due.
    pub(super) fn advance(&mut self, buffers: &mut SendBuffers) -> NextMoment {
        let now = monotonic_ns();
        if now >= self.end() {
            return self.finish();
        }
        let was_blocked = std::mem::take(&mut self.is_blocked);
        if let FlowSocket::Stream(stream) = &mut self.kind
            && stream.has_pending()
        {
            match stream.write_pending(&self.socket, buffers) {
                Written::All => {}
                Written::Part => return self.block(),
                Written::Failed => return self.fail(),
            }
        }
        if was_blocked {
            self.unblocked_at = monotonic_ns();
        }
        if let FlowPace::Unlimited = self.pace {
            self.send_unlimited(buffers)
        } else {
            self.send_scheduled(buffers)
        }
    }

    fn send_unlimited(&mut self, buffers: &mut SendBuffers) -> NextMoment {
        let written = match &mut self.kind {
            FlowSocket::Stream(stream) => {
                stream.write_unlimited(&self.socket, buffers, &self.counters)
            }
            FlowSocket::Datagrams(datagrams) => {
                datagrams.send_unlimited(&self.socket, self.largest_block, buffers, &self.counters)
            }
        };
        match written {
            Written::All => NextMoment::Now,
            Written::Part => self.block(),
            Written::Failed => self.fail(),
        }
    }

    fn send_scheduled(&mut self, buffers: &mut SendBuffers) -> NextMoment {
        let mut keeps_up = true;
        for _ in 0..TURN {
            let now = monotonic_ns();
            keeps_up = keeps_up && self.drop_late(now);
            match self.next_due() {
                None => return self.finish(),
                Some(due) if due > now => return NextMoment::At(due),
                Some(_) => {}
            }
            match self.send_due(now, buffers) {
                Written::All => {}
                Written::Part => return self.block(),
                Written::Failed => return self.fail(),
            }
        }
        self.next_due().map_or(NextMoment::Now, NextMoment::At)
    }

    fn next_block(&self) -> Option<PlannedDeparture> {
        match &self.pace {
            FlowPace::Scheduled { next, .. } => *next,
            FlowPace::Unlimited => None,
        }
    }

    fn next_due(&self) -> Option<u64> {
        let block = self.next_block()?;
        Some(self.start.saturating_add(block.at_ns))
    }

    fn take_block(&mut self) {
        if let FlowPace::Scheduled { schedule, next } = &mut self.pace {
            *next = schedule.next();
        }
    }

    /// Drops late blocks; true if those are all.
    fn drop_late(&mut self, now: u64) -> bool {
        let late = now.saturating_sub(self.backlog_ns);
        let (blocked, are_all) = self.skip_until(late.min(self.unblocked_at));
        self.counters.blocked_blocks.add(blocked);
        if !are_all {
            return false;
        }
        let (dropped, are_all) = self.skip_until(late);
        self.counters.dropped_blocks.add(dropped);
        are_all
    }

    /// Skips blocks before a moment; returns their number, and whether those are all.
    fn skip_until(&mut self, moment: u64) -> (u64, bool) {
        let at_ns = moment.saturating_sub(self.start);
        let FlowPace::Scheduled { schedule, next } = &mut self.pace else {
            return (0, true);
        };
        let mut skipped = 0;
        while next.is_some_and(|next| next.at_ns < at_ns) {
            if skipped >= MOST_DROPPED {
                return (skipped, false);
            }
            skipped += 1 + schedule.skip_until(at_ns);
            *next = schedule.next();
        }
        (skipped, true)
    }

    /// Takes a block whose moment has come; its length, unless it exceeds the agreed rate.
    fn permitted(&mut self, block: PlannedDeparture, now: u64) -> Option<u32> {
        self.take_block();
        let bytes = block.bytes.max(self.least_block);
        let is_permitted = bytes <= self.largest_block
            && self.cap.as_mut().is_none_or(|cap| cap.permits(now, bytes));
        if !is_permitted {
            self.counters.excess_blocks.add(1);
        }
        is_permitted.then_some(bytes)
    }

    fn count(&self, block: PlannedDeparture, now: u64, buffers: &SendBuffers) {
        let (counters, due) = (&self.counters, self.start.saturating_add(block.at_ns));
        let late = now.saturating_sub(due);
        if late > LATE_NS {
            counters.late_blocks.add(1);
        }
        if due >= self.unblocked_at {
            buffers.pacing.record(late);
        }
        let padding = self.least_block.saturating_sub(block.bytes);
        counters.padding_bytes.add(u64::from(padding));
    }

    /// Sends the next block, whose moment has come; with a datagram, those of the same length that
    /// are due, too.
    fn send_due(&mut self, now: u64, buffers: &mut SendBuffers) -> Written {
        let Some(block) = self.next_block() else {
            return Written::All;
        };
        let Some(bytes) = self.permitted(block, now) else {
            return Written::All;
        };
        self.count(block, now, buffers);
        let mut blocks = 1;
        if let FlowSocket::Datagrams(datagrams) = &self.kind {
            let most = datagrams.most(bytes);
            while blocks < most
                && let Some(next) = self.next_block()
                && next.bytes == block.bytes
                && self.start.saturating_add(next.at_ns) <= now
            {
                if self.permitted(next, now).is_some() {
                    self.count(next, now, buffers);
                    blocks += 1;
                }
            }
        }
        let (sent, written) = match &mut self.kind {
            FlowSocket::Stream(stream) => {
                stream.begin_block(bytes);
                (1, stream.write_pending(&self.socket, buffers))
            }
            FlowSocket::Datagrams(datagrams) => {
                let sent = datagrams.send(&self.socket, bytes, blocks, buffers);
                (sent.unwrap_or(0), Written::All)
            }
        };
        let counters = &self.counters;
        counters.refused_blocks.add((blocks - sent) as u64);
        counters.sent_blocks.add(sent as u64);
        counters.sent_bytes.add(sent as u64 * u64::from(bytes));
        written
    }

    fn block(&mut self) -> NextMoment {
        self.is_blocked = true;
        NextMoment::WithRoom
    }

    fn fail(&mut self) -> NextMoment {
        self.counters.fail();
        self.finish()
    }

    fn finish(&mut self) -> NextMoment {
        self.close(false);
        NextMoment::Never
    }

    /// Ends the flow; an abandoned one discards the rest of its buffer.
    pub(super) fn close(&mut self, is_abandoned: bool) {
        let is_stream = matches!(self.kind, FlowSocket::Stream(_));
        if !self.has_ended && is_stream {
            self.counters.end(tcp_facts(self.socket.as_fd()));
            // Fails if the connection has ended already.
            let _ = self.socket.shutdown(std::net::Shutdown::Write);
        }
        if is_abandoned && is_stream {
            let _ = rustix::net::connect_unspec(&*self.socket);
        }
        self.has_ended = true;
    }
}

fn scheduled(mut schedule: BlockSchedule) -> FlowPace {
    let next = schedule.next();
    FlowPace::Scheduled { schedule, next }
}

/// Evenly spaced blocks. So that equal flows do not all send at the same moments, each begins at
/// another part of its gap: by the golden ratio, which spreads any number of them evenly.
fn evenly(bytes_per_second: u64, block_bytes: u32, number: usize) -> BlockSchedule {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let gap_ns = f64::from(block_bytes) * 1e9 / bytes_per_second.max(1) as f64;
    let first_ns = ((number as f64 * GOLDEN).fract() * gap_ns) as u64;
    DepartureSchedule::constant_rate(block_bytes, bytes_per_second, first_ns).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_permits_its_rate_and_a_second_at_once() {
        let mut cap = RateCap::new(1000, 10);
        let second = 1_000_000_000;
        let permitted = |cap: &mut RateCap, now, blocks: u32| {
            (0..blocks).filter(|_| cap.permits(now, 100)).count()
        };
        assert_eq!(permitted(&mut cap, 5 * second, 20), 10);
        assert_eq!(permitted(&mut cap, 6 * second - 1, 20), 9);
        assert_eq!(permitted(&mut cap, 60 * second, 20), 10);
        // A block may be larger than the bytes of a second.
        let mut cap = RateCap::new(10, 100);
        assert!(cap.permits(second, 100));
        assert!(!cap.permits(2 * second, 100));
        assert!(cap.permits(11 * second, 100));
    }
}
