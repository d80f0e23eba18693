//! The rules: what each looks at, from when on it is a finding and why from there, and what to look at.

mod collections;
mod connections;
mod course;
mod listing;
mod locks;
mod pairs;

use super::Finding;
use super::case::{Case, Mean};
use crate::units::factor;

/// A rule: data but for the function that looks.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// The finding in a few words.
    pub title: &'static str,
    /// From when on it is a finding; what the number counts stands in `because`.
    pub at_least: f64,
    /// What the threshold counts, and why it is there.
    pub because: &'static str,
    /// Where in a server to look for the cause.
    pub look_at: &'static str,
    find: fn(&Case<'_>, f64) -> Option<Found>,
}

/// What a rule found.
#[derive(Debug, Default)]
struct Found {
    text: String,
    evidence: Vec<String>,
    tests: Vec<String>,
    run: usize,
    /// Nanoseconds that would not have been spent.
    saved: f64,
}

impl Rule {
    pub(super) fn look(&self, case: &Case<'_>) -> Option<Finding> {
        let found = (self.find)(case, self.at_least)?;
        Some(Finding {
            rule: self.name,
            title: self.title,
            text: found.text,
            evidence: found.evidence,
            look_at: self.look_at,
            tests: found.tests,
            run: found.run,
            weight: match case.spent > 0.0 {
                true => (found.saved / case.spent).clamp(0.0, 1.0),
                false => 0.0,
            },
        })
    }
}

#[cfg(test)]
impl Rule {
    /// The same rule with another threshold.
    pub(super) fn from(&self, at_least: f64) -> Rule {
        Rule { at_least, ..*self }
    }
}

impl Found {
    /// Rests on these means; the words come later.
    fn on(means: &[&Mean]) -> Found {
        let mut found = Found {
            run: means.first().map_or(0, |mean| mean.run),
            ..Found::default()
        };
        found.add(means);
        found
    }

    /// Rests on these as well.
    fn add(&mut self, means: &[&Mean]) {
        let told: Vec<String> = means.iter().map(|mean| mean.told()).collect();
        self.evidence.push(told.join(", "));
        for mean in means {
            if !self.tests.contains(&mean.row) {
                self.tests.push(mean.row.clone());
            }
        }
    }
}

/// `3.4 times`, `26 times`.
fn times(ratio: f64) -> String {
    format!("{} times", factor(ratio))
}

/// `12 %`, `0.4 %`.
fn percent(share: f64) -> String {
    let digits = usize::from(share < 0.0995);
    format!("{:.digits$} %", share * 100.0)
}

/// All rules. The order says nothing: findings come the dearest first.
pub const RULES: &[Rule] = &[
    Rule {
        name: "put-against-get",
        title: "PUT is much slower than GET of the same size",
        at_least: 10.0,
        because: "times as long; making a file and its entry takes 3 to 6 times the time of reading \
                  one on servers that do no more than that",
        look_at: "what a PUT does beside writing: fsync of each file or of its directory, a \
                  temporary file and a rename, a database of properties or of versions, hashes, \
                  a search index, a virus scanner",
        find: pairs::put_against_get,
    },
    Rule {
        name: "proppatch-against-propfind",
        title: "PROPPATCH is much slower than PROPFIND of the same property",
        at_least: 8.0,
        because: "times as long; writing a property and reading it ask the same store",
        look_at: "the store of dead properties: a file or a table opened, locked, written whole or \
                  flushed to disk for each request",
        find: pairs::proppatch_against_propfind,
    },
    Rule {
        name: "cost-per-property",
        title: "Each property costs about as much as a request",
        at_least: 0.4,
        because: "of the time with one property, for each further one: a request with ten then takes \
                  five times as long as one with one",
        look_at: "one query, one statement or one file for each property: read and write all \
                  properties of a resource at once, in one transaction",
        find: pairs::cost_per_property,
    },
    Rule {
        name: "copy-of-collection",
        title: "COPY of a collection costs as much for each member as a COPY of its own",
        at_least: 0.8,
        because: "of the time of a single COPY, for each member, and 50 us at least: nothing is saved \
                  by asking once",
        look_at: "a transaction, a flush, a check of rights and locks for each member: do these once \
                  for the whole collection",
        find: collections::copy,
    },
    Rule {
        name: "move-of-collection",
        title: "MOVE of a collection takes many times that of a single resource",
        at_least: 5.0,
        because: "times the MOVE of a single resource, which where moving is renaming takes as long",
        look_at: "copying and deleting instead of renaming; walking all members for locks, \
                  properties or paths that are stored with each",
        find: collections::move_,
    },
    Rule {
        name: "delete-of-collection",
        title: "DELETE of a collection costs about as much for each member as a DELETE of its own",
        at_least: 0.5,
        because: "of the time of a single DELETE, for each member, and 50 us at least",
        look_at: "a transaction, a flush or a check of locks for each member; a database that lacks \
                  an index on the parent",
        find: collections::delete,
    },
    Rule {
        name: "lock-against-unlock",
        title: "LOCK and UNLOCK take very different times",
        at_least: 3.0,
        because: "times as long, whichever is the longer: both change one entry of one store",
        look_at: "the store of locks: how it is searched for conflicts, and whether it is written \
                  whole or flushed",
        find: locks::lock_against_unlock,
    },
    Rule {
        name: "lock-of-collection",
        title: "LOCK of a collection takes several times that of a single resource",
        at_least: 2.5,
        because: "times the LOCK of a single resource; a lock with Depth: infinity is one entry, and \
                  looking for conflicting locks below it needs one search by path",
        look_at: "walking all members to look for locks, or storing the lock with each of them: \
                  search the locks by the prefix of the path instead",
        find: locks::lock_of_collection,
    },
    Rule {
        name: "locks-held",
        title: "Requests get slower with every lock that is held elsewhere",
        at_least: 2.0,
        because: "times as long with the most locks held as with the fewest",
        look_at: "a search through all locks, or a lock file read and written whole: find locks by \
                  the path and its parents, and by the token",
        find: locks::held,
    },
    Rule {
        name: "contended-lock",
        title: "LOCK takes long where several users want it",
        at_least: 3.0,
        because: "times the LOCK of a resource of one's own, with as many users at work",
        look_at: "what is held while a lock is granted or declined: a mutex or a database lock \
                  around the whole request; a server that waits instead of answering 423",
        find: locks::contended,
    },
    Rule {
        name: "cost-per-member",
        title: "A listing looks its members up one by one",
        at_least: 0.25,
        because: "of the time of PROPFIND with Depth: 0, for each member, and 50 us at least; where \
                  members are read at once, each costs a fraction of a request",
        look_at: "N+1 queries: properties, locks, rights or sizes asked for member by member; read \
                  them for the whole collection at once, and only those that were asked for",
        find: listing::per_member,
    },
    Rule {
        name: "listing-outgrows-members",
        title: "A listing grows faster than its members",
        at_least: 1.5,
        because: "times as long for each member in the largest collection as in the next one; sizes \
                  that fit no cache make 1.1 to 1.3",
        look_at: "a search through all members for each of them; texts put together by copying; \
                  memory that swaps or is collected while the answer is made",
        find: listing::outgrows,
    },
    Rule {
        name: "depth-zero-counts-members",
        title: "PROPFIND with Depth: 0 grows with the members of the collection",
        at_least: 2.0,
        because: "times as long for the largest collection as for the smallest; no member is asked \
                  for",
        look_at: "size, ETag or date of a collection made from all its members; a directory read \
                  although only its entry is asked for",
        find: listing::depth_zero,
    },
    Rule {
        name: "allprop-against-named",
        title: "allprop costs much more for each member than five named properties",
        at_least: 2.0,
        because: "times as long for each member, and 50 us at least; what allprop gives beyond these \
                  five is a few short texts",
        look_at: "live properties that are dear to make (lockdiscovery, quota, hashes): RFC 4918 \
                  (section 9.1) lets allprop leave out what it does not define itself; dead \
                  properties read member by member",
        find: listing::allprop,
    },
    Rule {
        name: "collections-against-files",
        title: "Sub-collections cost much more in a listing than files",
        at_least: 2.0,
        because: "times as long for each member, and 50 us at least; both are an entry of the \
                  collection",
        look_at: "opening each sub-collection: to count its members, for its size, ETag, rights or \
                  locks",
        find: listing::collections,
    },
    Rule {
        name: "buffered-listing",
        title: "A large listing comes all at once",
        at_least: 0.9,
        because: "of the time of the whole answer passes before its first byte, of 64 KiB and 20 ms \
                  at least",
        look_at: "an answer that is made whole before it is sent: it costs memory with each user who \
                  asks, and clients wait; send it in chunks while it is made",
        find: listing::buffered,
    },
    Rule {
        name: "grows-over-the-run",
        title: "Response times grow over the run",
        at_least: 0.3,
        because: "of the first time, by the trend through all of them; the speed of a machine moves \
                  by less",
        look_at: "what becomes more with each request: a log, a journal, a table or a list that is \
                  searched, memory that is never given back, files that are never removed",
        find: course::grows,
    },
    Rule {
        name: "delayed-ack",
        title: "Answers take 40 ms more: Nagle and delayed acknowledgements",
        at_least: 0.05,
        because: "of the operations take 40 ms (39 to 46), and hardly any take somewhat less or more; \
                  it is the time after which Linux acknowledges what it has nothing to answer to. \
                  Others of the row are quick, or rows of three methods take the same",
        look_at: "an answer sent in several writes, on a socket without TCP_NODELAY: the last part \
                  waits for an acknowledgement of the first. Set TCP_NODELAY, or send head and body \
                  in one write",
        find: course::delayed_ack,
    },
    Rule {
        name: "two-modes",
        title: "There are two kinds of answers: quick ones and slow ones",
        at_least: 0.1,
        because: "of the time would be saved if all were of the quick kind; each kind has 5 % of the \
                  operations, and the slow one takes half as long again at least",
        look_at: "what the slow ones have in common: a resource, where a round asks for several; a cache that misses, a flush, a worker or a \
                  process that is started, a queue behind another request. X-Prestan numbers the \
                  requests, for the server's log",
        find: course::two_modes,
    },
    Rule {
        name: "slow-at-intervals",
        title: "Slow answers come at regular intervals",
        at_least: 0.02,
        because: "of the time is lost in operations of three times the median and more, 70 % of them \
                  at equal distances",
        look_at: "what happens by the clock or by a counter: flushing to disk, a checkpoint, garbage \
                  collection, log rotation, recycling of worker processes",
        find: course::at_intervals,
    },
    Rule {
        name: "cold-start",
        title: "First requests are much slower than the rest",
        at_least: 4.0,
        because: "times the median of the rest, in half of the tests at least; the first request \
                  also finds caches of the processor cold, which costs less",
        look_at: "what is loaded, compiled, opened or looked up at the first use: connections to a \
                  database, code made at run time, workers started on demand",
        find: course::cold_start,
    },
    Rule {
        name: "keep-alive-limit",
        title: "Connections are ended after few requests",
        at_least: 0.005,
        because: "of the operations opened a connection, fewer than 200 requests for each, and 0.1 ms \
                  each at least",
        look_at: "the limit of requests on a connection (MaxKeepAliveRequests, keepalive_requests), \
                  its time limit, `Connection: close` in answers: each connection costs round trips, \
                  and more with TLS",
        find: connections::keep_alive,
    },
    Rule {
        name: "asked-twice",
        title: "Requests are asked twice: a 401 comes before the answer",
        at_least: 0.1,
        because: "of the operations were answered 401 first, although the client had credentials and \
                  had sent them before",
        look_at: "Digest nonces that hold for one request or a short time: let them live longer, or \
                  give the next one in Authentication-Info (RFC 7616, section 3.5)",
        find: connections::asked_twice,
    },
];
