//! Retransmission timeouts: RFC 6298 by hand, the tables of the dissertation, and simulated round
//! trips.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

use trace::round_trip::RttSample;
use trace::rto::{
    ComparedTimeout, INITIAL_RTO_NS, PAPER_WEIGHTS, RtoEstimator, RtoFormula, RtoTable,
    SamplingStrategy, share_up_to, share_within, study, timeouts,
};

const MS: f64 = 1e6;

fn sample(at_ms: i64, rtt_ms: i64, window: u32) -> RttSample {
    RttSample {
        at_ns: at_ms * 1_000_000,
        rtt_ns: rtt_ms * 1_000_000,
        window,
    }
}

#[test]
fn estimates_are_those_computed_by_hand() {
    // Round trip, SRTT, RTTVAR, RTO in milliseconds: weights 1/8 and 1/4, K = 4, G = 250 µs.
    let table = [
        (100.0, 100.0, 50.0, 300.0),
        (200.0, 112.5, 62.5, 362.5),
        (100.0, 110.9375, 50.0, 310.9375),
        (110.9375, 110.9375, 37.5, 260.9375),
    ];
    let mut estimator = RtoEstimator::new(RtoFormula::paper(PAPER_WEIGHTS[0]));
    assert_eq!(estimator.rto_ns(), INITIAL_RTO_NS);
    for (rtt, srtt, rttvar, rto) in table {
        estimator.add(rtt * MS);
        assert_eq!(estimator.srtt_ns(), Some(srtt * MS));
        assert_eq!(estimator.rttvar_ns(), Some(rttvar * MS));
        assert_eq!(estimator.rto_ns(), rto * MS);
    }
    // With the new SRTT the second variation would be 59.375 ms: the RFC takes the old one.
    assert_eq!(0.75 * 50.0 + 0.25 * (112.5_f64 - 200.0).abs(), 59.375);
}

#[test]
fn granularity_and_minimum_are_lower_bounds() {
    let mut paper = RtoEstimator::new(RtoFormula::paper(PAPER_WEIGHTS[0]));
    let mut rfc = RtoEstimator::new(RtoFormula {
        granularity_ns: 100.0 * MS,
        minimum_ns: 1000.0 * MS,
        ..RtoFormula::paper(PAPER_WEIGHTS[0])
    });
    for _ in 0..200 {
        paper.add(20.0 * MS);
        rfc.add(20.0 * MS);
    }
    assert!((paper.rto_ns() - 20.25 * MS).abs() < 1.0);
    assert_eq!(rfc.rto_ns(), 1000.0 * MS);
    rfc.add(5000.0 * MS);
    assert!(rfc.rto_ns() > 5000.0 * MS);
}

#[test]
fn weights_are_those_of_table_5() {
    let expected = [
        (0.125, 0.25),
        (0.125, 0.375),
        (0.125, 0.125),
        (0.1875, 0.25),
        (0.1875, 0.375),
        (0.1875, 0.125),
        (0.0625, 0.25),
        (0.0625, 0.375),
        (0.0625, 0.125),
    ];
    assert_eq!(
        PAPER_WEIGHTS.map(|weights| (weights.alpha, weights.beta)),
        expected
    );
}

#[test]
fn strategies_choose_within_windows() {
    let windows = [1, 1, 1, 1, 2, 2, 3];
    let samples: Vec<_> = (0..)
        .zip(windows)
        .map(|(at, window)| sample(at, 10, window))
        .collect();
    let chosen = |strategy: SamplingStrategy| {
        let selected = strategy.select(&samples);
        selected
            .iter()
            .map(|timeout| timeout.at_ns / 1_000_000)
            .collect::<Vec<_>>()
    };
    assert_eq!(chosen(SamplingStrategy::One), [0, 4, 6]);
    assert_eq!(chosen(SamplingStrategy::Some), [0, 2, 4, 6]);
    assert_eq!(chosen(SamplingStrategy::All), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_timeout_is_that_in_force_when_the_segment_was_sent() {
    let samples = [
        sample(100, 100, 1),
        // Sent at 50 ms, before the first acknowledgment: no timeout was computed.
        sample(150, 100, 1),
        // Sent at 120 ms: 300 ms follow from the first alone.
        sample(520, 400, 2),
        // Sent at 530 ms, behind all of them.
        sample(630, 100, 3),
    ];
    let formula = RtoFormula::paper(PAPER_WEIGHTS[0]);
    let compared = timeouts(&samples, formula, SamplingStrategy::All);
    let rto: Vec<_> = compared.iter().map(|timeout| timeout.rto_ns / MS).collect();
    // After 100, 100: SRTT 100, RTTVAR 37.5. After 400: RTTVAR 103.125, SRTT 137.5.
    assert_eq!(rto, [300.0, 137.5 + 4.0 * 103.125]);
    let table = RtoTable::of(&compared);
    assert_eq!((table.short_within, table.short_exceeded), (1, 1));
    assert_eq!(timeouts(&[], formula, SamplingStrategy::One), []);
    assert_eq!(RtoTable::of(&[]).shares(), None);
}

/// W9, one sample per window, at 125 Mbit/s: 24 segments give the row of Table 6 and the column of
/// Table 35.
#[test]
fn tables_6_and_35_agree() {
    let mut compared = Vec::new();
    let mut add = |count, rtt_ms, rto_ms: f64| {
        for _ in 0..count {
            compared.push(ComparedTimeout {
                sample: sample(0, rtt_ms, 0),
                rto_ns: rto_ms * MS,
            });
        }
    };
    add(8, 300, 400.0);
    add(4, 300, 900.0);
    add(1, 1500, 950.0);
    add(11, 300, 1300.0);
    let percent = |share: f64| (share * 100.0).round();
    let shares = RtoTable::of(&compared)
        .shares()
        .map(|shares| shares.map(percent));
    assert_eq!(shares, Some([50.0, 0.0, 4.0, 46.0, 0.0]));
    let up_to =
        |minimum: f64| share_up_to(&compared, minimum).map(|share| (share * 10_000.0).round());
    assert_eq!(up_to(1e9), Some(5417.0));
    assert_eq!(
        [up_to(0.75e9), up_to(0.5e9), up_to(0.25e9)],
        [Some(3333.0), Some(3333.0), Some(0.0)]
    );
    // Segments that a sender with that minimum would not have sent again: all but one.
    assert_eq!(share_within(&compared, 1e9), Some(23.0 / 24.0));
    assert_eq!(share_within(&compared, 1.6e9), Some(1.0));
}

/// Round trips uniform over [m - j, m + j]: SRTT tends to m, RTTVAR to j / 2, and with K = 1 three
/// quarters are within m + j / 2.
#[test]
fn simulated_round_trips_have_the_known_share() {
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let (mean, spread) = (80.0 * MS, 40.0 * MS);
    let mut samples = Vec::new();
    for index in 0..20_000 {
        let uniform = f64::from(random.next_u32()) / f64::from(u32::MAX);
        let rtt = mean + spread * (2.0 * uniform - 1.0);
        samples.push(RttSample {
            at_ns: (index + 1) * 200_000_000,
            rtt_ns: rtt as i64,
            window: index as u32,
        });
    }
    let weights = PAPER_WEIGHTS[8];
    let formula = RtoFormula {
        factor: 1.0,
        ..RtoFormula::paper(weights)
    };
    let mut estimator = RtoEstimator::new(formula);
    let mut sum = (0.0, 0.0);
    for sample in &samples {
        estimator.add(sample.rtt_ns as f64);
        sum.0 += estimator.srtt_ns().unwrap_or(0.0);
        sum.1 += estimator.rttvar_ns().unwrap_or(0.0);
    }
    let count = samples.len() as f64;
    assert!((sum.0 / count / mean - 1.0).abs() < 0.01);
    assert!((sum.1 / count / (spread / 2.0) - 1.0).abs() < 0.03);
    let within = share_within(&timeouts(&samples, formula, SamplingStrategy::All), 0.0);
    assert!(
        within.is_some_and(|share| (share - 0.75).abs() < 0.02),
        "{within:?}"
    );
    let all = timeouts(&samples, RtoFormula::paper(weights), SamplingStrategy::All);
    assert!(share_within(&all, 0.0).is_some_and(|share| share > 0.99));
}

/// A capture with round trips of 20 ms: no timeout is near them.
#[test]
fn the_study_covers_all_weights_and_strategies() {
    let (_, traced) = crate::support::analyse(&crate::support::Capture::read("after-idle"));
    let samples = traced.connections[0].from_server.rtt.samples();
    let rows = study(&[samples], &PAPER_WEIGHTS.map(RtoFormula::paper));
    assert_eq!(rows.len(), 27);
    for row in &rows {
        assert!(row.table.total() > 0 && row.table.long_within + row.table.long_exceeded == 0);
        assert_eq!(row.up_to, [Some(1.0); 4], "{row:?}");
    }
    // One sample for each window of data, and all of them.
    let count = |strategy| {
        rows.iter()
            .find(|row| row.strategy == strategy)
            .map(|row| row.table.total())
    };
    assert!(count(SamplingStrategy::One) < count(SamplingStrategy::Some));
    assert!(count(SamplingStrategy::Some) < count(SamplingStrategy::All));
}
