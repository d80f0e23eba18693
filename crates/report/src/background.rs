//! Background traffic: its seconds and totals in words and tables, and as JSON.

use std::borrow::Cow;

use record::{
    BackgroundComponent, BackgroundCounts, BackgroundEnd, BackgroundPacing, BackgroundReading,
    BackgroundRecord, Nanos, Run,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::units::human;
use stats::{BackgroundFigures, BackgroundSummary, PartOfRun, Summary};

use crate::clean;
use crate::figure::percent;
use crate::generators::{self, BackgroundGeneratorJson};
use crate::json::{pretty, schema_of, thousandths, us};

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;
/// What stands for a figure that there is not.
const NONE: &str = "-";

/// A rate in bits per second with three significant digits: `9.98 Mbit/s`.
pub fn bits(bits_per_second: f64) -> String {
    let units = [
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
    ];
    // 999.7 kbit/s would be printed as 1000 kbit/s.
    let fits = |(_, scale): &&(&str, f64)| bits_per_second < scale * 999.5;
    let (unit, scale) = units.iter().find(fits).unwrap_or(&units[3]);
    let value = bits_per_second / scale;
    let digits = match value {
        _ if *scale == 1.0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// Bits per second of so many bytes in so many nanoseconds.
pub(crate) fn rate(bytes: u64, span: Nanos) -> f64 {
    bytes as f64 * 8.0 * SECOND / (span.max(1)) as f64
}

/// What the components of a load are, in a table: `prestan traffic check`. Ends with a newline.
pub fn planned_table(components: &[BackgroundComponent]) -> String {
    if components.is_empty() {
        return String::new();
    }
    let head = ["component", "protocol", "flows", "planned rate"];
    let rows = components.iter().map(|own| {
        vec![
            own.name.clone(),
            own.protocol.clone(),
            own.flows.to_string(),
            planned(own),
        ]
    });
    aligned(&head, rows.collect())
}

/// The planned rate of a component, in words.
pub(crate) fn planned(component: &BackgroundComponent) -> String {
    let rate = component.planned_bps;
    rate.map_or("as fast as it goes".to_owned(), bits)
}

/// A line for each component about one interval, which ended so long after the beginning.
pub fn background_lines(
    record: &BackgroundRecord,
    at: Nanos,
    reading: &BackgroundReading,
) -> Vec<String> {
    let components = record.components.iter().zip(&reading.components);
    let line = |(own, counts): (&BackgroundComponent, &BackgroundCounts)| {
        let mut line = format!(
            "{:5.0} s  {}: sent {}, received {}",
            at as f64 / SECOND,
            clean(&own.name),
            bits(rate(counts.sent_bytes, reading.span)),
            bits(rate(counts.received_bytes, reading.span)),
        );
        if let Some(loss) = counts.loss().filter(|_| own.protocol == "udp") {
            line += &format!(", lost {}", percent(loss));
        }
        if let Some(jitter) = counts.jitter {
            line += &format!(", jitter {}", human(jitter as f64));
        }
        if let Some(variation) = counts.delay_variation {
            line += &format!(", delay variation up to {}", human(variation as f64));
        }
        if counts.retransmissions > 0 {
            line += &format!(", retransmissions {}", counts.retransmissions);
        }
        line
    };
    components.map(line).collect()
}

/// The totals of background traffic in a table, with sentences below it. Ends with a newline.
pub fn background_totals(record: &BackgroundRecord, end: &BackgroundEnd) -> String {
    let head = [
        "component",
        "flows",
        "planned",
        "sent",
        "received",
        "lost",
        "reordered",
        "delay p50",
        "p99",
        "resent",
    ];
    let pairs = record.components.iter().zip(&end.components);
    let rows = pairs.clone().map(|(own, totals)| {
        let counts = &totals.counts;
        let is_udp = own.protocol == "udp";
        let of_datagrams = |text: String| if is_udp { text } else { NONE.to_owned() };
        let time = |ns: Option<Nanos>| ns.map_or(NONE.to_owned(), |ns| human(ns as f64));
        vec![
            format!("{} ({})", clean(&own.name), own.protocol),
            own.flows.to_string(),
            own.planned_bps.map_or(NONE.to_owned(), bits),
            bits(rate(counts.sent_bytes, end.elapsed)),
            bits(rate(counts.received_bytes, end.elapsed)),
            of_datagrams(counts.loss().map_or(NONE.to_owned(), percent)),
            of_datagrams(counts.reordered.to_string()),
            time(totals.delay_p50),
            time(totals.delay_p99),
            if is_udp {
                NONE.to_owned()
            } else {
                counts.retransmissions.to_string()
            },
        ]
    });
    let mut text = if record.components.is_empty() {
        String::new()
    } else {
        aligned(&head, rows.collect())
    };
    for (own, totals) in pairs {
        for sentence in sentences(own, totals) {
            text += &format!("{}: {sentence}\n", clean(&own.name));
        }
    }
    if end.pacing.blocks > 0 {
        text += &format!("{}\n", pacing(&end.pacing));
    }
    for sentence in generators::in_words(record, Some(end)) {
        text += &format!("{sentence}\n");
    }
    text
}

/// How well schedules were kept.
fn pacing(of: &BackgroundPacing) -> String {
    format!(
        "Pacing error of {} blocks: p50 {}, p99 {}, max {}",
        of.blocks,
        human(of.p50_ns as f64),
        human(of.p99_ns as f64),
        human(of.max_ns as f64)
    )
}

/// What else is known of a component.
fn sentences(own: &BackgroundComponent, totals: &record::BackgroundTotals) -> Vec<String> {
    let mut said = Vec::new();
    if !totals.source_congestion.is_empty() {
        let listed = |names: &[String]| clean(&names.join(", "));
        said.push(format!(
            "congestion control {} at the source, {} at the sink",
            listed(&totals.source_congestion),
            listed(&totals.sink_congestion)
        ));
    }
    if totals.counts.duplicates > 0 {
        said.push(format!(
            "{} datagrams arrived twice",
            totals.counts.duplicates
        ));
    }
    if totals.unsent_blocks > 0 {
        said.push(format!(
            "{} blocks were not sent: this machine was too late for them or refused them, or they exceeded \
             the rate that was agreed",
            totals.unsent_blocks
        ));
    }
    if totals.failed_flows > 0 {
        said.push(format!(
            "{} of {} connections failed",
            totals.failed_flows, own.flows
        ));
    }
    said
}

/// A table: the first column to the left, the others to the right. Ends with a newline.
fn aligned(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = head.iter().map(|&own| own.to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..all.first().map_or(0, Vec::len)).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cell = |(column, (cell, width)): (usize, (&String, &usize))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        };
        let cells: Vec<String> = cells.map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    all.iter().map(line).collect()
}

/// Background traffic as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Background")]
pub(crate) struct BackgroundJson {
    /// Name of the traffic file, without its directory.
    pub file: String,
    /// Name of the load in it.
    pub load: String,
    /// Seed of its schedules.
    pub seed: u64,
    /// Both ends were in the process that measured, on loopback.
    pub in_process: bool,
    /// Whether it was checked that the rates of its flows are stable. Those of models with random rates are not checked.
    pub checked_stable: bool,
    /// Its components, in each direction.
    pub components: Vec<BackgroundComponentJson>,
    /// Other programs that sent beside them; their figures are their own.
    pub generators: Vec<BackgroundGeneratorJson>,
    /// How well schedules were kept; `null` where the record does not have it.
    pub pacing: Option<BackgroundPacing>,
    /// Why it ended before the measurement did; `null` where it did not.
    pub failure: Option<String>,
    /// What was counted in each second.
    pub seconds: Vec<BackgroundSecondJson>,
}

/// A component of background traffic, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundComponent")]
pub(crate) struct BackgroundComponentJson {
    /// Name of the component; with `.backward` for the flows from its sink to its source.
    pub name: String,
    /// `tcp` or `udp`.
    pub protocol: String,
    /// How many flows.
    pub flows: u32,
    /// Planned mean rate of all of them, in bits of payload per second; `null` for as much as the network takes.
    pub planned_bits_per_second: Option<f64>,
    /// What happened to them while the run measured: jitter is the mean of the seconds, delay variation the longest.
    /// `null` without a measurement, and where no second of it counts.
    pub measured: Option<BackgroundFiguresJson>,
    /// What happened to them from their beginning to their end; `null` where the record has no totals.
    pub totals: Option<BackgroundFiguresJson>,
    /// Median of the delay variation in microseconds: the median of the flows.
    pub delay_variation_p50_us: Option<f64>,
    /// 99th percentile of the delay variation in microseconds: the largest of the flows.
    pub delay_variation_p99_us: Option<f64>,
    /// Congestion control at the source, each that some flow had once.
    pub source_congestion: Vec<String>,
    /// The same at the sink.
    pub sink_congestion: Vec<String>,
    /// Blocks that were not sent.
    pub unsent_blocks: u64,
    /// Flows whose connection failed.
    pub failed_flows: u32,
}

/// What happened to flows in an interval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundFigures")]
pub(crate) struct BackgroundFiguresJson {
    /// Bits of payload per second that were sent.
    pub sent_bits_per_second: f64,
    /// Bits of payload per second that arrived.
    pub received_bits_per_second: f64,
    /// Datagrams that arrived, or blocks of streams with time stamps.
    pub received: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Their share in percent; `null` where there were no datagrams.
    pub lost_percent: Option<f64>,
    /// Datagrams that arrived after one that was sent later.
    pub reordered: u64,
    /// Datagrams that arrived again.
    pub duplicates: u64,
    /// Segments that TCP sent again.
    pub retransmissions: u64,
    /// Interarrival jitter at the end of the interval in microseconds; `null` without time stamps.
    pub jitter_us: Option<f64>,
    /// The longest one-way delay above the shortest of its flow in microseconds; of totals, in the last interval.
    pub delay_variation_us: Option<f64>,
}

/// One interval of background traffic, of about a second.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BackgroundSecond")]
pub(crate) struct BackgroundSecondJson {
    /// Its end in seconds: of a run, after the beginning of the run.
    pub at_s: f64,
    /// In the order of the components.
    pub components: Vec<BackgroundFiguresJson>,
}

fn figures(counts: &BackgroundCounts, span: Nanos) -> BackgroundFiguresJson {
    let time = |ns: Option<Nanos>| ns.map(|ns| us(ns as f64));
    BackgroundFiguresJson {
        sent_bits_per_second: rate(counts.sent_bytes, span).round(),
        received_bits_per_second: rate(counts.received_bytes, span).round(),
        received: counts.received,
        lost: counts.lost,
        lost_percent: counts.loss().map(|loss| thousandths(loss * 100.0)),
        reordered: counts.reordered,
        duplicates: counts.duplicates,
        retransmissions: counts.retransmissions,
        jitter_us: time(counts.jitter),
        delay_variation_us: time(counts.delay_variation),
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
        let component = |(place, own): (usize, &BackgroundComponent)| {
            let totals = end.and_then(|end| Some((end.components.get(place)?, end.elapsed)));
            let known = totals.map_or(Cow::default(), |(totals, _)| Cow::Borrowed(totals));
            let time = |ns: Option<Nanos>| ns.map(|ns| us(ns as f64));
            BackgroundComponentJson {
                name: own.name.clone(),
                protocol: own.protocol.clone(),
                flows: own.flows,
                planned_bits_per_second: own.planned_bps.map(thousandths),
                measured: measured(place).map(|own| figures(&own.counts, own.span)),
                totals: totals.map(|(totals, elapsed)| figures(&totals.counts, elapsed)),
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
                .map(|counts| figures(counts, reading.span))
                .collect(),
        };
        BackgroundJson {
            file: record.file.clone(),
            load: record.load.clone(),
            seed: record.seed,
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

/// Background traffic of a run, if it had some.
pub(crate) fn of_run(run: &Run, summary: &Summary) -> Option<BackgroundJson> {
    let (record, own) = (run.plan.background.as_ref()?, summary.background.as_ref()?);
    let seconds = own.seconds.iter().map(|(at, reading)| (*at, reading));
    let end = own.end.as_ref().map(|(_, end)| end);
    let measured = |place| own.figures(Some(place), PartOfRun::Whole);
    Some(BackgroundJson::of(record, seconds, end, measured))
}

/// A sentence for each component, about the time in which the run measured, and how it ended.
pub(crate) fn in_words(record: &BackgroundRecord, own: &BackgroundSummary) -> Vec<String> {
    let mut said = vec![source_in_words(record)];
    let components = record.components.iter().enumerate();
    said.extend(components.map(|(place, component)| {
        let figures = own.figures(Some(place), PartOfRun::Whole);
        component_in_words(component, figures)
    }));
    let end = own.end.as_ref().map(|(_, end)| end);
    said.extend(generators::in_words(record, end));
    if !record.checked_stable && !record.components.is_empty() {
        said.push("its rates are random; whether they are stable was not checked".to_owned());
    }
    said.extend(failure_in_words(own));
    said
}

/// Where the description is from.
pub(crate) fn source_in_words(record: &BackgroundRecord) -> String {
    let ends = if record.in_process {
        "; both ends on loopback, in the process that measured"
    } else {
        ""
    };
    let BackgroundRecord {
        load, file, seed, ..
    } = record;
    format!("load {load} of {file}, seed {seed}{ends}")
}

/// When and why it ended before the measurement did, if so.
pub(crate) fn failure_in_words(own: &BackgroundSummary) -> Option<String> {
    let (at, end) = own.end.as_ref()?;
    let why = end.failure.as_ref()?;
    let seconds = *at as f64 / SECOND;
    Some(format!(
        "it ended {seconds:.1} s after the beginning of the run: {why}"
    ))
}

fn component_in_words(
    component: &BackgroundComponent,
    figures: Option<BackgroundFigures>,
) -> String {
    let flows = if component.flows == 1 {
        "flow"
    } else {
        "flows"
    };
    let BackgroundComponent { name, protocol, .. } = component;
    let head = format!(
        "{name} ({protocol}, {} {flows}): planned {}",
        component.flows,
        planned(component)
    );
    let Some(BackgroundFigures { span, counts, .. }) = figures else {
        return head + "; nothing was counted while measuring";
    };
    let mut said = vec![
        head,
        format!("sent {}", bits(rate(counts.sent_bytes, span))),
        format!("received {}", bits(rate(counts.received_bytes, span))),
    ];
    if let Some(loss) = counts.loss().filter(|_| component.protocol == "udp") {
        said.push(format!("lost {}", percent(loss)));
    }
    let time = |ns: Nanos| human(ns as f64);
    said.extend(counts.jitter.map(|ns| format!("jitter {}", time(ns))));
    said.extend(
        counts
            .delay_variation
            .map(|ns| format!("delay variation up to {}", time(ns))),
    );
    if component.protocol == "tcp" {
        said.push(format!("retransmissions {}", counts.retransmissions));
    }
    said.join(", ")
}

/// Background traffic without a measurement as one JSON document: `prestan traffic run --json`. Ends with a newline.
pub fn background_json(
    record: &BackgroundRecord,
    seconds: &[(Nanos, BackgroundReading)],
    end: &BackgroundEnd,
) -> String {
    let seconds = seconds.iter().map(|(at, reading)| (*at, reading));
    pretty(&BackgroundJson::of(record, seconds, Some(end), |_| None))
}

/// The JSON schema of [`background_json`]. Ends with a newline.
pub fn background_schema() -> String {
    schema_of::<BackgroundJson>()
}

#[cfg(test)]
mod tests;
