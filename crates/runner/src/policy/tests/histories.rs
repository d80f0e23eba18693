//! Properties of some thousand histories of each policy. Searches and campaigns have other tests.

use record::{EventKind, TestId};
use report::Design;

use super::*;

/// Comparisons, whose statistics take the most time, take a second in a debug build.
const SEEDS: u64 = 2000;

/// Plays a series of single runs, which ends with any of its steps or is complete. Returns the
/// requested runs, and whether the series is complete.
fn played(
    policy: &mut impl Policy<Step = RunStep, Outcome = StepRuns>,
    rng: &mut StdRng,
    ran: impl Fn(usize) -> Vec<KeptRun>,
) -> (Vec<StepRun>, bool) {
    let failing = rng.random_range(1..30);
    let mut asked = Vec::new();
    let mut runner = simulated(|number, step: &RunStep| {
        let [run] = &step.runs[..] else {
            panic!("{} runs", step.runs.len());
        };
        assert_eq!(run.name, Some(number.to_string()));
        let starts = step.start.is_some();
        assert_eq!(starts, number == 1, "servers are started once");
        asked.push(run.clone());
        if number == failing {
            Err(RunnerError::Interrupted("interrupted".to_owned())).into()
        } else {
            whole(ran(number))
        }
    });
    let ended = perform(policy, &mut runner).ended;
    drop(runner);
    let last = ended.as_ref().and_then(|end| end.step);
    assert_eq!(last, ended.is_some().then_some(failing));
    assert!(ended.is_none() || asked.len() == failing, "it goes on");
    (asked, ended.is_none())
}

#[test]
fn a_sweep_measures_each_point_once_in_each_repeat_in_an_order_of_its_seed() {
    let task = task();
    let mut reordered = 0;
    for seed in 0..SEEDS {
        let rng = &mut StdRng::seed_from_u64(seed);
        let parameters = rng.random_range(1..=3);
        let values: Vec<usize> = (0..parameters).map(|_| rng.random_range(1..=3)).collect();
        let (design, expected) = if rng.random_bool(0.5) {
            (Design::Grid, values.iter().product())
        } else {
            let others = values.iter().map(|count| count - 1);
            (Design::OneAtATime, 1 + others.sum::<usize>())
        };
        let levels = points(&values, design);
        let distinct: BTreeSet<&Levels> = levels.iter().collect();
        assert_eq!((levels.len(), distinct.len()), (expected, expected));
        let is_there = |point: &Levels| {
            let mut levels = point.iter().zip(&values);
            levels.all(|(level, count)| level < count)
        };
        assert!(levels.iter().all(is_there) && levels[0].iter().all(|level| *level == 0));

        let (servers, repeats) = (rng.random_range(1..=2), rng.random_range(1..=3));
        let order = |seed| SweepOrder::new(levels.len(), servers, repeats, seed).slots;
        let slots = order(seed);
        assert_eq!(slots, order(seed));
        reordered += usize::from(slots != order(seed + 1));
        assert!(slots.is_sorted_by_key(|slot| slot.repeat));
        let distinct: BTreeSet<&SweepSlot> = slots.iter().collect();
        let all = levels.len() * servers * repeats as usize;
        assert_eq!((slots.len(), distinct.len()), (all, all));

        let at = at_points(levels.len(), &task);
        let sweep = SweepOrder::new(levels.len(), servers, repeats, seed);
        let mut policy = Listed::new(sweep.steps(&at));
        let (asked, is_complete) = played(&mut policy, rng, |_| Vec::new());
        let slot = |run: &StepRun| {
            let point = run.users as usize - 1;
            assert_eq!(run.group, point * servers + run.server, "alike runs");
            SweepSlot {
                repeat: (run.seed - seed) as usize,
                point,
                server: run.server,
            }
        };
        let asked: Vec<SweepSlot> = asked.iter().map(slot).collect();
        assert_eq!(asked, slots[..asked.len()], "seed {seed}");
        assert!(!is_complete || asked.len() == all, "seed {seed}");
    }
    assert!(reordered > SEEDS as usize / 2, "{reordered}");
}

#[test]
fn a_curve_has_a_run_for_each_number_of_users_in_their_order() {
    let task = task();
    for seed in 0..SEEDS {
        let rng = &mut StdRng::seed_from_u64(seed);
        let count = rng.random_range(1..40);
        let users: Vec<u32> = (0..count).map(|_| rng.random_range(1..1000)).collect();
        let drive = |users| {
            Drive::Rounds(Rounds {
                warmup: users,
                ..Rounds::default()
            })
        };
        let mut policy = Listed::new(curve_steps(&task, &users, drive, seed));
        let (asked, is_complete) = played(&mut policy, rng, |_| Vec::new());
        assert!(!is_complete || asked.len() == count, "seed {seed}");
        for (index, (run, users)) in asked.iter().zip(&users).enumerate() {
            let is_driven = matches!(&run.drive, Drive::Rounds(rounds) if rounds.warmup == *users);
            assert!(is_driven && run.users == *users, "seed {seed}");
            assert_eq!((run.group, run.seed), (index, seed));
        }
    }
}

/// A run of the suite of this number, one row of which is sometimes much slower, or never.
fn suite_run(number: usize, is_odd: bool) -> KeptRun {
    let rng = &mut StdRng::seed_from_u64(number as u64);
    let times: Vec<u64> = (0..100)
        .map(|_| rng.random_range(300..330) + 8_000 * u64::from(is_odd && rng.random_bool(0.2)))
        .collect();
    let [test, row, other] = ["Test", "Row", "Other"].map(|name| format!("{name}{number}"));
    let [quick, quicker] = ["Quick", "Quicker"].map(|name| format!("{name}{number}"));
    let run = RunBuilder::new(1)
        .test(&test, &[(&row, "GET")])
        .ok(&row, 100, |number| times[number as usize])
        .test(&other, &[(&quick, "GET"), (&quicker, "GET")])
        .ok(&quick, 100, |number| 200 + number % 7)
        .ok(&quicker, 100, |number| 100 + number % 7)
        .build();
    let pieces = || Ok::<_, RunnerError>([Ok(&run.samples)]);
    let material = stats::material_from(&run.plan, &run.events, &run.env, pieces).unwrap();
    let mut kept = kept(run);
    kept.run.samples = Vec::new();
    kept.material = Some(material);
    kept
}

#[test]
fn a_diagnosis_measures_again_what_was_seen_once_and_then_with_several_users() {
    let runs: Vec<[KeptRun; 2]> = (0..3)
        .map(|number| [false, true].map(|is_odd| suite_run(number, is_odd)))
        .collect();
    let task = task();
    for seed in 0..SEEDS {
        let rng = &mut StdRng::seed_from_u64(seed);
        let count = rng.random_range(1..=3);
        let odd: Vec<bool> = (0..count).map(|_| rng.random_bool(0.4)).collect();
        let parts = RefCell::new(Vec::new());
        let part = |index: usize, tests: Vec<String>| {
            assert_eq!(tests, [format!("Test{index}")]);
            parts.borrow_mut().push(index);
            Ok(suite_of(&format!("part {index}"), 1, &task))
        };
        let several = rng.random_range(0..=2);
        let suites = |count: usize, users| {
            let suite = |number| suite_of(&format!("suite {number}"), users, &task);
            (0..count).map(suite).collect::<Vec<_>>()
        };
        let (firsts, last) = (suites(odd.len(), 1), suites(several, 8));
        let mut policy = DiagnosisSuites::new(firsts, last, &part, (3, seed));
        let planned = policy.steps().count();
        assert_eq!(planned, odd.len() + several);
        let (asked, is_complete) = played(&mut policy, rng, |number| {
            let is_odd = odd.get(number - 1).copied().unwrap_or_default();
            vec![copy(&runs[(number - 1) % 3][usize::from(is_odd)])]
        });
        let parts = parts.borrow().clone();
        let are_firsts_made = is_complete || asked.len() > odd.len();
        let repeated = (0..odd.len()).filter(|index| are_firsts_made && odd[*index]);
        let why = "each is asked for once, after the first runs";
        assert!(parts.iter().copied().eq(repeated), "{why}: seed {seed}");
        let all = planned + parts.len();
        assert!(!is_complete || asked.len() == all, "seed {seed}");
        let groups: BTreeSet<usize> = asked.iter().map(|run| run.group).collect();
        assert_eq!(groups.len(), asked.len(), "no two runs are alike");
        for (index, run) in asked.iter().enumerate() {
            let users = if index < odd.len() + parts.len() {
                1
            } else {
                8
            };
            let expected = (users, seed.wrapping_add(index as u64));
            assert_eq!((run.users, run.seed), expected);
        }
        let is_repeat = |index: usize| (odd.len()..odd.len() + parts.len()).contains(&index);
        let missing = policy.not_measured(0);
        assert_eq!(missing.len(), all);
        for (index, suite) in missing.iter().enumerate() {
            assert_eq!(suite.is_repeat, is_repeat(index), "seed {seed}");
        }
    }
}

#[test]
fn a_comparison_keeps_its_budget_and_starts_its_servers_in_pairs_of_blocks() {
    let task = task();
    // Of each server, including a slower one.
    let like: Vec<Vec<KeptRun>> = [100, 101, 150]
        .map(|us| (0..4).map(|noise| block_run(us + noise)).collect())
        .into();
    for seed in 0..SEEDS {
        let rng = &mut StdRng::seed_from_u64(seed);
        let budget = SECOND * rng.random_range(1..=8);
        let other = rng.random_range(0..3);
        let failing = rng.random_range(1..=12);
        let frame = BlockFrame { seed, ..frame() };
        let asked = RefCell::new(0);
        let part = |rows: Vec<String>, measured: Duration| {
            assert!(rows == ["Get"] && measured > Duration::ZERO);
            *asked.borrow_mut() += 1;
            Ok(task.part(task.plan.clone()))
        };
        let mut orders = Vec::new();
        let mut runner = simulated(|number, step: &RunStep| {
            orders.push(step.start.as_ref().unwrap().order.clone());
            let run = |(side, step_run): (usize, &StepRun)| {
                let name = format!("{}{number}", &LETTERS[side..=side]);
                assert_eq!(step_run.name.as_ref(), Some(&name));
                let expected = (side, seed.wrapping_add(number as u64));
                assert_eq!((step_run.server, step_run.seed), expected);
                let mut run = copy(&like[[0, other][side]][rng.random_range(0..4)]);
                run.run.plan.run_id = name;
                run
            };
            if number == failing {
                return Err(RunnerError::Interrupted("interrupted".to_owned())).into();
            }
            whole(step.runs.iter().enumerate().map(run).collect())
        });
        let question = question(0.02);
        let plan = task.plan.clone();
        let mut policy = BudgetedBlocks::new(frame, (budget, 0), plan, question, &part);
        let CompletedSeries { history, ended } = perform(&mut policy, &mut runner);
        drop(runner);
        assert_eq!(*asked.borrow(), orders.len(), "a block is asked for once");
        assert_eq!(ended.is_some(), orders.len() == failing, "seed {seed}");
        assert!(ended.is_some() || orders.len() >= 2, "seed {seed}");
        // The duration of a block is known only after it was made.
        let most = budget.max(SECOND * 2) + SECOND;
        let elapsed = history.elapsed;
        assert!(elapsed <= most, "seed {seed}: {elapsed:?}");
        for pair in orders.chunks(2) {
            let reversed: Vec<usize> = pair[0].iter().rev().copied().collect();
            let is_reversed = pair.get(1).is_none_or(|second| *second == reversed);
            assert!(is_reversed, "seed {seed}");
        }
    }
}

/// A run of a block whose test takes half a second.
fn block_run(us: u64) -> KeptRun {
    let test = TestId(0);
    let mut kept = run(us, |run| {
        for (at, kind) in [
            (0, EventKind::TestStarted { test }),
            (500_000_000, EventKind::TestEnded { test }),
        ] {
            run.events.push(record::Event { at, kind });
        }
    });
    kept.run.samples = Vec::new();
    kept
}
