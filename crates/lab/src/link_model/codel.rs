//! Controlled delay (CoDel): drops packets at the head of a queue whose shortest wait has been too
//! long for a while.
//!
//! RFC 8289, section 5, whose names are given in comments. A packet is dropped, never marked (ECN).

use std::collections::VecDeque;

use super::managed::WaitingFrame;
use crate::impairment::CodelSettings;

/// Intervals after which the rate of the last drops is forgotten (RFC 8289, section 5.5).
const MEMORY: u64 = 16;

/// A queue, and its state of control.
#[derive(Debug, Default)]
pub(super) struct CodelQueue {
    frames: VecDeque<WaitingFrame>,
    bytes: usize,
    /// When packets will be dropped, if all until then wait too long (`first_above_time_`); `None`:
    /// the last did not.
    drops_from: Option<u64>,
    is_dropping: bool,
    /// When the next is dropped (`drop_next_`).
    next_drop: u64,
    /// Drops since it is dropping (`count_`), and their number when that began (`lastcount_`).
    drops: u32,
    drops_before: u32,
}

/// Frames dropped from a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DroppedFrames {
    pub(super) frames: u64,
    pub(super) bytes: usize,
}

impl DroppedFrames {
    pub(super) fn add(&mut self, frame: &WaitingFrame) {
        self.frames += 1;
        self.bytes += frame.length();
    }
}

impl CodelQueue {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn frames(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn push(&mut self, frame: WaitingFrame) {
        self.bytes += frame.length();
        self.frames.push_back(frame);
    }

    /// Removes the first frame, regardless of its wait.
    pub(super) fn drop_first(&mut self) -> Option<WaitingFrame> {
        let frame = self.frames.pop_front()?;
        self.bytes -= frame.length();
        Some(frame)
    }

    /// The next frame to send at `now` (`dequeue`). Frames dropped before it are counted. `longest`
    /// is the length of the longest frame so far: a queue of no more than one is always short
    /// enough.
    pub(super) fn take(
        &mut self,
        now: u64,
        settings: &CodelSettings,
        longest: usize,
        dropped: &mut DroppedFrames,
    ) -> Option<WaitingFrame> {
        let (mut frame, mut may_drop) = self.first(now, settings, longest);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now >= self.next_drop {
                frame.iter().for_each(|frame| dropped.add(frame));
                self.drops = self.drops.saturating_add(1);
                (frame, may_drop) = self.first(now, settings, longest);
                self.is_dropping = may_drop;
                if may_drop {
                    self.next_drop = self.control_law(self.next_drop, settings);
                }
            }
        } else if may_drop {
            frame.iter().for_each(|frame| dropped.add(frame));
            (frame, _) = self.first(now, settings, longest);
            self.is_dropping = true;
            // Shortly after the last phase of drops, it begins with the rate that controlled the
            // queue then.
            let delta = self.drops.saturating_sub(self.drops_before);
            let since = now.saturating_sub(self.next_drop);
            self.drops = if delta > 1 && since < MEMORY * settings.interval {
                delta
            } else {
                1
            };
            self.next_drop = self.control_law(now, settings);
            self.drops_before = self.drops;
        }
        frame
    }

    /// The first frame, and whether it may be dropped (`dodequeue`).
    fn first(
        &mut self,
        now: u64,
        settings: &CodelSettings,
        longest: usize,
    ) -> (Option<WaitingFrame>, bool) {
        let Some(frame) = self.drop_first() else {
            self.drops_from = None;
            return (None, false);
        };
        let waited = now.saturating_sub(frame.arrived);
        if waited < settings.target || self.bytes <= longest {
            self.drops_from = None;
            return (Some(frame), false);
        }
        let from = *self.drops_from.get_or_insert(now + settings.interval);
        (Some(frame), now >= from)
    }

    /// Drops follow each other in the interval divided by the square root of their number (RFC
    /// 8289, section 5.4).
    fn control_law(&self, time: u64, settings: &CodelSettings) -> u64 {
        let step = settings.interval as f64 / f64::from(self.drops.max(1)).sqrt();
        time.saturating_add(step as u64)
    }
}
