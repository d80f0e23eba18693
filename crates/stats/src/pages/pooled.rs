//! The pages of several runs of one server.

use super::{MINUTE, PageSummary, PageTally, PagesSummary, ServerSummary, VisitTally, Visits};
use crate::interval::ratio_interval;
use crate::times::Times;

/// The pages of these runs of the same plan, at least one: visits of all of them, a rate over the
/// sum of their windows, and intervals from how much runs differ. No visit is open any more.
pub(crate) fn pooled(runs: &[(PageTally, PagesSummary)]) -> PagesSummary {
    let (tally, first) = &runs[0];
    if runs.len() == 1 {
        return first.clone();
    }
    let pages = tally.pages.len();
    let visits = |is_its: &dyn Fn(usize) -> bool| {
        let of_run = |(tally, _): &(PageTally, PagesSummary)| {
            let tallies = tally.counted.iter().enumerate();
            let chosen = tallies.filter(|(index, _)| is_its(*index));
            VisitTally::merged(chosen.map(|(_, visits)| visits))
        };
        VisitTally::describe_runs(&runs.iter().map(of_run).collect::<Vec<_>>())
    };
    let left_out = runs.iter().map(|(tally, _)| tally.left_out.clone());
    let window_s: f64 = runs.iter().map(|(_, pages)| pages.window_s).sum();
    let rate = |count: f64| {
        if window_s > 0.0 {
            count / window_s
        } else {
            0.0
        }
    };
    let all = visits(&|_| true);
    let interval = |per_minute: f64, complete: &dyn Fn(&PagesSummary) -> u64| {
        let parts = runs.iter().map(|(_, pages)| {
            let complete = complete(pages) as f64 * MINUTE;
            (complete, pages.window_s)
        });
        ratio_interval(parts, per_minute).filter(|_| window_s > 0.0)
    };
    let per_minute = rate(all.complete as f64 * MINUTE);
    let in_progress = runs
        .iter()
        .map(|(_, pages)| pages.in_progress * pages.window_s);
    let of_page = |(index, page): (usize, &PageSummary)| PageSummary {
        page: page.page.clone(),
        visits: visits(&|other| other % pages == index),
    };
    let of_server = |(index, server): (usize, &ServerSummary)| {
        let visits = visits(&|other| other / pages == index);
        let per_minute = rate(visits.complete as f64 * MINUTE);
        let complete = |pages: &PagesSummary| {
            pages
                .servers
                .get(index)
                .map_or(0, |server| server.visits.complete)
        };
        ServerSummary {
            url: server.url.clone(),
            users: server.users,
            per_minute,
            per_minute_ci95: interval(per_minute, &complete),
            wanders: false,
            visits,
        }
    };
    PagesSummary {
        pages: first.pages.iter().enumerate().map(of_page).collect(),
        servers: first.servers.iter().enumerate().map(of_server).collect(),
        left_out: VisitTally::describe_runs(&left_out.collect::<Vec<_>>()),
        window_s,
        per_minute,
        per_minute_ci95: interval(per_minute, &|pages| pages.all.complete),
        // The intervals come from how much runs differ, whatever the rate did in each of them.
        wanders: false,
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
            ..VisitTally::merged(runs).amounts
        }
    }
}
