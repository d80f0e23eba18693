//! Times that a server reports, joined with the measured operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MeasureId, Nanos};

/// Times that a server reports for operations of one row that were ok.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTimes {
    /// The row.
    pub measure: MeasureId,
    /// Source of the times.
    pub source: ServerTimeSource,
    /// Operations that the server reports on, even without a time.
    pub operations: u64,
    /// Smallest step of its times.
    pub resolution: Nanos,
    /// Operations with both times, in the order of their ends; each thread has batches of its own.
    pub batches: Vec<ServerTimeBatch>,
}

/// Source of a server's times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerTimeSource {
    /// A metric of the header Server-Timing, compared with the response time.
    Header {
        /// Name of the metric.
        metric: String,
    },
    /// The time of the request in the access log, compared with the total time.
    AccessLog,
}

/// Both times of consecutive operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTimeBatch {
    /// Operations.
    pub operations: u64,
    /// Sum of the server's times.
    pub server: Nanos,
    /// Sum of the measured times.
    pub ours: Nanos,
}

/// Result of joining the access log of a server with the operations of a run that were ok.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessLogRecord {
    /// Operations that were looked up.
    pub operations: u64,
    /// Operations with one line.
    pub joined: u64,
    /// Operations without a line.
    pub missing: u64,
    /// Operations with several lines: the request was repeated.
    pub ambiguous: u64,
    /// Operations beyond the limit, which were not looked up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beyond: u64,
    /// Lines of other requests.
    pub other_lines: u64,
    /// Lines that could not be read.
    pub unreadable_lines: u64,
}

/// Batches of equal numbers of operations while they are filled: pairs of batches are merged when
/// there are too many.
#[derive(Debug, Clone)]
pub struct ServerTimeBatches {
    batches: Vec<ServerTimeBatch>,
    /// Operations of each batch except the last.
    size: u64,
}

/// Most batches of a row.
const MOST_BATCHES: usize = 40;

impl Default for ServerTimeBatches {
    fn default() -> ServerTimeBatches {
        ServerTimeBatches {
            batches: Vec::with_capacity(MOST_BATCHES),
            size: 1,
        }
    }
}

impl ServerTimeBatches {
    /// Adds an operation. If there are too many batches, pairs are merged, and later ones have the
    /// double size.
    pub fn push(&mut self, server: Nanos, ours: Nanos) {
        let is_full = |last: &ServerTimeBatch| last.operations >= self.size;
        if self.batches.last().is_none_or(is_full) {
            if self.batches.len() == MOST_BATCHES {
                self.halve();
            }
            self.batches.push(ServerTimeBatch::default());
        }
        if let Some(last) = self.batches.last_mut() {
            last.add(&ServerTimeBatch {
                operations: 1,
                server,
                ours,
            });
        }
    }

    fn halve(&mut self) {
        for index in 0..MOST_BATCHES / 2 {
            let mut both = self.batches[2 * index];
            both.add(&self.batches[2 * index + 1]);
            self.batches[index] = both;
        }
        self.batches.truncate(MOST_BATCHES / 2);
        self.size *= 2;
    }

    /// All of them, in order.
    pub fn into_batches(self) -> Vec<ServerTimeBatch> {
        self.batches
    }
}

impl ServerTimeBatch {
    /// Adds a later batch.
    pub fn add(&mut self, later: &ServerTimeBatch) {
        self.operations += later.operations;
        self.server = self.server.saturating_add(later.server);
        self.ours = self.ours.saturating_add(later.ours);
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_batches_are_of_one_size() {
        for operations in [0, 1, 39, 40, 41, 80, 81, 1000, 12_345] {
            let mut batches = ServerTimeBatches::default();
            (0..operations).for_each(|number| batches.push(number, 2 * number));
            let batches = batches.into_batches();
            let mut all = ServerTimeBatch::default();
            batches.iter().for_each(|batch| all.add(batch));
            let sum = operations * operations.saturating_sub(1) / 2;
            assert_eq!(
                (all.operations, all.server, all.ours),
                (operations, sum, 2 * sum)
            );
            assert!(batches.len() <= MOST_BATCHES);
            if let Some((last, others)) = batches.split_last() {
                assert!(
                    others
                        .windows(2)
                        .all(|two| two[0].operations == two[1].operations)
                );
                let size = others.first().map_or(1, |batch| batch.operations);
                assert!(last.operations <= size && last.operations > 0);
                assert!(
                    batches.len() > MOST_BATCHES / 2 || size == 1,
                    "{operations}"
                );
            }
        }
    }
}
