//! The open loop.

use std::time::Duration;

use proptest::prelude::*;
use record::{Arrivals, Nanos, Outcome, Stage};

use super::closed::{drawn, server};
use super::{GET, MS, Simulation, queue, span};
use crate::drive::{LoadDrive, Pacing};

fn pacing(arrivals: Arrivals, stages: Vec<Stage>, max_waiting: u32) -> LoadDrive {
    LoadDrive {
        pacing: Pacing::Open {
            arrivals,
            stages,
            max_waiting,
            spin: Duration::ZERO,
        },
        ..LoadDrive::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// At every load of the server, operations are those of the queueing model: planned by the
    /// schedule, begun on the first free connection, dropped if too many wait.
    #[test]
    fn every_operation_is_that_of_the_queueing_model(
        seed: u64,
        connections in 1_u32..10,
        processors in 1_usize..6,
        room in 0_u32..20,
        poisson: bool,
        rates in proptest::collection::vec(5.0..400.0_f64, 1..3),
        slowest in 2_u64..60,
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let stages = rates.iter().map(|rate| Stage { rate: *rate, duration_s: 0.4 }).collect();
        let work = drawn(seed, MS, slowest * MS);
        let server = server(processors, work.clone());
        let run = Simulation::load(GET, connections, pacing(arrivals, stages, room), server).run();
        let mut samples = run.samples.clone();
        samples.sort_by_key(|one| one.number);
        let planned: Vec<Nanos> = samples.iter().map(|one| one.moments.planned).collect();
        prop_assert!(planned.is_sorted());
        let work: Vec<Nanos> = (0..samples.len()).map(work).collect();
        let model = queue::open(&planned, connections as usize, room as usize, processors, &work);
        prop_assert_eq!(run.count(Outcome::Dropped), model.dropped);
        let done = samples.iter().filter(|one| one.outcome == Outcome::Ok);
        let done: Vec<_> = done.map(|one| (one.moments.planned, span(one).0, span(one).1)).collect();
        prop_assert_eq!(done, model.done);
        // Every stage is known of its operations, and the distance after the last one is part of
        // the schedule.
        let (begun, ended) = run.window(0);
        prop_assert!(ended >= begun + 400 * MS * rates.len() as u64);
        for one in &samples {
            let stage = (one.moments.planned - begun) / (400 * MS);
            prop_assert_eq!(u64::from(one.phase), stage);
        }
    }
}
