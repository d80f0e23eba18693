//! The lines that WebSTONE printed while it ran (Trent and Sake 1995, section 7), from the record.
//!
//! All children are on the machine of the load generator, whose name is not recorded.

use chrono::{DateTime, TimeDelta, Utc};
use record::{Event, EventKind, Nanos, Run, TestId};

use crate::clean;

/// What had happened when the run was over; a run that was cut off has the first of these lines
/// only.
pub(super) fn run_lines(run: &Run) -> Vec<String> {
    let clients = run.plan.load.users;
    let command = run.plan.command.as_ref();
    let mut lines: Vec<String> =
        command.map_or(Vec::new(), |command| vec![clean(command), String::new()]);
    lines.extend([
        format!("Client: localhost Number of Clients: {clients}"),
        String::new(),
        format!("Waiting for READY from {clients} clients"),
    ]);
    let started = times(run, |kind| match kind {
        EventKind::MeasuringStarted { test } => Some(*test),
        _ => None,
    });
    if let Some(at) = started.min() {
        lines.push("All READYs received".to_owned());
        lines.push("Sending GO to all clients".to_owned());
        lines.push(format!("All clients started{}", moment(run, at)));
        lines.push("Waiting for clients completion".to_owned());
        let ended = times(run, |kind| match kind {
            EventKind::MeasuringEnded { test } => Some(*test),
            _ => None,
        });
        let ended = ended.max();
        lines.extend(ended.map(|at| format!("All clients ended{}", moment(run, at))));
    }
    lines.push(String::new());
    lines
}

fn times(run: &Run, test: fn(&EventKind) -> Option<TestId>) -> impl Iterator<Item = Nanos> {
    let files = run.plan.pages.iter().flat_map(|page| &page.files);
    let measures = files.filter_map(|file| run.plan.measures.get(usize::from(file.0)));
    let tests: Vec<TestId> = measures.map(|measure| measure.test).collect();
    let at = move |event: &Event| {
        let test = test(&event.kind)?;
        tests.contains(&test).then_some(event.at)
    };
    run.events.iter().filter_map(at)
}

/// ` at Fri Mar 17 11:23:10 1995 UTC`, as ctime(3) writes it; nothing where the record has no time
/// that can be read.
fn moment(run: &Run, at: Nanos) -> String {
    let began: Option<DateTime<Utc>> = run.env.started_at.parse().ok();
    let after = i64::try_from(at).map(TimeDelta::nanoseconds).ok();
    let moment = began
        .zip(after)
        .and_then(|(began, after)| began.checked_add_signed(after));
    moment.map_or(String::new(), |moment| {
        format!(" at {} UTC", moment.format("%a %b %e %H:%M:%S %Y"))
    })
}

#[cfg(test)]
mod tests {
    use stats::testing::RunBuilder;

    use record::{MeasureId, Pace, PageRecord};

    use super::*;

    const MINUTE: Nanos = 60_000_000_000;

    /// A run of 24 children, with these events of its tests: pages, and another one.
    fn run(started_at: &str, events: &[(Nanos, EventKind)]) -> Run {
        let mut run = RunBuilder::new(24)
            .test("Pages", &[("Page0-1", "GET")])
            .test("Other", &[("Get", "GET")])
            .build();
        run.plan.load.pace = Pace::Closed;
        run.plan.pages = vec![PageRecord {
            name: "Page0".to_owned(),
            weight: 1.0,
            files: vec![MeasureId(0)],
            bytes: None,
            parts: None,
        }];
        run.env.started_at = started_at.to_owned();
        let event = |(at, kind): &(Nanos, EventKind)| Event {
            at: *at,
            kind: kind.clone(),
        };
        run.events = events.iter().map(event).collect();
        run
    }

    fn started(test: u16) -> EventKind {
        EventKind::MeasuringStarted { test: TestId(test) }
    }

    fn ended(test: u16) -> EventKind {
        EventKind::MeasuringEnded { test: TestId(test) }
    }

    #[test]
    fn the_lines_of_a_run_as_in_1995() {
        // Netsite: started at 11:23:10, ended after 35 minutes and 24 seconds.
        let events = [
            (MINUTE / 6, started(0)),
            (MINUTE / 6 + 35 * MINUTE + 2 * MINUTE / 5, ended(0)),
            (40 * MINUTE, started(1)),
            (50 * MINUTE, ended(1)),
        ];
        let lines = run_lines(&run("1995-03-17T11:23:00.250Z", &events)).join("\n");
        let expected = "Client: localhost Number of Clients: 24

Waiting for READY from 24 clients
All READYs received
Sending GO to all clients
All clients started at Fri Mar 17 11:23:10 1995 UTC
Waiting for clients completion
All clients ended at Fri Mar 17 11:58:34 1995 UTC
";
        assert_eq!(lines, expected);
        let mut run = run("1995-03-17T11:23:00.250Z", &events);
        run.plan.command = Some("prestan webstone mix\u{1b} http://h/".to_owned());
        let lines = run_lines(&run).join("\n");
        let command = lines.strip_suffix(expected).unwrap();
        assert!(command.starts_with("prestan webstone mix"), "{command}");
        assert!(command.ends_with(" http://h/\n\n") && !command.contains('\u{1b}'));
    }

    #[test]
    fn a_run_that_was_cut_off_says_no_more_than_happened() {
        let last = |events: &[(Nanos, EventKind)], started_at: &str| {
            let lines = run_lines(&run(started_at, events));
            lines[lines.len() - 2].clone()
        };
        let now = "1995-03-07T11:23:00Z";
        assert_eq!(last(&[], now), "Waiting for READY from 24 clients");
        // That of another test is none of the pages'.
        let other = (0, started(1));
        assert_eq!(last(&[other], now), "Waiting for READY from 24 clients");
        let begun = (0, started(0));
        assert_eq!(
            last(std::slice::from_ref(&begun), now),
            "Waiting for clients completion"
        );
        let all = [begun, (MINUTE, ended(0))];
        let last_line = "All clients ended at Tue Mar  7 11:24:00 1995 UTC";
        assert_eq!(last(&all, now), last_line);
        // Records are read as they are.
        assert_eq!(last(&all, "\u{1b}[2Jnever"), "All clients ended");
        let far = [(0, started(0)), (Nanos::MAX, ended(0))];
        assert_eq!(last(&far, now), "All clients ended");
        assert_eq!(last(&all, "+262142-12-31T23:59:59Z"), "All clients ended");
    }
}
