//! The kinds of warnings, and when each is raised.

use record::{Generator, Lateness, Load, Nanos, Outcome, Pace, PlanRecord};

use super::facts::{Lately, TestFacts, WarningInputs, operations_of_each_user};
use super::origins;
use super::stall::{Part, RowFacts, Stalls, is_too_much};
use super::{Detail, RunLimit, Share, Warning};
use crate::TestSummary;
use crate::background::BackgroundFaults;
use crate::generator::{BUSY, LATE, LEAST_WALL, SATURATED, Strain};
use crate::times::P99_NEEDS;
use crate::window::NoWindow;
use WarningKind as Kind;

/// Operations, beyond a first one for each user, below which there is no warning about keep-alive.
const RECONNECTS_NEED: u64 = 5;

/// Percent of the operations that should be under way below which users waited in the generator for
/// a noticeable part of the time.
pub const IN_PROGRESS: u64 = 90;

/// Percent below which they waited there for most of the time, and the generator was measured.
pub const IN_PROGRESS_HALF: u64 = 50;

/// Operations for each user below which the first, which may have begun before the window, weighs
/// too much in the number under way.
const IN_PROGRESS_NEEDS: u64 = 20;

/// Percent of operations without the kernel's stamps above which the missing ones could be the slow
/// ones, which p99 would not show.
pub const MISSED: u64 = 1;

/// Nanoseconds of bias (p99) below which waking up was as quick as possible: 100 us.
pub const BIAS: i64 = 100_000;

/// Percent of the median response time below which the bias is small beside it.
pub const BIAS_SHARE: u64 = 50;

/// Warnings about the last seconds of a load run: on the load generator and its clock, as for a run
/// of these operations only. Resources that ran out may be of the whole run.
pub fn warnings_about(
    name: &str,
    generator: &Generator,
    lately: &Lately,
    plan: &PlanRecord,
) -> Vec<Warning> {
    let name = || name.to_owned();
    let facts = TestFacts {
        name: name(),
        missing: None,
        counted: lately.operations,
        recorded: lately.operations,
        not_supported: false,
        // Files of a page that overlap are more than the page, so that this is never too low.
        under_way: lately.under_way,
        of_each_user: operations_of_each_user(plan),
        rested: Some(generator.rested),
        window: generator.wall,
    };
    let mut warnings = all(&WarningInputs {
        load: &plan.load,
        ended_early: false,
        rows: &[],
        row_facts: &[],
        tests: &[facts],
        strain: &Strain::of(std::slice::from_ref(generator), |_| name()),
        orphans: 0,
        clock_steps: 0,
        recorded: &[],
        background: &BackgroundFaults::default(),
    });
    let share = |part: Part| Share::from((&name(), part));
    let rows = |found: Option<(u64, u64)>| Vec::from_iter(found.map(share));
    let (expected, missing) = lately.answers;
    let (n, p99) = lately.bias;
    // No operation is known by itself, so a stall counts by the load that was missing meanwhile.
    let load = &plan.load;
    let stalled = Stalls::of(generator, load).and_then(|stalls| stalls.load_part(load));
    let stalled = stalled.filter(is_too_much);
    if stalled.is_some() {
        warnings.retain(|warning| warning.kind != Kind::Hiccup);
    }
    let median = (lately.response, lately.response);
    let late = generator.lateness.and_then(|late| lateness(&late, median));
    let of_last_seconds = [
        Warning::of(Kind::Stalled, rows(stalled)),
        Warning::of(Kind::Late, rows(late)),
        Warning::of(Kind::MissedStamps, rows(many_missed(missing, expected))),
        Warning::of(Kind::Bias, rows(great_bias(n, p99, lately.response))),
    ];
    let given = of_last_seconds.into_iter();
    warnings.extend(given.filter(|warning| !warning.shares.is_empty()));
    warnings
}

/// All warnings of a run, in the order of the enum.
pub(crate) fn all(material: &WarningInputs<'_>) -> Vec<Warning> {
    let mut warnings = about_generator(material);
    warnings.extend(about_operations(material));
    warnings.retain(|warning| !warning.shares.is_empty());
    let of_run = |kind, detail| Warning::of(kind, Vec::new()).with(detail);
    for (kind, count) in [
        (Kind::ClockStepped, material.clock_steps),
        (Kind::Orphans, material.orphans),
    ] {
        warnings.extend((count > 0).then(|| of_run(kind, Detail::Count(count))));
    }
    let recorded = material.recorded.iter().cloned().map(Detail::Text);
    warnings.extend(recorded.map(|text| of_run(Kind::Recorded, text)));
    warnings
}

fn about_generator(material: &WarningInputs<'_>) -> Vec<Warning> {
    let strain = material.strain;
    let under_way = |percent: std::ops::Range<u64>| -> Vec<Share> {
        let tests = material.tests.iter();
        tests
            .filter_map(|test| under_way(test, material.load))
            .filter(|share| share.is_within(&percent))
            .collect()
    };
    let (exhausted, what) = strain.exhausted();
    let background = material.background;
    let mut warnings = vec![
        Warning::of(Kind::Exhausted, exhausted).with(Detail::RanOut(what)),
        Warning::of(Kind::BackgroundEnded, background.without.clone()),
        Warning::of(Kind::BackgroundFlowsFailed, background.failed_flows.clone()),
        Warning::of(Kind::BackgroundUnsent, background.unsent.clone()),
        Warning::of(Kind::BackgroundLate, background.late.clone()),
        Warning::of(Kind::Saturated, strain.used(SATURATED..u64::MAX)),
        Warning::of(Kind::Busy, strain.used(BUSY..SATURATED)),
        Warning::of(Kind::Queued, strain.queued()),
    ];
    warnings.extend(about_stalls(material));
    warnings.extend([
        Warning::of(Kind::Late, late(material)),
        Warning::of(Kind::HalfIdle, under_way(0..IN_PROGRESS_HALF)),
        Warning::of(Kind::PartlyIdle, under_way(IN_PROGRESS_HALF..IN_PROGRESS)),
    ]);
    warnings
}

fn about_stalls(material: &WarningInputs<'_>) -> [Warning; 3] {
    let rows = || material.rows.iter().zip(material.row_facts);
    let too_much = |part: fn(&RowFacts) -> Option<Part>| -> Vec<Share> {
        let found = rows().filter_map(|(row, facts)| {
            let part = part(facts).filter(is_too_much)?;
            Some((&row.name, part))
        });
        found.map(Share::from).collect()
    };
    let stalled = too_much(|facts| facts.stalled);
    let mut total_stalled = too_much(|facts| facts.total_stalled);
    total_stalled.retain(|share| stalled.iter().all(|other| other.name != share.name));
    let mut hiccups = material.strain.hiccups();
    // Where an estimate suffered, that is the warning.
    let suffered = |test: &str| {
        rows().any(|(row, _)| {
            let is_stalled = stalled.iter().any(|share| share.name == row.name);
            is_stalled && row.test == test
        })
    };
    hiccups.retain(|share| !suffered(&share.name));
    [
        Warning::of(Kind::Stalled, stalled),
        Warning::of(Kind::TotalStalled, total_stalled),
        Warning::of(Kind::Hiccup, hiccups),
    ]
}

/// Rows of an open loop whose times from *planned* contain the lateness of the load generator.
fn late(material: &WarningInputs<'_>) -> Vec<Share> {
    let share = |row: &TestSummary| {
        let planned = row.planned.as_ref()?;
        let late = material.strain.lateness()?;
        let found = lateness(late, (planned.mean as Nanos, planned.p99))?;
        Some(Share::from((&row.name, found)))
    };
    material.rows.iter().filter_map(share).collect()
}

/// p99 of lateness and the p99 that contains it, where it is too large a part of that or of the
/// mean. The mean of lateness is not recorded; it is at most as if half of the operations were as
/// late as the median, all others but 1 % as p99, and these as the maximum.
fn lateness(late: &Lateness, (mean, p99): (Nanos, Nanos)) -> Option<Part> {
    let mean_lateness = (50 * late.p50 + 49 * late.p99 + late.max) / 100;
    let is_late = late.n >= P99_NEEDS && late.p99 > LATE;
    let too_much = is_too_much(&(mean_lateness, mean)) || is_too_much(&(late.p99, p99));
    (is_late && too_much).then_some((late.p99, p99))
}

fn about_operations(material: &WarningInputs<'_>) -> Vec<Warning> {
    let load = material.load;
    let limit = RunLimit::of(load, material.ended_early);
    let test = |judge: fn(&TestFacts, u32) -> Option<(u64, u64)>| -> Vec<Share> {
        let tests = material.tests.iter().filter(|test| !test.not_supported);
        tests
            .filter_map(|test| Some((&test.name, judge(test, load.users)?)))
            .map(Share::from)
            .collect()
    };
    let row = |judge: fn(&TestSummary, &Load) -> Option<(u64, u64)>| -> Vec<Share> {
        let rows = material.rows.iter();
        rows.filter_map(|row| Some((&row.name, judge(row, load)?)))
            .map(Share::from)
            .collect()
    };
    let raise = || Detail::Raise(limit);
    let schedule = match load.pace {
        Pace::Open { .. } => Detail::OpenLoop,
        _ => Detail::None,
    };
    let [cached, several_addresses] = origins::warnings(material.rows.iter());
    vec![
        Warning::of(Kind::MissedStamps, row(missed)),
        Warning::of(Kind::Bias, row(bias)),
        Warning::of(Kind::UsersIdle, test(users_idle)),
        Warning::of(Kind::NoOverlap, test(no_overlap)).with(raise()),
        Warning::of(Kind::WindowSmall, test(window_small)).with(raise()),
        Warning::of(Kind::EarlyResponses, row(early)),
        Warning::of(Kind::SharedStamps, row(shared_first)),
        Warning::of(Kind::Resent, row(resent)),
        Warning::of(Kind::Reconnects, row(reconnects)),
        cached,
        several_addresses,
        Warning::of(Kind::Dropped, row(dropped)).with(schedule),
        Warning::of(Kind::FewForPercentiles, row(few_for_percentiles)).with(raise()),
    ]
}

impl From<(&String, (u64, u64))> for Share {
    fn from((name, (count, of)): (&String, (u64, u64))) -> Share {
        Share {
            name: name.clone(),
            count,
            of,
        }
    }
}

/// The occupancy: users of a closed loop without a pause have operations under way at all times, or
/// rest because the server did not respond. The missing time was spent in the generator. `None`
/// where there is no such promise, or too little to compare with it.
fn under_way(test: &TestFacts, load: &Load) -> Option<Share> {
    let at_a_time = u64::from(load.users) * test.of_each_user;
    let enough = test.window >= LEAST_WALL && test.recorded >= IN_PROGRESS_NEEDS * at_a_time;
    let rested = test.rested?;
    (load.pace == Pace::Closed && enough).then(|| Share {
        name: test.name.clone(),
        count: u64::try_from(test.under_way + u128::from(rested)).unwrap_or(u64::MAX),
        of: test.window.saturating_mul(at_a_time),
    })
}

fn missed(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    many_missed(row.missed, row.outcomes.ok())
}

fn many_missed(missed: u64, expected: u64) -> Option<(u64, u64)> {
    (missed * 100 > expected * MISSED).then_some((missed, expected))
}

fn bias(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    let (bias, response) = (row.bias?, row.response?);
    great_bias(bias.n, bias.p99, response.p50)
}

fn great_bias(n: u64, p99: i64, response: Nanos) -> Option<(u64, u64)> {
    let great = p99 > BIAS && p99.unsigned_abs() > response / 100 * BIAS_SHARE;
    (n >= P99_NEEDS && great).then_some((p99.unsigned_abs(), response))
}

fn users_idle(test: &TestFacts, users: u32) -> Option<(u64, u64)> {
    match test.missing {
        Some(NoWindow::Idle(idle)) => Some((idle, u64::from(users))),
        _ => None,
    }
}

fn no_overlap(test: &TestFacts, _: u32) -> Option<(u64, u64)> {
    (test.missing == Some(NoWindow::NoOverlap)).then_some((0, test.recorded))
}

fn window_small(test: &TestFacts, _: u32) -> Option<(u64, u64)> {
    let small = test.missing.is_none() && test.counted * 2 < test.recorded;
    small.then_some((test.counted, test.recorded))
}

fn early(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    (row.early > 0).then_some((row.early, row.outcomes.ok()))
}

fn shared_first(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    (row.shared_first > 0).then_some((row.shared_first, row.operations()))
}

fn resent(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    (row.connects.resent > 0).then_some((row.connects.resent, row.operations()))
}

/// Opening the first connection of each user is normal, and so is opening one for each request, or
/// some for each page, where that was requested.
fn reconnects(row: &TestSummary, load: &Load) -> Option<(u64, u64)> {
    let beyond_first = |n: u64| n.saturating_sub(u64::from(load.users));
    let again = beyond_first(row.connects.count);
    let of = beyond_first(row.operations());
    let most = of >= RECONNECTS_NEED && again * 2 > of;
    (!row.http.ends_connections() && most).then_some((row.connects.count, row.operations()))
}

fn dropped(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    let all = row.outcomes.plus(&row.left_out_outcomes);
    let dropped = all.of(Outcome::Dropped);
    (dropped > 0).then_some((dropped, all.total()))
}

fn few_for_percentiles(row: &TestSummary, _: &Load) -> Option<(u64, u64)> {
    let n = row.response.as_ref()?.n;
    (n < P99_NEEDS).then_some((n, P99_NEEDS))
}

/// Kind of a warning. Each kind documents what `count` and `of` of its [`Share`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningKind {
    /// A resource of this machine ran out: how often, of as many refusals in all.
    Exhausted,
    /// Background traffic ended before the measurement: nanoseconds without it, of all.
    BackgroundEnded,
    /// Connections of background traffic failed: nanoseconds after the first one, of all.
    BackgroundFlowsFailed,
    /// Sources of background traffic did not send blocks of their schedules: blocks, of all; more
    /// than [`UNSENT_BLOCKS`](crate::UNSENT_BLOCKS) percent.
    BackgroundUnsent,
    /// Sources of background traffic sent blocks late: nanoseconds after their moments (p99), of
    /// [`LATE_BLOCKS`](crate::LATE_BLOCKS), the limit.
    BackgroundLate,
    /// The worker threads had no idle time: nanoseconds that went into computing and into waiting
    /// for a processor, of all.
    Saturated,
    /// The worker threads had little idle time: nanoseconds that were used or wanted, of all.
    Busy,
    /// The worker threads waited for a processor: nanoseconds, of all.
    Queued,
    /// Stalls of the load generator may be a part of an estimate: nanoseconds, of the estimate;
    /// more than [`TOLERATED`](super::TOLERATED) percent of the mean, of p99, or of the time in
    /// which users were at work.
    Stalled,
    /// Such stalls may be a part of the mean total time, which is always read by the user clock:
    /// nanoseconds, of the mean; the response times do not contain them.
    TotalStalled,
    /// The load generator stalled once, for long (nanoseconds, of all), and no estimate can have
    /// changed much by it.
    Hiccup,
    /// Operations began later than planned through the load generator's own fault, by so much (p99
    /// in nanoseconds) that the times from *planned* (p99) contain it.
    Late,
    /// Less than half of the operations that users should have had under way were under way, on
    /// average: nanoseconds.
    HalfIdle,
    /// Less than nine tenths were.
    PartlyIdle,
    /// Operations without a response time, because the kernel's time stamps never came: operations,
    /// of the expected ones.
    MissedStamps,
    /// The clock of the kernel's stamps was set while the run went on: [`Detail::Count`] times.
    ClockStepped,
    /// A tool that reads the clock in user space would have overstated response times: nanoseconds
    /// (p99), of a median.
    Bias,
    /// Users that never did an operation, so nothing of the test counts: users, of all.
    UsersIdle,
    /// The users were never all at work together, so nothing (0 of the operations) counts.
    NoOverlap,
    /// Less than half of the operations lie in the window and count.
    WindowSmall,
    /// The server responded before it had the whole request, so that there is no response time:
    /// responses, of the expected ones.
    EarlyResponses,
    /// Responses have the moment of *first* in common with the one before them on their connection:
    /// responses, of all operations.
    SharedStamps,
    /// Requests were sent once more, because a kept connection had died or a Digest nonce had run
    /// out: requests, of all operations.
    Resent,
    /// Most operations opened a connection, so keep-alive is off: operations, of all.
    Reconnects,
    /// Responses came from a cache in front of the server ([`Detail::Text`]: its name), so the
    /// times are those of the cache: responses, of the expected ones.
    Cached,
    /// Responses of a server with several addresses did not come from its most used one: responses,
    /// of those of all such servers; [`Detail::Text`] has all counts.
    SeveralAddresses,
    /// Planned operations were never sent, because something they need was missing, or, in an open
    /// loop, too many were waiting: operations, of the planned ones.
    Dropped,
    /// p99 stands for fewer than [`P99_NEEDS`] operations, and is the maximum.
    FewForPercentiles,
    /// [`Detail::Count`] samples belong to no row of the plan, and are counted nowhere.
    Orphans,
    /// A warning that the engine recorded while it measured: [`Detail::Text`].
    Recorded,
}

/// Subject of the names in the shares of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarningSubject {
    /// Rows.
    Rows,
    /// Tests, with all of their rows.
    Tests,
    /// No names: the warning is about the run as a whole.
    Run,
}

/// Merging of shares of the same name in warnings of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    /// Counts are added up.
    Sum,
    /// The largest part of the whole is the worst.
    Largest,
    /// The smallest part of the whole is the worst.
    Smallest,
}

pub(super) struct About {
    kind: WarningKind,
    name: &'static str,
    subject: WarningSubject,
    pub(super) together: Together,
    /// The load generator, or its machine, may have changed the estimates of these rows so much
    /// that they do not describe the server.
    disqualifies: bool,
}

/// All kinds, in the order in which warnings are given.
#[rustfmt::skip]
const KINDS: [About; 30] = {
    use WarningSubject::{Rows, Run, Tests};
    use Together::{Largest, Smallest, Sum};
    const BAD: bool = true;
    [
        about(Kind::Exhausted, "exhausted", Tests, Sum, BAD),
        about(Kind::BackgroundEnded, "background_ended", Tests, Largest, BAD),
        about(Kind::BackgroundFlowsFailed, "background_flows_failed", Tests, Largest, BAD),
        about(Kind::BackgroundUnsent, "background_unsent", Tests, Largest, BAD),
        about(Kind::BackgroundLate, "background_late", Tests, Largest, BAD),
        about(Kind::Saturated, "saturated", Tests, Largest, BAD),
        about(Kind::Busy, "busy", Tests, Largest, false),
        about(Kind::Queued, "queued", Tests, Largest, false),
        about(Kind::Stalled, "stalled", Rows, Largest, BAD),
        about(Kind::TotalStalled, "total_stalled", Rows, Largest, false),
        about(Kind::Hiccup, "hiccup", Tests, Largest, false),
        about(Kind::Late, "late", Rows, Largest, BAD),
        about(Kind::HalfIdle, "half_idle", Tests, Smallest, BAD),
        about(Kind::PartlyIdle, "partly_idle", Tests, Smallest, false),
        about(Kind::MissedStamps, "missed_stamps", Rows, Sum, false),
        about(Kind::ClockStepped, "clock_stepped", Run, Sum, false),
        about(Kind::Bias, "bias", Rows, Largest, false),
        about(Kind::UsersIdle, "users_idle", Tests, Sum, false),
        about(Kind::NoOverlap, "no_overlap", Tests, Sum, false),
        about(Kind::WindowSmall, "window_small", Tests, Sum, false),
        about(Kind::EarlyResponses, "early_responses", Rows, Sum, false),
        about(Kind::SharedStamps, "shared_stamps", Rows, Sum, false),
        about(Kind::Resent, "resent", Rows, Sum, false),
        about(Kind::Reconnects, "reconnects", Rows, Sum, false),
        about(Kind::Cached, "cached", Rows, Sum, false),
        about(Kind::SeveralAddresses, "several_addresses", Rows, Sum, false),
        about(Kind::Dropped, "dropped", Rows, Sum, false),
        about(Kind::FewForPercentiles, "few_for_percentiles", Rows, Smallest, false),
        about(Kind::Orphans, "orphans", Run, Sum, false),
        about(Kind::Recorded, "recorded", Run, Sum, false),
    ]
};

const fn about(
    kind: WarningKind,
    name: &'static str,
    subject: WarningSubject,
    together: Together,
    disqualifies: bool,
) -> About {
    About {
        kind,
        name,
        subject,
        together,
        disqualifies,
    }
}

impl WarningKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = WarningKind> {
        KINDS.iter().map(|about| about.kind)
    }

    pub(super) fn about(self) -> &'static About {
        &KINDS[self as usize]
    }

    /// The name used in files: `users_idle`.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The subject of the names in its shares.
    pub fn subject(self) -> WarningSubject {
        self.about().subject
    }

    /// The load generator, or its machine, may have changed the estimates of these rows so much
    /// that they do not describe the server.
    pub fn disqualifies(self) -> bool {
        self.about().disqualifies
    }
}

impl Together {
    pub(super) fn put(self, share: &mut Share, other: &Share) {
        let size = |share: &Share| share.count as f64 / share.of.max(1) as f64;
        match self {
            Together::Sum => {
                share.count += other.count;
                share.of += other.of;
            }
            Together::Largest if size(other) > size(share) => share.clone_from(other),
            Together::Smallest if size(other) < size(share) => share.clone_from(other),
            Together::Largest | Together::Smallest => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_at_its_place() {
        for (index, about) in KINDS.iter().enumerate() {
            assert_eq!(about.kind as usize, index, "{}", about.name);
        }
    }
}
