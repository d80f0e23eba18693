//! Work of the server for an operation, where it was traced: waits for a disk, for locks, for other
//! processes; the same work for each member, or again and again.
//!
//! Numbers of calls are exact, of the few operations that were traced. Shares of the time are those
//! of the traced operations, and are believed only where tracing did not change how long they take
//! ([`crate::inside::tells_shares`]).

use std::collections::BTreeMap;

use constraint::StorageCall;
use record::{CallTarget, TracedCall, TracedRow};

use super::{Detection, Detector, DiagnosisRule};
use crate::diagnose::case::{Case, SizeUnit, SoundRow, families};
use crate::diagnose::figure::{Evidence, NamedQuantity, bytes, count, share, text, time};
use crate::inside::storage::{is_flush, storage_kind, storage_kinds};
use crate::inside::{slowed, tells_shares};

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "waits-for-disk",
        // of the time of an operation, while traced: of less, a faster disk changes little.
        at_least: 0.3,
        figures: &["row", "calls", "each", "share"],
        find: Detector::Once(waits_for_disk),
    },
    DiagnosisRule {
        name: "waits-for-locks",
        // of the time of an operation of a single user, while traced: a thread that passes an
        // operation to another one waits for a small part of it.
        at_least: 0.5,
        figures: &["row", "calls", "each", "share"],
        find: Detector::Once(waits_for_locks),
    },
    DiagnosisRule {
        name: "waits-for-others",
        // responses of another process for one operation; a database needs one for a query and one
        // for a transaction around it.
        at_least: 4.0,
        figures: &["row", "calls", "peer", "bytes", "share"],
        find: Detector::Once(waits_for_others),
    },
    DiagnosisRule {
        name: "calls-per-member",
        // calls on the storage for each member of a collection that is listed; one stat has the
        // properties of a file.
        at_least: 2.0,
        figures: &["row", "calls", "members"],
        find: Detector::Once(calls_per_member),
    },
    DiagnosisRule {
        name: "whole-file",
        // bytes of a file of the server's own that an operation reads and writes, and some of both;
        // an entry of a database needs a few pages of 4 KiB.
        at_least: 262_144.0,
        figures: &["row", "file", "read", "written"],
        find: Detector::Once(whole_file),
    },
    DiagnosisRule {
        name: "moves-by-copying",
        // names that a MOVE removes while it renames none.
        at_least: 1.0,
        figures: &["row", "removed", "written"],
        find: Detector::Once(moves_by_copying),
    },
    DiagnosisRule {
        name: "opens-again",
        // times that an operation opens the same file of the server; to read and to write is usual.
        at_least: 4.0,
        figures: &["row", "file", "calls"],
        find: Detector::Once(opens_again),
    },
];

/// Calls that receive data.
const RECEIVES: [&str; 8] = [
    "read", "readv", "pread64", "recv", "recvfrom", "recvmsg", "recvmmsg", "preadv",
];
/// Bytes from which the other side of "read and written" is one.
const BOTH_WAYS: f64 = 4096.0;
/// Part of a call for each member from which it is named.
const NAMED: f64 = 0.5;

struct CountedCalls<'a> {
    row: SoundRow<'a>,
    traced: &'a TracedRow,
}

impl<'a> CountedCalls<'a> {
    fn all(case: &Case<'a>) -> Vec<CountedCalls<'a>> {
        case.rows().filter_map(CountedCalls::of).collect()
    }

    fn of(row: SoundRow<'a>) -> Option<CountedCalls<'a>> {
        let inside = row.material.summary.inside_of(row.name())?;
        let traced = inside.traced_calls()?;
        Some(CountedCalls { row, traced })
    }

    fn each(&self, sum: u64) -> f64 {
        sum as f64 / self.traced.operations as f64
    }

    /// Calls that are chosen, for an operation: how many, and how long they took.
    fn calls(&self, is_chosen: impl Fn(&TracedCall) -> bool) -> (f64, f64) {
        let chosen = self.traced.calls.iter().filter(|call| is_chosen(call));
        let (count, lasted) = chosen.fold((0, 0), |(count, lasted), call| {
            (count + call.count, lasted + call.lasted)
        });
        (self.each(count), self.each(lasted))
    }

    fn on_storage(&self, kind: StorageCall) -> f64 {
        self.calls(|call| storage_kinds(call).any(|of| of == kind))
            .0
    }

    /// The share of the time of an operation in it; `None` where tracing changed the time.
    fn share_of_time(&self, lasted: f64) -> Option<f64> {
        let users = self.row.plan().load.users;
        let operation = self.traced.took as f64 / self.traced.ok as f64;
        let share = (lasted / operation).min(1.0);
        tells_shares(slowed(self.traced, users, self.row.summary)).then_some(share)
    }

    /// Nanoseconds that all operations spent in this share of their time.
    fn spent(&self, share: f64) -> f64 {
        let times = self.row.summary.total.as_ref();
        times.map_or(0.0, |times| times.n as f64 * times.mean * share)
    }

    /// Row that shows these figures; `saved` are the nanoseconds that would not have been spent.
    fn shows(&self, degree: f64, saved: f64, figures: Vec<NamedQuantity>) -> ShownByRow {
        ShownByRow {
            degree,
            run: self.row.run,
            evidence: Evidence {
                row: self.row.name().to_owned(),
                figures,
            },
            saved,
        }
    }
}

/// A whole number of calls, or one with a digit: `2`, `0.4`.
fn calls(number: f64) -> String {
    let is_whole = (number - number.round()).abs() < 0.05;
    format!("{number:.*}", usize::from(!is_whole))
}

struct ShownByRow {
    /// How bad it is.
    degree: f64,
    run: usize,
    evidence: Evidence,
    saved: f64,
}

/// The worst row has the figures, and all of them are evidence.
fn detection(shown: impl Iterator<Item = ShownByRow>) -> Option<Detection> {
    let mut shown: Vec<ShownByRow> = shown.collect();
    shown.sort_by(|one, other| other.degree.total_cmp(&one.degree));
    let worst = shown.first()?;
    let mut figures = worst.evidence.figures.clone();
    figures.insert(0, text("row", worst.evidence.row.clone()));
    Some(Detection {
        figures,
        tests: shown.iter().map(|one| one.evidence.row.clone()).collect(),
        run: worst.run,
        saved: shown.iter().map(|one| one.saved).sum(),
        evidence: shown.into_iter().map(|one| one.evidence).collect(),
        ..Detection::default()
    })
}

/// Rows that spend that share of their time, or more, in calls that are chosen.
fn spends(
    case: &Case<'_>,
    at_least: f64,
    is_chosen: impl Fn(&TracedCall) -> bool,
) -> Option<Detection> {
    let shown = CountedCalls::all(case).into_iter().filter_map(|counted| {
        let (number, lasted) = counted.calls(&is_chosen);
        let part = counted
            .share_of_time(lasted)
            .filter(|part| *part >= at_least)?;
        let figures = vec![
            text("calls", calls(number)),
            time("each", lasted / number),
            share("share", part),
        ];
        let saved = counted.spent(part - at_least);
        Some(counted.shows(counted.spent(part), saved, figures))
    });
    detection(shown)
}

fn waits_for_disk(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    spends(case, at_least, is_flush)
}

fn waits_for_locks(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    spends(case, at_least, |call| call.for_lock)
}

fn waits_for_others(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let shown = CountedCalls::all(case).into_iter().filter_map(|counted| {
        let mut peers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for call in &counted.traced.calls {
            if let CallTarget::Socket { peer } = &call.target {
                let of_peer = peers.entry(peer).or_default();
                of_peer.1 += call.bytes;
                if RECEIVES.contains(&call.call.as_str()) && call.bytes > 0 {
                    of_peer.0 += call.count - call.failed.min(call.count);
                }
            }
        }
        let (peer, (received, transferred)) = peers.into_iter().max_by_key(|(_, of)| of.0)?;
        let number = counted.each(received);
        if number < at_least {
            return None;
        }
        let (_, lasted) = counted.calls(
            |call| matches!(&call.target, CallTarget::Socket { peer: found } if found == peer),
        );
        let part = counted.share_of_time(lasted);
        let mut figures = vec![text("calls", calls(number))];
        // The peer of a socket pair is unknown.
        figures.extend((!peer.is_empty()).then(|| text("peer", peer)));
        figures.push(bytes("bytes", counted.each(transferred)));
        figures.extend(part.map(|part| share("share", part)));
        // As many less as there are more than the threshold.
        let saved = part.map_or(0.0, |part| counted.spent(part * (1.0 - at_least / number)));
        Some(counted.shows(number, saved, figures))
    });
    detection(shown)
}

fn calls_per_member(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let shown = families(SizeUnit::Listed).filter_map(|family| {
        let mut sizes = case.family(family).into_iter();
        let (fewest, first) = sizes.next()?;
        let (most, last) = sizes.next_back()?;
        let (first, last) = (CountedCalls::of(first)?, CountedCalls::of(last)?);
        let more = f64::from(most) - f64::from(fewest);
        let each = |kind| (last.on_storage(kind) - first.on_storage(kind)) / more;
        let kinds: Vec<(StorageCall, f64)> = StorageCall::all()
            .map(|kind| (kind, each(kind)))
            .filter(|(_, each)| *each >= NAMED)
            .collect();
        let all: f64 = kinds.iter().map(|(_, each)| each).sum();
        if all < at_least {
            return None;
        }
        let words: Vec<String> = kinds
            .iter()
            .map(|(kind, each)| format!("{} {}", calls(*each), kind.name()))
            .collect();
        let figures = vec![
            text("calls", words.join(", ")),
            count("members", u64::from(most)),
        ];
        Some(last.shows(all, 0.0, figures))
    });
    detection(shown)
}

fn whole_file(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let shown = CountedCalls::all(case).into_iter().filter_map(|counted| {
        let mut files: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for call in &counted.traced.calls {
            let CallTarget::File { path } = &call.target else {
                continue;
            };
            let transferred = counted.each(call.bytes);
            let of_file = files.entry(path).or_default();
            match storage_kind(call) {
                Some(StorageCall::Read) => of_file.0 += transferred,
                Some(StorageCall::Write) => of_file.1 += transferred,
                _ => {}
            }
        }
        let (file, (read, written)) = files
            .into_iter()
            .max_by(|(_, one), (_, other)| (one.0 + one.1).total_cmp(&(other.0 + other.1)))?;
        if read + written < at_least || read.min(written) < BOTH_WAYS {
            return None;
        }
        let figures = vec![
            text("file", file),
            bytes("read", read),
            bytes("written", written),
        ];
        Some(counted.shows(read + written, 0.0, figures))
    });
    detection(shown)
}

fn moves_by_copying(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let moves = CountedCalls::all(case)
        .into_iter()
        .filter(|counted| counted.row.summary.method == "MOVE");
    let shown = moves.filter_map(|counted| {
        let renamed = counted.on_storage(StorageCall::Rename);
        let (made, _) = counted.calls(|call| {
            matches!(
                storage_kind(call),
                Some(
                    StorageCall::Write | StorageCall::Copy | StorageCall::Mkdir | StorageCall::Link
                )
            )
        });
        let removed = counted.on_storage(StorageCall::Unlink);
        if renamed > 0.0 || removed < at_least || made < at_least {
            return None;
        }
        let figures = vec![
            text("removed", calls(removed)),
            text("written", calls(made)),
        ];
        Some(counted.shows(removed, 0.0, figures))
    });
    detection(shown)
}

fn opens_again(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let shown = CountedCalls::all(case).into_iter().filter_map(|counted| {
        let all = counted.traced.calls.iter();
        let opens = all.filter_map(|call| match &call.target {
            // A path that represents several files has a mark.
            CallTarget::File { path }
                if storage_kind(call) == Some(StorageCall::Open) && !path.contains('*') =>
            {
                Some((path.as_str(), counted.each(call.count)))
            }
            _ => None,
        });
        let (file, number) = opens.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        if number < at_least {
            return None;
        }
        let figures = vec![text("file", file), text("calls", calls(number))];
        Some(counted.shows(number, 0.0, figures))
    });
    detection(shown)
}
