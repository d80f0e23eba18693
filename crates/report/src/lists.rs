//! Lists and numbers of things in words, and lists without repetitions.

/// `1 timeout`, `2 timeouts`.
pub(crate) fn number_of(count: u64, unit: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

/// `A, B and C`.
pub(crate) fn enumerated(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &names[..] {
        [some @ .., last] if !some.is_empty() => format!("{} and {last}", some.join(", ")),
        names => names.concat(),
    }
}

/// `and 2 more rows`; `None` for no further row.
pub(crate) fn more_rows(rows: usize) -> Option<String> {
    (rows > 0).then(|| format!("and {}", number_of(rows as u64, "more row")))
}

/// Each item at its first place only.
pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    items.into_iter().fold(Vec::new(), |mut distinct, item| {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
        distinct
    })
}
