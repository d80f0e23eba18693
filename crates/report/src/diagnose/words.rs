//! The rules of a diagnosis in words: a title, sentences with the names of figures in braces, and where in a server
//! to look for the cause. A sentence of which a figure is not known is left out.

use stats::Finding;

/// A rule in words.
pub(crate) struct RuleWords {
    pub(crate) rule: &'static str,
    /// The finding in a few words.
    pub(crate) title: &'static str,
    /// The finding with its figures.
    pub(crate) sentences: &'static [&'static str],
    /// Where in a server to look for the cause.
    pub(crate) look_at: &'static str,
}

/// The words of the rule that found it.
pub(crate) fn words(finding: &Finding) -> &'static RuleWords {
    let found = WORDS.iter().find(|words| words.rule == finding.rule);
    found.expect("every rule has words")
}

/// What the floor is, where two rows are beside each other.
const FLOOR: &str = "Any request takes {floor}, the round trip included.";

/// All rules in words, in the order of [`RULES`](stats::RULES).
pub(super) const WORDS: &[RuleWords] = &[
    RuleWords {
        rule: "put-against-get",
        title: "PUT is much slower than GET of the same size",
        sentences: &[
            "PUT of {size} takes {slow}, GET of it {quick}: {ratio} as long.",
            FLOOR,
        ],
        look_at: "what a PUT does beside writing: fsync of each file or of its directory, a \
                  temporary file and a rename, a database of properties or of versions, hashes, \
                  a search index, a virus scanner",
    },
    RuleWords {
        rule: "buffered-get",
        title: "The first byte of a large resource comes late",
        sentences: &[
            "The first byte of 1 MiB comes after {first_large}, that of 1 KiB after {first_small}: {more} \
             later, {share} of what the whole answer takes longer.",
        ],
        look_at: "a resource that is read whole (from a disk, another server or an object store) \
                  before it is sent: it takes memory for each request; a proxy that buffers answers",
    },
    RuleWords {
        rule: "proppatch-against-propfind",
        title: "PROPPATCH is much slower than PROPFIND of the same property",
        sentences: &[
            "Setting a property takes {slow}, reading it {quick}: {ratio} as long.",
            FLOOR,
        ],
        look_at: "the store of dead properties: a file or a table opened, locked, written whole or \
                  flushed to disk for each request",
    },
    RuleWords {
        rule: "cost-per-property",
        title: "Each property costs about as much as a request",
        sentences: &[
            "In {row}, each property beyond the first costs {each}, {share} of a whole request with one \
             ({one}).",
        ],
        look_at: "one query, one statement or one file for each property: read and write all \
                  properties of a resource at once, in one transaction",
    },
    RuleWords {
        rule: "copy-of-collection",
        title: "COPY of a collection costs as much for each member as a COPY of its own",
        sentences: &[
            OF_COLLECTION,
            "The removal of what it replaces takes {removal} of it and is not counted.",
        ],
        look_at: "a transaction, a flush, a check of rights and locks for each member: do these once \
                  for the whole collection",
    },
    RuleWords {
        rule: "move-of-collection",
        title: "MOVE of a collection takes many times that of a single resource",
        sentences: &[
            "MOVE of a collection with {members} members takes {own}, the removal of what it replaces not \
             counted: {ratio} the work of a single resource ({one}), and at most {each} a member, if \
             members are why.",
        ],
        look_at: "copying and deleting instead of renaming; walking all members for locks, \
                  properties or paths that are stored with each",
    },
    RuleWords {
        rule: "delete-of-collection",
        title: "DELETE of a collection costs about as much for each member as a DELETE of its own",
        sentences: &[OF_COLLECTION],
        look_at: "a transaction, a flush or a check of locks for each member; a database that lacks \
                  an index on the parent",
    },
    RuleWords {
        rule: "lock-against-unlock",
        title: "LOCK and UNLOCK take very different times",
        sentences: &[
            "{slow_method} takes {slow}, {quick_method} {quick}: {ratio} as long.",
            FLOOR,
        ],
        look_at: "the store of locks: how it is searched for conflicts, and whether it is written \
                  whole or flushed",
    },
    RuleWords {
        rule: "lock-of-collection",
        title: "LOCK of a collection takes several times that of a single resource",
        sentences: &[
            "{method} of a collection with {members} members takes {whole}, {ratio} that of a single \
             resource ({single}); at most {each} a member, if members are why.",
        ],
        look_at: "walking all members to look for locks, or storing the lock with each of them: \
                  search the locks by the prefix of the path instead",
    },
    RuleWords {
        rule: "locks-held",
        title: "Requests get slower with every lock that is held elsewhere",
        sentences: &[
            "With {locks} locks held on other resources, {request} takes {with_most}, with {fewest} \
             {with_fewest}: each further lock costs every such request {each}.",
        ],
        look_at: "a search through all locks, or a lock file read and written whole: find locks by \
                  the path and its parents, and by the token",
    },
    RuleWords {
        rule: "contended-lock",
        title: "LOCK takes long where several users want it",
        sentences: &[
            "Where {users} users want the same lock, LOCK takes {slow}; where each has a resource of its \
             own, {quick}: {ratio} as long.",
        ],
        look_at: "what is held while a lock is granted or declined: a mutex or a database lock \
                  around the whole request; a server that waits instead of answering 423",
    },
    RuleWords {
        rule: "cost-per-member",
        title: "Each member of a listing costs much",
        sentences: &["In {listing}, each member costs {each}; {members} members take {whole}."],
        look_at: "N+1 queries: properties, locks, rights or sizes asked for member by member; read \
                  them for the whole collection at once, and only those that were asked for",
    },
    RuleWords {
        rule: "bytes-per-member",
        title: "Each member of a listing takes many bytes",
        sentences: &[
            "An answer with five properties has {bytes} for each member; with {members} members it has \
             {whole}.",
        ],
        look_at: "properties that nobody asked for, name spaces declared with each property, white \
                  space; compression, where clients offer it",
    },
    RuleWords {
        rule: "listing-outgrows-members",
        title: "A listing grows faster than its members",
        sentences: &[
            "{members} members take {whole}, {fewer} members {whole_of_fewer}: {ratio} as long for each of \
             them.",
        ],
        look_at: "a search through all members for each of them; texts put together by copying; \
                  memory that swaps or is collected while the answer is made",
    },
    RuleWords {
        rule: "depth-zero-counts-members",
        title: "PROPFIND with Depth: 0 grows with the members of the collection",
        sentences: &[
            "PROPFIND with Depth: 0 of a collection with {members} members takes {response}, of one with \
             {fewest} members {response_of_fewest}.",
        ],
        look_at: "size, ETag or date of a collection made from all its members; a directory read \
                  although only its entry is asked for",
    },
    RuleWords {
        rule: "allprop-against-named",
        title: "allprop costs much more for each member than five named properties",
        sentences: &[
            "allprop costs {each} for each member, five named properties {each_beside}: {ratio} as long.",
        ],
        look_at: "live properties that are dear to make (lockdiscovery, quota, hashes): RFC 4918 \
                  (section 9.1) lets allprop leave out what it does not define itself; dead \
                  properties read member by member",
    },
    RuleWords {
        rule: "collections-against-files",
        title: "Sub-collections cost much more in a listing than files",
        sentences: &[
            "A sub-collection costs {each} for each member, a file {each_beside}: {ratio} as long.",
        ],
        look_at: "opening each sub-collection: to count its members, for its size, ETag, rights or \
                  locks",
    },
    RuleWords {
        rule: "buffered-listing",
        title: "A large listing sends nothing for a long time",
        sentences: &[
            "The first byte of an answer of {bytes} ({row}) comes after {first_byte}, {share} of the time \
             of the whole answer.",
        ],
        look_at: "an answer that is made whole before it is sent: it takes memory for each request, \
                  and clients may give up; send it in chunks while it is made",
    },
    RuleWords {
        rule: "grows-over-the-run",
        title: "Response times grow over the run",
        sentences: OF_ROWS,
        look_at: "what becomes more with each request: a log, a journal, a table or a list that is \
                  searched, memory that is never given back, files that are never removed",
    },
    RuleWords {
        rule: "delayed-ack",
        title: "Answers take 40 ms more: Nagle and delayed acknowledgements",
        sentences: OF_ROWS,
        look_at: "an answer sent in several writes, on a socket without TCP_NODELAY: the last part \
                  waits for an acknowledgement of the first. Set TCP_NODELAY, or send head and body \
                  in one write",
    },
    RuleWords {
        rule: "two-modes",
        title: "There are two kinds of answers: quick ones and slow ones",
        sentences: OF_ROWS,
        look_at: "what the slow ones have in common: a resource, where a round asks for several; a \
                  cache that misses, a flush, a worker or a process that is started, a queue behind \
                  another request. X-Prestan numbers the requests, for the server's log",
    },
    RuleWords {
        rule: "long-tail",
        title: "A few requests take many times the median",
        sentences: OF_ROWS,
        look_at: "what a few requests wait for: a lock or a queue behind a large request, a pool that \
                  is used up, a flush, garbage collection. X-Prestan numbers the requests, for the \
                  server's log",
    },
    RuleWords {
        rule: "slow-at-intervals",
        title: "Slow answers come at regular intervals",
        sentences: OF_ROWS,
        look_at: "what happens by the clock or by a counter: flushing to disk, a checkpoint, garbage \
                  collection, log rotation, recycling of worker processes",
    },
    RuleWords {
        rule: "cold-start",
        title: "First requests are much slower than the rest",
        sentences: &[
            "The first request of a test has {ratio} the work of the median, in half of the tests at \
             least; the first of {row} takes {first}, the median {median}. First requests are not in the \
             figures of the report.",
        ],
        look_at: "what is loaded, compiled, opened or looked up at the first use: connections to a \
                  database, code made at run time, workers started on demand",
    },
    RuleWords {
        rule: "fails-under-load",
        title: "Requests fail when several users are at work",
        sentences: &[
            "With {users} users, {failed} of {operations} operations of {row} fail; with {fewer_users} \
             none does.",
            "The first failure: {answer}",
        ],
        look_at: "what two requests at the same time do to one another: a lock or property database \
                  without locking, a file that is read, changed and written, names of temporary \
                  files. The answer and the server's error log say more",
    },
    RuleWords {
        rule: "does-not-scale",
        title: "More users get no more done",
        sentences: &[
            "With {users} users instead of {fewer_users}, {row} gets {rate} done instead of {rate_alone} \
             ({growth} as much), {best_row} {best_growth} as much.",
        ],
        look_at: "a lock around all requests of this kind, one process or connection for all of them, \
                  a flush to disk that each waits for alone",
    },
    RuleWords {
        rule: "connection-close",
        title: "The connection is closed after each answer",
        sentences: &[
            "Rows: {rows}. {opened} of their {operations} operations opened a connection, {each} each.",
        ],
        look_at: "`Connection: close` in answers, keep-alive that is switched off, an answer without \
                  a length, or one (204, say) after which the server closes without saying so",
    },
    RuleWords {
        rule: "keep-alive-limit",
        title: "Connections are ended after few requests",
        sentences: &[
            "A connection was opened for {opened} of {operations} operations ({share}), {each} each.",
            "The server closes them after {limit} requests: {same_distances} of {distances} distances \
             between new connections are that long.",
        ],
        look_at: "the limit of requests on a connection (MaxKeepAliveRequests, keepalive_requests), \
                  its time limit: each connection costs round trips, and more with TLS",
    },
    RuleWords {
        rule: "asked-twice",
        title: "Requests are asked twice: a 401 comes before the answer",
        sentences: &[
            "{challenged} of {operations} operations ({share}) were answered 401 first and sent once more. \
             Response times are those of the second answer: a client waits longer than they tell.",
        ],
        look_at: "Digest nonces that hold for one request or a short time: let them live longer, or \
                  give the next one in Authentication-Info (RFC 7616, section 3.5)",
    },
    RuleWords {
        rule: "closes-silently",
        title: "Kept connections are closed without notice",
        sentences: &[
            "{closes} kept connections were closed after responses that did not say so (status: \
             {statuses}). {lost} requests were lost that way: sent once more on a new connection, or \
             failed where that must not be (LOCK, POST, PATCH).",
        ],
        look_at: "keep-alive after responses without a body (204, 304): what is kept after 200 can be \
                  kept after these; a proxy, a time limit below a second, a worker that ends after \
                  some requests: the last response has to say `Connection: close` (RFC 9112, section \
                  9.6), because a request that is sent meanwhile is lost",
    },
    RuleWords {
        rule: "tls-not-resumed",
        title: "TLS sessions are not resumed",
        sentences: &[
            "{full} of {handshakes} TLS handshakes ({share}) were full ones, {tls} each; a TCP handshake \
             takes {tcp}. To resume a session saves the server a signature and the client the \
             certificates, with TLS 1.2 a round trip as well.",
        ],
        look_at: "session tickets or a cache of sessions: switched off, or one for each process or each \
                  machine behind a load balancer (SSLSessionCache, SSLSessionTickets, \
                  ssl_session_cache, ssl_session_ticket_key)",
    },
    RuleWords {
        rule: "no-etag",
        title: "Files have no ETag",
        sentences: &[
            "A GET of a file ({row}) is answered without ETag: a client that has a copy can at best compare \
             dates, which change once a second, and nothing protects a PUT from overwriting what another \
             client wrote (If-Match).",
        ],
        look_at: "an ETag from time of change, size or version",
    },
    RuleWords {
        rule: "etag-ignored",
        title: "Files that have not changed are sent again",
        sentences: &[
            "A GET with If-None-Match and the ETag that the server gave just before ({row}) is answered 200 \
             with the whole file: each client that has a copy fetches it again.",
        ],
        look_at: "If-None-Match, which is compared weakly (W/ does not matter); an ETag that is \
                  another one each time; a proxy or a module that changes it (-gzip at its end)",
    },
    RuleWords {
        rule: "uncompressed-listing",
        title: "Large listings are not compressed",
        sentences: &["A listing has {plain}, and where the client offers gzip {offered}."],
        look_at: "compression of responses with status 207, where clients are not on the same network: in \
                  the server, or in a proxy before it. SetOutputFilter DEFLATE compresses them, \
                  AddOutputFilterByType and the gzip module of nginx do not",
    },
    RuleWords {
        rule: "infinity-unbounded",
        title: "One PROPFIND with Depth: infinity keeps the server at work for long",
        sentences: &[
            "One request over {members} members takes {whole} and is answered with {bytes}. No bound was met \
             up to there.",
        ],
        look_at: "who may ask for it and for how much: RFC 4918 (section 9.1) lets a server decline Depth: \
                  infinity, always or above a number of members (403 with propfind-finite-depth; \
                  DavDepthInfinity, propfind-depth-infinity)",
    },
    RuleWords {
        rule: "infinity-cut-short",
        title: "PROPFIND with Depth: infinity is answered as with another depth",
        sentences: &[
            "The response (207, {row}) has what Depth: {depth} asks for, and nothing says that members are \
             missing.",
        ],
        look_at: "what becomes of Depth: infinity: a server that does not want it answers 403 with \
                  propfind-finite-depth (RFC 4918, section 9.1); what is missing in a 207 is taken \
                  for deleted",
    },
    RuleWords {
        rule: "infinity-declined-otherwise",
        title: "Depth: infinity is declined without the code that says why",
        sentences: &[
            "PROPFIND with Depth: infinity is answered {status}, without the code propfind-finite-depth that \
             says why. To decline it is right where it costs too much.",
        ],
        look_at: "the body of the response: <error xmlns=\"DAV:\"><propfind-finite-depth/></error> tells \
                  clients to ask level by level; without it they take the request for wrong, or \
                  themselves for not permitted",
    },
];

/// COPY or DELETE of a collection.
const OF_COLLECTION: &str = "{method} of a collection with {members} members takes {all}: {each} for \
                             each member, {share} of the work of a {method} of a single resource \
                             ({one}).";

/// What is seen in rows one by one.
const OF_ROWS: &[&str] = &["Rows: {rows}; {row} loses the most time."];
