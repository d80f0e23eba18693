//! Where the responses of a row came from: from a cache, and from which addresses of a server.

use record::{AddressResponses, RowOrigins};

use crate::run_events::push_new;

/// Where the expected responses of a row came from, those outside of the window among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseOrigins {
    /// Responses that a cache had, by their own headers: their times are those of the cache.
    pub cached: u64,
    /// Names of the caches.
    pub caches: Vec<String>,
    /// Responses from each address of a server with several.
    pub addresses: Vec<AddressResponses>,
}

impl ResponseOrigins {
    pub(crate) fn add(&mut self, origins: &RowOrigins) {
        self.merge(&ResponseOrigins {
            cached: origins.cached,
            caches: origins.cache.iter().cloned().collect(),
            addresses: origins.addresses.clone(),
        });
    }

    pub(crate) fn together<'a>(all: impl Iterator<Item = &'a ResponseOrigins>) -> ResponseOrigins {
        let mut together = ResponseOrigins::default();
        all.for_each(|origins| together.merge(origins));
        together
    }

    pub(crate) fn merge(&mut self, other: &ResponseOrigins) {
        self.cached += other.cached;
        for cache in &other.caches {
            push_new(&mut self.caches, cache.clone());
        }
        for of in &other.addresses {
            let is_it = |known: &&mut AddressResponses| {
                (known.target, &known.address) == (of.target, &of.address)
            };
            match self.addresses.iter_mut().find(is_it) {
                Some(known) => known.responses += of.responses,
                None => self.addresses.push(of.clone()),
            }
        }
    }

    /// Responses of the servers that responded from several addresses, and those not from the most
    /// used address of their server; `None` where each responded from one.
    pub(crate) fn other_addresses(&self) -> Option<(u64, u64)> {
        let (mut others, mut all) = (0, 0);
        let mut targets: Vec<u16> = self
            .addresses
            .iter()
            .map(|address| address.target)
            .collect();
        targets.sort_unstable();
        targets.dedup();
        for target in targets {
            let of_target = self
                .addresses
                .iter()
                .filter(|of_target| of_target.target == target);
            let counts: Vec<u64> = of_target.map(|of_target| of_target.responses).collect();
            let (sum, most) = (counts.iter().sum::<u64>(), counts.iter().max());
            let most = most.copied().unwrap_or_default();
            if most < sum {
                others += sum - most;
                all += sum;
            }
        }
        (others > 0).then_some((others, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::MeasureId;

    fn of(target: u16, address: &str, responses: u64) -> AddressResponses {
        AddressResponses {
            target,
            address: address.to_owned(),
            responses,
        }
    }

    #[test]
    fn threads_are_added_up_and_two_servers_are_no_two_addresses_of_one() {
        let thread = |addresses| RowOrigins {
            measure: MeasureId(0),
            cached: 2,
            cache: Some("varnish".to_owned()),
            addresses,
        };
        let mut all = ResponseOrigins::default();
        all.add(&thread(vec![of(0, "a", 5), of(1, "b", 7)]));
        assert_eq!(all.other_addresses(), None);
        all.add(&thread(vec![of(0, "a", 1), of(0, "b", 4)]));
        assert_eq!(all.other_addresses(), Some((4, 10)));
        assert_eq!((all.cached, &*all.caches), (4, &["varnish".to_owned()][..]));
    }
}
