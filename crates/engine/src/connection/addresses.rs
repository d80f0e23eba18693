//! Destinations of the connections of a run: a local socket, or the addresses of a host, and what
//! the run has learned about these.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use record::{AddressChoice, AddressConnections, EventKind, Nanos};
use suite::mixed;

use crate::connection::dial::NEXT_ADDRESS;
use crate::connection::route::Route;
use crate::watch::journal::Journal;

#[derive(Debug, Clone)]
pub(crate) enum Destination {
    Tcp(Arc<Addresses>),
    Unix(PathBuf),
}

/// The addresses of a host.
///
/// An address that did not accept a connection, or was slower than the next one by
/// [more than a moment](Self::moment), is put off for the rest of the run: connections go to it if
/// no other accepts them.
#[derive(Debug)]
pub(crate) struct Addresses {
    all: Vec<KnownAddress>,
    choice: AddressChoice,
    seed: u64,
    begun: AtomicU64,
    /// Journal that gets the report of unreachable addresses.
    journal: Arc<Journal>,
    is_reported: AtomicBool,
}

#[derive(Debug)]
struct KnownAddress {
    address: SocketAddr,
    is_put_off: AtomicBool,
    connections: AtomicU64,
    /// Time in which the last connection was opened; 0 before the first.
    opened_within: AtomicU64,
}

impl Destination {
    pub(crate) fn new(
        route: &Route,
        choice: AddressChoice,
        seed: u64,
        journal: &Arc<Journal>,
    ) -> Destination {
        match route {
            Route::Unix(path) => Destination::Unix(path.clone()),
            Route::Tcp(addresses) => Destination::Tcp(Arc::new(Addresses {
                all: addresses
                    .iter()
                    .map(|address| KnownAddress {
                        address: *address,
                        is_put_off: AtomicBool::new(false),
                        connections: AtomicU64::new(0),
                        opened_within: AtomicU64::new(0),
                    })
                    .collect(),
                choice,
                seed,
                begun: AtomicU64::new(0),
                journal: Arc::clone(journal),
                is_reported: AtomicBool::new(false),
            })),
        }
    }

    pub(crate) fn has_several(&self) -> bool {
        matches!(self, Destination::Tcp(addresses) if addresses.all.len() > 1)
    }

    /// The addresses that connections were opened to; empty if the only one is the host of the URL.
    pub(crate) fn used(&self, host: &str) -> Vec<AddressConnections> {
        let Destination::Tcp(addresses) = self else {
            return Vec::new();
        };
        let connections = |known: &KnownAddress| known.connections.load(Ordering::Relaxed);
        let used = addresses.all.iter().filter(|known| connections(known) > 0);
        let used: Vec<&KnownAddress> = used.collect();
        if used
            .iter()
            .all(|known| known.address.ip().to_string() == host)
        {
            return Vec::new();
        }
        let used = used.into_iter().map(|known| AddressConnections {
            address: known.address.to_string(),
            connections: connections(known),
        });
        used.collect()
    }
}

impl Addresses {
    /// The indices of all addresses, in the order in which the next connection tries them.
    pub(crate) fn order(&self) -> Vec<usize> {
        let count = self.all.len();
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let is_sound = |index: &usize| !self.all[*index].is_put_off.load(Ordering::Relaxed);
        // Addresses that are put off stay behind the others.
        let (mut order, put_off): (Vec<usize>, Vec<usize>) = (0..count).partition(is_sound);
        let rotated = if order.is_empty() { count } else { order.len() };
        order.extend(put_off);
        let first = match self.choice {
            AddressChoice::First => 0,
            AddressChoice::RoundRobin => number,
            // Consecutive numbers give indices that look random.
            AddressChoice::Random => mixed(self.seed ^ mixed(number)),
        };
        if rotated > 1 {
            order[..rotated].rotate_left((first % rotated as u64) as usize);
        }
        order
    }

    pub(crate) fn address(&self, index: usize) -> SocketAddr {
        self.all[index].address
    }

    /// How long to wait for this address before the next one is tried: the usual time, or twice
    /// that of the last connection, so that a distant address is not tried twice with each.
    pub(crate) fn moment(&self, index: usize) -> Duration {
        let last = self.all[index].opened_within.load(Ordering::Relaxed);
        NEXT_ADDRESS.max(Duration::from_nanos(last) * 2)
    }

    /// Notes that a connection was opened to this address within that time.
    pub(crate) fn accepted(&self, index: usize, within: Nanos) {
        let address = &self.all[index];
        address.is_put_off.store(false, Ordering::Relaxed);
        address.opened_within.store(within, Ordering::Relaxed);
        address.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Puts off an address: it refused a connection, or another one accepted one before it.
    pub(crate) fn put_off(&self, index: usize) {
        self.all[index].is_put_off.store(true, Ordering::Relaxed);
    }

    /// Reports, once in a run, that no address responds.
    pub(crate) fn report_once(&self, text: impl FnOnce() -> String) {
        if !self.is_reported.swap(true, Ordering::Relaxed) {
            self.journal.write(EventKind::Warning { text: text() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RunClock;
    use crate::watch::progress::Silent;

    fn addresses(choice: AddressChoice) -> Arc<Addresses> {
        let route = Route::Tcp((1..4).map(|port| ([127, 0, 0, 1], port).into()).collect());
        let journal = Arc::new(Journal::new(RunClock::start(), Arc::new(Silent), 0));
        match Destination::new(&route, choice, 7, &journal) {
            Destination::Tcp(addresses) => addresses,
            Destination::Unix(_) => unreachable!("it is a route by TCP"),
        }
    }

    #[test]
    fn the_first_address_is_kept_until_it_is_put_off() {
        let host = addresses(AddressChoice::First);
        assert_eq!((host.order(), host.order()), (vec![0, 1, 2], vec![0, 1, 2]));
        host.put_off(0);
        assert_eq!(host.order(), [1, 2, 0]);
        host.put_off(1);
        host.put_off(2);
        assert_eq!(host.order(), [0, 1, 2]);
        host.accepted(1, 1);
        assert_eq!(host.order(), [1, 0, 2]);
    }

    #[test]
    fn an_address_has_twice_the_time_of_its_last_connection() {
        let host = addresses(AddressChoice::First);
        assert_eq!(host.moment(0), NEXT_ADDRESS);
        host.accepted(0, 100_000_000);
        assert_eq!(host.moment(0), NEXT_ADDRESS);
        host.accepted(0, 300_000_000);
        assert_eq!(host.moment(0), Duration::from_millis(600));
        assert_eq!(host.moment(1), NEXT_ADDRESS);
    }

    #[test]
    fn other_choices_spread_connections_over_sound_addresses() {
        let host = addresses(AddressChoice::RoundRobin);
        host.put_off(1);
        let firsts: Vec<usize> = (0..4).map(|_| host.order()[0]).collect();
        assert_eq!(firsts, [0, 2, 0, 2]);
        let host = addresses(AddressChoice::Random);
        let mut counts = [0; 3];
        (0..3000).for_each(|_| counts[host.order()[0]] += 1);
        let is_even = counts.iter().all(|count| (900..1100).contains(count));
        assert!(is_even, "{counts:?}");
    }
}
