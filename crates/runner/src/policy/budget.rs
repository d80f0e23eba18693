//! Chooses the tests of the next block of runs, and their duration.
//!
//! A block is one run of each server, side by side, after a fresh start of those that are started
//! here. Differences between starts are the same for all operations of a run, so many short blocks
//! are more precise than a few long ones (Kalibera and Jones 2013, section 5: repeat at the highest
//! level that varies, as often as its cost allows). Time is shared equally between the undecided
//! tests: those that are cheap to set up take part in every block, and the others in as many as
//! their share allows. Where servers are looked into, numbers of calls are facts after a few
//! blocks, so tests take part in these first, within the budget.

use std::collections::BTreeMap;
use std::time::Duration;

/// Blocks that a budget is divided into. With more, starting takes too much of the time; with
/// fewer, Student's t has few degrees of freedom, and intervals are wide.
const BLOCKS: u32 = 24;

/// Blocks that are made even if the budget is too small for them: one block does not show how much
/// blocks differ.
pub(super) const LEAST_BLOCKS: u32 = 2;

/// Shortest block, in multiples of the time of starting and everything else that is no test.
const OVERHEADS: u32 = 3;

/// Duration of a test in a run of the first block, and shortest in later ones: ten batches.
const LEAST_MEASURED: Duration = Duration::from_millis(20);

/// Longest duration of a test in a run, so that there are many blocks.
const MOST_MEASURED: Duration = Duration::from_secs(2);

/// The blocks of a comparison within a budget of time.
#[derive(Debug)]
pub(super) struct Blocks {
    budget: Duration,
    /// Number of servers side by side.
    sides: u32,
    /// Blocks that each test needs, regardless of its share.
    needed: u32,
    tests: Vec<Test>,
    done: u32,
    /// Time of a block without its tests.
    overhead: Duration,
}

#[derive(Debug)]
struct Test {
    name: String,
    /// Time of all blocks, on all servers.
    spent: Duration,
    /// Time of its last block without measuring, on all servers.
    fixed: Duration,
    blocks: u32,
    /// A row of it is undecided.
    is_open: bool,
}

/// Tests of a block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TestBlock {
    pub(super) tests: Vec<String>,
    /// Duration of each test on each server.
    pub(super) measured: Duration,
}

impl Blocks {
    /// Blocks with these tests on `sides` servers; each test needs `needed` of them.
    pub(super) fn new(
        budget: Duration,
        (sides, needed): (u32, u32),
        tests: impl Iterator<Item = String>,
    ) -> Blocks {
        let test = |name| Test {
            name,
            spent: Duration::ZERO,
            fixed: Duration::ZERO,
            blocks: 0,
            is_open: true,
        };
        Blocks {
            budget,
            sides,
            needed,
            tests: tests.map(test).collect(),
            done: 0,
            overhead: Duration::ZERO,
        }
    }

    /// The next block after `elapsed` of the budget; `None` when all is decided, or nothing more
    /// fits.
    pub(super) fn next(&self, elapsed: Duration) -> Option<TestBlock> {
        let left = self.budget.saturating_sub(elapsed);
        let mut chosen = self.fitting(self.due(left), left);
        if chosen.is_empty() {
            chosen = self.fitting(self.open().collect(), left);
        }
        let count = u32::try_from(chosen.len()).ok();
        let count = count.filter(|count| *count > 0)?;
        let length = left / BLOCKS.saturating_sub(self.done).max(1);
        let length = length.max(self.overhead * OVERHEADS);
        let for_measuring = length.min(left).saturating_sub(self.fixed(&chosen));
        let is_chosen = |test: &&Test| chosen.iter().any(|other| other.name == test.name);
        let in_order = self.tests.iter().filter(is_chosen);
        Some(TestBlock {
            tests: in_order.map(|test| test.name.clone()).collect(),
            measured: (for_measuring / (count * self.sides)).clamp(LEAST_MEASURED, MOST_MEASURED),
        })
    }

    /// Least duration of the whole comparison, if the first block left too little of the budget for
    /// the second one.
    pub(super) fn beyond(&self, elapsed: Duration) -> Option<Duration> {
        let least = elapsed * LEAST_BLOCKS;
        let is_first = self.done == 1 && self.open().next().is_some();
        (is_first && least > self.budget * 3 / 2).then_some(least)
    }

    /// Adds a block that took `took`, with the time of each of its tests on all servers together.
    pub(super) fn add(
        &mut self,
        block: &TestBlock,
        took: Duration,
        tests: &BTreeMap<String, Duration>,
    ) {
        self.done += 1;
        for test in &mut self.tests {
            if let Some(spent) = tests.get(&test.name) {
                test.spent += *spent;
                test.blocks += 1;
                test.fixed = spent.saturating_sub(block.measured * self.sides);
            }
        }
        self.overhead = took.saturating_sub(tests.values().sum());
    }

    /// From now on, exactly these tests are undecided.
    pub(super) fn keep(&mut self, is_open: impl Fn(&str) -> bool) {
        for test in &mut self.tests {
            test.is_open = is_open(&test.name);
        }
    }

    /// The tests that fit into that time together, without the most expensive ones.
    fn fitting<'a>(&self, mut tests: Vec<&'a Test>, left: Duration) -> Vec<&'a Test> {
        tests.sort_by_key(|test| test.fixed);
        while self.done >= LEAST_BLOCKS && !tests.is_empty() && self.least(&tests) > left {
            tests.pop();
        }
        tests
    }

    fn open(&self) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(|test| test.is_open)
    }

    /// The tests below their share, and those that can still get the blocks that they need.
    fn due(&self, left: Duration) -> Vec<&Test> {
        let open: Vec<&Test> = self.open().collect();
        let spent: Duration = open.iter().map(|test| test.spent).sum();
        let share = spent / u32::try_from(open.len().max(1)).unwrap_or(u32::MAX);
        let needs = self.affordable(left);
        let is_needed = |test: &Test| needs.iter().any(|other| other.name == test.name);
        // At least one is at or below the mean.
        let is_due = |test: &&Test| test.spent <= share || is_needed(test);
        open.into_iter().filter(is_due).collect()
    }

    /// The tests that need further blocks, cheapest first, while the rest of the budget is enough
    /// for all of these blocks.
    fn affordable(&self, left: Duration) -> Vec<&Test> {
        let needs = self.open().filter(|test| test.blocks < self.needed);
        let mut needs: Vec<&Test> = needs.collect();
        needs.sort_by_key(|test| test.fixed);
        let of_all = |tests: &[&Test]| -> Duration {
            let most = tests.iter().map(|test| self.needed - test.blocks).max();
            let of_each = |test: &&Test| {
                (test.fixed + LEAST_MEASURED * self.sides) * (self.needed - test.blocks)
            };
            self.overhead * most.unwrap_or(0) + tests.iter().map(of_each).sum::<Duration>()
        };
        while !needs.is_empty() && of_all(&needs) > left {
            needs.pop();
        }
        needs
    }

    /// Time of a block with these tests, without measuring.
    fn fixed(&self, tests: &[&Test]) -> Duration {
        self.overhead + tests.iter().map(|test| test.fixed).sum::<Duration>()
    }

    /// The same with the shortest measuring.
    fn least(&self, tests: &[&Test]) -> Duration {
        let measured = LEAST_MEASURED * self.sides * u32::try_from(tests.len()).unwrap_or(u32::MAX);
        self.fixed(tests) + measured
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const BUDGET: Duration = Duration::from_secs(60);

    /// Simulates a comparison of two servers: tests by the time of setting them up on both servers,
    /// and rows by the block after which they are decided. Returns the blocks and their time.
    fn played(
        tests: &[(&str, Duration, usize)],
        overhead: Duration,
        budget: Duration,
    ) -> (Vec<TestBlock>, Duration) {
        played_looking(tests, overhead, (budget, 0))
    }

    /// The same where each test needs `needed` blocks.
    fn played_looking(
        tests: &[(&str, Duration, usize)],
        overhead: Duration,
        (budget, needed): (Duration, u32),
    ) -> (Vec<TestBlock>, Duration) {
        let names = tests.iter().map(|(name, _, _)| (*name).to_owned());
        let mut blocks = Blocks::new(budget, (2, needed), names);
        let mut made: Vec<TestBlock> = Vec::new();
        let mut elapsed = Duration::ZERO;
        while let Some(block) = blocks.next(elapsed) {
            let spent = |name: &String| {
                let (_, fixed, _) = tests.iter().find(|test| test.0 == *name).unwrap();
                (name.clone(), *fixed + 2 * block.measured)
            };
            let spent: BTreeMap<_, _> = block.tests.iter().map(spent).collect();
            let took = overhead + spent.values().sum::<Duration>();
            elapsed += took;
            blocks.add(&block, took, &spent);
            made.push(block);
            blocks.keep(|name| {
                let (_, _, decided) = tests.iter().find(|test| test.0 == name).unwrap();
                count(&made, name) < *decided
            });
        }
        (made, elapsed)
    }

    fn count(blocks: &[TestBlock], name: &str) -> usize {
        let has_test = |block: &&TestBlock| block.tests.iter().any(|test| test == name);
        blocks.iter().filter(has_test).count()
    }

    const NEVER: usize = usize::MAX;

    #[test]
    fn a_budget_is_used_and_kept() {
        let many: Vec<String> = (0..19).map(|number| format!("T{number}")).collect();
        let tests = many.iter().map(|name| (name.as_str(), 10 * MS, NEVER));
        let tests: Vec<_> = tests.collect();
        let (blocks, took) = played(&tests, 300 * MS, BUDGET);
        assert!((23..=26).contains(&blocks.len()), "{}", blocks.len());
        assert!(took > BUDGET * 95 / 100 && took <= BUDGET, "{took:?}");
        assert!(blocks.iter().all(|block| block.tests.len() == 19));
        assert!(blocks[1].measured > 45 * MS, "{:?}", blocks[1].measured);
    }

    #[test]
    fn what_is_dear_to_set_up_gets_no_more_than_its_share() {
        let tests = [
            ("Cheap", 5 * MS, NEVER),
            ("Cheaper", 2 * MS, NEVER),
            ("Dear", 4_000 * MS, NEVER),
        ];
        let (blocks, took) = played(&tests, 200 * MS, BUDGET);
        let dear = count(&blocks, "Dear");
        assert!((3..=7).contains(&dear), "{dear}");
        assert!(count(&blocks, "Cheap") >= 18, "{}", count(&blocks, "Cheap"));
        assert!(took <= BUDGET + 4 * MS, "{took:?}");
    }

    #[test]
    fn where_calls_are_counted_tests_have_enough_blocks_first_if_the_budget_allows_it() {
        let tests = [
            ("Cheap", 5 * MS, NEVER),
            ("Dear", 2_500 * MS, NEVER),
            ("Longest", 10_000 * MS, NEVER),
        ];
        let budget = 30_000 * MS;
        let (blocks, _) = played_looking(&tests, 500 * MS, (budget, 0));
        assert!(count(&blocks, "Dear") < 5, "{blocks:?}");
        let (blocks, took) = played_looking(&tests, 500 * MS, (budget, 5));
        assert_eq!(count(&blocks, "Dear"), 5, "{blocks:?}");
        assert!(count(&blocks, "Cheap") >= 5, "{blocks:?}");
        assert!(count(&blocks, "Longest") <= 2, "{blocks:?}");
        assert!(took <= budget + 100 * MS, "{took:?}");
    }

    #[test]
    fn the_time_of_what_is_decided_goes_to_the_rest() {
        let tests = [("Soon", 5 * MS, 8), ("Never", 5 * MS, NEVER)];
        let (blocks, took) = played(&tests, 100 * MS, BUDGET);
        assert_eq!(count(&blocks, "Soon"), 8);
        assert!(count(&blocks, "Never") > 20);
        let (first, last) = (&blocks[2], &blocks[blocks.len() - 2]);
        assert!(last.measured > first.measured * 3 / 2, "{first:?} {last:?}");
        assert!(took <= BUDGET);
        // Once all is decided, the comparison ends.
        let (blocks, took) = played(&[("Soon", 5 * MS, 8)], 100 * MS, BUDGET);
        assert_eq!(blocks.len(), 8);
        assert!(took < BUDGET / 2);
    }

    #[test]
    fn slow_starts_make_fewer_blocks() {
        let (blocks, took) = played(&[("Row", 5 * MS, NEVER)], 3_000 * MS, BUDGET);
        assert!((6..=9).contains(&blocks.len()), "{}", blocks.len());
        assert!(took <= BUDGET + MS);
    }

    #[test]
    fn a_first_block_that_is_too_long_for_the_budget_says_what_two_take() {
        let second = Duration::from_secs(1);
        let mut blocks = Blocks::new(second * 15, (2, 0), ["a".to_owned()].into_iter());
        assert_eq!(blocks.beyond(second * 150), None);
        let block = blocks.next(Duration::ZERO).unwrap();
        blocks.add(&block, second * 150, &BTreeMap::new());
        assert_eq!(blocks.beyond(second * 150), Some(second * 300));
        assert_eq!(blocks.beyond(second * 10), None);
        let block = blocks.next(second * 150).unwrap();
        blocks.add(&block, second * 150, &BTreeMap::new());
        assert_eq!(blocks.beyond(second * 300), None);
    }

    #[test]
    fn whatever_tests_take_blocks_end_within_the_budget_and_have_nothing_that_is_decided() {
        for seed in 0..2000 {
            let rng = &mut StdRng::seed_from_u64(seed);
            let tests = rng.random_range(1..=4);
            let tests = ["a", "b", "c", "d"][..tests].iter().map(|name| {
                let is_decided = rng.random_bool(0.5);
                let after = if is_decided {
                    rng.random_range(1..12)
                } else {
                    NEVER
                };
                (*name, MS * rng.random_range(0..2_000), after)
            });
            let tests: Vec<(&str, Duration, usize)> = tests.collect();
            let overhead = MS * rng.random_range(1..1_000);
            let (budget, needed) = (MS * rng.random_range(1..30_000), rng.random_range(0..6));
            let (blocks, took) = played_looking(&tests, overhead, (budget, needed));
            let of_two = |block: &TestBlock| -> Duration {
                let made = tests
                    .iter()
                    .filter(|test| block.tests.iter().any(|name| name == test.0));
                overhead
                    + made
                        .map(|test| test.1 + 2 * block.measured)
                        .sum::<Duration>()
            };
            // Two blocks are made even if they are too long.
            let least = blocks.iter().take(2).map(of_two).sum();
            let is_kept = took <= budget.max(least) + MS;
            assert!(is_kept, "seed {seed}: {took:?} of {budget:?}");
            for (name, _, decided) in &tests {
                assert!(count(&blocks, name) <= *decided, "seed {seed}: {name}");
            }
            let is_decided = tests.iter().all(|test| count(&blocks, test.0) >= test.2);
            assert!(blocks.len() >= 2 || is_decided, "seed {seed}");
            let is_empty = |block: &TestBlock| block.tests.is_empty();
            assert!(!blocks.iter().any(is_empty), "seed {seed}");
        }
    }

    #[test]
    fn a_budget_that_is_too_small_makes_two_blocks() {
        let (blocks, _) = played(&[("Row", 5_000 * MS, NEVER)], 3_000 * MS, 1_000 * MS);
        assert_eq!(blocks.len(), 2);
        assert_eq!(blocks[1].measured, LEAST_MEASURED);
    }
}
