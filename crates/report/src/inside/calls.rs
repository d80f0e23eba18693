//! System calls of operations in words.

use record::{CallTarget, TracedCall, TracedRow};
use stats::TestSummary;
use stats::units::human;

use super::{amount, count};
use crate::clean;
use crate::figure::percent;

/// What stands above them.
pub(crate) const HEADING: &str =
    "System calls per operation, in a pass of its own in which the server was traced:";

/// Most kinds of calls of a row that are told.
const MOST_KINDS: usize = 8;

/// Slow-down by tracing, as a factor, from which shares of the time are not told: they would be those of the tracing.
const MOST_SLOWED: f64 = 1.2;

/// Calls that say nothing of what a server does: they wait for requests, or serve the program itself.
const ORDINARY: [&str; 12] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_ctl",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "rt_sigprocmask",
    "rt_sigaction",
    "gettid",
    "getpid",
];

/// By how much tracing slowed an operation down; `None` where one of both times is not known.
pub(crate) fn slowed(traced: &TracedRow, test: &TestSummary) -> Option<f64> {
    let timed = test.response.as_ref()?.mean;
    let own = traced.response_time as f64 / traced.ok as f64;
    (traced.ok > 0 && timed > 0.0).then_some(own / timed)
}

/// The calls of a row that say most: those that lasted, then the most frequent ones.
pub(crate) fn calls_in_words(traced: &TracedRow, test: &TestSummary) -> String {
    let operations = traced.operations.max(1) as f64;
    let slowed = slowed(traced, test);
    let tells_shares = slowed.is_some_and(|factor| factor <= MOST_SLOWED);
    let time = traced.response_time as f64 / traced.ok.max(1) as f64;
    let mut calls: Vec<&TracedCall> = traced
        .calls
        .iter()
        .filter(|own| !ORDINARY.contains(&own.call.as_str()))
        .collect();
    calls.sort_by_key(|own| std::cmp::Reverse((own.lasted, own.count)));
    let words = calls.iter().take(MOST_KINDS).map(|own| {
        let mut words = format!(
            "{} {} {}",
            count(own.count as f64 / operations),
            own.call,
            of(&own.target)
        );
        if own.bytes > 0 {
            words += &format!(" ({})", amount(own.bytes as f64 / operations));
        }
        let lasted = own.lasted as f64 / operations;
        if tells_shares && lasted > 0.0 {
            words += &format!(
                ", {} or {} of the time",
                human(lasted),
                percent((lasted / time).min(1.0))
            );
        }
        words
    });
    let mut text = words.collect::<Vec<_>>().join("; ");
    let rest = calls.len().saturating_sub(MOST_KINDS);
    if rest > 0 {
        text += &format!("; {rest} further kinds");
    }
    if let Some(factor) = slowed.filter(|_| !tells_shares) {
        text += &format!(" (no times: tracing made an operation {factor:.1} times as long)");
    }
    clean(&text)
}

fn of(target: &CallTarget) -> String {
    match target {
        CallTarget::Collection => "in the collection".to_owned(),
        CallTarget::File { path } => format!("of {path}"),
        CallTarget::Client => "of the client's connection".to_owned(),
        CallTarget::Socket { peer } if peer.is_empty() => "of another socket".to_owned(),
        CallTarget::Socket { peer } => format!("with {peer}"),
        CallTarget::Event => "of an event or a pipe".to_owned(),
        CallTarget::Nothing => String::new(),
    }
}
