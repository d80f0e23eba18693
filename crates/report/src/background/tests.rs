//! Seconds and totals in words, and as a document.

use super::*;

fn record() -> BackgroundRecord {
    let component = |name: &str, protocol: &str, planned_bps| BackgroundComponent {
        name: name.to_owned(),
        protocol: protocol.to_owned(),
        flows: 2,
        planned_bps,
    };
    BackgroundRecord {
        file: "load.yaml".to_owned(),
        load: "busy".to_owned(),
        seed: 7,
        in_process: true,
        checked_stable: true,
        components: vec![
            component("voice", "udp", Some(1e6)),
            component("bulk.backward", "tcp", None),
        ],
        generators: Vec::new(),
    }
}

fn counts() -> BackgroundCounts {
    BackgroundCounts {
        sent_bytes: 250_000,
        received_bytes: 187_500,
        received: 75,
        lost: 25,
        reordered: 1,
        jitter: Some(20_000),
        delay_variation: Some(1_500_000),
        ..BackgroundCounts::default()
    }
}

#[test]
fn rates_have_three_digits() {
    let table = [
        (0.0, "0 bit/s"),
        (999.0, "999 bit/s"),
        (64_000.0, "64.0 kbit/s"),
        (999_700.0, "1.00 Mbit/s"),
        (9_984_000.0, "9.98 Mbit/s"),
        (1.25e11, "125 Gbit/s"),
    ];
    for (rate, expected) in table {
        assert_eq!(bits(rate), expected);
    }
}

#[test]
fn a_second_has_a_line_for_each_component() {
    let tcp = BackgroundCounts {
        received_bytes: 125_000,
        retransmissions: 3,
        stalls: Some(BackgroundStalls {
            count: 1,
            total: 300_000_000,
        }),
        ..BackgroundCounts::default()
    };
    let reading = BackgroundReading {
        span: 1_000_000_000,
        components: vec![counts(), tcp],
    };
    assert_eq!(
        background_lines(&record(), 3_000_000_000, &reading),
        [
            "    3 s  voice: sent 2.00 Mbit/s, received 1.50 Mbit/s, lost 25 %, jitter 20.0 µs, delay \
             variation up to 1.50 ms",
            "    3 s  bulk.backward: sent 0 bit/s, received 1.00 Mbit/s, retransmissions 3, 1 stall (300 ms)",
        ]
    );
}

#[test]
fn a_run_tells_of_stalls_and_of_flows_that_are_not_those_of_the_description() {
    let stalled = BackgroundCounts {
        stalls: Some(BackgroundStalls {
            count: 2,
            total: 1_300_000_000,
        }),
        unsent_blocks: 3,
        ..BackgroundCounts::default()
    };
    let reading = BackgroundReading {
        span: 1_000_000_000,
        components: vec![counts(), stalled],
    };
    let totals = record::BackgroundTotals {
        failed_flows: 1,
        unsent_blocks: 7,
        ..record::BackgroundTotals::default()
    };
    let end = BackgroundEnd {
        elapsed: 1_000_000_000,
        components: vec![record::BackgroundTotals::default(), totals],
        pacing: BackgroundPacing::default(),
        failure: Some("it died".to_owned()),
        generators: Vec::new(),
    };
    let summary = BackgroundSummary {
        seconds: vec![(1_000_000_000, reading)],
        measured: (0, 2_000_000_000),
        end: Some((1_500_000_000, end)),
        ..BackgroundSummary::default()
    };
    let said = in_words(&record(), &summary);
    assert!(!said[1].contains("stall"), "{said:?}");
    assert!(
        said[2].ends_with("retransmissions 0, 2 stalls (1.30 s)"),
        "{said:?}"
    );
    assert!(
        said[3].starts_with("bulk.backward: 3 blocks were not sent: "),
        "{said:?}"
    );
    // Seven in all, and a connection that failed in no second that counts.
    assert!(
        said[4].starts_with("bulk.backward: before or after measuring, 4 blocks were not sent: "),
        "{said:?}"
    );
    assert_eq!(
        said[5..],
        [
            "bulk.backward: before or after measuring, 1 of 2 connections failed",
            "it ended 1.5 s after the beginning of the run: it died"
        ]
    );
    let quiet = BackgroundSummary {
        end: None,
        ..summary
    };
    assert_eq!(faults_in_words(&record(), &quiet), [""; 0]);
}

#[test]
fn totals_are_a_table_and_a_document() {
    let totals = |counts, names: &[&str]| record::BackgroundTotals {
        counts,
        delay_p50: counts.jitter,
        source_congestion: names.iter().map(|&name| name.to_owned()).collect(),
        ..record::BackgroundTotals::default()
    };
    let end = BackgroundEnd {
        elapsed: 1_000_000_000,
        components: vec![
            totals(counts(), &[]),
            totals(BackgroundCounts::default(), &["cubic"]),
        ],
        pacing: BackgroundPacing::default(),
        failure: None,
        generators: Vec::new(),
    };
    let text = background_totals(&record(), &end);
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[1].starts_with("voice (udp)") && lines[1].contains("25 %"),
        "{text}"
    );
    assert!(
        lines[2].contains("bulk.backward (tcp)") && lines[2].ends_with('0'),
        "{text}"
    );
    assert_eq!(lines[3], "Rates are means of 1.00 s.");
    assert!(
        lines[4].contains("congestion control cubic at the source"),
        "{text}"
    );
    let mut died = BackgroundEnd {
        failure: Some("it died".to_owned()),
        ..end.clone()
    };
    died.components[0].elapsed = Some(500_000_000);
    let text = background_totals(&record(), &died);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].contains("4.00 Mbit/s"), "{text}");
    assert_eq!(
        lines[3..5],
        [
            "Rates of voice are means of 500 ms, until the last report of the sinks before the traffic ended early.",
            "Rates of bulk.backward are means of 1.00 s."
        ]
    );
    died.components[1].elapsed = Some(500_000_000);
    assert!(
        background_totals(&record(), &died).contains(
            "Rates are means of 500 ms, until the last report of the sinks before the traffic ended early.\n"
        )
    );
    // A queue lets 125 kB through in two seconds that were sent in one.
    let mut queued = end.clone();
    queued.components[0].received_for = Some(2_000_000_000);
    let text = background_totals(&record(), &queued);
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        "Rates of voice are means of 1.00 s, of what was received of the 2.00 s in which it arrived.",
        "Rates of bulk.backward are means of 1.00 s.",
    ];
    assert_eq!(lines[3..5], expected);
    let totals_of = |end: &BackgroundEnd| {
        let document = background_json(&record(), &[], end);
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let figure = |name: &str| document["components"][0]["totals"][name].clone();
        (
            figure("sent_bits_per_second"),
            figure("received_bits_per_second"),
        )
    };
    let (sent, received) = totals_of(&end);
    let half = received.as_f64().unwrap() / 2.0;
    assert_eq!(totals_of(&queued), (sent.clone(), half.into()));
    assert!(lines[1].contains(&bits(half)), "{text}");
    // Where blocks arrived for no longer than they were sent, both figures cover the same time.
    queued.components[0].received_for = Some(900_000_000);
    assert_eq!(totals_of(&queued), (sent, received));
    let document = background_json(&record(), &[], &end);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["components"][0]["totals"]["lost_percent"], 25.0);
    assert_eq!(
        document["components"][1]["planned_bits_per_second"],
        serde_json::Value::Null
    );
    assert!(background_schema().contains("\"BackgroundFigures\""));
}
