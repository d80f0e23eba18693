//! A campaign as a document: in short, findings, figures beside the published ones, and how they
//! were measured.

use experiment::{
    BesideSummary, FindingSummary, OutsideFigure, PairVerdict, ShownUnit, TableSummary,
};
use maud::{Markup, Render, html};

use super::numbers::{NOT_MEASURED, estimate, published, range, sign, three, with_unit};
use super::{CampaignReport, bars, caveats, measured, words};
use crate::document::{
    Block, ColumnKind, ListItem, ListLook, Narrow, ReportTable, TableCell, TableColumn, TableRow,
    Tone, Words,
};
use crate::lists::more_rows;

const MOST_OUTSIDE: usize = 50;

pub(super) fn document(of: &CampaignReport<'_>) -> Vec<Block> {
    let summary = of.summary;
    let has_findings = !summary.findings.is_empty();
    let has_tables = !summary.tables.is_empty();
    let differences = Block::list("", ListLook::Bullets, &of.experiment.differences);
    let sections = [
        Some(in_short(of)),
        has_findings.then(|| findings(of)),
        Some(bars::section(of)),
        has_tables.then(|| tables(of)),
        Some(section(
            "differences",
            "What differs from the source",
            vec![differences],
        )),
        of.beside.map(|other| beside(of, other)),
        Some(measured::measured(of)),
        measured::trials(of),
    ];
    sections.into_iter().flatten().collect()
}

fn section(id: &'static str, heading: &str, blocks: Vec<Block>) -> Block {
    Block::Section(id, heading.to_owned(), blocks)
}

fn in_short(of: &CampaignReport<'_>) -> Block {
    let boxed =
        |heading, tone, items: Vec<String>| Block::list(heading, ListLook::Boxed(tone), items);
    let progress = words::progress(of);
    let progress = match words::to_go_on(of) {
        None => Block::Paragraph(progress.into()),
        Some(to_go_on) => Block::Alert(Tone::Caution, format!("{progress} {to_go_on}").into()),
    };
    let failures = of.summary.failures.iter().map(words::trials_line);
    let blocks = vec![
        Block::Paragraph(words::measured(of).into()),
        progress,
        Block::Page(headline(of)),
        Block::Paragraph(Words::default().strong(words::conclusion(of))),
        Block::Page(important(of).render()),
        boxed("Failed trials", Tone::Bad, failures.collect()),
        boxed("Warnings", Tone::Caution, caveats::warnings(of)),
        boxed("What is missing", Tone::Plain, caveats::missing(of)),
    ];
    section("answer", "In short", blocks)
}

fn headline(of: &CampaignReport<'_>) -> Markup {
    let summary = of.summary;
    let orders = words::all_orders(summary);
    let findings = summary.findings.iter();
    let holds = findings.filter(|finding| finding.verdict == PairVerdict::Holds);
    let tiles = [
        ("Trials", summary.ended_trials, summary.planned_trials),
        ("Findings that hold", holds.count(), summary.findings.len()),
        ("Pairs as published", orders.same, words::pairs(orders)),
    ];
    html! {
        dl.headline {
            @for (what, count, all) in tiles.into_iter().filter(|(.., all)| *all > 0) {
                div { dt { (what) } dd { (count) small { "of " (all) } } }
            }
        }
    }
}

fn important(of: &CampaignReport<'_>) -> Block {
    let findings = words::important(&of.summary.findings).into_iter();
    let items = findings.map(|finding| {
        let claim = Words::from(format!("{}: ", finding.claim));
        let (verdict, tone) = words::verdict(finding.verdict);
        let evidence = format!(", {}.", words::evidence(of, finding));
        claim.toned(tone, verdict).plain(evidence)
    });
    Block::list("Most important findings", ListLook::Bullets, items)
}

fn findings(of: &CampaignReport<'_>) -> Block {
    let items = of.summary.findings.iter().map(|finding| {
        let (verdict, tone) = words::verdict(finding.verdict);
        let claim = Words::from(format!("{verdict}: {}", finding.claim));
        let parts = match finding.parts.len() {
            0 | 1 => Vec::new(),
            _ => words::parts(of, finding),
        };
        let mut below = vec![
            Block::Paragraph(words::evidence(of, finding).into()),
            Block::list("Part by part", ListLook::Brief, parts),
        ];
        below.extend(caveats::finding_reason(of, finding).map(|why| Block::Paragraph(why.into())));
        ListItem {
            tone,
            words: claim.aside(finding.source.as_deref().unwrap_or_default()),
            below,
        }
    });
    let note = "A finding holds if all of its parts do, and does not hold if one does not. One that says that a figure is \
        less in some parts and more in others holds if there are parts of both kinds. Means have their 95 % intervals behind \
        them.";
    let findings = Block::list("", ListLook::Numbers, items);
    section(
        "findings",
        "Findings",
        vec![findings, Block::Note(note.into())],
    )
}

pub(super) fn findings_in_brief(of: &CampaignReport<'_>) -> ReportTable {
    use ColumnKind::{Sentence, Text};
    let columns = [
        ("finding", Text),
        ("where", Text),
        ("today", Text),
        ("evidence", Sentence),
    ];
    let rows = of.summary.findings.iter().map(|finding| {
        let (verdict, _) = words::verdict(finding.verdict);
        let verdict = match finding.verdict {
            PairVerdict::Inconclusive => verdict.into(),
            PairVerdict::Holds | PairVerdict::Fails => Words::default().strong(verdict),
        };
        let source = finding.source.as_deref().unwrap_or_default();
        let cells = [
            (&finding.claim).into(),
            source.into(),
            verdict.into(),
            decided_by(of, finding).into(),
        ];
        TableRow::new(cells)
    });
    ReportTable {
        columns: TableColumn::all(columns),
        rows: rows.collect(),
        ..ReportTable::default()
    }
}

/// The figures of a finding with one part, or how many parts hold and the first that decided; and
/// why it does not hold.
fn decided_by(of: &CampaignReport<'_>, finding: &FindingSummary) -> String {
    let mut evidence = words::evidence(of, finding);
    if finding.parts.len() > 1 {
        let parts = finding.parts.iter().zip(words::parts(of, finding));
        let mut deciding = parts.filter(|(part, _)| part.verdict == finding.verdict);
        evidence += &deciding
            .next()
            .map_or(String::new(), |(_, part)| format!("; {part}"));
    }
    let why = caveats::finding_reason(of, finding);
    evidence + &why.map_or(String::new(), |why| format!(". {why}"))
}

fn tables(of: &CampaignReport<'_>) -> Block {
    let note = match words::pairs(words::all_orders(of.summary)) {
        0 => "Means of all repetitions with their 95 % intervals.".to_owned(),
        _ => format!(
            "Means of all repetitions with their 95 % intervals, and the published figures. {}",
            words::PAIRS
        ),
    };
    let tables = of.summary.tables.iter().flat_map(published_table);
    let blocks = std::iter::once(Block::Note(note.into())).chain(tables);
    section("tables", "Tables", blocks.collect())
}

/// A table, the meaning of its marks, the orders of its rows, and differences from the published
/// one.
fn published_table(of: &TableSummary) -> Vec<Block> {
    let is_published = |column: usize| {
        let cells = of.cells.iter().filter_map(|row| row.get(column));
        cells.into_iter().any(|cell| cell.published.is_some())
    };
    let is_published: Vec<bool> = (0..of.columns.len()).map(is_published).collect();
    let mut groups = vec![(String::new(), 1); of.row_factors.len()];
    let factors = of.row_factors.iter();
    let mut columns: Vec<TableColumn> = factors
        .map(|factor| TableColumn::new(factor, ColumnKind::Text))
        .collect();
    for ((title, unit), is_published) in of.columns.iter().zip(&is_published) {
        groups.push((with_unit(title, *unit), 1 + usize::from(*is_published)));
        columns.push(TableColumn::new("here", ColumnKind::Number));
        columns.extend(is_published.then(|| TableColumn::new("published", ColumnKind::Number)));
    }
    let rows = of.rows.iter().enumerate().map(|(row, levels)| {
        let level = |factor: usize| levels.get(factor).map_or("", String::as_str).into();
        let mut cells: Vec<TableCell> = (0..of.row_factors.len()).map(level).collect();
        for (column, is_published) in is_published.iter().enumerate() {
            let cell = of.cells.get(row).and_then(|cells| cells.get(column));
            cells.push(cell.map_or(NOT_MEASURED.into(), estimate).into());
            if *is_published {
                let value = cell.and_then(|cell| cell.published);
                cells.push(value.map_or("-".to_owned(), published).into());
            }
        }
        TableRow::new(cells)
    });
    let table = ReportTable {
        name: words::name_and_title(&of.name, &of.title),
        is_titled: true,
        groups,
        columns,
        rows: rows.collect(),
        narrow: Narrow::Blocks(of.row_factors.len()),
        class: "compact",
    };
    let orders = of.columns.iter().zip(&of.orders);
    let orders = orders
        .filter_map(|((title, _), counts)| Some(format!("{title}: {}.", words::orders(*counts)?)));
    let marks = caveats::legend(of.cells.iter().flatten()).into_iter();
    let mut blocks = vec![
        Block::Table(table),
        Block::list("", ListLook::Bare, marks.chain(orders)),
    ];
    blocks.extend(caveats::table_reason(of).map(|why| Block::Paragraph(why.into())));
    blocks
}

fn beside(of: &CampaignReport<'_>, other: &BesideSummary) -> Block {
    use ColumnKind::{Number, Text};
    let mut blocks = vec![Block::Paragraph(words::repeatable(other).into())];
    if !other.outside.is_empty() {
        let columns = [
            ("Cell", Text),
            ("Figure", Text),
            ("Predicted", Number),
            ("Mean", Number),
        ];
        let outside = other.outside.iter().take(MOST_OUTSIDE);
        blocks.push(Block::Table(ReportTable {
            name: "Figures outside of their prediction".to_owned(),
            columns: TableColumn::all(columns),
            rows: outside.map(|figure| outside_row(of, figure)).collect(),
            class: "compact",
            ..ReportTable::default()
        }));
    }
    let more = more_rows(other.outside.len().saturating_sub(MOST_OUTSIDE));
    blocks.extend(more.map(|more| Block::Paragraph(more.into())));
    section("beside", "Beside another campaign", blocks)
}

fn outside_row(of: &CampaignReport<'_>, outside: &OutsideFigure) -> TableRow {
    let spec = of.figure(&outside.figure);
    let sign = sign(spec.map_or(ShownUnit::Number, |spec| spec.unit));
    let with_sign = |text: String| format!("{text} {sign}").trim_end().to_owned();
    let levels = outside.cell.0.iter();
    let levels: Vec<String> = levels
        .map(|(factor, level)| format!("{factor} {level}"))
        .collect();
    TableRow::new([
        levels.join(", ").into(),
        spec.map_or(&outside.figure, |spec| &spec.title).into(),
        with_sign(range(outside.prediction, None)).into(),
        with_sign(three(outside.mean)).into(),
    ])
}
