//! Headers of caches and proxies between a client and the server.
//!
//! | header | served by a cache |
//! |---|---|
//! | Cache-Status (RFC 9211) | a member has the parameter `hit` |
//! | X-Cache, X-Cache-Status, X-Proxy-Cache, CF-Cache-Status | an element has a word that ends in `hit`, or `STALE` or `UPDATING` |
//! | X-Varnish | it has two numbers: of this request, and of the one that filled the cache |
//! | Age (RFC 9111, section 5.1) | above 0, or 0 and no header above reports a miss |
//!
//! Varnish sends `Age: 0` with responses that it has just fetched, therefore the last line. Each
//! cache on the path adds its member or element after those of the caches before it: one hit is
//! enough, because that cache sent no request to those behind it.

use super::Headers;

/// Longest name of an intermediary, in bytes.
const LONGEST_NAME: usize = 64;

/// True if a response comes from a cache. Without such headers this costs a look at the lengths of
/// header names.
pub fn is_cached(headers: &Headers) -> bool {
    let (mut is_aged, mut is_new) = (None, false);
    for (name, value) in headers.with_name_length(|length| matches!(length, 3 | 7 | 9 | 12..=15)) {
        if name.eq_ignore_ascii_case("Age") {
            is_aged = value.trim().parse::<u64>().ok().map(|age| age > 0);
            continue;
        }
        match is_hit(name, value) {
            Some(true) => return true,
            Some(false) => is_new = true,
            None => {}
        }
    }
    is_aged.is_some_and(|is_aged| is_aged || !is_new)
}

/// True if a header of a cache reports a hit; `None` for all other headers.
fn is_hit(name: &str, value: &str) -> Option<bool> {
    const WORDS: [&str; 4] = [
        "X-Cache",
        "X-Cache-Status",
        "X-Proxy-Cache",
        "CF-Cache-Status",
    ];
    let is_named = |other: &str| name.eq_ignore_ascii_case(other);
    if is_named("X-Varnish") {
        Some(value.split_ascii_whitespace().count() > 1)
    } else if is_named("Cache-Status") {
        Some(unquoted_split(value, ',').any(is_hit_member))
    } else if WORDS.into_iter().any(is_named) {
        Some(value.split(',').any(is_hit_element))
    } else {
        None
    }
}

/// True if a member of Cache-Status has the parameter `hit`.
fn is_hit_member(member: &str) -> bool {
    let mut parameters = unquoted_split(member, ';').skip(1).map(str::trim);
    parameters.any(|parameter| parameter == "hit" || parameter == "hit=?1")
}

/// Splits a structured field at a character that is in no string (RFC 9651, section 3.3.3).
fn unquoted_split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    text.split(move |c: char| {
        if c == '"' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = is_quoted && c == '\\' && !is_escaped;
        c == separator && !is_quoted
    })
}

/// True if an element of a header such as X-Cache reports a hit: `HIT`, `TCP_MEM_HIT from proxy`,
/// `cp1 hit/9`. `NO_HIT` and `hit-for-pass` report a miss.
fn is_hit_element(element: &str) -> bool {
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    // Behind `from`, and in parentheses, is the name of a cache.
    let words = element.split_ascii_whitespace();
    let words = words.take_while(|word| !is(word, "from") && !word.starts_with('('));
    let words = words.filter(|word| !word.contains(['.', ':']));
    let words = words.flat_map(|word| word.split(['_', '-', '/']));
    let mut words = words.peekable();
    let mut is_denied = false;
    while let Some(word) = words.next() {
        let ending = word.len().saturating_sub(3);
        let (before, ending) = word.split_at_checked(ending).unwrap_or((word, ""));
        let is_hit = is(ending, "hit") && !is_denied && !is(before, "no");
        let is_for_later = words.peek().is_some_and(|next| is(next, "for"));
        if is_hit && !is_for_later || is(word, "STALE") || is(word, "UPDATING") {
            return true;
        }
        is_denied = is(word, "no") || is(word, "not");
    }
    false
}

/// The name of the last intermediary on the path of a response, by Via: its program where Via names
/// it in a comment, else its host or pseudonym (RFC 9110, section 7.6.3).
pub fn intermediary(headers: &Headers) -> Option<String> {
    let via = headers.get_all("Via").last()?.trim();
    let (element, comment) = match via.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        Some((element, comment)) => (element.trim(), Some(comment)),
        None => (via, None),
    };
    let last = element.rsplit(',').next()?;
    let host = last.split_ascii_whitespace().nth(1);
    named(comment.or(host)?)
}

/// The name of the cache of a response that [comes from one](is_cached): by the last hit of
/// Cache-Status, by Via, or by other headers of the cache.
pub fn cache_name(headers: &Headers) -> String {
    let cache_status = || {
        let members = headers.get_all("Cache-Status");
        let members = members.flat_map(|value| unquoted_split(value, ','));
        let hits = members.filter(|member| is_hit_member(member));
        let name = unquoted_split(hits.last()?, ';').next()?;
        named(name.trim().trim_matches('"'))
    };
    let x_cache = || named(headers.get("X-Cache")?.split_once(" from ")?.1);
    let known_cache = || {
        let kinds = [("X-Varnish", "Varnish"), ("CF-Cache-Status", "Cloudflare")];
        let found = kinds
            .into_iter()
            .find(|(name, _)| headers.get(name).is_some());
        found.map(|(_, kind)| kind.to_owned())
    };
    let header = || {
        let mut names = headers.iter().map(|(name, _)| name);
        let name = names
            .find(|name| name.eq_ignore_ascii_case("Age") || is_hit(name, "HIT") == Some(true));
        format!("header {}", name.unwrap_or("Age"))
    };
    cache_status()
        .or_else(|| intermediary(headers))
        .or_else(x_cache)
        .or_else(known_cache)
        .unwrap_or_else(header)
}

/// A name as it is reported; `None` if it is empty.
fn named(name: &str) -> Option<String> {
    let mut name = name.trim();
    if name.len() > LONGEST_NAME {
        name = &name[..name.floor_char_boundary(LONGEST_NAME)];
    }
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&str, &str)]) -> Headers {
        all.iter().copied().collect()
    }

    #[test]
    fn a_cached_response_says_so_in_one_of_many_ways() {
        let cases: [(&[(&str, &str)], bool); 42] = [
            (&[], false),
            (&[("Server", "x"), ("Date", "Age: 5")], false),
            (&[("Age", "0")], true),
            (&[("age", "17")], true),
            (&[("Age", "no number")], false),
            // Varnish: a miss has one number, and an Age as well.
            (&[("X-Varnish", "32770"), ("Age", "0")], false),
            (&[("X-Varnish", "5 32771"), ("Age", "0")], true),
            // The cache behind had the response.
            (&[("X-Cache", "MISS"), ("Age", "4")], true),
            (&[("X-Cache", "HIT")], true),
            (&[("X-Cache", "MISS, HIT")], true),
            (&[("X-Cache", "TCP_MEM_HIT from proxy (squid)")], true),
            (&[("X-Cache", "RefreshHit from cloudfront")], true),
            (&[("X-Cache", "Miss from white.example")], false),
            (&[("X-Cache", "Miss from hit.example")], false),
            (&[("X-Cache", "HIT, MISS")], true),
            (&[("X-Cache", "TCP_HIT")], true),
            (&[("X-Cache", "TCP_REMOTE_HIT")], true),
            (&[("X-Cache", "HIT-CLUSTER")], true),
            (&[("X-Cache", "HIT TCP_MEM_HIT dirn:2:-2")], true),
            (&[("X-Cache", "cp1066 miss, cp3052 hit/9")], true),
            (&[("X-Cache", "cp1066 MISS")], false),
            (&[("X-Cache", "CONFIG_NOCACHE")], false),
            (&[("X-Cache", "NO_HIT"), ("Age", "0")], false),
            (&[("X-Cache", "no hit")], false),
            (&[("X-Cache", "NOHIT")], false),
            (&[("X-Cache", "HIT-FOR-PASS")], false),
            (&[("X-Cache", "PRIVATE_NOSTORE")], false),
            (&[("X-Cache", "hït")], false),
            (&[("X-Cache-Status", "HIT")], true),
            (&[("X-Cache-Status", "STALE")], true),
            (&[("X-Cache-Status", "EXPIRED")], false),
            (&[("X-Cache-Status", "")], false),
            (&[("X-Proxy-Cache", "BYPASS")], false),
            (&[("X-Proxy-Cache", "hit")], true),
            (&[("CF-Cache-Status", "DYNAMIC")], false),
            (&[("Cache-Status", "Origin; hit; ttl=1100")], true),
            (&[("Cache-Status", "A; fwd=uri-miss; stored")], false),
            (&[("Cache-Status", "A; fwd=miss, \"the edge\";hit")], true),
            (&[("Cache-Status", "A; hit, B; fwd=miss")], true),
            (&[("Cache-Status", "\"a;hit\\\";hit\"; fwd=miss")], false),
            (&[("Cache-Status", "hit; hit=?0")], false),
            (&[("Via", "1.1 varnish")], false),
        ];
        for (fields, expected) in cases {
            assert_eq!(is_cached(&headers(fields)), expected, "{fields:?}");
        }
    }

    #[test]
    fn intermediaries_have_the_names_that_they_give() {
        let long = format!("1.1 {}", "ü".repeat(40));
        let cases: [(&str, Option<&str>); 8] = [
            ("1.1 varnish", Some("varnish")),
            ("1.1 host.example (Varnish/7.7)", Some("Varnish/7.7")),
            ("1.0 fred, 1.1 p.example:8080", Some("p.example:8080")),
            ("1.1 a (A, of b), HTTP/1.1 c (C/1)", Some("C/1")),
            ("1.1", None),
            ("", None),
            ("1.1 a ()", None),
            (&long, Some(&long[4..68])),
        ];
        for (via, expected) in cases {
            let found = intermediary(&headers(&[("Via", via)]));
            assert_eq!(found.as_deref(), expected, "{via}");
        }
    }

    #[test]
    fn a_cache_without_via_is_named_by_its_own_headers() {
        let cases: [(&[(&str, &str)], &str); 8] = [
            (&[("Age", "3"), ("Via", "1.1 edge")], "edge"),
            // A cached response with the headers of the response that filled the cache.
            (
                &[("Cache-Status", "A; hit, B; hit"), ("Via", "1.1 edge")],
                "B",
            ),
            (
                &[("Cache-Status", "A; fwd=miss, \"the edge\"; hit")],
                "the edge",
            ),
            (&[("X-Cache", "Hit from cloudfront")], "cloudfront"),
            (&[("X-Varnish", "1 2")], "Varnish"),
            (&[("CF-Cache-Status", "HIT")], "Cloudflare"),
            (
                &[("Server", "s"), ("X-Cache-Status", "HIT")],
                "header X-Cache-Status",
            ),
            (&[("Age", "3")], "header Age"),
        ];
        for (fields, expected) in cases {
            assert_eq!(cache_name(&headers(fields)), expected, "{fields:?}");
        }
    }
}
