//! Background traffic beside a run: text, document and page have the same figures.

use record::{
    BackgroundComponent, BackgroundCounts, BackgroundEnd, BackgroundPacing, BackgroundReading,
    BackgroundRecord, BackgroundStalls, BackgroundTotals, EventKind, Run,
};
use report::TextOptions;
use serde_json::Value;
use stats::summarise;
use stats::testing::RunBuilder;

use crate::page::{figures_of_run, markup, page_of};

const SECOND: u64 = 1_000_000_000;

fn component(name: &str, protocol: &str) -> BackgroundComponent {
    BackgroundComponent {
        name: name.to_owned(),
        protocol: protocol.to_owned(),
        flows: 2,
        planned_bps: None,
    }
}

/// Two tests of a second each beside UDP with loss and TCP with stalls, of which a connection fails
/// in the second one.
fn run() -> Run {
    run_of("Put1K")
}

fn run_of(first: &str) -> Run {
    let record = BackgroundRecord {
        file: "load.yaml".to_owned(),
        load: "busy".to_owned(),
        seed: 7,
        in_process: false,
        checked_stable: true,
        components: vec![component("voice", "udp"), component("bulk", "tcp")],
        generators: Vec::new(),
    };
    let reading = |failed_flows| {
        EventKind::Background(BackgroundReading {
            span: SECOND,
            components: vec![
                BackgroundCounts {
                    sent_bytes: 125_000,
                    received_bytes: 100_000,
                    received: 80,
                    lost: 20,
                    jitter: Some(20_000),
                    delay_variation: Some(1_500_000),
                    ..BackgroundCounts::default()
                },
                BackgroundCounts {
                    sent_bytes: 500_000,
                    received_bytes: 500_000,
                    retransmissions: 3,
                    stalls: Some(BackgroundStalls {
                        count: 1,
                        total: 300_000_000,
                    }),
                    failed_flows,
                    ..BackgroundCounts::default()
                },
            ],
        })
    };
    let end = BackgroundEnd {
        elapsed: 5 * SECOND,
        components: vec![
            BackgroundTotals::default(),
            BackgroundTotals {
                failed_flows: 1,
                ..BackgroundTotals::default()
            },
        ],
        pacing: BackgroundPacing::default(),
        failure: None,
        generators: Vec::new(),
    };
    let started = |test| EventKind::MeasuringStarted { test };
    let ended = |test| EventKind::MeasuringEnded { test };
    RunBuilder::new(1)
        .with(|run| run.plan.background = Some(record))
        .test(first, &[(first, "PUT")])
        .ok(first, 100, |_| 9_970)
        .event_at(0, started)
        .event_at(SECOND, ended)
        .test("Get1K", &[("Get1K", "GET")])
        .ok("Get1K", 100, |_| 9_970)
        .event_at(SECOND, started)
        .event_at(SECOND, |_| reading(0))
        .event_at(2 * SECOND, |_| reading(1))
        .event_at(2 * SECOND, ended)
        .event_at(2 * SECOND, |_| EventKind::BackgroundEnded(end))
        .build()
}

/// A name above a band fits on a phone, too, or all tests are numbered.
#[test]
fn tests_above_background_traffic_are_named_or_numbered() {
    for (first, said, shown) in [
        ("Put1K", "", "Put1K"),
        (
            "PropfindDeadMultiple",
            "1 PropfindDeadMultiple, 2 Get1K",
            "1",
        ),
    ] {
        let figures = figures_of_run(&run_of(first));
        let figure = figures
            .iter()
            .find(|figure| figure.id == "background")
            .unwrap();
        let note = &figure.note;
        assert_eq!(
            note.contains("by their numbers"),
            !said.is_empty(),
            "{note}"
        );
        assert!(note.contains(said), "{note}");
        for width in [360, 760] {
            let drawn = figures::svg(figure, width);
            assert!(
                drawn.contains(&format!(">{shown}</text>")),
                "{width}: {drawn}"
            );
        }
    }
}

#[test]
fn text_document_and_page_say_the_same() {
    let run = run();
    let summary = summarise(&run);
    let options = TextOptions {
        width: 400,
        ..TextOptions::default()
    };
    let text = report::text(&run, &summary, &[], &options);
    let document: Value = serde_json::from_str(&report::json(&run, &summary, &[])).unwrap();
    let page = markup(&page_of(&run));
    let [voice, bulk] =
        [0, 1].map(|index| &document["background"]["components"][index]["measured"]);
    for (figures, received, said) in [
        (
            voice,
            800_000.0,
            ["received 800 kbit/s", "lost 20 %", "jitter 20.0 µs"],
        ),
        (
            bulk,
            4e6,
            [
                "received 4.00 Mbit/s",
                "retransmissions 6",
                "2 stalls (600 ms)",
            ],
        ),
    ] {
        assert_eq!(figures["received_bits_per_second"], received);
        for said in said {
            assert!(text.contains(said), "{said}: {text}");
            let cell = said.trim_start_matches(|c: char| c.is_ascii_lowercase() || c == ' ');
            assert!(page.contains(cell), "{cell}");
        }
    }
    assert_eq!(voice["lost_percent"], 20.0);
    assert_eq!(
        (&bulk["stalls"], &bulk["stalled_s"]),
        (&2.into(), &0.6.into())
    );
    assert_eq!(bulk["retransmissions"], 6);
    assert!(voice["stalls"].is_null(), "{voice}");
    for report in [&text, &page] {
        assert!(
            report.contains("bulk: 1 of 2 connections failed"),
            "{report}"
        );
    }
}

#[test]
fn what_was_measured_after_a_connection_had_failed_is_inconclusive() {
    let run = run();
    let summary = summarise(&run);
    let disqualified = summary.tests.iter().map(|row| row.disqualified().is_some());
    assert_eq!(disqualified.collect::<Vec<_>>(), [false, true]);
    assert_eq!(summary.conclusion(), stats::Conclusion::Inconclusive);
    let csv = report::csv(&run, &summary);
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

#[test]
fn the_figure_has_both_on_one_time_axis() {
    let all = figures_of_run(&run());
    let figure = all.iter().find(|figure| figure.id == "background").unwrap();
    let ends: Vec<(f64, f64)> = figure.panels.iter().map(|panel| panel.x.ends()).collect();
    assert!(ends.iter().all(|end| *end == (0.0, 2.0)), "{ends:?}");
    let rows: Vec<&[String]> = figure.rows().collect();
    let values = |what: &str| {
        let matching = rows.iter().filter(|row| row[0] == what);
        matching.map(|row| row[2].as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        values("voice, received"),
        ["800 kbit/s", "800 kbit/s"],
        "{rows:?}"
    );
    assert_eq!(values("voice, lost"), ["20 %", "20 %"], "{rows:?}");
    assert_eq!(values("bulk, lost"), [""; 0], "{rows:?}");
    let medians = values("p50 of Put1K");
    let median: f64 = medians[0].split(' ').next().unwrap().parse().unwrap();
    assert!(
        (9.9..10.04).contains(&median) && medians[0].ends_with("ms"),
        "{medians:?}"
    );
    let without = RunBuilder::new(1)
        .test("Put1K", &[("Put1K", "PUT")])
        .build();
    assert!(!page_of(&without).contains("background-figures"));
}
