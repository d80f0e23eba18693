//! Background traffic as JSON.

use std::borrow::Cow;

use record::{
    BackgroundComponent, BackgroundCounts, BackgroundEnd, BackgroundPacing, BackgroundReading,
    BackgroundRecord, Nanos, Run,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{BackgroundFigures, PartOfRun, Summary};

use super::{SECOND, rate};
use crate::generators::{self, BackgroundGeneratorJson};
#[cfg(feature = "schema")]
use crate::json::schema_of;
use crate::json::{SeedJson, pretty, thousandths, us};

/// Background traffic as JSON: what `prestan traffic run --json` writes, and a part of the document
/// of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Background")]
pub struct BackgroundJson {
    /// Name of the traffic file, without its directory.
    pub file: String,
    /// Name of the load in it.
    pub load: String,
    /// Seed of its schedules.
    pub seed: SeedJson,
    /// Both ends were in the process that measured, on loopback.
    pub in_process: bool,
    /// The rates of its flows were checked for stability. Those of models with random rates are not
    /// checked.
    pub checked_stable: bool,
    /// Its components, in each direction.
    pub components: Vec<BackgroundComponentJson>,
    /// Other programs that sent beside them, with the figures that these programs reported.
    pub generators: Vec<BackgroundGeneratorJson>,
    /// How well schedules were kept; `null` where the record does not have it.
    pub pacing: Option<BackgroundPacing>,
    /// Why it ended before the measurement did; `null` where it did not.
    pub failure: Option<String>,
    /// Counts of each second.
    pub seconds: Vec<BackgroundSecondJson>,
}

/// A component of background traffic, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundComponent")]
pub struct BackgroundComponentJson {
    /// Name of the component; with `.backward` for the flows from its sink to its source.
    pub name: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// How many flows.
    pub flows: u32,
    /// Planned mean rate of all of them, in bits of payload per second; `null` for as much as the
    /// network takes.
    pub planned_bits_per_second: Option<f64>,
    /// Figures of the time in which the run measured: jitter is the mean of the seconds, delay
    /// variation the longest. `null` without a measurement, and where no second of it counts.
    pub measured: Option<BackgroundFiguresJson>,
    /// Figures from the beginning of the flows to their end; `null` where the record has no totals.
    pub totals: Option<BackgroundFiguresJson>,
    /// Median of the delay variation in microseconds: the median of the flows.
    pub delay_variation_p50_us: Option<f64>,
    /// 99th percentile of the delay variation in microseconds: the largest of the flows.
    pub delay_variation_p99_us: Option<f64>,
    /// Congestion control at the source, each that some flow had once.
    pub source_congestion: Vec<String>,
    /// The same at the sink.
    pub sink_congestion: Vec<String>,
    /// Blocks that were not sent, those included for which the network had no room.
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    pub failed_flows: u32,
}

/// Figures of flows in an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundFigures")]
pub struct BackgroundFiguresJson {
    /// Bits of payload per second that were sent.
    pub sent_bits_per_second: f64,
    /// Bits of payload per second that arrived; of totals, in the time from the first to the last
    /// of them, where that is longer than was sent.
    pub received_bits_per_second: f64,
    /// Datagrams that arrived, or blocks of streams with time stamps.
    pub received: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Their share in percent; `null` where there were no datagrams.
    pub lost_percent: Option<f64>,
    /// Those of the lost ones for which the socket buffer of the sink had no room: the network did
    /// not lose them.
    pub overflowed: u64,
    /// Datagrams that arrived after one that was sent later.
    pub reordered: u64,
    /// Datagrams that arrived again.
    pub duplicates: u64,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// Interarrival jitter at the end of the interval in microseconds; `null` without time stamps.
    pub jitter_us: Option<f64>,
    /// The longest one-way delay above the shortest of its flow in microseconds; of totals, in the
    /// last interval.
    pub delay_variation_us: Option<f64>,
    /// Times without a byte longer than 200 ms, of streams as fast as they go; `null` of other
    /// flows. In an interval: those that became that long in it.
    pub stalls: Option<u64>,
    /// Their length in seconds, of all flows together. In an interval: by how much it grew.
    pub stalled_s: Option<f64>,
    /// Blocks that sources did not send because they were too late for them, because they exceeded
    /// what was agreed, or because their system refused them.
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    pub failed_flows: u64,
}

/// One interval of background traffic, of about a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundSecond")]
pub struct BackgroundSecondJson {
    /// Its end in seconds: of a run, after the beginning of the run.
    pub at_s: f64,
    /// In the order of the components.
    pub components: Vec<BackgroundFiguresJson>,
}

fn figures(counts: &BackgroundCounts, (span, arrival): (Nanos, Nanos)) -> BackgroundFiguresJson {
    let time = |ns: Option<Nanos>| ns.map(|ns| us(ns as f64));
    BackgroundFiguresJson {
        sent_bits_per_second: rate(counts.sent_bytes, span).round(),
        received_bits_per_second: rate(counts.received_bytes, arrival).round(),
        received: counts.received,
        lost: counts.lost,
        lost_percent: counts.loss().map(|loss| thousandths(loss * 100.0)),
        overflowed: counts.overflowed,
        reordered: counts.reordered,
        duplicates: counts.duplicates,
        retransmissions: counts.retransmissions,
        jitter_us: time(counts.jitter),
        delay_variation_us: time(counts.delay_variation),
        stalls: counts.stalls.map(|stalls| stalls.count),
        stalled_s: counts
            .stalls
            .map(|stalls| thousandths(stalls.total as f64 / SECOND)),
        unsent_blocks: counts.unsent_blocks,
        failed_flows: counts.failed_flows,
    }
}

impl BackgroundJson {
    /// Of a record, its seconds with their ends, and its end.
    pub(crate) fn of<'a>(
        record: &BackgroundRecord,
        seconds: impl Iterator<Item = (Nanos, &'a BackgroundReading)>,
        end: Option<&BackgroundEnd>,
        measured: impl Fn(usize) -> Option<BackgroundFigures>,
    ) -> BackgroundJson {
        let component = |(index, component): (usize, &BackgroundComponent)| {
            let totals = end.and_then(|end| {
                let totals = end.components.get(index)?;
                let sent = super::time_of(totals, end);
                Some((totals, (sent, super::time_of_arrival(totals, end))))
            });
            let known = totals.map_or(Cow::default(), |(totals, _)| Cow::Borrowed(totals));
            let time = |ns: Option<Nanos>| ns.map(|ns| us(ns as f64));
            BackgroundComponentJson {
                name: component.name.clone(),
                protocol: component.protocol.clone(),
                flows: component.flows,
                planned_bits_per_second: component.planned_bps.map(thousandths),
                measured: measured(index)
                    .map(|counted| figures(&counted.counts, (counted.span, counted.span))),
                totals: totals.map(|(totals, times)| figures(&totals.counts, times)),
                delay_variation_p50_us: time(known.delay_p50),
                delay_variation_p99_us: time(known.delay_p99),
                source_congestion: known.source_congestion.clone(),
                sink_congestion: known.sink_congestion.clone(),
                unsent_blocks: known.unsent_blocks,
                failed_flows: known.failed_flows,
            }
        };
        let second = |(at, reading): (Nanos, &BackgroundReading)| BackgroundSecondJson {
            at_s: thousandths(at as f64 / SECOND),
            components: reading
                .components
                .iter()
                .map(|counts| figures(counts, (reading.span, reading.span)))
                .collect(),
        };
        BackgroundJson {
            file: record.file.clone(),
            load: record.load.clone(),
            seed: record.seed.into(),
            in_process: record.in_process,
            checked_stable: record.checked_stable,
            components: record
                .components
                .iter()
                .enumerate()
                .map(component)
                .collect(),
            generators: generators::json(record, end),
            pacing: end.map(|end| end.pacing),
            failure: end.and_then(|end| end.failure.clone()),
            seconds: seconds.map(second).collect(),
        }
    }
}

pub(crate) fn run_document(run: &Run, summary: &Summary) -> Option<BackgroundJson> {
    let (record, background) = (run.plan.background.as_ref()?, summary.background.as_ref()?);
    let seconds = background
        .seconds
        .iter()
        .map(|(at, reading)| (*at, reading));
    let end = background.end.as_ref().map(|(_, end)| end);
    let measured = |index| background.figures(Some(index), PartOfRun::Whole);
    Some(BackgroundJson::of(record, seconds, end, measured))
}

/// Background traffic without a measurement as one JSON document: `prestan traffic run --json`.
/// Ends with a newline.
pub fn background_json(
    record: &BackgroundRecord,
    seconds: &[(Nanos, BackgroundReading)],
    end: &BackgroundEnd,
) -> String {
    let seconds = seconds.iter().map(|(at, reading)| (*at, reading));
    pretty(&BackgroundJson::of(record, seconds, Some(end), |_| None))
}

/// The JSON schema of [`background_json`]. Ends with a newline.
#[cfg(feature = "schema")]
pub fn background_schema() -> String {
    schema_of::<BackgroundJson>()
}
