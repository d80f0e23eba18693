//! An answer as a small document: made once, written as text, as Markdown and as HTML.
//!
//! ```text
//!                                        .--> text      for a terminal: wrapped, in columns, in colour
//! comparison, capture, ... --> [Block] --+--> markdown  for a pull request
//!                                        '--> html      a part of a page
//! ```
//!
//! Texts come as they are. Each medium makes control characters visible and escapes its markup.

mod html;
mod markdown;
mod text;

use maud::Markup;

pub(crate) use html::html_of;
pub(crate) use markdown::markdown_of;

use crate::units::human_range;

#[derive(Debug, Clone)]
pub(crate) enum Block {
    /// A paragraph before everything else, such as the reason why runs are missing.
    Alert(Tone, Words),
    /// Names with their values, a line each.
    Facts(Vec<(String, Words)>),
    Paragraph(Words),
    /// A paragraph in small print, which explains figures.
    Note(Words),
    List(List),
    Table(ReportTable),
    /// Blocks below a heading, with the id of the section on a page.
    Section(&'static str, String, Vec<Block>),
    /// Blocks below a heading, folded on pages until a reader opens them.
    Folded(String, Vec<Block>),
    /// Lines for a terminal alone, such as a histogram in letters.
    Terminal(String),
    /// HTML for a page alone, such as a figure.
    Page(Markup),
}

impl Block {
    /// The section of findings, with what belongs to them.
    pub(crate) fn findings(is_found: bool, blocks: Vec<Block>) -> Block {
        let heading = if is_found {
            "Findings, most costly first"
        } else {
            "Findings"
        };
        Block::Section("findings", heading.to_owned(), blocks)
    }

    /// A list; nothing in any medium without items.
    pub(crate) fn list<T: Into<ListItem>>(
        heading: impl Into<String>,
        look: ListLook,
        items: impl IntoIterator<Item = T>,
    ) -> Block {
        Block::List(List {
            heading: heading.into(),
            look,
            items: items.into_iter().map(Into::into).collect(),
        })
    }
}

/// How something is to be taken. Each medium has its sign of it: a colour, bold letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    Good,
    Bad,
    Caution,
    Same,
    #[default]
    Plain,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Words(Vec<(Mark, String)>);

/// What a piece of a sentence is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    Plain,
    Strong,
    /// A name that its owner chose: of a server, of a row.
    Name,
    /// A command or an address.
    Code,
    /// An interval or a reason: in brackets behind the sentence, on a page in small letters below
    /// it.
    Aside,
    Toned(Tone),
}

impl Words {
    pub(crate) fn plain(self, text: impl Into<String>) -> Words {
        self.and(Mark::Plain, text)
    }

    pub(crate) fn strong(self, text: impl Into<String>) -> Words {
        self.and(Mark::Strong, text)
    }

    pub(crate) fn name(self, text: impl Into<String>) -> Words {
        self.and(Mark::Name, text)
    }

    pub(crate) fn code(self, text: impl Into<String>) -> Words {
        self.and(Mark::Code, text)
    }

    pub(crate) fn toned(self, tone: Tone, text: impl Into<String>) -> Words {
        self.and(Mark::Toned(tone), text)
    }

    pub(crate) fn aside(self, text: impl Into<String>) -> Words {
        self.and(Mark::Aside, text)
    }

    /// These words and others behind a separator, which is left out where there is nothing to
    /// separate.
    pub(crate) fn then(mut self, separator: &str, others: Words) -> Words {
        if !self.is_empty() && !others.is_empty() {
            self = self.plain(separator);
        }
        self.0.extend(others.0);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words without their asides.
    pub(crate) fn in_short(&self) -> Words {
        let pieces = self.0.iter().filter(|(mark, _)| *mark != Mark::Aside);
        Words(pieces.cloned().collect())
    }

    fn and(mut self, mark: Mark, text: impl Into<String>) -> Words {
        let text = text.into();
        if !text.is_empty() {
            self.0.push((mark, text));
        }
        self
    }
}

impl<T: Into<String>> From<T> for Words {
    fn from(text: T) -> Words {
        Words::default().plain(text)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    /// Empty for none.
    pub(crate) heading: String,
    pub(crate) look: ListLook,
    pub(crate) items: Vec<ListItem>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ListLook {
    /// With a bullet before each item.
    #[default]
    Bullets,
    /// With a number before each item.
    Numbers,
    /// With no sign before the items.
    Bare,
    /// In a box on pages, with bullets.
    Boxed(Tone),
    /// Folded on pages until a reader opens it, with bullets.
    Folded,
    /// The same, and terminals have the first six items only.
    Brief,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ListItem {
    pub(crate) tone: Tone,
    pub(crate) words: Words,
    /// Blocks that belong to it.
    pub(crate) below: Vec<Block>,
}

impl<T: Into<Words>> From<T> for ListItem {
    fn from(words: T) -> ListItem {
        ListItem {
            words: words.into(),
            ..ListItem::default()
        }
    }
}

impl ListItem {
    /// A finding: its title, an explanation, the evidence, and where to look for the cause.
    pub(crate) fn finding(
        title: impl Into<Words>,
        explanation: String,
        evidence: Vec<String>,
        look_at: &str,
    ) -> ListItem {
        ListItem {
            tone: Tone::Caution,
            words: title.into(),
            below: vec![
                Block::Paragraph(explanation.into()),
                Block::list("", ListLook::Bullets, evidence),
                Block::Paragraph(format!("Look at {look_at}").into()),
            ],
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ReportTable {
    /// Its name, above it where `is_titled`, and for readers who cannot see a page.
    pub(crate) name: String,
    pub(crate) is_titled: bool,
    /// Headings above those of the columns on pages, and how many columns each covers. On
    /// terminals, the first column of a group has the name of the group, and columns of a group
    /// stay together.
    pub(crate) groups: Vec<(String, usize)>,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) rows: Vec<TableRow>,
    pub(crate) narrow: Narrow,
    /// Classes of the table on a page. Rows of the class `sorts` can be sorted by a reader.
    pub(crate) class: &'static str,
}

/// What becomes of a table that is wider than the terminal.
#[derive(Debug, Clone, Default)]
pub(crate) enum Narrow {
    /// Nothing: it is as wide as it is.
    #[default]
    Wide,
    /// Each row becomes a sentence.
    Sentences,
    /// These columns are left out, one after the other.
    LeaveOut(Vec<usize>),
    /// Columns from this one on follow below one another, each time behind the ones before it.
    Blocks(usize),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TableColumn {
    pub(crate) name: String,
    /// Explains the column on a page; empty where the name suffices.
    pub(crate) meaning: &'static str,
    pub(crate) kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ColumnKind {
    /// A number, aligned to the right.
    #[default]
    Number,
    /// A number that pages have no room for.
    NumberOfText,
    /// A short text, aligned to the left.
    Text,
    /// A sentence, at the end of its row: it may take several lines.
    Sentence,
}

impl TableColumn {
    pub(crate) fn new(name: impl Into<String>, kind: ColumnKind) -> TableColumn {
        TableColumn {
            name: name.into(),
            kind,
            meaning: "",
        }
    }

    /// Columns that need no explanation.
    pub(crate) fn all<const N: usize>(columns: [(&str, ColumnKind); N]) -> Vec<TableColumn> {
        columns
            .map(|(name, kind)| TableColumn::new(name, kind))
            .into()
    }

    pub(crate) fn meaning(self, meaning: &'static str) -> TableColumn {
        TableColumn { meaning, ..self }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TableRow {
    pub(crate) tone: Tone,
    pub(crate) cells: Vec<TableCell>,
}

impl TableRow {
    pub(crate) fn new(cells: impl IntoIterator<Item = TableCell>) -> TableRow {
        TableRow {
            tone: Tone::Plain,
            cells: cells.into_iter().collect(),
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TableCell {
    pub(crate) words: Words,
    /// The number that rows are sorted by; rows without one stay at the end.
    pub(crate) sort: Option<f64>,
    /// From -3 (much better) to 3 (much worse): the colour of its ground on a page.
    pub(crate) heat: Option<i8>,
}

impl<T: Into<Words>> From<T> for TableCell {
    fn from(words: T) -> TableCell {
        TableCell {
            words: words.into(),
            ..TableCell::default()
        }
    }
}

impl TableCell {
    /// A figure as it is shown, and its value for sorting.
    pub(crate) fn figure(shown: impl Into<Words>, value: Option<f64>) -> TableCell {
        TableCell {
            words: shown.into(),
            sort: value,
            heat: None,
        }
    }

    pub(crate) fn optional(value: Option<f64>, shown: impl Fn(f64) -> String) -> TableCell {
        TableCell::figure(value.map_or("-".to_owned(), shown), value)
    }

    /// An interval of times, which is sorted by its lower end.
    pub(crate) fn interval(ends: Option<(f64, f64)>) -> TableCell {
        let shown = ends.map_or("-".to_owned(), human_range);
        TableCell::figure(shown, ends.map(|(low, _)| low))
    }
}
