//! Each warning in one sentence, with advice.
//!
//! The advice depends on what the user already did (after hyperfine, `output/warnings.rs`): a user
//! who measured for a duration is advised to raise that, not the number of requests.

use record::Exhausted;
use stats::{Detail, P99_NEEDS, RunLimit, Share, Warning, WarningKind as Kind};

/// Names that a warning spells out; a longer list is cut with its length.
const NAMED: usize = 3;

/// A warning in one sentence.
pub fn warning(warning: &Warning) -> String {
    fact(warning.kind).to_owned() + &rest(warning)
}

/// How the sentence begins: what happened, where a row can be inconclusive for it.
pub(crate) fn fact(kind: Kind) -> &'static str {
    match kind {
        Kind::Saturated => "the load generator had no idle time",
        Kind::BackgroundEnded => "the background traffic ended before the end of the measurement",
        Kind::BackgroundFlowsFailed => "connections of the background traffic failed",
        Kind::BackgroundUnsent => "sources of the background traffic did not send all of it",
        Kind::BackgroundLate => "sources of the background traffic did not keep their schedules",
        Kind::Busy => "the load generator had little idle time",
        Kind::Queued => "the load generator waited for a processor",
        Kind::Stalled | Kind::TotalStalled => "the load generator stalled",
        Kind::Hiccup => "the load generator stalled once",
        Kind::Late => "the load generator did not keep its schedule",
        Kind::HalfIdle => "users waited in the load generator most of the time",
        Kind::PartlyIdle => "users sometimes waited in the load generator",
        Kind::MissedStamps => "kernel time stamps were missing",
        Kind::Exhausted => "this machine ran out of resources",
        Kind::UsersIdle => "some users completed no operation",
        Kind::NoOverlap => "the users were never all active at the same time",
        Kind::WindowSmall => "less than half of the operations began while all users were active",
        Kind::Bias => "the load generator was slow to wake up",
        Kind::Cached => "responses came from a cache",
        Kind::SeveralAddresses => "several addresses of the server responded",
        Kind::Dropped => "operations were never sent",
        Kind::EarlyResponses => "the server responded before it had the whole request",
        Kind::ClockStepped => "the system clock was set during the run",
        Kind::SharedStamps => "responses share the time at which they began",
        Kind::Resent => "requests were sent again",
        Kind::Reconnects => "most operations opened a new connection",
        Kind::FewForPercentiles => "p99 is the maximum",
        Kind::Orphans => "the run directory is damaged",
        Kind::Recorded => "",
    }
}

/// How the sentence goes on: how much, what follows from it, and what to do.
fn rest(warning: &Warning) -> String {
    let listed = |number: Number| listed(&warning.shares, number);
    let (percents, shares) = (listed(percent), listed(count_of));
    let raise = match warning.detail {
        Detail::Raise(RunLimit::Duration) => "raise --duration",
        Detail::Raise(RunLimit::EarlyEnd) => "let the run end",
        _ => "raise --requests",
    };
    match warning.kind {
        Kind::Exhausted => match warning.detail {
            Detail::RanOut(what) => exhausted(what, &listed(times)),
            _ => exhausted(Exhausted::default(), &listed(times)),
        },
        Kind::BackgroundEnded => format!(
            ": {percents} of the time was measured without it; see the section on background traffic, and \
             repeat the run"
        ),
        Kind::BackgroundFlowsFailed => format!(
            ": {percents} of the time was measured without all of its flows; see the section on background \
             traffic, and repeat the run"
        ),
        Kind::BackgroundUnsent => format!(
            ": {shares} blocks were too late, more than was agreed, or refused by this machine; lower the \
             background load, or use a stronger machine for its sources"
        ),
        Kind::BackgroundLate => format!(
            ": blocks were sent late by {} (p99, at most 10 ms is tolerated); stop other programs, lower the \
             background load, or use a stronger machine for its sources",
            listed(milliseconds)
        ),
        Kind::Saturated => format!(
            " ({percents} of the time of its worker threads used or wanted): these figures do \
             not describe the server; lower the load, or use a stronger machine"
        ),
        Kind::Busy => format!(
            " ({percents} of the time of its worker threads used or wanted): operations waited for \
             each other in it; lower the load"
        ),
        Kind::Queued => format!(
            " ({percents} of its time): the server or another program used this machine; use another \
             machine"
        ),
        Kind::Stalled => format!(
            ": this may be part of these estimates: {percents}; stop other programs, or use another \
             machine"
        ),
        Kind::TotalStalled => format!(
            ": this may be part of these total times: {percents}; response times hardly contain it"
        ),
        Kind::Hiccup => format!(
            " for {}: the slowest times may contain it; repeat the run, or measure longer",
            listed(milliseconds)
        ),
        Kind::Late => format!(
            ": operations began late by {} (p99), which is part of their latencies; lower the rate, or \
             stop other programs",
            listed(milliseconds_of)
        ),
        Kind::HalfIdle | Kind::PartlyIdle => format!(
            ": operations in progress, of those that should have been: {percents} on average; stop other programs, \
             or lower --concurrency"
        ),
        Kind::MissedStamps => format!(
            ": these operations have no response time: {shares}; check the driver of the network card, \
             or measure with --clock user"
        ),
        Kind::ClockStepped => format!(
            " ({} times): operations in progress have no response time; repeat the run",
            count(&warning.detail)
        ),
        Kind::Bias => format!(
            ": a user-space clock would have over-reported by {} (p99); the times here do not contain \
             it",
            listed(milliseconds)
        ),
        Kind::UsersIdle => format!(
            ": nothing was measured with all users active: {shares} users; look for failures in the \
             set-up"
        ),
        Kind::NoOverlap => {
            format!(": {shares} operations count; {raise}, or lower --concurrency")
        }
        Kind::WindowSmall => format!(": {shares}; {raise}"),
        Kind::EarlyResponses => format!(
            ": these operations have no response time: {shares}; compare total times instead"
        ),
        Kind::SharedStamps => format!(
            " with the response before them on their connection, because they arrived in one segment or were \
             read together: {shares}; response times of single requests need --pipeline 1"
        ),
        Kind::Resent => format!(
            ", outside the measured times, because the server had closed the connection (or a Digest nonce \
             had expired): {shares}; check the server's limits"
        ),
        Kind::Reconnects => format!(
            ": {shares}; the server closes connections, so total times contain connecting (response \
             times do not)"
        ),
        Kind::Cached => format!(
            "{}: {shares}; their times are those of the cache, not of the server behind it; measure that one \
             directly (docs/guides/behind-a-proxy.md)",
            in_brackets(&warning.detail)
        ),
        Kind::SeveralAddresses => format!(
            "{}; not from the most used one: {shares}; these may be several servers, and their times are in \
             one row; --resolve measures one",
            in_brackets(&warning.detail)
        ),
        Kind::Dropped if warning.detail == Detail::OpenLoop => format!(
            ", because the server could not keep up with the rate and too many operations were \
             waiting: {shares}; times describe the other operations only; lower the rate, or raise \
             --users or --max-waiting"
        ),
        Kind::Dropped => format!(
            ", because an earlier step did not yield what they need, or because this machine could not \
             keep up: {shares}"
        ),
        Kind::FewForPercentiles => {
            format!(" of fewer than {P99_NEEDS} operations: {shares}; {raise}")
        }
        Kind::Orphans => format!(
            ": {} samples belong to no row of the plan, and are not counted",
            count(&warning.detail)
        ),
        Kind::Recorded => match &warning.detail {
            Detail::Text(text) => text.clone(),
            _ => String::new(),
        },
    }
}

fn count(detail: &Detail) -> u64 {
    match detail {
        Detail::Count(count) => *count,
        _ => 0,
    }
}

fn in_brackets(detail: &Detail) -> String {
    match detail {
        Detail::Text(names) if !names.is_empty() => format!(" ({names})"),
        _ => String::new(),
    }
}

fn exhausted(what: Exhausted, tests: &str) -> String {
    let resources = [
        (
            what.ports,
            "local ports",
            "keep connections, or widen net.ipv4.ip_local_port_range",
        ),
        (what.files, "open files", "raise the limit (ulimit -n)"),
        (
            what.buffers,
            "memory for sockets",
            "lower --concurrency, or raise net.ipv4.tcp_mem",
        ),
    ];
    let ran_out = resources.iter().filter(|(times, ..)| *times > 0);
    let ran_out =
        ran_out.map(|(times, resource, advice)| format!("{resource} ({times} times): {advice}"));
    let ran_out: Vec<String> = ran_out.collect();
    let tests = match tests {
        "" => String::new(),
        tests => format!(" (in {tests})"),
    };
    format!(": {}{tests}", ran_out.join("; "))
}

/// How the number of a share is written after its name.
type Number = fn(&Share) -> String;

fn count_of(share: &Share) -> String {
    format!("{} of {}", share.count, share.of)
}

fn percent(share: &Share) -> String {
    format!("{:.0} %", share.percent())
}

fn times(share: &Share) -> String {
    format!("{} times", share.count)
}

fn milliseconds(share: &Share) -> String {
    format!("{:.2} ms", share.count as f64 / 1e6)
}

fn milliseconds_of(share: &Share) -> String {
    format!("{} of {:.2} ms", milliseconds(share), share.of as f64 / 1e6)
}

/// Shares in words, the first few of them: `Put1K 3 of 10, Get1K 1 of 10 and 4 more`.
fn listed(shares: &[Share], number: Number) -> String {
    let named = shares.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|share| format!("{} {}", share.name, number(share)))
        .collect();
    let more = match shares.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join(", ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(name: &str) -> Share {
        Share {
            name: name.to_owned(),
            count: 2_000_000,
            of: 8_000_000,
        }
    }

    #[test]
    fn every_kind_has_a_sentence_that_names_what_it_is_about() {
        for kind in Kind::all() {
            let shares = match kind.subject() {
                stats::WarningSubject::Run => Vec::new(),
                _ => vec![share("Upload")],
            };
            let is_named = !shares.is_empty();
            let mut one = Warning::of(kind, shares);
            one.detail = match kind {
                Kind::Recorded => Detail::Text("a word".to_owned()),
                _ => Detail::Count(7),
            };
            let text = warning(&one);
            assert!(text.len() > 5 && !text.ends_with('.'), "{kind:?}: {text}");
            assert_eq!(text.contains("Upload 2"), is_named, "{kind:?}: {text}");
        }
    }

    #[test]
    fn what_the_user_did_decides_what_is_to_be_raised() {
        let raise = |limit| {
            let mut one = Warning::of(Kind::WindowSmall, vec![share("Upload")]);
            one.detail = Detail::Raise(limit);
            warning(&one)
        };
        assert!(raise(RunLimit::Requests).ends_with("raise --requests"));
        assert!(raise(RunLimit::Duration).ends_with("raise --duration"));
        assert!(raise(RunLimit::EarlyEnd).ends_with("let the run end"));
    }

    #[test]
    fn a_warning_about_many_rows_names_three() {
        let shares = ["A", "B", "C", "D", "E"].map(share).to_vec();
        let text = warning(&Warning::of(Kind::Saturated, shares));
        let named = "(A 25 %, B 25 %, C 25 % and 2 more of the time";
        assert!(text.contains(named), "{text}");
    }

    #[test]
    fn only_what_ran_out_is_named() {
        let mut one = Warning::of(Kind::Exhausted, vec![share("Upload")]);
        one.detail = Detail::RanOut(Exhausted {
            ports: 7,
            files: 0,
            buffers: 2,
        });
        let text = warning(&one);
        assert!(
            text.starts_with("this machine ran out of resources: local ports (7 times): keep"),
            "{text}"
        );
        assert!(text.contains("; memory for sockets (2 times): "), "{text}");
        assert!(
            !text.contains("open files") && text.ends_with("(in Upload 2000000 times)"),
            "{text}"
        );
    }

    #[test]
    fn who_drops_operations_is_said() {
        let mut one = Warning::of(Kind::Dropped, vec![share("Get1K")]);
        assert!(warning(&one).contains("an earlier step"));
        one.detail = Detail::OpenLoop;
        assert!(warning(&one).contains("could not keep up with the rate"));
    }

    #[test]
    fn lateness_stands_beside_the_time_that_contains_it() {
        let text = warning(&Warning::of(Kind::Late, vec![share("Put1K")]));
        assert!(text.contains("Put1K 2.00 ms of 8.00 ms (p99)"), "{text}");
    }
}
