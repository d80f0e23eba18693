//! Sweeps and searches as people and programs read them.

use insta::assert_snapshot;
use serde_json::Value;
use stats::testing::RunBuilder;
use stats::{Answer, Knee, Summary, Swept, summarise};

use record::Outcome;
use report::{Design, Find, Found, Sweep, SweepServer, Tried, Varied};

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

fn sweep() -> Sweep {
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
        rows: stats::sweep(&values, &runs, 0.05),
        vary,
        design: Design::Grid,
        repeats: 3,
        same_within: 0.05,
        servers: vec![
            server("apache", Some("Apache/2.4")),
            server("evil\u{1b}[2J", None),
        ],
        caveats: vec!["the generator was the bottleneck in 1 of 48 runs".to_owned()],
    }
}

#[test]
fn a_sweep_for_people() {
    assert_snapshot!("sweep_text", report::sweep_text(&sweep(), false, 100));
    let colored = report::sweep_text(&sweep(), true, 100);
    assert!(colored.contains("\u{1b}[31m") && !colored.contains("\u{1b}[2J"));
}

fn valid(document: &str, schema: &str) -> Value {
    let document: Value = serde_json::from_str(document).unwrap();
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
    document
}

#[test]
fn a_sweep_for_programs() {
    let document = valid(&report::sweep_json(&sweep()), &report::sweep_schema());
    let copy = &document["tests"][0]["servers"][1];
    let per_unit = copy["law"]["terms"][0]["per_unit_us"].as_f64().unwrap();
    assert!((75.0..77.0).contains(&per_unit), "{copy:#}");
    assert_eq!(copy["effects"][1]["verdict"], "none");
    assert_eq!(copy["points"].as_array().unwrap().len(), 8);
    let failed = &document["tests"][2]["servers"][1]["points"][7];
    assert_eq!(
        (&failed["status"], &failed["mean_us"]),
        (&"failed".into(), &Value::Null)
    );
}

fn found() -> Found {
    let tried = |load: f64, held, p99: f64| Tried {
        load,
        held,
        per_second: 1000.0 * load.min(8.0),
        times: Some((p99 / 2.0, p99 / 3.0, p99)),
        failures: u64::from(!held),
    };
    Found {
        find: Find::Users,
        condition: "p99 < 50ms and failures == 0".to_owned(),
        target: "http://127.0.0.1:1/x".to_owned(),
        software: Some("nginx".to_owned()),
        what: "GET".to_owned(),
        answer: Answer {
            held: Some(16.0),
            broken: Some(17.0),
            confirmed: true,
        },
        knee: Some(Knee { load: 8.0 }),
        inconclusive: None,
        trials: vec![
            tried(1.0, true, 1e6),
            tried(8.0, true, 9e6),
            tried(16.0, true, 30e6),
            Tried {
                times: None,
                ..tried(17.0, false, 1.0)
            },
        ],
    }
}

#[test]
fn a_search_for_people() {
    let text = report::search_text(&found(), false, 100);
    assert_snapshot!("search_text", text);
    let table = [
        (
            Some(4.0),
            None,
            false,
            "holds with 4 users, the most that was tried",
        ),
        (None, Some(1.0), false, "does not even hold with 1 user"),
        (None, None, false, "not known"),
    ];
    for (held, broken, confirmed, says) in table {
        let found = Found {
            answer: Answer {
                held,
                broken,
                confirmed,
            },
            ..found()
        };
        let text = report::search_text(&found, false, 200);
        assert!(text.contains(says), "{text}");
    }
    let stopped = Found {
        inconclusive: Some("late".to_owned()),
        answer: Answer {
            held: Some(4.0),
            broken: None,
            confirmed: false,
        },
        ..found()
    };
    let text = report::search_text(&stopped, false, 300);
    assert!(
        text.contains("holds with 4 users.") && text.contains("Inconclusive beyond"),
        "{text}"
    );
}

#[test]
fn a_search_for_programs() {
    let document = valid(&report::search_json(&found()), &report::search_schema());
    assert_eq!(
        (&document["answer"]["held"], &document["knee"]),
        (&16.0.into(), &8.0.into())
    );
    assert_eq!(document["points"][3]["p99_us"], Value::Null);
}
