//! Origins of responses: caches before the server, and its addresses; counted by row.
//!
//! A response without headers of a cache, from a server with one address, costs a look at the
//! lengths of its header names.

use std::cell::RefCell;
use std::net::SocketAddr;

use record::{AddressResponses, EventKind, MeasureId, RowOrigins};
use wire::response::{Headers, cache_name, is_cached};

/// Origins of the responses to the users of one thread.
#[derive(Default)]
pub(crate) struct OriginCounts {
    /// Counts by index of the row.
    rows: RefCell<Vec<OriginsOfRow>>,
}

#[derive(Default)]
struct OriginsOfRow {
    cached: u64,
    /// Name of the cache of the first of these responses.
    cache: Option<String>,
    /// Responses by collection of the run and address.
    addresses: Vec<(u16, SocketAddr, u64)>,
}

impl OriginCounts {
    /// Adds the response to an operation that was ok; `from` is the collection of the run and the
    /// address of its server, if that has several.
    pub(crate) fn add(&self, row: MeasureId, headers: &Headers, from: Option<(u16, SocketAddr)>) {
        let is_cached = is_cached(headers);
        if !is_cached && from.is_none() {
            return;
        }
        let mut rows = self.rows.borrow_mut();
        let index = usize::from(row.0);
        if rows.len() <= index {
            rows.resize_with(index + 1, OriginsOfRow::default);
        }
        let origins = &mut rows[index];
        if is_cached {
            origins.cached += 1;
            origins.cache.get_or_insert_with(|| cache_name(headers));
        }
        let Some((target, address)) = from else {
            return;
        };
        let mut known = origins.addresses.iter_mut();
        match known.find(|known| (known.0, known.1) == (target, address)) {
            Some((.., count)) => *count += 1,
            None => origins.addresses.push((target, address, 1)),
        }
    }

    /// The events for the record.
    pub(crate) fn end(&self) -> Vec<EventKind> {
        let rows = (0..=u16::MAX).map(MeasureId).zip(self.rows.take());
        let known = rows.filter(|(_, row)| row.cached > 0 || !row.addresses.is_empty());
        known.map(|(measure, row)| row.end(measure)).collect()
    }
}

impl OriginsOfRow {
    fn end(self, measure: MeasureId) -> EventKind {
        let addresses = self.addresses.into_iter();
        EventKind::Origins(RowOrigins {
            measure,
            cached: self.cached,
            cache: self.cache,
            addresses: addresses
                .map(|(target, address, responses)| AddressResponses {
                    target,
                    address: address.to_string(),
                    responses,
                })
                .collect(),
        })
    }
}
