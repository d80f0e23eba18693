//! A document as a part of a page.

use std::collections::HashMap;

use maud::{Markup, Render, html};

use super::{
    Block, ColumnKind, List, ListItem, ListLook, Mark, ReportTable, TableCell, TableColumn,
    TableRow, Tone, Words,
};
use crate::lists::distinct;
use crate::page::markup::{heading, meanings, wide_below};

pub(crate) fn html_of(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (block) } }
}

impl Tone {
    fn class(self) -> Option<&'static str> {
        match self {
            Tone::Good => Some("ok"),
            Tone::Bad => Some("bad"),
            Tone::Caution => Some("caution"),
            Tone::Same => Some("same"),
            Tone::Plain => None,
        }
    }
}

impl Render for Words {
    fn render(&self) -> Markup {
        let is_aside = |mark: &Mark| *mark == Mark::Aside;
        let asides = self.0.iter().filter(|(mark, _)| is_aside(mark));
        let asides: Vec<&str> = asides.map(|(_, text)| text.as_str()).collect();
        html! {
            @for (mark, text) in self.0.iter().filter(|(mark, _)| !is_aside(mark)) {
                @match mark {
                    Mark::Plain | Mark::Aside => (text),
                    Mark::Strong => strong { (text) },
                    Mark::Name => bdi { (text) },
                    Mark::Code => code { (text) },
                    Mark::Toned(tone) => span class=[tone.class()] { (text) },
                }
            }
            @if !asides.is_empty() { " " small { (asides.join("; ")) } }
        }
    }
}

impl Render for Block {
    fn render(&self) -> Markup {
        match self {
            Block::Alert(tone, words) => {
                html! { div class={ "box " (tone.class().unwrap_or("plain")) } { p { (words) } } }
            }
            Block::Facts(facts) => html! {
                dl { @for (name, value) in facts { dt { (name) } dd { (value) } } }
            },
            Block::Paragraph(words) => html! { p { (words) } },
            Block::Note(words) => html! { p.note { (words) } },
            Block::List(list) => list.render(),
            Block::Table(table) => table.render(),
            Block::Section(id, heading, blocks) => {
                let content = html_of(blocks);
                html! { @if !content.0.is_empty() { section id=(id) { h2 { (heading) } (content) } } }
            }
            Block::Folded(heading, blocks) => {
                html! { details { summary { (heading) } (html_of(blocks)) } }
            }
            Block::Page(markup) => markup.clone(),
            Block::Terminal(_) => Markup::default(),
        }
    }
}

impl Render for List {
    fn render(&self) -> Markup {
        if self.items.is_empty() {
            return Markup::default();
        }
        let items = html! { @for item in &self.items { li { (item.within(self.look)) } } };
        let head = html! { @if !self.heading.is_empty() { h3 { (self.heading) } } };
        match self.look {
            ListLook::Bullets => html! { (head) ul.items { (items) } },
            ListLook::Numbers => html! { (head) ol.findings { (items) } },
            ListLook::Bare => html! {
                @if !self.heading.is_empty() { p { (self.heading) ":" } }
                ul.counts { (items) }
            },
            ListLook::Boxed(tone) => {
                let class = tone.class().unwrap_or("plain");
                html! { div class={ "box " (class) } { (head) ul.items { (items) } } }
            }
            ListLook::Folded | ListLook::Brief => html! {
                details { summary { (self.heading) ": " (self.items.len()) } ul.items { (items) } }
            },
        }
    }
}

impl ListItem {
    fn within(&self, look: ListLook) -> Markup {
        let words = match self.tone.class() {
            Some(class) => html! { span class=(class) { (self.words) } },
            None => self.words.render(),
        };
        html! {
            @if look == ListLook::Numbers { h3 { (words) } } @else { (words) }
            (html_of(&self.below))
        }
    }
}

impl Render for ReportTable {
    fn render(&self) -> Markup {
        let shown: Vec<(usize, &TableColumn)> = (0..)
            .zip(&self.columns)
            .filter(|(_, column)| column.kind != ColumnKind::NumberOfText)
            .collect();
        let starts = self.groups.iter().scan(0, |next, (_, columns)| {
            let start = *next;
            *next += columns;
            Some(start)
        });
        let groups = self.groups.iter().zip(starts);
        let head = html! {
            @if !self.groups.is_empty() {
                tr.groups {
                    @for ((name, columns), start) in groups {
                        @let class = (*columns == 1).then(|| class_of(shown[start].1));
                        @if name.is_empty() { td {} }
                        @else { th class=[class] scope="colgroup" colspan=(columns) { (name) } }
                    }
                }
            }
            tr { @for (_, column) in &shown { (heading(&column.name, column.meaning, class_of(column))) } }
        };
        let body = html! {
            @for (row, order) in self.rows.iter().zip(self.orders()) {
                (self.row(order, row, &shown))
            }
        };
        let class = Some(self.class).filter(|class| !class.is_empty());
        let explained = self
            .columns
            .iter()
            .map(|column| (&*column.name, column.meaning));
        html! {
            @if self.is_titled { h3 { (self.name) } }
            (wide_below(&self.name, class, &head, &body))
            (meanings(distinct(explained)))
        }
    }
}

impl ReportTable {
    /// The number of the first row of each row's name, so that rows of one name stay together when
    /// they are sorted by it.
    fn orders(&self) -> impl Iterator<Item = usize> {
        let mut first = HashMap::new();
        let name = |row: &TableRow| row.cells.first().map(|cell| cell.words.text());
        let names = self.rows.iter().map(name).enumerate();
        names.map(move |(number, name)| *first.entry(name).or_insert(number))
    }

    fn row(&self, order: usize, row: &TableRow, shown: &[(usize, &TableColumn)]) -> Markup {
        let is_sorted = self.class.contains("sorts");
        let has_heat = row.cells.iter().any(|cell| cell.heat.is_some());
        let last = shown.last().map(|(index, _)| *index);
        let cells = shown
            .iter()
            .filter_map(|(index, column)| Some((*index, *column, row.cells.get(*index)?)));
        html! {
            tr {
                @for (index, column, cell) in cells {
                    @if index == 0 {
                        @let sort = is_sorted.then(|| rounded(cell.sort.unwrap_or(order as f64)));
                        @let class = (column.kind == ColumnKind::Number).then_some("number");
                        th class=[class] scope="row" data-sort=[sort] { (cell.words) }
                    } @else {
                        (td(column, cell, is_sorted, row.tone, Some(index) == last && !has_heat))
                    }
                }
            }
        }
    }
}

fn td(
    column: &TableColumn,
    cell: &TableCell,
    is_sorted: bool,
    tone: Tone,
    is_toned: bool,
) -> Markup {
    let is_number = column.kind == ColumnKind::Number;
    let sort = (is_sorted && is_number).then(|| cell.sort.map_or(String::new(), rounded));
    let classes = [
        cell.heat.map(|heat| format!("heat{heat}")),
        (is_number && !is_sorted).then(|| "number".to_owned()),
        (column.kind == ColumnKind::Sentence && !is_sorted).then(|| "words".to_owned()),
    ];
    let classes: Vec<String> = classes.into_iter().flatten().collect();
    let class = (!classes.is_empty()).then(|| classes.join(" "));
    let tone = tone.class().filter(|_| is_toned);
    html! {
        td class=[class] data-sort=[sort] {
            @if let Some(tone) = tone { span class=(tone) { (cell.words) } } @else { (cell.words) }
        }
    }
}

fn class_of(column: &TableColumn) -> &'static str {
    match column.kind {
        ColumnKind::Number | ColumnKind::NumberOfText => "number",
        ColumnKind::Text | ColumnKind::Sentence => "text",
    }
}

/// Finer than any difference that is shown.
fn rounded(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(kind: ColumnKind, first: [TableCell; 3]) -> String {
        let table = ReportTable {
            columns: vec![TableColumn::new("first", kind)],
            groups: vec![("A".to_owned(), 1)],
            rows: first.map(|cell| TableRow::new([cell])).into(),
            class: "sorts",
            ..ReportTable::default()
        };
        table.render().into_string()
    }

    #[test]
    fn rows_are_sorted_by_the_value_or_the_name_of_their_first_cell() {
        let figures =
            [2.0, 0.5, 2.0].map(|value| TableCell::figure(value.to_string(), Some(value)));
        let numbers = html(ColumnKind::Number, figures);
        let names = html(ColumnKind::Text, ["Put", "Get", "Put"].map(TableCell::from));
        for (html, first, second) in [(numbers, "2", "0.5"), (names, "0", "1")] {
            let sorts = html.split("data-sort=\"").skip(1);
            let sorts: Vec<&str> = sorts.filter_map(|rest| rest.split('"').next()).collect();
            assert_eq!(sorts, [first, second, first], "{html}");
        }
    }

    #[test]
    fn headings_and_first_cells_stand_above_each_other() {
        let cells = || [1.0, 2.0, 3.0].map(|value| TableCell::figure(value.to_string(), None));
        let numbers = html(ColumnKind::Number, cells());
        assert_eq!(numbers.matches("class=\"number\"").count(), 5, "{numbers}");
        assert!(!html(ColumnKind::Text, cells()).contains("number"));
    }
}
