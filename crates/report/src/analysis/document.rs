//! An analysed capture as a document: its findings, and tables of connections and requests.

use maud::html;

use super::causes::causes;
use super::details::details;
use super::figures::time;
use super::not_judged::not_judged;
use super::tables::{connection_table, request_table, requests, shown_connections, shown_requests};
use super::warnings::{damage, left_out, warnings};
use super::{CaptureAnalysis, courses, on_wire, timeouts, words};
use crate::document::{Block, ListItem, ListLook, Tone, html_of};
use crate::lists::number_of;
use crate::page::{PageDocument, with_figures};
use crate::terminal::TextReport;

struct MostRows {
    connections: usize,
    /// Connections with details: those with the most payload.
    detailed: usize,
    requests: usize,
}

/// The analysis for people. Ends with a newline.
pub fn analysis_text(of: &CaptureAnalysis, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.blocks(&head(of));
    report.blocks(&[findings(of)]);
    report.blocks(&tables(
        of,
        MostRows {
            connections: 20,
            detailed: match of.contents.traced.connections.len() {
                few @ ..=3 => few,
                _ => 0,
            },
            requests: 40,
        },
    ));
    report.finish()
}

/// The analysis as a page, with figures of the directions with the most payload.
pub fn analysis_page(of: &CaptureAnalysis) -> PageDocument {
    let name = of.file.rsplit('/').next().unwrap_or_default();
    let title = format!("Capture {name}");
    let most = MostRows {
        connections: 200,
        detailed: 4,
        requests: 500,
    };
    let body = html! {
        header { h1 { (title) } }
        main {
            section #answer { h2 { "In short" } (html_of(&head(of))) }
            (findings(of))
            (courses::section(of))
            (html_of(&tables(of, most)))
        }
        footer { p { "Made by Prestan." } }
    };
    with_figures(&title, "", body)
}

/// The capture, and what limits its figures. What is missing stands first: it may contain the
/// cause.
fn head(of: &CaptureAnalysis) -> Vec<Block> {
    let contents = &of.contents;
    let links = contents.links.iter().map(ToString::to_string);
    let links = links.collect::<Vec<_>>().join(" and ");
    let links = Some(links).filter(|links| !links.is_empty());
    let parts = links.into_iter().chain([
        number_of(contents.packets, "packet"),
        time(of.duration_ns()),
        number_of(contents.traced.connections.len() as u64, "TCP connection"),
        number_of(of.request_count(), "request"),
    ]);
    let parts = parts.collect::<Vec<_>>().join(", ");
    let overview = format!("{} ({parts})", of.file);
    let warnings = Block::list("Warnings", ListLook::Boxed(Tone::Caution), warnings(of));
    let capture = Block::Facts(vec![("Capture".to_owned(), overview.into())]);
    let left_out = left_out(of).map(|left_out| Block::Paragraph(left_out.into()));
    let head = damage(of).into_iter().chain([capture, warnings]);
    head.chain(left_out).collect()
}

fn findings(of: &CaptureAnalysis) -> Block {
    let connections = &of.contents.traced.connections;
    let causes = causes(connections);
    let not_judged = not_judged(of);
    let none = if connections.is_empty() {
        "None, because the capture has no TCP connection."
    } else if !not_judged.is_empty() {
        "None that the capture shows. What it cannot show is listed under \"Not judged\"."
    } else {
        "None. No cause took 2 % of a transfer (timeouts, probes, closed or full windows, delayed acknowledgments, \
         response times, pauses, slow start after idle, repaired losses, congestion windows, queues, senders that had \
         less to send)."
    };
    let none = causes.is_empty().then(|| Block::Paragraph(none.into()));
    let items = causes.iter().map(|cause| {
        ListItem::finding(
            words::title(cause),
            words::explanation(cause),
            words::evidence(cause, of),
            &words::look_at(cause),
        )
    });
    let rest = words::rest(connections, &causes);
    let not_judged = not_judged.iter().map(|of| of.sentence());
    let blocks = none
        .into_iter()
        .chain([Block::list("", ListLook::Numbers, items)])
        .chain(rest.map(|rest| Block::Paragraph(rest.into())))
        .chain([Block::list("Not judged", ListLook::Bullets, not_judged)]);
    Block::findings(!causes.is_empty(), blocks.collect())
}

fn tables(of: &CaptureAnalysis, most: MostRows) -> Vec<Block> {
    let run = of.run.as_ref().map(on_wire::section);
    let timeouts = of.timeouts.as_ref().map(timeouts::section);
    let tables = [connections(of, &most), requests_of(of, &most)];
    let tables = tables.into_iter().flatten();
    run.into_iter().chain(tables).chain(timeouts).collect()
}

fn connections(of: &CaptureAnalysis, most: &MostRows) -> Option<Block> {
    let all = &of.contents.traced.connections;
    let shown = shown_connections(of, most.connections);
    let heading = match all.len() - shown.len() {
        0 => "Connections".to_owned(),
        _ => format!(
            "Connections, the {} with the most payload of {}",
            shown.len(),
            all.len()
        ),
    };
    let detailed = shown_connections(of, most.detailed).into_iter();
    let detailed = detailed.map(|index| {
        let heading = format!("Connection {}", index + 1);
        Block::Folded(heading, vec![Block::Facts(details(&all[index]))])
    });
    let table = Block::Table(connection_table(of, &shown));
    let blocks = std::iter::once(table).chain(detailed).collect();
    (!shown.is_empty()).then_some(Block::Section("connections", heading, blocks))
}

fn requests_of(of: &CaptureAnalysis, most: &MostRows) -> Option<Block> {
    let shown = shown_requests(of, most.requests);
    let kept = requests(of).count() as u64;
    let heading = match of.request_count().max(kept) {
        all if all == shown.len() as u64 => "Requests".to_owned(),
        all => format!("Requests, the slowest {} of {all}", shown.len()),
    };
    let table = Block::Table(request_table(of, &shown));
    (!shown.is_empty()).then(|| Block::Section("requests", heading, vec![table]))
}
