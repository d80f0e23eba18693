//! Background traffic: its seconds and totals in words and tables, and as JSON.

mod json;

use record::{
    BackgroundComponent, BackgroundCounts, BackgroundEnd, BackgroundGenerator, BackgroundPacing,
    BackgroundReading, BackgroundRecord, BackgroundStalls, BackgroundTotals, Nanos,
};
use stats::units::human;
use stats::{BackgroundFigures, BackgroundSummary, PartOfRun};

use crate::clean;
use crate::figure::percent;
use crate::generators;
use crate::terminal::Columns;

#[cfg(feature = "schema")]
pub use json::background_schema;
pub(crate) use json::run_document;
pub use json::{BackgroundComponentJson, BackgroundJson, BackgroundSecondJson, background_json};

const SECOND: f64 = 1e9;
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

/// Bits per second, from a number of bytes and a time in nanoseconds.
pub(crate) fn rate(bytes: u64, span: Nanos) -> f64 {
    bytes as f64 * 8.0 * SECOND / (span.max(1)) as f64
}

/// The components of a load as a table: `prestan traffic check`. Ends with a newline.
pub fn planned_table(components: &[BackgroundComponent]) -> String {
    if components.is_empty() {
        return String::new();
    }
    let head = ["component", "protocol", "flows", "planned rate"];
    let rows = components.iter().map(|component| {
        vec![
            component.name.clone(),
            component.protocol.clone(),
            component.flows.to_string(),
            planned(component),
        ]
    });
    aligned(&head, rows.collect())
}

pub(crate) fn planned(component: &BackgroundComponent) -> String {
    let rate = component.planned_bps;
    rate.map_or("as fast as it goes".to_owned(), bits)
}

/// Components and generators in one line: `voice (udp, flows: 2, 800 kbit/s)`.
pub(crate) fn flows_in_words(
    components: &[BackgroundComponent],
    generators: &[BackgroundGenerator],
) -> String {
    let one = |component: &BackgroundComponent| {
        let BackgroundComponent {
            name,
            protocol,
            flows,
            ..
        } = component;
        format!(
            "{name} ({protocol}, flows: {flows}, {})",
            planned(component)
        )
    };
    let flows = components.iter().map(one);
    let others = generators.iter().map(generators::named);
    flows.chain(others).collect::<Vec<_>>().join("; ")
}

/// A line for each component about one interval, which ended so long after the beginning.
pub fn background_lines(
    record: &BackgroundRecord,
    at: Nanos,
    reading: &BackgroundReading,
) -> Vec<String> {
    let components = record.components.iter().zip(&reading.components);
    let line = |(component, counts): (&BackgroundComponent, &BackgroundCounts)| {
        let mut line = format!(
            "{:5.0} s  {}: sent {}, received {}",
            at as f64 / SECOND,
            clean(&component.name),
            bits(rate(counts.sent_bytes, reading.span)),
            bits(rate(counts.received_bytes, reading.span)),
        );
        if let Some(loss) = counts.loss().filter(|_| component.protocol == "udp") {
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
        if let Some(stalls) = counts.stalls.filter(|stalls| stalls.count > 0) {
            line += &format!(", {}", stalls_in_words(stalls));
        }
        line
    };
    components.map(line).collect()
}

fn time_of(totals: &BackgroundTotals, end: &BackgroundEnd) -> Nanos {
    totals.elapsed.unwrap_or(end.elapsed)
}

/// The time in which a component received: a queue lets through for longer than is sent.
fn time_of_arrival(totals: &BackgroundTotals, end: &BackgroundEnd) -> Nanos {
    let sent = time_of(totals, end);
    totals
        .received_for
        .map_or(sent, |received| received.max(sent))
}

/// The times of which totals are, each with the names of its components where there are several.
fn times_of_totals(record: &BackgroundRecord, end: &BackgroundEnd) -> String {
    let mut times: Vec<(String, Vec<String>)> = Vec::new();
    for (component, totals) in record.components.iter().zip(&end.components) {
        let mut time = human(time_of(totals, end) as f64);
        let arrival = human(time_of_arrival(totals, end) as f64);
        if arrival != time {
            time += &format!(", of what was received of the {arrival} in which it arrived");
        }
        if totals.elapsed.is_some() {
            time += ", until the last report of the sinks before the traffic ended early";
        }
        let name = clean(&component.name);
        match times.iter_mut().find(|(known, _)| *known == time) {
            Some((_, names)) => names.push(name),
            None => times.push((time, vec![name])),
        }
    }
    let is_one = times.len() == 1;
    let sentence = |(time, names): (String, Vec<String>)| {
        let of = if is_one {
            String::new()
        } else {
            format!(" of {}", names.join(", "))
        };
        format!("Rates{of} are means of {time}.\n")
    };
    times.into_iter().map(sentence).collect()
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
    let rows = pairs.clone().map(|(component, totals)| {
        let counts = &totals.counts;
        let is_udp = component.protocol == "udp";
        let if_udp = |text: String| if is_udp { text } else { NONE.to_owned() };
        let time = |ns: Option<Nanos>| ns.map_or(NONE.to_owned(), |ns| human(ns as f64));
        vec![
            format!("{} ({})", clean(&component.name), component.protocol),
            component.flows.to_string(),
            component.planned_bps.map_or(NONE.to_owned(), bits),
            bits(rate(counts.sent_bytes, time_of(totals, end))),
            bits(rate(counts.received_bytes, time_of_arrival(totals, end))),
            if_udp(counts.loss().map_or(NONE.to_owned(), percent)),
            if_udp(counts.reordered.to_string()),
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
        aligned(&head, rows.collect()) + &times_of_totals(record, end)
    };
    for (component, totals) in pairs {
        for sentence in sentences(component, totals) {
            text += &format!("{}: {sentence}\n", clean(&component.name));
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

fn pacing(of: &BackgroundPacing) -> String {
    format!(
        "Pacing error of {} blocks: p50 {}, p99 {}, max {}",
        of.blocks,
        human(of.p50_ns as f64),
        human(of.p99_ns as f64),
        human(of.max_ns as f64)
    )
}

fn sentences(component: &BackgroundComponent, totals: &BackgroundTotals) -> Vec<String> {
    let mut said = Vec::new();
    if !totals.source_congestion.is_empty() {
        let listed = |names: &[String]| clean(&names.join(", "));
        said.push(format!(
            "congestion control {} at the source, {} at the sink",
            listed(&totals.source_congestion),
            listed(&totals.sink_congestion)
        ));
    }
    said.extend(overflowed_in_words(&totals.counts));
    if totals.counts.duplicates > 0 {
        said.push(format!(
            "{} datagrams arrived twice",
            totals.counts.duplicates
        ));
    }
    if let Some(stalls) = totals.counts.stalls.filter(|stalls| stalls.count > 0) {
        said.push(format!(
            "{}: times without a byte longer than 200 ms",
            stalls_in_words(stalls)
        ));
    }
    said.extend(faults_of(component, totals));
    said
}

/// The part of the loss that the network did not cause.
fn overflowed_in_words(counts: &BackgroundCounts) -> Option<String> {
    (counts.overflowed > 0).then(|| {
        format!(
            "{} of the lost datagrams had reached the sink, whose socket buffer had no room for them",
            counts.overflowed
        )
    })
}

/// Where the flows of a component were not those of the description, from their beginning to their
/// end.
fn faults_of(component: &BackgroundComponent, totals: &BackgroundTotals) -> Vec<String> {
    let mut said = Vec::new();
    if totals.unsent_blocks > 0 {
        let unsent = totals.unsent_blocks;
        said.push(format!(
            "{}: {WHY_UNSENT}, or TCP had no room",
            unsent_in_words(unsent)
        ));
    }
    if totals.failed_flows > 0 {
        said.push(format!(
            "{} of {} connections failed",
            totals.failed_flows, component.flows
        ));
    }
    said
}

fn unsent_in_words(blocks: u64) -> String {
    match blocks {
        1 => "1 block was not sent".to_owned(),
        _ => format!("{blocks} blocks were not sent"),
    }
}

/// Why blocks are not sent although the network may have room for them.
const WHY_UNSENT: &str =
    "the source was too late, its system refused to send, or more was to be sent than was agreed";

/// The same while a run measured, and then what else there was before and after.
fn faults_while_measuring(
    component: &BackgroundComponent,
    totals: &BackgroundTotals,
    measured: &BackgroundCounts,
) -> Vec<String> {
    let mut said = Vec::new();
    let unsent = measured.unsent_blocks;
    if unsent > 0 {
        said.push(format!("{}: {WHY_UNSENT}", unsent_in_words(unsent)));
    }
    if measured.failed_flows > 0 {
        said.push(format!(
            "{} of {} connections failed",
            measured.failed_flows, component.flows
        ));
    }
    let others = BackgroundTotals {
        unsent_blocks: totals.unsent_blocks.saturating_sub(unsent),
        failed_flows: u64::from(totals.failed_flows).saturating_sub(measured.failed_flows) as u32,
        ..BackgroundTotals::default()
    };
    let others = faults_of(component, &others).into_iter();
    said.extend(others.map(|fault| format!("before or after measuring, {fault}")));
    said
}

/// A table: the first column to the left, the others to the right. Ends with a newline.
fn aligned(head: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = head.iter().map(|&name| name.to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let columns = Columns::of(&all, &[0]);
    all.iter().map(|row| columns.line(row) + "\n").collect()
}

pub(crate) fn in_words(record: &BackgroundRecord, summary: &BackgroundSummary) -> Vec<String> {
    let mut said = vec![source_in_words(record)];
    let components = record.components.iter().enumerate();
    said.extend(components.map(|(index, component)| {
        let figures = summary.figures(Some(index), PartOfRun::Whole);
        component_in_words(component, figures)
    }));
    let end = summary.end.as_ref().map(|(_, end)| end);
    said.extend(generators::in_words(record, end));
    if !record.checked_stable && !record.components.is_empty() {
        said.push("its rates are random; whether they are stable was not checked".to_owned());
    }
    said.extend(faults_in_words(record, summary));
    said
}

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

pub(crate) fn faults_in_words(
    record: &BackgroundRecord,
    summary: &BackgroundSummary,
) -> Vec<String> {
    let totals = summary.end.iter().flat_map(|(_, end)| &end.components);
    let pairs = record.components.iter().zip(totals).enumerate();
    let faults = pairs.flat_map(|(index, (component, totals))| {
        let measured = summary.figures(Some(index), PartOfRun::Whole);
        let measured = measured.map(|figures| figures.counts).unwrap_or_default();
        let faults = faults_while_measuring(component, totals, &measured).into_iter();
        faults.map(|fault| format!("{}: {fault}", component.name))
    });
    faults.chain(failure_in_words(summary)).collect()
}

fn failure_in_words(summary: &BackgroundSummary) -> Option<String> {
    let (at, end) = summary.end.as_ref()?;
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
        said.extend(overflowed_in_words(&counts));
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
    said.extend(counts.stalls.map(stalls_in_words));
    said.join(", ")
}

/// `2 stalls (1.30 s)`.
pub(crate) fn stalls_in_words(BackgroundStalls { count, total }: BackgroundStalls) -> String {
    match count {
        // One that was counted before may go on.
        0 if total == 0 => "no stalls".to_owned(),
        1 => format!("1 stall ({})", human(total as f64)),
        _ => format!("{count} stalls ({})", human(total as f64)),
    }
}

#[cfg(test)]
mod tests;
