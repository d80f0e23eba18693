//! Attribution of slow operations: to one row, or to everything at that time.
//!
//! A wireless link, a busy switch or another program on the machine delay all requests under way:
//! those of all rows alike, and often several in a row. A delay by the server in one kind of
//! request does not affect the others. So the quickest other rows are compared with the row in
//! question: a delay of all requests shows most plainly in them.

use super::case::{Case, SoundRow};
use super::course::CoursePart;
use super::modes::Mode;
use crate::bins::Bin as _;
use crate::interval::{mean, variance};

/// Number of other rows that are examined.
const OTHERS: usize = 8;

/// Share of the slow operations of a row that others may have, so that it is still the row's own.
const LESS: f64 = 1.0 / 3.0;

/// Parts in the order of time, and operations that each has at least.
const PARTS: u64 = 24;
const OF_A_PART: u64 = 4;

/// How alike the operations of one part may be: 0 where slow ones come anywhere, 1 where all of a
/// part are of one kind.
const ALIKE: f64 = 0.35;

/// True if other rows, the quickest ones, have operations as well that take `longer` nanoseconds
/// more than their median, and about as many of them.
pub(super) fn is_of_others(case: &Case<'_>, row: &SoundRow<'_>, longer: f64, share: f64) -> bool {
    let mut others: Vec<(u64, SoundRow<'_>)> = case
        .courses()
        .filter(|other| other.name() != row.name() && !other.is_mixed())
        .filter_map(|other| Some((other.summary.response?.p50, other)))
        .collect();
    others.sort_by_key(|(median, _)| *median);
    let (mut slow, mut all) = (0, 0);
    for (median, other) in others.iter().take(OTHERS) {
        other.course.response.for_each(|value, count| {
            if value as f64 > *median as f64 + longer {
                slow += count;
            }
            all += count;
        });
    }
    all > 0 && slow as f64 >= LESS * share * all as f64
}

/// Slow operations come among quick ones, and not all at one time: a row that was quick until some
/// event and slow from then on does not have two kinds of responses.
///
/// Uses the intraclass correlation of parts of the run (Donner, *A review of inference procedures
/// for the intraclass correlation coefficient*, International Statistical Review 54, 1986), by the
/// share of slow ones in each, which follows from its mean logarithm.
pub(super) fn is_spread(row: &SoundRow<'_>, quick: &Mode, slow: &Mode) -> bool {
    let recorded = row.course.parts.recorded();
    let count: u64 = recorded.map(|(_, part)| part.count()).sum();
    let parts = row
        .course
        .parts
        .batches((count / OF_A_PART).clamp(2, PARTS) as usize);
    let (low, high) = (quick.median.max(1.0).ln(), slow.median.max(1.0).ln());
    let shares = parts
        .iter()
        .map(|part: &CoursePart| ((part.mean() - low) / (high - low)).clamp(0.0, 1.0));
    let shares: Vec<f64> = shares.collect();
    let k = shares.len() as f64;
    let (mean, variance) = (mean(&shares), variance(&shares));
    let (of_one, of_part) = (mean * (1.0 - mean), count as f64 / k);
    if of_one <= 0.0 || of_part <= 1.0 {
        return true;
    }
    (variance - of_one / of_part) / (of_one * (1.0 - 1.0 / of_part)) <= ALIKE
}
