//! Pages as rows that constraints name: an operation is a visit, and its time is that from the
//! beginning of its first request to the last byte of its last file. A visit that the end of the
//! run breaks off is none.

use record::{Nanos, Outcome};

use super::Visit;
use crate::Outcomes;
use crate::estimated::{EstimatedRow, JudgedTally};
use crate::throughput::Throughput;
use crate::times::Times;
use crate::window::MeasurementWindow;

#[derive(Debug, Clone, Default)]
pub(crate) struct PageRow {
    outcomes: Outcomes,
    load: Times,
    throughput: Throughput,
    judged: JudgedTally,
    bytes_sent: u64,
    bytes_received: u64,
    connections: u64,
}

impl PageRow {
    /// Adds a visit: it counts if it begins in the window, and its throughput if it ends there.
    pub(super) fn add(&mut self, visit: &Visit, is_complete: bool, window: MeasurementWindow) {
        if is_complete && window.contains_moment(visit.ended) {
            self.throughput.receive(visit.ended, visit.bytes_received);
        }
        if !window.counts_from(visit.started) {
            return;
        }
        self.judged.add_end(visit.started, !is_complete);
        self.bytes_sent += visit.bytes_sent;
        self.bytes_received += visit.bytes_received;
        self.connections += visit.connects.len() as u64;
        if is_complete {
            let took: Nanos = visit.ended - visit.started;
            self.outcomes.add(Outcome::Ok);
            self.load.add(visit.started, took);
            self.judged.add_time(visit.started, Some(took));
        } else {
            // The rows of its files have the kinds of failures.
            self.outcomes.add(Outcome::WrongBody);
        }
    }

    pub(super) fn merge(&mut self, other: &PageRow) {
        self.outcomes = self.outcomes.plus(&other.outcomes);
        self.load.merge(&other.load);
        self.throughput.merge(&other.throughput);
        self.judged.merge(&other.judged);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.connections += other.connections;
    }

    pub(crate) fn estimated(&self) -> EstimatedRow<'_> {
        EstimatedRow {
            times: &self.load,
            throughput: &self.throughput,
            judged: &self.judged,
            outcomes: &self.outcomes,
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            connections: self.connections,
        }
    }
}
