//! The sender of a link: frames leave at a rate, and wait in a queue until it is their turn.

use std::collections::VecDeque;

use crate::impairment::{Bandwidth, QueueLimit};

#[derive(Debug)]
pub(super) struct Sender {
    bandwidth: Option<Bandwidth>,
    /// When the last frame accepted so far is sent, in ns.
    free_at: u64,
    /// What rounding to ns has left out of `free_at`, in ns times bit/s.
    remainder: u128,
    /// Frames whose sending has not begun: when it does, and their bytes.
    waiting: VecDeque<(u64, usize)>,
    waiting_bytes: usize,
    peak_frames: usize,
    peak_bytes: usize,
}

impl Sender {
    pub(super) fn new(bandwidth: Option<Bandwidth>) -> Sender {
        Sender {
            bandwidth,
            free_at: 0,
            remainder: 0,
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
        if self.free_at > now {
            let is_full = match bandwidth.queue {
                QueueLimit::Frames(frames) => self.waiting.len() >= frames,
                QueueLimit::Bytes(bytes) => self.waiting_bytes + length > bytes,
            };
            if is_full {
                return None;
            }
            self.wait(length);
        } else {
            self.free_at = now;
            self.remainder = 0;
        }
        let bits = 8 * (length as u128 + u128::from(bandwidth.overhead));
        let work = bits * 1_000_000_000 + self.remainder;
        let rate = u128::from(bandwidth.bits_per_second);
        let time = u64::try_from(work / rate).unwrap_or(u64::MAX);
        self.remainder = work % rate;
        self.free_at = self.free_at.saturating_add(time);
        Some(self.free_at)
    }

    fn wait(&mut self, length: usize) {
        self.waiting.push_back((self.free_at, length));
        self.waiting_bytes += length;
        self.peak_frames = self.peak_frames.max(self.waiting.len());
        self.peak_bytes = self.peak_bytes.max(self.waiting_bytes);
    }

    pub(super) fn peak_frames(&self) -> usize {
        self.peak_frames
    }

    pub(super) fn peak_bytes(&self) -> usize {
        self.peak_bytes
    }
}
