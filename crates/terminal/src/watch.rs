//! Display of a run while it goes on.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use engine::{HeadRecord, Observer, Progress};
use record::{Event, EventKind, Pace, PlanRecord, TestId};
use runner::live::LiveStatistics;
use runner::words::still_there;

use crate::bar::{BarOf, TerminalBar};
use crate::forecast::{Meter, Outlook, RunMeter};
use crate::live::{History, line_of, share_done};
use crate::live_warnings::LiveWarnings;
use crate::output::{print_message, show};
use runner::words::roughly;

/// Interval between two frames.
pub const FRAME: Duration = Duration::from_millis(100);

/// Delay of a warm-up, beyond its option, after which it is reported.
const SLOW_BEGINNING_S: f64 = 5.0;

/// Verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Talk {
    /// Warnings and errors.
    Quiet,
    /// Progress, and warnings.
    Normal,
    /// Also each test and its events.
    Verbose,
}

/// Options of the display of a run.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleRequest {
    /// What is printed.
    pub talk: Talk,
    /// Heads of requests and responses are shown, too.
    pub shows_heads: bool,
}

/// Displays a run on standard error: a bar on a terminal, plain lines elsewhere.
pub struct Console {
    request: ConsoleRequest,
    bar: Option<TerminalBar>,
    progress: Arc<Progress>,
    plan: PlanRecord,
    live: Arc<LiveStatistics>,
    /// For a suite.
    meter: RunMeter,
    begun: Instant,
    /// Start of the measurement of a load.
    measuring: OnceLock<Instant>,
    /// Tests that were measured, or whose failure was reported: the others end when a run ends
    /// early.
    reached: Mutex<BTreeSet<TestId>>,
}

impl Console {
    /// For a run with these counts and figures.
    pub fn new(
        request: ConsoleRequest,
        progress: Arc<Progress>,
        plan: &PlanRecord,
        live: Arc<LiveStatistics>,
        meter: RunMeter,
    ) -> Self {
        let total = match plan.load.pace {
            Pace::Rounds => BarOf::Suite,
            Pace::Closed | Pace::Open { .. } => BarOf::Load,
        };
        let bar = match request.talk {
            Talk::Quiet => None,
            Talk::Normal | Talk::Verbose => TerminalBar::begin(total),
        };
        Console {
            request,
            bar,
            progress,
            plan: plan.clone(),
            live,
            meter,
            begun: Instant::now(),
            reached: Mutex::default(),
            measuring: OnceLock::new(),
        }
    }

    /// Displays the progress until the run ends; on another thread, so that the run is not
    /// disturbed.
    pub fn follow(self: &Arc<Self>) -> Following {
        let is_suite = self.plan.load.pace == Pace::Rounds;
        let shows = self.bar.is_some() || (!is_suite && self.request.talk != Talk::Quiet);
        let console = Arc::clone(self);
        let follow = move |over: &AtomicBool| {
            if is_suite {
                console.follow_suite(over)
            } else {
                console.follow_load(over)
            }
        };
        Following::begin(self.bar.clone(), shows.then_some(follow))
    }

    fn follow_suite(&self, over: &AtomicBool) {
        let Some(bar) = &self.bar else { return };
        while !over.load(Ordering::Relaxed) {
            let failed = match self.progress.failed() {
                0 => String::new(),
                failed => format!(", {failed} failed"),
            };
            draw_outlook(bar, &self.meter.meter, &failed);
            thread::park_timeout(FRAME);
        }
    }

    fn follow_load(&self, over: &AtomicBool) {
        let mut last = 0.0;
        let mut seconds = 0;
        let mut figures = None;
        let mut history = History::default();
        let mut warnings = LiveWarnings::default();
        let started = Instant::now();
        let mut says_slow = true;
        while !over.load(Ordering::Relaxed) {
            thread::park_timeout(FRAME);
            let Some(begun) = self.measuring.get() else {
                self.draw(0.0, "connecting and warming up");
                if says_slow && self.is_slow_to_begin(started.elapsed()) {
                    says_slow = false;
                    self.print_line(&self.slow_to_begin());
                }
                continue;
            };
            let elapsed = begun.elapsed().as_secs_f64();
            if elapsed as u64 > seconds && !over.load(Ordering::Relaxed) {
                seconds = elapsed as u64;
                let now = self.live.take(elapsed - last);
                last = elapsed;
                history.push(&now);
                match &self.bar {
                    Some(bar) => bar.set_message(&history.line().unwrap_or_default()),
                    None => print_message(&format!("{seconds:3} s  {}", line_of(&now))),
                }
                let generator = self.progress.lately();
                for warning in warnings.look(&generator, &now.lately, &self.plan) {
                    self.print_line(&format!("warning: {}", report::warning(&warning)));
                }
                figures = Some(now);
            }
            let line = figures.as_ref().map(line_of);
            self.draw(elapsed, line.as_deref().unwrap_or_default());
        }
    }

    /// True if several connections take longer to get ready than the warm-up has, though the server
    /// has responded to a first request.
    fn is_slow_to_begin(&self, elapsed: Duration) -> bool {
        let load = &self.plan.load;
        self.progress.is_reached()
            && load.users > 1
            && elapsed.as_secs_f64() > load.warmup_s + SLOW_BEGINNING_S
    }

    fn slow_to_begin(&self) -> String {
        let load = &self.plan.load;
        format!(
            "prestan: still warming up on {} connections; a server that serves fewer at a time lets the others \
             wait, each request for {} s at most (--timeout). Use fewer connections: --users 1, for example",
            load.users, load.timeout_s
        )
    }

    /// Moves the bar of a load, if there is one.
    fn draw(&self, elapsed: f64, line: &str) {
        let Some(bar) = &self.bar else { return };
        let load = &self.plan.load;
        let done = (self.live.operations(), load.requests);
        let prefix = match share_done(done, (elapsed, seconds_of(&self.plan))) {
            Some((share, left)) => {
                bar.set_position(share);
                format!("{:3.0} %  {left:.0} s left  {line}", share * 100.0)
            }
            None => format!("{elapsed:.0} s  {line}"),
        };
        bar.set_prefix(&prefix);
        bar.tick();
    }

    fn print_line(&self, line: &str) {
        suspended(self.bar.as_ref(), || print_message(line));
    }

    fn test(&self, test: TestId) -> &str {
        let test = self.plan.tests.get(usize::from(test.0));
        test.map_or("?", |test| test.name.as_str())
    }

    fn measure(&self, measure: record::MeasureId) -> &str {
        let measure = self.plan.measures.get(usize::from(measure.0));
        measure.map_or("?", |measure| measure.name.as_str())
    }

    fn has_reached(&self, test: TestId) -> bool {
        self.tests_reached().contains(&test)
    }

    /// A panic elsewhere leaves a valid set.
    fn tests_reached(&self) -> MutexGuard<'_, BTreeSet<TestId>> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, kind: &EventKind) -> Option<String> {
        let verbose = self.request.talk == Talk::Verbose;
        let plain = self.bar.is_none();
        match kind {
            EventKind::TestStarted { test } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(self.test(*test));
                }
                verbose.then(|| format!("{}: set-up", self.test(*test)))
            }
            EventKind::MeasuringStarted { test } => {
                verbose.then(|| format!("{}: measuring", self.test(*test)))
            }
            EventKind::TestEnded { test } if !self.has_reached(*test) => None,
            EventKind::TestEnded { test } => (verbose || plain).then(|| {
                let elapsed = self.begun.elapsed().as_secs_f64();
                let outlook = self.meter.meter.outlook();
                let percent = (outlook.share * 100.0) as u64;
                let left = time_left(&outlook).map_or(String::new(), |left| format!("; {left}"));
                format!("{percent:3} %  {elapsed:6.1} s  {}{left}", self.test(*test))
            }),
            EventKind::NotSupported { test, evidence, .. } => {
                verbose.then(|| format!("{}: not supported: {evidence}", self.test(*test)))
            }
            EventKind::TestFailed { test, evidence } => {
                verbose.then(|| format!("{}: failed: {evidence}", self.test(*test)))
            }
            EventKind::OperationFailed { measure, outcome, evidence, .. } => {
                verbose.then(|| format!("{}: {outcome}: {evidence}", self.measure(*measure)))
            }
            EventKind::Note { measure, text } => {
                verbose.then(|| format!("{}: {text}", self.measure(*measure)))
            }
            EventKind::Warning { text } => Some(format!("warning: {text}")),
            EventKind::LeftBehind(left) => Some(still_there(left)),
            EventKind::ClockStepped { by } => Some(format!(
                "warning: the clock of this machine was set by {:.3} s while measuring",
                *by as f64 / 1e9
            )),
            EventKind::EndedEarly { by } => Some(report::ended_early(by)),
            EventKind::BackgroundEnded(end) => {
                let why = end.failure.as_ref()?;
                Some(format!("warning: the background traffic ended: {why}"))
            }
            EventKind::MeasuringEnded { .. }
            | EventKind::Background(_)
            | EventKind::Inside(_)
            | EventKind::Traced(_)
            | EventKind::UnseenCalls { .. }
            | EventKind::Flame(_)
            | EventKind::ServerTimes(_)
            | EventKind::Origins(_)
            | EventKind::AccessLog(_)
            | EventKind::LoadChanged { .. }
            | EventKind::Generator(_)
            | EventKind::Goal(_)
            | EventKind::FirstAnswer { .. }
            | EventKind::ClosedSilently { .. }
            // Reported at the end of the program.
            | EventKind::Aborted { .. }
            | EventKind::Interrupted => None,
        }
    }
}

impl Observer for Console {
    fn wants_heads(&self) -> bool {
        self.request.shows_heads
    }

    fn head_passed(&self, client: u32, head: &HeadRecord) {
        suspended(self.bar.as_ref(), || show(&heads(client, head)));
    }

    fn event(&self, event: &Event) {
        self.meter.event(event);
        if let EventKind::MeasuringStarted { .. } = &event.kind {
            // Only the first counts; a suite has many, and does not need it. Reported ahead of its
            // time.
            self.measuring.get_or_init(|| {
                self.live.begin(event.at);
                let begun = self.begun + Duration::from_nanos(event.at);
                begun.max(Instant::now())
            });
        }
        match &event.kind {
            EventKind::MeasuringStarted { test }
            | EventKind::NotSupported { test, .. }
            | EventKind::TestFailed { test, .. } => {
                self.tests_reached().insert(*test);
            }
            _ => {}
        }
        // Leftovers on a server are always reported.
        let must = matches!(&event.kind, EventKind::LeftBehind(left) if left.own);
        if let Some(line) = self.line(&event.kind)
            && (must || self.request.talk != Talk::Quiet)
        {
            // One event is one line, regardless of text from a server.
            self.print_line(&report::clean(&line));
        }
    }
}

/// Prints something, above the bar if there is one.
pub(crate) fn suspended(bar: Option<&TerminalBar>, print: impl FnOnce()) {
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Longest duration of a load in seconds, if known.
fn seconds_of(plan: &PlanRecord) -> Option<f64> {
    match &plan.load.pace {
        Pace::Open { stages, .. } => {
            let all: f64 = stages.iter().map(|stage| stage.duration_s).sum();
            // A schedule without an end.
            (all < f64::from(u32::MAX)).then_some(all)
        }
        _ => plan.load.duration_s,
    }
}

/// Moves a bar to the progress of the runs: `1200 of 5000 requests, 2 failed  8 s, about 20 s
/// left`.
pub(crate) fn draw_outlook(bar: &TerminalBar, meter: &Meter, failed: &str) {
    let outlook = meter.outlook();
    let requests = match meter.requests() {
        // More than planned if users went on until the slowest had finished.
        (sent, Some(planned)) => format!("{sent} of {} requests", planned.max(sent)),
        (sent, None) => format!("{sent} requests"),
    };
    let left = time_left(&outlook).map_or(String::new(), |left| format!(", {left}"));
    bar.set_position(outlook.share);
    let elapsed = meter.elapsed().as_secs();
    bar.set_prefix(&format!("{requests}{failed}  {elapsed} s{left}"));
    bar.tick();
}

/// `about 20 s left`; `None` if unknown, or at the end.
pub fn time_left(outlook: &Outlook) -> Option<String> {
    let left = outlook.left.filter(|left| !left.is_zero())?;
    Some(format!("about {} left", roughly(left.as_secs_f64())))
}

/// A head that a client sent or received, line by line.
fn heads(client: u32, head: &HeadRecord) -> Vec<String> {
    let (sign, lines) = match head {
        HeadRecord::Request(lines) => ('>', &lines[..]),
        HeadRecord::Response(lines) => ('<', &lines[..]),
        HeadRecord::Remark(remark) => ('*', std::slice::from_ref(remark)),
    };
    let lines = lines.iter();
    lines
        .map(|line| format!("[{client}] {sign} {line}"))
        .collect()
}

/// Displays heads of messages outside of runs, and nothing else.
pub struct HeadsOnly;

impl Observer for HeadsOnly {
    fn event(&self, _: &Event) {}

    fn wants_heads(&self) -> bool {
        true
    }

    fn head_passed(&self, client: u32, head: &HeadRecord) {
        show(&heads(client, head));
    }
}

/// A running display; dropping it removes what is drawn.
pub struct Following {
    bar: Option<TerminalBar>,
    over: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Following {
    /// Draws a bar at this interval until the end.
    pub fn drawing(
        bar: Option<TerminalBar>,
        each: Duration,
        draw: impl Fn(&TerminalBar) + Send + 'static,
    ) -> Following {
        let drawn = bar.clone().map(|bar| {
            move |over: &AtomicBool| {
                while !over.load(Ordering::Relaxed) {
                    draw(&bar);
                    thread::park_timeout(each);
                }
            }
        });
        Following::begin(bar, drawn)
    }

    /// Calls `draw` on another thread, which ends when everything has ended.
    pub fn begin<F>(bar: Option<TerminalBar>, draw: Option<F>) -> Following
    where
        F: FnOnce(&AtomicBool) + Send + 'static,
    {
        let over = Arc::new(AtomicBool::new(false));
        let started = draw.map(|draw| {
            let over = Arc::clone(&over);
            thread::Builder::new().spawn(move || draw(&over))
        });
        let thread = started.transpose().unwrap_or_else(|error| {
            let why = limits::no_thread(&error);
            print_message(&format!("prestan: warning: no progress is shown: {why}"));
            None
        });
        Following { bar, over, thread }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of the drawing thread must not affect this one.
            let _ = thread.join();
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
