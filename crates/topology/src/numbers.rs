//! Numbers as people read them.

/// A time with its unit.
pub(crate) fn time_text(nanos: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs")];
    let unit = units.iter().find(|(factor, _)| nanos >= *factor);
    let (factor, unit) = unit.copied().unwrap_or((1, "ns"));
    format!("{} {unit}", significant(nanos as f64 / factor as f64))
}

/// A number with four digits at most, without zeros at its end.
pub(crate) fn significant(number: f64) -> String {
    let digits = match number {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        _ => 3,
    };
    let text = format!("{number:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
