//! Stacks of rows, counted, and finally with names.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use record::{FlameRow, FlameStack, MeasureId};

use super::images::{CodeAddress, KnownStack};
use super::names::FunctionNames;

/// Most different stacks of a row that are kept while it is sampled.
const MOST_STACKS: usize = 4_096;
/// Most different stacks of a row that are recorded, after those with the same names are merged,
/// and most bytes of them.
const MOST_RECORDED: usize = 1_024;
const MOST_BYTES: usize = 1024 * 1024;

/// Samples in each part of the time.
type Parts = [u32; FlameRow::PARTS];

pub(super) struct SampledRows {
    /// Length of a part.
    part: Duration,
    rows: BTreeMap<MeasureId, RowStacks>,
}

#[derive(Default)]
struct RowStacks {
    /// Start of its first operation.
    begun: Duration,
    operations: u64,
    samples: u64,
    lost: u64,
    cut: u64,
    other: u64,
    stacks: HashMap<KnownStack, Parts>,
}

impl SampledRows {
    pub(super) fn new(part: Duration) -> SampledRows {
        SampledRows {
            part: part.max(Duration::from_nanos(1)),
            rows: BTreeMap::new(),
        }
    }

    /// Begins an operation of a row.
    pub(super) fn begins(&mut self, row: MeasureId, now: Duration) {
        let stacks_of_row = self.rows.entry(row).or_insert_with(|| RowStacks {
            begun: now,
            ..RowStacks::default()
        });
        stacks_of_row.operations += 1;
    }

    /// Adds a sample of a row that has begun.
    pub(super) fn add(&mut self, row: MeasureId, now: Duration, stack: KnownStack) {
        let Some(stacks_of_row) = self.rows.get_mut(&row) else {
            return;
        };
        stacks_of_row.samples += 1;
        stacks_of_row.cut += u64::from(stack.is_cut);
        let passed = now.saturating_sub(stacks_of_row.begun).as_nanos() / self.part.as_nanos();
        let part = usize::try_from(passed).unwrap_or(usize::MAX);
        let has_room = stacks_of_row.stacks.len() < MOST_STACKS;
        match stacks_of_row.stacks.get_mut(&stack) {
            Some(parts) => parts[part.min(FlameRow::PARTS - 1)] += 1,
            None if has_room => {
                let mut parts = Parts::default();
                parts[part.min(FlameRow::PARTS - 1)] = 1;
                stacks_of_row.stacks.insert(stack, parts);
            }
            None => stacks_of_row.other += 1,
        }
    }

    pub(super) fn add_lost(&mut self, row: MeasureId, lost: u64) {
        if let Some(stacks_of_row) = self.rows.get_mut(&row) {
            stacks_of_row.lost += lost;
        }
    }

    /// All addresses that need a name.
    pub(super) fn frames(&self) -> HashSet<CodeAddress> {
        let stacks = self.rows.values().flat_map(|row| row.stacks.keys());
        stacks
            .flat_map(|stack| stack.frames.iter().copied())
            .collect()
    }

    /// The rows with the names of their functions.
    pub(super) fn named(&self, names: &FunctionNames<'_>, frequency: u32) -> Vec<FlameRow> {
        let rows = self.rows.iter();
        let named = rows.map(|(&measure, row)| {
            let mut folded: BTreeMap<String, Parts> = BTreeMap::new();
            for (stack, parts) in &row.stacks {
                let mut name = names.program(stack.process);
                for address in &stack.frames {
                    name.push(';');
                    name += &names.name(*address);
                }
                let sum = folded.entry(name).or_default();
                for (sum, part) in sum.iter_mut().zip(parts) {
                    *sum += part;
                }
            }
            let (stacks, other) = most_frequent(folded);
            FlameRow {
                measure,
                operations: row.operations,
                frequency,
                samples: row.samples,
                lost: row.lost,
                cut: row.cut,
                other: row.other + other,
                by_thread: false,
                without_kernel: false,
                stacks,
            }
        });
        named.collect()
    }
}

/// The stacks that are recorded, the most frequent one first, and the samples of the others.
fn most_frequent(folded: BTreeMap<String, Parts>) -> (Vec<FlameStack>, u64) {
    let stacks = folded.into_iter().map(|(stack, parts)| {
        let used = parts
            .iter()
            .rposition(|part| *part > 0)
            .map_or(0, |last| last + 1);
        FlameStack {
            stack,
            samples: parts[..used].to_vec(),
        }
    });
    let mut stacks: Vec<FlameStack> = stacks.collect();
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.count()));
    let mut bytes = 0;
    let kept = stacks.iter().take(MOST_RECORDED).take_while(|recorded| {
        bytes += recorded.stack.len();
        bytes <= MOST_BYTES
    });
    let rest = stacks.split_off(kept.count());
    (stacks, rest.iter().map(FlameStack::count).sum())
}

#[cfg(test)]
mod tests {
    use super::super::images::CodeImages;
    use super::*;

    const ROW: MeasureId = MeasureId(0);

    fn stack(address: u64) -> KnownStack {
        KnownStack {
            process: 0,
            frames: vec![CodeAddress::Kernel(address)],
            is_cut: address.is_multiple_of(2),
        }
    }

    #[test]
    fn samples_are_counted_by_row_stack_and_time() {
        let mut rows = SampledRows::new(Duration::from_millis(10));
        let at = Duration::from_millis;
        rows.add(ROW, at(0), stack(1));
        rows.begins(ROW, at(100));
        for (time, address) in [(100, 1), (109, 2), (110, 1), (135, 1), (100_000, 3)] {
            rows.add(ROW, at(time), stack(address));
        }
        rows.add_lost(ROW, 7);
        rows.add_lost(MeasureId(1), 9);
        let images = CodeImages::default();
        // Without names, all of them are one stack.
        let names = FunctionNames::of(HashSet::new(), &images);
        let named = rows.named(&names, 4_999);
        let [row] = &named[..] else {
            panic!("{named:?}");
        };
        assert_eq!((row.samples, row.cut, row.lost, row.other), (5, 1, 7, 0));
        assert_eq!(row.stacks.len(), 1);
        assert_eq!(row.stacks[0].stack, "?;[kernel]_[k]");
        let parts = &row.stacks[0].samples;
        assert_eq!(parts.len(), FlameRow::PARTS);
        assert_eq!((&parts[..4], parts[15]), (&[2, 1, 0, 1][..], 1));
    }

    #[test]
    fn stacks_beyond_the_limit_are_counted_only() {
        let mut rows = SampledRows::new(Duration::from_millis(10));
        rows.begins(ROW, Duration::ZERO);
        for address in 0..2 * MOST_STACKS as u64 {
            rows.add(ROW, Duration::ZERO, stack(address));
        }
        assert_eq!(rows.rows[&ROW].stacks.len(), MOST_STACKS);
        assert_eq!(rows.rows[&ROW].other, MOST_STACKS as u64);
    }

    #[test]
    fn seldom_stacks_are_recorded_as_a_number() {
        let folded = (0..1_200_u32).map(|number| {
            let mut parts = Parts::default();
            parts[1] = 1 + number % 3;
            (format!("{number}"), parts)
        });
        let folded: BTreeMap<String, Parts> = folded.collect();
        let long = "x".repeat(MOST_BYTES);
        let too_long = [
            (long, [1; FlameRow::PARTS]),
            ("y".to_owned(), [2; FlameRow::PARTS]),
        ];
        let (stacks, other) = most_frequent(BTreeMap::from(too_long));
        assert_eq!(
            (stacks.len(), stacks[0].stack.as_str(), other),
            (1, "y", 16)
        );
        let all: u64 = folded.values().flatten().map(|part| u64::from(*part)).sum();
        let (stacks, other) = most_frequent(folded);
        assert_eq!(stacks.len(), MOST_RECORDED);
        assert_eq!(stacks[0].samples, [0, 3]);
        let kept: u64 = stacks.iter().map(FlameStack::count).sum();
        assert_eq!((kept + other, other), (all, 1_200 - MOST_RECORDED as u64));
    }
}
