//! The pages of several runs of one server.

use super::{MINUTE, PageSummary, PageTally, Pages, ServerSummary, VisitTally, Visits};
use crate::interval::ratio_half_width;
use crate::times::Times;

/// The pages of these runs of the same plan, at least one: visits of all of them, a rate over the sum of
/// their windows, and intervals from how much runs differ. No visit is open any more.
pub(crate) fn pooled(runs: &[(PageTally, Pages)]) -> Pages {
    let (tally, first) = &runs[0];
    if runs.len() == 1 {
        return first.clone();
    }
    let pages = tally.pages.len();
    let visits = |is_its: &dyn Fn(usize) -> bool| {
        let of_run = |(tally, _): &(PageTally, Pages)| {
            let places = tally.counted.iter().enumerate();
            let own = places.filter(|(place, _)| is_its(*place));
            VisitTally::of_all(own.map(|(_, visits)| visits))
        };
        VisitTally::describe_runs(&runs.iter().map(of_run).collect::<Vec<_>>())
    };
    let left_out = runs.iter().map(|(tally, _)| tally.left_out.clone());
    let windows = || runs.iter().map(|(_, pages)| pages.window_s);
    let window_s: f64 = windows().sum();
    let rate = |count: f64| {
        if window_s > 0.0 {
            count / window_s
        } else {
            0.0
        }
    };
    let all = visits(&|_| true);
    let per_minute = rate(all.complete as f64 * MINUTE);
    let completed = runs
        .iter()
        .map(|(_, pages)| pages.all.complete as f64 * MINUTE);
    let parts: Vec<(f64, f64)> = completed.zip(windows()).collect();
    let half = ratio_half_width(parts.into_iter(), per_minute);
    let in_progress = runs
        .iter()
        .map(|(_, pages)| pages.in_progress * pages.window_s);
    let of_page = |(place, own): (usize, &PageSummary)| PageSummary {
        page: own.page.clone(),
        visits: visits(&|other| other % pages == place),
    };
    let of_server = |(place, own): (usize, &ServerSummary)| {
        let visits = visits(&|other| other / pages == place);
        ServerSummary {
            per_minute: rate(visits.complete as f64 * MINUTE),
            visits,
            ..own.clone()
        }
    };
    Pages {
        pages: first.pages.iter().enumerate().map(of_page).collect(),
        servers: first.servers.iter().enumerate().map(of_server).collect(),
        left_out: VisitTally::describe_runs(&left_out.collect::<Vec<_>>()),
        window_s,
        per_minute,
        per_minute_ci95: (window_s > 0.0)
            .then(|| ((per_minute - half).max(0.0), per_minute + half)),
        wanders: runs.iter().any(|(_, pages)| pages.wanders),
        in_progress: rate(in_progress.sum()),
        all,
    }
}

impl VisitTally {
    fn describe_runs(runs: &[VisitTally]) -> Visits {
        let describe = |of: fn(&VisitTally) -> &Times| {
            Times::describe_runs(&runs.iter().map(of).collect::<Vec<_>>())
        };
        Visits {
            connect: describe(|visits| &visits.connect),
            load: describe(|visits| &visits.load),
            first_byte: describe(|visits| &visits.first_byte),
            file: describe(|visits| &visits.file),
            ..VisitTally::of_all(runs).amounts
        }
    }
}
