//! Operations of servers, in the record of a run in which they were traced.

use record::{
    CallTarget, Event, EventKind, InsideRecord, MeasureId, Nanos, Run, Sample, TracedCall,
    TracedRow,
};

use super::simulated::{self, Noise};
use crate::diagnose;
use crate::testing;

const TRACED: u64 = 5;

pub(super) struct OddCall {
    call: &'static str,
    target: CallTarget,
    for_lock: bool,
    count: u64,
    bytes: u64,
    /// Share of the time of the operation.
    share: f64,
}

pub(super) fn call(call: &'static str, target: CallTarget, count: u64) -> OddCall {
    OddCall {
        call,
        target,
        for_lock: false,
        count,
        bytes: 0,
        share: 0.0,
    }
}

impl OddCall {
    pub(super) fn lasting(self, share: f64) -> OddCall {
        OddCall { share, ..self }
    }

    fn for_lock(self) -> OddCall {
        OddCall {
            for_lock: true,
            ..self
        }
    }

    pub(super) fn with(self, bytes: u64) -> OddCall {
        OddCall { bytes, ..self }
    }
}

pub(super) fn file(path: &str) -> CallTarget {
    let path = path.to_owned();
    CallTarget::File { path }
}

/// The row of that name makes these calls, and is as fast while it is traced as it is without.
pub(super) fn trace(run: &mut Run, row: &str, calls: Vec<OddCall>) {
    let index = run
        .plan
        .measures
        .iter()
        .position(|measure| measure.name == row);
    let index = index.unwrap_or_else(|| panic!("no row {row}"));
    let measure = MeasureId(u16::try_from(index).unwrap());
    let is_of_row = |sample: &&Sample| sample.measure == measure;
    let time = |sample: &Sample| Some(sample.moments.done? - sample.moments.started);
    let mut times: Vec<Nanos> = run
        .samples
        .iter()
        .filter(is_of_row)
        .filter_map(time)
        .collect();
    times.sort_unstable();
    let median = times[times.len() / 2];
    let traced = |odd: OddCall| TracedCall {
        for_lock: odd.for_lock,
        bytes: odd.bytes * TRACED,
        lasted: (odd.share * (median * TRACED) as f64) as Nanos,
        ..testing::traced_call(odd.call, odd.target, odd.count * TRACED)
    };
    run.plan.inside = Some(InsideRecord {
        missing: Vec::new(),
        without_io: false,
        without_threads: false,
        processes: Vec::new(),
    });
    run.events.push(Event {
        at: run.events.last().map_or(0, |event| event.at),
        kind: EventKind::Traced(TracedRow {
            measure,
            operations: TRACED,
            took: median * TRACED,
            median,
            ok: TRACED,
            calls: calls.into_iter().map(traced).collect(),
            other_calls: 0,
        }),
    });
}

/// All of it together, none of which is odd: a plain server makes one `stat` for each member and
/// one `fsync`, opens a file twice, renames a moved file, queries a database twice, and has a
/// thread that waits for another one to do it.
pub(super) fn plain(run: &mut Run) {
    use CallTarget::{Collection, Nothing, Socket};
    let peer = || Socket {
        peer: "/run/db.sock".to_owned(),
    };
    trace(
        run,
        "Put1K",
        vec![
            call("fsync", Collection, 1).lasting(0.25),
            call("futex", Nothing, 2).lasting(0.9),
            call("fcntl", file("locks.db"), 8).lasting(0.2),
            call("futex", Nothing, 1).for_lock().lasting(0.4),
            call("recvfrom", peer(), 3).with(900).lasting(0.2),
            call("openat", file("locks.db"), 3),
            call("read", file("locks.db"), 3).with(12_288),
            call("pwrite64", file("locks.db"), 3).with(12_288),
        ],
    );
    trace(
        run,
        "Get1024K",
        // It only reads.
        vec![call("read", file("share/large"), 16).with(1 << 20)],
    );
    trace(
        run,
        "Move",
        vec![
            call("rename", Collection, 1),
            call("unlink", Collection, 1),
            call("write", Collection, 1),
        ],
    );
    for members in [10, 100, 1_000, 10_000] {
        let calls = vec![call("newfstatat", Collection, members + 4)];
        trace(run, &format!("Depth1x{members}"), calls);
    }
}

pub(super) fn flushes(run: &mut Run) {
    let calls = vec![call("fdatasync", CallTarget::Collection, 2).lasting(0.9)];
    trace(run, "Put1K", calls);
}

pub(super) fn locks(run: &mut Run) {
    let calls = vec![
        call("futex", CallTarget::Nothing, 4)
            .for_lock()
            .lasting(0.8),
    ];
    trace(run, "Put1K", calls);
}

pub(super) fn queries(run: &mut Run) {
    let peer = CallTarget::Socket {
        peer: "127.0.0.1:5432".to_owned(),
    };
    let calls = vec![
        call("sendto", peer.clone(), 12).with(2_000),
        call("recvfrom", peer, 12).with(3_000).lasting(0.5),
    ];
    trace(run, "PropfindDeadSingle", calls);
}

pub(super) fn stats_of_members(run: &mut Run) {
    for members in [10, 100, 1_000, 10_000] {
        let calls = vec![
            call("newfstatat", CallTarget::Collection, 3 * members + 2),
            call("openat", CallTarget::Collection, members + 1),
        ];
        trace(run, &format!("Depth1x{members}"), calls);
    }
}

pub(super) fn rewrites(run: &mut Run) {
    let calls = vec![
        call("read", file("data/locks.xml"), 9).with(1_100_000),
        call("write", file("data/locks.xml"), 9).with(1_100_200),
    ];
    trace(run, "Lock", calls);
}

pub(super) fn copies(run: &mut Run) {
    let calls = vec![
        call("write", CallTarget::Collection, 10),
        call("mkdir", CallTarget::Collection, 10),
        call("unlink", CallTarget::Collection, 11),
        call("rmdir", CallTarget::Collection, 10),
    ];
    trace(run, "MoveCol", calls);
}

pub(super) fn opens(run: &mut Run) {
    trace(run, "Put1K", vec![call("openat", file("lock/DAVLock"), 8)]);
}

/// Rules that find something on the plain server in a run with this change, in two measurements.
fn found(change: fn(&mut Run)) -> Vec<&'static str> {
    let measured = |seed| {
        let mut run = simulated::run(&simulated::plain(), Noise::LogNormal(0.05), 1, seed);
        change(&mut run);
        simulated::material(&run)
    };
    let findings = diagnose(&[measured(1), measured(2)]).findings;
    findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_plain_server_that_is_looked_into_has_no_finding() {
    assert_eq!(found(plain), [""; 0]);
}

#[test]
fn shares_of_the_time_are_not_believed_where_tracing_changed_it() {
    fn slowed(run: &mut Run) {
        flushes(run);
        for event in &mut run.events {
            if let EventKind::Traced(row) = &mut event.kind {
                row.median *= 2;
            }
        }
    }
    assert_eq!(found(flushes), ["waits-for-disk"]);
    assert_eq!(found(slowed), [""; 0]);
}
