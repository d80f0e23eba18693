//! An analysed capture for people.

use super::CaptureAnalysis;
use super::causes::{CauseGroup, causes};
use super::details::details;
use super::figures::{number_of, time};
use super::not_judged::not_judged;
use super::tables::{
    CONNECTION_COLUMNS, MOST_CONNECTIONS, MOST_REQUESTS, REQUEST_COLUMNS, connection_row,
    request_row, requests, shown_connections, shown_requests,
};
use super::warnings::{damage, left_out, warnings};
use super::words;
use super::{on_wire, timeouts};
use crate::clean;
use crate::terminal::{Columns, TextReport, wrap};

/// Connections whose details are shown.
const MOST_DETAILED: usize = 3;

/// Width of tables that no terminal has room for.
const WIDEST: usize = 10_000;

/// The analysis for people. Ends with a newline.
pub fn analysis_text(of: &CaptureAnalysis, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.head_of_capture(of);
    report.transfer_findings(of);
    if let Some(run) = &of.run {
        report.line("Reported and on the wire:\n");
        for line in on_wire::lines(run) {
            report.wrapped("  ", "  ", &line);
        }
        report.line("");
    }
    report.connections(of);
    report.requests(of);
    if let Some(study) = &of.timeouts {
        report.timeouts(study);
    }
    report.finish()
}

/// The first line about a capture.
pub(super) fn overview(of: &CaptureAnalysis) -> String {
    let contents = &of.contents;
    let links: Vec<String> = contents.links.iter().map(ToString::to_string).collect();
    let links = links.join(" and ");
    let links = if links.is_empty() {
        links
    } else {
        format!("{links}, ")
    };
    format!(
        "{} ({links}{}, {}, {}, {})",
        clean(&of.file),
        number_of(contents.packets, "packet"),
        time(of.duration_ns()),
        number_of(contents.traced.connections.len() as u64, "TCP connection"),
        number_of(of.request_count(), "request")
    )
}

/// The sentence in place of findings.
pub(super) fn nothing(of: &CaptureAnalysis) -> &'static str {
    if of.contents.traced.connections.is_empty() {
        "Findings: none, because the capture has no TCP connection."
    } else if !not_judged(of).is_empty() {
        "Findings: none that the capture shows. What it cannot show is listed under \"Not judged\"."
    } else {
        "Findings: none. No cause took 2 % of a transfer (timeouts, probes, closed or full windows, \
         delayed acknowledgments, response times, pauses, slow start after idle, repaired losses, congestion \
         windows, queues, senders that had less to send)."
    }
}

impl TextReport {
    fn head_of_capture(&mut self, of: &CaptureAnalysis) {
        // What is missing stands first: it may contain the cause.
        if let Some(damage) = damage(of) {
            let lines = wrap(self.width, "", "", &damage);
            self.line(&self.paint.bad(&lines));
            self.line("");
        }
        self.wrapped("", "  ", &format!("Capture: {}", overview(of)));
        for warning in warnings(of) {
            let lines = wrap(self.width, "Warning: ", "  ", &warning);
            self.line(&self.paint.doubtful(&lines));
        }
        if let Some(left_out) = left_out(of) {
            self.wrapped("", "  ", &left_out);
        }
        self.line("");
    }

    fn transfer_findings(&mut self, of: &CaptureAnalysis) {
        let causes = causes(&of.contents.traced.connections);
        if causes.is_empty() {
            self.wrapped("", "", nothing(of));
            self.line("");
        } else {
            self.line("Findings, most costly first:\n");
        }
        for (cause, number) in causes.iter().zip(1..) {
            self.cause(cause, number, of);
        }
        if let Some(rest) = words::rest(&of.contents.traced.connections, &causes) {
            self.wrapped("", "  ", &rest);
            self.line("");
        }
        let not_judged = not_judged(of);
        if !not_judged.is_empty() {
            self.line("Not judged:");
            for reason in &not_judged {
                self.wrapped("- ", "  ", &reason.sentence());
            }
            self.line("");
        }
    }

    fn cause(&mut self, cause: &CauseGroup, number: usize, of: &CaptureAnalysis) {
        let indent = " ".repeat(number.to_string().len() + 2);
        let title = format!("{number}. {}", words::title(cause));
        let title = wrap(self.width, "", &indent, &title);
        self.line(&self.paint.doubtful(&title));
        self.wrapped(&indent, &indent, &words::explanation(cause));
        for piece in words::evidence(cause, of) {
            let (first, next) = (format!("{indent}- "), format!("{indent}  "));
            self.wrapped(&first, &next, &piece);
        }
        let look_at = format!("Look at {}", words::look_at(cause));
        self.wrapped(&indent, &indent, &look_at);
        self.line("");
    }

    fn connections(&mut self, of: &CaptureAnalysis) {
        let connections = &of.contents.traced.connections;
        let shown = shown_connections(of, MOST_CONNECTIONS);
        if shown.is_empty() {
            return;
        }
        let heading = match connections.len() - shown.len() {
            0 => "Connections:\n".to_owned(),
            _ => format!(
                "Connections, the {} with the most payload of {}:\n",
                shown.len(),
                connections.len()
            ),
        };
        self.line(&heading);
        let rows = shown
            .iter()
            .map(|place| connection_row(*place, &connections[*place]));
        let headers = CONNECTION_COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
        self.fitting_rows(&headers, &rows.collect::<Vec<_>>(), &[1, 2], &[4, 3, 5, 6]);
        self.line("");
        if connections.len() > MOST_DETAILED {
            return;
        }
        for (connection, number) in connections.iter().zip(1..) {
            self.line(&format!("Connection {number}:"));
            for (name, value) in details(connection) {
                self.wrapped("  ", "    ", &format!("{name}: {value}"));
            }
            self.line("");
        }
    }

    fn requests(&mut self, of: &CaptureAnalysis) {
        let shown = shown_requests(of, MOST_REQUESTS);
        if shown.is_empty() {
            return;
        }
        let kept = requests(of).count() as u64;
        let heading = match of.request_count().max(kept) {
            all if all == shown.len() as u64 => "Requests:\n".to_owned(),
            all => format!("Requests, the slowest {} of {all}:\n", shown.len()),
        };
        self.line(&heading);
        let rows = shown.into_iter().map(|request| request_row(of, request));
        let headers = REQUEST_COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
        self.fitting_rows(&headers, &rows.collect::<Vec<_>>(), &[], &[6, 1, 4]);
        self.line("");
    }

    fn timeouts(&mut self, study: &timeouts::TimeoutStudy) {
        self.wrapped("", "", &timeouts::heading(study));
        for table in timeouts::tables(study) {
            self.line("");
            self.wrapped("", "", table.title);
            self.line("");
            let lines = Columns::lines(table.headers, table.rows, &[0, 1]);
            lines
                .iter()
                .for_each(|line| self.line(&format!("  {line}")));
        }
        self.line("");
        for note in timeouts::notes(study) {
            self.wrapped("", "", &note);
        }
    }

    /// A table whose last column is words. Where it is wider than the terminal, these columns are left out one after
    /// the other.
    fn fitting_rows(
        &mut self,
        headers: &[String],
        rows: &[Vec<String>],
        texts: &'static [usize],
        dispensable: &[usize],
    ) {
        let without = |count: usize, row: &[String]| -> Vec<String> {
            let cells = row.iter().enumerate();
            let kept = cells.filter(|(column, _)| !dispensable[..count].contains(column));
            kept.map(|(_, cell)| cell.clone()).collect()
        };
        let is_fitting = |count: &usize, width: usize| {
            let all = std::iter::once(headers).chain(rows.iter().map(Vec::as_slice));
            let figures: Vec<Vec<String>> = all
                .map(|row| without(*count, &row[..row.len().saturating_sub(1)]))
                .collect();
            Columns::of(&figures, texts).width() <= width
        };
        let most = dispensable.len();
        let count = (0..most)
            .find(|count| is_fitting(count, self.width))
            .unwrap_or(most);
        let rows = rows.iter().map(|row| without(count, row));
        let headers_kept = without(count, headers);
        // Addresses of IPv6 can be wider than the terminal: the figures stay in their columns.
        let width = if is_fitting(&count, self.width) {
            self.width
        } else {
            WIDEST
        };
        let lines = Columns::lines_with_words(width, headers_kept, rows, texts);
        for line in lines.into_iter().flatten() {
            self.line(&line);
        }
        if count > 0 {
            let names: Vec<&str> = dispensable[..count]
                .iter()
                .map(|column| &*headers[*column])
                .collect();
            let names = names.join(", ");
            self.wrapped(
                "",
                "",
                &format!("Columns left out, because the terminal is too narrow: {names}"),
            );
        }
    }
}
