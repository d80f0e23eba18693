//! Servers by the time that they need for one row, the fastest first.

use stats::{Status, TestSummary};

/// The mean time of a test that works, and its interval.
pub(crate) fn mean_of(row: &TestSummary) -> Option<(f64, Option<(f64, f64)>)> {
    let times = row
        .first_byte_times()
        .filter(|_| row.status == Status::Ok)?;
    Some((times.mean, times.ci95))
}

/// The mean of a row on a server, in nanoseconds.
pub(crate) struct RankedTime {
    /// Which server: its place among all.
    pub(crate) server: usize,
    pub(crate) mean: f64,
    pub(crate) ci95: Option<(f64, f64)>,
    /// How many times the mean of the fastest server it is.
    pub(crate) times: f64,
}

impl RankedTime {
    /// The interval ends before that of the other begins.
    pub(crate) fn is_below(&self, other: &RankedTime) -> bool {
        match (self.ci95, other.ci95) {
            (Some((_, high)), Some((low, _))) => high < low,
            _ => false,
        }
    }
}

/// Servers with a time, the fastest first. Times that a warning disqualifies do not describe a
/// server, so they have no rank.
pub(crate) fn ranking<'a>(
    rows: impl IntoIterator<Item = Option<&'a TestSummary>>,
) -> Vec<RankedTime> {
    let time = |(server, row): (usize, Option<&TestSummary>)| {
        let row = row.filter(|row| row.disqualified().is_none())?;
        let (mean, ci95) = mean_of(row)?;
        Some(RankedTime {
            server,
            mean,
            ci95,
            times: 1.0,
        })
    };
    let mut ranked: Vec<RankedTime> = rows.into_iter().enumerate().filter_map(time).collect();
    ranked.sort_by(|one, other| one.mean.total_cmp(&other.mean));
    let least = ranked.first().map_or(1.0, |first| first.mean);
    for time in &mut ranked {
        time.times = time.mean / least;
    }
    ranked
}

/// Minus two (the fastest) to three (five times its mean and more): a step of the colours of heat.
pub(crate) fn heat(times: f64) -> i8 {
    match times {
        times if times <= 1.0 => -2,
        times if times < 1.25 => 0,
        times if times < 2.0 => 1,
        times if times < 5.0 => 2,
        _ => 3,
    }
}
