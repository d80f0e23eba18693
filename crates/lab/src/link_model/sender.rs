//! The sender of a link: frames leave at a rate, and wait in a queue until it is their turn.

use std::collections::VecDeque;

use crate::impairment::{Bandwidth, LinkQueue};

/// When a sender has finished sending.
#[derive(Debug, Default)]
pub(super) struct SendingClock {
    /// When the last frame is sent, in ns.
    free_at: u64,
    /// Remainder of rounding `free_at` to ns, in ns times bit/s.
    remainder: u128,
}

impl SendingClock {
    pub(super) fn free_at(&self) -> u64 {
        self.free_at
    }

    /// When the next frame, which waits from `now` on, is sent to its last bit.
    pub(super) fn send(&mut self, now: u64, length: usize, bandwidth: &Bandwidth) -> u64 {
        if self.free_at < now {
            self.free_at = now;
            self.remainder = 0;
        }
        let bits = 8 * (length as u128 + u128::from(bandwidth.overhead));
        let work = bits * 1_000_000_000 + self.remainder;
        let rate = u128::from(bandwidth.bits_per_second);
        let time = u64::try_from(work / rate).unwrap_or(u64::MAX);
        self.remainder = work % rate;
        self.free_at = self.free_at.saturating_add(time);
        self.free_at
    }
}

/// A sender that drops frames for lack of room. So the moment of sending is known when a frame
/// arrives.
#[derive(Debug)]
pub(super) struct Sender {
    bandwidth: Option<Bandwidth>,
    clock: SendingClock,
    /// Frames whose sending has not begun: its time, and their bytes.
    waiting: VecDeque<(u64, usize)>,
    waiting_bytes: usize,
    pub(super) peak_frames: usize,
    pub(super) peak_bytes: usize,
}

impl Sender {
    pub(super) fn new(bandwidth: Option<Bandwidth>) -> Sender {
        Sender {
            bandwidth,
            clock: SendingClock::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            peak_frames: 0,
            peak_bytes: 0,
        }
    }

    /// When a frame that arrives at `now` is sent to its last bit; `None` if the queue is full.
    pub(super) fn send(&mut self, now: u64, length: usize) -> Option<u64> {
        let Some(bandwidth) = self.bandwidth else {
            return Some(now);
        };
        while let Some((_, bytes)) = self.waiting.pop_front_if(|(start, _)| *start <= now) {
            self.waiting_bytes -= bytes;
        }
        if self.clock.free_at() > now {
            let is_full = match bandwidth.queue {
                LinkQueue::Bytes(bytes) => self.waiting_bytes + length > bytes,
                LinkQueue::Frames(frames) => self.waiting.len() >= frames,
                // These have another sender.
                LinkQueue::Codel(_) | LinkQueue::FqCodel(_) => false,
            };
            if is_full {
                return None;
            }
            self.wait(length);
        }
        Some(self.clock.send(now, length, &bandwidth))
    }

    fn wait(&mut self, length: usize) {
        self.waiting.push_back((self.clock.free_at(), length));
        self.waiting_bytes += length;
        self.peak_frames = self.peak_frames.max(self.waiting.len());
        self.peak_bytes = self.peak_bytes.max(self.waiting_bytes);
    }
}
