//! A campaign for people at a terminal.

use experiment::{BesideSummary, FindingSummary, PairVerdict, TableSummary};

use super::CampaignReport;
use super::numbers::{NOT_MEASURED, estimate, published, with_unit};
use super::{beside, doubts, explained, words};
use crate::clean;
use crate::lists::more_rows;
use crate::terminal::{Columns, TextReport};

/// Columns of texts: as many as the rows of a table may have factors.
const TEXTS: [usize; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// Parts of a finding that are told.
const MOST_PARTS: usize = 6;
/// Figures outside of their prediction that are told.
const MOST_OUTSIDE: usize = 20;
const INDENT: &str = "  ";

/// The campaign for people: how far it is, findings, tables with published figures beside ours. Ends with a newline.
pub fn campaign_text(of: &CampaignReport<'_>, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.head_of_campaign(of);
    report.campaign_findings(of);
    for table in &of.summary.tables {
        report.published_table(table);
    }
    if let Some(other) = of.beside {
        report.other_campaign(of, other);
    }
    report.campaign_details(of);
    report.finish()
}

impl TextReport {
    fn head_of_campaign(&mut self, of: &CampaignReport<'_>) {
        let spec = of.experiment;
        self.wrapped("", "", &clean(&spec.title));
        if let Some(source) = &spec.source {
            self.wrapped("", INDENT, &format!("Source: {}", clean(source)));
        }
        self.wrapped("", INDENT, &words::measured(of));
        self.wrapped("", INDENT, &words::progress(of));
        if let Some(to_go_on) = words::to_go_on(of) {
            self.doubtful(to_go_on);
        }
        self.line("");
        self.wrapped("", INDENT, &words::conclusion(of));
        for (what, of_trials) in [
            ("Failed, ", &of.summary.failures),
            ("Warning, ", &of.summary.warnings),
        ] {
            for one in of_trials {
                self.doubtful(&format!("{what}{}", words::of_trials(one)));
            }
        }
        for sentence in doubts::of_figures(of) {
            self.doubtful(&format!("Warning, {sentence}"));
        }
        for sentence in explained::missing(of) {
            self.wrapped("", INDENT, &sentence);
        }
        self.line("");
    }

    fn doubtful(&mut self, sentence: &str) {
        let lines = crate::wrap(self.width, "", INDENT, sentence);
        self.line(&self.paint.doubtful(&lines));
    }

    fn campaign_findings(&mut self, of: &CampaignReport<'_>) {
        if of.summary.findings.is_empty() {
            return;
        }
        self.line("Findings:\n");
        for finding in &of.summary.findings {
            self.judged_finding(of, finding);
        }
        self.line("");
    }

    fn judged_finding(&mut self, of: &CampaignReport<'_>, finding: &FindingSummary) {
        let word = words::verdict(finding.verdict);
        let source = finding
            .source
            .as_ref()
            .map(|source| format!(" ({})", clean(source)));
        let claim = format!(
            "{word}: {}{}",
            clean(&finding.claim),
            source.unwrap_or_default()
        );
        let lines = crate::wrap(self.width, "- ", INDENT, &claim);
        let painted = match finding.verdict {
            PairVerdict::Holds => self.paint.good(&lines),
            PairVerdict::Fails => self.paint.bad(&lines),
            PairVerdict::Inconclusive => self.paint.doubtful(&lines),
        };
        self.line(&painted);
        let (first, next) = ("    ", "      ");
        self.wrapped(first, next, &words::evidence(of, finding));
        if finding.parts.len() > 1 {
            for part in words::parts(of, finding).iter().take(MOST_PARTS) {
                self.wrapped(first, next, part);
            }
            if let Some(more) = finding
                .parts
                .len()
                .checked_sub(MOST_PARTS)
                .filter(|more| *more > 0)
            {
                self.line(&format!("{first}and {more} more"));
            }
        }
        if let Some(why) = explained::of_finding(of, finding) {
            self.wrapped(first, next, &why);
        }
    }

    /// A table. Where it is wider than the terminal, its columns follow in blocks below one another.
    fn published_table(&mut self, of: &TableSummary) {
        let heading = words::name_and_title(&of.name, &of.title);
        self.wrapped("", INDENT, &heading);
        self.line("");
        let columns = of.columns.len();
        let mut from = 0;
        while from < columns {
            // At least one, however narrow the terminal is.
            let to = (from + 1..=columns)
                .rev()
                .find(|to| *to == from + 1 || self.fits(&block(of, from..*to)))
                .unwrap_or(columns);
            let (headers, rows) = block(of, from..to);
            let texts = &TEXTS[..of.row_factors.len().min(TEXTS.len())];
            for line in Columns::lines(headers, rows, texts) {
                self.line(format!("{INDENT}{line}").trim_end());
            }
            self.line("");
            from = to;
        }
        for mark in doubts::legend(of.cells.iter().flatten()) {
            self.wrapped(INDENT, "    ", &mark);
        }
        let orders = of.columns.iter().zip(&of.orders);
        for ((title, _), counts) in orders {
            if let Some(orders) = words::orders(*counts) {
                self.wrapped(INDENT, "    ", &format!("{}: {orders}.", clean(title)));
            }
        }
        if let Some(why) = explained::of_table(of) {
            self.wrapped(INDENT, "    ", &why);
        }
        self.line("");
    }

    fn fits(&self, (headers, rows): &(Vec<String>, Vec<Vec<String>>)) -> bool {
        let rows = std::iter::once(headers).chain(rows);
        INDENT.len() + Columns::of(rows, &[]).width() <= self.width
    }

    fn other_campaign(&mut self, of: &CampaignReport<'_>, other: &BesideSummary) {
        self.wrapped("", INDENT, &beside::sentence(other));
        let rows = beside::rows(of, other);
        let shown: Vec<Vec<String>> = rows
            .iter()
            .take(MOST_OUTSIDE)
            .map(|row| row.to_vec())
            .collect();
        if !shown.is_empty() {
            self.line("");
            let headers = beside::COLUMNS.map(str::to_owned).to_vec();
            for line in Columns::lines(headers, shown, &TEXTS[..2]) {
                self.line(&format!("{INDENT}{line}"));
            }
            if let Some(more) = more_rows(rows.len().saturating_sub(MOST_OUTSIDE)) {
                self.line(&format!("{INDENT}{more}"));
            }
        }
        self.line("");
    }

    fn campaign_details(&mut self, of: &CampaignReport<'_>) {
        let differences = &of.experiment.differences;
        if !differences.is_empty() {
            self.line("What differs from the source:\n");
            for difference in differences {
                self.wrapped("- ", INDENT, &clean(difference));
            }
            self.line("");
        }
        self.line("How it was measured:\n");
        for (what, value) in words::facts(of) {
            self.wrapped(INDENT, "    ", &format!("{what}: {value}"));
        }
        if !of.record.command.is_empty() {
            self.wrapped(
                INDENT,
                "    ",
                &format!("Repeat it with: {}", clean(&of.record.command)),
            );
        }
    }
}

/// Headers and rows of some columns of a table, each with the published figures beside ours where there are some.
fn block(of: &TableSummary, columns: std::ops::Range<usize>) -> (Vec<String>, Vec<Vec<String>>) {
    let columns: Vec<(usize, bool)> = columns
        .map(|column| (column, is_published(of, column)))
        .collect();
    let mut headers: Vec<String> = of.row_factors.iter().map(|factor| clean(factor)).collect();
    for (column, is_published) in &columns {
        if let Some((title, unit)) = of.columns.get(*column) {
            headers.push(with_unit(&clean(title), *unit));
        }
        if *is_published {
            headers.push("published".to_owned());
        }
    }
    let rows = of.rows.iter().enumerate().map(|(place, levels)| {
        let factors = of.row_factors.iter().enumerate();
        let mut row: Vec<String> = factors
            .map(|(factor, _)| {
                levels
                    .get(factor)
                    .map_or(String::new(), |level| clean(level))
            })
            .collect();
        for (column, is_published) in &columns {
            let cell = of.cells.get(place).and_then(|row| row.get(*column));
            row.push(cell.map_or(NOT_MEASURED.to_owned(), estimate));
            if *is_published {
                let value = cell.and_then(|cell| cell.published);
                row.push(value.map_or(String::new(), published));
            }
        }
        row
    });
    (headers, rows.collect())
}

/// Whether a column has published figures.
pub(super) fn is_published(of: &TableSummary, column: usize) -> bool {
    let cells = of.cells.iter().filter_map(|row| row.get(column));
    cells.into_iter().any(|cell| cell.published.is_some())
}
