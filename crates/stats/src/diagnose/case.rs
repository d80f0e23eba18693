//! The rows that can be believed, and what they say.

use record::{MeasureId, Pace, PlanRecord};

use super::course::Course;
use super::line::Point;
use super::material::Material;
use crate::times::Times;
use crate::units::{human, human_range};
use crate::{Distribution, Status, TestSummary};

/// Operations below which a row says nothing of its course. A mean has an interval, which says how
/// much few are worth.
pub(super) const MANY: u64 = 50;

/// Operations below which a mean is not looked at.
const FEW: u64 = 3;

/// Nanoseconds that an operation must lose to be worth a word: what a scheduler does to a process
/// on the same machine is of that size.
pub(super) const NOTICEABLE: f64 = 100e3;

/// Runs of one server.
pub(super) struct Case<'a> {
    runs: &'a [Material],
    /// Nanoseconds of all operations that can be believed.
    pub(super) spent: f64,
}

/// A row that can be believed.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) run: usize,
    pub(super) id: MeasureId,
    pub(super) summary: &'a TestSummary,
    pub(super) course: &'a Course,
    pub(super) material: &'a Material,
}

/// A mean with its interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mean {
    pub(super) row: String,
    pub(super) run: usize,
    pub(super) n: u64,
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// It was measured, and nothing of it failed.
pub(super) fn is_good(row: &TestSummary) -> bool {
    row.status == Status::Ok && row.response.is_some()
}

impl<'a> Case<'a> {
    pub(super) fn of(runs: &'a [Material]) -> Case<'a> {
        let mut case = Case { runs, spent: 0.0 };
        let spent = |row: Row<'_>| row.whole().map_or(0.0, |mean| mean.mean * mean.n as f64);
        case.spent = case.rows().map(spent).sum();
        case
    }

    /// All rows, of all runs in which the generator was at its ease.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'a>> {
        let runs = self.runs.iter().enumerate();
        let sound = runs.filter(|(_, material)| !material.summary.is_inconclusive());
        sound.flat_map(|(run, material)| {
            let rows = material.summary.tests.iter().zip(&material.courses);
            rows.zip(0..)
                .filter(|((summary, _), _)| is_good(summary))
                .map(move |((summary, course), id)| Row {
                    run,
                    id: MeasureId(id),
                    summary,
                    course,
                    material,
                })
        })
    }

    /// Rows with enough operations to have a course.
    pub(super) fn courses(&self) -> impl Iterator<Item = Row<'a>> {
        self.rows()
            .filter(|row| row.course.response.count() >= MANY)
    }

    pub(super) fn row(&self, name: &str) -> Option<Row<'a>> {
        self.rows().find(|row| row.name() == name)
    }

    /// Mean response time of the row of that name.
    pub(super) fn response(&self, name: &str) -> Option<Mean> {
        self.row(name)?.response()
    }

    /// Rows of that name with a size, `Depth1x10` and so on, by their sizes.
    pub(super) fn family(&self, name: &str) -> Vec<(u32, Row<'a>)> {
        let sized = |row: Row<'a>| {
            let (family, size) = sized(row.name())?;
            (family == name).then_some((size, row))
        };
        let mut family: Vec<_> = self.rows().filter_map(sized).collect();
        family.sort_by_key(|(size, _)| *size);
        family.dedup_by_key(|(size, _)| *size);
        family
    }

    /// Names of all families whose rows use this method.
    pub(super) fn families(&self, method: &str) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rows().filter(|row| row.summary.method == method) {
            if let Some((name, _)) = sized(row.name())
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// Takes `Depth1x1000` apart: what is listed, and how much of it there is.
fn sized(name: &str) -> Option<(&str, u32)> {
    let (family, size) = name.rsplit_once('x')?;
    let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !family.is_empty()).then_some((family, size.parse().ok()?))
}

impl<'a> Row<'a> {
    pub(super) fn name(&self) -> &'a str {
        &self.summary.name
    }

    pub(super) fn plan(&self) -> &'a PlanRecord {
        &self.material.plan
    }

    /// Mean response time: until the first byte.
    pub(super) fn response(&self) -> Option<Mean> {
        self.mean(self.summary.response)
    }

    /// Mean time until the whole answer was there, streamed or not.
    pub(super) fn whole(&self) -> Option<Mean> {
        self.mean_of(&self.course.whole)
    }

    pub(super) fn mean_of(&self, times: &Times) -> Option<Mean> {
        self.mean(times.describe())
    }

    fn mean(&self, times: Option<Distribution>) -> Option<Mean> {
        let times = times.filter(|times| times.n >= FEW)?;
        let (low, high) = times.ci95?;
        Some(Mean {
            row: self.name().to_owned(),
            run: self.run,
            n: times.n,
            mean: times.mean,
            low,
            high,
        })
    }

    /// Server and generator share a machine, as far as the URL tells.
    pub(super) fn is_of_this_machine(&self) -> bool {
        let (_, rest) = self.plan().target.split_once("://").unwrap_or_default();
        ["127.", "localhost", "[::1]"]
            .iter()
            .any(|host| rest.starts_with(host))
    }

    /// Each round of the test asks several requests of this name, at different places as a rule: what
    /// differs between them is no property of time.
    pub(super) fn is_mixed(&self) -> bool {
        let load = &self.plan().load;
        match (&load.pace, load.requests) {
            (Pace::Rounds, Some(requests)) => {
                let rounds = requests.saturating_mul(u64::from(load.users));
                self.course.operations >= rounds.saturating_mul(3)
            }
            (Pace::Rounds, None) => self.summary.method == "MKCOL",
            _ => false,
        }
    }
}

impl Mean {
    /// `Put1K 14.2 ms (13.9 .. 14.6 ms, n 100)`.
    pub(super) fn told(&self) -> String {
        format!(
            "{} {} ({}, n {})",
            self.row,
            human(self.mean),
            human_range((self.low, self.high)),
            self.n
        )
    }

    pub(super) fn point(&self, size: u32) -> Point {
        Point {
            size: f64::from(size),
            mean: self.mean,
            error: (self.high - self.mean) / 2.0,
        }
    }

    /// It is surely so many times the other one.
    pub(super) fn is_times(&self, times: f64, other: &Mean) -> bool {
        self.low >= times * other.high
    }

    /// Nanoseconds of all its operations beyond that much for each.
    pub(super) fn beyond(&self, normal: f64) -> f64 {
        self.n as f64 * (self.mean - normal).max(0.0)
    }
}
