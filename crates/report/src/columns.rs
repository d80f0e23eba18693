//! Tables for terminals: cells in columns.

/// The lines of a table whose first line is `headers`. The columns of `texts` are aligned to the
/// left, all others, which are numbers, to the right.
pub(crate) fn columns(headers: &[String], rows: &[Vec<String>], texts: &[usize]) -> Vec<String> {
    let all = || std::iter::once(headers).chain(rows.iter().map(Vec::as_slice));
    let widths: Vec<usize> = (0..headers.len())
        .map(|column| {
            let cells = all().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (cell, width))| match texts.contains(&column) {
            true => format!("{cell:width$}"),
            false => format!("{cell:>width$}"),
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    all().map(line).collect()
}
