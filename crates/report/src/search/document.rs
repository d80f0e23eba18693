//! A search as a document: its result, and a table of all loads.

use stats::Tally;

use super::{CountedUnit, Find, Loaded, SearchResult, answer_in_words};
use crate::document::{
    Block, ColumnKind, ListLook, ReportTable, TableCell, TableColumn, TableRow, Tone, Words,
};
use crate::incomplete::Incomplete;
use crate::json::us;
use crate::notes;
use crate::text::UNKNOWN_SOFTWARE;
use crate::units::human;

pub(super) fn document(found: &SearchResult) -> Vec<Block> {
    let software = found.software.as_deref().unwrap_or(UNKNOWN_SOFTWARE);
    let server = Words::default().name(&found.target).aside(software);
    let facts = [
        ("Sent".to_owned(), found.what.as_str().into()),
        ("Server".to_owned(), server),
    ];
    let facts = facts.into_iter().chain(notes::facts("", &found.notes));
    let head = [
        Block::Facts(facts.collect()),
        warnings(found),
        Block::Paragraph(answer_in_words(found).into()),
    ];
    let incomplete = found.incomplete.iter().map(Incomplete::alert);
    incomplete.chain(head).chain(loads(found)).collect()
}

pub(crate) fn warnings(found: &SearchResult) -> Block {
    let look = ListLook::Boxed(Tone::Caution);
    Block::list("Warnings", look, &found.caveats)
}

pub(crate) fn section(found: &SearchResult) -> Block {
    Block::Section("trials", "All loads".to_owned(), loads(found).into())
}

fn loads(found: &SearchResult) -> [Block; 2] {
    use ColumnKind::{Number, Sentence, Text};
    let column = |name: &str, kind| TableColumn::new(name, kind);
    let has_processor = found.trials.iter().any(|tried| tried.processor.is_some());
    let remark = match found.condition {
        Some(_) => "condition",
        None => "remark",
    };
    let processor =
        column("processor", Number).meaning("Processor time of the server per operation");
    let times = [
        column("load", Text),
        column(found.counted.rate().0, Number).meaning("Expected responses, or complete pages"),
        column("mean", Number).meaning("Mean time"),
        column("p50", Number).meaning("Half of the operations took no longer"),
        column("p99", Number).meaning("99 in a hundred took no longer"),
    ];
    let others = [
        column("failures", Number).meaning("Operations that failed or were dropped"),
        column(remark, Sentence).meaning("Whether the condition held"),
    ];
    let columns = times.into_iter().chain(has_processor.then_some(processor));
    let rows = Loaded::all(found).into_iter();
    let table = ReportTable {
        name: "All loads".to_owned(),
        columns: columns.chain(others).collect(),
        rows: rows.map(|load| row(found, &load, has_processor)).collect(),
        class: "sorts",
        ..ReportTable::default()
    };
    let note = "Rates and times are medians of the trials of a load, and have no intervals; failures are summed.";
    [Block::Table(table), Block::Note(note.into())]
}

fn row(found: &SearchResult, loaded: &Loaded, has_processor: bool) -> TableRow {
    let time = |ns: Option<f64>| TableCell::figure(ns.map_or("-".to_owned(), human), ns.map(us));
    let failures = match loaded.failures {
        0 => "0".into(),
        some => Words::default().toned(Tone::Bad, some.to_string()),
    };
    let rate = found.counted.shown(loaded.per_second);
    let times = [
        found.amount(loaded.load).into(),
        TableCell::figure(rate, Some(loaded.per_second)),
        time(loaded.times.map(|times| times.mean)),
        time(loaded.times.map(|times| times.p50)),
        time(loaded.times.map(|times| times.p99)),
    ];
    let others = [
        TableCell::figure(failures, Some(loaded.failures as f64)),
        remark(found, loaded).into(),
    ];
    let processor = has_processor.then(|| time(loaded.processor));
    TableRow {
        tone: if loaded.fails() {
            Tone::Bad
        } else {
            Tone::Plain
        },
        cells: times.into_iter().chain(processor).chain(others).collect(),
    }
}

/// `held in 3 of 3, knee`.
fn remark(found: &SearchResult, loaded: &Loaded) -> String {
    let Tally { held, .. } = loaded.trials;
    let share = format!("held in {held} of {}", loaded.trials.trials());
    let held = found.condition.as_ref().map(|_| share);
    let is_knee = found.knee == Some(loaded.load);
    let remarks = held.into_iter().chain(is_knee.then(|| "knee".to_owned()));
    remarks.collect::<Vec<_>>().join(", ")
}

pub(crate) fn how(found: &SearchResult) -> String {
    let (what, times) = match (found.find, found.counted) {
        (Find::Users, CountedUnit::Pages) => ("children", "response times"),
        (Find::Users, CountedUnit::Answers) => ("users", "response times"),
        (Find::Rate, _) => ("requests per second", "latencies from schedule"),
    };
    let until = match &found.condition {
        Some(condition) => format!(
            ", until the largest load was found under which {condition} holds in at least 9 of 10 trials"
        ),
        None => String::new(),
    };
    let times = match found.counted {
        CountedUnit::Answers => format!("{times}; of several requests, those of the slowest one"),
        CountedUnit::Pages => {
            "those of whole pages, from the start of the first file to the end of the last"
                .to_owned()
        }
    };
    format!(
        "{}: trials with different numbers of {what}{until}. Times are {times}.",
        found.what
    )
}
