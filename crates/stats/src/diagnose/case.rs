//! The rows that are reliable, and their figures.

use std::cmp::Reverse;

use record::{MeasureId, Pace, PlanRecord, TestId};

use super::course::Course;
use super::does_the_same;
use super::figure::{Evidence, NamedQuantity, Quantity};
use super::line::LinePoint;
use super::material::Material;
use crate::interval::{error_of, t_quantile};
use crate::{Distribution, Status, TestSummary, WarningKind};

/// Operations below which the course of a row is not examined. A mean has an interval, which shows
/// the uncertainty of few.
pub const MANY: u64 = 50;

/// Operations below which a mean is not examined.
const FEW: u64 = 3;

/// Nanoseconds that an operation must lose to be reported: delays of a process by the scheduler on
/// the same machine are of that size.
pub(super) const NOTICEABLE: f64 = 100e3;

/// Nanoseconds of work for a request below which ratios are not formed: the difference between a
/// quick request and the floor is noise.
pub(super) const LEAST_WORK: f64 = 100e3;

/// Rows that request one resource alone. The quickest of them is the floor: the round trip, and the
/// work for any request (starting a script, checking credentials).
const FLOOR: [&str; 4] = [
    "PropfindLiveSingle",
    "PropfindDeadSingle",
    "DiscoveryHeldx0",
    "DiscoveryHeld",
];

/// The unit of the number in the names of rows, `Depth1x1000`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SizeUnit {
    /// Members of a collection that is listed.
    Listed,
    /// Members of a collection that is requested alone.
    Beside,
    /// Locks that are held on other resources.
    Locks,
}

/// Rows with such numbers, of the suites `listing` and `locks` and of others that use the same
/// names. In the name of any other row, the meaning of a number is unknown.
const FAMILIES: [(&str, SizeUnit); 11] = [
    ("Depth0", SizeUnit::Beside),
    ("Depth1", SizeUnit::Listed),
    ("Allprop", SizeUnit::Listed),
    ("Propname", SizeUnit::Listed),
    ("Collections", SizeUnit::Listed),
    ("Infinity", SizeUnit::Listed),
    ("LockHeld", SizeUnit::Locks),
    ("RefreshHeld", SizeUnit::Locks),
    ("DiscoveryHeld", SizeUnit::Locks),
    ("PutHeld", SizeUnit::Locks),
    ("UnlockHeld", SizeUnit::Locks),
];

/// Names of all families of which the number counts that.
pub(super) fn families(counts: SizeUnit) -> impl Iterator<Item = &'static str> {
    let found = FAMILIES.iter().filter(move |(_, unit)| *unit == counts);
    found.map(|(name, _)| *name)
}

/// Share of the operations that makes another kind of responses.
const KIND: f64 = 0.05;

/// How many times its median the mean of a row may be before a few slow operations decide it.
const TAIL: f64 = 2.0;

/// Runs of one server.
pub(super) struct Case<'a> {
    runs: &'a [Material],
    /// The measurement that is examined, of rows that were measured again.
    which: Measurement,
    /// Nanoseconds of all operations that can be believed.
    pub(super) spent: f64,
    /// Nanoseconds that any request takes: the mean of the quickest request about one resource,
    /// which as the least of several is rather too small; 0 where there is none.
    pub(super) floor: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measurement {
    /// The further one of that number, or the last one where there are fewer; the first one at 0.
    pub(super) further: usize,
    /// Means are used without their intervals: the difference need not be significant by itself.
    pub(super) is_exact: bool,
}

/// A row that can be believed.
#[derive(Clone, Copy)]
pub(super) struct SoundRow<'a> {
    pub(super) run: usize,
    pub(super) id: MeasureId,
    pub(super) summary: &'a TestSummary,
    pub(super) course: &'a Course,
    pub(super) material: &'a Material,
    is_exact: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mean {
    /// The quantity behind the mean, as the name of a figure.
    what: &'static str,
    pub(super) row: String,
    pub(super) run: usize,
    pub(super) n: u64,
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Runs that the interval comes from.
    runs: usize,
}

/// The row was measured, no operation failed, no warning disqualifies it, and no cache responded.
pub(super) fn is_good(row: &TestSummary) -> bool {
    row.status == Status::Ok && row.not_of_server().is_none() && row.response.is_some()
}

impl<'a> Case<'a> {
    /// All runs, with rows that failed as well.
    pub(super) fn runs(&self) -> &'a [Material] {
        self.runs
    }

    pub(super) fn few(&self) -> usize {
        self.rows().count() - self.courses().count()
    }

    pub(super) fn of(runs: &'a [Material]) -> Case<'a> {
        let first = Measurement {
            further: 0,
            is_exact: false,
        };
        Case::looking_at(runs, first)
    }

    pub(super) fn again(&self, which: Measurement) -> Case<'a> {
        Case::looking_at(self.runs, which)
    }

    /// How often the row of that name was measured again.
    pub(super) fn repeated(&self, name: &str) -> usize {
        let row = self.first_rows().find(|row| row.name() == name);
        row.map_or(0, |row| self.repeats(&row).count())
    }

    /// True if a few slow operations decide the mean of the row of that name.
    pub(super) fn is_tail(&self, name: &str) -> bool {
        let times = self.row(name).and_then(|row| row.summary.response);
        times.is_some_and(|times| times.mean > TAIL * times.p50 as f64)
    }

    fn looking_at(runs: &'a [Material], which: Measurement) -> Case<'a> {
        let mut case = Case {
            runs,
            which,
            spent: 0.0,
            floor: 0.0,
        };
        let spent = |row: SoundRow<'_>| {
            let times = row.course.whole.describe();
            times.map_or(0.0, |times| times.mean * times.n as f64)
        };
        case.spent = case.rows().map(spent).sum();
        let floors = case.rows().filter(SoundRow::is_floor);
        let quickest = floors
            .filter_map(|row| row.response())
            .min_by(|one, other| one.mean.total_cmp(&other.mean));
        case.floor = quickest.map_or(0.0, |mean| mean.mean);
        case
    }

    /// Nanoseconds that a request takes beyond the floor, on the average and at most; at least
    /// [`LEAST_WORK`]. A request that is quicker than the floor is its own.
    pub(super) fn work(&self, mean: &Mean) -> (f64, f64) {
        let floor = self.floor.min(mean.low);
        let work = |time: f64| (time - floor).max(LEAST_WORK);
        (work(mean.mean), work(mean.high))
    }

    /// Expected time of the slower request if it were as many times the work of the quicker one as
    /// normal, where it is significantly and noticeably slower: the floor is subtracted from both.
    pub(super) fn normal_if_slower(&self, slow: &Mean, quick: &Mean, times: f64) -> Option<f64> {
        let floor = self.floor.min(quick.low);
        let (work, at_most) = self.work(quick);
        let normal = floor + times * work;
        let is_sure = slow.low - floor >= times * at_most;
        (is_sure && slow.mean - normal >= NOTICEABLE).then_some(normal)
    }

    /// All good rows, each once, in the measurement that is examined.
    pub(super) fn rows(&self) -> impl Iterator<Item = SoundRow<'a>> {
        self.first_rows().map(|row| {
            let repeats = self.repeats(&row).take(self.which.further);
            repeats.last().unwrap_or(row)
        })
    }

    /// All good rows, each once: a run that repeats a suite is left out.
    fn first_rows(&self) -> impl Iterator<Item = SoundRow<'a>> {
        let is_first = |row: &SoundRow<'a>| {
            let before = &self.runs[..row.run];
            let has_it = |material: &Material| {
                let mut names = material.summary.tests.iter().map(|test| &test.name);
                material.plan.suite.name == row.plan().suite.name
                    && names.any(|name| name == row.name())
            };
            !before.iter().any(has_it)
        };
        self.all_rows().filter(is_first)
    }

    /// All good rows of all runs.
    fn all_rows(&self) -> impl Iterator<Item = SoundRow<'a>> {
        let is_exact = self.which.is_exact;
        let runs = self.runs.iter().enumerate();
        runs.flat_map(move |(run, material)| {
            let rows = material.summary.tests.iter().zip(&material.courses);
            rows.zip(0..)
                .filter(|((summary, _), _)| is_good(summary))
                .map(move |((summary, course), id)| SoundRow {
                    run,
                    id: MeasureId(id),
                    summary,
                    course,
                    material,
                    is_exact,
                })
        })
    }

    pub(super) fn courses(&self) -> impl Iterator<Item = SoundRow<'a>> {
        self.rows().filter(SoundRow::has_course)
    }

    /// The same row, measured once more in another run of the suite.
    pub(super) fn repeats(&self, row: &SoundRow<'a>) -> impl Iterator<Item = SoundRow<'a>> {
        let (name, plan, run) = (row.name(), row.plan(), row.run);
        self.all_rows().filter(move |other| {
            let is_its = other.plan().load.users == plan.load.users;
            let is_another = other.run != run && other.name() == name;
            is_another && is_its && does_the_same(other.plan(), plan)
        })
    }

    /// The row of that name, of the run with the most users, the first one of several.
    pub(super) fn busiest(&self, name: &str) -> Option<SoundRow<'a>> {
        let rows = self.all_rows().filter(|row| row.name() == name);
        rows.max_by_key(|row| (row.plan().load.users, Reverse(row.run)))
    }

    pub(super) fn row(&self, name: &str) -> Option<SoundRow<'a>> {
        self.rows().find(|row| row.name() == name)
    }

    pub(super) fn response(&self, name: &str) -> Option<Mean> {
        self.row(name)?.response()
    }

    /// Rows of that name with a size, `Depth1x10` and so on, by their sizes.
    pub(super) fn family(&self, name: &str) -> Vec<(u32, SoundRow<'a>)> {
        let sized = |row: SoundRow<'a>| {
            let (family, size) = sized(row.name())?;
            (family == name).then_some((size, row))
        };
        let mut family: Vec<_> = self.rows().filter_map(sized).collect();
        family.sort_by_key(|(size, _)| *size);
        family.dedup_by_key(|(size, _)| *size);
        family
    }
}

/// The name of a row without its number: `Depth1` of `Depth1x1000`.
pub(super) fn family_of(name: &str) -> &str {
    sized(name).map_or(name, |(family, _)| family)
}

/// Splits `Depth1x1000`: the kind of listing, and its size.
fn sized(name: &str) -> Option<(&str, u32)> {
    let (family, size) = name.rsplit_once('x')?;
    let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !family.is_empty()).then_some((family, size.parse().ok()?))
}

impl<'a> SoundRow<'a> {
    pub(super) fn name(&self) -> &'a str {
        &self.summary.name
    }

    pub(super) fn has_course(&self) -> bool {
        self.course.response.count() >= MANY
    }

    /// The request is about one resource alone.
    fn is_floor(&self) -> bool {
        let is_depth_zero = sized(self.name()).is_some_and(|(family, _)| family == "Depth0");
        is_depth_zero || self.summary.method == "OPTIONS" || FLOOR.contains(&self.name())
    }

    pub(super) fn plan(&self) -> &'a PlanRecord {
        &self.material.plan
    }

    pub(super) fn response(&self) -> Option<Mean> {
        self.mean("mean", self.summary.response)
    }

    /// Mean time until the response was complete, streamed or not; `None` where the load generator
    /// may have made it longer.
    pub(super) fn whole(&self) -> Option<Mean> {
        let mut warnings = self.summary.warnings.iter();
        if warnings.any(|warning| warning.kind == WarningKind::TotalStalled) {
            return None;
        }
        self.mean("until_last_byte", self.course.describe_whole())
    }

    fn mean(&self, what: &'static str, times: Option<Distribution>) -> Option<Mean> {
        let times = times.filter(|times| times.n >= FEW)?;
        let (low, high) = if self.is_exact {
            (times.mean, times.mean)
        } else {
            times.ci95?
        };
        Some(Mean {
            what,
            row: self.name().to_owned(),
            run: self.run,
            n: times.n,
            mean: times.mean,
            low,
            high,
            runs: self.course.runs.len(),
        })
    }

    /// Server and generator share a machine, as far as the URL shows.
    pub(super) fn is_of_this_machine(&self) -> bool {
        let (_, rest) = self.plan().target.split_once("://").unwrap_or_default();
        ["127.", "localhost", "[::1]"]
            .iter()
            .any(|host| rest.starts_with(host))
    }

    /// The row has several kinds of operations, as far as the record shows: differences between
    /// them are no property of time.
    pub(super) fn is_mixed(&self) -> bool {
        self.has_several_statuses() || self.asks_several()
    }

    /// A LOCK that is granted and one that is declined, for example.
    fn has_several_statuses(&self) -> bool {
        let counts = self.course.statuses.values();
        let all: u64 = counts.clone().sum();
        let others = all - counts.max().unwrap_or(&0);
        others as f64 > KIND * all as f64
    }

    /// True if each round of the test sends several requests of this name, to different resources
    /// as a rule: a tree that is made. How many rounds a test has is not recorded, and tests differ
    /// in it; but none has more than its rarest row has operations.
    fn asks_several(&self) -> bool {
        let load = &self.plan().load;
        let of_run = |course: &Course| course.operations / (course.runs.len() as u64).max(1);
        let operations = of_run(self.course);
        let rarest = |test: TestId| {
            let rows = self.plan().measures.iter().zip(&self.material.courses);
            let of_test = rows.filter(|(measure, _)| measure.test == test);
            of_test
                .map(|(_, course)| of_run(course))
                .filter(|n| *n > 0)
                .min()
        };
        let test = self.plan().measures[usize::from(self.id.0)].test;
        let beside = rarest(test).filter(|rarest| *rarest < operations);
        match (&load.pace, load.requests, beside) {
            (Pace::Rounds, _, Some(rounds)) => operations >= 2 * rounds,
            (Pace::Rounds, Some(of_first), None) => {
                let others = self.plan().measures.iter().map(|measure| measure.test);
                let others = others.filter(|other| *other != test);
                let first = of_first.saturating_mul(u64::from(load.users));
                let most = others.filter_map(rarest).fold(first, u64::max);
                operations >= most.saturating_mul(2)
            }
            (Pace::Rounds, None, None) => self.summary.method == "MKCOL",
            _ => false,
        }
    }
}

impl Mean {
    pub(super) fn figure(&self, name: &'static str) -> NamedQuantity {
        NamedQuantity {
            name,
            value: Quantity::Time(self.mean),
            interval: Some((self.low, self.high)),
            operations: Some(self.n),
        }
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence {
            row: self.row.clone(),
            figures: vec![self.figure(self.what)],
        }
    }

    pub(super) fn point(&self, size: u32) -> LinePoint {
        LinePoint {
            size: f64::from(size),
            mean: self.mean,
            error: match self.runs {
                0 | 1 => error_of(self.high - self.mean, self.n),
                runs => (self.high - self.mean) / t_quantile((runs - 1) as f64),
            },
        }
    }

    /// Nanoseconds of all its operations beyond that much for each.
    pub(super) fn beyond(&self, normal: f64) -> f64 {
        self.n as f64 * (self.mean - normal).max(0.0)
    }
}
