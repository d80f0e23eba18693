//! The rules of a diagnosis in words: a title, sentences with the names of figures in braces, and
//! where in a server to look for the cause. A sentence of which a figure is not known is left out.

use stats::Finding;

pub(crate) struct RuleWords {
    pub(crate) rule: &'static str,
    pub(crate) title: &'static str,
    pub(crate) sentences: &'static [&'static str],
    pub(crate) look_at: &'static str,
}

pub(crate) fn words(finding: &Finding) -> &'static RuleWords {
    let found = WORDS.iter().find(|words| words.rule == finding.rule);
    found.expect("every rule has words")
}

/// The sentence about the floor, where two rows are beside each other.
const FLOOR: &str = "Every request takes at least {floor}, round trip included.";

/// All rules in words, in the order of [`all_rules`](stats::all_rules).
pub(super) const WORDS: &[RuleWords] = &[
    RuleWords {
        rule: "put-against-get",
        title: "PUT is much slower than GET of the same size",
        sentences: &[
            "PUT of {size} takes {slow}, GET of {size} takes {quick}: {ratio} as long.",
            FLOOR,
        ],
        look_at: "what a PUT does besides writing the file: fsync of the file or its directory, a temporary \
                  file and a rename, a database of properties or versions, checksums, a search index, a \
                  virus scanner",
    },
    RuleWords {
        rule: "buffered-get",
        title: "The first byte of a large resource comes late",
        sentences: &[
            "The first byte of 1 MiB arrives {more} later than that of 1 KiB ({first_large} instead of \
             {first_small}): {share} of the additional time of the whole response.",
        ],
        look_at: "a resource that is read completely (from a disk, another server or an object store) \
                  before it is sent, which also takes memory for each request; a proxy that buffers \
                  responses",
    },
    RuleWords {
        rule: "proppatch-against-propfind",
        title: "PROPPATCH is much slower than PROPFIND of the same property",
        sentences: &[
            "PROPPATCH of a property takes {slow}, PROPFIND of it {quick}: {ratio} as long.",
            FLOOR,
        ],
        look_at: "the store of dead properties: a file or a table that each request opens, locks, rewrites \
                  completely or flushes to disk",
    },
    RuleWords {
        rule: "cost-per-property",
        title: "Each property costs about as much as a request",
        sentences: &[
            "In {row}, each property after the first takes {each}: {share} of a whole request with one \
             property ({one}).",
        ],
        look_at: "one query, one statement or one file for each property. Read or write all properties of a \
                  resource at once, in one transaction",
    },
    RuleWords {
        rule: "copy-of-collection",
        title: "COPY of a collection costs as much for each member as COPY of a single resource",
        sentences: &[
            OF_COLLECTION,
            "The time for each member excludes {removal} for removing the destination, which COPY \
             overwrites.",
        ],
        look_at: "a transaction, a flush, or a check of permissions and locks for each member. Do these \
                  once for the whole collection",
    },
    RuleWords {
        rule: "move-of-collection",
        title: "MOVE of a collection takes many times as long as MOVE of a single resource",
        sentences: &[
            "MOVE of a collection with {members} members takes {own}, without the removal of the \
             destination that it overwrites: {ratio} the work of MOVE of a single resource ({one}). If the \
             members are the reason, each takes at most {each}.",
        ],
        look_at: "copying and deleting instead of renaming; visiting all members for locks, properties or \
                  paths that are stored with each",
    },
    RuleWords {
        rule: "delete-of-collection",
        title: "DELETE of a collection costs about as much for each member as DELETE of a single resource",
        sentences: &[OF_COLLECTION],
        look_at: "a transaction, a flush or a check of locks for each member; a database that lacks an \
                  index on the parent",
    },
    RuleWords {
        rule: "lock-against-unlock",
        title: "LOCK and UNLOCK take very different times",
        sentences: &[
            "{slow_method} takes {slow}, {quick_method} takes {quick}: {ratio} as long.",
            FLOOR,
        ],
        look_at: "the store of locks: how it is searched for conflicting locks, and whether it is rewritten \
                  completely or flushed to disk",
    },
    RuleWords {
        rule: "lock-of-collection",
        title: "LOCK of a collection takes several times as long as LOCK of a single resource",
        sentences: &[
            "{method} of a collection with {members} members takes {whole}: {ratio} as long as for a single \
             resource ({single}). If the members are the reason, each takes at most {each}.",
        ],
        look_at: "visiting all members to find locks, or storing the lock with each of them. Search the \
                  locks by path prefix instead",
    },
    RuleWords {
        rule: "locks-held",
        title: "Requests get slower with every lock held on other resources",
        sentences: &[
            "With {locks} locks on other resources, {request} takes {with_most}; with {fewest} locks, \
             {with_fewest}. Each lock adds {each} to every such request.",
        ],
        look_at: "a linear search through all locks, or a lock file that each request reads and rewrites. \
                  Find locks by the path and its parents, and by the token",
    },
    RuleWords {
        rule: "contended-lock",
        title: "LOCK takes long where several users request the same lock",
        sentences: &[
            "Where {users} users request the same lock, LOCK takes {slow}; where each user has a resource \
             of its own, {quick}: {ratio} as long.",
        ],
        look_at: "what is locked while the server grants or refuses a lock: a mutex or a database lock \
                  around the whole request; a server that waits instead of responding with 423",
    },
    RuleWords {
        rule: "cost-per-member",
        title: "Each member of a listing costs much",
        sentences: &["In {listing}, each member takes {each}; {members} members take {whole}."],
        look_at: "N+1 queries: properties, locks, permissions or sizes that are read for one member after \
                  another. Read them for the whole collection at once, and only those that the request names",
    },
    RuleWords {
        rule: "bytes-per-member",
        title: "Each member of a listing takes many bytes",
        sentences: &[
            "A response with five properties has {bytes} for each member; with {members} members it has \
             {whole}.",
        ],
        look_at: "properties that the request did not name, namespaces declared again with each property, \
                  white space; compression, where clients accept it",
    },
    RuleWords {
        rule: "listing-outgrows-members",
        title: "The time of a listing grows faster than its members",
        sentences: &[
            "{members} members take {whole}, {fewer} members {whole_of_fewer}: {ratio} as long for each \
             member.",
        ],
        look_at: "a search through all members for each member; strings that are copied whenever something \
                  is appended; swapping or garbage collection while the response is generated",
    },
    RuleWords {
        rule: "depth-zero-counts-members",
        title: "PROPFIND with Depth: 0 gets slower with the members of the collection",
        sentences: &[
            "PROPFIND with Depth: 0 takes {response} for a collection with {members} members and \
             {response_of_fewest} for one with {fewest} members.",
        ],
        look_at: "size, ETag or date of a collection that are computed from all its members; a directory \
                  that is read although only its own entry is requested",
    },
    RuleWords {
        rule: "allprop-against-named",
        title: "allprop costs much more for each member than five named properties",
        sentences: &[
            "allprop takes {each} for each member, five named properties take {each_beside}: {ratio} as \
             long.",
        ],
        look_at: "live properties that are expensive to compute (lockdiscovery, quota, checksums): RFC 4918 \
                  (section 9.1) lets allprop omit what the RFC does not define; dead properties that are \
                  read for one member after another",
    },
    RuleWords {
        rule: "collections-against-files",
        title: "Sub-collections cost much more in a listing than files",
        sentences: &["A sub-collection takes {each}, a file {each_beside}: {ratio} as long."],
        look_at: "opening each sub-collection to count its members, or for its size, ETag, permissions or \
                  locks",
    },
    RuleWords {
        rule: "buffered-listing",
        title: "The first byte of a large listing comes late",
        sentences: &[
            "The first byte of a response of {bytes} ({row}) arrives after {first_byte}, {share} of the \
             total time of the response.",
        ],
        look_at: "a response that is generated completely before it is sent, which takes memory for each \
                  request and lets clients time out. Send it in chunks while it is generated",
    },
    RuleWords {
        rule: "grows-over-the-run",
        title: "Response times grow over the run",
        sentences: OF_ROWS,
        look_at: "what grows with each request: a log, a journal, a table or a list that is searched, \
                  memory that is never released, files that are never removed",
    },
    RuleWords {
        rule: "delayed-ack",
        title: "Responses take 40 ms more: Nagle's algorithm and delayed acknowledgements",
        sentences: OF_ROWS,
        look_at: "a response that is sent in several writes on a socket without TCP_NODELAY, so that its \
                  last part waits for an acknowledgement of the first. Set TCP_NODELAY, or send head and \
                  body in one write",
    },
    RuleWords {
        rule: "two-modes",
        title: "Response times have two modes: fast responses and slow ones",
        sentences: OF_ROWS,
        look_at: "what the slow responses have in common: a resource, where a round requests several; a \
                  cache miss, a flush, a worker or process that is started, a queue behind another request. \
                  X-Prestan numbers the requests for the server's log",
    },
    RuleWords {
        rule: "long-tail",
        title: "A few requests take many times the median",
        sentences: OF_ROWS,
        look_at: "what a few requests wait for: a lock, a queue behind a large request, an exhausted pool, \
                  a flush, garbage collection. X-Prestan numbers the requests for the server's log",
    },
    RuleWords {
        rule: "slow-at-intervals",
        title: "Slow responses come at regular intervals",
        sentences: OF_ROWS,
        look_at: "what a timer or a counter starts: a flush to disk, a checkpoint, garbage collection, log \
                  rotation, recycling of worker processes",
    },
    RuleWords {
        rule: "cold-start",
        title: "First requests are much slower than the others",
        sentences: &[
            "In at least half of the tests, the first request takes {ratio} the work of the median. The \
             first request of {row} takes {first}, the median {median}. The figures of the report exclude \
             first requests.",
        ],
        look_at: "what is loaded, compiled, opened or looked up at the first use: connections to a \
                  database, just-in-time compilation, workers that are started on demand",
    },
    RuleWords {
        rule: "fails-under-load",
        title: "Requests fail under concurrent load",
        sentences: &[
            "With {users} users, {failed} of {operations} operations of {row} fail; with {fewer_users}, \
             none.",
            "The first failure: {answer}",
        ],
        look_at: "what concurrent requests share: a lock or property database that is used without locking, \
                  a file that is read, changed and written back, names of temporary files. The response and \
                  the server's error log have details",
    },
    RuleWords {
        rule: "does-not-scale",
        title: "More users do not raise the throughput",
        sentences: &[
            "With {users} users instead of {fewer_users}, the throughput of {row} is {rate} instead of \
             {rate_alone} ({growth} as much), that of {best_row} {best_growth} as much.",
        ],
        look_at: "a mutex around all requests of this kind, one process or connection for all of them, a \
                  flush to disk that each request waits for",
    },
    RuleWords {
        rule: "connection-close",
        title: "The server closes the connection after each response",
        sentences: &[
            "Rows: {rows}. {opened} of their {operations} operations opened a connection; each connection \
             took {each}.",
        ],
        look_at: "`Connection: close` in responses, disabled keep-alive, a response without a length, or a \
                  response (204 for example) after which the server closes the connection without \
                  `Connection: close`",
    },
    RuleWords {
        rule: "keep-alive-limit",
        title: "The server closes connections after few requests",
        sentences: &[
            "{opened} of {operations} operations ({share}) opened a connection; each connection took {each}.",
            "The server closes connections after {limit} requests, as {same_distances} of {distances} \
             connections show.",
        ],
        look_at: "the limit of requests for each connection (MaxKeepAliveRequests, keepalive_requests) and \
                  its time limit. Each connection takes round trips, more with TLS",
    },
    RuleWords {
        rule: "asked-twice",
        title: "Requests are sent twice: the server responds with 401 first",
        sentences: &[
            "The server responded with 401 to {challenged} of {operations} operations ({share}), which were \
             then sent again. Response times are those of the second response: clients wait longer.",
        ],
        look_at: "Digest nonces that are valid for one request or a short time. Extend their lifetime, or \
                  send the next nonce in Authentication-Info (RFC 7616, section 3.5)",
    },
    RuleWords {
        rule: "closes-silently",
        title: "Persistent connections are closed without notice",
        sentences: &[
            "The server closed {closes} persistent connections after responses that did not announce it \
             (status: {statuses}). {lost} requests were lost: they were sent again on a new connection or, \
             where that is not allowed (LOCK, POST, PATCH), failed.",
        ],
        look_at: "keep-alive after responses without a body (204, 304): a connection that persists after \
                  200 can persist after these; a proxy, a time limit below a second, a worker that ends \
                  after some requests. The last response needs `Connection: close` (RFC 9112, section 9.6), \
                  because a request that is sent in the meantime is lost",
    },
    RuleWords {
        rule: "tls-not-resumed",
        title: "TLS sessions are not resumed",
        sentences: &[
            "{full} of {handshakes} TLS handshakes ({share}) were full handshakes, {tls} each; a TCP \
             handshake takes {tcp}. Resuming a session saves the server a signature and the client the \
             verification of certificates, with TLS 1.2 also a round trip.",
        ],
        look_at: "session tickets or a session cache that are disabled, or separate for each process or \
                  each machine behind a load balancer (SSLSessionCache, SSLSessionTickets, \
                  ssl_session_cache, ssl_session_ticket_key)",
    },
    RuleWords {
        rule: "no-etag",
        title: "Files have no ETag",
        sentences: &[
            "The response to a GET of a file ({row}) has no ETag. A client with a copy can only compare \
             dates, which have a resolution of one second, and nothing protects a PUT from overwriting what \
             another client wrote (If-Match).",
        ],
        look_at: "an ETag from modification time, size or version",
    },
    RuleWords {
        rule: "etag-ignored",
        title: "Unchanged files are sent again",
        sentences: &[
            "The server responds with 200 and the whole file to a GET with If-None-Match and the ETag that \
             it sent just before ({row}): every client with a copy fetches the file again.",
        ],
        look_at: "If-None-Match, which uses weak comparison (W/ makes no difference); an ETag that differs \
                  each time; a proxy or a module that changes it (with the suffix -gzip)",
    },
    RuleWords {
        rule: "uncompressed-listing",
        title: "Large listings are not compressed",
        sentences: &["A listing has {plain}; where the client accepts gzip, {offered}."],
        look_at: "compression of responses with status 207, for clients that are not on the same network: \
                  in the server, or in a proxy in front of it. SetOutputFilter DEFLATE compresses them, \
                  AddOutputFilterByType and the gzip module of nginx do not",
    },
    RuleWords {
        rule: "infinity-unbounded",
        title: "One PROPFIND with Depth: infinity occupies the server for long",
        sentences: &[
            "One request for {members} members takes {whole} and has a response of {bytes}. The server has \
             no limit up to this size.",
        ],
        look_at: "which users may send it, and for how many members: RFC 4918 (section 9.1) lets a server \
                  refuse Depth: infinity, always or above a number of members (403 with \
                  propfind-finite-depth; DavDepthInfinity, propfind-depth-infinity)",
    },
    RuleWords {
        rule: "infinity-cut-short",
        title: "The response to PROPFIND with Depth: infinity lacks members",
        sentences: &[
            "The response (207, {row}) has the members of Depth: {depth}, without an indication that others \
             are missing.",
        ],
        look_at: "how Depth: infinity is handled: a server that refuses it responds with 403 and \
                  propfind-finite-depth (RFC 4918, section 9.1). Clients take a member that is missing in a \
                  207 for deleted",
    },
    RuleWords {
        rule: "infinity-declined-otherwise",
        title: "Depth: infinity is refused without its precondition code",
        sentences: &[
            "The server responds to PROPFIND with Depth: infinity with {status}, without the code \
             propfind-finite-depth. Refusing an expensive request is right.",
        ],
        look_at: "the body of the response: <error xmlns=\"DAV:\"><propfind-finite-depth/></error> makes \
                  clients list level by level; without it they take the request for wrong, or for not \
                  permitted",
    },
    RuleWords {
        rule: "waits-for-disk",
        title: "The server waits for the disk",
        sentences: &[
            "In {row}, {calls} fsync of {each} each are {share} of the time of an operation.",
        ],
        look_at: "how often fsync and fdatasync are called for one operation: once for all that it changes is enough; a journal that \
                  several operations share (group commit); a faster disk; whether the data must survive a loss of power at all",
    },
    RuleWords {
        rule: "waits-for-locks",
        title: "Threads of the server wait for locks",
        sentences: &[
            "In {row}, the server waits for locks (futex, flock, fcntl) for {share} of the time, though one user is at work: \
             {calls} calls of {each} each.",
        ],
        look_at: "what hands an operation from thread to thread; a lock that is held while something else is done; locks of a \
                  file that other processes hold",
    },
    RuleWords {
        rule: "waits-for-others",
        title: "An operation takes many round trips to another process",
        sentences: &[
            "In {row}, {calls} responses of another process are waited for in one operation, with {bytes}.",
            "They come from {peer}.",
            "They are {share} of its time.",
        ],
        look_at: "queries that can be put together; one for each property or member; a cache for what does not change, such \
                  as users and permissions",
    },
    RuleWords {
        rule: "calls-per-member",
        title: "A listing calls the storage several times for each member",
        sentences: &["In {row}, each of {members} members takes {calls}."],
        look_at: "what is asked for each member and is known already: stat of a file that was just opened, or again for each \
                  property; a file of properties of its own; locks. One stat has what most clients ask for",
    },
    RuleWords {
        rule: "whole-file",
        title: "A file of the server is read and written as a whole for one operation",
        sentences: &["In {row}, an operation reads {read} and writes {written} of {file}."],
        look_at: "a store of locks or properties in one file: its costs grow with all that is in it. Use a database, or a file \
                  for each entry",
    },
    RuleWords {
        rule: "moves-by-copying",
        title: "MOVE copies and removes, instead of renaming",
        sentences: &[
            "In {row}, an operation removes {removed} names and renames none; {written} calls write or create what is moved.",
        ],
        look_at: "rename, which moves a file or a whole tree at once within a file system; copying is needed between two of them \
                  only",
    },
    RuleWords {
        rule: "opens-again",
        title: "The same file is opened again and again within one operation",
        sentences: &["In {row}, an operation opens {file} {calls} times."],
        look_at: "keeping it open for the operation, or for the process; a store of locks that is asked although nothing is locked; \
                  configuration that is read for each request",
    },
];

const OF_COLLECTION: &str = "{method} of a collection with {members} members takes {all}: {each} for each \
                             member, {share} of the work of {method} of a single resource ({one}).";

const OF_ROWS: &[&str] = &["Rows: {rows}; most time is lost in {row}."];
