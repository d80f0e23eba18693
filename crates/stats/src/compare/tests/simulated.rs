//! What comparisons say of servers of which the truth is known. Seeded: the figures are the same on
//! every machine.
//!
//! Share of intervals that contain the true ratio (nominal 95 %), of 1000:
//!
//! ```text
//! one run of each, 200 operations, independent, log-normal      95.0
//! one run of each, 1000 operations, AR(1) with 0.5              94.8
//! two pairs of 50 operations, pairs and runs differ by 3 %      93.7
//! five pairs of 50 operations, pairs and runs differ by 3 %     94.8
//! ten pairs of 50 operations, pairs and runs differ by 3 %      94.7
//! twenty such pairs                                             96.0
//! fifty such pairs, one run in ten made up to half slower       94.1
//! ```

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::super::*;
use crate::Batch;
use crate::interval::batches_of;

/// A server under simulation: its operations take about as long, with noise of its own.
#[derive(Debug, Clone, Copy)]
struct Server {
    /// Mean in nanoseconds.
    mean: f64,
    /// Standard deviation of the logarithm of a time.
    noise: f64,
    /// Correlation between neighbours.
    rho: f64,
    /// By how much runs of it differ, as a share.
    restarts: f64,
    /// Share of the runs that something else on the machine makes slower, by up to a half.
    torn: f64,
}

const QUIET: Server = Server {
    mean: 1e6,
    noise: 0.2,
    rho: 0.0,
    restarts: 0.0,
    torn: 0.0,
};

impl Server {
    /// The batches of a run, on a machine that makes everything so much slower.
    fn run(self, operations: usize, drift: f64, rng: &mut ChaCha8Rng) -> Vec<Batch> {
        let mut normal = || -> f64 { StandardNormal.sample(&mut *rng) };
        let mut level = self.mean * drift * (1.0 + self.restarts * normal());
        if self.torn > 0.0 && rng.random_bool(self.torn) {
            level *= rng.random_range(1.0..1.5);
        }
        let mut normal = || -> f64 { StandardNormal.sample(&mut *rng) };
        // So that the mean is what it is called.
        let shift = self.noise * self.noise / 2.0;
        let (mut state, fresh) = (normal(), (1.0 - self.rho * self.rho).sqrt());
        let times: Vec<u64> = (0..operations)
            .map(|_| {
                let time = level * (self.noise * state - shift).exp();
                state = self.rho * state + fresh * normal();
                time as u64
            })
            .collect();
        batches_of(operations)
            .map(|(from, to)| {
                let mut batch = Batch::default();
                times[from..to].iter().for_each(|time| batch.add(*time));
                batch
            })
            .collect()
    }
}

/// Pairs of runs side by side.
#[derive(Debug, Clone, Copy)]
struct Experiment {
    pairs: usize,
    operations: usize,
    /// By how much the machine differs from pair to pair, as a share.
    drift: f64,
}

impl Experiment {
    fn ratio(self, (a, b): (Server, Server), seed: u64) -> Ratio {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let mut runs = (Vec::new(), Vec::new());
        for _ in 0..self.pairs {
            let normal: f64 = StandardNormal.sample(rng);
            let drift = 1.0 + self.drift * normal;
            runs.0.push(a.run(self.operations, drift, rng));
            runs.1.push(b.run(self.operations, drift, rng));
        }
        ratio_of(&runs.0, &runs.1, seed)
    }

    fn coverage(self, a: Server, b: Server) -> f64 {
        const TIMES: u64 = 1000;
        let truth = b.mean / a.mean;
        let hits = (0..TIMES).filter(|seed| {
            let (low, high) = self.ratio((a, b), *seed).ci95;
            low <= truth && truth <= high
        });
        hits.count() as f64 / TIMES as f64 * 100.0
    }
}

fn ratio_of(a: &[Vec<Batch>], b: &[Vec<Batch>], seed: u64) -> Ratio {
    let named = |side: &str, all: &[Vec<Batch>]| -> Vec<(String, Vec<Batch>)> {
        let name = |place| format!("{seed} {side}{place}");
        (0..).map(name).zip(all.iter().cloned()).collect()
    };
    let (a, b) = (named("a", a), named("b", b));
    ratio::of("Row", &runs(&a), &runs(&b)).unwrap()
}

fn runs(all: &[(String, Vec<Batch>)]) -> Vec<ratio::Run<'_>> {
    let run = |(id, batches)| ratio::Run { id, batches };
    all.iter().map(|(id, batches)| run((id, batches))).collect()
}

const ONE: Experiment = Experiment {
    pairs: 1,
    operations: 200,
    drift: 0.0,
};

/// Pairs of short runs on a machine that drifts.
const fn pairs(pairs: usize) -> Experiment {
    Experiment {
        pairs,
        operations: 50,
        drift: 0.1,
    }
}

#[test]
fn intervals_contain_the_true_ratio_as_often_as_they_say() {
    let slower = |server: Server| Server {
        mean: server.mean * 1.1,
        ..server
    };
    let correlated = Server { rho: 0.5, ..QUIET };
    let long = Experiment {
        operations: 1000,
        ..ONE
    };
    let restarted = Server {
        restarts: 0.03,
        ..QUIET
    };
    let torn = Server {
        torn: 0.1,
        ..restarted
    };
    let table = [
        (ONE, QUIET),
        (long, correlated),
        (pairs(2), restarted),
        (pairs(5), restarted),
        (pairs(10), restarted),
        (pairs(20), restarted),
        (pairs(50), torn),
    ];
    for (experiment, server) in table {
        let covered = experiment.coverage(server, slower(server));
        assert!(
            (93.0..=97.0).contains(&covered),
            "{experiment:?} {server:?}: {covered:.1} %"
        );
    }
}

/// Judges rows together.
fn judged(mut rows: Vec<Ratio>) -> Vec<(Ratio, Verdict)> {
    let level = correct(
        rows.iter_mut()
            .map(|row| (row.p, &mut row.p_holm))
            .collect(),
    );
    let rows = rows.into_iter().map(|mut row| {
        let verdict = row.judge(0.02, level);
        (row, verdict)
    });
    rows.collect()
}

/// A comparison of 23 rows, each with this experiment; B differs in the first of them at least.
fn comparison(
    experiment: Experiment,
    rows: [(Server, Server); 2],
    seed: u64,
) -> Vec<(Ratio, Verdict)> {
    let [first, others] = rows;
    let servers = |row: u64| if row == 0 { first } else { others };
    let rows = (0..23).map(|row| experiment.ratio(servers(row), seed * 1000 + row));
    judged(rows.collect())
}

/// Verdicts of so many comparisons of 23 rows each, each row with this experiment.
fn verdicts(experiment: Experiment, both: (Server, Server), times: u64) -> Vec<Verdict> {
    let found = (0..times).flat_map(|seed| comparison(experiment, [both; 2], seed));
    found.map(|(_, verdict)| verdict).collect()
}

fn count(verdicts: &[Verdict], wanted: &[Verdict]) -> usize {
    let is_wanted = |verdict: &&Verdict| wanted.contains(verdict);
    verdicts.iter().filter(is_wanted).count()
}

#[test]
fn a_server_beside_itself_is_hardly_ever_called_faster_or_slower() {
    let restarted = Server {
        restarts: 0.01,
        rho: 0.3,
        ..QUIET
    };
    // A hundred comparisons of 23 tests: five false alarms at most, all of them together.
    for (experiment, server) in [(ONE, QUIET), (pairs(5), restarted), (pairs(10), restarted)] {
        let verdicts = verdicts(experiment, (server, server), 100);
        let wrong = count(&verdicts, &[Verdict::Faster, Verdict::Slower]);
        assert!(wrong <= 5, "{experiment:?}: {wrong}");
    }
}

#[test]
fn what_is_five_percent_slower_is_found() {
    let slower = Server {
        mean: QUIET.mean * 1.05,
        ..QUIET
    };
    let experiment = Experiment {
        operations: 500,
        ..pairs(10)
    };
    let there = verdicts(experiment, (QUIET, slower), 10);
    assert!(count(&there, &[Verdict::Slower]) >= 220, "{there:?}");
    let back = verdicts(experiment, (slower, QUIET), 10);
    assert!(count(&back, &[Verdict::Faster]) >= 220, "{back:?}");
    assert_eq!(
        count(&there, &[Verdict::Faster]) + count(&back, &[Verdict::Slower]),
        0
    );
    // And what is too little to matter is the same.
    let hardly = Server {
        mean: QUIET.mean * 1.001,
        ..QUIET
    };
    let same = verdicts(experiment, (QUIET, hardly), 10);
    assert!(count(&same, &[Verdict::Same]) >= 200, "{same:?}");
}

#[test]
fn torn_pairs_hide_nothing() {
    let torn = Server { torn: 0.1, ..QUIET };
    let slower = Server {
        mean: torn.mean * 1.05,
        ..torn
    };
    let experiment = Experiment {
        operations: 200,
        ..pairs(60)
    };
    let found = verdicts(experiment, (torn, slower), 10);
    assert!(count(&found, &[Verdict::Slower]) >= 225, "{found:?}");
    let wrong = verdicts(experiment, (torn, torn), 10);
    assert_eq!(count(&wrong, &[Verdict::Faster, Verdict::Slower]), 0);
}

#[test]
fn servers_that_differ_in_a_few_slow_operations_only_are_not_the_same() {
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let steady = Server {
        noise: 0.05,
        ..QUIET
    };
    let a: Vec<_> = (0..40).map(|_| steady.run(100, 1.0, rng)).collect();
    let mut b: Vec<_> = (0..40).map(|_| steady.run(100, 1.0, rng)).collect();
    for run in b.iter_mut().step_by(6) {
        run[0].sum *= 4;
    }
    let (ratio, verdict) = judged(vec![ratio_of(&a, &b, 3)]).remove(0);
    assert!(ratio.ci95.1 < 1.02, "{ratio:?}");
    assert_eq!(verdict, Verdict::Unclear, "{ratio:?}");
    assert!(ratio.by_few, "{ratio:?}");
}

#[test]
fn the_difference_that_is_called_detectable_is_called_one() {
    // Beside 22 rows in which nothing differs. The long runs could tell less than counts as the
    // same, the others are far from that.
    let long = Experiment {
        operations: 2_000,
        ..pairs(10)
    };
    for experiment in [ONE, pairs(5), pairs(10), pairs(30), long] {
        let alike = [(QUIET, QUIET); 2];
        let detectable = (0..20).map(|seed| comparison(experiment, alike, seed)[0].0.detectable);
        let detectable = detectable.map(Option::unwrap).sum::<f64>() / 20.0;
        assert!(detectable > 0.02, "{experiment:?}: {detectable}");
        let slower = Server {
            mean: QUIET.mean * (1.0 + detectable),
            ..QUIET
        };
        const TIMES: u64 = 100;
        let found = (0..TIMES).filter(|seed| {
            let rows = [(QUIET, slower), (QUIET, QUIET)];
            comparison(experiment, rows, 100 + seed)[0].1 == Verdict::Slower
        });
        let found = found.count() as f64 / TIMES as f64;
        assert!(
            (0.65..=0.95).contains(&found),
            "{experiment:?}: {detectable}: {found}"
        );
    }
}

#[test]
fn where_ranks_stand_in_the_way_that_is_said() {
    // One batch of a run has all the difference.
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let a: Vec<_> = (0..8).map(|_| QUIET.run(100, 1.0, rng)).collect();
    let mut b = a.clone();
    for (run, more) in b.iter_mut().zip(100..) {
        run[0].sum = run[0].sum * more / 40;
    }
    let (few, verdict) = judged(vec![ratio_of(&a, &b, 1)]).remove(0);
    assert!(verdict == Verdict::Unclear && few.by_few, "{few:?}");
    assert!(few.value > 1.1 && few.ci95.0 > 1.02, "{few:?}");
    let (none, verdict) = judged(vec![ratio_of(&a, &a, 1)]).remove(0);
    assert!(verdict == Verdict::Same && !none.by_few, "{none:?}");

    // Of three operations each, ranks tell nothing that survives 23 rows, however far apart.
    let short = Experiment {
        operations: 3,
        ..ONE
    };
    let slow = Server {
        mean: 100.0 * QUIET.mean,
        ..QUIET
    };
    for (ratio, verdict) in comparison(short, [(QUIET, slow); 2], 1) {
        assert_eq!(verdict, Verdict::Unclear, "{ratio:?}");
        assert_eq!((ratio.detectable, ratio.by_few), (None, false), "{ratio:?}");
    }
}

#[test]
fn one_operation_of_each_run_is_enough_where_there_are_many_pairs() {
    let single = Experiment {
        operations: 1,
        ..pairs(20)
    };
    let slower = Server {
        mean: 2.0 * QUIET.mean,
        ..QUIET
    };
    let found = judged(vec![single.ratio((QUIET, slower), 1)]).remove(0);
    assert_eq!(found.1, Verdict::Slower, "{found:?}");
    let alone = (
        String::new(),
        QUIET.run(1, 1.0, &mut ChaCha8Rng::seed_from_u64(1)),
    );
    let alone = std::slice::from_ref(&alone);
    assert_eq!(ratio::of("Row", &runs(alone), &runs(alone)), None);
}

#[test]
fn exchanging_both_changes_the_sign_and_nothing_else() {
    let rng = &mut ChaCha8Rng::seed_from_u64(7);
    let all: Vec<(String, Vec<Batch>)> = (0..6)
        .map(|run| (format!("run {run}"), QUIET.run(100, 1.0, rng)))
        .collect();
    for size in [1, 3] {
        let (a, b) = (runs(&all[..size]), runs(&all[3..3 + size]));
        let there = ratio::of("Row", &a, &b).unwrap();
        let back = ratio::of("Row", &b, &a).unwrap();
        let same = |one: f64, other: f64| (one - other).abs() < 1e-12;
        assert!(same(there.value, 1.0 / back.value));
        assert!(same(there.ci95.0, 1.0 / back.ci95.1) && same(there.ci95.1, 1.0 / back.ci95.0));
        assert!(same(there.p, back.p));
        let detectable = |ratio| judged(vec![ratio]).remove(0).0.detectable;
        assert_eq!(
            detectable(there).map(|share| (share * 1e9).round()),
            detectable(back).map(|share| (share * 1e9).round())
        );
        // Beside itself there is no difference, and no doubt.
        let mut itself = ratio::of("Row", &a, &a).unwrap();
        assert_eq!(
            (itself.value, itself.ci95, itself.p),
            (1.0, (1.0, 1.0), 1.0)
        );
        assert_eq!(itself.judge(0.0, ALPHA), Verdict::Same);
    }
}
