//! Flow queue CoDel: a queue with [`CodelQueue`] for each flow, which take turns (RFC 8290, section
//! 4).

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::codel::{CodelQueue, DroppedFrames};
use super::flow_key::FlowKey;
use super::managed::WaitingFrame;
use crate::impairment::FqCodelSettings;

/// Most frames that are dropped at once of the longest queue (RFC 8290, section 4.1).
const MOST_DROPS: usize = 64;

#[derive(Debug)]
pub(super) struct FlowQueues {
    settings: FqCodelSettings,
    seed: u64,
    queues: Vec<FlowQueue>,
    /// Queues that were empty, and have not been served since.
    new: VecDeque<usize>,
    /// Other queues, in the order of their turns.
    old: VecDeque<usize>,
    frames: usize,
}

#[derive(Debug, Default)]
struct FlowQueue {
    queue: CodelQueue,
    /// Bytes that it may send in this turn.
    credits: i64,
    /// The queue is in one of the lists.
    is_listed: bool,
}

impl FlowQueues {
    pub(super) fn new(settings: FqCodelSettings, seed: u64) -> FlowQueues {
        let flows = settings.flows.max(1) as usize;
        FlowQueues {
            settings,
            seed,
            queues: std::iter::repeat_with(FlowQueue::default)
                .take(flows)
                .collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            frames: 0,
        }
    }

    /// Adds a frame. If there are then too many, half of the longest queue is dropped, from its
    /// head.
    pub(super) fn push(&mut self, frame: WaitingFrame, dropped: &mut DroppedFrames) {
        let number = self.number_of(&frame);
        let queue = &mut self.queues[number];
        queue.queue.push(frame);
        self.frames += 1;
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credits = i64::from(self.settings.quantum);
            self.new.push_back(number);
        }
        if self.frames > self.settings.codel.frames {
            self.shorten_longest(dropped);
        }
    }

    pub(super) fn take(
        &mut self,
        now: u64,
        longest: usize,
        dropped: &mut DroppedFrames,
    ) -> Option<WaitingFrame> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = &mut self.queues[number];
            if queue.credits <= 0 {
                queue.credits += i64::from(self.settings.quantum);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = dropped.frames;
            let taken = queue
                .queue
                .take(now, &self.settings.codel, longest, dropped);
            self.frames -= usize::try_from(dropped.frames - before).unwrap_or(0);
            if let Some(frame) = taken {
                self.frames -= 1;
                queue.credits -= i64::try_from(frame.length()).unwrap_or(i64::MAX);
                return Some(frame);
            }
            list.pop_front();
            if is_new {
                // A flow that sends a frame occasionally must not overtake the others each time.
                self.old.push_back(number);
            } else {
                queue.is_listed = false;
            }
        }
    }

    fn number_of(&self, frame: &WaitingFrame) -> usize {
        let mut hasher = DefaultHasher::new();
        (self.seed, FlowKey::of(&frame.frame)).hash(&mut hasher);
        (hasher.finish() % self.queues.len() as u64) as usize
    }

    fn shorten_longest(&mut self, dropped: &mut DroppedFrames) {
        let queues = self.queues.iter_mut();
        let Some(longest) = queues.max_by_key(|queue| queue.queue.bytes()) else {
            return;
        };
        let count = longest.queue.frames().div_ceil(2).min(MOST_DROPS);
        for _ in 0..count {
            if let Some(frame) = longest.queue.drop_first() {
                dropped.add(&frame);
                self.frames -= 1;
            }
        }
    }
}
