//! What a run says of its pages, in the words of WebSTONE (Trent and Sake 1995, section 7), and what
//! its authors did not ask.
//!
//! Every line of the old report is there, under its old name and in its old order, with two words
//! spelt right. What each means is in docs/METHODOLOGY.md; where the meaning was another in 1995,
//! it says so there.

mod wire;

use record::Run;
use stats::{Distribution, PageSummary, Pages, ServerSummary, Visits};

use crate::clean;
use crate::json::{thousandths, us};
use crate::units::human;
use crate::wire::Distribution as WireDistribution;
pub(crate) use wire::WebStone;

/// The report of 1995, line by line.
pub(crate) fn classic(run: &Run, pages: &Pages) -> Vec<String> {
    let of_page = |(number, page): (usize, &PageSummary)| page_block(number, page);
    let blocks = pages.pages.iter().enumerate().flat_map(of_page);
    blocks.chain(totals(run, pages)).collect()
}

fn page_block(number: usize, PageSummary { page, visits }: &PageSummary) -> Vec<String> {
    let heading = format!("Page # {number} ({})", clean(&page.name));
    let size = match page.bytes {
        Some(bytes) => bytes.to_string(),
        None => "unknown".to_owned(),
    };
    vec![
        heading,
        format!("Total number of times page was hit {}", visits.complete),
        format!("Total time {:.6} seconds", total(&visits.load)),
        format!("Maximum Response time {:.6}", longest(&visits.load)),
        format!("Total connect time for page {:.6}", total(&visits.connect)),
        format!("Maximum time to connect {:.6}", longest(&visits.connect)),
        format!("Total amount of data moved {}", visits.body_received),
        format!("Page size {size}"),
        format!("Total number of connects {}", visits.connects),
        String::new(),
    ]
}

fn totals(run: &Run, pages: &Pages) -> Vec<String> {
    let all = &pages.all;
    let children = run.plan.load.users;
    let cumulative = f64::from(children) * pages.window_s;
    let per_file = |bytes: u64| bytes / all.files_of_complete.max(1);
    let thruput = match cumulative > 0.0 {
        true => all.bytes_received as f64 / cumulative,
        false => 0.0,
    };
    vec![
        format!("WEBSTONE number: {:.0}", pages.per_minute.floor()),
        format!("Total number of clients: {children}"),
        format!("Total cumulative time of test for all hosts (sec): {cumulative:.6}"),
        format!(
            "Total number of pages retrieved from server: {}",
            all.complete
        ),
        format!("Total number of errors to server: {}", all.incomplete),
        format!("Total number of connects to server: {}", all.connects),
        format!(
            "Average time per connect: {:.6} seconds",
            average(&all.connect)
        ),
        format!(
            "Maximum time to connect: {:.6} seconds",
            longest(&all.connect)
        ),
        format!("Total amount of data moved: {}", all.bytes_received),
        format!("Total bytes of body moved: {} bytes.", all.body_received),
        format!("Total bytes of header moved {}", all.head_received()),
        format!("Average body size: {} bytes.", per_file(all.body_received)),
        format!("Average retrieval size {}", per_file(all.bytes_received)),
        format!("Thruput = {thruput:.0} bytes/sec"),
        format!("Average Response time: {:.6} seconds", average(&all.file)),
        format!("Maximum Response time: {:.6} seconds", longest(&all.load)),
    ]
}

/// What is known beside it.
pub(crate) fn beyond(run: &Run, pages: &Pages) -> Vec<String> {
    let Pages { all, left_out, .. } = pages;
    let interval = pages
        .per_minute_ci95
        .map(|(low, high)| format!(", with 95 % confidence {low:.1} to {high:.1}"));
    let mut lines = vec![format!(
        "Pages a minute: {:.1}{}, over {:.2} s ({} version {})",
        pages.per_minute,
        interval.unwrap_or_default(),
        pages.window_s,
        clean(&run.plan.suite.name),
        run.plan.suite.version,
    )];
    if all.connects == 0 && all.complete > 0 {
        lines.push(
            "No connection was opened in this time: each was opened before, and kept".to_owned(),
        );
    }
    let times = [
        ("Page loads", &all.load),
        ("To the first byte of a page", &all.first_byte),
        ("Files", &all.file),
    ];
    for (what, times) in times {
        let times = times.as_ref();
        lines.extend(times.map(|times| format!("{what}: {}", spread(times))));
    }
    lines.push(format!(
        "Files retrieved: {}, failed: {}",
        all.files, all.failed
    ));
    lines.push(format!(
        "Throughput of all clients: {:.2} MB/s",
        per_second(all.bytes_received, pages.window_s) / 1e6
    ));
    lines.push(format!(
        "Load factor (mean number of requests in progress): {:.2}, of {} clients",
        pages.in_progress, run.plan.load.users
    ));
    lines.extend(pages.servers.iter().map(of_server));
    if all.incomplete > 0 {
        lines.push(format!(
            "Incomplete pages: {}; their bytes, which are in none of the above: {}",
            all.incomplete, all.bytes_apart
        ));
    }
    if *left_out != Visits::default() {
        lines.push(format!(
            "Outside the time that counts: complete pages: {}, incomplete: {}, files: {}, bytes: {}",
            left_out.complete,
            left_out.incomplete,
            left_out.files,
            left_out.bytes_received + left_out.bytes_apart
        ));
    }
    lines
}

/// What one of several servers had of it.
fn of_server(server: &ServerSummary) -> String {
    let ServerSummary {
        url,
        users,
        per_minute,
        visits,
    } = server;
    let times = visits.load.as_ref();
    let times = times.map_or(String::new(), |load| {
        format!("; page loads: {}", spread(load))
    });
    let clients = if *users == 1 { "client" } else { "clients" };
    format!(
        "Of {}: {per_minute:.1} pages a minute for {users} {clients}, {} complete, {} incomplete{times}",
        clean(url),
        visits.complete,
        visits.incomplete,
    )
}

fn spread(times: &Distribution) -> String {
    let human = |ns: u64| human(ns as f64);
    format!(
        "mean {}, p50 {}, p90 {}, p99 {}, max {}",
        self::human(times.mean),
        human(times.p50),
        human(times.p90),
        human(times.p99),
        human(times.max)
    )
}

fn per_second(bytes: u64, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => bytes as f64 / seconds,
        false => 0.0,
    }
}

/// Seconds of all of them together.
fn total(times: &Option<Distribution>) -> f64 {
    let sum = |times: &Distribution| times.mean * times.n as f64 / 1e9;
    times.as_ref().map_or(0.0, sum)
}

/// Seconds on average.
fn average(times: &Option<Distribution>) -> f64 {
    times.as_ref().map_or(0.0, |times| times.mean / 1e9)
}

/// Seconds of the longest.
fn longest(times: &Option<Distribution>) -> f64 {
    times.as_ref().map_or(0.0, |times| times.max as f64 / 1e9)
}

/// The same for programs.
pub(crate) fn document(run: &Run, pages: &Pages) -> wire::WebStone {
    let measure = |file: &record::MeasureId| run.plan.measures.get(usize::from(file.0));
    let page = |PageSummary { page, visits }: &PageSummary| wire::PageResult {
        name: page.name.clone(),
        weight: page.weight,
        bytes: page.bytes,
        files: page
            .files
            .iter()
            .filter_map(|file| Some(measure(file)?.name.clone()))
            .collect(),
        retrieved: visits.into(),
    };
    let server = |server: &ServerSummary| wire::ServerResult {
        url: server.url.clone(),
        children: server.users,
        number: thousandths(server.per_minute),
        retrieved: (&server.visits).into(),
    };
    wire::WebStone {
        number: thousandths(pages.per_minute),
        number_ci95: pages
            .per_minute_ci95
            .map(|(low, high)| [thousandths(low), thousandths(high)]),
        children: run.plan.load.users,
        seconds: pages.window_s,
        in_progress: thousandths(pages.in_progress),
        retrieved: (&pages.all).into(),
        left_out: (&pages.left_out).into(),
        servers: pages.servers.iter().map(server).collect(),
        pages: pages.pages.iter().map(page).collect(),
    }
}

impl From<&Visits> for wire::Retrieved {
    fn from(visits: &Visits) -> wire::Retrieved {
        let times = |times: &Option<Distribution>| times.as_ref().map(WireDistribution::from);
        wire::Retrieved {
            pages: visits.complete,
            errors: visits.incomplete,
            files: visits.files,
            failed_files: visits.failed,
            connects: visits.connects,
            bytes: visits.bytes_received,
            body_bytes: visits.body_received,
            header_bytes: visits.head_received(),
            bytes_apart: visits.bytes_apart,
            bytes_sent: visits.bytes_sent,
            connect_us: times(&visits.connect),
            response_us: times(&visits.file),
            page_us: times(&visits.load),
            first_byte_us: times(&visits.first_byte),
            connect_total_us: us(total(&visits.connect) * 1e9),
            page_total_us: us(total(&visits.load) * 1e9),
        }
    }
}
