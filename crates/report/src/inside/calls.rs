//! System calls of operations in words.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::{AsyncInterface, CallTarget, TracedCall, TracedRow};
use stats::TracedShares;
use stats::units::human;
use stats::{InsideRow, TestSummary, slowed, tells_shares};

use super::{amount, count};
use crate::clean;
use crate::figure::percent;

pub(crate) const HEADING: &str = "System calls per operation, in a pass of its own in which the server was traced (all of them: --layout calls)";

/// Most targets of a row that are listed, and most calls of each.
const MOST_TARGETS: usize = 4;
const MOST_CALLS: usize = 6;

/// Shares of the time below which a call has its number only.
const LEAST_SHARE: f64 = 0.01;

/// Calls of an operation below which a kind is not listed: mostly those of background work.
pub(super) const LEAST_OFTEN: f64 = 0.1;

/// Calls that wait for time, in threads that do it always.
const SLEEPING: [&str; 2] = ["nanosleep", "clock_nanosleep"];

/// Calls that reveal little about the work of a server: they wait for requests, end what others
/// have begun, or serve the program itself.
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

/// Calls that wait for a disk, or change names on it: they are listed first.
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

/// Shares that are large enough to show: `of the time: fsync 36 %, files 4 %`.
fn shares_in_words(shares: &TracedShares) -> Option<String> {
    let words = shares_by_name(shares);
    (!words.is_empty()).then(|| format!("of the time: {}", words.join(", ")))
}

/// Shares that are large enough to show: `fsync 36 %`.
pub(super) fn shares_by_name(shares: &TracedShares) -> Vec<String> {
    let parts = [
        (shares.sync, "fsync"),
        (shares.files, "files"),
        (shares.locks, "locks"),
        (shares.others, "other processes"),
        (shares.queued.unwrap_or(0.0), "run queue"),
    ];
    let shown = parts.into_iter().filter(|(share, _)| *share >= LEAST_SHARE);
    shown
        .map(|(share, name)| format!("{name} {}", percent(share)))
        .collect()
}

/// The parts of the time of a row, and its most important calls, by target:
/// `of the time: fsync 36 %; lock/DAVLock: 2 fdatasync (2.7 ms, 36 %), 3 openat`.
pub(crate) fn calls_in_words(row: &InsideRow, users: u32, test: &TestSummary) -> Option<String> {
    let traced = row.traced.as_ref()?;
    let slowed = slowed(traced, users, test);
    Some(words(traced, slowed, row.shares(users, test)))
}

fn words(traced: &TracedRow, slowed: Option<f64>, shares: Option<TracedShares>) -> String {
    let row = CallsOfRow {
        operations: traced.operations.max(1) as f64,
        time: traced.took as f64 / traced.ok.max(1) as f64,
        tells_shares: tells_shares(slowed),
    };
    let mut targets: BTreeMap<&CallTarget, Vec<&TracedCall>> = BTreeMap::new();
    for call in &traced.calls {
        let is_seldom = (call.count as f64) < LEAST_OFTEN * row.operations;
        if !ORDINARY.contains(&call.call.as_str()) && !is_seldom {
            targets.entry(&call.target).or_default().push(call);
        }
    }
    let mut targets: Vec<_> = targets.into_iter().collect();
    targets.sort_by_key(|(_, calls)| Reverse(calls.iter().map(|call| weight(call)).max()));
    let texts = targets
        .iter()
        .take(MOST_TARGETS)
        .map(|(target, calls)| row.target_text(target, calls));
    let shares = shares.as_ref().and_then(shares_in_words);
    let mut text = shares
        .into_iter()
        .chain(texts)
        .collect::<Vec<_>>()
        .join("; ");
    match targets.len().saturating_sub(MOST_TARGETS) {
        0 => {}
        1 => text += "; one further target",
        more => text += &format!("; {more} further targets"),
    }
    if let Some(why) = no_times(slowed) {
        text += &format!(" (no times: {why})");
    }
    clean(&text)
}

/// The reason why shares of a row's time are not shown, where it is known by how much tracing
/// slowed it down.
pub(super) fn no_times(slowed: Option<f64>) -> Option<String> {
    let factor = slowed.filter(|_| !tells_shares(slowed))?;
    Some(if factor > 1.0 {
        format!("with tracing, an operation takes {factor:.2} times as long")
    } else {
        "without tracing, operations took longer, so something else was at work".to_owned()
    })
}

/// Figures of a row with which its calls are compared.
struct CallsOfRow {
    operations: f64,
    /// Response time of an operation while traced, in nanoseconds.
    time: f64,
    tells_shares: bool,
}

impl CallsOfRow {
    fn target_text(&self, target: &CallTarget, calls: &[&TracedCall]) -> String {
        let mut calls = calls.to_vec();
        calls.sort_by_key(|call| Reverse(weight(call)));
        let texts = calls
            .iter()
            .take(MOST_CALLS)
            .map(|call| self.call_text(call));
        let mut words = texts.collect::<Vec<_>>().join(", ");
        if calls.len() > MOST_CALLS {
            words += ", ...";
        }
        match name_of(target) {
            "" => words,
            name => format!("{name}: {words}"),
        }
    }

    fn call_text(&self, call: &TracedCall) -> String {
        let number = count(call.count as f64 / self.operations);
        let mut words = format!("{number} {}", call_name(call));
        let mut more = Vec::new();
        if call.failed >= call.count {
            more.push("fails".to_owned());
        }
        if call.bytes > 0 {
            more.push(amount(call.bytes as f64 / self.operations));
        }
        let lasted = call.lasted as f64 / self.operations;
        let share = lasted / self.time;
        let is_asleep = SLEEPING.contains(&call.call.as_str());
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

/// Order of calls in a list: calls that wait for a disk, those that lasted, then the most frequent
/// ones.
pub(super) fn weight(call: &TracedCall) -> (bool, u64, u64) {
    let is_telling = call.synchronous || TELLING.contains(&call.call.as_str());
    (is_telling, call.lasted, call.count)
}

/// Name of a call: `futex`, `futex for a lock`, `synchronous pwrite64`.
pub(super) fn call_name(call: &TracedCall) -> String {
    let manner = if call.synchronous { "synchronous " } else { "" };
    let reason = if call.for_lock { " for a lock" } else { "" };
    format!("{manner}{}{reason}", call.call)
}

/// The remark about numbers of calls where the server makes others that are not seen.
pub(crate) fn unknown_calls(by: AsyncInterface) -> String {
    format!("unknown: the server uses {}", by.name())
}

/// Name of a target in a sentence.
pub(crate) fn name_of(target: &CallTarget) -> &str {
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
            bytes,
            lasted,
            ..stats::testing::traced_call(call, target, count)
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
                TracedCall {
                    synchronous: true,
                    ..call("pwrite64", locks(), 2, 8_192, 0)
                },
                TracedCall {
                    for_lock: true,
                    ..call("futex", CallTarget::Nothing, 1, 0, 10_000)
                },
            ],
            other_calls: 0,
        }
    }

    #[test]
    fn calls_are_told_by_target_with_their_shares() {
        let shares = TracedShares {
            sync: 0.4,
            files: 0.055,
            locks: 0.009,
            others: 0.0,
            queued: Some(0.02),
        };
        let text = words(&traced(10_000_000), Some(1.11), Some(shares));
        assert_eq!(
            text,
            "of the time: fsync 40 %, files 5.5 %, run queue 2 %; lock/DAVLock: 2 fdatasync (4.00 ms, 40 %), \
             1 synchronous pwrite64 (4.0 KiB), 3 openat (100 µs, 1 %); \
             0.50 futex for a lock; client: 1 read (200 B)"
        );
        let nothing = TracedShares::default();
        let text = words(&traced(10_000_000), Some(1.11), Some(nothing));
        assert!(!text.contains("of the time"), "{text}");
    }

    #[test]
    fn times_of_the_tracing_are_not_told_as_those_of_the_server() {
        let text = words(&traced(10_000_000), Some(2.0), None);
        assert_eq!(
            text,
            "lock/DAVLock: 2 fdatasync, 1 synchronous pwrite64 (4.0 KiB), 3 openat; 0.50 futex for a lock; client: 1 read (200 B) (no times: with tracing, an \
             operation takes 2.00 times as long)"
        );
        let text = words(&traced(10_000_000), Some(0.33), None);
        assert!(
            text.contains("something else was at work") && !text.contains('%'),
            "{text}"
        );
        let without = words(&traced(10_000_000), None, None);
        assert!(!without.contains('%'), "{without}");
        let failed = TracedRow {
            ok: 0,
            median: 0,
            ..traced(0)
        };
        assert!(!words(&failed, None, None).contains('%'));
    }
}
