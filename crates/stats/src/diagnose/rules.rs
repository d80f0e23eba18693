//! The rules: what each looks at, from when on it is a finding and why from there. Their words are in
//! `report::diagnose`.

mod collections;
mod connections;
mod course;
mod features;
mod inside;
mod listing;
mod load;
mod locks;
mod pairs;

use super::Finding;
use super::case::{Case, Mean, Measurement};
use super::figure::{Evidence, NamedQuantity};

/// A rule: data but for the function that looks.
#[derive(Debug)]
pub struct DiagnosisRule {
    /// Its name.
    pub name: &'static str,
    /// From when on it is a finding. What the number counts, and why it is this number, stands above it.
    pub at_least: f64,
    /// Names of the figures that a finding has, as far as they are known.
    pub figures: &'static [&'static str],
    find: Detector,
}

/// Finds what the rule is about, in the rows of a case and from a threshold on.
type Look = fn(&Case<'_>, f64) -> Option<Detection>;

#[derive(Debug, Clone, Copy)]
enum Detector {
    /// No further measurement may contradict it.
    Once(Look),
    /// It rests on so few operations that their intervals cannot show that they have a cause in common:
    /// each further measurement has to be as sure as the first, and without one it is seen once.
    EachTime(Look),
}

/// What a rule found.
#[derive(Debug, Default)]
struct Detection {
    figures: Vec<NamedQuantity>,
    evidence: Vec<Evidence>,
    tests: Vec<String>,
    run: usize,
    /// It rests on means of these rows.
    is_of_means: bool,
    /// Nanoseconds that would not have been spent.
    saved: f64,
    /// It may come and go with time or rests on few operations, and there is no second run that shows it.
    is_seen_once: bool,
}

impl DiagnosisRule {
    /// What the rule finds in the first measurement of each row. What a further one contradicts is no
    /// finding, and what rests on a few slow operations is none without a further one.
    pub(super) fn look(&self, case: &Case<'_>) -> Option<Finding> {
        let found = self.detect(case)?;
        let is_each_time = matches!(self.find, Detector::EachTime(_));
        let repeats = found.tests.iter().map(|test| case.repeated(test)).max();
        let repeats = repeats.unwrap_or(0);
        let is_tail = found.is_of_means && found.tests.iter().any(|test| case.is_tail(test));
        let needs_repeat = is_each_time || is_tail;
        let earliest = if is_each_time { 1 } else { repeats.max(1) };
        let is_seen = |further: usize| {
            let which = Measurement {
                further,
                is_exact: !needs_repeat,
            };
            self.is_seen_again(&case.again(which), &found)
        };
        if !(earliest..=repeats).all(is_seen) {
            return None;
        }
        let is_seen_once = found.is_seen_once || (needs_repeat && repeats == 0);
        Some(Finding {
            rule: self.name,
            figures: found.figures,
            evidence: found.evidence,
            tests: found.tests,
            run: found.run,
            is_seen_once,
            weight: if case.spent > 0.0 {
                (found.saved / case.spent).clamp(0.0, 1.0)
            } else {
                0.0
            },
        })
    }

    fn detect(&self, case: &Case<'_>) -> Option<Detection> {
        let (Detector::Once(look) | Detector::EachTime(look)) = self.find;
        look(case, self.at_least)
    }

    /// Whether these measurements show it of one of the same rows.
    fn is_seen_again(&self, again: &Case<'_>, found: &Detection) -> bool {
        let again = self.detect(again);
        again.is_some_and(|again| again.tests.iter().any(|test| found.tests.contains(test)))
    }
}

#[cfg(test)]
impl DiagnosisRule {
    /// The same rule with another threshold.
    pub(super) fn from(&self, at_least: f64) -> DiagnosisRule {
        DiagnosisRule { at_least, ..*self }
    }
}

impl Detection {
    /// Rests on these means; the figures come later.
    fn on(means: &[&Mean]) -> Detection {
        let mut found = Detection {
            run: means.first().map_or(0, |mean| mean.run),
            ..Detection::default()
        };
        found.add(means);
        found
    }

    /// Rests on these as well.
    fn add(&mut self, means: &[&Mean]) {
        self.is_of_means = true;
        for mean in means {
            if !self.tests.contains(&mean.row) {
                self.tests.push(mean.row.clone());
                self.evidence.push(mean.evidence());
            }
        }
    }
}

/// The rule whose finding comes before all others, because it is about what does not work.
pub(super) const FIRST: &str = "fails-under-load";

/// All rules. The order says nothing: findings come the dearest first.
pub const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "put-against-get",
        // times the work; making a file and its entry takes 3 to 6 times the work of reading
        // one on servers that do no more than that.
        at_least: 10.0,
        figures: &["slow", "quick", "floor", "ratio", "size"],
        find: Detector::Once(pairs::put_against_get),
    },
    DiagnosisRule {
        name: "buffered-get",
        // of what 1 MiB takes longer than 1 KiB passes before the first byte, 5 ms at least:
        // nothing is sent while it is read.
        at_least: 0.5,
        figures: &["more", "first_large", "first_small", "share"],
        find: Detector::Once(pairs::buffered_get),
    },
    DiagnosisRule {
        name: "proppatch-against-propfind",
        // times the work; writing a property and reading it use the same store.
        at_least: 8.0,
        figures: &["slow", "quick", "floor", "ratio"],
        find: Detector::Once(pairs::proppatch_against_propfind),
    },
    DiagnosisRule {
        name: "cost-per-property",
        // of the work with one property, for each further one, and 100 µs at least: a request
        // with ten then has five times the work of one with one.
        at_least: 0.4,
        figures: &["row", "each", "one", "share"],
        find: Detector::Once(pairs::cost_per_property),
    },
    DiagnosisRule {
        name: "copy-of-collection",
        // of the work of a single COPY, for each member, and 500 µs at least: nothing is saved
        // by one request, and a file system copies a file in less.
        at_least: 0.8,
        figures: &[
            "method", "members", "all", "each", "one", "share", "removal",
        ],
        find: Detector::Once(collections::copy),
    },
    DiagnosisRule {
        name: "move-of-collection",
        // times the work of the MOVE of a single resource, which takes as long where moving is
        // renaming.
        at_least: 5.0,
        figures: &["members", "own", "one", "ratio", "each"],
        find: Detector::Once(collections::move_),
    },
    DiagnosisRule {
        name: "delete-of-collection",
        // of the work of a single DELETE, for each member, and 500 µs at least: a file system
        // unlinks a file in less.
        at_least: 0.5,
        figures: &["method", "members", "all", "each", "one", "share"],
        find: Detector::Once(collections::delete),
    },
    DiagnosisRule {
        name: "lock-against-unlock",
        // times the work, whichever is the longer: both change one entry of one store.
        at_least: 3.0,
        figures: &[
            "slow",
            "quick",
            "floor",
            "ratio",
            "slow_method",
            "quick_method",
        ],
        find: Detector::Once(locks::lock_against_unlock),
    },
    DiagnosisRule {
        name: "lock-of-collection",
        // times the work of the LOCK of a single resource; a lock with Depth: infinity is one
        // entry, and looking for conflicting locks below it needs one search by path.
        at_least: 2.5,
        figures: &["method", "members", "whole", "single", "ratio", "each"],
        find: Detector::Once(locks::lock_of_collection),
    },
    DiagnosisRule {
        name: "locks-held",
        // times the work with the most locks held as with the fewest.
        at_least: 2.0,
        figures: &[
            "request",
            "locks",
            "with_most",
            "fewest",
            "with_fewest",
            "each",
        ],
        find: Detector::EachTime(locks::held),
    },
    DiagnosisRule {
        name: "contended-lock",
        // times the work of the LOCK of a resource of one's own, with as many users at work.
        at_least: 3.0,
        figures: &["slow", "quick", "floor", "ratio", "users"],
        find: Detector::Once(locks::contended),
    },
    DiagnosisRule {
        name: "cost-per-member",
        // µs for each member, beside what its bytes take on the network; a directory entry is
        // read and written as XML in 5 to 30 µs, and by a script in less than 100.
        at_least: 100.0,
        figures: &["listing", "each", "members", "whole"],
        find: Detector::Once(listing::per_member),
    },
    DiagnosisRule {
        name: "bytes-per-member",
        // bytes of the answer to five named properties for each member; most servers write 300
        // to 900.
        at_least: 2000.0,
        figures: &["bytes", "members", "whole"],
        find: Detector::Once(listing::bytes_per_member),
    },
    DiagnosisRule {
        name: "listing-outgrows-members",
        // times the work for each member in the largest collection as in the next one; sizes
        // that fit no cache make 1.1 to 1.3.
        at_least: 1.5,
        figures: &["members", "whole", "fewer", "whole_of_fewer", "ratio"],
        find: Detector::EachTime(listing::outgrows),
    },
    DiagnosisRule {
        name: "depth-zero-counts-members",
        // times the work for the largest collection as for the smallest, and 0.5 ms more; no
        // member is asked for.
        at_least: 2.0,
        figures: &["members", "response", "fewest", "response_of_fewest"],
        find: Detector::Once(listing::depth_zero),
    },
    DiagnosisRule {
        name: "allprop-against-named",
        // times as long for each member, and 50 µs at least; what allprop gives beyond these
        // five is a few short texts.
        at_least: 2.0,
        figures: &["each", "each_beside", "ratio"],
        find: Detector::Once(listing::allprop),
    },
    DiagnosisRule {
        name: "collections-against-files",
        // times as long for each member, and 50 µs at least; both are an entry of the
        // collection.
        at_least: 2.0,
        figures: &["each", "each_beside", "ratio"],
        find: Detector::Once(listing::collections),
    },
    DiagnosisRule {
        name: "buffered-listing",
        // of the time of the whole answer passes before its first byte, of an answer of 1 MiB
        // and after 1 s at least; most servers make smaller ones whole, and nobody notices.
        at_least: 0.9,
        figures: &["row", "bytes", "first_byte", "share"],
        find: Detector::Once(listing::buffered),
    },
    DiagnosisRule {
        name: "grows-over-the-run",
        // of the first work, by the trend through all of them, and a tenth of the first time;
        // the speed of a machine changes by less.
        at_least: 0.3,
        figures: &["rows", "row"],
        find: Detector::Once(course::grows),
    },
    DiagnosisRule {
        name: "delayed-ack",
        // of the operations take 40 ms (39 to 46) more than the quick ones of the same row,
        // and hardly any take somewhat less or more; it is the time after which Linux acknowledges
        // what it has nothing to answer to. Or nearly all take it between first and last byte of a
        // small answer.
        at_least: 0.05,
        figures: &["rows", "row"],
        find: Detector::Once(course::delayed_ack),
    },
    DiagnosisRule {
        name: "two-modes",
        // of the work would be saved if all were of the quick kind; each kind has 5 % of the
        // operations, they are mixed in time, other rows do not have the like, and the slow one
        // has half as much work again at least.
        at_least: 0.1,
        figures: &["rows", "row"],
        find: Detector::Once(course::two_modes),
    },
    DiagnosisRule {
        name: "long-tail",
        // times the work of the median, by the lower end of the interval of p99, where nothing
        // else explains it and other rows do not have the like.
        at_least: 10.0,
        figures: &["rows", "row"],
        find: Detector::Once(course::tail),
    },
    DiagnosisRule {
        name: "slow-at-intervals",
        // of the work is lost in operations of three times the work of the median and more, 70
        // % of them at equal distances.
        at_least: 0.02,
        figures: &["rows", "row"],
        find: Detector::Once(course::at_intervals),
    },
    DiagnosisRule {
        name: "cold-start",
        // times the work of the median, in half of the tests at least; the first request also
        // finds caches of the processor cold, which costs less.
        at_least: 4.0,
        figures: &["ratio", "row", "first", "median"],
        find: Detector::Once(course::cold_start),
    },
    DiagnosisRule {
        name: "fails-under-load",
        // operations, and 1 % of the row, are answered wrongly with several users, and none
        // with fewer.
        at_least: 2.0,
        figures: &[
            "users",
            "fewer_users",
            "row",
            "failed",
            "operations",
            "answer",
        ],
        find: Detector::Once(load::fails),
    },
    DiagnosisRule {
        name: "does-not-scale",
        // of the throughput with all users is reached with fewer already, while that of
        // another row grows to 2.5 times.
        at_least: 0.8,
        figures: &[
            "fewer_users",
            "users",
            "row",
            "rate_alone",
            "rate",
            "growth",
            "best_row",
            "best_growth",
        ],
        find: Detector::Once(load::does_not_scale),
    },
    DiagnosisRule {
        name: "connection-close",
        // of all operations are in rows of which nine of ten operations opened a connection,
        // 0.1 ms each at least, although the client keeps connections.
        at_least: 0.02,
        figures: &["opened", "operations", "each", "rows"],
        find: Detector::Once(connections::closed_each_time),
    },
    DiagnosisRule {
        name: "keep-alive-limit",
        // of the operations opened a connection, fewer than 50 requests for each, and 0.1 ms
        // each at least; of 100 requests and more, as servers come, a connection costs each
        // little.
        at_least: 0.02,
        figures: &[
            "opened",
            "operations",
            "share",
            "each",
            "limit",
            "same_distances",
            "distances",
        ],
        find: Detector::Once(connections::keep_alive),
    },
    DiagnosisRule {
        name: "asked-twice",
        // of the operations were answered 401 first, although the client had credentials and
        // had sent them before.
        at_least: 0.1,
        figures: &["challenged", "operations", "share"],
        find: Detector::Once(connections::asked_twice),
    },
    DiagnosisRule {
        name: "closes-silently",
        // connections, and one for each user, were closed within 0.1 s after a response
        // that did not announce it; a server that is started anew closes one for each user.
        at_least: 5.0,
        figures: &["closes", "statuses", "lost"],
        find: Detector::Once(connections::closes_silently),
    },
    DiagnosisRule {
        name: "tls-not-resumed",
        // of the TLS handshakes, of five and one for each user at the least, were full ones,
        // 0.1 ms longer than a TCP handshake, although the client would resume sessions; a server
        // that resumes them does so each time.
        at_least: 0.5,
        figures: &["full", "handshakes", "share", "tls", "tcp"],
        find: Detector::Once(connections::full_handshakes),
    },
    DiagnosisRule {
        name: "no-etag",
        // row in which a GET of a file is answered without ETag: RFC 9110 (section 8.8.3)
        // wants one wherever it can be had.
        at_least: 1.0,
        figures: &["row"],
        find: Detector::Once(features::no_etag),
    },
    DiagnosisRule {
        name: "etag-ignored",
        // row in which If-None-Match with the ETag of the response just before is answered 200
        // and not 304 (RFC 9110, section 13.1.2).
        at_least: 1.0,
        figures: &["row"],
        find: Detector::Once(features::etag_ignored),
    },
    DiagnosisRule {
        name: "uncompressed-listing",
        // of the bytes come back where the client offers gzip, of a listing of 64 KiB and
        // more; gzip leaves 1 to 10 % of a listing.
        at_least: 0.5,
        figures: &["plain", "offered", "ratio"],
        find: Detector::Once(features::uncompressed),
    },
    DiagnosisRule {
        name: "infinity-unbounded",
        // s for one request and a tree of 1,000 members at least, beside what its bytes take
        // on the network: two of them a second keep a processor busy.
        at_least: 0.5,
        figures: &["members", "whole", "bytes"],
        find: Detector::Once(features::infinity_unbounded),
    },
    DiagnosisRule {
        name: "infinity-cut-short",
        // row in which all responses are 207 without the members of members.
        at_least: 1.0,
        figures: &["row", "depth"],
        find: Detector::Once(features::infinity_cut_short),
    },
    DiagnosisRule {
        name: "infinity-declined-otherwise",
        // row in which PROPFIND with Depth: infinity, and no other, is declined otherwise than
        // by 403 with propfind-finite-depth in its body (RFC 4918, section 9.1.1).
        at_least: 1.0,
        figures: &["status"],
        find: Detector::Once(features::infinity_declined),
    },
    DiagnosisRule {
        name: "waits-for-disk",
        // of the time of an operation, while traced: where it is less, a faster disk changes little.
        at_least: 0.3,
        figures: &["row", "calls", "each", "share"],
        find: Detector::Once(inside::waits_for_disk),
    },
    DiagnosisRule {
        name: "waits-for-locks",
        // of the time of an operation of a single user, while traced: a thread that hands an operation to
        // another one waits for a small part of it.
        at_least: 0.5,
        figures: &["row", "calls", "each", "share"],
        find: Detector::Once(inside::waits_for_locks),
    },
    DiagnosisRule {
        name: "waits-for-others",
        // responses of another process for one operation; a database needs one for a query and one for a
        // transaction around it.
        at_least: 4.0,
        figures: &["row", "calls", "peer", "bytes", "share"],
        find: Detector::Once(inside::waits_for_others),
    },
    DiagnosisRule {
        name: "calls-per-member",
        // calls on the storage for each member of a collection that is listed; one stat has the properties
        // of a file.
        at_least: 2.0,
        figures: &["row", "calls", "members"],
        find: Detector::Once(inside::calls_per_member),
    },
    DiagnosisRule {
        name: "whole-file",
        // bytes of a file of the server's own that an operation reads and writes, and some of both; an entry of
        // a database needs a few pages of 4 KiB.
        at_least: 262_144.0,
        figures: &["row", "file", "read", "written"],
        find: Detector::Once(inside::whole_file),
    },
    DiagnosisRule {
        name: "moves-by-copying",
        // names that a MOVE removes while it renames none.
        at_least: 1.0,
        figures: &["row", "removed", "written"],
        find: Detector::Once(inside::moves_by_copying),
    },
    DiagnosisRule {
        name: "opens-again",
        // times that an operation opens the same file of the server's own; once to read and once to write is
        // usual.
        at_least: 4.0,
        figures: &["row", "file", "calls"],
        find: Detector::Once(inside::opens_again),
    },
];
