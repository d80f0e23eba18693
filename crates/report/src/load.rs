//! What the text report says about clock, generator and load.

use record::{Arrivals, Clock, Nanos, Pace, PlanRecord, Stage};
use stats::{Bar, Bias, EstimatedRate, Summary, TestSummary, Warning, WarningKind};

use crate::clean;
use crate::fields::{fields, labelled_times};
use crate::figure::{self, NONE};
use crate::terminal::wrap;
use crate::units::{human, human_range};

pub(crate) fn clock_name(summary: &Summary) -> &'static str {
    match summary.clock.clock {
        Clock::User => "user space",
        Clock::Kernel => "kernel",
    }
}

pub(crate) fn clock(summary: &Summary) -> String {
    let clock = summary.clock;
    let name = clock_name(summary);
    if clock.clock == Clock::User {
        return name.into();
    }
    let bias = bias(summary).map_or(String::new(), |bias| {
        format!("; a user-space clock would have over-reported by {bias}")
    });
    let missed = match clock.missed {
        0 => String::new(),
        missed => format!("; {missed} operations without time stamps"),
    };
    format!("{name}{bias}{missed}")
}

/// What a user-space clock would have added: `16.8 us (p50; 16.2 .. 17.1 us), 40.1 us (p99; no
/// interval)`.
pub(crate) fn bias(summary: &Summary) -> Option<String> {
    let Bias {
        p50,
        p99,
        percentiles_ci95: [of_p50, of_p99],
        ..
    } = summary.clock.bias?;
    let by = |difference: i64, what: &str, ends: Option<(i64, i64)>| {
        let range = ends.map_or(NONE.to_owned(), |(low, high)| signed_range(low, high));
        format!("{} ({what}; {range})", signed(difference))
    };
    Some(format!(
        "{}, {}",
        by(p50, "p50", of_p50),
        by(p99, "p99", of_p99)
    ))
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", human(ns.unsigned_abs() as f64))
}

/// Two such times: `16.2 .. 17.1 us`, and `-120 us .. 40.2 us` across zero.
fn signed_range(low: i64, high: i64) -> String {
    if low < 0 {
        format!("{} .. {}", signed(low), signed(high))
    } else {
        human_range((low as f64, high as f64))
    }
}

/// Seconds of a stage whose end is not known when it begins: something else ends it.
const UNKNOWN_END: f64 = 1e7;

/// Who decides when an operation begins; nothing for a suite, of which its tests tell.
pub(crate) fn pace(pace: &Pace) -> Option<String> {
    match pace {
        Pace::Rounds => None,
        Pace::Closed => Some("closed loop".into()),
        Pace::Open {
            arrivals, stages, ..
        } => {
            let arrivals = match arrivals {
                Arrivals::Constant => "constant",
                Arrivals::Poisson => "Poisson",
            };
            let stage = |stage: &Stage| match stage.duration_s {
                UNKNOWN_END.. => format!("{}/s", stage.rate),
                seconds => format!("{}/s for {seconds} s", stage.rate),
            };
            let stages: Vec<String> = stages.iter().map(stage).collect();
            Some(format!(
                "open loop, {arrivals} arrivals: {}",
                stages.join(", then ")
            ))
        }
    }
}

const NEED_THREADS: [WarningKind; 5] = [
    WarningKind::Saturated,
    WarningKind::Busy,
    WarningKind::Late,
    WarningKind::HalfIdle,
    WarningKind::PartlyIdle,
];

/// How the load generator fared, over all tests; `None` where the record does not have it.
pub(crate) fn generator(summary: &Summary) -> Option<String> {
    let tests = &summary.generator;
    let workers = tests.iter().map(|test| test.workers).max()?;
    let all = tests.iter().map(|test| test.wall * u64::from(test.workers));
    let all = all.sum::<Nanos>().max(1) as f64;
    let share = |part: Nanos| format!("{:.1} %", part as f64 / all * 100.0);
    let cpu = share(tests.iter().map(|test| test.cpu).sum());
    let stalled = share(tests.iter().map(|test| test.stalled).sum());
    let longest = tests.iter().map(|test| test.longest_stall).max()?;
    let threads = match workers {
        1 => "worker thread",
        _ => "worker threads",
    };
    let mut text = format!("Load generator: {workers} {threads}, busy {cpu} of the time");
    let queued: Option<Nanos> = tests.iter().map(|test| test.queued).sum();
    if let Some(queued) = queued {
        text += &format!(", waiting for a processor {}", share(queued));
    }
    text += &match longest {
        0 => ", never stalled".to_owned(),
        longest => format!(", stalled {stalled} (at most {})", human(longest as f64)),
    };
    for late in tests.iter().filter_map(|test| test.lateness) {
        text += &format!(
            "; operations began late by {} (p50), {} (p99), {} (max)",
            human(late.p50 as f64),
            human(late.p99 as f64),
            human(late.max as f64)
        );
    }
    // On a machine that it shares with the server, more threads made the slowest times longer, and
    // brought little throughput or none (`cargo xtask bench threads`).
    let needs_threads = |warning: &Warning| NEED_THREADS.contains(&warning.kind);
    if summary.warnings.iter().any(needs_threads) {
        text += "; more --threads help only where processors are idle";
    }
    Some(text)
}

/// What a row got done: outcomes, bytes, and the rate where the table does not have it; `None` for
/// a row without operations. Of bytes there is no interval, because how many an operation has may
/// change with every one.
pub(crate) fn throughput(test: &TestSummary, with_rate: bool) -> Option<String> {
    let (rate, seconds) = (test.rate?, test.window_s?);
    outcomes(test).next()?;
    let bytes = |bytes: u64| format!("{:.2} MB/s", bytes as f64 / 1e6 / seconds);
    let rate = with_rate.then(|| per_second(rate) + ", ");
    Some(format!(
        "{}: {}{} in {seconds:.2} s; {} sent, {} received",
        test.name,
        rate.unwrap_or_default(),
        outcomes(test).collect::<Vec<_>>().join(", "),
        bytes(test.bytes_sent),
        bytes(test.bytes_received),
    ))
}

/// `98 ok`, `2 reset`.
pub(crate) fn outcomes(test: &TestSummary) -> impl Iterator<Item = String> {
    let outcomes = test.outcomes.iter().filter(|(_, count)| *count > 0);
    outcomes.map(|(outcome, count)| format!("{count} {outcome}"))
}

/// `984 req/s (970 .. 998)`.
pub(crate) fn per_second(rate: EstimatedRate) -> String {
    let (rate, range) = figure::rate(rate.per_second, rate.ci95);
    figure::with_interval(&format!("{rate} req/s"), range)
}

/// Times of a row beside the response times of the table.
pub(crate) fn other_times(test: &TestSummary) -> Vec<String> {
    let explained = labelled_times(test)
        .into_iter()
        .filter_map(|(label, times)| {
            let meaning = label.meaning?;
            Some(format!(
                "{} ({meaning}): {}",
                label.name,
                figure::times(&times)
            ))
        });
    explained.collect()
}

/// How connecting went, and below it how long it took; nothing where it is no part of what was
/// done, because kept connections are opened anew now and then only.
pub(crate) fn connecting(test: &TestSummary) -> Option<(String, Vec<String>)> {
    let (opened, all) = (test.connects.count, test.operations());
    let is_known = test.connects.segments.is_some();
    if opened == 0 || !is_known && opened.saturating_mul(10) < all {
        return None;
    }
    let segments = test.connects.segments.map_or(String::new(), |segments| {
        format!(
            "; TCP segments: {} sent, {} received",
            segments.sent, segments.received
        )
    });
    let said = format!(
        "{}: {opened} of {all} operations opened a connection{segments}",
        test.name
    );
    let below = labelled_times(&test.connects)
        .into_iter()
        .map(|(label, times)| {
            format!(
                "{} (n = {}): {}",
                label.name,
                times.n,
                figure::times(&times)
            )
        });
    Some((said, below.collect()))
}

/// Widest bar, in columns.
const WIDEST: usize = 36;

/// Columns of an edge: `14.2 ms`, and blanks around it.
const EDGE: usize = 10;

/// Bars of the record that are one in a text.
const TOGETHER: usize = 2;

fn joined(bars: &[Bar]) -> Option<Bar> {
    let (first, last) = (bars.first()?, bars.last()?);
    Some(Bar {
        from: first.from,
        to: last.to,
        response: bars.iter().map(|bar| bar.response).sum(),
        planned: bars.iter().map(|bar| bar.planned).sum(),
    })
}

/// Response times and, where a schedule planned them, times from *planned* beside them. Ends with a
/// newline.
pub(crate) fn histogram(test: &TestSummary, width: usize) -> String {
    let bars: Vec<Bar> = test.spread.chunks(TOGETHER).filter_map(joined).collect();
    let most = |side: fn(&Bar) -> u64| bars.iter().map(side).max().unwrap_or(0);
    let (response, planned) = (most(|bar| bar.response), most(|bar| bar.planned));
    let digits = response.max(planned).to_string().len().max("planned".len());
    let sides = 1 + usize::from(test.planned.is_some());
    let room = width.saturating_sub(EDGE + sides * (digits + 3)) / sides;
    let longest = room.clamp(1, WIDEST);
    let draw = |count: u64, most: u64| {
        // What is there shows, however little.
        let length = (count as u128 * longest as u128).div_ceil(u128::from(most.max(1)));
        "#".repeat(length as usize)
    };
    let beside = test
        .planned
        .map_or("", |_| " (sent) and latency from schedule (planned)");
    let heading = format!("{}: operations by response time{beside}", clean(&test.name));
    let mut text = wrap(width, "", "  ", &heading) + "\n";
    let mut line = |edge: &str, left: (String, String), right: (String, String)| {
        let right = match sides {
            1 => String::new(),
            _ => format!("  {:>digits$} {}", right.0, right.1),
        };
        let line = format!(
            "{edge:>EDGE$}  {:>digits$} {:<longest$}{right}",
            left.0, left.1
        );
        text += line.trim_end();
        text.push('\n');
    };
    if sides > 1 {
        let head = |name: &str| (name.to_owned(), String::new());
        line("from", head("sent"), head("planned"));
    }
    for bar in &bars {
        line(
            &human(bar.from as f64),
            (bar.response.to_string(), draw(bar.response, response)),
            (bar.planned.to_string(), draw(bar.planned, planned)),
        );
    }
    text
}

pub(crate) struct RoleUse<'a> {
    pub(crate) name: &'a str,
    pub(crate) test: String,
    pub(crate) users: u32,
    rows: Vec<&'a str>,
}

fields! {
    /// Users of a test that have a loop of their own.
    RoleUse<'_>, "Role", |of| {
        /// Its name.
        name = of.name,
        /// Name of its test.
        test = &of.test,
        /// Users that had it.
        users = of.users,
        /// Names of the rows that they measure.
        rows = &of.rows,
    }
}

pub(crate) fn roles(plan: &PlanRecord) -> impl Iterator<Item = RoleUse<'_>> {
    let users_of = |test| -> u32 {
        let roles = plan.roles.iter().filter(|role| role.test == test);
        roles.map(|role| role.users).fold(0, u32::saturating_add)
    };
    (1..).zip(&plan.roles).map(move |(number, role): (u16, _)| {
        let measures = plan
            .measures
            .iter()
            .filter(|measure| measure.role == number);
        RoleUse {
            name: &role.name,
            test: plan.name_of_test(role.test),
            users: role
                .users
                .saturating_mul(plan.load.users / users_of(role.test).max(1)),
            rows: measures.map(|measure| measure.name.as_str()).collect(),
        }
    })
}
