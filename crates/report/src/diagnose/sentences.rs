//! Sentences around the figures of a finding: a template for each rule, with the names of its figures in braces. A
//! sentence of which a figure is not known is left out.

use stats::units::{factor, human, human_range};
use stats::{Evidence, Figure, Finding, Quantity};

use crate::figure::percent;

/// What the floor is, where two rows are beside each other.
const FLOOR: &str = "Any request takes {floor}, the round trip included.";

/// Sentences of each rule.
pub(crate) const SENTENCES: &[(&str, &[&str])] = &[
    (
        "put-against-get",
        &[
            "PUT of {size} takes {slow}, GET of it {quick}: {ratio} as long.",
            FLOOR,
        ],
    ),
    (
        "buffered-get",
        &[
            "The first byte of 1 MiB comes after {first_large}, that of 1 KiB after {first_small}: {more} \
             later, {share} of what the whole answer takes longer.",
        ],
    ),
    (
        "proppatch-against-propfind",
        &[
            "Setting a property takes {slow}, reading it {quick}: {ratio} as long.",
            FLOOR,
        ],
    ),
    (
        "cost-per-property",
        &[
            "In {row}, each property beyond the first costs {each}, {share} of a whole request with one \
             ({one}).",
        ],
    ),
    (
        "copy-of-collection",
        &[
            OF_COLLECTION,
            "The removal of what it replaces takes {removal} of it and is not counted.",
        ],
    ),
    (
        "move-of-collection",
        &[
            "MOVE of a collection with {members} members takes {own}, the removal of what it replaces not \
             counted: {ratio} the work of a single resource ({one}), and at most {each} a member, if \
             members are why.",
        ],
    ),
    ("delete-of-collection", &[OF_COLLECTION]),
    (
        "lock-against-unlock",
        &[
            "{slow_method} takes {slow}, {quick_method} {quick}: {ratio} as long.",
            FLOOR,
        ],
    ),
    (
        "lock-of-collection",
        &[
            "{method} of a collection with {members} members takes {whole}, {ratio} that of a single \
             resource ({single}); at most {each} a member, if members are why.",
        ],
    ),
    (
        "locks-held",
        &[
            "With {locks} locks held on other resources, {request} takes {with_most}, with {fewest} \
             {with_fewest}: each further lock costs every such request {each}.",
        ],
    ),
    (
        "contended-lock",
        &[
            "Where {users} users want the same lock, LOCK takes {slow}; where each has a resource of its \
             own, {quick}: {ratio} as long.",
        ],
    ),
    (
        "cost-per-member",
        &["In {listing}, each member costs {each}; {members} members take {whole}."],
    ),
    (
        "bytes-per-member",
        &[
            "An answer with five properties has {bytes} for each member; with {members} members it has \
             {whole}.",
        ],
    ),
    (
        "listing-outgrows-members",
        &[
            "{members} members take {whole}, {fewer} members {whole_of_fewer}: {ratio} as long for each of \
             them.",
        ],
    ),
    (
        "depth-zero-counts-members",
        &[
            "PROPFIND with Depth: 0 of a collection with {members} members takes {response}, of one with \
             {fewest} members {response_of_fewest}.",
        ],
    ),
    (
        "allprop-against-named",
        &[
            "allprop costs {each} for each member, five named properties {each_beside}: {ratio} as long.",
        ],
    ),
    (
        "collections-against-files",
        &["A sub-collection costs {each} for each member, a file {each_beside}: {ratio} as long."],
    ),
    (
        "buffered-listing",
        &[
            "The first byte of an answer of {bytes} ({row}) comes after {first_byte}, {share} of the time \
             of the whole answer.",
        ],
    ),
    ("grows-over-the-run", OF_ROWS),
    ("delayed-ack", OF_ROWS),
    ("two-modes", OF_ROWS),
    ("long-tail", OF_ROWS),
    ("slow-at-intervals", OF_ROWS),
    (
        "cold-start",
        &[
            "The first request of a test has {ratio} the work of the median, in half of the tests at \
             least; the first of {row} takes {first}, the median {median}. First requests are not in the \
             figures of the report.",
        ],
    ),
    (
        "fails-under-load",
        &[
            "With {users} users, {failed} of {operations} operations of {row} fail; with {fewer_users} \
             none does.",
            "The first failure: {answer}",
        ],
    ),
    (
        "does-not-scale",
        &[
            "With {users} users instead of {fewer_users}, {row} gets {rate} done instead of {rate_alone} \
             ({growth} as much), {best_row} {best_growth} as much.",
        ],
    ),
    (
        "connection-close",
        &[
            "Rows: {rows}. {opened} of their {operations} operations opened a connection, {each} each.",
        ],
    ),
    (
        "keep-alive-limit",
        &[
            "A connection was opened for {opened} of {operations} operations ({share}), {each} each.",
            "The server closes them after {limit} requests: {same_distances} of {distances} distances \
             between new connections are that long.",
        ],
    ),
    (
        "asked-twice",
        &[
            "{challenged} of {operations} operations ({share}) were answered 401 first and sent once more. \
             Response times are those of the second answer: a client waits longer than they tell.",
        ],
    ),
    (
        "tls-not-resumed",
        &[
            "{full} of {handshakes} TLS handshakes ({share}) were full ones, {tls} each; a TCP handshake \
             takes {tcp}. To resume a session saves the server a signature and the client the \
             certificates, with TLS 1.2 a round trip as well.",
        ],
    ),
    (
        "no-etag",
        &[
            "A GET of a file ({row}) is answered without ETag: a client that has a copy can at best compare \
             dates, which change once a second, and nothing protects a PUT from overwriting what another \
             client wrote (If-Match).",
        ],
    ),
    (
        "etag-ignored",
        &[
            "A GET with If-None-Match and the ETag that the server gave just before ({row}) is answered 200 \
             with the whole file: each client that has a copy fetches it again.",
        ],
    ),
    (
        "uncompressed-listing",
        &["A listing has {plain}, and where the client offers gzip {offered}."],
    ),
    (
        "infinity-unbounded",
        &[
            "One request over {members} members takes {whole} and is answered with {bytes}. No bound was met \
             up to there.",
        ],
    ),
    (
        "infinity-cut-short",
        &[
            "The response (207, {row}) has what Depth: {depth} asks for, and nothing says that members are \
             missing.",
        ],
    ),
    (
        "infinity-declined-otherwise",
        &[
            "PROPFIND with Depth: infinity is answered {status}, without the code propfind-finite-depth that \
             says why. To decline it is right where it costs too much.",
        ],
    ),
    (
        "closes-silently",
        &[
            "{closes} kept connections were closed after responses that did not say so (status: \
             {statuses}). {lost} requests were lost that way: sent once more on a new connection, or \
             failed where that must not be (LOCK, POST, PATCH).",
        ],
    ),
];

/// COPY or DELETE of a collection.
const OF_COLLECTION: &str = "{method} of a collection with {members} members takes {all}: {each} for \
                             each member, {share} of the work of a {method} of a single resource \
                             ({one}).";

/// What is seen in rows one by one.
const OF_ROWS: &[&str] = &["Rows: {rows}; {row} loses the most time."];

/// The finding in a sentence or two.
pub(crate) fn text(finding: &Finding) -> String {
    let sentences = SENTENCES.iter().find(|(rule, _)| *rule == finding.rule);
    let sentences = sentences.map_or(&[][..], |(_, sentences)| sentences);
    let filled = sentences
        .iter()
        .filter_map(|one| fill(one, &finding.figures));
    filled.collect::<Vec<String>>().join(" ")
}

/// A template with the figures in its braces; `None` where one is not known.
fn fill(template: &str, figures: &[Figure]) -> Option<String> {
    let mut parts = template.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}')?;
        let figure = figures.iter().find(|figure| figure.name == name)?;
        filled += &quantity(&figure.value);
        filled += rest;
    }
    Some(filled)
}

/// A piece of evidence in a line: `Put1K: 14.2 ms (13.9 .. 14.6 ms, n 100)`.
pub(crate) fn evidence(evidence: &Evidence) -> String {
    let figures: Vec<String> = evidence.figures.iter().map(figure).collect();
    format!("{}: {}", evidence.row, figures.join(", "))
}

fn figure(figure: &Figure) -> String {
    let name = match figure.name {
        "mean" => String::new(),
        name => format!("{} ", name.replace('_', " ")),
    };
    let range = match (&figure.value, figure.interval) {
        (Quantity::Time(_), Some(interval)) => Some(human_range(interval)),
        _ => None,
    };
    let operations = figure.operations.map(|n| format!("n {n}"));
    let aside: Vec<String> = [range, operations].into_iter().flatten().collect();
    let value = quantity(&figure.value);
    if aside.is_empty() {
        format!("{name}{value}")
    } else {
        format!("{name}{value} ({})", aside.join(", "))
    }
}

fn quantity(value: &Quantity) -> String {
    match value {
        Quantity::Time(ns) => human(*ns),
        Quantity::Share(share) => percent(*share),
        Quantity::Ratio(ratio) => format!("{} times", factor(*ratio)),
        Quantity::Count(count) => count.to_string(),
        Quantity::Rate(rate) => format!("{} operations a second", factor(*rate)),
        Quantity::Bytes(bytes) if *bytes >= 1e6 => format!("{:.1} MB", bytes / 1e6),
        Quantity::Bytes(bytes) if *bytes >= 1e4 => format!("{:.0} kB", bytes / 1e3),
        Quantity::Bytes(bytes) => format!("{bytes:.0} bytes"),
        Quantity::Text(text) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use stats::RULES;

    use super::*;

    #[test]
    fn every_rule_has_sentences_and_they_have_only_its_figures() {
        assert_eq!(SENTENCES.len(), RULES.len());
        for rule in RULES {
            let (_, sentences) = SENTENCES
                .iter()
                .find(|(name, _)| *name == rule.name)
                .unwrap_or_else(|| panic!("no sentence of {}", rule.name));
            let mut names = sentences.iter().flat_map(|one| one.split('{').skip(1));
            let unknown = names.find(|part| {
                let name = part.split_once('}').map_or("", |(name, _)| name);
                !rule.figures.contains(&name)
            });
            assert_eq!(unknown, None, "{}", rule.name);
        }
    }

    #[test]
    fn a_sentence_without_its_figure_is_left_out() {
        let count = |name, count| Figure {
            name,
            value: Quantity::Count(count),
            interval: None,
            operations: None,
        };
        let figures = [count("a", 3), count("b", 4)];
        assert_eq!(fill("{a} of {b}.", &figures).unwrap(), "3 of 4.");
        assert_eq!(fill("{a} of {c}.", &figures), None);
        assert_eq!(fill("None.", &[]).unwrap(), "None.");
    }
}
