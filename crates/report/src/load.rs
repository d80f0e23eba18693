//! What the text report says about clock, generator and load.

use record::{Arrivals, Clock, Nanos, Pace, Stage};
use stats::{Bar, Distribution, Summary, TestSummary};

use crate::clean;
use crate::units::human;

/// The clock.
pub(crate) fn clock_name(summary: &Summary) -> &'static str {
    match summary.clock.clock {
        Clock::User => "user space",
        Clock::Kernel => "kernel",
    }
}

/// The clock, and what the other one would have said.
pub(crate) fn clock(summary: &Summary) -> String {
    let clock = summary.clock;
    let name = clock_name(summary);
    if clock.clock == Clock::User {
        return name.into();
    }
    let bias = bias(summary).map_or(String::new(), |bias| {
        format!("; a tool that reads the clock in user space would have said {bias}")
    });
    let missed = match clock.missed {
        0 => String::new(),
        missed => format!("; {missed} operations without time stamps"),
    };
    format!("{name}{bias}{missed}")
}

/// What user space would have said: `12.3 us more (p50), 40.1 us more (p99)`.
pub(crate) fn bias(summary: &Summary) -> Option<String> {
    let bias = summary.clock.bias?;
    Some(format!(
        "{} (p50), {} (p99)",
        more(bias.p50),
        more(bias.p99)
    ))
}

/// A difference in words: `12.3 us more`.
fn more(difference: i64) -> String {
    let size = human(difference.unsigned_abs() as f64);
    let word = if difference < 0 { "less" } else { "more" };
    format!("{size} {word}")
}

/// Who decides when an operation begins; nothing for a suite, of which its tests tell.
pub(crate) fn pace(pace: &Pace) -> Option<String> {
    match pace {
        Pace::Rounds => None,
        Pace::Closed => Some("closed loop".into()),
        Pace::Open {
            arrivals, stages, ..
        } => {
            let arrivals = match arrivals {
                Arrivals::Constant => "evenly spread",
                Arrivals::Poisson => "Poisson",
            };
            let stage = |stage: &Stage| format!("{}/s for {} s", stage.rate, stage.duration_s);
            let stages: Vec<String> = stages.iter().map(stage).collect();
            Some(format!("open loop, {arrivals}: {}", stages.join(", then ")))
        }
    }
}

/// How the generator fared, over all tests; `None` where the record does not tell.
pub(crate) fn generator(summary: &Summary) -> Option<String> {
    let tests = &summary.generator;
    let workers = tests.iter().map(|test| test.workers).max()?;
    let all = tests.iter().map(|test| test.wall * u64::from(test.workers));
    let all = all.sum::<Nanos>().max(1) as f64;
    let share = |part: Nanos| format!("{:.1} %", part as f64 / all * 100.0);
    let cpu = share(tests.iter().map(|test| test.cpu).sum());
    let stalled = share(tests.iter().map(|test| test.stalled).sum());
    let longest = tests.iter().map(|test| test.longest_stall).max()?;
    let threads = if workers == 1 { "thread" } else { "threads" };
    let mut text = format!("Generator: {workers} {threads}, {cpu} of the time at work");
    let queued: Option<Nanos> = tests.iter().map(|test| test.queued).sum();
    if let Some(queued) = queued {
        text += &format!(", {} waiting for a processor", share(queued));
    }
    text += &match longest {
        0 => ", never stalled".to_owned(),
        longest => format!(", {stalled} stalled (at most {})", human(longest as f64)),
    };
    for late in tests.iter().filter_map(|test| test.lateness) {
        text += &format!(
            "; operations began late by {} (p50), {} (p99), {} (max)",
            human(late.p50 as f64),
            human(late.p99 as f64),
            human(late.max as f64)
        );
    }
    Some(text)
}

/// What a row got done: rate, time, outcomes.
pub(crate) fn throughput(test: &TestSummary) -> Option<String> {
    let (rate, seconds) = (test.per_second?, test.window_s?);
    let outcomes: Vec<String> = test
        .outcomes
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect();
    let bytes = |bytes: u64| format!("{:.2} MB/s", bytes as f64 / 1e6 / seconds);
    Some(format!(
        "{}: {rate:.1} a second for {seconds:.2} s ({}); {} sent, {} received",
        test.name,
        outcomes.join(", "),
        bytes(test.bytes_sent),
        bytes(test.bytes_received),
    ))
}

/// Times of a row beside the response times of the table.
pub(crate) fn other_times(test: &TestSummary) -> Vec<String> {
    let times = |what: &str, times: &Distribution| {
        format!(
            "{what}: mean {}, p50 {}, p99 {}, max {}",
            human(times.mean),
            human(times.p50 as f64),
            human(times.p99 as f64),
            human(times.max as f64)
        )
    };
    let planned = test.planned.as_ref();
    let upload = test.upload.as_ref();
    let planned = planned.map(|found| times("from planned to the first byte of the answer", found));
    let upload = upload.map(|found| times("until the server had the whole request", found));
    planned.into_iter().chain(upload).collect()
}

/// Widest bar, in columns.
const WIDEST: usize = 36;

/// Columns of an edge: `14.2 ms`, and blanks around it.
const EDGE: usize = 10;

/// Response times and times from *planned* side by side. Ends with a newline.
pub(crate) fn histogram(test: &TestSummary, width: usize) -> String {
    let most = |side: fn(&Bar) -> u64| test.spread.iter().map(side).max().unwrap_or(0);
    let (response, planned) = (most(|bar| bar.response), most(|bar| bar.planned));
    let digits = response.max(planned).to_string().len().max("planned".len());
    let room = width.saturating_sub(EDGE + 2 * (digits + 3)) / 2;
    let longest = room.clamp(1, WIDEST);
    let draw = |count: u64, most: u64| {
        // What is there shows, however little.
        let length = (count as u128 * longest as u128).div_ceil(u128::from(most.max(1)));
        "#".repeat(length as usize)
    };
    let mut text = format!(
        "{}: operations by their time from sent (response time) and from planned\n",
        clean(&test.name)
    );
    let mut line = |edge: &str, left: (String, String), right: (String, String)| {
        let line = format!(
            "{edge:>EDGE$}  {:>digits$} {:<longest$}  {:>digits$} {}",
            left.0, left.1, right.0, right.1
        );
        text += line.trim_end();
        text.push('\n');
    };
    let head = |name: &str| (name.to_owned(), String::new());
    line("from", head("sent"), head("planned"));
    for bar in &test.spread {
        line(
            &human(bar.from as f64),
            (bar.response.to_string(), draw(bar.response, response)),
            (bar.planned.to_string(), draw(bar.planned, planned)),
        );
    }
    text
}
