use record::Outcome;

use super::*;
use crate::BackgroundPart;
use crate::testing::{US, moments};

const MS: Nanos = 1000 * US;

fn builder(open: bool) -> ForegroundBuilder {
    let part = |second: u64| BackgroundPart {
        from: second * 1000 * MS,
        length: 1000 * MS,
        counted: 0,
        components: Vec::new(),
    };
    let course = BackgroundCourse {
        parts: (0..3).map(part).collect(),
        tests: Vec::new(),
    };
    ForegroundBuilder::new(Arc::new(course), open)
}

/// An operation that was planned 10 ms before it began, with a response of `took_ms` milliseconds.
fn sample(started_ms: u64, took_ms: u64, outcome: Outcome) -> Sample {
    let started = started_ms * MS;
    let first = started + took_ms * MS;
    Sample {
        outcome,
        moments: record::Moments {
            planned: started - 10 * MS,
            ..moments(started, started, first, first)
        },
        ..Sample::blank()
    }
}

#[test]
fn a_response_counts_where_it_is_complete_and_its_time_where_it_began() {
    for (open, expected) in [(false, 50 * MS), (true, 60 * MS)] {
        let mut row = builder(open);
        for _ in 0..99 {
            row.add(&sample(100, 50, Outcome::Ok));
        }
        row.add(&sample(990, 50, Outcome::Ok));
        row.add(&sample(1100, 50, Outcome::Ok));
        row.add(&sample(2100, 0, Outcome::Reset));
        row.add(&sample(2100, 0, Outcome::Cancelled));
        row.add(&sample(9000, 50, Outcome::Ok));
        let parts = row.finish();
        let counts: Vec<_> = parts
            .iter()
            .map(|part| (part.index, part.done, part.failed))
            .collect();
        assert_eq!(counts, [(0, 99, 0), (1, 2, 0), (2, 0, 1)]);
        let times = |index: usize| parts[index].percentiles.map(|time| time.is_some());
        assert_eq!(
            [times(0), times(1), times(2)],
            [[true, true], [false, false], [false, false]]
        );
        let median = parts[0].percentiles[0].unwrap();
        assert!(median.abs_diff(expected) < expected / 100, "{median}");
    }
}
