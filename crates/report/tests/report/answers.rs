//! A sweep, a search and a comparison, for the tests of reports about them.

use record::Outcome;
use report::{
    Comparisons, CountedUnit, Design, Find, SearchResult, Sweep, SweepServer, Tried, Varied, Versus,
};
use stats::testing::RunBuilder;
use stats::{
    Distribution, EstimatedRate, SearchOutcome, Side, Summary, Swept, Tally, Tested, summarise,
};

const WIDTHS: [u64; 4] = [10, 30, 100, 300];
const DEPTHS: [u64; 2] = [2, 10];

/// A run of three rows: one grows with the width, one with its square root and with the depth, and
/// one fails where it is wide.
fn run(server: u64, width: u64, depth: u64, repeat: u64) -> Summary {
    let noise = |row: u64| (repeat * 7 + width * 3 + depth * 5 + row) % 4;
    let root = (width as f64).sqrt() as u64;
    let builder = RunBuilder::new(1)
        .test("CopyCol", &[("CopyCol", "COPY")])
        .ok("CopyCol", 20, |_| {
            210 + 38 * width * (server + 1) + noise(1)
        })
        .test("MoveCol", &[("MoveCol", "MOVE")])
        .ok("MoveCol", 20, |_| 200 + 100 * root + 30 * depth + noise(2))
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 20, |_| 400 + noise(3));
    let builder = match (server, width) {
        (1, 300) => builder.ops("Get1K", 1, Outcome::WrongStatus, |_| 1),
        _ => builder,
    };
    summarise(&builder.build())
}

fn varied(name: &str, values: &[u64]) -> Varied {
    Varied {
        name: name.to_owned(),
        values: values.iter().map(|value| *value as f64).collect(),
        written: values.iter().map(ToString::to_string).collect(),
    }
}

/// A sweep of three rows over widths and depths, on two servers; the name of one is hostile.
pub(crate) fn sweep() -> Sweep {
    let mut summaries = Vec::new();
    for repeat in 0..3 {
        for (i, width) in WIDTHS.iter().enumerate() {
            for (j, depth) in DEPTHS.iter().enumerate() {
                for server in 0..2 {
                    let summary = run(server, *width, *depth, repeat);
                    summaries.push((server as usize, [i, j], repeat as usize, summary));
                }
            }
        }
    }
    let runs: Vec<Swept<'_>> = summaries
        .iter()
        .map(|(server, levels, repeat, summary)| Swept {
            server: *server,
            levels,
            repeat: *repeat,
            summary,
        })
        .collect();
    let vary = vec![varied("width", &WIDTHS), varied("depth", &DEPTHS)];
    let values: Vec<Vec<f64>> = vary.iter().map(|varied| varied.values.clone()).collect();
    let server = |name: &str, software: Option<&str>| SweepServer {
        name: name.to_owned(),
        target: "http://127.0.0.1:1/".to_owned(),
        software: software.map(str::to_owned),
    };
    Sweep {
        suite: "prestan".to_owned(),
        notes: Vec::new(),
        rows: stats::sweep(&values, &runs, 0.05),
        vary,
        design: Design::Grid,
        repeats: 3,
        seed: 7,
        same_within: 0.05,
        servers: vec![
            server("apache", Some("Apache/2.4")),
            server("</script>evil\u{1b}[2J", None),
        ],
        incomplete: None,
        caveats: vec!["the generator was the bottleneck in 1 of 48 runs".to_owned()],
    }
}

pub(crate) fn found() -> SearchResult {
    let tested = |load, held, failed| Tested {
        load,
        trials: Tally { held, failed },
    };
    let tried = |load: f64, held, p99: f64| Tried {
        load,
        held,
        rate: EstimatedRate {
            per_second: 1000.0 * load.min(8.0),
            ci95: Some((980.0 * load.min(8.0), 1020.0 * load.min(8.0))),
        },
        times: Distribution::of(&[(p99 / 6.0) as u64, (p99 / 3.0) as u64, p99 as u64]),
        processor: None,
        failures: u64::from(!held),
    };
    SearchResult {
        find: Find::Users,
        notes: Vec::new(),
        caveats: Vec::new(),
        condition: Some("p99 < 50ms and failures == 0".to_owned()),
        counted: CountedUnit::Answers,
        target: "http://127.0.0.1:1/x".to_owned(),
        software: Some("nginx".to_owned()),
        what: "GET".to_owned(),
        answer: SearchOutcome {
            holds: Some(tested(16.0, 19, 1)),
            fails: Some(tested(17.0, 1, 3)),
            confirmed: true,
        },
        knee: Some(8.0),
        seed: 7,
        incomplete: None,
        trials: vec![
            tried(1.0, true, 1e6),
            tried(8.0, true, 9e6),
            tried(16.0, true, 30e6),
            tried(16.0, true, 20e6),
            tried(16.0, false, 60e6),
            Tried {
                times: None,
                ..tried(17.0, false, 1.0)
            },
        ],
    }
}

/// A run of five rows, which take so long.
fn beside(id: &str, us: [u64; 3]) -> record::Run {
    let builder = RunBuilder::new(1)
        .test("Upload", &[("Put1K", "PUT")])
        .ok("Put1K", 60, |i| us[0] + i % 7)
        .test("Fetch", &[("Get1K", "GET")])
        .ok("Get1K", 60, |i| us[1] + i % 5)
        .test("Find", &[("Propfind", "PROPFIND")])
        .ok("Propfind", 60, |i| us[2] + i * 7919 % 100)
        .test("Fails", &[("Lock", "LOCK")])
        .ok("Lock", 60, |_| 80)
        .test("Stumbles", &[("UnLock", "UNLOCK")])
        .ok("UnLock", 60, |_| 80);
    builder.with(|run| run.plan.run_id = id.to_owned()).build()
}

/// A comparison of two servers with one verdict of each kind but a few; the name of one is hostile.
pub(crate) fn comparisons() -> Comparisons {
    const PAIRS: u64 = 10;
    let run = |index: u64, name: &str, us: [u64; 3]| {
        let drift = [index % 3, index % 2, index * 7 % 23];
        let us = [us[0] + drift[0], us[1] + drift[1], us[2] + drift[2]];
        beside(&format!("{name}{index}"), us)
    };
    let runs_of_a = (0..PAIRS).map(|index| run(index, "a", [100, 1_000, 100]));
    let runs_of_b = (0..PAIRS).map(|index| {
        let mut b = run(2 * index + 1, "b", [150, 1_000, 104]);
        let mut failures = vec![(3, 20)];
        failures.extend((index == 4).then_some((4, 1)));
        for (row, failures) in failures {
            let samples = b.samples.iter_mut();
            let row_samples = samples.filter(|sample| sample.measure.0 == row);
            for sample in row_samples.take(failures) {
                sample.outcome = Outcome::WrongStatus;
            }
        }
        b
    });
    let summarised = |runs: &mut dyn Iterator<Item = record::Run>| -> Vec<(record::Run, Summary)> {
        runs.map(|run| {
            let summary = summarise(&run);
            (run, summary)
        })
        .collect()
    };
    let a = summarised(&mut { runs_of_a });
    let b = summarised(&mut { runs_of_b });
    fn sides(runs: &[(record::Run, Summary)]) -> Vec<Side<'_>> {
        runs.iter()
            .map(|(run, summary)| Side {
                plan: &run.plan,
                env: &run.env,
                summary,
            })
            .collect()
    }
    let comparison = stats::compare(&sides(&a), &sides(&b), 0.02).unwrap();
    Comparisons {
        name: "http://127.0.0.1:1/".to_owned(),
        runs: vec!["runs/a".to_owned()],
        seeds: Vec::new(),
        notes: Vec::new(),
        versus: vec![Versus {
            name: "evil|`\u{1b}[31m`".to_owned(),
            runs: vec!["runs/b".to_owned()],
            seeds: Vec::new(),
            notes: Vec::new(),
            comparison,
        }],
        incomplete: None,
    }
}
