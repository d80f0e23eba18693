//! The rules: what each looks at, from when on it is a finding and why from there, and what to look at.

mod again;
mod collections;
mod connections;
mod course;
mod features;
mod listing;
mod load;
mod locks;
mod pairs;

use super::Finding;
use super::case::{Case, Mean, Which};
use super::figure::{Evidence, Figure};

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
    /// Names of the figures that a finding has, as far as they are known.
    pub figures: &'static [&'static str],
    find: fn(&Case<'_>, f64) -> Option<Found>,
}

/// What a rule found.
#[derive(Debug, Default)]
struct Found {
    figures: Vec<Figure>,
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

impl Rule {
    /// What the rule finds in the first measurement of each row. What a further one contradicts is no
    /// finding, and what rests on a few slow operations is none without a further one.
    pub(super) fn look(&self, case: &Case<'_>) -> Option<Finding> {
        let found = (self.find)(case, self.at_least)?;
        let is_repeated = found.tests.iter().any(|test| case.is_repeated(test));
        let is_tail = found.is_of_means && found.tests.iter().any(|test| case.is_tail(test));
        let which = match is_tail {
            true => Which::Last,
            false => Which::LastMeans,
        };
        if is_repeated && !self.is_seen_again(&case.again(which), &found) {
            return None;
        }
        let is_seen_once = found.is_seen_once || (is_tail && !is_repeated);
        Some(Finding {
            rule: self.name,
            title: self.title,
            figures: found.figures,
            evidence: found.evidence,
            look_at: self.look_at,
            tests: found.tests,
            run: found.run,
            is_seen_once,
            weight: match case.spent > 0.0 {
                true => (found.saved / case.spent).clamp(0.0, 1.0),
                false => 0.0,
            },
        })
    }

    /// Whether these measurements show it of one of the same rows.
    fn is_seen_again(&self, again: &Case<'_>, found: &Found) -> bool {
        let again = (self.find)(again, self.at_least);
        again.is_some_and(|again| again.tests.iter().any(|test| found.tests.contains(test)))
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
    /// Rests on these means; the figures come later.
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
pub const RULES: &[Rule] = &[
    Rule {
        name: "put-against-get",
        title: "PUT is much slower than GET of the same size",
        at_least: 10.0,
        because: "times the work; making a file and its entry takes 3 to 6 times the work of reading \
                  one on servers that do no more than that",
        look_at: "what a PUT does beside writing: fsync of each file or of its directory, a \
                  temporary file and a rename, a database of properties or of versions, hashes, \
                  a search index, a virus scanner",
        figures: &["slow", "quick", "floor", "ratio", "size"],
        find: pairs::put_against_get,
    },
    Rule {
        name: "buffered-get",
        title: "The first byte of a large resource comes late",
        at_least: 0.5,
        because: "of what 1 MiB takes longer than 1 KiB passes before the first byte, 5 ms at least: \
                  nothing is sent while it is read",
        look_at: "a resource that is read whole (from a disk, another server or an object store) \
                  before it is sent: it takes memory for each request; a proxy that buffers answers",
        figures: &["more", "first_large", "first_small", "share"],
        find: pairs::buffered_get,
    },
    Rule {
        name: "proppatch-against-propfind",
        title: "PROPPATCH is much slower than PROPFIND of the same property",
        at_least: 8.0,
        because: "times the work; writing a property and reading it use the same store",
        look_at: "the store of dead properties: a file or a table opened, locked, written whole or \
                  flushed to disk for each request",
        figures: &["slow", "quick", "floor", "ratio"],
        find: pairs::proppatch_against_propfind,
    },
    Rule {
        name: "cost-per-property",
        title: "Each property costs about as much as a request",
        at_least: 0.4,
        because: "of the work with one property, for each further one, and 100 µs at least: a \
                  request with ten then has five times the work of one with one",
        look_at: "one query, one statement or one file for each property: read and write all \
                  properties of a resource at once, in one transaction",
        figures: &["row", "each", "one", "share"],
        find: pairs::cost_per_property,
    },
    Rule {
        name: "copy-of-collection",
        title: "COPY of a collection costs as much for each member as a COPY of its own",
        at_least: 0.8,
        because: "of the work of a single COPY, for each member, and 500 µs at least: nothing is \
                  saved by one request, and a file system copies a file in less",
        look_at: "a transaction, a flush, a check of rights and locks for each member: do these once \
                  for the whole collection",
        figures: &[
            "method", "members", "all", "each", "one", "share", "removal",
        ],
        find: collections::copy,
    },
    Rule {
        name: "move-of-collection",
        title: "MOVE of a collection takes many times that of a single resource",
        at_least: 5.0,
        because: "times the work of the MOVE of a single resource, which takes as long where moving \
                  is renaming",
        look_at: "copying and deleting instead of renaming; walking all members for locks, \
                  properties or paths that are stored with each",
        figures: &["members", "own", "one", "ratio", "each"],
        find: collections::move_,
    },
    Rule {
        name: "delete-of-collection",
        title: "DELETE of a collection costs about as much for each member as a DELETE of its own",
        at_least: 0.5,
        because: "of the work of a single DELETE, for each member, and 500 µs at least: a file \
                  system unlinks a file in less",
        look_at: "a transaction, a flush or a check of locks for each member; a database that lacks \
                  an index on the parent",
        figures: &["method", "members", "all", "each", "one", "share"],
        find: collections::delete,
    },
    Rule {
        name: "lock-against-unlock",
        title: "LOCK and UNLOCK take very different times",
        at_least: 3.0,
        because: "times the work, whichever is the longer: both change one entry of one store",
        look_at: "the store of locks: how it is searched for conflicts, and whether it is written \
                  whole or flushed",
        figures: &[
            "slow",
            "quick",
            "floor",
            "ratio",
            "slow_method",
            "quick_method",
        ],
        find: locks::lock_against_unlock,
    },
    Rule {
        name: "lock-of-collection",
        title: "LOCK of a collection takes several times that of a single resource",
        at_least: 2.5,
        because: "times the work of the LOCK of a single resource; a lock with Depth: infinity is one \
                  entry, and looking for conflicting locks below it needs one search by path",
        look_at: "walking all members to look for locks, or storing the lock with each of them: \
                  search the locks by the prefix of the path instead",
        figures: &["method", "members", "whole", "single", "ratio", "each"],
        find: locks::lock_of_collection,
    },
    Rule {
        name: "locks-held",
        title: "Requests get slower with every lock that is held elsewhere",
        at_least: 2.0,
        because: "times the work with the most locks held as with the fewest",
        look_at: "a search through all locks, or a lock file read and written whole: find locks by \
                  the path and its parents, and by the token",
        figures: &[
            "request",
            "locks",
            "with_most",
            "fewest",
            "with_fewest",
            "each",
        ],
        find: locks::held,
    },
    Rule {
        name: "contended-lock",
        title: "LOCK takes long where several users want it",
        at_least: 3.0,
        because: "times the work of the LOCK of a resource of one's own, with as many users at work",
        look_at: "what is held while a lock is granted or declined: a mutex or a database lock \
                  around the whole request; a server that waits instead of answering 423",
        figures: &["slow", "quick", "floor", "ratio", "users"],
        find: locks::contended,
    },
    Rule {
        name: "cost-per-member",
        title: "Each member of a listing costs much",
        at_least: 100.0,
        because: "µs for each member, beside what its bytes take on the network; a directory entry \
                  is read and written as XML in 5 to 30 µs, and by a script in less than 100",
        look_at: "N+1 queries: properties, locks, rights or sizes asked for member by member; read \
                  them for the whole collection at once, and only those that were asked for",
        figures: &["listing", "each", "members", "whole"],
        find: listing::per_member,
    },
    Rule {
        name: "bytes-per-member",
        title: "Each member of a listing takes many bytes",
        at_least: 2000.0,
        because: "bytes of the answer to five named properties for each member; most servers write 300 \
                  to 900",
        look_at: "properties that nobody asked for, name spaces declared with each property, white \
                  space; compression, where clients offer it",
        figures: &["bytes", "members", "whole"],
        find: listing::bytes_per_member,
    },
    Rule {
        name: "listing-outgrows-members",
        title: "A listing grows faster than its members",
        at_least: 1.5,
        because: "times the work for each member in the largest collection as in the next one; \
                  sizes that fit no cache make 1.1 to 1.3",
        look_at: "a search through all members for each of them; texts put together by copying; \
                  memory that swaps or is collected while the answer is made",
        figures: &["members", "whole", "fewer", "whole_of_fewer", "ratio"],
        find: listing::outgrows,
    },
    Rule {
        name: "depth-zero-counts-members",
        title: "PROPFIND with Depth: 0 grows with the members of the collection",
        at_least: 2.0,
        because: "times the work for the largest collection as for the smallest, and 0.5 ms more; no \
                  member is asked for",
        look_at: "size, ETag or date of a collection made from all its members; a directory read \
                  although only its entry is asked for",
        figures: &["members", "response", "fewest", "response_of_fewest"],
        find: listing::depth_zero,
    },
    Rule {
        name: "allprop-against-named",
        title: "allprop costs much more for each member than five named properties",
        at_least: 2.0,
        because: "times as long for each member, and 50 µs at least; what allprop gives beyond these \
                  five is a few short texts",
        look_at: "live properties that are dear to make (lockdiscovery, quota, hashes): RFC 4918 \
                  (section 9.1) lets allprop leave out what it does not define itself; dead \
                  properties read member by member",
        figures: &["each", "each_beside", "ratio"],
        find: listing::allprop,
    },
    Rule {
        name: "collections-against-files",
        title: "Sub-collections cost much more in a listing than files",
        at_least: 2.0,
        because: "times as long for each member, and 50 µs at least; both are an entry of the \
                  collection",
        look_at: "opening each sub-collection: to count its members, for its size, ETag, rights or \
                  locks",
        figures: &["each", "each_beside", "ratio"],
        find: listing::collections,
    },
    Rule {
        name: "buffered-listing",
        title: "A large listing sends nothing for a long time",
        at_least: 0.9,
        because: "of the time of the whole answer passes before its first byte, of an answer of 1 MiB \
                  and after 1 s at least; most servers make smaller ones whole, and nobody notices",
        look_at: "an answer that is made whole before it is sent: it takes memory for each request, \
                  and clients may give up; send it in chunks while it is made",
        figures: &["row", "bytes", "first_byte", "share"],
        find: listing::buffered,
    },
    Rule {
        name: "grows-over-the-run",
        title: "Response times grow over the run",
        at_least: 0.3,
        because: "of the first work, by the trend through all of them, and a tenth of the first time; \
                  the speed of a machine changes by less",
        look_at: "what becomes more with each request: a log, a journal, a table or a list that is \
                  searched, memory that is never given back, files that are never removed",
        figures: &["rows", "row"],
        find: course::grows,
    },
    Rule {
        name: "delayed-ack",
        title: "Answers take 40 ms more: Nagle and delayed acknowledgements",
        at_least: 0.05,
        because: "of the operations take 40 ms (39 to 46) more than the quick ones of the same row, and \
                  hardly any take somewhat less or more; it is the time after which Linux \
                  acknowledges what it has nothing to answer to. Or nearly all take it between first \
                  and last byte of a small answer",
        look_at: "an answer sent in several writes, on a socket without TCP_NODELAY: the last part \
                  waits for an acknowledgement of the first. Set TCP_NODELAY, or send head and body \
                  in one write",
        figures: &["rows", "row"],
        find: course::delayed_ack,
    },
    Rule {
        name: "two-modes",
        title: "There are two kinds of answers: quick ones and slow ones",
        at_least: 0.1,
        because: "of the work would be saved if all were of the quick kind; each kind has 5 % of the \
                  operations, they are mixed in time, other rows do not have the like, and the slow one \
                  has half as much work again at least",
        look_at: "what the slow ones have in common: a resource, where a round asks for several; a \
                  cache that misses, a flush, a worker or a process that is started, a queue behind \
                  another request. X-Prestan numbers the requests, for the server's log",
        figures: &["rows", "row"],
        find: course::two_modes,
    },
    Rule {
        name: "long-tail",
        title: "A few requests take many times the median",
        at_least: 10.0,
        because: "times the work of the median, by the lower end of the interval of p99, where nothing \
                  else explains it and other rows do not have the like",
        look_at: "what a few requests wait for: a lock or a queue behind a large request, a pool that \
                  is used up, a flush, garbage collection. X-Prestan numbers the requests, for the \
                  server's log",
        figures: &["rows", "row"],
        find: course::tail,
    },
    Rule {
        name: "slow-at-intervals",
        title: "Slow answers come at regular intervals",
        at_least: 0.02,
        because: "of the work is lost in operations of three times the work of the median and more, \
                  70 % of them at equal distances",
        look_at: "what happens by the clock or by a counter: flushing to disk, a checkpoint, garbage \
                  collection, log rotation, recycling of worker processes",
        figures: &["rows", "row"],
        find: course::at_intervals,
    },
    Rule {
        name: "cold-start",
        title: "First requests are much slower than the rest",
        at_least: 4.0,
        because: "times the work of the median, in half of the tests at least; the first request \
                  also finds caches of the processor cold, which costs less",
        look_at: "what is loaded, compiled, opened or looked up at the first use: connections to a \
                  database, code made at run time, workers started on demand",
        figures: &["ratio", "row", "first", "median"],
        find: course::cold_start,
    },
    Rule {
        name: "fails-under-load",
        title: "Requests fail when several users are at work",
        at_least: 2.0,
        because: "operations, and 1 % of the row, are answered wrongly with several users, and none \
                  with fewer",
        look_at: "what two requests at the same time do to one another: a lock or property database \
                  without locking, a file that is read, changed and written, names of temporary \
                  files. The answer and the server's error log say more",
        figures: &[
            "users",
            "fewer_users",
            "row",
            "failed",
            "operations",
            "answer",
        ],
        find: load::fails,
    },
    Rule {
        name: "does-not-scale",
        title: "More users get no more done",
        at_least: 0.8,
        because: "of the throughput with all users is reached with fewer already, while that of another \
                  row grows to 2.5 times",
        look_at: "a lock around all requests of this kind, one process or connection for all of them, \
                  a flush to disk that each waits for alone",
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
        find: load::does_not_scale,
    },
    Rule {
        name: "connection-close",
        title: "The connection is closed after each answer",
        at_least: 0.02,
        because: "of all operations are in rows of which nine of ten operations opened a connection, \
                  0.1 ms each at least, although the client keeps connections",
        look_at: "`Connection: close` in answers, keep-alive that is switched off, an answer without \
                  a length, or one (204, say) after which the server closes without saying so",
        figures: &["opened", "operations", "each", "rows"],
        find: connections::closed_each_time,
    },
    Rule {
        name: "keep-alive-limit",
        title: "Connections are ended after few requests",
        at_least: 0.02,
        because: "of the operations opened a connection, fewer than 50 requests for each, and 0.1 ms \
                  each at least; of 100 requests and more, as servers come, a connection costs each \
                  little",
        look_at: "the limit of requests on a connection (MaxKeepAliveRequests, keepalive_requests), \
                  its time limit: each connection costs round trips, and more with TLS",
        figures: &[
            "opened",
            "operations",
            "share",
            "each",
            "limit",
            "same_distances",
            "distances",
        ],
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
        figures: &["challenged", "operations", "share"],
        find: connections::asked_twice,
    },
    Rule {
        name: "closes-silently",
        title: "Kept connections are closed without notice",
        at_least: 5.0,
        because: "connections, and one for each user, were closed within a second after a response \
                  that did not announce it; a server that is started anew closes one for each user",
        look_at: "keep-alive after responses without a body (204, 304): what is kept after 200 can be \
                  kept after these; a proxy, a time limit below a second, a worker that ends after \
                  some requests: the last response has to say `Connection: close` (RFC 9112, section \
                  9.6), because a request that is sent meanwhile is lost",
        figures: &["closes", "statuses", "lost"],
        find: connections::closes_silently,
    },
    Rule {
        name: "tls-not-resumed",
        title: "TLS sessions are not resumed",
        at_least: 0.5,
        because: "of the TLS handshakes, of five and one for each user at the least, were full ones, 0.1 ms \
                  longer than a TCP handshake, although the client would resume sessions; a server \
                  that resumes them does so each time",
        look_at: "session tickets or a cache of sessions: switched off, or one for each process or each \
                  machine behind a load balancer (SSLSessionCache, SSLSessionTickets, \
                  ssl_session_cache, ssl_session_ticket_key)",
        figures: &["full", "handshakes", "share", "tls", "tcp"],
        find: connections::full_handshakes,
    },
    Rule {
        name: "no-etag",
        title: "Files have no ETag",
        at_least: 1.0,
        because: "row in which a GET of a file is answered without ETag: RFC 9110 (section 8.8.3) wants \
                  one wherever it can be had",
        look_at: "an ETag from time of change, size or version",
        figures: &["row"],
        find: features::no_etag,
    },
    Rule {
        name: "etag-ignored",
        title: "Files that have not changed are sent again",
        at_least: 1.0,
        because: "row in which If-None-Match with the ETag of the response just before is answered 200 \
                  and not 304 (RFC 9110, section 13.1.2)",
        look_at: "If-None-Match, which is compared weakly (W/ does not matter); an ETag that is \
                  another one each time; a proxy or a module that changes it (-gzip at its end)",
        figures: &["row"],
        find: features::etag_ignored,
    },
    Rule {
        name: "uncompressed-listing",
        title: "Large listings are not compressed",
        at_least: 0.5,
        because: "of the bytes come back where the client offers gzip, of a listing of 64 KiB and more; \
                  gzip leaves 1 to 10 % of a listing",
        look_at: "compression of responses with status 207, where clients are not on the same network: in \
                  the server, or in a proxy before it. SetOutputFilter DEFLATE compresses them, \
                  AddOutputFilterByType and the gzip module of nginx do not",
        figures: &["plain", "offered", "ratio"],
        find: features::uncompressed,
    },
    Rule {
        name: "infinity-unbounded",
        title: "One PROPFIND with Depth: infinity keeps the server at work for long",
        at_least: 0.5,
        because: "s for one request and a tree of 1,000 members at least, beside what its bytes take on \
                  the network: two of them a second keep a processor busy",
        look_at: "who may ask for it and for how much: RFC 4918 (section 9.1) lets a server decline Depth: \
                  infinity, always or above a number of members (403 with propfind-finite-depth; \
                  DavDepthInfinity, propfind-depth-infinity)",
        figures: &["members", "whole", "bytes"],
        find: features::infinity_unbounded,
    },
    Rule {
        name: "infinity-cut-short",
        title: "PROPFIND with Depth: infinity is answered as with another depth",
        at_least: 1.0,
        because: "row in which all responses are 207 without the members of members",
        look_at: "what becomes of Depth: infinity: a server that does not want it answers 403 with \
                  propfind-finite-depth (RFC 4918, section 9.1); what is missing in a 207 is taken \
                  for deleted",
        figures: &["row", "depth"],
        find: features::infinity_cut_short,
    },
    Rule {
        name: "infinity-declined-otherwise",
        title: "Depth: infinity is declined without the code that says why",
        at_least: 1.0,
        because: "row in which PROPFIND with Depth: infinity, and no other, is declined otherwise than by \
                  403 with propfind-finite-depth in its body (RFC 4918, section 9.1.1)",
        look_at: "the body of the response: <error xmlns=\"DAV:\"><propfind-finite-depth/></error> tells \
                  clients to ask level by level; without it they take the request for wrong, or \
                  themselves for not permitted",
        figures: &["status"],
        find: features::infinity_declined,
    },
];
