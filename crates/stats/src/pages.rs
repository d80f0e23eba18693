//! Pages: totals over the files of a visit (Trent and Sake 1995, sections 4.4 and 7).
//!
//! A visit is complete when every file of its page came as expected; any other visit, an aborted
//! one included, is an error, and its bytes are counted apart. The work of the window is counted by
//! the end of visits: their number, files, connections and bytes. Times are those of the visits
//! that begin in it, because long ones would be too few otherwise.
//!
//! ```text
//! files --> visit (open until the last of them) --> page, inside the window or outside --> Pages
//! ```

mod came;
mod judged;
mod pooled;

use std::collections::{BTreeMap, HashMap};

use record::{MeasureId, Nanos, Outcome, PageRecord, PlanRecord, Sample, server_of};

use crate::Distribution;
use crate::row::SegmentCount;
use crate::throughput::{Throughput, is_steady};
use crate::times::Times;
use crate::window::{MeasurementWindow, Span, end};
pub use came::{BodySizes, FilesCame};
pub(crate) use judged::PageRow;
pub(crate) use pooled::pooled;

const MINUTE: f64 = 60.0;

/// Results of the pages of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PagesSummary {
    /// One for each page of the plan, in its order.
    pub pages: Vec<PageSummary>,
    /// All visits that count.
    pub all: Visits,
    /// The same server by server, where there are several.
    pub servers: Vec<ServerSummary>,
    /// All visits that do not: they ended after the window, or before it. Their times are those of
    /// the visits that began outside.
    pub left_out: Visits,
    /// Seconds that count.
    pub window_s: f64,
    /// Complete visits a minute.
    pub per_minute: f64,
    /// The 95 % interval of that; `None` where there are too few of them for one.
    pub per_minute_ci95: Option<(f64, f64)>,
    /// The rate went up or down over times that are not short beside the window, so that the
    /// interval may be too narrow.
    pub wanders: bool,
    /// Mean number of requests in progress, connecting included.
    pub in_progress: f64,
}

/// One page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSummary {
    /// Name, size and files.
    pub page: PageRecord,
    /// Its visits that count.
    pub visits: Visits,
}

/// One of several servers.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSummary {
    /// The collection there.
    pub url: String,
    /// Users that requested it.
    pub users: u32,
    /// Complete visits a minute.
    pub per_minute: f64,
    /// The 95 % interval of that; `None` where there are too few of them for one.
    pub per_minute_ci95: Option<(f64, f64)>,
    /// As [`wanders`](PagesSummary::wanders).
    pub wanders: bool,
    /// Its visits that count.
    pub visits: Visits,
}

/// Totals and times of visits. Times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Visits {
    /// Those whose files all came as expected.
    pub complete: u64,
    /// Those that miss a file.
    pub incomplete: u64,
    /// Files that came as expected.
    pub files: u64,
    /// Those of them that belong to complete visits.
    pub files_of_complete: u64,
    /// Requests for files that failed.
    pub failed: u64,
    /// Connections that were opened.
    pub connects: u64,
    /// How long opening one took, TLS included.
    pub connect: Option<Distribution>,
    /// From the beginning of a complete visit to the last byte of its last file.
    pub load: Option<Distribution>,
    /// From its beginning to the first byte of its first response.
    pub first_byte: Option<Distribution>,
    /// From the beginning of a request for a file to the last byte, where it came as expected.
    pub file: Option<Distribution>,
    /// TCP segments of the connections that ended with a file of theirs; `None` if none is known.
    pub segments: Option<SegmentCount>,
    /// Bytes of all requests.
    pub bytes_sent: u64,
    /// Bytes of the responses of complete visits, heads included.
    pub bytes_received: u64,
    /// Bytes of their bodies.
    pub body_received: u64,
    /// Bytes of the responses of incomplete visits.
    pub bytes_apart: u64,
    /// Files that came as expected, those of incomplete visits among them.
    pub came: FilesCame,
}

impl Visits {
    /// Bytes of the heads and framing of the responses of complete visits.
    pub fn head_received(&self) -> u64 {
        self.bytes_received.saturating_sub(self.body_received)
    }
}

/// Adds up visits from the operations that they consist of.
#[derive(Debug, Clone)]
pub(crate) struct PageTally {
    pages: Vec<PageRecord>,
    servers: Vec<String>,
    users: u32,
    /// The page of each measure that belongs to one.
    of: BTreeMap<MeasureId, usize>,
    /// Visits of which files are still to come.
    open: HashMap<u64, Visit>,
    /// Tally of each page of each server.
    counted: Vec<VisitTally>,
    left_out: VisitTally,
    rows: Vec<PageRow>,
    /// Nanoseconds of visits inside the window, of all users together.
    under_way: u128,
    /// The load was the same throughout.
    steady: bool,
    /// Of each server, complete visits by the time of their end.
    throughput: Vec<Throughput>,
}

#[derive(Debug, Clone)]
struct Visit {
    server: usize,
    page: usize,
    /// How many parts its first file named.
    parts: Option<u16>,
    files: u64,
    failed: u64,
    started: Nanos,
    first: Option<Nanos>,
    ended: Nanos,
    connects: Vec<Nanos>,
    segments: Option<SegmentCount>,
    /// Beginning and length of each file that came.
    took: Vec<(Nanos, Nanos)>,
    bytes_sent: u64,
    bytes_received: u64,
    body_received: u64,
    came: FilesCame,
}

#[derive(Debug, Clone, Default)]
struct VisitTally {
    amounts: Visits,
    connect: Times,
    load: Times,
    first_byte: Times,
    file: Times,
}

impl PageTally {
    pub(crate) fn new(plan: &PlanRecord) -> Option<PageTally> {
        let pages = plan.pages.iter().enumerate();
        // Users are spread over servers, unless the suite names the servers of its requests.
        let spread = if plan.targets.is_empty() {
            usize::MAX
        } else {
            1
        };
        let servers: Vec<String> = plan.servers().take(spread).map(str::to_owned).collect();
        (!plan.pages.is_empty()).then(|| PageTally {
            of: pages
                .flat_map(|(index, page)| page.files.iter().map(move |file| (*file, index)))
                .collect(),
            open: HashMap::new(),
            counted: vec![VisitTally::default(); servers.len() * plan.pages.len()],
            left_out: VisitTally::default(),
            rows: vec![PageRow::default(); plan.pages.len()],
            under_way: 0,
            steady: is_steady(&plan.load),
            throughput: vec![Throughput::default(); servers.len()],
            pages: plan.pages.clone(),
            servers,
            users: plan.load.users,
        })
    }

    pub(crate) fn add(&mut self, sample: &Sample, window: MeasurementWindow) {
        let (Some(number), Some(page)) = (sample.visit, self.of.get(&sample.measure)) else {
            return;
        };
        let server = server_of(sample.user, self.servers.len());
        let fresh = Visit::new(server, *page, sample);
        let visit = self.open.entry(number).or_insert(fresh);
        visit.add(sample);
        if visit.requests() < files_of(&self.pages[*page], visit) {
            return;
        }
        if let Some(visit) = self.open.remove(&number) {
            self.close(&visit, window);
        }
    }

    fn close(&mut self, visit: &Visit, window: MeasurementWindow) {
        let is_complete =
            visit.failed == 0 && visit.requests() == files_of(&self.pages[visit.page], visit);
        let index = visit.server * self.pages.len() + visit.page;
        self.under_way += u128::from(window.share(visit.span()));
        let timed = if window.counts_from(visit.started) {
            &mut self.counted[index]
        } else {
            &mut self.left_out
        };
        timed.time(visit, is_complete);
        self.rows[visit.page].add(visit, is_complete, window);
        if !window.contains_moment(visit.ended) {
            return self.left_out.count(visit, is_complete);
        }
        self.counted[index].count(visit, is_complete);
        if is_complete {
            self.throughput[visit.server].add(visit.ended);
        }
    }

    /// Of a visit that is open in both tallies, each has a part.
    pub(crate) fn merge(&mut self, other: &PageTally) {
        for (tally, others) in self.counted.iter_mut().zip(&other.counted) {
            tally.merge(others);
        }
        self.left_out.merge(&other.left_out);
        for (row, others) in self.rows.iter_mut().zip(&other.rows) {
            row.merge(others);
        }
        self.under_way += other.under_way;
        for (tally, others) in self.throughput.iter_mut().zip(&other.throughput) {
            tally.merge(others);
        }
        for (number, visit) in &other.open {
            let known = self.open.remove(number);
            let whole = known.map_or_else(|| visit.clone(), |known| known.with(visit));
            self.open.insert(*number, whole);
        }
    }

    pub(crate) fn row(&self, index: usize) -> Option<&PageRow> {
        self.rows.get(index)
    }

    /// Nanoseconds of visits inside the window, those included that still miss a file.
    pub(crate) fn under_way(&self, window: MeasurementWindow) -> u128 {
        let open = self.open.values();
        let open = open.map(|visit| u128::from(window.share(visit.span())));
        self.under_way + open.sum::<u128>()
    }

    /// The results of the visits in these windows, in which that many nanoseconds of requests were
    /// in progress. No visit is open any more.
    pub(crate) fn describe(&self, windows: &[Span], under_way: u128) -> PagesSummary {
        let all = VisitTally::merged(&self.counted).describe();
        let window_s: f64 = windows.iter().map(|window| window.seconds()).sum();
        let rate = |per_second: f64| if window_s > 0.0 { per_second } else { 0.0 };
        let per_minute = rate(all.complete as f64 / window_s * MINUTE);
        let mut throughput = Throughput::default();
        let of_servers = self.throughput.iter();
        of_servers.for_each(|of_server| throughput.merge(of_server));
        let Uncertainty { ci95, wanders } = self.uncertainty(&throughput, windows);
        PagesSummary {
            pages: self.page_summaries(),
            servers: self.server_summaries(windows, |complete| {
                rate(complete as f64 / window_s * MINUTE)
            }),
            per_minute,
            per_minute_ci95: ci95,
            wanders,
            in_progress: rate(under_way as f64 / 1e9 / window_s),
            left_out: self.left_out.describe(),
            all,
            window_s,
        }
    }

    /// The same with no visit open any more: those that still miss a file were aborted.
    pub(crate) fn closed(&self, windows: &[Span]) -> PageTally {
        let mut whole = self.clone();
        for (_, visit) in std::mem::take(&mut whole.open) {
            let mut all = windows
                .iter()
                .map(|window| MeasurementWindow::from(Ok(*window)));
            let window = all.find(|window| window.contains_moment(visit.ended));
            whole.close(&visit, window.unwrap_or(MeasurementWindow::Nothing));
        }
        whole
    }

    /// How far a rate of complete visits is known. With several windows it is not, because its
    /// waves belong to one.
    fn uncertainty(&self, throughput: &Throughput, windows: &[Span]) -> Uncertainty {
        let rate = match windows {
            [window] if self.steady => throughput.rate(*window),
            _ => None,
        };
        let ci95 = rate.and_then(|rate| rate.ci95);
        Uncertainty {
            ci95: ci95.map(|(low, high)| (low * MINUTE, high * MINUTE)),
            wanders: rate.is_some_and(|rate| rate.wanders),
        }
    }

    /// Page by page, over all servers.
    fn page_summaries(&self) -> Vec<PageSummary> {
        let of_page = |(index, page): (usize, &PageRecord)| {
            let tallies = self.counted.iter().skip(index).step_by(self.pages.len());
            PageSummary {
                page: page.clone(),
                visits: VisitTally::merged(tallies).describe(),
            }
        };
        self.pages.iter().enumerate().map(of_page).collect()
    }

    /// Server by server, over all pages; empty where there is one server.
    fn server_summaries(
        &self,
        windows: &[Span],
        per_minute: impl Fn(u64) -> f64,
    ) -> Vec<ServerSummary> {
        let count = self.servers.len();
        if count < 2 {
            return Vec::new();
        }
        let tallies = self.counted.chunks(self.pages.len());
        let of_server = |(index, (url, tallies)): (usize, (&String, &[VisitTally]))| {
            let visits = VisitTally::merged(tallies).describe();
            let asks_it = |user: &u32| server_of(*user, count) == index;
            let Uncertainty { ci95, wanders } = self.uncertainty(&self.throughput[index], windows);
            ServerSummary {
                url: url.clone(),
                users: (0..self.users).filter(asks_it).count() as u32,
                per_minute: per_minute(visits.complete),
                per_minute_ci95: ci95,
                wanders,
                visits,
            }
        };
        let servers = self.servers.iter().zip(tallies);
        servers.enumerate().map(of_server).collect()
    }
}

/// How many files a visit has: those of its page, and as many parts as its first file named.
fn files_of(page: &PageRecord, visit: &Visit) -> u64 {
    let listed = page.files.len() as u64;
    match page.parts {
        Some(_) => listed - 1 + u64::from(visit.parts.unwrap_or(0)),
        None => listed,
    }
}

impl Visit {
    fn new(server: usize, page: usize, sample: &Sample) -> Visit {
        Visit {
            server,
            page,
            parts: sample.parts,
            files: 0,
            failed: 0,
            started: sample.moments.started,
            first: None,
            ended: 0,
            connects: Vec::new(),
            segments: None,
            took: Vec::new(),
            bytes_sent: 0,
            bytes_received: 0,
            body_received: 0,
            came: FilesCame::default(),
        }
    }

    /// From its beginning to the end of the last request for a file of it.
    fn span(&self) -> Span {
        Span {
            start: self.started,
            end: self.ended,
        }
    }

    /// Requests for its files that have ended.
    fn requests(&self) -> u64 {
        self.files + self.failed
    }

    fn add(&mut self, sample: &Sample) {
        let moments = &sample.moments;
        match sample.outcome {
            Outcome::Ok => {
                self.files += 1;
                self.came.add(sample);
                let took = moments.total().map(|took| (moments.started, took));
                self.took.extend(took);
            }
            _ => self.failed += 1,
        }
        self.started = self.started.min(moments.started);
        self.ended = self.ended.max(end(sample));
        self.first = earlier(self.first, moments.first);
        let connect = sample
            .connect
            .map(|connect| connect.tcp + connect.tls.unwrap_or(0));
        self.connects.extend(connect);
        SegmentCount::add(&mut self.segments, SegmentCount::of(sample));
        self.bytes_sent += sample.bytes_sent;
        self.bytes_received += sample.bytes_received;
        self.body_received += sample.body_received;
    }

    /// Its files that came, and how long they took together.
    fn came(&self) -> FilesCame {
        FilesCame {
            longest: self.took.iter().map(|(_, took)| took).sum(),
            longest_connect: self.connects.iter().sum(),
            ..self.came
        }
    }

    /// The visit together with the part of it in another tally.
    fn with(mut self, other: &Visit) -> Visit {
        self.parts = self.parts.or(other.parts);
        self.files += other.files;
        self.failed += other.failed;
        self.started = self.started.min(other.started);
        self.ended = self.ended.max(other.ended);
        self.first = earlier(self.first, other.first);
        self.connects.extend(&other.connects);
        SegmentCount::add(&mut self.segments, other.segments);
        self.took.extend(&other.took);
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.body_received += other.body_received;
        self.came.merge(&other.came);
        self
    }
}

struct Uncertainty {
    /// The 95 % interval, a minute.
    ci95: Option<(f64, f64)>,
    wanders: bool,
}

fn earlier(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    one.into_iter().chain(other).min()
}

impl VisitTally {
    fn merged<'a>(tallies: impl IntoIterator<Item = &'a VisitTally>) -> VisitTally {
        let mut all = VisitTally::default();
        tallies.into_iter().for_each(|tally| all.merge(tally));
        all
    }

    fn count(&mut self, visit: &Visit, is_complete: bool) {
        let amounts = &mut self.amounts;
        amounts.came.merge(&visit.came());
        amounts.files += visit.files;
        amounts.failed += visit.failed;
        amounts.connects += visit.connects.len() as u64;
        SegmentCount::add(&mut amounts.segments, visit.segments);
        amounts.bytes_sent += visit.bytes_sent;
        if !is_complete {
            amounts.incomplete += 1;
            amounts.bytes_apart += visit.bytes_received;
            return;
        }
        amounts.complete += 1;
        amounts.files_of_complete += visit.files;
        amounts.bytes_received += visit.bytes_received;
        amounts.body_received += visit.body_received;
    }

    fn time(&mut self, visit: &Visit, is_complete: bool) {
        let started = visit.started;
        for took in &visit.connects {
            self.connect.add(started, *took);
        }
        for (began, took) in &visit.took {
            self.file.add(*began, *took);
        }
        if is_complete {
            self.load.add(started, visit.ended - started);
            let first = visit.first.map(|first| first.saturating_sub(started));
            self.first_byte.add_some(started, first);
        }
    }

    fn merge(&mut self, other: &VisitTally) {
        let (amounts, others) = (&mut self.amounts, &other.amounts);
        amounts.complete += others.complete;
        amounts.incomplete += others.incomplete;
        amounts.files += others.files;
        amounts.files_of_complete += others.files_of_complete;
        amounts.failed += others.failed;
        amounts.connects += others.connects;
        SegmentCount::add(&mut amounts.segments, others.segments);
        amounts.bytes_sent += others.bytes_sent;
        amounts.bytes_received += others.bytes_received;
        amounts.body_received += others.body_received;
        amounts.bytes_apart += others.bytes_apart;
        amounts.came.merge(&others.came);
        self.connect.merge(&other.connect);
        self.load.merge(&other.load);
        self.first_byte.merge(&other.first_byte);
        self.file.merge(&other.file);
    }

    fn describe(&self) -> Visits {
        Visits {
            connect: self.connect.describe(),
            load: self.load.describe(),
            first_byte: self.first_byte.describe(),
            file: self.file.describe(),
            ..self.amounts.clone()
        }
    }
}

#[cfg(test)]
mod tests;
