//! Samples -> estimates: what a recorded run says, in numbers.
//!
//! ```text
//! events  --> run_events ------------------------------+--> status --+
//!              |  `--> generator (its strain) -----+    |             |
//!              v                                  |    |             |
//! samples --> window --> counted? --> Summariser --+----+--> row ------+--> Summary
//!                                        |                            |
//!               times, bins, bias, spread, interval             warnings, conclusion
//! ```
//!
//! Everything here is a pure function of a [`Run`](record::Run): no clock, no socket, no file, no
//! randomness, and the order of the samples does not matter. Samples need not be in memory:
//! [`summarise_from`] reads them in pieces, and a [`Summariser`] takes them while they come. The
//! rules, each in the module it names:
//!
//! - With several users only what happens while all of them are at work counts (`window`). What
//!   lies outside is counted beside it, and never enters a time.
//! - Failed operations never enter a time. A server that fails fast never looks fast: the rate is
//!   that of the expected answers, too.
//! - Percentiles are never averaged (`distribution`). Those of up to [`EXACT`] values are exact,
//!   and beyond that within 0.05 % (`times`).
//! - The interval of a mean allows for correlated neighbours ([`interval`]); a run can go on until
//!   one is narrow enough ([`Convergence`]).
//! - *Ok*, *failed* and *not supported* are three things (`status`).
//! - Warnings are a closed list ([`Warning`]), and belong to rows. Some of them disqualify a row:
//!   the load generator was measured and not the server. What rests on such a row is inconclusive
//!   ([`Conclusion`]).

mod inside;
pub mod interval;
pub mod units;

mod adaptation;
mod background;
mod batch;
mod bias;
mod bins;
mod compare;
mod conclusion;
mod convergence;
mod details;
mod diagnose;
mod distribution;
mod estimated;
mod failures;
mod foreground;
mod generator;
mod growth;
mod judge;
mod judged;
mod least_squares;
mod live;
mod load_course;
mod load_steps;
mod origins;
mod outcomes;
mod pages;
mod parts;
mod pool;
mod row;
mod run_events;
mod search;
mod sequential;
mod server_view;
mod spread;
mod status;
mod summarise;
mod summariser;
mod summary;
mod sweep;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod throughput;
mod times;
mod until;
mod warning;
mod window;

pub use adaptation::{Adaptation, LoadWish};
pub use background::{
    BackgroundCourse, BackgroundFigures, BackgroundPart, BackgroundSummary, LATE_BLOCKS,
    MeasuredPart, UNSENT_BLOCKS,
};
pub use bias::Bias;
pub use bins::Sum as Batch;
pub use compare::{
    ALPHA, Caveat, Certainty, Compared, ComparedBy, ComparedCost, ComparedInside, ComparedTimes,
    Comparison, CostCertainty, Difference, Direction, EARLY, Early, Estimate, Failing, Inference,
    InsideCost, LEAST_STARTS, LEAST_TOTAL, Observations, Ratio, RowKind, Setting, Side, TotalTimes,
    Verdict, WORTH_DETECTING, compare, compare_by, compared_names, holm, infer, is_finer,
};
pub use conclusion::Conclusion;
pub use constraint::{PartOfRun, UnitKind};
pub use convergence::Convergence;
pub use details::{Bucket, Details, DistributionStep, DrawnOperation, Resolution, TimeLine};
pub use diagnose::{
    Diagnosis, DiagnosisRule, Evidence, Finding, LeftOut, MANY, Material, NamedQuantity, Quantity,
    ResponsePart, WhyLeftOut, all_rules, diagnose, diagnose_pooled, does_the_same, material_from,
};
pub use distribution::Distribution;
pub use failures::FailureGroup;
pub use foreground::ForegroundPart;
pub use generator::{BUSY, LATE, LEAST_WALL, LONG_STALL, QUEUED, SATURATED, together};
pub use growth::{
    EXPONENTS, Effect, Fitted, Growing, Growth, Law, Observation, Shape, Term, growth,
};
pub use inside::flame::{FunctionShare, StackProfile};
pub use inside::{
    InsideFigure, InsideMean, InsideRow, InsideSummary, TracedShares, slowed, tells_shares,
};
pub use judged::{ConstraintReading, JudgedConstraint, ReadFigure, WhyUnknown};
pub use live::LiveJudge;
pub use load_course::{LoadCourse, LoadPart, OutcomeWithStatus};
pub use load_steps::LoadStep;
pub use origins::ResponseOrigins;
pub use outcomes::Outcomes;
pub use pages::{BodySizes, FilesCame, PageSummary, PagesSummary, ServerSummary, Visits};
pub use pool::{PoolRun, Pooled, pool};
pub use row::{Connects, EstimatedRate, Note, SegmentCount, Since, TestSummary};
pub use search::{OfferedLoad, Search, SearchOutcome, Tested, Trial, TrialsLeft, knee};
pub use sequential::{Decision, ProbabilityTest, Tally};
pub use server_view::{ServerView, ServerViewFigure, ServerViewRow, ServerViewTimes};
pub use spread::Bar;
pub use status::{Completeness, Status, StatusReason};
pub use summarise::{counting_windows, summarise, summarise_from};
pub use summariser::Summariser;
pub use summary::{ClockSummary, Summary};
pub use sweep::{
    CallGrowth, CallLaw, PointRatio, SweepPoint, Swept, SweptInside, SweptRow, SweptServer, sweep,
};
pub use times::{EXACT, P99_NEEDS};
pub use until::{TimedStatistic, Until, UntilError};
pub use warning::{
    BIAS, BIAS_SHARE, Detail, IN_PROGRESS, IN_PROGRESS_HALF, Lately, MISSED, RunLimit, Share,
    TOLERATED, Warning, WarningKind, WarningSubject, origin_warnings, warnings_about,
};
pub use window::MeasurementWindow;
