//! How a row goes on in the course of the run.

use std::collections::BTreeSet;

use record::Nanos;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{Found, percent, times};
use crate::diagnose::case::{Case, NOTICEABLE, Row};
use crate::diagnose::course::{Course, Part};
use crate::diagnose::modes::{Mode, modes};
use crate::diagnose::period::{Period, period};
use crate::diagnose::{drift, rules::Rule};
use crate::times::Times;
use crate::units::human;

/// Seconds that a row must go on for its trend to be that of the server.
const LONG_ENOUGH: f64 = 1.0;

/// What a delayed acknowledgement makes of a time: from 40 ms (`TCP_DELACK_MIN` of Linux) on, and a
/// tick of its timer and a quick answer more.
const DELAYED: [Nanos; 2] = [39_000_000, 46_000_000];

/// What lies on both sides of it: three times as wide.
const AROUND: [Nanos; 2] = [30_000_000, 57_000_000];

/// Operations that must take that long.
const LEAST_DELAYED: u64 = 5;

/// Methods that must take the same 40 ms where nothing is quick at other times.
const DIFFERENT: usize = 3;

/// The slow mode is at least that many times the quick one.
const APART: f64 = 1.5;

/// ... and that many nanoseconds more.
const FAR_APART: f64 = 1e6;

/// ... and that many where server and generator share a machine: a process waits for its turn on a
/// processor for 3 or 4 ms, as often as anything else wants it.
const TURN: f64 = 5e6;

/// Bytes of a request that fit into the buffers between client and server. Of a longer one some have
/// to be read when the last has left, and how many differs from one to the next.
const BUFFERED: f64 = 131_072.0;

/// A slow operation takes so many times the median.
const SLOW: f64 = 3.0;

/// Share of the operations that can be called slow.
const RARE: f64 = 0.25;

/// How improbable it must be that first requests are as slow by chance.
const SURE: f64 = 1e-4;

/// Nanoseconds by which one of the first requests is slower, at least.
const COLD: f64 = 2e6;

/// Rows that evidence names.
const NAMED: usize = 5;

/// How many nanoseconds make a slow operation, so that it is the server's own.
fn far_apart(row: &Row<'_>) -> f64 {
    match row.is_of_this_machine() {
        true => TURN,
        false => FAR_APART,
    }
}

/// Rows of which each gives a piece of evidence and nanoseconds that would not have been spent.
fn gather<'a>(
    rows: impl Iterator<Item = Row<'a>>,
    found: impl Fn(&Row<'a>) -> Option<(String, f64)>,
) -> Option<Found> {
    let mut all: Vec<(Row<'a>, String, f64)> = rows
        .filter_map(|row| {
            let (evidence, saved) = found(&row)?;
            Some((row, evidence, saved))
        })
        .collect();
    all.sort_by(|one, other| other.2.total_cmp(&one.2));
    let (worst, ..) = all.first()?;
    let mut found = Found {
        text: match all.len() {
            1 => format!("It is seen in one row, {}.", worst.name()),
            rows => format!(
                "It is seen in {rows} rows; {} loses the most time by it.",
                worst.name()
            ),
        },
        run: worst.run,
        evidence: all
            .iter()
            .take(NAMED)
            .map(|(_, said, _)| said.clone())
            .collect(),
        tests: all.iter().map(|(row, ..)| row.name().to_owned()).collect(),
        saved: all.iter().map(|(.., saved)| saved).sum(),
    };
    if all.len() > NAMED {
        found
            .evidence
            .push(format!("and {} more rows", all.len() - NAMED));
    }
    Some(found)
}

pub(super) fn grows(case: &Case<'_>, at_least: f64) -> Option<Found> {
    gather(case.courses(), |row| {
        let parts = row.course.parts.batches(drift::PARTS);
        let seconds = row.summary.window_s?;
        let means: Vec<f64> = parts.iter().map(Part::mean).collect();
        let growth = drift::growth(&means).filter(|growth| *growth >= at_least)?;
        let mean = row.response().filter(|_| seconds >= LONG_ENOUGH)?;
        let first = mean.mean / (1.0 + growth / 2.0);
        let is_noticeable = mean.mean * growth >= NOTICEABLE;
        is_noticeable.then(|| {
            let said = format!(
                "{} grows by {} in {seconds:.1} s, to about {} (mean {}, n {})",
                row.name(),
                percent(growth),
                human(first * (1.0 + growth)),
                human(mean.mean),
                mean.n
            );
            (said, mean.beyond(first * (1.0 + at_least / 2.0)))
        })
    })
}

/// A row of which operations take 40 ms too many.
struct Delayed<'a> {
    row: Row<'a>,
    /// Which part of the time holds them.
    what: &'static str,
    operations: u64,
    all: u64,
    /// Others are quick.
    has_quick: bool,
}

impl<'a> Delayed<'a> {
    fn of(row: Row<'a>, at_least: f64) -> Option<Delayed<'a>> {
        let kinds: [(&'static str, &Times); 2] = [
            ("until the first byte", &row.course.response),
            ("from the first byte to the last", &row.course.transfer),
        ];
        kinds.into_iter().find_map(|(what, times)| {
            let between = |[from, to]: [Nanos; 2]| {
                let mut count = 0;
                times.for_each(|value, of| {
                    count += if (from..=to).contains(&value) { of } else { 0 };
                });
                count
            };
            let (operations, all) = (between(DELAYED), times.count());
            let beside = between(AROUND) - operations;
            let is_kind = |n: u64| n >= LEAST_DELAYED && n as f64 >= at_least * all as f64;
            let is_so = is_kind(operations) && operations >= 4 * beside;
            is_so.then(|| Delayed {
                row,
                what,
                operations,
                all,
                has_quick: is_kind(between([0, AROUND[0] - 1])),
            })
        })
    }

    fn share(&self) -> f64 {
        self.operations as f64 / self.all as f64
    }
}

/// The rows that are delayed by acknowledgements. One whose work takes 42 ms is none of them: either
/// it is quick at other times, or others that do something very different take the same 40 ms.
fn delayed<'a>(case: &Case<'a>, at_least: f64) -> Vec<Delayed<'a>> {
    let quick = case.rows().filter_map(|row| row.summary.response);
    // A server of which everything takes 40 ms is far away, or slow.
    let is_near = quick
        .map(|times| times.p50)
        .min()
        .is_some_and(|p50| p50 < DELAYED[0] / 4);
    let rows = case.rows().filter(|_| is_near);
    let mut found: Vec<Delayed<'a>> = rows.filter_map(|row| Delayed::of(row, at_least)).collect();
    let method = |delayed: &Delayed<'a>| delayed.row.summary.method.as_str();
    let methods: BTreeSet<&str> = found.iter().map(method).collect();
    if methods.len() < DIFFERENT {
        found.retain(|delayed| delayed.has_quick);
    }
    found
}

pub(super) fn delayed_ack(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let all = delayed(case, at_least);
    gather(all.iter().map(|delayed| delayed.row), |row| {
        let delayed = all.iter().find(|delayed| delayed.row.is(row))?;
        let Delayed {
            what, operations, ..
        } = delayed;
        let said = format!(
            "{}: {operations} operations ({}) take 39 to 46 ms {what}",
            row.name(),
            percent(delayed.share())
        );
        let beyond = *operations as f64 - at_least * delayed.all as f64;
        Some((said, beyond * 40e6))
    })
}

pub(super) fn two_modes(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let delayed = delayed(case, threshold("delayed-ack"));
    let explained = |row: &Row<'_>| {
        let bytes = row.summary.bytes_sent as f64 / row.course.operations as f64;
        bytes > BUFFERED
            || row.is_mixed()
            || delayed.iter().any(|delayed| delayed.row.is(row))
            || intervals(row, threshold("slow-at-intervals")).is_some()
    };
    gather(case.courses().filter(|row| !explained(row)), |row| {
        let (quick, slow) = modes(&Course::sorted(&row.course.response))?;
        let mean = row.response()?;
        let lost = slow.share * (slow.median - quick.median);
        let is_apart = slow.median >= APART * quick.median;
        let is_noticeable = slow.median - quick.median >= far_apart(row);
        (is_apart && is_noticeable && lost >= at_least * mean.mean).then(|| {
            let told = |mode: Mode| format!("{} take {}", percent(mode.share), human(mode.median));
            let said = format!(
                "{}: {}, and {} (n {})",
                row.name(),
                told(quick),
                told(slow),
                mean.n
            );
            (said, mean.n as f64 * (lost - at_least * mean.mean))
        })
    })
}

/// Threshold of another rule, so that what it explains is not told twice.
fn threshold(name: &str) -> f64 {
    let rule = super::RULES.iter().find(|rule: &&Rule| rule.name == name);
    rule.map_or(f64::INFINITY, |rule| rule.at_least)
}

/// Slow operations at equal distances: the period, how many are slow, and the time lost in them.
fn intervals(row: &Row<'_>, at_least: f64) -> Option<(Period, u64, f64)> {
    let times = row.summary.response.filter(|_| !row.is_mixed())?;
    let slow = (times.p50 as f64 * SLOW).max(times.p50 as f64 + far_apart(row));
    let (mut count, mut lost) = (0, 0.0);
    row.course.response.for_each(|value, of| {
        if value as f64 > slow {
            count += of;
            lost += (value - times.p50) as f64 * of as f64;
        }
    });
    let is_rare = count as f64 <= RARE * times.n as f64;
    if !is_rare || lost < at_least * times.mean * times.n as f64 {
        return None;
    }
    let period = period(&slow_spells(row, slow)).filter(|period| {
        // Less is not told apart from its neighbours.
        period.apart >= 4.0 * row.course.peaks.length() as f64
    })?;
    Some((period, count, lost))
}

/// When slow operations began and ended; those that follow each other are one.
fn slow_spells(row: &Row<'_>, slow: f64) -> Vec<(f64, f64)> {
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

pub(super) fn at_intervals(case: &Case<'_>, at_least: f64) -> Option<Found> {
    gather(case.courses(), |row| {
        let (period, slow, lost) = intervals(row, at_least)?;
        let times = row.summary.response?;
        let said = format!(
            "{}: {slow} of {} operations take three times the median and more; they come about every \
             {} ({} of {} distances are near that)",
            row.name(),
            times.n,
            human(period.every),
            period.regular,
            period.of
        );
        Some((said, lost - at_least * times.mean * times.n as f64))
    })
}

/// A first request beside the others of its row.
struct First<'a> {
    row: Row<'a>,
    took: f64,
    median: f64,
    /// Share of the others that took as long.
    rank: f64,
}

impl<'a> First<'a> {
    fn of(row: Row<'a>) -> Option<First<'a>> {
        let took = *row.material.first_answers.get(&row.id)?;
        let (mut longer, times) = (0, row.summary.response?);
        row.course
            .response
            .for_each(|value, of| longer += if value >= took { of } else { 0 });
        Some(First {
            row,
            took: took as f64,
            median: times.p50 as f64,
            rank: (longer + 1) as f64 / (times.n + 1) as f64,
        })
    }

    fn ratio(&self) -> f64 {
        self.took / self.median.max(1.0)
    }

    fn more(&self) -> f64 {
        (self.took - self.median).max(0.0)
    }
}

/// The ranks of first requests among all are evenly spread where nothing is special about them; many
/// are put together as Fisher did (*Statistical Methods for Research Workers*, section 21.1).
pub(super) fn cold_start(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let mut firsts: Vec<First<'_>> = case.courses().filter_map(First::of).collect();
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
    let told = |first: &First<'_>| {
        format!(
            "{}: the first {}, the others {} (median)",
            first.row.name(),
            human(first.took),
            human(first.median)
        )
    };
    let mut slow: Vec<&First<'_>> = firsts.iter().collect();
    slow.retain(|first| first.ratio() >= at_least);
    Some(Found {
        text: format!(
            "The first request of a test takes {} the median of the others, in half of the tests \
             at least; {} takes {} instead of {}. It is not in the figures of the report.",
            times(typical),
            worst.row.name(),
            human(worst.took),
            human(worst.median)
        ),
        run: worst.row.run,
        evidence: slow.iter().take(NAMED).map(|first| told(first)).collect(),
        tests: slow
            .iter()
            .map(|first| first.row.name().to_owned())
            .collect(),
        saved: slow
            .iter()
            .map(|first| first.took - at_least * first.median)
            .sum(),
    })
}
