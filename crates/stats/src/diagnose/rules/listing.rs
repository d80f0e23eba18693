//! PROPFIND over collections of several sizes. What counts is the time until the whole answer is
//! there: a server that streams has sent its first byte long before.

use super::{Found, percent, times};
use crate::diagnose::case::{Case, Counts, Mean, NOTICEABLE, PER_MEMBER, Row, families};
use crate::diagnose::line::{Line, line};
use crate::units::human;

/// Members below which times for each member say little.
const MANY: u32 = 100;

/// Bytes of an answer that is called large.
const LARGE: f64 = 65_536.0;

/// Nanoseconds that somebody waits for it.
const LONG: f64 = 20e6;

/// Nanoseconds that a small request may lose after a large one, of which caches are full.
const COLD_AGAIN: f64 = 1e6;

/// What a kind of listing costs.
struct Growth {
    name: &'static str,
    rows: Vec<(u32, Mean)>,
    line: Line,
}

impl Growth {
    /// Nanoseconds of all rows beyond so much for each member.
    fn beyond(&self, each: f64) -> f64 {
        let base = self.line.base.0.max(0.0);
        let beyond = |(size, mean): &(u32, Mean)| mean.beyond(base + each * f64::from(*size));
        self.rows.iter().map(beyond).sum()
    }

    /// It costs noticeably more than so much for each member, where there are most of them.
    fn is_noticeably(&self, each: f64) -> bool {
        let largest = self.rows.last().map_or(0.0, |(size, _)| f64::from(*size));
        (self.line.slope.0 - each) * largest >= NOTICEABLE
    }

    /// Time for each member, surely and at most.
    fn each(&self) -> (f64, f64) {
        let (slope, half) = self.line.slope;
        (slope - half, slope + half)
    }

    fn told(&self) -> String {
        let ((slope, half), (base, _)) = (self.line.slope, self.line.base);
        let largest = self.rows.last().map_or(String::new(), |(size, mean)| {
            format!(", {size} members {} (n {})", human(mean.mean), mean.n)
        });
        format!(
            "{}: {} ± {} for each member, {} for the rest{largest}",
            self.name,
            human(slope),
            human(half),
            human(base.max(0.0))
        )
    }

    fn tests(&self) -> Vec<String> {
        self.rows.iter().map(|(_, mean)| mean.row.clone()).collect()
    }

    fn run(&self) -> usize {
        self.rows.first().map_or(0, |(_, mean)| mean.run)
    }
}

fn growth(case: &Case<'_>, name: &'static str) -> Option<Growth> {
    let whole = |(size, row): &(u32, Row<'_>)| Some((*size, row.whole()?));
    let rows: Vec<(u32, Mean)> = case.family(name).iter().filter_map(whole).collect();
    let points: Vec<_> = rows.iter().map(|(size, mean)| mean.point(*size)).collect();
    let line = line(&points)?;
    Some(Growth { name, rows, line })
}

pub(super) fn per_member(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let growths = families(Counts::Listed).filter_map(|name| growth(case, name));
    let mut growths: Vec<Growth> = growths.collect();
    let smallest = case.family("Depth0").first()?.1.whole()?;
    let normal = (at_least * smallest.high).max(PER_MEMBER);
    growths.retain(|growth| growth.each().0 >= normal && growth.is_noticeably(normal));
    growths.sort_by(|one, other| other.each().0.total_cmp(&one.each().0));
    // The plain one is the one to talk about, where it is one of them.
    let plain = growths.iter().position(|growth| growth.name == "Depth1");
    let shown = growths.get(plain.unwrap_or(0))?;
    let (size, largest) = shown.rows.last()?;
    let each = shown.line.slope.0;
    let mut found = Found {
        text: format!(
            "PROPFIND with Depth: 1 costs {} for each member, {} of a PROPFIND of a single one \
             ({}); {size} members take {}.",
            human(each),
            percent(each / smallest.mean),
            human(smallest.mean),
            human(largest.mean)
        ),
        run: shown.run(),
        ..Found::default()
    };
    for growth in &growths {
        found.evidence.push(growth.told());
        found.tests.extend(growth.tests());
        found.saved += growth.beyond(normal);
    }
    found.evidence.push(smallest.told());
    Some(found)
}

pub(super) fn outgrows(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let mut all: Option<Found> = None;
    for name in families(Counts::Listed) {
        let whole = |(size, row): &(u32, Row<'_>)| Some((*size, row.whole()?));
        let rows: Vec<(u32, Mean)> = case.family(name).iter().filter_map(whole).collect();
        let [.., (before, smaller), (size, larger)] = &rows[..] else {
            continue;
        };
        let (per, per_before) = (f64::from(*size), f64::from(*before));
        let are_many = *before >= MANY && size > before;
        let normal = smaller.mean * per / per_before;
        let is_grown = larger.low / per >= at_least * smaller.high / per_before;
        if !are_many || !is_grown || larger.mean - at_least * normal < NOTICEABLE {
            continue;
        }
        let found = all.get_or_insert_with(|| Found {
            run: larger.run,
            text: format!(
                "{size} members take {}, {before} members {}: {} as long for each of them.",
                human(larger.mean),
                human(smaller.mean),
                times(larger.mean / normal)
            ),
            ..Found::default()
        });
        found.add(&[larger, smaller]);
        found.saved += larger.beyond(at_least * normal);
    }
    all
}

pub(super) fn depth_zero(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let family = case.family("Depth0");
    let ((few, smallest), (many, largest)) = (family.first()?, family.last()?);
    let (small, large) = (smallest.response()?, largest.response()?);
    let is_noticeable = large.mean - at_least * small.mean >= COLD_AGAIN;
    if !large.is_times(at_least, &small) || !is_noticeable {
        return None;
    }
    Some(Found {
        text: format!(
            "Asked about itself alone, a collection of {many} members takes {} to answer, one of \
             {few} members {}.",
            human(large.mean),
            human(small.mean)
        ),
        saved: large.beyond(at_least * small.mean),
        ..Found::on(&[&large, &small])
    })
}

pub(super) fn allprop(case: &Case<'_>, at_least: f64) -> Option<Found> {
    beside(
        case,
        ("Allprop", "allprop"),
        ("Depth1", "five named properties"),
        at_least,
    )
}

pub(super) fn collections(case: &Case<'_>, at_least: f64) -> Option<Found> {
    beside(
        case,
        ("Collections", "A sub-collection"),
        ("Depth1", "a file"),
        at_least,
    )
}

/// Two kinds of listings beside each other, by what a member costs; each with what it is called.
fn beside(
    case: &Case<'_>,
    (dear, what): (&'static str, &str),
    (cheap, than): (&'static str, &str),
    at_least: f64,
) -> Option<Found> {
    let (dear, cheap) = (growth(case, dear)?, growth(case, cheap)?);
    let normal = (at_least * cheap.each().1).max(PER_MEMBER);
    let is_dear = dear.each().0 >= normal && dear.is_noticeably(normal);
    if cheap.line.slope.0 <= 0.0 || !is_dear {
        return None;
    }
    Some(Found {
        text: format!(
            "{what} costs {} for each member, {than} {}: {} as long.",
            human(dear.line.slope.0),
            human(cheap.line.slope.0),
            times(dear.line.slope.0 / cheap.line.slope.0)
        ),
        evidence: vec![dear.told(), cheap.told()],
        tests: [dear.tests(), cheap.tests()].concat(),
        run: dear.run(),
        saved: dear.beyond(normal),
    })
}

pub(super) fn buffered(case: &Case<'_>, at_least: f64) -> Option<Found> {
    let mut found = Found::default();
    let mut longest = 0.0;
    for row in case.rows().filter(|row| row.summary.method == "PROPFIND") {
        let (Some(response), Some(whole)) = (row.response(), row.whole()) else {
            continue;
        };
        let bytes = row.summary.bytes_received as f64 / row.course.operations as f64;
        // Both are of the same operations: what scatters is their sum, not their share.
        let is_buffered = response.mean >= at_least * whole.mean;
        if bytes < LARGE || response.low < LONG || !is_buffered {
            continue;
        }
        if response.mean > longest {
            longest = response.mean;
            found.run = row.run;
            found.text = format!(
                "The first byte of an answer of {:.1} MB ({}) comes after {}, {} of the time of \
                 the whole answer.",
                bytes / 1e6,
                row.name(),
                human(response.mean),
                percent(response.mean / whole.mean)
            );
        }
        let told = format!(
            "{}; the whole answer {}",
            response.told(),
            human(whole.mean)
        );
        found.evidence.push(told);
        found.tests.push(row.name().to_owned());
    }
    // Nothing is saved: the last byte comes when it came before.
    (!found.tests.is_empty()).then_some(found)
}
