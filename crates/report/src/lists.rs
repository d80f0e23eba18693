//! Lists in words, and lists without repetitions.

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
    match rows {
        0 => None,
        1 => Some("and 1 more row".to_owned()),
        rows => Some(format!("and {rows} more rows")),
    }
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
