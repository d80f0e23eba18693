//! Background traffic that went on beside a run: what was planned, what the sinks saw, second by second, and the
//! totals.

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
    /// Both ends are in the process that measured, on loopback.
    pub in_process: bool,
    /// Whether the rates of its flows are constant, all or some of them, so that it was checked that they are stable.
    pub checked_stable: bool,
    /// Its components, in each direction. Readings have their figures in this order.
    pub components: Vec<BackgroundComponent>,
    /// Other programs that send beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<BackgroundGenerator>,
}

/// Another program that sends, with its sink.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundGenerator {
    /// Its name in the traffic file; with `#2` for the second instance.
    pub name: String,
    /// Program and arguments of the source, as they are in the file.
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
    /// How many flows.
    pub flows: u32,
    /// Planned mean rate of all of them, in bits of payload per second; `None` for as much as the network takes.
    pub planned_bps: Option<f64>,
}

/// What has happened to the flows of one component in an interval, or until their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundCounts {
    /// Bytes of payload that were sent.
    pub sent_bytes: u64,
    /// Bytes of payload that the sink received.
    pub received_bytes: u64,
    /// Datagrams that the sink received, or blocks of streams with time stamps.
    pub received: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Those of them for which the socket buffer of the sink had no room, so that the network did not lose them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overflowed: u64,
    /// Datagrams that arrived after one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Datagrams that arrived again.
    pub duplicates: u64,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// Interarrival jitter at the end of the interval (RFC 3550), mean of the flows; `None` of flows without
    /// time stamps.
    pub jitter: Option<Nanos>,
    /// The longest one-way delay above the shortest of its flow (RFC 5481), of all flows; `None` of flows without
    /// time stamps.
    pub delay_variation: Option<Nanos>,
    /// Times without a byte; `None` of flows with time stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<BackgroundStalls>,
    /// Blocks that the source did not send because it was too late for them, because they exceeded what was agreed, or
    /// because its system refused them. Those for which a stream had no room are not among them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_flows: u64,
}

/// Times without a byte of streams, each longer than 200 ms. In an interval: those that became that long in it, and by
/// how much all of them grew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundStalls {
    /// How many, of all flows.
    pub count: u64,
    /// Their length, of all flows together.
    pub total: Nanos,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What sources and sinks counted in an interval of about a second.
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
    /// The time of which they are, where a sink died: until its last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<Nanos>,
    /// From the first to the last byte that its sink received; `None` where it received none. Where this is longer than
    /// the time in which was sent, it is the time of what was received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_for: Option<Nanos>,
    /// Counts; delay variation and jitter are those of the last interval.
    pub counts: BackgroundCounts,
    /// Median of the delay variation: the median of its flows; `None` without time stamps.
    pub delay_p50: Option<Nanos>,
    /// 99th percentile of the delay variation: the largest of its flows.
    pub delay_p99: Option<Nanos>,
    /// Congestion control at the source, each that some flow had once.
    pub source_congestion: Vec<String>,
    /// The same at the sink.
    pub sink_congestion: Vec<String>,
    /// Blocks that were not sent: too late for them, beyond the rate that was agreed, or refused by the system.
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    pub failed_flows: u32,
}

/// How background traffic ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackgroundEnd {
    /// The time of which the totals are, from its beginning to its end; of components with a time of their own, that.
    pub elapsed: Nanos,
    /// In the order of the plan.
    pub components: Vec<BackgroundTotals>,
    /// How well schedules were kept.
    pub pacing: BackgroundPacing,
    /// Why it ended before the measurement did; `None` where it did not.
    pub failure: Option<String>,
    /// What other programs report of themselves, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<BackgroundGeneratorEnd>,
}

/// How another program ended, and its own figures, which nobody has checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundGeneratorEnd {
    /// Exit status or signal of the source.
    pub status: String,
    /// Why a report could not be read; `null` where all were read.
    pub report_error: Option<String>,
    /// Seconds in which it sent.
    pub seconds: Option<f64>,
    /// Bytes that it sent.
    pub sent_bytes: Option<u64>,
    /// Bytes that its sink received.
    pub received_bytes: Option<u64>,
    /// Datagrams that it sent.
    pub packets: Option<u64>,
    /// Datagrams that were lost.
    pub lost: Option<u64>,
    /// Jitter in nanoseconds, as the program defines it.
    pub jitter_ns: Option<Nanos>,
    /// Mean one-way delay in nanoseconds, by the clocks of both ends.
    pub mean_delay_ns: Option<Nanos>,
    /// Segments that TCP sent again.
    pub retransmissions: Option<u64>,
}

/// How long after their moments blocks were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackgroundPacing {
    /// Blocks with a moment.
    pub blocks: u64,
    /// Median in nanoseconds.
    pub p50_ns: Nanos,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Nanos,
    /// The largest in nanoseconds.
    pub max_ns: Nanos,
}

impl BackgroundCounts {
    /// Share of the datagrams that were lost; `None` where there were none.
    pub fn loss(&self) -> Option<f64> {
        let all = self.lost.saturating_add(self.received);
        (all > 0).then(|| self.lost as f64 / all as f64)
    }

    /// Adds what happened at another time, or to other flows: counts are added up, and of delay variation and jitter
    /// the larger one is kept.
    pub fn add(&mut self, other: &BackgroundCounts) {
        // Counts of a sink may be anything.
        let add = |own: &mut u64, more: u64| *own = own.saturating_add(more);
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
            let own = self.stalls.get_or_insert_default();
            add(&mut own.count, other.count);
            add(&mut own.total, other.total);
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
