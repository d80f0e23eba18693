//! The control thread of a source.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::counters::PacingHistogram;
use super::open::{OpenFlow, connect, open_all};
use super::plan::SourcePlan;
use super::readings::{LoadTotals, ReadingMaker};
use super::sender::SendingFlow;
use super::sending::{SendingState, SendingThread};
use super::{LoadReading, MOST_READINGS, SourceShared, SourceState};
use crate::clock::monotonic_ns;
use crate::link::{ControlLink, out_of_turn};
use crate::message::{AgreedGroup, ControlMessage, FlowGroup, PROTOCOL_VERSION, ReadingOccasion};
use crate::sink::locked;
use crate::sys::tcp_facts;
use crate::token::{ProofRole, is_nonce, nonce};
use crate::{FlowError, SharedToken};

/// Time limit for replies of a connected sink, unless the path is slow.
const REPLY: Duration = Duration::from_secs(5);
/// Longest wait for the last counts, while something is still in flight: a queue may hold minutes
/// of traffic.
const LONGEST_QUEUE: Duration = Duration::from_secs(120);
/// Time within which a source that is stopped has its last counts, or gives up.
pub(super) const STOPPING: Duration = Duration::from_secs(130);
/// Time that the thread waits for a message before it does everything else.
const TICK: Duration = Duration::from_millis(25);
/// Lead after which all threads begin together.
const LEAD_NS: u64 = 10_000_000;

/// Runs a source from its connection to its totals.
///
/// # Errors
/// Nothing was sent.
pub(super) fn run(
    mut plan: SourcePlan,
    groups: Vec<FlowGroup>,
    token: &SharedToken,
    shared: &SourceShared,
) -> Result<LoadTotals, FlowError> {
    let sink = plan.sink;
    let should_stop = || shared.should_stop.load(Ordering::Relaxed);
    let mut link = introduced(sink, token, plan.longest_silence, should_stop)?;
    let agreed = agreement(&mut link, groups, should_stop)?;
    let origin = Instant::now();
    let plans = std::mem::take(&mut plan.flows);
    let longest = plans.iter().map(|flow| flow.duration).max();
    let mut seconds = 0;
    let flows = open_all(plans, sink, &agreed, || {
        if should_stop() {
            return Err(FlowError::Stopped);
        }
        seconds += u64::from(hear(&mut link)?);
        Ok(())
    })?;
    let mut totals = LoadTotals {
        elapsed: Duration::ZERO,
        flows: Vec::new(),
        source_congestion_control: names(&flows, |flow| &flow.congestion_control),
        sink_congestion_control: names(&flows, |flow| &flow.sink_congestion_control),
        pacing: PacingHistogram::summary(&[]),
        failure: None,
    };
    let mut running = RunningSource::start(flows, plan.threads, (link, origin), shared)?;
    running.maker.pass(seconds);
    shared.state.change(SourceState::Running);
    let followed = running.follow();
    let sent_for = Duration::from_nanos(monotonic_ns().saturating_sub(running.start));
    running.sent_until = Some(origin.elapsed());
    totals.elapsed = sent_for.min(longest.unwrap_or_default());
    let ended = match followed {
        Ok(()) => running.finish(),
        Err(error) => {
            running.sending.is_abandoned.store(true, Ordering::Relaxed);
            running.stop();
            Err(error)
        }
    };
    totals.failure = ended.err();
    totals.flows = running.maker.totals(true);
    if totals.failure.is_some() {
        // Arrival of data after the last report of the sink is unknown.
        (totals.elapsed, totals.flows) = running.maker.last_second();
    }
    totals.pacing = PacingHistogram::summary(&locked(&shared.pacing));
    Ok(totals)
}

/// Describes the peer at an address where no sink sends a greeting.
fn no_greeting(sink: SocketAddr) -> String {
    format!("{sink} did not greet as a sink does (another program may listen there)")
}

fn names(flows: &[OpenFlow], name: impl Fn(&OpenFlow) -> &Option<String>) -> Vec<Option<String>> {
    flows.iter().map(|flow| name(flow).clone()).collect()
}

/// Connects to the sink; both sides prove that they share the token.
fn introduced(
    sink: SocketAddr,
    token: &SharedToken,
    longest_silence: Duration,
    should_stop: impl Fn() -> bool,
) -> Result<ControlLink, FlowError> {
    let what = format!("connect to the sink {sink}");
    let connected = connect(sink, &should_stop).map_err(|error| {
        let text =
            format!("{error}; start `prestan traffic sink` there, or allow it in the firewall");
        FlowError::system(&what)(io::Error::new(error.kind(), text))
    })?;
    let stream = connected.ok_or(FlowError::Stopped)?;
    let link = ControlLink::new(stream, longest_silence);
    let mut link = link.map_err(FlowError::system(&what))?;
    let greeting = link.expect(REPLY, &no_greeting(sink), &should_stop);
    let greeting = greeting.map_err(|error| match error {
        FlowError::OtherProtocol(begins) => FlowError::NoSink {
            address: sink,
            begins,
        },
        error => error,
    })?;
    let ControlMessage::Greeting {
        nonce: peer_nonce, ..
    } = greeting
    else {
        return Err(out_of_turn());
    };
    if !is_nonce(&peer_nonce) {
        return Err(out_of_turn());
    }
    let own_nonce = nonce()?;
    link.send(&ControlMessage::Introduction {
        version: PROTOCOL_VERSION,
        nonce: own_nonce.clone(),
        proof: token.prove(ProofRole::Source, &peer_nonce, &own_nonce),
    })?;
    let ControlMessage::Welcome { proof } =
        link.expect(REPLY, "the sink did not reply", should_stop)?
    else {
        return Err(out_of_turn());
    };
    if !token.is_proved(ProofRole::Sink, &own_nonce, &peer_nonce, &proof) {
        return Err(FlowError::OtherToken);
    }
    link.trust();
    Ok(link)
}

/// Requests flows.
fn agreement(
    link: &mut ControlLink,
    groups: Vec<FlowGroup>,
    should_stop: impl Fn() -> bool,
) -> Result<Vec<AgreedGroup>, FlowError> {
    let counts: Vec<usize> = groups.iter().map(|group| group.flows as usize).collect();
    let life = link.open_life_line();
    link.send(&ControlMessage::Request { groups, life })?;
    let ControlMessage::Agreed { groups } =
        link.expect(REPLY, "the sink did not agree", should_stop)?
    else {
        return Err(out_of_turn());
    };
    let agreed: Vec<usize> = groups.iter().map(|group| group.ids.len()).collect();
    if agreed == counts {
        Ok(groups)
    } else {
        Err(out_of_turn())
    }
}

/// Serves the connection while flows are opened; true if the sink reported a full second, in which
/// nothing was sent.
fn hear(link: &mut ControlLink) -> Result<bool, FlowError> {
    link.keep_alive()?;
    match link.receive(Duration::from_millis(1))? {
        Some(ControlMessage::Refused { reason }) => Err(FlowError::Refused(reason)),
        Some(ControlMessage::Received { occasion, .. }) => Ok(occasion == ReadingOccasion::Second),
        _ => Ok(false),
    }
}

/// A source with sending flows.
struct RunningSource<'a> {
    link: ControlLink,
    shared: &'a SourceShared,
    sending: Arc<SendingState>,
    threads: Vec<JoinHandle<()>>,
    maker: ReadingMaker,
    /// Start of its flows, by the monotonic clock.
    start: u64,
    /// Moment of the agreement.
    origin: Instant,
    /// Time from then to the end of sending, when that is over.
    sent_until: Option<Duration>,
}

impl<'a> RunningSource<'a> {
    fn start(
        flows: Vec<OpenFlow>,
        threads: usize,
        (link, origin): (ControlLink, Instant),
        shared: &'a SourceShared,
    ) -> Result<RunningSource<'a>, FlowError> {
        let prepare = || FlowError::system("prepare to send");
        let maker = ReadingMaker::new(&flows);
        let sending = SendingState::new(flows.len(), link.longest_silence());
        let sending = Arc::new(sending.map_err(prepare())?);
        let threads = threads.max(1);
        let mut parts: Vec<Vec<SendingFlow>> = Vec::new();
        parts.resize_with(threads + 1, Vec::new);
        for (number, flow) in flows.into_iter().enumerate() {
            let part = if flow.plan.is_unlimited() {
                threads
            } else {
                number % threads
            };
            parts[part].push(SendingFlow::new(flow, number));
        }
        let mut running = RunningSource {
            link,
            shared,
            sending,
            threads: Vec::new(),
            maker,
            start: monotonic_ns() + LEAD_NS,
            origin,
            sent_until: None,
        };
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let started = running.start_thread(part);
            if let Err(error) = started {
                running.stop();
                return Err(error);
            }
        }
        Ok(running)
    }

    fn start_thread(&mut self, flows: Vec<SendingFlow>) -> Result<(), FlowError> {
        let no_bounds = || FlowError::Settings("no histogram of pacing errors".to_owned());
        let pacing = Arc::new(PacingHistogram::new().ok_or_else(no_bounds)?);
        locked(&self.shared.pacing).push(Arc::clone(&pacing));
        let thread = SendingThread::new(flows, Arc::clone(&self.sending), pacing)?;
        let start = self.start;
        let builder = thread::Builder::new().name("traffic-source".to_owned());
        let handle = builder.spawn(move || thread.run(start));
        let handle = handle.map_err(FlowError::system("start a thread"))?;
        self.threads.push(handle);
        Ok(())
    }

    /// Makes readings until all flows have ended or the user stops them.
    fn follow(&mut self) -> Result<(), FlowError> {
        loop {
            self.link.keep_alive()?;
            self.sending.watched();
            self.maker.look(self.origin.elapsed());
            self.receive(TICK)?;
            if self.shared.wants_reading.swap(false, Ordering::Relaxed) {
                self.link.send(&ControlMessage::ReadingRequest {})?;
            }
            let is_over = self.sending.active.load(Ordering::Relaxed) == 0;
            if is_over || self.shared.should_stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Receives a message; true for the last.
    fn receive(&mut self, patience: Duration) -> Result<bool, FlowError> {
        let message = self.link.receive(patience)?;
        match message {
            None => return Ok(false),
            Some(ControlMessage::Heartbeat {}) => {}
            Some(ControlMessage::Received {
                elapsed_ns,
                occasion,
                flows,
            }) => {
                let at = Duration::from_nanos(elapsed_ns);
                let facts = tcp_facts(self.link.stream().as_fd());
                let round_trip = facts.map_or(0, |facts| u64::from(facts.round_trip_us));
                let round_trip = Duration::from_micros(round_trip);
                let mut reading = self.maker.reading(at, occasion, flows, round_trip);
                // After the last byte, the sink waits for data in flight.
                if let (ReadingOccasion::Last, Some(until)) = (occasion, self.sent_until) {
                    let arrived = reading.flows.iter().filter_map(|flow| flow.arrived_ns);
                    let last_ns = arrived.map(|(_, last_ns)| last_ns).max().unwrap_or(0);
                    let until = until.max(Duration::from_nanos(last_ns));
                    let rest = until.saturating_sub(at.saturating_sub(reading.span));
                    reading.span = match rest {
                        Duration::ZERO => reading.span,
                        rest => reading.span.min(rest),
                    };
                }
                self.publish(occasion, reading);
                return Ok(occasion == ReadingOccasion::Last);
            }
            Some(ControlMessage::Refused { reason }) => {
                return Err(FlowError::EndedBySink(reason));
            }
            Some(_) => return Err(out_of_turn()),
        }
        Ok(false)
    }

    fn publish(&self, occasion: ReadingOccasion, reading: LoadReading) {
        // The lock of the state makes the change visible to waiting threads.
        let state = self.shared.state.read();
        if occasion == ReadingOccasion::Request {
            *locked(&self.shared.requested) = Some(reading);
        } else {
            let mut readings = locked(&self.shared.readings);
            if readings.len() == MOST_READINGS {
                readings.pop_front();
            }
            readings.push_back(reading);
        }
        drop(state);
        self.shared.state.announce();
    }

    /// Ends the sending threads.
    fn stop(&mut self) {
        self.sending.stop();
        for thread in self.threads.drain(..) {
            // A panic of that thread has been printed.
            let _ = thread.join();
        }
    }

    /// Ends the flows and waits for the last counts.
    fn finish(&mut self) -> Result<(), FlowError> {
        self.stop();
        self.link.send(&ControlMessage::Finished {})?;
        let begun = Instant::now();
        // Time since which nothing shows any more that data or messages are in flight.
        let mut settled = begun;
        let mut arrived = self.maker.arrived_bytes();
        while settled.elapsed() < REPLY && begun.elapsed() < LONGEST_QUEUE {
            self.link.keep_alive()?;
            self.maker.look(self.origin.elapsed());
            if self.receive(TICK)? {
                return Ok(());
            }
            let bytes = self.maker.arrived_bytes();
            if bytes != arrived || !self.link.is_prompt() {
                (settled, arrived) = (Instant::now(), bytes);
            }
        }
        Err(FlowError::TimedOut {
            what: "the sink did not send its last counts".to_owned(),
            seconds: begun.elapsed().as_secs_f64().round(),
        })
    }
}
