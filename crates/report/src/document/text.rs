//! A document for a terminal.

use super::{
    Block, ColumnKind, List, ListItem, ListLook, Mark, Narrow, ReportTable, TableRow, Tone, Words,
};
use crate::clean;
use crate::terminal::{Columns, Paint, TextReport, wrap};

impl Words {
    /// The words with their tones as colours.
    fn painted(&self, paint: Paint) -> String {
        let pieces = self.0.iter().map(|(mark, text)| match mark {
            Mark::Aside => format!(" ({})", clean(text)),
            Mark::Toned(tone) => paint.toned(*tone, &clean(text)),
            _ => clean(text),
        });
        pieces.collect()
    }

    /// The words as one line without any colour.
    pub(crate) fn text(&self) -> String {
        self.painted(Paint { on: false })
    }
}

impl Paint {
    /// For a part of a text of this tone: the end of another colour would end that of the text.
    fn within(self, tone: Tone) -> Paint {
        let is_plain = matches!(tone, Tone::Plain | Tone::Same);
        Paint {
            on: self.on && is_plain,
        }
    }

    pub(crate) fn toned(self, tone: Tone, text: &str) -> String {
        match tone {
            Tone::Bad => self.bad(text),
            Tone::Good => self.good(text),
            Tone::Caution => self.caution(text),
            Tone::Same | Tone::Plain => text.to_owned(),
        }
    }
}

const MOST_OF_BRIEF: usize = 6;

impl TextReport {
    /// Appends blocks, with an empty line between them and behind them.
    pub(crate) fn blocks(&mut self, blocks: &[Block]) {
        let text = self.drawn("", blocks);
        if !text.is_empty() {
            self.line(&text);
            self.line("");
        }
    }

    fn drawn(&self, indent: &str, blocks: &[Block]) -> String {
        let texts = blocks.iter().map(|block| self.block(indent, block));
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    }

    fn block(&self, indent: &str, block: &Block) -> String {
        match block {
            Block::Alert(tone, words) => {
                let text = wrap(self.width, indent, indent, &words.text());
                self.paint.toned(*tone, &text)
            }
            Block::Facts(facts) => {
                let fact = |(name, value): &(String, Words)| {
                    let line = format!("{}: {}", clean(name), value.text());
                    wrap(self.width, indent, &format!("{indent}  "), &line)
                };
                lines(facts.iter().map(fact))
            }
            Block::Paragraph(words) | Block::Note(words) => {
                wrap(self.width, indent, indent, &words.painted(self.paint))
            }
            Block::List(list) => self.list(indent, list),
            Block::Table(table) => self.table(indent, table),
            Block::Section(_, heading, blocks) => {
                self.under(heading, Tone::Plain, indent, self.drawn(indent, blocks))
            }
            Block::Folded(heading, blocks) => {
                let text = self.drawn(&format!("{indent}  "), blocks);
                self.under(heading, Tone::Plain, indent, text)
            }
            Block::Terminal(text) => text.trim_end().to_owned(),
            Block::Page(_) => String::new(),
        }
    }

    fn list(&self, indent: &str, list: &List) -> String {
        if list.items.is_empty() {
            return String::new();
        }
        let (before, between) = match list.look {
            ListLook::Numbers => ("\n", "\n\n"),
            _ => ("", "\n"),
        };
        let tone = match list.look {
            ListLook::Boxed(tone) => tone,
            _ => Tone::Plain,
        };
        let shown = match list.look {
            ListLook::Brief => list.items.len().min(MOST_OF_BRIEF),
            _ => list.items.len(),
        };
        let items = (1..).zip(&list.items[..shown]).map(|(number, item)| {
            let sign = match list.look {
                ListLook::Numbers => format!("{number}. "),
                ListLook::Bare => "  ".to_owned(),
                ListLook::Bullets | ListLook::Boxed(_) | ListLook::Folded | ListLook::Brief => {
                    "- ".to_owned()
                }
            };
            self.list_item(indent, &sign, item)
        });
        let more = list.items.len() - shown;
        let more = (more > 0).then(|| format!("{indent}and {more} more"));
        let items = items.chain(more).collect::<Vec<_>>().join(between);
        self.under(&list.heading, tone, indent, format!("{before}{items}"))
    }

    /// A text below its heading, where it has one; nothing where there is no text.
    fn under(&self, heading: &str, tone: Tone, indent: &str, text: String) -> String {
        if heading.is_empty() || text.is_empty() {
            return text;
        }
        let heading = format!("{}:", clean(heading));
        let heading = wrap(self.width, indent, indent, &heading);
        format!("{}\n{text}", self.paint.toned(tone, &heading))
    }

    fn list_item(&self, indent: &str, sign: &str, item: &ListItem) -> String {
        let next = format!("{indent}{}", " ".repeat(sign.len()));
        // A sign that is blank does not show where an item begins.
        let hanging = if sign.trim().is_empty() { "  " } else { "" };
        let words = wrap(
            self.width,
            &format!("{indent}{sign}"),
            &format!("{next}{hanging}"),
            &item.words.painted(self.paint.within(item.tone)),
        );
        let below = item.below.iter().map(|block| self.block(&next, block));
        lines(std::iter::once(self.paint.toned(item.tone, &words)).chain(below))
    }

    fn table(&self, indent: &str, table: &ReportTable) -> String {
        let width = self.width.saturating_sub(indent.len());
        let drawn = match &table.narrow {
            Narrow::LeaveOut(columns) => self.without(columns, width, table),
            Narrow::Blocks(first) => self.in_blocks(*first, width, table),
            Narrow::Sentences => match self.aligned(&table.all_columns(), width, table) {
                Some(text) => text,
                None => self.sentences(table),
            },
            Narrow::Wide => {
                let all = table.all_columns();
                let fitting = self.aligned(&all, width, table);
                fitting.unwrap_or_else(|| self.unlimited(&all, table))
            }
        };
        let indented = drawn.lines().map(|line| format!("{indent}{line}"));
        let drawn = indented.collect::<Vec<_>>().join("\n");
        if table.is_titled {
            self.under(&table.name, Tone::Plain, indent, drawn)
        } else {
            drawn
        }
    }

    /// These columns; `None` where they are wider than this.
    fn aligned(&self, columns: &[usize], width: usize, table: &ReportTable) -> Option<String> {
        let headers: Vec<String> = columns
            .iter()
            .map(|column| table.heading(*column))
            .collect();
        let cells = |row: &TableRow| -> Vec<String> {
            let paint = self.paint.within(row.tone);
            let cells = columns.iter().map(|column| row.cells.get(*column));
            cells
                .map(|cell| cell.map_or(String::new(), |cell| cell.words.painted(paint)))
                .collect()
        };
        let texts = columns.iter().enumerate();
        let texts = texts.filter(|(_, column)| table.columns[**column].kind == ColumnKind::Text);
        let texts: Vec<usize> = texts.map(|(index, _)| index).collect();
        let rows = table.rows.iter().map(cells);
        let last = columns.last().map(|column| table.columns[*column].kind);
        let lines = if last == Some(ColumnKind::Sentence) {
            Columns::lines_with_words(width, headers, rows, &texts)?
        } else {
            let rows: Vec<Vec<String>> = std::iter::once(headers).chain(rows).collect();
            let aligned = Columns::of(&rows, &texts);
            if aligned.width() > width {
                return None;
            }
            rows.iter().map(|row| aligned.line(row)).collect()
        };
        let tones = std::iter::once(Tone::Plain).chain(table.rows.iter().map(|row| row.tone));
        let lines = lines.iter().zip(tones);
        let lines = lines.map(|(line, tone)| self.paint.toned(tone, line));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    /// These columns, however wide they are: an address of IPv6 can be wider than a terminal.
    fn unlimited(&self, columns: &[usize], table: &ReportTable) -> String {
        self.aligned(columns, usize::MAX / 2, table)
            .unwrap_or_default()
    }

    fn without(&self, dispensable: &[usize], width: usize, table: &ReportTable) -> String {
        let kept = |count: usize| -> Vec<usize> {
            let mut kept = table.all_columns();
            kept.retain(|column| !dispensable[..count].contains(column));
            kept
        };
        let fitting = (0..=dispensable.len())
            .find_map(|count| Some((count, self.aligned(&kept(count), width, table)?)));
        let (count, drawn) = fitting.unwrap_or_else(|| {
            let all = dispensable.len();
            (all, self.unlimited(&kept(all), table))
        });
        let names = dispensable[..count].iter();
        let names: Vec<String> = names
            .map(|column| clean(&table.columns[*column].name))
            .collect();
        if names.is_empty() {
            return drawn;
        }
        let left_out = format!("columns that do not fit: {}", names.join(", "));
        format!("{drawn}\n{}", wrap(self.width, "", "", &left_out))
    }

    fn in_blocks(&self, first: usize, width: usize, table: &ReportTable) -> String {
        let count = table.columns.len();
        let with = |from: usize, to: usize| (0..first).chain(from..to).collect::<Vec<_>>();
        let mut blocks = Vec::new();
        let mut from = first;
        while from < count {
            let ends: Vec<usize> = table.ends().into_iter().filter(|to| *to > from).collect();
            let fitting = ends
                .iter()
                .rev()
                .find_map(|to| Some((*to, self.aligned(&with(from, *to), width, table)?)));
            // One at least, however narrow the terminal is.
            let (to, drawn) =
                fitting.unwrap_or_else(|| (ends[0], self.unlimited(&with(from, ends[0]), table)));
            blocks.push(drawn);
            from = to;
        }
        blocks.join("\n\n")
    }

    /// A sentence for each row: `Put1K: slower by 48 %; A 104 µs, B 154 µs`.
    fn sentences(&self, table: &ReportTable) -> String {
        let rows = table.rows.iter().map(|row| {
            let line = wrap(self.width, "", "  ", &table.sentence(row));
            self.paint.toned(row.tone, &line)
        });
        lines(rows)
    }
}

impl ReportTable {
    fn all_columns(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    fn heading(&self, column: usize) -> String {
        let begins = std::iter::once(0).chain(self.ends());
        let mut groups = self.groups.iter().zip(begins);
        let group = groups.find(|((name, _), begin)| *begin == column && !name.is_empty());
        clean(group.map_or(&self.columns[column].name, |((name, _), _)| name))
    }

    /// The places behind the groups of columns, or behind the columns of a table without groups.
    fn ends(&self) -> Vec<usize> {
        let widths: Vec<usize> = match &self.groups[..] {
            [] => vec![1; self.columns.len()],
            groups => groups.iter().map(|(_, columns)| *columns).collect(),
        };
        let ends = widths.iter().scan(0, |end, width| {
            *end += width;
            Some(*end)
        });
        ends.collect()
    }

    /// A row in words: its name, its last column, and the others with their names.
    pub(crate) fn sentence(&self, row: &TableRow) -> String {
        let mut cells = self.columns.iter().zip(&row.cells).map(|(column, cell)| {
            let (name, shown) = (clean(&column.name), cell.words.text());
            (name, shown)
        });
        let name = cells.next().map_or(String::new(), |(_, name)| name);
        let last = cells.next_back().map_or(String::new(), |(_, last)| last);
        let figures = cells.filter(|(_, shown)| !shown.is_empty());
        let figures: Vec<String> = figures
            .map(|(name, shown)| format!("{name} {shown}"))
            .collect();
        format!("{name}: {last}; {}", figures.join(", "))
    }
}

fn lines(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::TableColumn;

    /// A colour ends all others at its end.
    #[test]
    fn a_row_with_a_tone_has_no_other_colour() {
        let row = |tone| TableRow {
            tone,
            ..TableRow::new([Words::default().toned(Tone::Good, "1").into(), "2".into()])
        };
        let table = ReportTable {
            columns: vec![
                TableColumn::new("a", ColumnKind::Number),
                TableColumn::new("b", ColumnKind::Number),
            ],
            rows: vec![row(Tone::Plain), row(Tone::Bad)],
            ..ReportTable::default()
        };
        let mut report = TextReport::new(true, 80);
        report.blocks(&[Block::Table(table)]);
        let lines: Vec<String> = report.finish().lines().map(str::to_owned).collect();
        let expected = ["\u{1b}[32m1\u{1b}[0m  2", "\u{1b}[31m1  2\u{1b}[0m"];
        assert_eq!(lines[1..], expected);
    }
}
