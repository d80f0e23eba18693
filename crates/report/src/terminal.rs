//! Text for terminals: wrapped lines, columns and colours.

use anstyle::{AnsiColor, Style};
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) on: bool,
}

impl Paint {
    pub(crate) fn good(self, text: &str) -> String {
        self.in_color(AnsiColor::Green, text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.in_color(AnsiColor::Red, text)
    }

    pub(crate) fn caution(self, text: &str) -> String {
        self.in_color(AnsiColor::Yellow, text)
    }

    fn in_color(self, color: AnsiColor, text: &str) -> String {
        let style = Style::new().fg_color(Some(color.into()));
        if self.on {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// A report for people as far as it is written.
pub(crate) struct TextReport {
    pub(crate) text: String,
    pub(crate) width: usize,
    pub(crate) paint: Paint,
}

impl TextReport {
    pub(crate) fn new(color: bool, width: usize) -> TextReport {
        TextReport {
            text: String::new(),
            width,
            paint: Paint { on: color },
        }
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A wrapped text; `first` stands before its first line, and `next` before the others.
    pub(crate) fn wrapped(&mut self, first: &str, next: &str, text: &str) {
        let lines = wrap(self.width, first, next, text);
        self.line(&lines);
    }

    /// The text, which ends with a single newline.
    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.line("");
        self.text
    }
}

/// Wraps at blanks only. A URL stays one that can be copied, also where it is wider than the page,
/// and a run id keeps its hyphens on one line.
pub fn wrap(width: usize, first: &str, next: &str, text: &str) -> String {
    let options = Options::new(width)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation)
        .word_separator(WordSeparator::AsciiSpace)
        .initial_indent(first)
        .subsequent_indent(next);
    textwrap::fill(text, options)
}

/// Lines in so many columns, those of tables and excerpts among them: what continues one stands two
/// blanks further in.
pub fn fold(width: usize, text: &str) -> String {
    let folded = |line: &str| {
        if display_width(line) <= width {
            return line.to_owned();
        }
        let words = line.trim_start_matches(' ');
        let blanks = " ".repeat((line.len() - words.len()).min(width / 2));
        wrap(width, &blanks, &format!("{blanks}  "), words)
    };
    text.split('\n').map(folded).collect::<Vec<_>>().join("\n")
}

const ROOM_FOR_WORDS: usize = 24;
const BETWEEN: &str = "  ";

/// Columns as wide as their widest cell.
pub(crate) struct Columns {
    widths: Vec<usize>,
    texts: Vec<usize>,
}

impl Columns {
    /// The columns of these rows. `texts` are aligned to the left, all others, which are numbers,
    /// to the right.
    pub(crate) fn of<'a>(
        rows: impl IntoIterator<Item = &'a Vec<String>>,
        texts: &[usize],
    ) -> Columns {
        let mut widths = Vec::new();
        for row in rows {
            widths.resize(row.len().max(widths.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = display_width(cell).max(*width);
            }
        }
        Columns {
            widths,
            texts: texts.to_vec(),
        }
    }

    /// The lines of a table whose last column is words: behind the others where there is room for
    /// them, else below. `None` where not even the other columns fit.
    pub(crate) fn lines_with_words(
        width: usize,
        headers: Vec<String>,
        rows: impl IntoIterator<Item = Vec<String>>,
        texts: &[usize],
    ) -> Option<Vec<String>> {
        let rows = std::iter::once(headers).chain(rows);
        let rows: Vec<(Vec<String>, String)> = rows
            .filter_map(|mut row| row.pop().map(|words| (row, words)))
            .collect();
        let columns = Columns::of(rows.iter().map(|(figures, _)| figures), texts);
        if columns.width() > width {
            return None;
        }
        let longest = rows.iter().map(|(_, words)| display_width(words)).max();
        let behind = columns.width() + BETWEEN.len();
        let has_room = behind + longest.unwrap_or(0).min(ROOM_FOR_WORDS) <= width;
        let line = |(figures, words): &(Vec<String>, String)| {
            let line = columns.line(figures);
            let missing = " ".repeat(behind.saturating_sub(display_width(&line)));
            match (words.is_empty(), has_room) {
                (true, _) => line,
                (false, true) => wrap(
                    width,
                    &format!("{line}{missing}"),
                    &" ".repeat(behind),
                    words,
                ),
                (false, false) => format!("{line}\n{}", wrap(width, "    ", "    ", words)),
            }
        };
        Some(rows.iter().map(line).collect())
    }

    pub(crate) fn width(&self) -> usize {
        let between = BETWEEN.len() * self.widths.len().saturating_sub(1);
        self.widths.iter().sum::<usize>() + between
    }

    pub(crate) fn cell(&self, column: usize, cell: &str) -> String {
        let missing = self.widths[column].saturating_sub(display_width(cell));
        let blanks = " ".repeat(missing);
        if self.texts.contains(&column) {
            format!("{cell}{blanks}")
        } else {
            format!("{blanks}{cell}")
        }
    }

    pub(crate) fn line(&self, row: &[String]) -> String {
        let cells = row.iter().enumerate();
        let cells: Vec<String> = cells
            .map(|(column, cell)| self.cell(column, cell))
            .collect();
        cells.join(BETWEEN).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paint_leaves_plain_text_alone() {
        assert_eq!(Paint { on: false }.bad("failed"), "failed");
        assert_eq!(
            Paint { on: true }.bad("failed"),
            "\u{1b}[31mfailed\u{1b}[0m"
        );
    }

    #[test]
    fn a_report_wraps_but_breaks_no_url() {
        let url = format!("http://example.org/{}", "long-way/".repeat(3));
        let lines = wrap(20, "- ", "  ", &format!("look at {url}"));
        assert_eq!(lines, format!("- look at\n  {url}"));
    }

    #[test]
    fn what_does_not_fit_is_folded_below_its_beginning() {
        let red = Paint { on: true }.bad("failed");
        let text = format!("Get1K   12.3 µs\n  Put1K   {red}   13.4 µs  14.5 µs\n");
        let lines = format!("Get1K   12.3 µs\n  Put1K   {red}\n    13.4 µs  14.5 µs\n");
        assert_eq!(fold(20, &text), lines);
        assert_eq!(fold(80, &text), text);
    }
}
