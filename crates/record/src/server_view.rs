//! What a server says of the time that it took, joined to the operations that we timed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{MeasureId, Nanos};

/// Times that a server gives for operations of one row that were ok.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTimes {
    /// The row.
    pub measure: MeasureId,
    /// Where the server gives them.
    pub source: ServerTimeSource,
    /// Operations of which it says something, also without a time.
    pub operations: u64,
    /// Smallest step of its times.
    pub resolution: Nanos,
    /// Operations of which both times are known, in the order of their ends. Of several threads, each has its own batches.
    pub batches: Vec<ServerTimeBatch>,
}

/// Where a server gives a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ServerTimeSource {
    /// A metric of the header Server-Timing. Our time is the response time.
    Header {
        /// Name of the metric.
        metric: String,
    },
    /// The time of the request in the access log. Our time is the total time.
    AccessLog,
}

/// Both times of operations that follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerTimeBatch {
    /// Operations.
    pub operations: u64,
    /// Sum of the server's times.
    pub server: Nanos,
    /// Sum of ours.
    pub ours: Nanos,
}

/// How the access log of a server was joined to the operations of a run that were ok.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessLogRecord {
    /// Operations that were looked for.
    pub operations: u64,
    /// Those of them with one line.
    pub joined: u64,
    /// Those without any.
    pub missing: u64,
    /// Those with several lines: the request was sent again.
    pub ambiguous: u64,
    /// Operations beyond the first ones, which were not looked for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub beyond: u64,
    /// Lines of other requests.
    pub other_lines: u64,
    /// Lines that could not be read.
    pub unreadable_lines: u64,
}

/// Batches of equal numbers of operations, as they are filled: a small number of them, as two become one when there are too many.
#[derive(Debug, Clone)]
pub struct ServerTimeBatches {
    batches: Vec<ServerTimeBatch>,
    /// Operations of each of them but the last.
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
    /// Adds an operation. Where there are too many batches, two and two become one, and others are as large from then on.
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
        for place in 0..MOST_BATCHES / 2 {
            let mut both = self.batches[2 * place];
            both.add(&self.batches[2 * place + 1]);
            self.batches[place] = both;
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
    /// Adds what came afterwards.
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
            batches.iter().for_each(|own| all.add(own));
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
                let size = others.first().map_or(1, |own| own.operations);
                assert!(last.operations <= size && last.operations > 0);
                assert!(
                    batches.len() > MOST_BATCHES / 2 || size == 1,
                    "{operations}"
                );
            }
        }
    }
}
