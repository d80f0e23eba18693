//! Background traffic beside the runs of a page: a table, and figures over time.

use record::{BackgroundComponent, BackgroundCounts};
use stats::units::human;
use stats::{BackgroundFigures, PartOfRun};

use super::ShownPage;
use super::figure_parts::FigurePart;
use crate::background::{bits, faults_in_words, planned, rate, source_in_words, stalls_in_words};
use crate::document::{
    Block, ColumnKind, ReportTable, TableCell, TableColumn, TableRow, Tone, Words,
};
use crate::figure::percent;
use crate::generators;
use crate::named_run::NamedRun;

const HEADING: &str = "Background traffic";

const HEADINGS: [&str; 9] = [
    "Flows",
    "Planned",
    "Sent",
    "Received",
    "Lost",
    "Jitter",
    "Delay variation, up to",
    "Retransmissions",
    "Stalls",
];

/// All runs with background traffic; nothing for others.
pub(super) fn section(of: &ShownPage<'_>) -> Option<Block> {
    let with = NamedRun::with(&of.runs, |run| {
        let record = run.run.plan.background.as_ref();
        record.zip(run.summary.background.as_ref())
    });
    let rows = with.iter().flat_map(|(run, (record, summary))| {
        let components = record.components.iter().enumerate();
        components.map(move |(index, component)| {
            let name = Words::default().name(&component.name);
            let name = name.plain(format!(" ({})", component.protocol));
            let figures = cells(component, summary.figures(Some(index), PartOfRun::Whole));
            let first = run.cell().into_iter().chain([name.into()]);
            TableRow::new(first.chain(figures))
        })
    });
    let component = TableColumn::new("Component", ColumnKind::Text);
    let figures = HEADINGS.map(|name| TableColumn::new(name, ColumnKind::Number));
    let table = Block::Table(ReportTable {
        name: HEADING.to_owned(),
        columns: NamedRun::column(&of.runs)
            .into_iter()
            .chain([component])
            .chain(figures)
            .collect(),
        rows: rows.collect(),
        class: "sorts",
        ..ReportTable::default()
    });
    let notes = with.iter().flat_map(|(run, (record, summary))| {
        let source = source_in_words(record);
        let source = run.says(format!(
            "{source}. Counts while measuring, without intervals."
        ));
        let generators = generators::in_words(record, summary.end.as_ref().map(|(_, end)| end));
        let others = generators
            .into_iter()
            .chain(faults_in_words(record, summary));
        std::iter::once(source).chain(others.map(Words::from))
    });
    let figures = Block::Page(FigurePart::Background.places(of));
    let blocks = [figures, table].into_iter().chain(notes.map(Block::Note));
    let section = Block::Section("background", HEADING.to_owned(), blocks.collect());
    (!with.is_empty()).then_some(section)
}

/// The figures of a component, in the order of [`HEADINGS`].
fn cells(component: &BackgroundComponent, figures: Option<BackgroundFigures>) -> [TableCell; 9] {
    let is_udp = component.protocol == "udp";
    let counts = figures.map(|figures| figures.counts);
    let rate_of = |bytes: fn(&BackgroundCounts) -> u64| {
        TableCell::optional(
            figures.map(|figures| rate(bytes(&figures.counts), figures.span)),
            bits,
        )
    };
    let time = |time: fn(&BackgroundCounts) -> Option<u64>| {
        let ns = counts.as_ref().and_then(time);
        TableCell::optional(ns.map(|ns| ns as f64), human)
    };
    let flows = f64::from(component.flows);
    let planned_rate = component.planned_bps.unwrap_or(f64::MAX);
    let lost = match counts.and_then(|counts| counts.loss()).filter(|_| is_udp) {
        Some(loss) if loss > 0.0 => {
            let words = Words::default().toned(Tone::Bad, percent(loss));
            TableCell::figure(words, Some(loss))
        }
        loss => TableCell::optional(loss, percent),
    };
    let resent = counts.filter(|_| !is_udp);
    let resent = resent.map(|counts| counts.retransmissions as f64);
    let stalls = counts.and_then(|counts| counts.stalls);
    [
        TableCell::figure(component.flows.to_string(), Some(flows)),
        TableCell::figure(planned(component), Some(planned_rate)),
        rate_of(|counts| counts.sent_bytes),
        rate_of(|counts| counts.received_bytes),
        lost,
        time(|counts| counts.jitter),
        time(|counts| counts.delay_variation),
        TableCell::optional(resent, |count| count.to_string()),
        TableCell::figure(
            stalls.map_or("-".to_owned(), stalls_in_words),
            stalls.map(|stalls| stalls.total as f64),
        ),
    ]
}
