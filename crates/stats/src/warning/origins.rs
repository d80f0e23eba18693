//! Warnings about where the responses of a row came from.

use super::{Detail, Share, Warning, WarningKind};
use crate::TestSummary;
use crate::origins::ResponseOrigins;

/// The warnings about where responses came from, of the rows of several runs, by name.
pub fn origin_warnings<'r>(rows: impl Iterator<Item = &'r TestSummary>) -> Vec<Warning> {
    let mut warnings = Vec::from(warnings(rows));
    warnings.retain(|warning| !warning.shares.is_empty());
    warnings
}

/// Responses from caches, and from several addresses: without shares where there were none.
pub(crate) fn warnings<'r>(rows: impl Iterator<Item = &'r TestSummary>) -> [Warning; 2] {
    let mut all = ResponseOrigins::default();
    let mut by_name: Vec<(&String, ResponseOrigins, u64)> = Vec::new();
    for row in rows {
        all.merge(&row.origins);
        match by_name.iter_mut().find(|(name, ..)| *name == &row.name) {
            Some((_, origins, expected)) => {
                origins.merge(&row.origins);
                *expected += row.expected();
            }
            None => by_name.push((&row.name, row.origins.clone(), row.expected())),
        }
    }
    let addresses = all.addresses.iter();
    let addresses = addresses.map(|address| format!("{} {}", address.address, address.responses));
    let addresses = addresses.collect::<Vec<_>>().join(", ");
    let cached = by_name.iter().filter(|(_, origins, _)| origins.cached > 0);
    let cached = cached.map(|(name, origins, expected)| (*name, (origins.cached, *expected)));
    let others = by_name.iter();
    let others = others.filter_map(|(name, origins, _)| Some((*name, origins.other_addresses()?)));
    let warning =
        |kind, shares: Vec<Share>, text| Warning::of(kind, shares).with(Detail::Text(text));
    [
        warning(
            WarningKind::Cached,
            cached.map(Share::from).collect(),
            all.caches.join(", "),
        ),
        warning(
            WarningKind::SeveralAddresses,
            others.map(Share::from).collect(),
            addresses,
        ),
    ]
}
