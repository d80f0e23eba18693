//! A sweep as a document: its sentences, and a table of its points.

use stats::{Since, Status, SweepPoint, SweptRow, SweptServer};

use super::{Design, Sweep, limit, words};
use crate::compare::{times_since, words::ratio};
use crate::document::{
    Block, ColumnKind, ListLook, Narrow, ReportTable, TableCell, TableColumn, TableRow, Tone, Words,
};
use crate::incomplete::Incomplete;
use crate::inside::unknown_calls;
use crate::json::us;
use crate::notes;
use crate::text::UNKNOWN_SOFTWARE;
use crate::units::{human, human_range};

pub(super) fn document(sweep: &Sweep) -> Vec<Block> {
    let incomplete = sweep.incomplete.iter().map(Incomplete::alert);
    let rows = sweep.rows.iter().map(|row| row_block(sweep, row));
    let facts = std::iter::once(Block::Facts(facts(sweep)));
    let head = incomplete.chain(facts).chain(overview(sweep));
    head.chain(rows).collect()
}

fn facts(sweep: &Sweep) -> Vec<(String, Words)> {
    let servers = sweep.servers.iter().map(|server| {
        let mut about = server
            .software
            .as_deref()
            .unwrap_or(UNKNOWN_SOFTWARE)
            .to_owned();
        if server.name != server.target {
            about += &format!(", {}", server.target);
        }
        let words = Words::default().name(&server.name).aside(about);
        ("Server".to_owned(), words)
    });
    servers.chain(notes::facts("", &sweep.notes)).collect()
}

/// Warnings, and how it was measured.
pub(crate) fn overview(sweep: &Sweep) -> [Block; 2] {
    let look = ListLook::Boxed(Tone::Caution);
    [
        Block::list("Warnings", look, &sweep.caveats),
        Block::Paragraph(how(sweep).into()),
    ]
}

fn how(sweep: &Sweep) -> String {
    let varied = sweep
        .vary
        .iter()
        .map(|varied| format!("{} ({})", varied.name, varied.written.join(", ")));
    let how = match sweep.design {
        Design::Grid if sweep.vary.len() > 1 => ", in all combinations",
        Design::OneAtATime if sweep.vary.len() > 1 => ", one at a time",
        _ => "",
    };
    let is_planned = |row: &SweptRow| row.since == Since::Planned;
    let since = if sweep.rows.iter().any(is_planned) {
        Since::Planned
    } else {
        Since::Sent
    };
    let ratios = match &sweep.servers[..] {
        [first, _, ..] => format!(
            " Ratios are to the mean time of {} at the same point, repeat by repeat.",
            first.name
        ),
        _ => String::new(),
    };
    format!(
        "Suite {}, varied: {}{how}; {} at each point, in random order. Mean {}; \
         95 % intervals include the variation between runs.{ratios} A parameter matters when it changes the \
         time by more than {}, with a family-wise error rate of 5 %.",
        sweep.suite,
        varied.collect::<Vec<_>>().join(" and "),
        runs_at_a_point(sweep),
        times_since(since),
        limit(sweep)
    )
}

/// `5 runs`, or `2 of 5 runs` where the sweep ended early.
fn runs_at_a_point(sweep: &Sweep) -> String {
    match (sweep.repeats_made(), sweep.repeats) {
        (made, planned) if made < planned => format!("{made} of {planned} runs"),
        (_, 1) => "1 run".to_owned(),
        (_, planned) => format!("{planned} runs"),
    }
}

pub(crate) fn in_short(sweep: &Sweep) -> Block {
    let items = sweep.rows.iter().flat_map(|row| {
        let servers = servers(sweep, row);
        servers.map(|(server, sentences)| {
            let name = Words::default().name(&row.name).then(" on ", server);
            name.then(" ", sentences.join("; ").into())
        })
    });
    Block::list("", ListLook::Bare, items)
}

fn row_block(sweep: &Sweep, row: &SweptRow) -> Block {
    let growth = servers(sweep, row).flat_map(|(server, sentences)| {
        let sentences = sentences.into_iter();
        sentences.map(move |sentence| server.clone().then(": ", sentence.into()))
    });
    let mut table = points(sweep, std::slice::from_ref(row));
    // The heading has name and method.
    table.columns.drain(..2);
    for row in &mut table.rows {
        row.cells.drain(..2);
    }
    let blocks = vec![Block::list("", ListLook::Bare, growth), Block::Table(table)];
    Block::Section("", format!("{} ({})", row.name, row.method), blocks)
}

/// Servers, named where there are several, with sentences about a row.
fn servers(sweep: &Sweep, row: &SweptRow) -> impl Iterator<Item = (Words, Vec<String>)> {
    let servers = sweep.servers.iter().zip(&row.servers);
    servers.map(|(server, swept)| {
        let name = match sweep.servers.len() {
            1 => Words::default(),
            _ => Words::default().name(&server.name),
        };
        (name, sentences(sweep, swept))
    })
}

fn sentences(sweep: &Sweep, swept: &SweptServer) -> Vec<String> {
    let mut sentences = vec![words::sentence(sweep, &swept.growth)];
    if let Some(inside) = &swept.inside {
        let processor = words::sentence(sweep, &inside.processor);
        sentences.push(format!("processor time: {processor}"));
        if let Some(by) = inside.unseen {
            sentences.push(format!("calls on the storage: {}", unknown_calls(by)));
        } else if !inside.calls.is_empty() {
            let calls = words::calls_in_words(sweep, &inside.calls);
            sentences.push(format!("calls on the storage: {calls}"));
        }
    }
    sentences
}

pub(crate) fn section(sweep: &Sweep) -> Block {
    let table = points(sweep, &sweep.rows);
    Block::Section("points", table.name.clone(), vec![Block::Table(table)])
}

/// Every point of these rows, in the order of the values.
fn points(sweep: &Sweep, rows: &[SweptRow]) -> ReportTable {
    use ColumnKind::{Number, Text};
    let column = |name: &str, kind| TableColumn::new(name, kind);
    let params = sweep
        .vary
        .iter()
        .map(|varied| column(&varied.name, Number).meaning("Value of the parameter"));
    let servers = sweep.servers.iter().enumerate();
    let servers = servers.flat_map(|(number, server)| {
        let name = match sweep.servers.len() {
            1 => "mean",
            _ => &server.name,
        };
        let ratio = column("ratio", Number).meaning(
            "Time over that of the first server at the same point, repeat by repeat, and its 95 % interval",
        );
        let mean = column(name, Number).meaning("Mean of all runs there, and its 95 % interval");
        std::iter::once(mean).chain((number > 0).then_some(ratio))
    });
    let row_columns = [column("Test", Text), column("Method", Text)].into_iter();
    let rows = rows.iter().flat_map(|row| {
        let levels = levels(row).into_iter();
        levels.map(|levels| point(sweep, row, levels))
    });
    ReportTable {
        name: "All points".to_owned(),
        columns: row_columns.chain(params).chain(servers).collect(),
        rows: rows.collect(),
        narrow: Narrow::Blocks(sweep.vary.len()),
        class: "sorts",
        ..ReportTable::default()
    }
}

/// Every point at which any server was measured, in the order of the values.
fn levels(row: &SweptRow) -> Vec<&[usize]> {
    let points = row.servers.iter().flat_map(|server| &server.points);
    let mut all: Vec<&[usize]> = points.map(|point| point.levels.as_slice()).collect();
    all.sort();
    all.dedup();
    all
}

fn point(sweep: &Sweep, row: &SweptRow, levels: &[usize]) -> TableRow {
    let values = sweep.vary.iter().zip(levels).map(|(varied, level)| {
        TableCell::figure(&varied.written[*level], Some(varied.values[*level]))
    });
    let servers = row.servers.iter().enumerate();
    let servers = servers.flat_map(|(number, server)| {
        let point = server.points.iter().find(|point| point.levels == levels);
        let ratio = point.and_then(|point| point.ratio).map(|of| {
            let (shown, range) = ratio(of.value, of.ci95);
            let words = Words::from(shown).aside(range.unwrap_or_default());
            TableCell::figure(words, Some(of.value))
        });
        let time = point.map(time).unwrap_or_default();
        std::iter::once(time).chain((number > 0).then(|| ratio.unwrap_or_default()))
    });
    let row_cells: [TableCell; 2] = [(&row.name).into(), (&row.method).into()];
    TableRow::new(row_cells.into_iter().chain(values).chain(servers))
}

/// `412 us (389 .. 440 us)`, or the reason why a point has no time: `3 of 60 failed`.
fn time(point: &SweepPoint) -> TableCell {
    let without = match (point.status, point.mean) {
        (Status::Ok, Some(mean)) => {
            let range = point.ci95.map_or(String::new(), human_range);
            let words = Words::from(human(mean)).aside(range);
            return TableCell::figure(words, Some(us(mean)));
        }
        (Status::Ok, None) => "no response time".to_owned(),
        (Status::Failed, _) => format!("{} of {} failed", point.failed, point.operations),
        (Status::NotSupported, _) => "not supported".to_owned(),
        (Status::Skipped, _) => "skipped".to_owned(),
        (Status::NotDrawn, _) => "not drawn".to_owned(),
    };
    Words::default().toned(Tone::Bad, without).into()
}
