//! Background traffic that runs.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::{Duration, Instant};

use flow::message::DelaySummary;
use flow::source::{FlowPlan, FlowReading, LoadReading, LoadTotals};
use flow::stability::{StabilityRule, StabilityWatch, granularity};
use flow::{
    FlowError, PermittedPeers, SharedToken, SinkHandle, SinkLimits, SinkSettings, SourceHandle,
    SourcePlan, TrafficSink, TrafficSource,
};
use record::{
    BackgroundCounts, BackgroundEnd, BackgroundPacing, BackgroundReading, BackgroundRecord,
    BackgroundStalls, BackgroundTotals, Nanos,
};

use super::failed;
use super::generators::RunningGenerator;
use super::task::{BackgroundTask, LONGEST_HERE, TaskFlow, TaskSink, TaskSource};
use crate::error::RunnerError;

/// Interval between two looks at readings.
pub const LOOK: Duration = Duration::from_millis(50);
/// Waiting time for an agreement after which the user is informed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Shorter rests of a second before an end are no readings.
const LEAST_REST: Duration = Duration::from_millis(200);
/// Time limit for a sink's report before an end.
const REST_PATIENCE: Duration = Duration::from_millis(500);
/// Seconds to wait where rates are random, so that stability cannot be checked.
const RUN_IN_SECONDS: usize = 3;
/// The same where only generators send, so that there are no readings.
const RUN_IN: Duration = Duration::from_secs(RUN_IN_SECONDS as u64);

/// Running background traffic. Dropping it stops it.
pub struct RunningBackground {
    record: BackgroundRecord,
    /// Before the flows, so that they end first.
    generators: Vec<RunningGenerator>,
    /// When generators are stopped: they have no duration of their own.
    generators_end: Option<Instant>,
    begun: Instant,
    sources: Vec<SourceUnderWay>,
    /// Sinks in this process; after the sources, so that those end first.
    sinks: Vec<SinkHandle>,
    rule: StabilityRule,
}

struct SourceUnderWay {
    handle: SourceHandle,
    /// Of each flow, its component and whether its rate is constant.
    flows: Vec<(usize, bool)>,
    pending: VecDeque<LoadReading>,
}

/// Counts that all sources have reported for the same time.
pub struct PolledReading {
    /// The counts.
    pub reading: BackgroundReading,
    /// Bytes per second of the flows with a constant rate at their sinks.
    steady_rate: f64,
    /// True for a whole second, false for the rest before an end.
    is_full: bool,
}

impl RunningBackground {
    /// Starts sinks and sources, and waits until the sinks have agreed. `is_cancelled` is called
    /// now and then.
    pub fn start(
        task: BackgroundTask,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<RunningBackground, RunnerError> {
        let token = match task.token {
            Some(token) => token,
            None => SharedToken::generate().map_err(|error| failed(&error))?,
        };
        // Each flow of TCP has a socket at either end.
        limits::raise_open_files();
        wait(task.start, is_cancelled)?;
        let flows = task.sources.iter().flat_map(|source| &source.flows);
        let steady = flows.filter(|flow| flow.is_steady);
        let blocks = steady.filter_map(|flow| flow.planned.model.constant_block_bytes());
        let mut running = RunningBackground {
            generators: Vec::new(),
            generators_end: None,
            begun: Instant::now(),
            sources: Vec::new(),
            sinks: Vec::new(),
            rule: StabilityRule {
                percent: task.stable_percent,
                granularity: granularity(blocks),
                ..StabilityRule::default()
            },
            record: task.record,
        };
        for source in task.sources {
            running.add(source, (task.duration, task.longest_silence), &token)?;
        }
        for source in &running.sources {
            wait_until_agreed(&source.handle, is_cancelled)?;
        }
        for generator in &task.generators {
            let generator = RunningGenerator::start(generator, is_cancelled)?;
            running.generators.push(generator);
        }
        if !running.generators.is_empty() {
            running.generators_end = Instant::now().checked_add(task.duration);
        }
        Ok(running)
    }

    fn add(
        &mut self,
        source: TaskSource,
        (duration, longest_silence): (Duration, Duration),
        token: &SharedToken,
    ) -> Result<(), RunnerError> {
        let is_own = matches!(source.sink, TaskSink::Own(_));
        let sink = match source.sink {
            TaskSink::Elsewhere(address) => address,
            TaskSink::Own(address) => {
                let sink = own_sink(address, token)?;
                let address = sink.address();
                self.sinks.push(sink);
                address
            }
        };
        let seed = self.record.seed;
        let plan = |flow: &TaskFlow| {
            let mut plan = FlowPlan::planned(&flow.planned, seed, duration);
            // On loopback, several runs must not wait for each other's ports.
            plan.options.sink_port = plan.options.sink_port.filter(|_| !is_own || flow.has_port);
            // Another source may send to the same host with the same default ports.
            plan.options.may_move = !flow.has_port;
            plan
        };
        let plan = SourcePlan {
            sink,
            flows: source.flows.iter().map(plan).collect(),
            threads: 1,
            longest_silence,
        };
        let handle = TrafficSource::start(plan, token.clone()).map_err(|error| failed(&error))?;
        let flows = source.flows.iter();
        self.sources.push(SourceUnderWay {
            handle,
            flows: flows.map(|flow| (flow.component, flow.is_steady)).collect(),
            pending: VecDeque::new(),
        });
        Ok(())
    }

    /// The traffic as planned.
    pub fn record(&self) -> &BackgroundRecord {
        &self.record
    }

    /// All sources and generators still send.
    pub fn is_active(&self) -> bool {
        self.sources.iter().all(|source| source.handle.is_active())
            && self.generators.iter().all(RunningGenerator::is_active)
            && self.generators_end.is_none_or(|end| Instant::now() < end)
    }

    /// Readings that all sources have reported.
    pub fn poll(&mut self) -> Vec<PolledReading> {
        for source in &mut self.sources {
            let mut readings = source.handle.readings();
            readings.retain(|reading| reading.is_full_second || reading.span >= LEAST_REST);
            source.pending.extend(readings);
        }
        let mut ready = Vec::new();
        // A source that has ended has no more readings; the others go on without it.
        while self.sources.iter().any(|source| !source.pending.is_empty())
            && self
                .sources
                .iter()
                .all(|source| !source.pending.is_empty() || !source.handle.is_active())
        {
            ready.push(self.next_reading());
        }
        ready
    }

    /// Requests from all sources the counts since the last full second.
    pub fn ask(&mut self) {
        for source in &mut self.sources {
            source.pending.extend(source.handle.readings());
            // A source that does not report is about to end; its totals have the reason.
            if let Ok(rest) = source.handle.reading_now(REST_PATIENCE) {
                source
                    .pending
                    .extend(Some(rest).filter(|reading| reading.span >= LEAST_REST));
            }
        }
    }

    fn next_reading(&mut self) -> PolledReading {
        let components = self.record.components.len();
        let mut sum = ComponentSums::new(components);
        let (mut span, mut steady_rate, mut is_full) = (Duration::ZERO, 0.0, true);
        for source in &mut self.sources {
            let Some(reading) = source.pending.pop_front() else {
                continue;
            };
            span = span.max(reading.span);
            is_full &= reading.is_full_second;
            let mut steady_bytes = 0.0;
            for (flow, (component, is_steady)) in reading.flows.iter().zip(&source.flows) {
                sum.add(*component, flow);
                steady_bytes += if *is_steady {
                    flow.received_bytes as f64
                } else {
                    0.0
                };
            }
            steady_rate += steady_bytes / reading.span.as_secs_f64().max(1e-9);
        }
        PolledReading {
            reading: BackgroundReading {
                span: nanos(span),
                components: sum.counts(),
            },
            steady_rate,
            is_full,
        }
    }

    /// Waits until the flows with constant rates are stable, or three seconds where there are none.
    /// Passes each reading to `show`.
    pub fn wait_until_stable(
        &mut self,
        is_cancelled: &dyn Fn() -> bool,
        mut show: impl FnMut(&BackgroundReading, &BackgroundRecord),
    ) -> Result<(), UnstableBackground> {
        let mut watch = StabilityWatch::new(self.rule);
        let begun = Instant::now();
        let mut seconds = 0;
        loop {
            for polled in self.poll() {
                show(&polled.reading, &self.record);
                seconds += usize::from(polled.is_full);
                let is_stable = polled.is_full && watch.push(polled.steady_rate);
                let is_run_in = !self.record.checked_stable && seconds >= RUN_IN_SECONDS;
                if is_stable || is_run_in {
                    return Ok(());
                }
            }
            if self.sources.is_empty() && begun.elapsed() >= RUN_IN && self.is_active() {
                return Ok(());
            }
            if is_cancelled() {
                return Err(UnstableBackground::Interrupted);
            }
            if !self.is_active() {
                // The first second has the beginning of the flows, and may be less than a whole
                // one.
                let is_judged = seconds > self.rule.seconds;
                return Err(UnstableBackground::Ended { is_judged });
            }
            if begun.elapsed() > self.rule.patience {
                return Err(UnstableBackground::Unstable(watch.unstable().to_string()));
            }
            thread::sleep(LOOK);
        }
    }

    /// Stops all flows, and returns their totals.
    pub fn end(mut self) -> EndedBackground {
        let by_itself = !self.is_active();
        let generators = self.generators.iter();
        let were_active: Vec<bool> = generators.map(RunningGenerator::is_active).collect();
        for generator in &mut self.generators {
            generator.ask_to_stop();
        }
        // Stop all before waiting for one: bytes of the others would queue up at it.
        for source in &self.sources {
            source.handle.ask_to_stop();
        }
        let components = self.record.components.len();
        let mut totals: Vec<TotalsSum> = Vec::new();
        totals.resize_with(components, TotalsSum::default);
        let mut sum = ComponentSums::new(components);
        let mut pacing = BackgroundPacing::default();
        let (mut elapsed, mut failure) = (Duration::ZERO, None);
        for source in self.sources {
            let ended = match source.handle.stop() {
                Ok(ended) => ended,
                Err(error) => {
                    failure.get_or_insert(error.to_string());
                    continue;
                }
            };
            elapsed = elapsed.max(ended.elapsed);
            let has_died = ended.failure.is_some();
            if let Some(error) = &ended.failure {
                failure.get_or_insert(error.to_string());
            }
            worst_pacing(&mut pacing, &ended);
            for (number, (component, _)) in source.flows.iter().enumerate() {
                if let Some(of_flow) = ended.flows.get(number) {
                    sum.add(*component, of_flow);
                    totals[*component].add(of_flow, &ended, number);
                    totals[*component].totals.elapsed = has_died.then(|| nanos(ended.elapsed));
                }
            }
        }
        let mut generators = Vec::new();
        for (generator, was_active) in self.generators.into_iter().zip(were_active) {
            let (end, why) = generator.end(was_active);
            failure = failure.or(why);
            generators.push(end);
        }
        if self.record.components.is_empty() {
            elapsed = self.begun.elapsed();
        }
        let pairs = totals.into_iter().zip(sum.counts());
        let components: Vec<BackgroundTotals> = pairs
            .map(|(totals, counts)| totals.finish(counts))
            .collect();
        let failure = failure.or_else(|| all_failed(&self.record, &components));
        let end = BackgroundEnd {
            elapsed: nanos(elapsed),
            components,
            pacing,
            failure: failure.map(|why| report::clean(&why)),
            generators,
        };
        EndedBackground { end, by_itself }
    }
}

/// The end of background traffic.
pub struct EndedBackground {
    /// A failure, if any, is that of a source.
    pub end: BackgroundEnd,
    /// True if it had ended before it was stopped.
    pub by_itself: bool,
}

/// A message if the connections of all flows failed: nothing is sent any more although no sink
/// died.
fn all_failed(record: &BackgroundRecord, ended: &[BackgroundTotals]) -> Option<String> {
    let components = record.components.iter();
    let flows: u32 = components.map(|component| component.flows).sum();
    let failed: u32 = ended.iter().map(|totals| totals.failed_flows).sum();
    (flows > 0 && failed == flows).then(|| {
        let all = match flows {
            1 => "the connection of its flow".to_owned(),
            flows => format!("the connections of all {flows} flows"),
        };
        format!("{all} failed, although the sink could be reached at its control port")
    })
}

/// Reasons why background traffic did not become stable.
pub enum UnstableBackground {
    /// By a signal.
    Interrupted,
    /// It ended too early.
    Ended {
        /// Enough seconds had passed to judge stability.
        is_judged: bool,
    },
    /// Rates vary too much.
    Unstable(String),
}

fn own_sink(address: IpAddr, token: &SharedToken) -> Result<SinkHandle, RunnerError> {
    let sink = TrafficSink::start(SinkSettings {
        listen: SocketAddr::new(address, 0),
        token: token.clone(),
        limits: SinkLimits {
            bytes_per_second: None,
            flows: flow::message::MOST_FLOWS,
            duration: LONGEST_HERE,
            sessions: 1,
            peers: PermittedPeers::Loopback,
            longest_silence: flow::LONGEST_SILENCE,
        },
    });
    sink.map_err(|error| RunnerError::Local(format!("background traffic: {error}")))
}

fn wait_until_agreed(
    source: &SourceHandle,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<(), RunnerError> {
    let begun = Instant::now();
    let mut is_said = false;
    loop {
        match source.ready(LOOK) {
            Ok(()) => return Ok(()),
            // The wait timed out, not the source, which has a time limit for each of its steps.
            Err(FlowError::TimedOut { .. }) if source.is_active() => {}
            Err(error) => return Err(failed(&error)),
        }
        if !is_said && begun.elapsed() > PATIENCE {
            log::info!("waiting for a sink of the background traffic to agree");
            is_said = true;
        }
        if is_cancelled() {
            return Err(RunnerError::Interrupted("interrupted".to_owned()));
        }
    }
}

fn wait(until: Duration, is_cancelled: &dyn Fn() -> bool) -> Result<(), RunnerError> {
    let begun = Instant::now();
    while begun.elapsed() < until {
        if is_cancelled() {
            return Err(RunnerError::Interrupted("interrupted".to_owned()));
        }
        thread::sleep(LOOK.min(until.saturating_sub(begun.elapsed())));
    }
    Ok(())
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}

struct ComponentSums {
    counts: Vec<BackgroundCounts>,
    /// Jitter of the flows with time stamps, and how many they are.
    jitter: Vec<(u64, u64)>,
}

impl ComponentSums {
    fn new(components: usize) -> ComponentSums {
        ComponentSums {
            counts: vec![BackgroundCounts::default(); components],
            jitter: vec![(0, 0); components],
        }
    }

    fn add(&mut self, component: usize, flow: &FlowReading) {
        // Streams without time stamps have no blocks that arrive.
        let has_stamps = flow.received_blocks > 0;
        self.counts[component].add(&BackgroundCounts {
            sent_bytes: flow.sent_bytes,
            received_bytes: flow.received_bytes,
            received: flow.received_blocks,
            lost: flow.lost,
            overflowed: flow.overflowed,
            reordered: flow.reordered,
            duplicates: flow.duplicates,
            retransmissions: flow.retransmissions,
            jitter: None,
            delay_variation: has_stamps.then_some(flow.delay_variation_ns),
            stalls: flow.stalls.map(|stall| BackgroundStalls {
                count: stall.count,
                total: stall.total_ns,
            }),
            unsent_blocks: unsent(flow),
            failed_flows: u64::from(flow.has_failed),
        });
        if has_stamps {
            let (sum, flows) = &mut self.jitter[component];
            *sum = sum.saturating_add(flow.jitter_ns);
            *flows += 1;
        }
    }

    fn counts(self) -> Vec<BackgroundCounts> {
        let pairs = self.counts.into_iter().zip(self.jitter);
        let with_jitter =
            |(counts, (sum, flows)): (BackgroundCounts, (u64, u64))| BackgroundCounts {
                jitter: sum.checked_div(flows),
                ..counts
            };
        pairs.map(with_jitter).collect()
    }
}

/// Blocks not sent although the network may have had room for them.
fn unsent(flow: &FlowReading) -> u64 {
    flow.dropped_blocks + flow.excess_blocks + flow.refused_blocks
}

/// The totals of the flows of a component.
#[derive(Default)]
struct TotalsSum {
    totals: BackgroundTotals,
    /// When the first and the last byte of all flows arrived.
    arrived_ns: Option<(u64, u64)>,
    delays: Vec<DelaySummary>,
}

impl TotalsSum {
    fn add(&mut self, flow: &FlowReading, all: &LoadTotals, number: usize) {
        let note = |known: &mut Vec<String>, names: &[Option<String>]| {
            let name = names.get(number).cloned().flatten();
            if let Some(name) = name.filter(|name| !known.contains(name)) {
                known.push(name);
            }
        };
        note(
            &mut self.totals.source_congestion,
            &all.source_congestion_control,
        );
        note(
            &mut self.totals.sink_congestion,
            &all.sink_congestion_control,
        );
        self.totals.unsent_blocks += unsent(flow) + flow.blocked_blocks;
        self.totals.failed_flows += u32::from(flow.has_failed);
        if let Some((first, last)) = flow.arrived_ns {
            let (from, to) = self.arrived_ns.unwrap_or((first, last));
            self.arrived_ns = Some((from.min(first), to.max(last)));
        }
        self.delays.extend(flow.delays);
    }

    fn finish(mut self, counts: BackgroundCounts) -> BackgroundTotals {
        self.delays.sort_by_key(|delay| delay.p50_ns);
        let middle = self.delays.get(self.delays.len() / 2);
        BackgroundTotals {
            received_for: self.arrived_ns.map(|(from, to)| to.saturating_sub(from)),
            counts,
            delay_p50: middle.map(|delays| delays.p50_ns),
            delay_p99: self.delays.iter().map(|delay| delay.p99_ns).max(),
            ..self.totals
        }
    }
}

/// Keeps the worst percentiles of several sources.
fn worst_pacing(pacing: &mut BackgroundPacing, ended: &LoadTotals) {
    pacing.blocks += ended.pacing.blocks;
    pacing.p50_ns = pacing.p50_ns.max(ended.pacing.p50_ns);
    pacing.p99_ns = pacing.p99_ns.max(ended.pacing.p99_ns);
    pacing.max_ns = pacing.max_ns.max(ended.pacing.max_ns);
}
