//! Tables for the terminal and for pages. Pure.

use std::fmt;

/// A table of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchTable {
    title: String,
    rows: Vec<Vec<String>>,
}

impl BenchTable {
    /// A table that has only its column heads.
    pub(crate) fn new(title: &str, heads: &[&str]) -> BenchTable {
        BenchTable {
            title: title.to_owned(),
            rows: vec![heads.iter().map(|&head| head.to_owned()).collect()],
        }
    }

    /// Adds a row, of as many cells as there are heads.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.rows[0].len());
        self.rows.push(cells);
    }

    /// The same as Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("{}:\n\n{}", self.title, line(&self.rows[0]));
        let numbers = vec!["---:".to_owned(); self.rows[0].len() - 1];
        text += &line(&[vec!["---".to_owned()], numbers].concat());
        text.extend(self.rows[1..].iter().map(|row| line(row)));
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    }
}

impl fmt::Display for BenchTable {
    /// The first column flush left, the others flush right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        for row in &self.rows {
            write!(f, "{:<width$}", row[0], width = self.width(0))?;
            for (column, cell) in row.iter().enumerate().skip(1) {
                write!(f, "  {cell:>width$}", width = self.width(column))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Microseconds with as many decimals as are significant.
pub(crate) fn micros(value: f64) -> String {
    match value.abs() {
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_here_and_marked_up_there() {
        let mut table = BenchTable::new("Cost", &["client", "µs"]);
        table.row(vec!["floor".to_owned(), "9.25".to_owned()]);
        table.row(vec!["h".to_owned(), "12.5".to_owned()]);
        assert_eq!(
            table.to_string(),
            "Cost\n\nclient    µs\nfloor   9.25\nh       12.5\n"
        );
        assert_eq!(
            table.markdown(),
            "Cost:\n\n| client | µs |\n| --- | ---: |\n| floor | 9.25 |\n| h | 12.5 |\n"
        );
    }

    #[test]
    fn microseconds_have_three_figures() {
        let texts = [0.0, -1.234, 12.34, -123.4].map(micros);
        assert_eq!(texts, ["0.00", "-1.23", "12.3", "-123"]);
    }
}
