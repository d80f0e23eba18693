//! What responses say of caches and proxies between a client and the server.
//!
//! | header | served by a cache |
//! |---|---|
//! | Cache-Status (RFC 9211) | a member has the parameter `hit` |
//! | X-Cache, X-Cache-Status, X-Proxy-Cache, CF-Cache-Status | an element begins with a word that ends in `hit`, or with `STALE` or `UPDATING` |
//! | X-Varnish | it has two numbers: of this request, and of the one that filled the cache |
//! | Age (RFC 9111, section 5.1) | it is above 0, or 0 and no header above says that the cache had nothing |
//!
//! Varnish sends `Age: 0` with responses that it has just fetched, therefore the last line.

use super::Headers;

/// Longest name of an intermediary, in bytes.
const LONGEST_NAME: usize = 64;

/// Whether a response says that it comes from a cache. Without such headers it costs a look at the lengths of header
/// names.
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

/// Whether a header of a cache says that the cache had the response; `None` of all other headers.
fn is_hit(name: &str, value: &str) -> Option<bool> {
    const WORDS: [&str; 4] = [
        "X-Cache",
        "X-Cache-Status",
        "X-Proxy-Cache",
        "CF-Cache-Status",
    ];
    let is_named = |own: &str| name.eq_ignore_ascii_case(own);
    if is_named("X-Varnish") {
        Some(value.split_ascii_whitespace().count() > 1)
    } else if is_named("Cache-Status") {
        let mut parameters = value.split([';', ',']).map(str::trim);
        Some(parameters.any(|own| own == "hit" || own == "hit=?1"))
    } else if WORDS.into_iter().any(is_named) {
        Some(value.split(',').any(is_hit_word))
    } else {
        None
    }
}

/// Whether an element of a header such as X-Cache means that a cache had the response: `HIT`, `TCP_MEM_HIT from proxy`.
fn is_hit_word(element: &str) -> bool {
    let word = element.split_ascii_whitespace().next().unwrap_or_default();
    let ending = word.len().saturating_sub(3);
    let is_hit = word
        .get(ending..)
        .is_some_and(|end| end.eq_ignore_ascii_case("hit"));
    is_hit || word.eq_ignore_ascii_case("STALE") || word.eq_ignore_ascii_case("UPDATING")
}

/// The name of the last intermediary that a response has passed, by Via: its program where Via names it in a comment,
/// else its host or pseudonym (RFC 9110, section 7.6.3).
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

/// The name of the cache of a response that [comes from one](is_cached): that of the intermediary, or what the headers
/// of the cache tell.
pub fn cache_name(headers: &Headers) -> String {
    let of_cache_status = || {
        let value = headers.get("Cache-Status")?;
        let is_hit = |member: &&str| is_hit("Cache-Status", member) == Some(true);
        let member = value.split(',').find(is_hit)?;
        named(member.split(';').next()?.trim().trim_matches('"'))
    };
    let of_x_cache = || named(headers.get("X-Cache")?.split_once(" from ")?.1);
    let of_kind = || {
        let kinds = [("X-Varnish", "Varnish"), ("CF-Cache-Status", "Cloudflare")];
        let found = kinds
            .into_iter()
            .find(|(name, _)| headers.get(name).is_some());
        found.map(|(_, kind)| kind.to_owned())
    };
    let of_header = || {
        let mut names = headers.iter().map(|(name, _)| name);
        let name = names
            .find(|name| name.eq_ignore_ascii_case("Age") || is_hit(name, "HIT") == Some(true));
        format!("header {}", name.unwrap_or("Age"))
    };
    intermediary(headers)
        .or_else(of_cache_status)
        .or_else(of_x_cache)
        .or_else(of_kind)
        .unwrap_or_else(of_header)
}

/// A name as it is reported, where there is one.
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
        let cases: [(&[(&str, &str)], bool); 24] = [
            (&[], false),
            (&[("Server", "x"), ("Date", "Age: 5")], false),
            (&[("Age", "0")], true),
            (&[("age", "17")], true),
            (&[("Age", "no number")], false),
            // Varnish: a miss has one number, and an Age as well.
            (&[("X-Varnish", "32770"), ("Age", "0")], false),
            (&[("X-Varnish", "5 32771"), ("Age", "0")], true),
            // The cache behind had it.
            (&[("X-Cache", "MISS"), ("Age", "4")], true),
            (&[("X-Cache", "HIT")], true),
            (&[("X-Cache", "MISS, HIT")], true),
            (&[("X-Cache", "TCP_MEM_HIT from proxy (squid)")], true),
            (&[("X-Cache", "RefreshHit from cloudfront")], true),
            (&[("X-Cache", "Miss from white.example")], false),
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
        let cases: [(&[(&str, &str)], &str); 7] = [
            (&[("Age", "3"), ("Via", "1.1 edge")], "edge"),
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
