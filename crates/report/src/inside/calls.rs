//! System calls of operations in words.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::{CallTarget, TracedCall, TracedRow};
use stats::units::human;

use super::{amount, count};
use crate::clean;
use crate::figure::percent;

/// What stands above them.
pub(crate) const HEADING: &str =
    "System calls per operation, in a pass of its own in which the server was traced:";

/// Most targets of a row that are told, and most calls of each.
const MOST_TARGETS: usize = 4;
const MOST_CALLS: usize = 6;

/// Slow-down by tracing, as a factor, from which shares of the time are not told: they would be those of the tracing.
const MOST_SLOWED: f64 = 1.2;

/// Shares of the time below which a call has its number only.
const LEAST_SHARE: f64 = 0.01;

/// Calls of an operation below which a kind is not told: what runs in the background, mostly.
const LEAST_OFTEN: f64 = 0.1;

/// Calls that wait for time, in threads that do it always.
const SLEEPING: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// Calls that say little of what a server does: they wait for requests, end what others have begun, or serve the program
/// itself.
const ORDINARY: [&str; 14] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_ctl",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "close",
    "rt_sigprocmask",
    "rt_sigaction",
    "gettid",
    "getpid",
    "getrandom",
];

/// Calls that wait for a disk, or change names on it: they are told first.
const TELLING: [&str; 12] = [
    "fsync",
    "fdatasync",
    "sync_file_range",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "rmdir",
    "link",
    "symlink",
];

/// By how much tracing slowed an operation down, of which `timed` is the median time without it, from its beginning to the
/// end of its response; `None` where one of both times is not known.
pub(crate) fn slowed(traced: &TracedRow, timed: Option<f64>) -> Option<f64> {
    let timed = timed.filter(|timed| traced.ok > 0 && *timed > 0.0)?;
    Some(traced.median as f64 / timed)
}

/// The calls of a row that say most, by target: `lock/DAVLock: 2 fdatasync (2.7 ms, 36 %), 3 openat`.
pub(crate) fn calls_in_words(traced: &TracedRow, timed: Option<f64>) -> String {
    let slowed = slowed(traced, timed);
    let row = CallsOfRow {
        operations: traced.operations.max(1) as f64,
        time: traced.took as f64 / traced.ok.max(1) as f64,
        // Where the timed operations were slower than the traced ones, something else was at work.
        tells_shares: slowed
            .is_some_and(|factor| (1.0 / MOST_SLOWED..=MOST_SLOWED).contains(&factor)),
    };
    let mut targets: BTreeMap<&CallTarget, Vec<&TracedCall>> = BTreeMap::new();
    for own in &traced.calls {
        let is_seldom = (own.count as f64) < LEAST_OFTEN * row.operations;
        if !ORDINARY.contains(&own.call.as_str()) && !is_seldom {
            targets.entry(&own.target).or_default().push(own);
        }
    }
    let mut targets: Vec<_> = targets.into_iter().collect();
    targets.sort_by_key(|(_, calls)| Reverse(calls.iter().map(|own| weight(own)).max()));
    let told = targets
        .iter()
        .take(MOST_TARGETS)
        .map(|(target, calls)| row.of_target(target, calls));
    let mut text = told.collect::<Vec<_>>().join("; ");
    match targets.len().saturating_sub(MOST_TARGETS) {
        0 => {}
        1 => text += "; one further target",
        more => text += &format!("; {more} further targets"),
    }
    match slowed {
        _ if row.tells_shares => {}
        Some(factor) if factor > 1.0 => {
            text +=
                &format!(" (no times: with tracing, an operation takes {factor:.2} times as long)");
        }
        Some(_) => {
            text += " (no times: without tracing, operations took longer, so something else was at work)"
        }
        None => {}
    }
    clean(&text)
}

/// What calls of a row are set against.
struct CallsOfRow {
    operations: f64,
    /// Response time of an operation while traced, in nanoseconds.
    time: f64,
    tells_shares: bool,
}

impl CallsOfRow {
    fn of_target(&self, target: &CallTarget, calls: &[&TracedCall]) -> String {
        let mut calls = calls.to_vec();
        calls.sort_by_key(|own| Reverse(weight(own)));
        let told = calls.iter().take(MOST_CALLS).map(|own| self.of_call(own));
        let mut words = told.collect::<Vec<_>>().join(", ");
        if calls.len() > MOST_CALLS {
            words += ", ...";
        }
        match name_of(target) {
            "" => words,
            name => format!("{name}: {words}"),
        }
    }

    fn of_call(&self, own: &TracedCall) -> String {
        let mut words = format!("{} {}", count(own.count as f64 / self.operations), own.call);
        let mut more = Vec::new();
        if own.failed >= own.count {
            more.push("fails".to_owned());
        }
        if own.bytes > 0 {
            more.push(amount(own.bytes as f64 / self.operations));
        }
        let lasted = own.lasted as f64 / self.operations;
        let share = lasted / self.time;
        let is_asleep = SLEEPING.contains(&own.call.as_str());
        if self.tells_shares && share >= LEAST_SHARE && !is_asleep {
            more.push(human(lasted));
            more.push(percent(share.min(1.0)));
        }
        if !more.is_empty() {
            words += &format!(" ({})", more.join(", "));
        }
        words
    }
}

/// What is told first: calls that wait for a disk, those that lasted, then the most frequent ones.
fn weight(own: &TracedCall) -> (bool, u64, u64) {
    (TELLING.contains(&own.call.as_str()), own.lasted, own.count)
}

fn name_of(target: &CallTarget) -> &str {
    match target {
        CallTarget::Collection => "collection",
        CallTarget::File { path } => path,
        CallTarget::Client => "client",
        CallTarget::Socket { peer } if peer.is_empty() || peer == "@" => "another socket",
        CallTarget::Socket { peer } => peer,
        CallTarget::Event => "events and pipes",
        CallTarget::Nothing => "",
    }
}

#[cfg(test)]
mod tests {
    use record::MeasureId;

    use super::*;

    fn call(call: &str, target: CallTarget, count: u64, bytes: u64, lasted: u64) -> TracedCall {
        TracedCall {
            call: call.to_owned(),
            target,
            count,
            failed: 0,
            bytes,
            lasted,
        }
    }

    fn traced(median: u64) -> TracedRow {
        let locks = || CallTarget::File {
            path: "lock/DAVLock".to_owned(),
        };
        TracedRow {
            measure: MeasureId(0),
            operations: 2,
            took: 2 * median,
            median,
            ok: 2,
            calls: vec![
                call("openat", locks(), 6, 0, 200_000),
                call("read", CallTarget::Client, 2, 400, 0),
                call("close", locks(), 6, 0, 900_000),
                call("fdatasync", locks(), 4, 0, 8_000_000),
                call("futex", CallTarget::Nothing, 1, 0, 10_000),
            ],
            other_calls: 0,
        }
    }

    #[test]
    fn calls_are_told_by_target_with_their_shares() {
        let words = calls_in_words(&traced(10_000_000), Some(9_000_000.0));
        assert_eq!(
            words,
            "lock/DAVLock: 2 fdatasync (4.00 ms, 40 %), 3 openat (100 µs, 1 %); 0.50 futex; client: 1 read (200 B)"
        );
    }

    #[test]
    fn times_of_the_tracing_are_not_told_as_those_of_the_server() {
        let words = calls_in_words(&traced(10_000_000), Some(5_000_000.0));
        assert_eq!(
            words,
            "lock/DAVLock: 2 fdatasync, 3 openat; 0.50 futex; client: 1 read (200 B) (no times: with tracing, an operation \
             takes 2.00 times as long)"
        );
        let words = calls_in_words(&traced(10_000_000), Some(30_000_000.0));
        assert!(
            words.contains("something else was at work") && !words.contains('%'),
            "{words}"
        );
        let without = calls_in_words(&traced(10_000_000), None);
        assert!(!without.contains('%'), "{without}");
        let failed = TracedRow {
            ok: 0,
            median: 0,
            ..traced(0)
        };
        assert!(!calls_in_words(&failed, Some(1.0)).contains('%'));
    }
}
