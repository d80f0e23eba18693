//! Accounts of rows: whenever the active row changes, the counts since the last change go to the
//! row before.
//!
//! ```text
//! operations   A A A A   (B)   A A A      (B) is not measured
//! readings    |   |   | |   | |     |
//! batches       A   A  A        A
//! ```
//!
//! A row that is active repeatedly for a moment (PUT between DELETE) is read only sometimes
//! ([`RowVisits`]): a reading, and the wait before it, leave cold caches behind, which medians of
//! response times must not show.
//!
//! Consecutive operations of one row make a batch of some duration; so do the pieces of a row
//! between others, together. A row has [`MOST_BATCHES`] at most: then pairs are merged, and last
//! twice as long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use record::{AsyncInterface, InsideBatch, InsideCounts, MeasureId, Nanos};

use crate::counters::ServerCounters;

/// Most batches of a row.
const MOST_BATCHES: usize = 256;
/// No row is active.
const NONE: u32 = u32::MAX;
/// Added to the number of a row that is active, and not read.
const UNWATCHED: u32 = 1 << 16;
/// One of this many activations of a row is read, until [`ENOUGH`] were read.
const AT_FIRST: u64 = 4;
/// Readings after which a row may be read more rarely.
const ENOUGH: u64 = 12;

/// The accounts of all rows of a run.
pub struct InsideAccounts {
    begun: Instant,
    row: AtomicU32,
    /// Its operations since the last reading.
    operations: AtomicU64,
    /// When its batch has lasted long enough, since `begun`.
    due: AtomicU64,
    /// Shortest batch of a row at the beginning.
    shortest: Nanos,
    /// One of this many activations of a row is read after enough readings.
    later: u64,
    books: Mutex<AccountBooks>,
}

struct AccountBooks {
    counters: ServerCounters,
    /// Time of the last reading, since `begun`.
    read: Nanos,
    rows: BTreeMap<MeasureId, RowAccount>,
    visits: BTreeMap<u32, RowVisits>,
    /// Number of waits for the server to become idle, and of those that failed.
    rests: u64,
    unrest: u64,
    /// When the server was found to have ended. Nothing is counted from then on.
    ended: Option<Nanos>,
}

/// Number of activations of a row.
#[derive(Debug, Default)]
struct RowVisits {
    all: u64,
    looked_at: u64,
    /// The activation that is read next, from 0.
    next: u64,
}

#[derive(Debug)]
struct RowAccount {
    batches: Vec<InsideBatch>,
    under_way: InsideBatch,
    shortest: Nanos,
}

impl InsideAccounts {
    /// Accounts for a server with these counters. A reading takes some time from the sending
    /// thread, and a batch of an uninterrupted row lasts at least as long as `shortest`. Of a row
    /// that alternates with others, every fourth activation is read, and after a dozen readings,
    /// every `later`th.
    pub fn new(counters: ServerCounters, shortest: Duration, later: u64) -> InsideAccounts {
        InsideAccounts {
            begun: Instant::now(),
            row: AtomicU32::new(NONE),
            operations: AtomicU64::new(0),
            due: AtomicU64::new(0),
            shortest: nanos(shortest),
            later,
            books: Mutex::new(AccountBooks {
                counters,
                read: 0,
                rows: BTreeMap::new(),
                visits: BTreeMap::new(),
                rests: 0,
                unrest: 0,
                ended: None,
            }),
        }
    }

    /// Begins an operation of this row, or an action that belongs to none.
    pub fn begin(&self, row: Option<MeasureId>) {
        let next = row.map_or(NONE, |measure| u32::from(measure.0));
        let at_work = self.row.load(Ordering::Acquire);
        if next != NONE && at_work == next + UNWATCHED {
            return;
        }
        if at_work != next {
            self.settle(next, true);
        } else if next != NONE && self.now() >= self.due.load(Ordering::Relaxed) {
            self.settle(next, false);
        }
        if self.row.load(Ordering::Acquire) == next && next != NONE {
            self.operations.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// No row is active from now on.
    pub fn rest(&self) {
        if self.row.load(Ordering::Acquire) != NONE {
            self.settle(NONE, true);
        }
    }

    /// Reasons to caution the counts, each a sentence.
    pub fn cautions(&self) -> Vec<String> {
        let books = self.books();
        let mut cautions = books.counters.cautions();
        if let Some((at, which)) = books.ended.zip(books.counters.description_of_end()) {
            cautions.push(format!(
                "{which} ended {:.1} s after the run began; what operations cost inside of the server is counted until then",
                at as f64 / 1e9
            ));
        }
        if books.unrest > books.rests / 20 {
            cautions.push(format!(
                "the server was still at work {} of {} times, milliseconds after it had responded: what it did later counts \
                 for the row after",
                books.unrest, books.rests
            ));
        }
        cautions
    }

    /// An interface by which the server makes calls that are no system calls
    /// ([`ServerCounters::unseen`]).
    pub fn unseen(&self) -> Option<AsyncInterface> {
        self.books().counters.unseen()
    }

    /// All batches, in the order of their rows.
    pub fn end(&self) -> Vec<InsideBatch> {
        self.rest();
        let rows = std::mem::take(&mut self.books().rows);
        rows.into_values()
            .flat_map(RowAccount::into_batches)
            .collect()
    }

    /// Adds the counts to the account of the row that was active.
    fn settle(&self, next: u32, waits: bool) {
        let mut books = self.books();
        let before = self.row.load(Ordering::Acquire);
        let is_watched = before < UNWATCHED;
        // Another user was first.
        if waits == (before == next) {
            return;
        }
        if books.ended.is_some() {
            self.row.store(unwatched(next), Ordering::Release);
            return;
        }
        let is_first = next != NONE && !books.visits.contains_key(&next);
        let passes_by = waits && next != NONE && {
            let visits = books.visits.entry(next).or_default();
            !visits.is_looked_at(self.later)
        };
        let shown = if passes_by { unwatched(next) } else { next };
        if !is_watched && (passes_by || next == NONE) {
            self.row.store(shown, Ordering::Release);
            return;
        }
        // Also after a row that is not read: the server's remaining work for it must not count for
        // the next.
        if waits {
            books.rests += 1;
            books.unrest += u64::from(!books.counters.wait_for_rest_of_all());
        }
        let measure_before = u16::try_from(before).ok().map(MeasureId);
        // A server may have a process for each connection, which exists from the first request of a
        // row on.
        let has_news =
            is_first || measure_before.is_some_and(|measure| !books.rows.contains_key(&measure));
        if has_news {
            books.counters.look_again();
        }
        let counted = books.counters.read();
        if has_news {
            books.counters.look_for_unseen();
        }
        let now = self.now();
        let lasted = now - std::mem::replace(&mut books.read, now);
        let operations = self.operations.swap(0, Ordering::Relaxed);
        // Some of these operations may have come after the end.
        if books.counters.have_ended() {
            books.ended = Some(now);
            self.row.store(unwatched(next), Ordering::Release);
            return;
        }
        if let Some(measure) = measure_before {
            let account = books
                .rows
                .entry(measure)
                .or_insert_with(|| RowAccount::of(measure, self.shortest));
            account.add(&InsideBatch {
                measure,
                operations,
                lasted,
                counted,
            });
        }
        let shortest = u16::try_from(next)
            .ok()
            .and_then(|next| books.rows.get(&MeasureId(next)));
        let shortest = shortest.map_or(self.shortest, |account| account.shortest);
        self.due.store(now + shortest, Ordering::Relaxed);
        self.row.store(shown, Ordering::Release);
    }

    fn now(&self) -> Nanos {
        nanos(self.begun.elapsed())
    }

    fn books(&self) -> MutexGuard<'_, AccountBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The value of a row that is active and not read.
fn unwatched(row: u32) -> u32 {
    if row == NONE { NONE } else { row + UNWATCHED }
}

impl RowVisits {
    /// True if this activation is read.
    fn is_looked_at(&mut self, later: u64) -> bool {
        let is_due = self.all >= self.next;
        if is_due {
            self.looked_at += 1;
            let is_enough = self.looked_at >= ENOUGH;
            self.next = self.all + if is_enough { later } else { AT_FIRST };
        }
        self.all += 1;
        is_due
    }
}

impl RowAccount {
    fn of(measure: MeasureId, shortest: Nanos) -> RowAccount {
        RowAccount {
            batches: Vec::new(),
            under_way: empty(measure),
            shortest,
        }
    }

    fn add(&mut self, piece: &InsideBatch) {
        self.under_way.add(piece);
        if self.under_way.lasted < self.shortest || self.under_way.operations == 0 {
            return;
        }
        let done = std::mem::replace(&mut self.under_way, empty(piece.measure));
        self.batches.push(done);
        if self.batches.len() == MOST_BATCHES {
            let pairs = self.batches.chunks_exact(2);
            self.batches = pairs
                .map(|pair| {
                    let mut both = pair[0].clone();
                    both.add(&pair[1]);
                    both
                })
                .collect();
            self.shortest *= 2;
        }
    }

    /// The rest at the end is too short for a batch, and is added to the last.
    fn into_batches(mut self) -> Vec<InsideBatch> {
        match self.batches.last_mut() {
            Some(last) => last.add(&self.under_way),
            None if self.under_way.operations > 0 => self.batches.push(self.under_way),
            None => {}
        }
        self.batches
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

fn empty(measure: MeasureId) -> InsideBatch {
    InsideBatch {
        measure,
        operations: 0,
        lasted: 0,
        counted: InsideCounts::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::Arc;

    use super::*;
    use crate::NamedProcesses;

    const SHORTEST: Nanos = 2_000_000;

    fn piece(operations: u64, lasted: Nanos, processor: Nanos) -> InsideBatch {
        InsideBatch {
            operations,
            lasted,
            counted: InsideCounts {
                processor,
                ..InsideCounts::default()
            },
            ..empty(MeasureId(3))
        }
    }

    #[test]
    fn nothing_is_lost_between_batches() {
        let mut account = RowAccount::of(MeasureId(3), SHORTEST);
        for number in 0..10_001 {
            account.add(&piece(1, SHORTEST / 3, number));
        }
        let batches = account.into_batches();
        assert!(batches.len() < MOST_BATCHES, "{}", batches.len());
        assert!(batches.len() >= MOST_BATCHES / 2 - 1, "{}", batches.len());
        let operations: u64 = batches.iter().map(|batch| batch.operations).sum();
        let processor: u64 = batches.iter().map(|batch| batch.counted.processor).sum();
        assert_eq!((operations, processor), (10_001, 10_000 * 10_001 / 2));
        assert!(batches.iter().all(|batch| batch.lasted >= SHORTEST));
    }

    #[test]
    fn a_row_between_others_is_looked_at_now_and_then() {
        let counters = ServerCounters::of(&[std::process::id()]).expect("this process is there");
        let accounts = InsideAccounts::new(counters, Duration::from_millis(2), 16);
        for _ in 0..200 {
            accounts.begin(Some(MeasureId(0)));
            accounts.begin(None);
        }
        for _ in 0..40 {
            accounts.begin(Some(MeasureId(1)));
        }
        let batches = accounts.end();
        let operations = |measure| -> u64 {
            let chosen = batches
                .iter()
                .filter(|batch| batch.measure == MeasureId(measure));
            chosen.map(|chosen| chosen.operations).sum()
        };
        // 0, 4, ... 44, and 60, 76, ... 188.
        assert_eq!((operations(0), operations(1)), (12 + 9, 40));
        assert!(
            batches.iter().all(|batch| batch.counted.threads > 0),
            "{batches:?}"
        );
    }

    #[test]
    fn operations_after_the_end_of_the_server_are_not_counted() {
        let mut server = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pids = [server.id()];
        let counters = ServerCounters::of(&pids).unwrap();
        let counters = counters.until_the_end_of(Arc::new(NamedProcesses::of(&pids)));
        let accounts = InsideAccounts::new(counters, Duration::ZERO, 1);
        for _ in 0..3 {
            accounts.begin(Some(MeasureId(0)));
        }
        accounts.begin(Some(MeasureId(1)));
        server.kill().unwrap();
        server.wait().unwrap();
        for row in [1, 0, 1, 0] {
            accounts.begin(Some(MeasureId(row)));
        }
        let batches = accounts.end();
        let operations: u64 = batches.iter().map(|batch| batch.operations).sum();
        assert_eq!(operations, 3, "{batches:?}");
        let cautions = accounts.cautions();
        let is_reported = cautions
            .iter()
            .any(|caution| caution.contains("(cat) ended"));
        assert!(is_reported, "{cautions:?}");
    }

    #[test]
    fn a_row_that_is_at_work_for_a_moment_has_a_batch() {
        let mut account = RowAccount::of(MeasureId(3), SHORTEST);
        account.add(&piece(1, 5, 7));
        assert_eq!(account.into_batches(), [piece(1, 5, 7)]);
        assert!(
            RowAccount::of(MeasureId(3), SHORTEST)
                .into_batches()
                .is_empty()
        );
    }
}
