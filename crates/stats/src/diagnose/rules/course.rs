//! The course of a row during the run.
//!
//! A pattern that is seen once in the course of a row may have another cause at that time: a path
//! that got worse, another program. So trends, modes, periods and tails are findings only where the
//! same row shows them in a second run as well ([`over_time`]), and where the quickest other rows
//! do not show the like (`path`).

use record::Nanos;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Detection, Detector, DiagnosisRule};
use crate::diagnose::case::{Case, LEAST_WORK, NOTICEABLE, SoundRow};
use crate::diagnose::course::{Course, CoursePart};
use crate::diagnose::drift;
use crate::diagnose::figure::{
    Evidence, NamedQuantity, Quantity, ResponsePart, count, figure, ratio, share, text, time,
};
use crate::diagnose::modes::{Mode, modes};
use crate::diagnose::path::{is_of_others, is_spread};
use crate::diagnose::period::{Period, period};
use crate::times::Times;

pub(super) const RULES: &[DiagnosisRule] = &[
    DiagnosisRule {
        name: "grows-over-the-run",
        // of the first work, by the trend through all of them, and a tenth of the first time;
        // the speed of a machine changes by less.
        at_least: 0.3,
        figures: &["rows", "row"],
        find: Detector::Once(grows),
    },
    DiagnosisRule {
        name: "delayed-ack",
        // of the operations take 40 ms (39 to 46) more than the quick ones of the same row, and
        // hardly any take somewhat less or more; it is the time after which Linux acknowledges data
        // when it has nothing to send. Or nearly all take it between first and last byte of a small
        // response.
        at_least: 0.05,
        figures: &["rows", "row"],
        find: Detector::Once(delayed_ack),
    },
    DiagnosisRule {
        name: "two-modes",
        // of the work would be saved if all were of the quick kind; each kind has 5 % of the
        // operations, they are mixed in time, other rows do not have the like, and the slow one
        // has half as much work again at least.
        at_least: 0.1,
        figures: &["rows", "row"],
        find: Detector::Once(two_modes),
    },
    DiagnosisRule {
        name: "long-tail",
        // times the work of the median, by the lower end of the interval of p99, where nothing
        // else explains it and other rows do not have the like.
        at_least: 10.0,
        figures: &["rows", "row"],
        find: Detector::Once(tail),
    },
    DiagnosisRule {
        name: "slow-at-intervals",
        // of the work is lost in operations of three times the work of the median and more, 70
        // % of them at equal distances.
        at_least: 0.02,
        figures: &["rows", "row"],
        find: Detector::Once(at_intervals),
    },
    DiagnosisRule {
        name: "cold-start",
        // times the work of the median, in half of the tests at least; the first request also
        // finds caches of the processor cold, which costs less.
        at_least: 4.0,
        figures: &["ratio", "row", "first", "median"],
        find: Detector::Once(cold_start),
    },
];

/// Seconds that a row must go on for its trend to be that of the server.
const LONG_ENOUGH: f64 = 1.0;

/// How improbable a trend must be where there is none, in any of the rows.
const TREND: f64 = 1e-3;

/// Share of the first time by which the speed of a path or of a machine may change.
const DRIFT: f64 = 0.1;

/// Time that a delayed acknowledgement adds: from 40 ms (`TCP_DELACK_MIN` of Linux) on, and a tick
/// of its timer and a quick response more.
const DELAYED: [Nanos; 2] = [39_000_000, 46_000_000];

/// The range on both sides of it: three times as wide.
const AROUND: [Nanos; 2] = [30_000_000, 57_000_000];

/// Operations that must take that long.
const LEAST_DELAYED: u64 = 5;

/// Share of the operations from which on all of them are delayed.
const ALL_DELAYED: f64 = 0.9;

/// Bytes of a response that leaves the server at once, but for parts that await an acknowledgement.
const SMALL: f64 = 131_072.0;

/// Nanoseconds of the floor from which on a round trip takes about as long as such a delay.
const FAR: f64 = 10e6;

/// The slow mode takes that many times the work of the quick one.
const APART: f64 = 1.5;

/// ... and that many nanoseconds more.
const FAR_APART: f64 = 1e6;

/// ... and that many where server and generator share a machine: a process waits for a processor
/// for 3 or 4 ms, as often as anything else needs it.
const TURN: f64 = 5e6;

/// ... and that share of the floor, by which the path may vary.
const JITTER: f64 = 0.1;

/// Bytes of a request that fit into the buffers between client and server. Of a longer one some
/// have to be read when the last has left, and how many differs from one to the next.
const BUFFERED: f64 = 131_072.0;

/// A slow operation takes this multiple of the work of the median.
const SLOW: f64 = 3.0;

/// Share of the operations that can be called slow.
const RARE: f64 = 0.25;

/// Operations from which on a row has a tail.
const TAIL: u64 = 100;

/// How improbable it must be that first requests are as slow by chance.
const SURE: f64 = 1e-4;

/// Nanoseconds by which one of the first requests is slower, at least.
const COLD: f64 = 2e6;

/// How many nanoseconds make a slow operation, so that it is the server's own.
fn far_apart(case: &Case<'_>, row: &SoundRow<'_>) -> f64 {
    if row.is_of_this_machine() {
        TURN
    } else {
        FAR_APART.max(JITTER * case.floor)
    }
}

/// Nanoseconds of that time beyond the floor.
fn work(case: &Case<'_>, row: &SoundRow<'_>, time: f64) -> f64 {
    let quickest = row.summary.response.map_or(0.0, |times| times.min as f64);
    (time - case.floor.min(quickest)).max(LEAST_WORK)
}

/// Result of a rule for a row: figures, and nanoseconds that would not have been spent.
type Seen = (Vec<NamedQuantity>, f64);

/// Rows with a result, that which loses the most time first.
fn gather<'a>(mut all: Vec<(SoundRow<'a>, Seen)>) -> Option<Detection> {
    all.sort_by(|(_, one), (_, other)| other.1.total_cmp(&one.1));
    let (worst, _) = all.first()?;
    let evidence = |(row, (figures, _)): &(SoundRow<'_>, Seen)| Evidence {
        row: row.name().to_owned(),
        figures: figures.clone(),
    };
    Some(Detection {
        figures: vec![count("rows", all.len() as u64), text("row", worst.name())],
        run: worst.run,
        evidence: all.iter().map(evidence).collect(),
        tests: all.iter().map(|(row, _)| row.name().to_owned()).collect(),
        saved: all.iter().map(|(_, (_, saved))| saved).sum(),
        ..Detection::default()
    })
}

/// Rows with a result that changes with time: those that show it whenever they are measured, or
/// else, where there are none, those that have been measured only once.
fn over_time<'a>(
    case: &Case<'a>,
    rows: impl Iterator<Item = SoundRow<'a>>,
    look: impl Fn(&SoundRow<'a>) -> Option<Seen>,
) -> Option<Detection> {
    let (mut again, mut once) = (Vec::new(), Vec::new());
    for row in rows {
        let Some(seen) = look(&row) else { continue };
        let mut repeats = case.repeats(&row).peekable();
        if repeats.peek().is_none() {
            once.push((row, seen));
        } else if repeats.all(|repeat| look(&repeat).is_some()) {
            again.push((row, seen));
        }
    }
    let is_seen_once = again.is_empty();
    let found = gather(if is_seen_once { once } else { again })?;
    Some(Detection {
        is_seen_once,
        ..found
    })
}

fn grows(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let is_long = |row: &SoundRow<'_>| row.course.seconds.is_some_and(|s| s >= LONG_ENOUGH);
    let rows: Vec<SoundRow<'_>> = case.courses().filter(is_long).collect();
    // Bonferroni: any of the rows may grow by chance.
    let sure = TREND / rows.len().max(1) as f64;
    over_time(case, rows.iter().copied(), |row| {
        let parts = row.course.parts.batches(drift::PARTS);
        let seconds = row.course.seconds.filter(|_| is_long(row))?;
        let means: Vec<f64> = parts.iter().map(CoursePart::mean).collect();
        let growth = drift::growth(&means, sure).filter(|growth| *growth >= DRIFT)?;
        let mean = row.response()?;
        let first = mean.mean / (1.0 + growth / 2.0);
        let normal = at_least * work(case, row, first);
        let is_grown = first * growth >= normal && first * growth >= NOTICEABLE;
        is_grown.then(|| {
            let figures = vec![
                share("growth", growth),
                time("first", first),
                time("last", first * (1.0 + growth)),
                time("duration", seconds * 1e9),
                mean.figure("mean"),
            ];
            (figures, mean.beyond(first + normal / 2.0))
        })
    })
}

struct Delayed {
    part: ResponsePart,
    operations: u64,
    all: u64,
    /// Median of the others, which are quick; `None` where all are delayed.
    quick: Option<f64>,
}

impl Delayed {
    /// The delays of a row: some operations take 40 ms more than the quick ones of the same row.
    /// Work that takes 42 ms has no such quick ones beside it.
    fn of(case: &Case<'_>, row: &SoundRow<'_>, at_least: f64) -> Option<Delayed> {
        let kinds: [(ResponsePart, &Times); 2] = [
            (ResponsePart::BeforeFirstByte, &row.course.response),
            (ResponsePart::Transfer, &row.course.transfer),
        ];
        if case.floor >= FAR {
            return None;
        }
        let beside = |(part, times)| Delayed::beside_quick(part, times, at_least);
        kinds.into_iter().find_map(beside).or_else(|| {
            let bytes = row.course.received as f64 / row.course.operations as f64;
            let [_, (part, times)] = kinds;
            Delayed::always(part, times).filter(|_| bytes <= SMALL)
        })
    }

    fn beside_quick(part: ResponsePart, times: &Times, at_least: f64) -> Option<Delayed> {
        let [least] = times.at_ranks([1])?;
        let (mut quick, mut before) = (0, 0);
        times.for_each(|value, of| {
            quick += if value < least + AROUND[0] { of } else { 0 };
        });
        let mut median = least;
        times.for_each(|value, of| {
            if before < quick.div_ceil(2) {
                median = value;
            }
            before += of;
        });
        let all = times.count();
        let is_kind = |n: u64| n >= LEAST_DELAYED && n as f64 >= at_least * all as f64;
        let operations = between(times, DELAYED.map(|delay| median + delay));
        let around = between(times, AROUND.map(|delay| median + delay)) - operations;
        let is_so = is_kind(quick) && is_kind(operations) && operations >= 4 * around;
        is_so.then_some(Delayed {
            part,
            operations,
            all,
            quick: Some(median as f64),
        })
    }

    /// All of them, in the transfer of a small response, which takes no time otherwise.
    fn always(part: ResponsePart, times: &Times) -> Option<Delayed> {
        let (operations, all) = (between(times, DELAYED), times.count());
        let is_so = operations >= LEAST_DELAYED && operations as f64 >= ALL_DELAYED * all as f64;
        is_so.then_some(Delayed {
            part,
            operations,
            all,
            quick: None,
        })
    }
}

fn between(times: &Times, [from, to]: [Nanos; 2]) -> u64 {
    let mut count = 0;
    times.for_each(|value, of| {
        count += if (from..=to).contains(&value) { of } else { 0 };
    });
    count
}

fn delayed_ack(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let seen = |row: SoundRow<'_>| {
        let delayed = Delayed::of(case, &row, at_least)?;
        let Delayed {
            operations, all, ..
        } = delayed;
        let mut figures = vec![
            count("delayed", operations),
            count("operations", all),
            share("share", operations as f64 / all as f64),
            figure("where", Quantity::Part(delayed.part)),
        ];
        figures.extend(delayed.quick.map(|quick| time("others", quick)));
        Some((figures, (operations as f64 - at_least * all as f64) * 40e6))
    };
    let rows = case.rows().filter_map(|row| Some((row, seen(row)?)));
    gather(rows.collect())
}

/// True if slow operations of that row have another explanation.
fn is_explained(case: &Case<'_>, row: &SoundRow<'_>) -> bool {
    let bytes = row.course.sent as f64 / row.course.operations as f64;
    bytes > BUFFERED
        || row.is_mixed()
        || Delayed::of(case, row, threshold("delayed-ack")).is_some()
        || intervals(case, row, threshold("slow-at-intervals")).is_some()
}

/// The two modes of a row, without the path where it takes much time: factors are compared.
fn modes_of(case: &Case<'_>, row: &SoundRow<'_>) -> Option<(Mode, Mode)> {
    let times = row.summary.response?;
    let path = case.floor.min(2.0 * times.min as f64 - times.p50 as f64);
    let path = path.max(0.0) as Nanos;
    let mut values = Course::sorted(&row.course.response);
    values.iter_mut().for_each(|(value, _)| *value -= path);
    let (mut quick, mut slow) = modes(&values)?;
    quick.median += path as f64;
    slow.median += path as f64;
    Some((quick, slow))
}

/// The two kinds of operations of a row, and nanoseconds of each operation that would be saved if
/// all were of the quick kind.
fn two_kinds(case: &Case<'_>, row: &SoundRow<'_>) -> Option<(Mode, Mode, f64)> {
    let (quick, slow) = modes_of(case, row)?;
    let more = slow.median - quick.median;
    let is_apart = work(case, row, slow.median) >= APART * work(case, row, quick.median);
    let is_own = is_apart
        && more >= far_apart(case, row)
        && is_spread(row, &quick, &slow)
        && !is_of_others(case, row, more / 2.0, slow.share);
    is_own.then_some((quick, slow, slow.share * more))
}

fn two_modes(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let rows = case.courses().filter(|row| !is_explained(case, row));
    over_time(case, rows, |row| {
        let (quick, slow, lost) = two_kinds(case, row).filter(|_| row.has_course())?;
        let mean = row.response()?;
        let normal = at_least * work(case, row, mean.mean);
        (lost >= normal).then(|| {
            let figures = vec![
                share("quick_share", quick.share),
                time("quick", quick.median),
                share("slow_share", slow.share),
                time("slow", slow.median),
                count("operations", mean.n),
            ];
            (figures, mean.n as f64 * (lost - normal))
        })
    })
}

fn tail(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let rows = case
        .courses()
        .filter(|row| !is_explained(case, row) && two_kinds(case, row).is_none());
    over_time(case, rows, |row| {
        let times = row.summary.response.filter(|times| times.n >= TAIL)?;
        // Rank of the lower end of the 95 % interval of the 99th percentile (Woodruff 1952).
        let n = times.n as f64;
        let rank = (0.99 * n - 1.96 * (0.99 * 0.01 * n).sqrt()).floor();
        let [low] = row.course.response.at_ranks([rank.max(1.0) as u64])?;
        let (low, median) = (low as f64, times.p50 as f64);
        let normal = at_least * work(case, row, median);
        let more = low - median;
        let is_own = work(case, row, low) >= normal
            && more >= 2.0 * far_apart(case, row)
            && !is_of_others(case, row, more / 2.0, 0.01);
        is_own.then(|| {
            let limit = case.floor.min(times.min as f64) + normal;
            let mut beyond = 0.0;
            row.course.response.for_each(|value, of| {
                beyond += (value as f64 - limit).max(0.0) * of as f64;
            });
            let figures = vec![
                time("median", median),
                NamedQuantity {
                    interval: Some((low, times.max as f64)),
                    ..time("p99", times.p99 as f64)
                },
                count("operations", times.n),
            ];
            (figures, beyond)
        })
    })
}

/// Threshold of another rule, so that its findings are not reported twice.
fn threshold(name: &str) -> f64 {
    let rule = RULES.iter().find(|rule: &&DiagnosisRule| rule.name == name);
    rule.map_or(f64::INFINITY, |rule| rule.at_least)
}

/// Slow operations at equal distances: the period, how many are slow, and the time lost in them.
fn intervals(case: &Case<'_>, row: &SoundRow<'_>, at_least: f64) -> Option<(Period, u64, f64)> {
    let times = row.summary.response.filter(|_| !row.is_mixed())?;
    let median = times.p50 as f64;
    let more = ((SLOW - 1.0) * work(case, row, median)).max(far_apart(case, row));
    let slow = median + more;
    let (mut count, mut lost) = (0, 0.0);
    row.course.response.for_each(|value, of| {
        if value as f64 > slow {
            count += of;
            lost += (value as f64 - median) * of as f64;
        }
    });
    let part = count as f64 / times.n as f64;
    let normal = at_least * work(case, row, times.mean) * times.n as f64;
    // No path is between a server and a generator of one machine.
    let is_path = || !row.is_of_this_machine() && is_of_others(case, row, more / 2.0, part);
    if part > RARE || lost < normal || is_path() {
        return None;
    }
    let period = period(&slow_spells(row, slow)).filter(|period| {
        // A shorter period cannot be distinguished from its neighbours.
        period.apart >= 4.0 * row.course.peaks.length() as f64
    })?;
    Some((period, count, lost - normal))
}

/// When slow operations began and ended; those that follow each other are one.
fn slow_spells(row: &SoundRow<'_>, slow: f64) -> Vec<(f64, f64)> {
    let mut spells: Vec<(f64, f64)> = Vec::new();
    let mut was_slow = false;
    for (begin, peak) in row.course.peaks.recorded() {
        let is_slow = peak.slowest as f64 > slow;
        let end = (begin + peak.slowest) as f64;
        match spells.last_mut() {
            Some(spell) if is_slow && was_slow => spell.1 = end,
            _ if is_slow => spells.push((begin as f64, end)),
            _ => {}
        }
        was_slow = is_slow;
    }
    spells
}

fn at_intervals(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    over_time(case, case.courses(), |row| {
        let (period, slow, saved) = intervals(case, row, at_least).filter(|_| row.has_course())?;
        let times = row.summary.response?;
        let figures = vec![
            count("slow", slow),
            count("operations", times.n),
            time("every", period.every),
            count("regular_distances", period.regular),
            count("distances", period.of),
        ];
        Some((figures, saved))
    })
}

/// A first request beside the others of its row.
struct First<'a> {
    row: SoundRow<'a>,
    took: f64,
    median: f64,
    /// Both without the floor.
    work: (f64, f64),
    /// Share of the others that took as long.
    rank: f64,
}

impl<'a> First<'a> {
    fn of(case: &Case<'a>, row: SoundRow<'a>) -> Option<First<'a>> {
        let took = *row.material.first_responses.get(&row.id)?;
        let (mut longer, times) = (0, row.summary.response?);
        row.course
            .response
            .for_each(|value, of| longer += if value >= took { of } else { 0 });
        Some(First {
            row,
            took: took as f64,
            median: times.p50 as f64,
            work: (
                work(case, &row, took as f64),
                work(case, &row, times.p50 as f64),
            ),
            rank: (longer + 1) as f64 / (times.n + 1) as f64,
        })
    }

    fn ratio(&self) -> f64 {
        self.work.0 / self.work.1
    }

    fn more(&self) -> f64 {
        (self.took - self.median).max(0.0)
    }
}

/// The ranks of first requests among all are evenly spread where these are like the others; several
/// are combined as Fisher did (*Statistical Methods for Research Workers*, section 21.1).
fn cold_start(case: &Case<'_>, at_least: f64) -> Option<Detection> {
    let firsts = case.courses().filter_map(|row| First::of(case, row));
    let mut firsts: Vec<First<'_>> = firsts.collect();
    firsts.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let typical = firsts.get(firsts.len() / 2)?.ratio();
    let statistic = -2.0 * firsts.iter().map(|first| first.rank.ln()).sum::<f64>();
    let p = ChiSquared::new(2.0 * firsts.len() as f64)
        .ok()?
        .sf(statistic);
    firsts.sort_by(|one, other| other.more().total_cmp(&one.more()));
    let worst = firsts.first().filter(|first| first.more() >= COLD)?;
    if p > SURE || typical < at_least {
        return None;
    }
    let evidence = |first: &&First<'_>| Evidence {
        row: first.row.name().to_owned(),
        figures: vec![time("first", first.took), time("median", first.median)],
    };
    let mut slow: Vec<&First<'_>> = firsts.iter().collect();
    slow.retain(|first| first.ratio() >= at_least);
    let name = |first: &&First<'_>| first.row.name().to_owned();
    Some(Detection {
        figures: vec![
            ratio("ratio", typical),
            text("row", worst.row.name()),
            time("first", worst.took),
            time("median", worst.median),
        ],
        run: worst.row.run,
        evidence: slow.iter().map(evidence).collect(),
        tests: slow.iter().map(name).collect(),
        saved: slow.iter().map(|first| first.more()).sum::<f64>() * (1.0 - at_least / typical),
        ..Detection::default()
    })
}
