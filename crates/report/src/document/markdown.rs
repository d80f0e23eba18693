//! A document for a pull request.

use super::{
    Block, ColumnKind, List, ListItem, ListLook, Mark, ReportTable, TableRow, Tone, Words,
};
use crate::clean;
use crate::markdown::{code, escaped, line, markdown};

/// Blocks as Markdown, with an empty line between them.
pub(crate) fn markdown_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().map(block_markdown);
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}

impl Words {
    fn markdown(&self) -> String {
        let mut before = String::new();
        let pieces = self.0.iter().map(|(mark, text)| {
            let text = match mark {
                Mark::Aside => format!(" ({text})"),
                _ => text.clone(),
            };
            let plain = escaped(&before, &text);
            before.push_str(&clean(&text));
            match mark {
                Mark::Plain | Mark::Name | Mark::Aside => plain,
                Mark::Strong | Mark::Toned(Tone::Bad) => bold(&plain),
                Mark::Toned(_) => plain,
                Mark::Code => code(&text),
            }
        });
        pieces.collect()
    }
}

fn bold(text: &str) -> String {
    match text.trim() {
        "" => text.to_owned(),
        _ => format!("**{text}**"),
    }
}

fn toned(tone: Tone, text: String) -> String {
    match tone {
        Tone::Bad => bold(&text),
        _ => text,
    }
}

fn block_markdown(block: &Block) -> String {
    match block {
        Block::Alert(_, words) | Block::Paragraph(words) | Block::Note(words) => words.markdown(),
        Block::Facts(facts) => {
            let facts = facts.iter().map(|(name, value)| {
                let name = markdown(name);
                format!("- **{name}**: {}", value.markdown())
            });
            facts.collect::<Vec<_>>().join("\n")
        }
        Block::List(list) => list_markdown(list),
        Block::Table(table) => table_markdown(table),
        Block::Section(_, heading, blocks) | Block::Folded(heading, blocks) => {
            under(heading, markdown_of(blocks))
        }
        Block::Terminal(_) | Block::Page(_) => String::new(),
    }
}

fn list_markdown(list: &List) -> String {
    let items = (1..).zip(&list.items).map(|(number, item)| {
        let sign = match list.look {
            ListLook::Numbers => format!("{number}. "),
            _ => "- ".to_owned(),
        };
        item_markdown(&sign, item)
    });
    under(&list.heading, items.collect::<Vec<_>>().join("\n"))
}

fn item_markdown(sign: &str, item: &ListItem) -> String {
    let mut text = sign.to_owned() + &toned(item.tone, item.words.markdown());
    let below = markdown_of(&item.below);
    let indent = " ".repeat(sign.len());
    for line in below.lines() {
        text += &match line {
            "" => "\n".to_owned(),
            line => format!("\n{indent}{line}"),
        };
    }
    text
}

fn table_markdown(table: &ReportTable) -> String {
    let names = table.columns.iter().map(|column| markdown(&column.name));
    let rules = table.columns.iter().map(|column| match column.kind {
        ColumnKind::Number | ColumnKind::NumberOfText => "---:",
        ColumnKind::Text | ColumnKind::Sentence => "---",
    });
    let head = line(&names.collect::<Vec<_>>()) + &line(&rules.collect::<Vec<_>>());
    let rows: String = table.rows.iter().map(row_markdown).collect();
    let text = (head + &rows).trim_end().to_owned();
    if table.is_titled {
        under(&table.name, text)
    } else {
        text
    }
}

/// The last cell of a row has the tone of the row.
fn row_markdown(row: &TableRow) -> String {
    let mut cells: Vec<String> = row.cells.iter().map(|cell| cell.words.markdown()).collect();
    if let Some(last) = cells.pop() {
        cells.push(toned(row.tone, last));
    }
    line(&cells)
}

/// A text below its heading, where it has one; nothing where there is no text.
fn under(heading: &str, text: String) -> String {
    if heading.is_empty() || text.is_empty() {
        text
    } else {
        format!("{}:\n\n{text}", markdown(heading))
    }
}
