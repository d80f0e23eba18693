//! Figures of a finding, as data: named quantities with their units and intervals. The sentences
//! around them are written where they are shown.

use crate::StatusReason;

/// A named quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedQuantity {
    /// Its name, `share` for example. A rule uses each name for one thing only.
    pub name: &'static str,
    /// How much it is.
    pub value: Quantity,
    /// 95 % interval, in the unit of the value, where it is an estimate that has one.
    pub interval: Option<(f64, f64)>,
    /// Operations that it comes from, where it is a mean of theirs.
    pub operations: Option<u64>,
}

/// A value with its unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// Nanoseconds.
    Time(f64),
    /// A share of 1.
    Share(f64),
    /// A factor.
    Ratio(f64),
    /// Operations, members, locks, users.
    Count(u64),
    /// Operations a second.
    Rate(f64),
    /// Bytes.
    Bytes(f64),
    /// A name, or text of a response.
    Text(String),
    /// The reason of a failure.
    Reason(StatusReason),
    /// Where in a response.
    Part(ResponsePart),
}

/// A part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponsePart {
    /// From the end of the request to the first byte.
    BeforeFirstByte,
    /// From the first byte to the last.
    Transfer,
}

/// Figures about one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Name of the row, or of the rows of one kind.
    pub row: String,
    /// The figures.
    pub figures: Vec<NamedQuantity>,
}

/// A figure without an interval.
pub(super) fn figure(name: &'static str, value: Quantity) -> NamedQuantity {
    NamedQuantity {
        name,
        value,
        interval: None,
        operations: None,
    }
}

pub(super) fn time(name: &'static str, ns: f64) -> NamedQuantity {
    figure(name, Quantity::Time(ns))
}

pub(super) fn share(name: &'static str, share: f64) -> NamedQuantity {
    figure(name, Quantity::Share(share))
}

pub(super) fn ratio(name: &'static str, ratio: f64) -> NamedQuantity {
    figure(name, Quantity::Ratio(ratio))
}

pub(super) fn count(name: &'static str, count: u64) -> NamedQuantity {
    figure(name, Quantity::Count(count))
}

pub(super) fn rate(name: &'static str, per_second: f64) -> NamedQuantity {
    figure(name, Quantity::Rate(per_second))
}

pub(super) fn bytes(name: &'static str, bytes: f64) -> NamedQuantity {
    figure(name, Quantity::Bytes(bytes))
}

pub(super) fn text(name: &'static str, text: impl Into<String>) -> NamedQuantity {
    figure(name, Quantity::Text(text.into()))
}

/// The reason of a failure, where that is known.
pub(super) fn reason(name: &'static str, reason: Option<&StatusReason>) -> NamedQuantity {
    let reason = reason.cloned().map(Quantity::Reason);
    figure(name, reason.unwrap_or(Quantity::Text(String::new())))
}
