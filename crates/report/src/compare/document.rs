//! A comparison as a document: its tables, and the blocks around them.

use record::NoteRecord;
use stats::{Compared, Comparison, Verdict};

use super::caveats::caveat;
use super::words::{ComparedCells, cost_of, times_of};
use super::{Comparisons, Versus, inside, legend};
use crate::document::{
    Block, ColumnKind, ListLook, Narrow, ReportTable, TableCell, TableColumn, TableRow, Tone, Words,
};
use crate::lists::{distinct, enumerated};
use crate::notes;

/// All of it: for each server that is compared with A its rows, costs inside of it, and warnings.
pub(super) fn document(all: &Comparisons) -> Vec<Block> {
    let incomplete = all.incomplete.iter().map(|incomplete| incomplete.alert());
    let versus = all.versus.iter().flat_map(|versus| {
        let mut blocks = vec![
            Block::Facts(facts(all, versus)),
            Block::Table(rows(std::slice::from_ref(versus))),
        ];
        blocks.extend(costs(&versus.comparison));
        blocks.push(Block::Paragraph(legend(&versus.comparison).into()));
        blocks.push(warnings("Warnings".to_owned(), versus));
        blocks
    });
    incomplete.chain(versus).collect()
}

fn facts(all: &Comparisons, versus: &Versus) -> Vec<(String, Words)> {
    let name = |side: &str, name: &str| (side.to_owned(), Words::default().code(name));
    let notes = |side: &str, notes: &[NoteRecord]| -> Vec<(String, Words)> {
        notes::facts(side, notes).collect()
    };
    let (a, b) = (name("A", &all.name), name("B", &versus.name));
    if all.notes == versus.notes {
        [vec![a, b], notes("", &all.notes)].concat()
    } else {
        let (notes_a, notes_b) = (notes(" (A)", &all.notes), notes(" (B)", &versus.notes));
        [vec![a], notes_a, vec![b], notes_b].concat()
    }
}

/// How each kind of verdict is named of rows, the worst first, and its tone.
const VERDICTS: [(Verdict, &str, Tone); 9] = [
    (Verdict::Broken, "failing only there", Tone::Bad),
    (Verdict::Lost, "not supported there", Tone::Bad),
    (Verdict::Slower, "slower", Tone::Bad),
    (Verdict::Faster, "faster", Tone::Good),
    (Verdict::Repaired, "failing only with A", Tone::Good),
    (Verdict::Gained, "supported only there", Tone::Good),
    (Verdict::Same, "the same", Tone::Same),
    (Verdict::Inconclusive, "inconclusive", Tone::Caution),
    (Verdict::NotCompared, "not compared", Tone::Caution),
];

/// Rows of a verdict that are named; the table has all.
const NAMED: usize = 4;

pub(crate) fn in_short(all: &Comparisons, shortened: impl Fn(&str) -> String) -> Block {
    let items = all.versus.iter().map(|versus| {
        let names = Words::default()
            .name(shortened(&versus.name))
            .plain(" beside ")
            .name(shortened(&all.name))
            .plain(": ");
        names.then("", verdicts(&versus.comparison.rows, all.versus.len() == 1))
    });
    Block::list("", ListLook::Bare, items)
}

/// `2 slower (Put1K, Copy), 1 the same (Get1K)`. Of several servers, their figures name the rows.
fn verdicts(rows: &[Compared], with_names: bool) -> Words {
    let mut all = Words::default();
    for (verdict, what, tone) in VERDICTS {
        let rows = rows.iter().filter(|row| row.verdict == verdict);
        let names: Vec<&str> = rows.map(|row| row.name.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let mut words = Words::default().toned(tone, format!("{} {what}", names.len()));
        if with_names {
            words = words.plain(format!(" ({})", named(&names)));
        }
        all = all.then(", ", words);
    }
    if all.is_empty() {
        "nothing to compare".into()
    } else {
        all
    }
}

/// `Put1K, Get1K`, and how many more there are.
fn named(names: &[&str]) -> String {
    let (some, more) = names.split_at(names.len().min(NAMED));
    let more = (!more.is_empty()).then(|| format!(" and {} more", more.len()));
    some.join(", ") + &more.unwrap_or_default()
}

pub(crate) fn all_warnings(all: &Comparisons) -> Vec<Block> {
    let heading = |versus: &Versus| match all.versus.len() {
        1 => "Warnings of the comparison".to_owned(),
        _ => format!("Warnings of the comparison with {}", versus.name),
    };
    let lists = all
        .versus
        .iter()
        .map(|versus| warnings(heading(versus), versus));
    lists.collect()
}

fn warnings(heading: String, versus: &Versus) -> Block {
    let caveats = versus.comparison.caveats.iter().map(caveat);
    Block::list(heading, ListLook::Boxed(Tone::Caution), caveats)
}

/// The parts of a page behind its figures: all ratios, and costs inside of the servers.
pub(crate) fn sections(all: &Comparisons) -> Vec<Block> {
    let mut blocks = vec![Block::Table(ReportTable {
        groups: groups(all),
        class: "sorts heat compared",
        ..rows(&all.versus)
    })];
    if all.versus.len() > 1 {
        blocks.extend(all.versus.iter().map(reasons));
    }
    blocks.extend(explanations(all));
    let inside = all.versus.iter().flat_map(|versus| {
        let costs = costs(&versus.comparison);
        let is_named = all.versus.len() > 1 && !costs.is_empty();
        let name = is_named.then(|| Block::Paragraph(Words::default().strong(&versus.name)));
        name.into_iter().chain(costs)
    });
    let inside: Vec<Block> = inside.collect();
    let mut sections = vec![Block::Section(
        "comparison",
        "Comparison".to_owned(),
        blocks,
    )];
    if !inside.is_empty() {
        let heading = "Inside of the servers".to_owned();
        sections.push(Block::Section("compared-inside", heading, inside));
    }
    sections
}

fn groups(all: &Comparisons) -> Vec<(String, usize)> {
    let others = all
        .versus
        .iter()
        .map(|versus| (format!("B: {}", versus.name), 4));
    let first = [(String::new(), 1), (format!("A: {}", all.name), 1)];
    first.into_iter().chain(others).collect()
}

/// A row for each test, with the mean of A, and for each of these servers its mean, the ratio and
/// the verdict.
fn rows(versus: &[Versus]) -> ReportTable {
    let in_short = |cells: ComparedCells| match versus {
        [_] => cells,
        _ => without_reason(cells),
    };
    let first = versus.first();
    let first = first.map_or(&[][..], |versus| &versus.comparison.rows);
    let rows = first.iter().map(|row| {
        let others = versus.iter().map(|versus| {
            let rows = &mut versus.comparison.rows.iter();
            rows.find(|of| of.name == row.name)
                .map(|of| in_short(times_of(of)))
        });
        table_row(&row.name, others.collect())
    });
    ReportTable {
        rows: rows.collect(),
        ..compared_table("Comparison", versus.len())
    }
}

fn without_reason(mut cells: ComparedCells) -> ComparedCells {
    if let Some(verdict) = cells.b.last_mut() {
        verdict.words = verdict.words.in_short();
    }
    cells
}

/// A table without rows that compares A with this number of servers.
fn compared_table(name: &str, servers: usize) -> ReportTable {
    use ColumnKind::{Number, NumberOfText, Sentence, Text};
    let column = TableColumn::new;
    let first = [
        column("Test", Text),
        column("A", Number).meaning("Mean of A"),
    ];
    let others = (0..servers).flat_map(|_| {
        [
            column("B", Number).meaning("Mean of B"),
            column("B / A", Number)
                .meaning("Mean of B divided by that of A: above 1, the figure of B is larger"),
            column("95 % interval", Number)
                .meaning("95 % interval of the ratio; a single pair of runs has none"),
            column("p (Holm)", NumberOfText),
            column("verdict", Sentence).meaning("Whether B differs from A"),
        ]
    });
    ReportTable {
        name: name.to_owned(),
        columns: first.into_iter().chain(others).collect(),
        narrow: Narrow::Sentences,
        ..ReportTable::default()
    }
}

fn table_row(name: &str, servers: Vec<Option<ComparedCells>>) -> TableRow {
    let mut row = TableRow::new([name.into()]);
    for (index, cells) in servers.into_iter().enumerate() {
        let Some(ComparedCells { a, b, tone }) = cells else {
            row.cells
                .extend(std::iter::repeat_n(TableCell::default(), 5));
            continue;
        };
        if index == 0 {
            row.cells.push(a);
            row.tone = tone;
        }
        row.cells.extend(b);
    }
    row
}

/// A row in words, as text: `Put1K: slower by 100 %; A 1.00 ms, B 2.00 ms, B / A 2.0`.
pub fn compared_in_words(row: &Compared) -> String {
    compared_table("", 1).sentence(&table_row(&row.name, vec![Some(times_of(row))]))
}

/// Reasons of verdicts, row by row, for tables that have no room for them.
fn reasons(versus: &Versus) -> Block {
    let rows = versus.comparison.rows.iter().filter_map(|row| {
        let [.., verdict] = times_of(row).b;
        let is_short = verdict.words.in_short() == verdict.words;
        (!is_short).then(|| Words::from(format!("{}: ", row.name)).then("", verdict.words))
    });
    let heading = format!("Reasons for the verdicts on {}", versus.name);
    Block::list(heading, ListLook::Folded, rows)
}

fn costs(comparison: &Comparison) -> Vec<Block> {
    let processors = inside::processors(comparison);
    let rows = processors
        .iter()
        .map(|(name, cost)| table_row(name, vec![Some(cost_of(cost))]));
    let table = ReportTable {
        is_titled: true,
        rows: rows.collect(),
        class: "sorts heat compared",
        ..compared_table("Processor time of the servers, per operation", 1)
    };
    let table = (!table.rows.is_empty()).then_some(Block::Table(table));
    table.into_iter().chain(inside::calls(comparison)).collect()
}

/// Explanations of the figures. The same text for several servers stands once.
fn explanations(all: &Comparisons) -> Vec<Block> {
    let text = |versus: &Versus| legend(&versus.comparison);
    let mut notes: Vec<Block> = distinct(all.versus.iter().map(text))
        .into_iter()
        .map(|legend| {
            let same = all.versus.iter().filter(|versus| text(versus) == legend);
            let names = enumerated(&same.map(|versus| &versus.name).collect::<Vec<_>>());
            Block::Note(Words::default().name(names).plain(format!(": {legend}")))
        })
        .collect();
    if all.versus.iter().any(|versus| versus.comparison.pairs > 1) {
        notes.push(Block::Note(
            "Means are of all operations of all runs, so that one slow run changes them. A ratio is \
             computed pair by pair and changes less with a slow run; it may differ from the quotient of \
             the means."
                .into(),
        ));
    }
    notes
}
