//! A sender with a managed queue: the next frame and the dropped ones are chosen when the sender is
//! free.

use super::codel::{CodelQueue, DroppedFrames};
use super::fq_codel::FlowQueues;
use super::randomness::Decisions;
use super::sender::SendingClock;
use crate::counters::LinkCounters;
use crate::impairment::{Bandwidth, CodelSettings, LinkQueue};

/// A waiting frame, and the decisions made at its arrival.
#[derive(Debug)]
pub(super) struct WaitingFrame {
    pub(super) arrived: u64,
    pub(super) number: u64,
    /// The device that it came from, by the numbers of the link's owner.
    pub(super) from: usize,
    pub(super) frame: Vec<u8>,
    pub(super) decisions: Decisions,
}

impl WaitingFrame {
    pub(super) fn length(&self) -> usize {
        self.frame.len()
    }
}

#[derive(Debug)]
enum ManagedQueue {
    Codel(CodelSettings, CodelQueue),
    FqCodel(FlowQueues),
}

#[derive(Debug)]
pub(super) struct ManagedSender {
    bandwidth: Bandwidth,
    clock: SendingClock,
    queue: ManagedQueue,
    frames: usize,
    bytes: usize,
    /// Length of the longest frame so far.
    longest: usize,
    /// Arrival of a frame that found the queue empty.
    occupied_since: u64,
}

impl ManagedSender {
    /// `None` if the queue is not managed.
    pub(super) fn new(bandwidth: Bandwidth, seed: u64) -> Option<ManagedSender> {
        let queue = match bandwidth.queue {
            LinkQueue::Frames(_) | LinkQueue::Bytes(_) => return None,
            LinkQueue::Codel(settings) => ManagedQueue::Codel(settings, CodelQueue::default()),
            LinkQueue::FqCodel(settings) => ManagedQueue::FqCodel(FlowQueues::new(settings, seed)),
        };
        Some(ManagedSender {
            bandwidth,
            clock: SendingClock::default(),
            queue,
            frames: 0,
            bytes: 0,
            longest: 0,
            occupied_since: 0,
        })
    }

    /// Bytes of frames that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a waiting frame. False if it is dropped, because there is no room.
    pub(super) fn push(&mut self, frame: WaitingFrame, counters: &mut LinkCounters) -> bool {
        if self.frames == 0 {
            self.occupied_since = frame.arrived;
        }
        self.longest = self.longest.max(frame.length());
        let length = frame.length();
        let mut dropped = DroppedFrames::default();
        match &mut self.queue {
            ManagedQueue::Codel(settings, queue) => {
                if queue.frames() >= settings.frames {
                    counters.dropped_by_queue += 1;
                    return false;
                }
                queue.push(frame);
            }
            ManagedQueue::FqCodel(queues) => queues.push(frame, &mut dropped),
        }
        self.frames += 1;
        self.bytes += length;
        self.forget(dropped);
        counters.dropped_by_queue += dropped.frames;
        counters.peak_queue_frames = counters.peak_queue_frames.max(self.frames);
        counters.peak_queue_bytes = counters.peak_queue_bytes.max(self.bytes);
        true
    }

    /// When the next frame is taken from the queue, if one waits.
    pub(super) fn next(&self) -> Option<u64> {
        let free_at = self.clock.free_at();
        (self.frames > 0).then(|| free_at.max(self.occupied_since))
    }

    /// The next frame that is sent, and the time of its last bit. `None` if no waiting frame is due
    /// at `now`.
    pub(super) fn take(
        &mut self,
        now: u64,
        counters: &mut LinkCounters,
    ) -> Option<(WaitingFrame, u64)> {
        let at = self.next().filter(|at| *at <= now)?;
        let mut dropped = DroppedFrames::default();
        let taken = match &mut self.queue {
            ManagedQueue::Codel(settings, queue) => {
                queue.take(at, settings, self.longest, &mut dropped)
            }
            ManagedQueue::FqCodel(queues) => queues.take(at, self.longest, &mut dropped),
        };
        self.forget(dropped);
        counters.dropped_by_delay += dropped.frames;
        let frame = taken?;
        self.frames -= 1;
        self.bytes -= frame.length();
        // A caller that is late may have added frames since.
        let start = at.max(frame.arrived);
        let sent = self.clock.send(start, frame.length(), &self.bandwidth);
        Some((frame, sent))
    }

    fn forget(&mut self, dropped: DroppedFrames) {
        self.frames -= usize::try_from(dropped.frames).unwrap_or(0);
        self.bytes -= dropped.bytes;
    }
}
