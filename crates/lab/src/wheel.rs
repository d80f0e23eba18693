//! A timer wheel: values that are due at a time, returned in the order of their times.
//!
//! Hierarchical, after G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", 1987:
//! nine levels of 64 slots; a slot of the first level is a tick of 1.024 µs, one of each further
//! level as long as the whole level before. The level of a value is that of the highest bits in
//! which its tick differs from the current one, so that all of a level are due before all of the
//! next. Ticks only sort: deadlines stay exact to the nanosecond.

use std::collections::VecDeque;

/// A tick has 2^10 ns.
const TICK: u32 = 10;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
/// Nine times six bits are the 54 of a tick's number.
const LEVELS: usize = 9;

/// Values that are due at a time in nanoseconds, of any clock that starts near zero.
///
/// Insertion and removal take constant time, but for moves from level to level: at most eight of
/// each value.
#[derive(Debug)]
pub struct TimerWheel<T> {
    /// All values up to this tick are in `due`; the slots hold later ones.
    tick: u64,
    /// Values of the current tick and before, in order.
    due: VecDeque<Timer<T>>,
    levels: Vec<WheelLevel<T>>,
    /// Insertions so far: values of the same time keep their order.
    insertions: u64,
    length: usize,
}

#[derive(Debug)]
struct Timer<T> {
    at: u64,
    insertion: u64,
    value: T,
}

#[derive(Debug)]
struct WheelLevel<T> {
    /// Bit n: slot n is not empty.
    occupied: u64,
    slots: Vec<WheelSlot<T>>,
}

#[derive(Debug)]
struct WheelSlot<T> {
    /// Earliest time of its values; meaningless if it is empty.
    earliest: u64,
    timers: Vec<Timer<T>>,
}

impl<T> TimerWheel<T> {
    /// An empty wheel, at time 0.
    pub fn new() -> TimerWheel<T> {
        let slot = || WheelSlot {
            earliest: 0,
            timers: Vec::new(),
        };
        let level = || WheelLevel {
            occupied: 0,
            slots: std::iter::repeat_with(slot).take(SLOTS).collect(),
        };
        TimerWheel {
            tick: 0,
            due: VecDeque::new(),
            levels: std::iter::repeat_with(level).take(LEVELS).collect(),
            insertions: 0,
            length: 0,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a value that is due at `at` ns, which may be in the past.
    pub fn insert(&mut self, at: u64, value: T) {
        self.insertions += 1;
        self.length += 1;
        self.insert_timer(Timer {
            at,
            insertion: self.insertions,
            value,
        });
    }

    /// When the first value is due, in ns, exactly.
    pub fn next_deadline(&self) -> Option<u64> {
        if let Some(first) = self.due.front() {
            return Some(first.at);
        }
        let (level, slot) = self.first_slot()?;
        Some(self.levels[level].slots[slot].earliest)
    }

    /// Removes the first value that is due at `now` ns, with its time. Values come in the order of
    /// their times, and those of the same time in the order of insertion.
    pub fn pop(&mut self, now: u64) -> Option<(u64, T)> {
        if self.is_empty() {
            // The next value is near the current time, and so in one of the first levels.
            self.tick = self.tick.max(now >> TICK);
            return None;
        }
        while self.due.is_empty() {
            let (level, slot) = self.first_slot()?;
            let start = self.start_of(level, slot);
            if start << TICK > now {
                return None;
            }
            self.tick = start;
            self.empty(level, slot);
        }
        if self.due.front()?.at > now {
            return None;
        }
        let first = self.due.pop_front()?;
        self.length -= 1;
        Some((first.at, first.value))
    }

    fn insert_timer(&mut self, timer: Timer<T>) {
        let tick = timer.at >> TICK;
        if tick <= self.tick {
            let order =
                |other: &Timer<T>| (other.at, other.insertion) < (timer.at, timer.insertion);
            let index = self.due.partition_point(order);
            self.due.insert(index, timer);
            return;
        }
        let level = (tick ^ self.tick).ilog2() / SLOT_BITS;
        let slot = (tick >> (level * SLOT_BITS)) as usize % SLOTS;
        let level = &mut self.levels[level as usize];
        let is_first = level.occupied & (1 << slot) == 0;
        level.occupied |= 1 << slot;
        let slot = &mut level.slots[slot];
        slot.earliest = if is_first {
            timer.at
        } else {
            slot.earliest.min(timer.at)
        };
        slot.timers.push(timer);
    }

    /// The slot whose values are due before all others. Occupied slots of a level are behind its
    /// current one, because their ticks are later and have the same higher bits.
    fn first_slot(&self) -> Option<(usize, usize)> {
        let mut levels = self.levels.iter().enumerate();
        let (level, first) = levels.find(|(_, level)| level.occupied != 0)?;
        Some((level, first.occupied.trailing_zeros() as usize))
    }

    /// First tick of a slot.
    fn start_of(&self, level: usize, slot: usize) -> u64 {
        let shift = level as u32 * SLOT_BITS;
        let higher = self.tick >> (shift + SLOT_BITS) << (shift + SLOT_BITS);
        higher | (slot as u64) << shift
    }

    /// Moves the values of a slot to lower levels. The slot keeps its memory.
    fn empty(&mut self, level: usize, slot: usize) {
        let source = &mut self.levels[level];
        source.occupied &= !(1 << slot);
        let mut timers = std::mem::take(&mut source.slots[slot].timers);
        for timer in timers.drain(..) {
            self.insert_timer(timer);
        }
        self.levels[level].slots[slot].timers = timers;
    }
}

impl<T> Default for TimerWheel<T> {
    fn default() -> TimerWheel<T> {
        TimerWheel::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The expected behaviour of a wheel, by sorting.
    fn expected(timers: &[(u64, usize)]) -> Vec<(u64, usize)> {
        let mut sorted = timers.to_vec();
        sorted.sort();
        sorted
    }

    fn drained(wheel: &mut TimerWheel<usize>, now: u64) -> Vec<(u64, usize)> {
        std::iter::from_fn(|| wheel.pop(now)).collect()
    }

    #[test]
    fn values_come_in_the_order_of_their_times_at_every_distance() {
        let times = [
            0,
            1,
            1 << 10,
            (1 << 10) - 1,
            50_000_000,
            50_000_001,
            1 << 40,
            u64::MAX,
            u64::MAX - 1,
            (1 << 16) + 5,
            1 << 16,
        ];
        let timers: Vec<_> = times.iter().copied().zip(0..).collect();
        let mut wheel = TimerWheel::new();
        for (at, value) in &timers {
            wheel.insert(*at, *value);
        }
        assert_eq!(wheel.len(), timers.len());
        assert_eq!(drained(&mut wheel, u64::MAX), expected(&timers));
        assert!(wheel.is_empty());
        assert_eq!(wheel.next_deadline(), None);
    }

    #[test]
    fn nothing_is_due_before_its_nanosecond() {
        let mut wheel = TimerWheel::new();
        let now = 123_456_789;
        assert_eq!(wheel.pop(now), None);
        wheel.insert(now + 50_000_000, ());
        assert_eq!(wheel.next_deadline(), Some(now + 50_000_000));
        assert_eq!(wheel.pop(now + 49_999_999), None);
        assert_eq!(wheel.pop(now + 50_000_000), Some((now + 50_000_000, ())));
    }

    #[test]
    fn values_of_the_past_are_due_at_once_and_first() {
        let mut wheel = TimerWheel::new();
        wheel.insert(5_000, 'b');
        assert_eq!(wheel.pop(4_999), None);
        wheel.insert(10, 'a');
        assert_eq!(wheel.next_deadline(), Some(10));
        assert_eq!(wheel.pop(4_999), Some((10, 'a')));
        assert_eq!(wheel.pop(5_000), Some((5_000, 'b')));
    }

    /// A step of a simulation: the clock advances, and a value is added that is due later.
    fn steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let advance = prop_oneof![0_u64..3_000, 0_u64..2_000_000, Just(1 << 33)];
        let delay = prop_oneof![
            Just(0_u64),
            Just(50_000_000),
            0_u64..5_000,
            0_u64..200_000_000,
            0_u64..1 << 45
        ];
        prop::collection::vec((advance, delay), 1..200)
    }

    proptest! {
        /// At each step of the clock, exactly the values that are due are returned, in order; and
        /// the next deadline is that of the first of the others.
        #[test]
        fn a_wheel_is_a_sorted_list(steps in steps()) {
            let mut wheel = TimerWheel::new();
            let mut list: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (number, (advance, delay)) in steps.into_iter().enumerate() {
                now += advance;
                let due: Vec<_> = list.iter().copied().filter(|(at, _)| *at <= now).collect();
                list.retain(|(at, _)| *at > now);
                prop_assert_eq!(drained(&mut wheel, now), due);
                prop_assert_eq!(wheel.next_deadline(), list.first().map(|(at, _)| *at));
                wheel.insert(now + delay, number);
                list.push((now + delay, number));
                list.sort();
                prop_assert_eq!(wheel.len(), list.len());
                prop_assert_eq!(wheel.next_deadline(), list.first().map(|(at, _)| *at));
            }
        }
    }
}
