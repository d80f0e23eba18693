//! The largest load a server holds, and the curve of loads alone, for people and for programs.

pub(crate) mod document;
mod json;

use record::NoteRecord;
use stats::interval::median;
use stats::{Distribution, EstimatedRate, OfferedLoad, SearchOutcome, Tally, Tested};

use crate::figure;
use crate::incomplete::Incomplete;
use crate::terminal::TextReport;
use crate::units::human;

pub use json::search_json;
#[cfg(feature = "schema")]
pub use json::search_schema;

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// What was searched for.
    pub find: Find,
    /// The condition, as it was written; `None` for the curve alone.
    pub condition: Option<String>,
    /// What was counted.
    pub counted: CountedUnit,
    /// Where.
    pub target: String,
    /// What the server says of itself.
    pub software: Option<String>,
    /// What was sent.
    pub what: String,
    /// What whoever made the trials says about them, each note once.
    pub notes: Vec<NoteRecord>,
    /// Seed of everything random; the trials have this one and those after it.
    pub seed: u64,
    /// Why loads are missing, where it ended early.
    pub incomplete: Option<Incomplete>,
    /// What to know before believing it.
    pub caveats: Vec<String>,
    /// The answer.
    pub answer: SearchOutcome,
    /// Where more load begins to cost more than it brings.
    pub knee: Option<OfferedLoad>,
    /// Every trial, in the order of the loads.
    pub trials: Vec<Tried>,
}

/// What is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// A number of users.
    Users,
    /// Requests a second.
    Rate,
}

impl Find {
    /// The name used in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Find::Users => "users",
            Find::Rate => "rate",
        }
    }

    /// `23 users`, `1200 requests/s`.
    pub fn amount(self, load: OfferedLoad) -> String {
        match self {
            Find::Users if load == 1.0 => "1 user".to_owned(),
            Find::Users => format!("{load} users"),
            // Bisection adds digits that nobody asked for.
            Find::Rate => format!("{} requests/s", (load * 1e3).round() / 1e3),
        }
    }
}

impl SearchResult {
    /// A load that was tried.
    fn amount(&self, load: OfferedLoad) -> String {
        self.counted.amount(self.find, load)
    }
}

/// What a load brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedUnit {
    /// Expected answers.
    Answers,
    /// Complete pages.
    Pages,
}

impl CountedUnit {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            CountedUnit::Answers => "answers",
            CountedUnit::Pages => "pages",
        }
    }

    /// As [`Find::amount`]; users who fetch pages are called children.
    pub fn amount(self, find: Find, load: OfferedLoad) -> String {
        match (find, self) {
            (Find::Users, CountedUnit::Pages) if load == 1.0 => "1 child".to_owned(),
            (Find::Users, CountedUnit::Pages) => format!("{load} children"),
            _ => find.amount(load),
        }
    }

    /// What stands above the rate of a table, and how many seconds it is for.
    fn rate(self) -> (&'static str, f64) {
        match self {
            CountedUnit::Answers => ("responses/s", 1.0),
            CountedUnit::Pages => ("pages/min", 60.0),
        }
    }

    /// A rate in its unit. A page that is not complete is none.
    fn shown(self, per_second: f64) -> String {
        let rate = per_second * self.rate().1;
        match self {
            CountedUnit::Answers => format!("{rate:.0}"),
            CountedUnit::Pages => format!("{:.0}", rate.floor()),
        }
    }
}

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// The load.
    pub load: OfferedLoad,
    /// The condition held.
    pub held: bool,
    /// Expected answers, or complete pages, a second; the sum of several requests has no interval.
    pub rate: EstimatedRate,
    /// Times that were waited, or page loads took, in nanoseconds; `None` where nothing was
    /// answered as expected.
    pub times: Option<Distribution>,
    /// Processor time of the server for an operation, the mean of all, in nanoseconds; `None` where
    /// it was not looked into.
    pub processor: Option<f64>,
    /// Operations that failed or were dropped.
    pub failures: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Loaded {
    pub(crate) load: OfferedLoad,
    pub(crate) trials: Tally,
    /// The medians of what they measured.
    pub(crate) per_second: f64,
    pub(crate) times: Option<Medians>,
    pub(crate) processor: Option<f64>,
    /// Of all trials together.
    pub(crate) failures: u64,
}

/// Medians of the times of several trials, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Medians {
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Loaded {
    pub(crate) fn all(found: &SearchResult) -> Vec<Loaded> {
        let same = |one: &Tried, other: &Tried| one.load == other.load;
        found.trials.chunk_by(same).map(Loaded::of).collect()
    }

    fn of(trials: &[Tried]) -> Loaded {
        let held = trials.iter().filter(|tried| tried.held).count();
        let of = |time: fn(&Distribution) -> f64| {
            let times = trials.iter().filter_map(|tried| tried.times.as_ref());
            median(&times.map(time).collect::<Vec<_>>())
        };
        let processor = trials.iter().filter_map(|tried| tried.processor);
        let rates: Vec<f64> = trials.iter().map(|tried| tried.rate.per_second).collect();
        let (mean, p50, p99) = (
            of(|times| times.mean),
            of(|times| times.p50 as f64),
            of(|times| times.p99 as f64),
        );
        Loaded {
            load: trials[0].load,
            trials: Tally {
                held: held as u32,
                failed: (trials.len() - held) as u32,
            },
            per_second: median(&rates).unwrap_or(0.0),
            times: mean
                .zip(p50)
                .zip(p99)
                .map(|((mean, p50), p99)| Medians { mean, p50, p99 }),
            processor: median(&processor.collect::<Vec<_>>()),
            failures: trials.iter().map(|tried| tried.failures).sum(),
        }
    }

    /// The condition held in fewer than nine of ten trials.
    pub(crate) fn fails(&self) -> bool {
        self.trials.failed * 10 > self.trials.trials()
    }
}

/// The search for people. Ends with a newline.
pub fn search_text(found: &SearchResult, color: bool, width: usize) -> String {
    let mut report = TextReport::new(color, width);
    report.blocks(&document::document(found));
    report.finish()
}

/// The answer in words.
pub fn answer_in_words(found: &SearchResult) -> String {
    let amount = |load| found.amount(load);
    let mut words = match &found.condition {
        Some(condition) => held_in_words(found, condition),
        None => curve_in_words(found),
    };
    if let Some(load) = found.knee {
        words += &format!(
            " The knee is at {}: beyond it, more load adds more response time than throughput.",
            amount(load)
        );
    }
    words
}

fn curve_in_words(found: &SearchResult) -> String {
    let trials = found.trials.iter();
    let best = trials.max_by(|one, other| one.rate.per_second.total_cmp(&other.rate.per_second));
    let Some(best) = best else {
        return "No load could be tried.".to_owned();
    };
    let (unit, _) = found.counted.rate();
    let time = best.times.map_or(String::new(), |times| {
        format!(
            " (p50 {}, p99 {})",
            human(times.p50 as f64),
            human(times.p99 as f64)
        )
    });
    let shown = best.rate.scaled(found.counted.rate().1);
    let range = figure::rate(shown.per_second, shown.ci95).1;
    let rate = format!("{} {unit}", found.counted.shown(best.rate.per_second));
    format!(
        "Throughput was highest with {}: {}{time}.",
        found.amount(best.load),
        figure::with_interval(&rate, range)
    )
}

fn held_in_words(found: &SearchResult, condition: &str) -> String {
    let amount = |load| found.amount(load);
    let SearchOutcome {
        holds,
        fails,
        confirmed,
    } = found.answer;
    let ended = found.incomplete.is_some();
    let claim = match (holds, fails) {
        (Some(holds), _) if !confirmed => {
            format!("may hold with {} (not confirmed)", amount(holds.load))
        }
        (Some(holds), Some(_)) => format!("holds up to {}", amount(holds.load)),
        (Some(holds), None) if ended => format!("holds with {}", amount(holds.load)),
        (Some(holds), None) => {
            format!(
                "holds with {}, the largest load that was tried",
                amount(holds.load)
            )
        }
        (None, Some(fails)) => format!("does not hold even with {}", amount(fails.load)),
        (None, None) => return format!("{condition}: unknown."),
    };
    let evidence = [
        holds.map(|holds| {
            let bound = (holds.at_least() * 100.0).floor();
            let bound = (bound > 0.0).then(|| format!("in at least {bound} % of all"));
            evidence(found, holds, bound)
        }),
        fails.map(|fails| {
            let bound = (fails.at_most() * 100.0).ceil();
            let bound = (bound < 100.0).then(|| format!("in at most {bound} % of all"));
            evidence(found, fails, bound)
        }),
    ];
    let evidence: Vec<String> = evidence.into_iter().flatten().collect();
    format!("{condition}: {claim}. It held {}.", evidence.join(", and "))
}

/// In how many trials it held, and what follows for all.
fn evidence(found: &SearchResult, tested: Tested, bound: Option<String>) -> String {
    let Tally { held, .. } = tested.trials;
    let bound = bound.map_or(String::new(), |bound| {
        format!(" ({bound}, 95 % confidence)")
    });
    format!(
        "in {held} of {} trials with {}{bound}",
        tested.trials.trials(),
        found.amount(tested.load)
    )
}
