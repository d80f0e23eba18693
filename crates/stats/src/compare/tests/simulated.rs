//! Comparisons of servers of which the truth is known. Seeded: the figures are the same on every
//! machine. The tests here are small; `figures_of_simulations` makes the figures of
//! `docs/SIMULATIONS.md`, "Comparisons".

use super::super::*;
use crate::interval::mean;

/// Random numbers by xoshiro256++ (Blackman and Vigna 2018), seeded by SplitMix64: drawing them is
/// most of the time of these tests.
pub(in crate::compare) struct Stream([u64; 4]);

impl Stream {
    pub(in crate::compare) fn new(seed: u64) -> Stream {
        let mut state = seed;
        Stream(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    fn next(&mut self) -> u64 {
        let Stream([a, b, c, d]) = self;
        let found = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        found
    }

    /// Above 0, and at most 1.
    pub(in crate::compare) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub(in crate::compare) fn chance(&mut self, chance: f64) -> bool {
        self.uniform() <= chance
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Standard normal, by the polar method.
    pub(in crate::compare) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }
}

/// Rows of a comparison, as the suite `prestan` has them.
pub(super) const ROWS: u64 = 23;

/// How the times of the operations of a run vary.
#[derive(Debug, Clone, Copy)]
enum TimeNoise {
    /// Log-normal with 0.2, an autoregressive process with this correlation of neighbours.
    Correlated(f64),
    /// One operation in this number takes this multiple of its time.
    Stalls(f64, f64),
    /// Pareto with this exponent.
    Pareto(f64),
}

/// How the machine drifts while runs follow each other, those of B before or after those of A.
#[derive(Debug, Clone, Copy)]
enum Drift {
    None,
    /// By this share from run to run.
    Linear(f64),
    /// By a normal step of this share from run to run.
    Walk(f64),
}

/// A server under simulation.
#[derive(Debug, Clone, Copy)]
struct ServerModel {
    /// Median of its times.
    level: f64,
    noise: TimeNoise,
    /// By how much runs of it differ, as a share.
    restarts: f64,
    /// Share of the runs that another program makes slower, by up to a half.
    torn: f64,
    /// The number of its runs, anywhere among all, that take this multiple of their time.
    odd: (usize, f64),
}

const QUIET: ServerModel = ServerModel {
    level: 1e6,
    noise: TimeNoise::Correlated(0.0),
    restarts: 0.0,
    torn: 0.0,
    odd: (0, 1.0),
};

impl ServerModel {
    const fn with(self, noise: TimeNoise) -> ServerModel {
        ServerModel { noise, ..self }
    }

    fn slower(self, by: f64) -> ServerModel {
        ServerModel {
            level: self.level * (1.0 + by),
            ..self
        }
    }

    /// Sum and median of the operations of a run.
    fn run(self, operations: usize, level: f64, rng: &mut Stream) -> (f64, f64) {
        let mut level = self.level * level * (self.restarts * rng.normal()).exp();
        if self.torn > 0.0 && rng.chance(self.torn) {
            level *= 1.0 + 0.5 * rng.uniform();
        }
        let mut state = rng.normal();
        let mut time = || match self.noise {
            TimeNoise::Correlated(rho) => {
                state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
                (0.2 * state).exp()
            }
            TimeNoise::Stalls(one_in, factor) => {
                let stalled = if rng.chance(1.0 / one_in) {
                    factor
                } else {
                    1.0
                };
                stalled * (0.1 * rng.normal()).exp()
            }
            TimeNoise::Pareto(exponent) => rng.uniform().powf(-1.0 / exponent),
        };
        let mut times: Vec<f64> = (0..operations).map(|_| level * time()).collect();
        let sum = times.iter().sum();
        let middle = (operations - 1) / 2;
        let (_, median, _) = times.select_nth_unstable_by(middle, f64::total_cmp);
        (sum, *median)
    }
}

/// Pairs of runs side by side.
#[derive(Debug, Clone, Copy)]
struct Experiment {
    pairs: usize,
    operations: usize,
    drift: Drift,
}

const TEN: Experiment = Experiment {
    pairs: 10,
    operations: 100,
    drift: Drift::None,
};

impl Experiment {
    const fn of(pairs: usize) -> Experiment {
        Experiment { pairs, ..TEN }
    }

    fn observe(self, [a, b]: [ServerModel; 2], rng: &mut Stream) -> Observations {
        let (mut found, mut level, mut sums) = (Observations::default(), 1.0, [0.0; 2]);
        let from = [a, b].map(|server| rng.below(self.pairs - server.odd.0 + 1));
        for pair in 0..self.pairs {
            let mut run = |side: usize| {
                level *= match self.drift {
                    Drift::None => 1.0,
                    Drift::Linear(share) => 1.0 + share,
                    Drift::Walk(share) => (share * rng.normal()).exp(),
                };
                let server = [a, b][side];
                let (count, factor) = server.odd;
                let is_odd = (from[side]..from[side] + count).contains(&pair);
                let odd = if is_odd { factor } else { 1.0 };
                server.run(self.operations, level * odd, rng)
            };
            // A B B A.
            let (of_a, of_b) = match pair % 2 {
                0 => (run(0), run(1)),
                _ => {
                    let of_b = run(1);
                    (run(0), of_b)
                }
            };
            found.means.push((of_b.0 / of_a.0).ln());
            found.medians.push((of_b.1 / of_a.1).ln());
            sums[0] += of_a.0;
            sums[1] += of_b.0;
        }
        found.pooled = (sums[1] / sums[0]).ln();
        found
    }

    fn ratio(self, both: [ServerModel; 2], seed: u64) -> Ratio {
        let observed = self.observe(both, &mut Stream::new(seed));
        Ratio::new(&observed).unwrap()
    }

    /// A row among 23, of which the others are not significant.
    fn among_others(self, both: [ServerModel; 2], seed: u64) -> Ratio {
        alone(self.ratio(both, seed))
    }
}

/// Judged as the most significant of 23 rows.
fn alone(mut ratio: Ratio) -> Ratio {
    if let Some(found) = &mut ratio.evidence {
        found.p_holm = (found.p * ROWS as f64).min(1.0);
    }
    ratio.judge(0.02, ALPHA / ROWS as f64);
    ratio
}

pub(super) fn row(ratio: Option<Ratio>, failing: Option<Failing>) -> Compared {
    let nothing = Estimate {
        status: Status::Ok,
        mean: None,
        n: 0,
        failed: 0,
        operations: 0,
        unmeasured: 0,
    };
    Compared {
        name: String::new(),
        kind: RowKind::Operation,
        method: String::new(),
        a: nothing,
        b: nothing,
        ratio,
        failing,
        reached: 0,
        disqualified: 0,
        doubtful: 0,
        inside: None,
        verdict: Verdict::NotCompared,
        is_open: false,
    }
}

pub(super) fn judged(mut rows: Vec<Compared>) -> Vec<Compared> {
    judge(&mut rows, 0.02);
    rows
}

pub(super) fn percent(hits: usize, of: u64) -> f64 {
    hits as f64 / of as f64 * 100.0
}

/// Comparisons of a server with itself, in percent of all.
struct Beside {
    /// Comparisons of 23 of these rows, drawn from them, in which one is faster or slower.
    wrong: f64,
    /// Rows that count as faster or slower at the level of the most significant of 23.
    sure: usize,
    same: f64,
    /// Intervals of means, and of medians, that contain the true ratio.
    covered: [f64; 2],
}

fn beside_itself(experiment: Experiment, server: ServerModel, rows: u64) -> Beside {
    let ratios: Vec<Ratio> = (0..rows)
        .map(|seed| experiment.ratio([server; 2], seed))
        .collect();
    let count = |is_so: fn(&Ratio) -> bool| {
        let judged = ratios.iter().map(|ratio| alone(*ratio));
        judged.filter(is_so).count()
    };
    // Holm's first step decides whether there is any such row.
    let sure: Vec<bool> = ratios
        .iter()
        .map(|ratio| is_sure(alone(*ratio).verdict))
        .collect();
    let rng = &mut Stream::new(1);
    let wrong = (0..COMPARISONS).filter(|_| (0..ROWS).any(|_| sure[rng.below(sure.len())]));
    Beside {
        wrong: percent(wrong.count(), COMPARISONS),
        sure: sure.iter().filter(|sure| **sure).count(),
        same: percent(count(|ratio| ratio.verdict == Verdict::Same), rows),
        covered: [
            count(|ratio| contains_one(ratio.evidence.unwrap().ci95())),
            count(|ratio| contains_one(ratio.evidence.unwrap().ci95_usual())),
        ]
        .map(|hits| percent(hits, rows)),
    }
}

/// Comparisons of which the rate of false verdicts is given.
const COMPARISONS: u64 = 5_000;

fn is_sure(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

fn contains_one((low, high): (f64, f64)) -> bool {
    low <= 1.0 && 1.0 <= high
}

/// How often a row among 23 gets this verdict, in percent.
fn found(experiment: Experiment, both: [ServerModel; 2], wanted: Verdict, times: u64) -> f64 {
    let is_found = |seed: &u64| experiment.among_others(both, *seed).verdict == wanted;
    percent((0..times).filter(is_found).count(), times)
}

/// The cases of `docs/SIMULATIONS.md`, "Comparisons".
fn cases() -> Vec<(&'static str, Experiment, ServerModel)> {
    let restarted = |share: f64| ServerModel {
        restarts: share,
        ..QUIET
    };
    let drifting = |drift: Drift| Experiment { drift, ..TEN };
    let stalls = QUIET.with(TimeNoise::Stalls(30.0, 40.0));
    vec![
        ("independent, log-normal", TEN, QUIET),
        ("the same, 2 pairs", Experiment::of(2), QUIET),
        ("the same, 5 pairs", Experiment::of(5), QUIET),
        ("the same, 20 pairs", Experiment::of(20), QUIET),
        ("AR(1), 0.5", TEN, QUIET.with(TimeNoise::Correlated(0.5))),
        ("AR(1), 0.9", TEN, QUIET.with(TimeNoise::Correlated(0.9))),
        ("1 operation in 30 stalls, 40 x", TEN, stalls),
        ("the same, 20 pairs", Experiment::of(20), stalls),
        (
            "1 in 200 stalls, 200 x",
            TEN,
            QUIET.with(TimeNoise::Stalls(200.0, 200.0)),
        ),
        ("Pareto, 1.5", TEN, QUIET.with(TimeNoise::Pareto(1.5))),
        ("runs differ by 1 %", TEN, restarted(0.01)),
        ("runs differ by 3 %", TEN, restarted(0.03)),
        (
            "linear drift, 1 % a run",
            drifting(Drift::Linear(0.01)),
            restarted(0.01),
        ),
        (
            "random walk, 2 % a run",
            drifting(Drift::Walk(0.02)),
            restarted(0.01),
        ),
        (
            "1 run in 10 up to half slower, 60 pairs",
            Experiment::of(60),
            ServerModel {
                torn: 0.1,
                ..restarted(0.01)
            },
        ),
        (
            "2 of 20 runs 5 x slower, both",
            Experiment::of(20),
            ServerModel {
                odd: (2, 5.0),
                ..restarted(0.01)
            },
        ),
        (
            "two processes, 7 % apart for 2 of 10 pairs",
            TEN,
            ServerModel {
                odd: (2, 1.07),
                ..restarted(0.01)
            },
        ),
    ]
}

#[test]
fn a_server_beside_itself_is_not_called_faster_and_intervals_contain_the_truth() {
    // Of 400 rows, at most one is expected to be surer than one of 23 may be, and 380 intervals to
    // contain the true ratio; the bounds are what chance makes of that.
    for (name, experiment, server) in cases() {
        let found = beside_itself(experiment, server, 400);
        assert!(found.sure <= 5, "{name}: {}", found.sure);
        for covered in found.covered {
            assert!(covered >= 91.5, "{name}: {:?} %", found.covered);
        }
    }
}

/// B is 10 % quicker, and one of 30 operations stalls 40 x: on average it takes twice as long.
const TWO_WAYS: [ServerModel; 2] = [
    ServerModel {
        noise: TimeNoise::Stalls(1e9, 1.0),
        ..QUIET
    },
    ServerModel {
        level: QUIET.level * 0.9,
        noise: TimeNoise::Stalls(30.0, 40.0),
        ..QUIET
    },
];

#[test]
fn what_is_usually_faster_and_slower_on_average_is_neither() {
    let [a, b] = TWO_WAYS;
    let count = |both: [ServerModel; 2], wanted: (Direction, Direction)| {
        let says_so = |seed: &u64| {
            let found = TEN.among_others(both, *seed);
            assert_eq!(found.verdict, Verdict::Inconclusive, "{seed}: {found:?}");
            let found = found.evidence.unwrap();
            (found.usually, found.on_average) == wanted
        };
        (0..100).filter(says_so).count()
    };
    let said = count([a, b], (Direction::Faster, Direction::Slower));
    let turned = count([b, a], (Direction::Slower, Direction::Faster));
    assert!(said >= 80 && turned >= 80, "{said}, {turned}");
}

#[test]
fn a_few_slow_runs_are_not_the_same() {
    // Two runs of twenty of B take five times as long.
    let odd = ServerModel {
        odd: (2, 5.0),
        ..QUIET
    };
    let experiment = Experiment {
        operations: 400,
        ..Experiment::of(20)
    };
    assert_eq!(found(experiment, [QUIET, odd], Verdict::Same, 40), 0.0);
    assert!(found(experiment, [QUIET, QUIET], Verdict::Same, 40) > 95.0);
    // Where B is a little faster else, few slow runs must not make it faster.
    let faster = odd.slower(-0.1);
    for verdict in [Verdict::Faster, Verdict::Slower] {
        assert_eq!(found(Experiment::of(40), [QUIET, faster], verdict, 40), 0.0);
    }
}

#[test]
fn what_differs_by_more_than_the_margin_is_hardly_ever_the_same() {
    let experiment = Experiment {
        operations: 1000,
        ..TEN
    };
    let at_the_margin = [QUIET, QUIET.slower(0.02)];
    let same = found(experiment, at_the_margin, Verdict::Same, 100);
    assert!(same <= 6.0, "{same} %");
    // A difference in one operation of a hundred only, which medians do not see.
    let tail = [
        ServerModel {
            noise: TimeNoise::Stalls(1e9, 1.0),
            ..QUIET
        },
        ServerModel {
            noise: TimeNoise::Stalls(100.0, 6.0),
            ..QUIET
        },
    ];
    let same = found(experiment, tail, Verdict::Same, 40);
    assert_eq!(same, 0.0);
}

#[test]
fn what_is_five_percent_slower_is_found() {
    let experiment = Experiment {
        operations: 500,
        ..TEN
    };
    let slower = QUIET.slower(0.05);
    assert!(found(experiment, [QUIET, slower], Verdict::Slower, 100) >= 90.0);
    assert!(found(experiment, [slower, QUIET], Verdict::Faster, 100) >= 90.0);
}

#[test]
fn torn_pairs_hide_nothing() {
    let torn = ServerModel { torn: 0.1, ..QUIET };
    let experiment = Experiment {
        operations: 200,
        ..Experiment::of(60)
    };
    let by_ranks = found(experiment, [torn, torn.slower(0.05)], Verdict::Slower, 60);
    assert!(by_ranks >= 90.0, "{by_ranks} %");
}

#[test]
fn the_difference_that_is_called_detectable_is_called_one() {
    // The long runs could detect less than counts as the same, the others are far from that.
    let long = Experiment {
        operations: 2_000,
        ..TEN
    };
    for experiment in [Experiment::of(5), TEN, Experiment::of(30), long] {
        let detectable = |seed| {
            let found = experiment.among_others([QUIET; 2], seed);
            found.evidence.unwrap().detectable
        };
        let detectable = (0..20).map(detectable).sum::<f64>() / 20.0;
        assert!(detectable > 0.02, "{experiment:?}: {detectable}");
        let both = [QUIET, QUIET.slower(detectable)];
        let found = found(experiment, both, Verdict::Slower, 100);
        assert!(
            (65.0..=97.0).contains(&found),
            "{experiment:?}: {detectable}: {found} %"
        );
    }
}

#[test]
fn as_many_pairs_as_are_asked_for_find_five_percent() {
    let noisy = ServerModel {
        restarts: 0.03,
        ..QUIET
    };
    let asked = |seed| {
        let found = TEN.among_others([noisy; 2], seed);
        found.evidence.unwrap().pairs_needed
    };
    let asked: Vec<f64> = (0..40)
        .filter_map(asked)
        .map(|pairs| pairs as f64)
        .collect();
    assert_eq!(asked.len(), 40);
    let experiment = Experiment::of(mean(&asked).round() as usize);
    let found = found(experiment, [noisy, noisy.slower(0.05)], Verdict::Slower, 60);
    assert!((65.0..=100.0).contains(&found), "{experiment:?}: {found} %");
}

#[test]
fn exchanging_both_changes_the_sign_and_nothing_else() {
    for pairs in [2, 10, 30] {
        let rng = &mut Stream::new(7);
        let there = Experiment::of(pairs).observe([QUIET, QUIET.slower(0.03)], rng);
        let turned = |values: &[f64]| values.iter().map(|value| -value).collect();
        let back = Observations {
            means: turned(&there.means),
            medians: turned(&there.medians),
            pooled: -there.pooled,
        };
        let judged = |observed: &Observations| {
            judged(vec![row(Ratio::new(observed), None)])
                .remove(0)
                .ratio
                .unwrap()
        };
        let (there, back) = (judged(&there), judged(&back));
        let same = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(same(there.value, 1.0 / back.value) && same(there.usual, 1.0 / back.usual));
        let (one, other) = (there.evidence.unwrap(), back.evidence.unwrap());
        assert!(
            same(one.ci95().0, 1.0 / other.ci95().1) && same(one.ci95().1, 1.0 / other.ci95().0)
        );
        assert!(same(one.p, other.p) && same(one.detectable, other.detectable));
        // Compared with itself, a server has no difference, and the verdict is not inconclusive.
        let none = Observations {
            means: vec![0.0; pairs],
            medians: vec![0.0; pairs],
            pooled: 0.0,
        };
        let mut itself = Ratio::new(&none).unwrap();
        itself.judge(0.0, ALPHA);
        assert_eq!((itself.value, itself.verdict), (1.0, Verdict::Same));
        assert_eq!(itself.evidence.unwrap().p, 1.0);
    }
}

#[test]
#[ignore = "nightly: prints tables of docs/SIMULATIONS.md"]
fn figures_of_simulations() {
    const TIMES: u64 = 5_000;
    for (name, experiment, server) in cases() {
        let found = beside_itself(experiment, server, 2 * TIMES);
        let [means, medians] = found.covered;
        println!(
            "| {name} | {:.1} | {:.1} | {means:.1} | {medians:.1} |",
            found.wrong, found.same
        );
    }
    for pairs in [5, 10, 20] {
        let experiment = Experiment {
            operations: 1000,
            ..Experiment::of(pairs)
        };
        let at_the_margin = [QUIET, QUIET.slower(0.02)];
        let same = found(experiment, at_the_margin, Verdict::Same, TIMES);
        println!("same at the margin, {pairs} pairs: {same:.1} %");
    }
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Inconclusive];
    let found_of = |verdict| found(TEN, TWO_WAYS, verdict, TIMES);
    println!("two ways: {:?}", verdicts.map(found_of));
    let torn = ServerModel { torn: 0.1, ..QUIET };
    for pairs in [20, 60, 120] {
        let experiment = Experiment::of(pairs);
        let both = [torn, torn.slower(0.05)];
        let found = found(experiment, both, Verdict::Slower, 1_000);
        println!("torn, {pairs} pairs: {found:.1} %");
    }
}
