//! Tables of test cases as texts: a row for each case, with arrows between its cells.

use std::fmt::Display;

/// The rows of a table. A line that begins with an arrow continues the row above it. Blanks around
/// cells do not count; `↵` is the end of a line within a cell. Cells are kept as long as the
/// program runs, as those of an array are.
///
/// # Panics
/// Where a row has another number of cells.
pub fn rows<const N: usize>(table: &str) -> Vec<[&'static str; N]> {
    let mut rows: Vec<String> = Vec::new();
    let lines = table.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        match rows.last_mut() {
            Some(row) if line.starts_with("=>") => row.push_str(line),
            _ => rows.push(line.to_owned()),
        }
    }
    let cells = |row: String| {
        let cells = row
            .split("=>")
            .map(|cell| &*cell.trim().replace('↵', "\n").leak());
        let cells: Result<[&str; N], _> = cells.collect::<Vec<_>>().try_into();
        cells.unwrap_or_else(|_| panic!("`{row}` does not have {N} cells"))
    };
    rows.into_iter().map(cells).collect()
}

/// Reads a text that is right, and that text with each of these defects: what is replaced in it, by
/// what, and how the error begins.
///
/// # Panics
/// Where the right text is refused, or one with a defect is taken or refused in other words.
pub fn assert_refused<T, E: Display>(
    right: &str,
    defects: &str,
    read: impl Fn(&str) -> Result<T, E>,
) {
    assert!(read(right).is_ok(), "the right text is refused");
    let mut others = Vec::new();
    for [from, to, message] in rows(defects) {
        let text = right.replacen(from, to, 1);
        assert_ne!(text, right, "{from} is not there");
        match read(&text) {
            Ok(_) => others.push(format!("{to} is taken")),
            Err(error) if error.to_string().starts_with(message) => {}
            Err(error) => others.push(format!("{to}\n  {error}\n  {message}")),
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_cells_and_may_have_several_lines() {
        let table = rows("\n  a b => c↵ d\n  e =>\n  f\n    => g\n");
        assert_eq!(table, [["a b", "c\n d"], ["e", ""], ["f", "g"]]);
    }

    #[test]
    fn what_is_taken_or_refused_in_other_words_is_listed() {
        let read = |text: &str| text.parse::<u8>();
        assert_refused("12", "1 => x => invalid digit\n12 => => cannot", read);
        let defects = "1 => 9 => invalid\n1 => 99 => invalid";
        let panic = std::panic::catch_unwind(|| assert_refused("12", defects, read));
        let message = panic.unwrap_err().downcast::<String>().unwrap();
        let expected = "9 is taken\n99\n  number too large to fit in target type\n  invalid";
        assert_eq!(*message, expected);
    }
}
