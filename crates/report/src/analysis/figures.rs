//! Figures of captures for people.

use trace::retransmission::{RetransmissionCounts, RetransmissionKind};
use trace::waits::ConnectionEnd;

use crate::runs::bytes;
use crate::units::human;

pub(super) const UNKNOWN: &str = "-";

pub(super) fn time(ns: i64) -> String {
    match ns {
        0 => "0 s".to_owned(),
        ns => human(ns as f64),
    }
}

pub(super) fn optional_time(ns: Option<i64>) -> String {
    ns.map_or_else(|| UNKNOWN.to_owned(), time)
}

/// `340 B`, `4.2 KiB`.
pub(super) fn size(of: u64) -> String {
    match of {
        0..1024 => format!("{of} B"),
        of => bytes(of),
    }
}

/// Bytes a second: `1.25 MB/s`.
pub(super) fn rate(per_second: Option<f64>) -> String {
    let Some(per_second) = per_second else {
        return UNKNOWN.to_owned();
    };
    let units = [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3), ("B/s", 1.0)];
    let fits = |(_, scale): &&(&str, f64)| per_second >= 0.9995 * scale;
    let (unit, scale) = units.iter().find(fits).unwrap_or(&("B/s", 1.0));
    let value = per_second / scale;
    let digits = usize::from(value < 99.95) + usize::from(value < 9.995);
    let digits = if *unit == "B/s" { 0 } else { digits };
    format!("{value:.digits$} {unit}")
}

pub(super) fn end_name(end: ConnectionEnd) -> &'static str {
    match end {
        ConnectionEnd::Client => "client",
        ConnectionEnd::Server => "server",
    }
}

/// A direction: `client to server`.
pub(super) fn from_to(sender: ConnectionEnd) -> String {
    format!("{} to {}", end_name(sender), end_name(sender.other()))
}

/// A kind behind its number: `3 fast`.
fn kind_name(kind: RetransmissionKind) -> &'static str {
    match kind {
        RetransmissionKind::Handshake => "handshake",
        RetransmissionKind::Fast => "fast",
        RetransmissionKind::Timeout => "timeout",
        RetransmissionKind::AfterTimeout => "after a timeout",
        RetransmissionKind::TailLossProbe => "tail loss probe",
        RetransmissionKind::Unexplained => "unexplained",
    }
}

/// Retransmissions of a direction by kind: `3 fast, 1 timeout (2 spurious)`; empty without any.
pub(super) fn by_kind(counts: &RetransmissionCounts) -> String {
    let kinds = RetransmissionKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| counts.of(*kind) > 0);
    let kinds: Vec<String> = kinds
        .map(|kind| format!("{} {}", counts.of(kind), kind_name(kind)))
        .collect();
    let kinds = kinds.join(", ");
    match counts.spurious() {
        0 => kinds,
        spurious => format!("{kinds} ({spurious} spurious)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_have_units_that_fit() {
        assert_eq!((size(0), size(1023)), ("0 B".into(), "1023 B".into()));
        assert_eq!(size(4300), "4.2 KiB");
        let table = [
            (0.0, "0 B/s"),
            (999.0, "999 B/s"),
            (1000.0, "1.00 kB/s"),
            (12_340.0, "12.3 kB/s"),
            (999_900.0, "1.00 MB/s"),
            (123.4e6, "123 MB/s"),
            (1.25e9, "1.25 GB/s"),
        ];
        for (per_second, expected) in table {
            assert_eq!(rate(Some(per_second)), expected);
        }
        assert_eq!(rate(None), "-");
    }
}
