//! The pages of a suite, test by test: each test fetched its pages in a different way, so they are
//! not added up.

use record::PlanRecord;
use stats::{PageSummary, PagesSummary, Visits};

use crate::document::{
    Block, ColumnKind, Narrow, ReportTable, TableCell, TableColumn, TableRow, Tone,
};
use crate::figure::NONE;
use crate::units::{human, human_range};

const HEADINGS: [&str; 9] = [
    "Page",
    "loads",
    "mean",
    "95 % CI",
    "max",
    "connections",
    "bytes in",
    "segments out",
    "segments in",
];

/// Columns that narrow terminals lack, the least telling one first.
const LEAST_TELLING: [usize; 6] = [4, 7, 8, 1, 3, 6];

/// How long pages took to load, and the connections, bytes and segments of one of them.
pub(super) fn blocks(pages: &PagesSummary) -> Vec<Block> {
    let meaning = "Page loads, connecting included. Connections, bytes of responses and TCP segments are \
                   of one page on average; segments do not include those that close a connection, and are \
                   known where connections are not kept longer than a page.";
    let mut blocks = vec![table(pages), Block::Note(meaning.into())];
    let incomplete: u64 = pages.pages.iter().map(|page| page.visits.incomplete).sum();
    if incomplete > 0 {
        let sentence = format!("Incomplete pages, which have no load time: {incomplete}");
        blocks.push(Block::Alert(Tone::Bad, sentence.into()));
    }
    blocks
}

pub(super) fn table(pages: &PagesSummary) -> Block {
    let kind = |column: usize| match column {
        0 => ColumnKind::Text,
        _ => ColumnKind::Number,
    };
    let columns = HEADINGS.iter().enumerate();
    Block::Table(ReportTable {
        name: "Pages".to_owned(),
        columns: columns
            .map(|(column, name)| TableColumn::new(*name, kind(column)))
            .collect(),
        rows: pages.pages.iter().map(row).collect(),
        narrow: Narrow::LeaveOut(LEAST_TELLING.to_vec()),
        ..ReportTable::default()
    })
}

fn row(PageSummary { page, visits }: &PageSummary) -> TableRow {
    let times = visits.load.as_ref();
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.to_owned());
    let time = |of: fn(&stats::Distribution) -> f64| times.map(|times| human(of(times)));
    let range = times.and_then(|times| times.ci95);
    let cells = [
        page.name.clone(),
        visits.complete.to_string(),
        or_none(time(|times| times.mean)),
        or_none(range.map(human_range)),
        or_none(time(|times| times.max as f64)),
        each(Some(visits.connects), visits),
        each(Some(visits.bytes_received + visits.bytes_apart), visits),
        each(visits.segments.map(|segments| segments.sent), visits),
        each(visits.segments.map(|segments| segments.received), visits),
    ];
    TableRow::new(cells.map(TableCell::from))
}

/// An amount of one page on average.
fn each(amount: Option<u64>, visits: &Visits) -> String {
    let pages = visits.complete + visits.incomplete;
    let amount = amount.filter(|_| pages > 0);
    amount.map_or_else(
        || "-".to_owned(),
        |amount| {
            let mean = amount as f64 / pages as f64;
            if amount.is_multiple_of(pages) || mean >= 1000.0 {
                format!("{mean:.0}")
            } else {
                format!("{mean:.1}")
            }
        },
    )
}

/// How tests use connections whose suite gives that, with the names of those that do so.
pub(super) fn http_of_tests(plan: &PlanRecord) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for test in &plan.tests {
        let Some(http) = test.http.map(|http| http.to_string()) else {
            continue;
        };
        match all.iter_mut().find(|(known, _)| *known == http) {
            Some((_, names)) => *names += &format!(", {}", test.name),
            None => all.push((http, test.name.clone())),
        }
    }
    all
}

/// How much of responses is verified, with the rows where that differs.
pub(super) fn verification(plan: &PlanRecord) -> String {
    let ways = plan.verified();
    if let [way] = ways[..] {
        return way.name().to_owned();
    }
    let rows_by_way = |way: &record::Verify| {
        let rows = plan.measures.iter().filter(|row| row.verify == *way);
        let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
        format!("{} ({})", way.name(), names.join(", "))
    };
    ways.iter().map(rows_by_way).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use record::{Http, Verify};
    use stats::testing::RunBuilder;

    use super::*;

    #[test]
    fn tests_that_differ_are_named() {
        let rows = [("A", "GET"), ("B", "GET")];
        let run = RunBuilder::new(1)
            .test("T", &rows)
            .test("U", &[("C", "GET")]);
        let mut plan = run.test("V", &[("D", "GET")]).build().plan;
        assert!(http_of_tests(&plan).is_empty());
        assert_eq!(verification(&plan), "first");
        let classic = Http {
            keep_alive: false,
            ..Http::default()
        };
        plan.tests[0].http = Some(classic);
        plan.tests[2].http = Some(classic);
        let expected = "HTTP/1.1, a connection for each request".to_owned();
        assert_eq!(http_of_tests(&plan), [(expected, "T, V".to_owned())]);
        plan.measures[1].verify = Verify::None;
        assert_eq!(verification(&plan), "first (A, C, D); none (B)");
    }
}
