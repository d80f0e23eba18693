//! Background traffic beside a run: its plan, counts of its sinks second by second, and totals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanos;

/// The description of background traffic: a load of a traffic file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundRecord {
    /// Name of the traffic file, without its directory.
    pub file: String,
    /// Name of the load in it.
    pub load: String,
    /// Seed of its schedules.
    pub seed: u64,
    /// Both ends are in the measuring process, on loopback.
    pub in_process: bool,
    /// The stability of its flows was checked: at least some of them have constant rates.
    pub checked_stable: bool,
    /// Its components, in each direction. Readings have their figures in this order.
    pub components: Vec<BackgroundComponent>,
    /// Programs that send beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<BackgroundGenerator>,
}

/// A program that sends, with its sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundGenerator {
    /// Name in the traffic file; with `#2` for the second instance.
    pub name: String,
    /// Program and arguments of the source, as in the file.
    pub command: Vec<String>,
    /// The same of the sink; empty without one.
    pub sink_command: Vec<String>,
}

/// The flows of a component of a load in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundComponent {
    /// Name of the component; with `.backward` for the flows from its sink to its source.
    pub name: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// Number of flows.
    pub flows: u32,
    /// Planned mean rate of all flows in bits of payload per second; `None` for as much as the
    /// network takes.
    pub planned_bps: Option<f64>,
}

/// Counts of the flows of one component in an interval, or until their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundCounts {
    /// Sent bytes of payload.
    pub sent_bytes: u64,
    /// Bytes of payload received by the sink.
    pub received_bytes: u64,
    /// Datagrams received by the sink, or blocks of streams with time stamps.
    pub received: u64,
    /// Lost datagrams.
    pub lost: u64,
    /// Lost datagrams for which the socket buffer of the sink had no space: the network did not
    /// lose them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overflowed: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Datagrams that arrived more than once.
    pub duplicates: u64,
    /// Segments that TCP retransmitted.
    pub retransmissions: u64,
    /// Interarrival jitter at the end of the interval (RFC 3550), mean of the flows; `None` for
    /// flows without time stamps.
    pub jitter: Option<Nanos>,
    /// The longest one-way delay above the shortest of its flow (RFC 5481), of all flows; `None`
    /// for flows without time stamps.
    pub delay_variation: Option<Nanos>,
    /// Times without a byte; `None` for flows with time stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<BackgroundStalls>,
    /// Blocks that the source did not send because it was too late for them, because they exceeded
    /// the agreed rate, or because its system refused them. Blocks for which a stream had no space
    /// are not included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_flows: u64,
}

/// Times without a byte in streams, each longer than 200 ms. In an interval: those that became that
/// long in it, and the growth of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundStalls {
    /// Number in all flows.
    pub count: u64,
    /// Total length in all flows.
    pub total: Nanos,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts of sources and sinks in an interval of about a second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundReading {
    /// Length of the interval.
    pub span: Nanos,
    /// In the order of the plan.
    pub components: Vec<BackgroundCounts>,
}

/// All flows of a component until their end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundTotals {
    /// Time that the totals cover if a sink died: until its last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<Nanos>,
    /// From the first to the last byte that its sink received; `None` if it received none. If this
    /// is longer than the time of sending, the rate of reception is per this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_for: Option<Nanos>,
    /// Counts; delay variation and jitter are those of the last interval.
    pub counts: BackgroundCounts,
    /// Median of the delay variation: the median of its flows; `None` without time stamps.
    pub delay_p50: Option<Nanos>,
    /// 99th percentile of the delay variation: the largest of its flows.
    pub delay_p99: Option<Nanos>,
    /// Congestion controls at the source: each that some flow had at some time.
    pub source_congestion: Vec<String>,
    /// The same at the sink.
    pub sink_congestion: Vec<String>,
    /// Blocks that were not sent: too late for them, beyond the agreed rate, or refused by the
    /// system.
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    pub failed_flows: u32,
}

/// The end of background traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundEnd {
    /// Time that the totals cover, from beginning to end; some components have a time of their own.
    pub elapsed: Nanos,
    /// In the order of the plan.
    pub components: Vec<BackgroundTotals>,
    /// Accuracy of the schedules.
    pub pacing: BackgroundPacing,
    /// The reason, if it ended before the measurement.
    pub failure: Option<String>,
    /// Reports of other programs, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<BackgroundGeneratorEnd>,
}

/// The end of another program, and figures from its own report, which are not verified.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundGeneratorEnd {
    /// Exit status or signal of the source.
    pub status: String,
    /// The reason why a report could not be read; `null` if all were read.
    pub report_error: Option<String>,
    /// Time of sending in seconds.
    pub seconds: Option<f64>,
    /// Sent bytes.
    pub sent_bytes: Option<u64>,
    /// Bytes received by its sink.
    pub received_bytes: Option<u64>,
    /// Sent datagrams.
    pub packets: Option<u64>,
    /// Lost datagrams.
    pub lost: Option<u64>,
    /// Jitter in nanoseconds, as the program defines it.
    pub jitter_ns: Option<Nanos>,
    /// Mean one-way delay in nanoseconds, by the clocks of both ends.
    pub mean_delay_ns: Option<Nanos>,
    /// Segments that TCP retransmitted.
    pub retransmissions: Option<u64>,
}

/// Delay of blocks after their scheduled moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundPacing {
    /// Scheduled blocks.
    pub blocks: u64,
    /// Median in nanoseconds.
    pub p50_ns: Nanos,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Nanos,
    /// The largest in nanoseconds.
    pub max_ns: Nanos,
}

impl BackgroundCounts {
    /// Share of lost datagrams; `None` if there were none.
    pub fn loss(&self) -> Option<f64> {
        let all = self.lost.saturating_add(self.received);
        (all > 0).then(|| self.lost as f64 / all as f64)
    }

    /// Adds another interval, or other flows: counts are added up, and the larger delay variation
    /// and jitter are kept.
    pub fn add(&mut self, other: &BackgroundCounts) {
        // Counts of a sink are not trusted: the sum must not overflow.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.sent_bytes, other.sent_bytes);
        add(&mut self.received_bytes, other.received_bytes);
        add(&mut self.received, other.received);
        add(&mut self.lost, other.lost);
        add(&mut self.overflowed, other.overflowed);
        add(&mut self.reordered, other.reordered);
        add(&mut self.duplicates, other.duplicates);
        add(&mut self.retransmissions, other.retransmissions);
        self.jitter = self.jitter.max(other.jitter);
        self.delay_variation = self.delay_variation.max(other.delay_variation);
        if let Some(other) = other.stalls {
            let stalls = self.stalls.get_or_insert_default();
            add(&mut stalls.count, other.count);
            add(&mut stalls.total, other.total);
        }
        add(&mut self.unsent_blocks, other.unsent_blocks);
        add(&mut self.failed_flows, other.failed_flows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_flow_can_have_are_added_up_all_the_same() {
        let mut sum = BackgroundCounts {
            lost: u64::MAX,
            received: 1,
            ..BackgroundCounts::default()
        };
        sum.add(&sum.clone());
        assert_eq!((sum.lost, sum.received), (u64::MAX, 2));
        assert_eq!(sum.loss(), Some(1.0));
    }

    #[test]
    fn what_did_not_happen_is_left_out() {
        let written = r#"{"sent_bytes":9,"received_bytes":8,"received":2,"lost":1,"reordered":0,"duplicates":0,"retransmissions":0,"jitter":5,"delay_variation":null}"#;
        let counts: BackgroundCounts = serde_json::from_str(written).unwrap();
        let expected = BackgroundCounts {
            sent_bytes: 9,
            received_bytes: 8,
            received: 2,
            lost: 1,
            jitter: Some(5),
            ..BackgroundCounts::default()
        };
        assert_eq!(counts, expected);
        assert_eq!(serde_json::to_string(&counts).unwrap(), written);
        let full = BackgroundCounts {
            stalls: Some(BackgroundStalls {
                count: 1,
                total: 300_000_000,
            }),
            unsent_blocks: 3,
            failed_flows: 1,
            ..counts
        };
        let text = serde_json::to_string(&full).unwrap();
        let read: BackgroundCounts = serde_json::from_str(&text).unwrap();
        assert_eq!(read, full);
        assert!(serde_json::from_str::<BackgroundCounts>(r#"{"stall":1}"#).is_err());
    }

    #[test]
    fn counts_are_added_up_and_flows_without_stalls_do_not_hide_those_of_others() {
        let stalls = |count| BackgroundCounts {
            stalls: Some(BackgroundStalls {
                count,
                total: count * 10,
            }),
            unsent_blocks: count,
            failed_flows: 1,
            ..BackgroundCounts::default()
        };
        let mut sum = BackgroundCounts::default();
        sum.add(&BackgroundCounts::default());
        assert_eq!(sum.stalls, None);
        sum.add(&stalls(2));
        sum.add(&BackgroundCounts::default());
        sum.add(&stalls(1));
        let expected = BackgroundStalls {
            count: 3,
            total: 30,
        };
        assert_eq!(sum.stalls, Some(expected));
        assert_eq!((sum.unsent_blocks, sum.failed_flows), (3, 2));
    }
}
