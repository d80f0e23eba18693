//! A session of a sink: one source, from its introduction to its last counts.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::arrivals::CountsWanted;
use super::data::{DataCommand, DataCommands};
use super::limits::{self, Grant};
use super::{SessionReading, SinkShared, locked, ports};
use crate::link::{ControlLink, out_of_turn};
use crate::message::{
    AgreedGroup, ControlMessage, FlowGroup, PROTOCOL_VERSION, ReadingOccasion, SinkCounts,
};
use crate::payload::FlowId;
use crate::token::{ProofRole, is_nonce, nonce, random};
use crate::{FlowError, FlowTransport, HEARTBEAT};

/// Time limit for the introduction of a source.
const INTRODUCTION: Duration = Duration::from_secs(2);
/// Time limit for its request of flows, after that.
const REQUEST: Duration = Duration::from_secs(10);
/// Time that the session waits for a message before it checks its heartbeats.
const TICK: Duration = Duration::from_millis(25);
/// Interval of counts.
const READING: Duration = Duration::from_secs(1);
/// Time for data in flight, after the source has finished; for datagrams longer, as long as some
/// arrive.
const IN_FLIGHT: Duration = Duration::from_secs(1);
const LONGEST_IN_FLIGHT: Duration = Duration::from_secs(60);
/// Time without arrivals after which all data count as received, where nothing else shows it.
const QUIET: Duration = Duration::from_millis(100);
/// Time in addition to its duration in which a source may connect and finish: its last message is
/// sent after its data, which may wait in a queue.
const GRACE: Duration = Duration::from_secs(180);

/// Serves a source.
pub(super) fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    number: u64,
    shared: &SinkShared,
    commands: &DataCommands,
) {
    let link = ControlLink::new(stream, shared.grants.longest_silence());
    let link = link.map_err(FlowError::system("prepare a session"));
    let silent = SilentSession(shared, number);
    let served = link.and_then(|mut link| {
        let served = converse(&mut link, (peer, silent), number, shared, commands);
        if let Err(error) = &served {
            let reason = match error {
                SessionFailure::Ours(reason) => reason.clone(),
                SessionFailure::Error(error) => error.to_string(),
            };
            // The source may have gone already.
            let _ = link.send(&ControlMessage::Refused { reason });
        }
        served.map_err(|failure| match failure {
            SessionFailure::Ours(reason) => FlowError::Refused(reason),
            SessionFailure::Error(error) => error,
        })
    });
    commands.send(DataCommand::Remove { session: number });
    locked(&shared.readings).retain(|(session, _)| *session != number);
    match served {
        Ok(()) => {}
        Err(FlowError::Refused(reason)) => shared.failed(format!("{peer}: {reason}")),
        Err(error) => shared.failed(format!("{peer}: {error}")),
    }
}

/// A connection without an introduction, until this is dropped.
struct SilentSession<'a>(&'a SinkShared, u64);

impl Drop for SilentSession<'_> {
    fn drop(&mut self) {
        self.0.forget_silent(self.1);
    }
}

/// Why a session ends before its time.
enum SessionFailure {
    /// The sink refuses, with this sentence.
    Ours(String),
    /// The source or the connection failed.
    Error(FlowError),
}

impl From<FlowError> for SessionFailure {
    fn from(error: FlowError) -> SessionFailure {
        SessionFailure::Error(error)
    }
}

impl From<String> for SessionFailure {
    fn from(reason: String) -> SessionFailure {
        SessionFailure::Ours(reason)
    }
}

fn converse(
    link: &mut ControlLink,
    (peer, silent): (SocketAddr, SilentSession<'_>),
    number: u64,
    shared: &SinkShared,
    commands: &DataCommands,
) -> Result<(), SessionFailure> {
    shared.grants.check_peer(peer.ip())?;
    introduce(link, shared)?;
    drop(silent);
    // Only now: a peer without the token must not take a slot of a source.
    let session = shared.grants.admit()?;
    let groups = requested(link, shared)?;
    let flows = shared.grants.agree(&groups)?;
    let agreed = open(link, number, &groups, commands)?;
    link.send(&ControlMessage::Agreed { groups: agreed })?;
    let reading = SessionReading {
        peer,
        groups,
        elapsed: Duration::ZERO,
        flows: Vec::new(),
    };
    let began = Instant::now();
    let mut session = SinkSession {
        link,
        number,
        shared,
        commands,
        granted: vec![session, flows],
        began,
        next_reading: began + READING,
        reading,
        seconds: 0,
        looked: None,
    };
    session.follow()
}

/// Both sides prove that they share the token.
fn introduce(link: &mut ControlLink, shared: &SinkShared) -> Result<(), SessionFailure> {
    let own_nonce = nonce()?;
    link.send(&ControlMessage::Greeting {
        version: PROTOCOL_VERSION,
        nonce: own_nonce.clone(),
    })?;
    let ControlMessage::Introduction { nonce, proof, .. } =
        link.expect(INTRODUCTION, "the source did not introduce itself", || {
            shared.is_stopping()
        })?
    else {
        return Err(out_of_turn().into());
    };
    let token = &shared.token;
    let is_proved =
        is_nonce(&nonce) && token.is_proved(ProofRole::Source, &own_nonce, &nonce, &proof);
    if !is_proved {
        return Err("the source has another token".to_owned().into());
    }
    link.trust();
    let proof = token.prove(ProofRole::Sink, &nonce, &own_nonce);
    Ok(link.send(&ControlMessage::Welcome { proof })?)
}

fn requested(
    link: &mut ControlLink,
    shared: &SinkShared,
) -> Result<Vec<FlowGroup>, SessionFailure> {
    let begun = Instant::now();
    let mut delay = Duration::ZERO;
    loop {
        link.keep_alive()?;
        // On a slow path, an acknowledgment arrives before the message behind it.
        delay = delay.max(link.delay_of_path());
        match link.receive(TICK)? {
            Some(ControlMessage::Request { groups, life }) => {
                if let Some(life) = life {
                    link.use_life_line(life);
                }
                return Ok(groups);
            }
            Some(ControlMessage::Heartbeat {}) => {}
            Some(_) => return Err(out_of_turn().into()),
            None if shared.is_stopping() => return Err("the sink was stopped".to_owned().into()),
            None => {}
        }
        if begun.elapsed() > REQUEST + delay {
            return Err("no flows were asked for".to_owned().into());
        }
    }
}

/// Opens the ports for all groups.
fn open(
    link: &ControlLink,
    session: u64,
    groups: &[FlowGroup],
    commands: &DataCommands,
) -> Result<Vec<AgreedGroup>, SessionFailure> {
    let local = link.stream().local_addr();
    let local = local.map_err(FlowError::system("read the address of the sink"))?;
    let mut opened = Vec::new();
    for group in groups {
        let port = ports::open(group, local)?;
        let ids = (0..group.flows).map(|_| random().map(u64::from_ne_bytes));
        opened.push((port, ids.collect::<Result<Vec<u64>, FlowError>>()?));
    }
    let mut agreed = Vec::new();
    for ((port, ids), group) in opened.into_iter().zip(groups) {
        agreed.push(AgreedGroup {
            port: port.port,
            ids: ids.clone(),
            congestion_control: port.congestion_control,
        });
        commands.send(DataCommand::Add {
            session,
            transport: group.transport,
            socket: port.socket,
            ids: ids.into_iter().map(FlowId).collect(),
            has_stamps: group.has_stamps || group.transport == FlowTransport::Udp,
        });
    }
    Ok(agreed)
}

fn bytes_of(flows: &[SinkCounts]) -> u64 {
    flows.iter().map(|flow| flow.bytes).sum()
}

/// A session whose flows are agreed.
struct SinkSession<'a> {
    link: &'a mut ControlLink,
    number: u64,
    shared: &'a SinkShared,
    commands: &'a DataCommands,
    /// Its part of the limits, until it has finished.
    granted: Vec<Grant<'a>>,
    began: Instant,
    next_reading: Instant,
    reading: SessionReading,
    /// Number of full seconds so far.
    seconds: usize,
    /// While no messages arrive: the time of the last check for data, and the bytes that had
    /// arrived by then.
    looked: Option<(Instant, u64)>,
}

impl SinkSession<'_> {
    /// Sends counts until the source has finished.
    fn follow(&mut self) -> Result<(), SessionFailure> {
        let groups = self.reading.groups.iter();
        let longest = groups.map(|group| group.duration_ms).max();
        let longest = Duration::from_millis(longest.unwrap_or(0)) + GRACE;
        loop {
            self.look_for_data()?;
            self.link.keep_alive()?;
            match self.link.receive(TICK)? {
                Some(ControlMessage::Finished {}) => return self.finish(),
                Some(ControlMessage::ReadingRequest {}) => self.report(ReadingOccasion::Request)?,
                Some(ControlMessage::Heartbeat {}) | None => {}
                Some(_) => return Err(out_of_turn().into()),
            }
            if self.shared.is_stopping() {
                return Err("the sink was stopped".to_owned().into());
            }
            if self.began.elapsed() > longest {
                return Err("the agreed duration is over".to_owned().into());
            }
            if self.report_if_due()? {
                self.check_rate()?;
            }
        }
    }

    /// Sends counts at the end of a second.
    fn report_if_due(&mut self) -> Result<bool, SessionFailure> {
        let is_due = Instant::now() >= self.next_reading;
        if is_due {
            self.next_reading += READING;
            self.report(ReadingOccasion::Second)?;
            self.seconds += 1;
        }
        Ok(is_due)
    }

    /// Keeps a source alive whose heartbeats are missing, as long as its data arrive.
    fn look_for_data(&mut self) -> Result<(), SessionFailure> {
        if self.link.silence() < 2 * HEARTBEAT {
            self.looked = None;
            return Ok(());
        }
        if self.looked.is_some_and(|(at, _)| at.elapsed() < HEARTBEAT) {
            return Ok(());
        }
        let bytes = bytes_of(&self.counts(CountsWanted::Now)?);
        if self.looked.is_some_and(|(_, before)| bytes > before) {
            self.link.other_side_lives();
        }
        self.looked = Some((Instant::now(), bytes));
        Ok(())
    }

    fn counts(&self, wanted: CountsWanted) -> Result<Vec<SinkCounts>, SessionFailure> {
        let counts = self.commands.counts(self.number, wanted);
        counts.ok_or_else(|| "the sink was stopped".to_owned().into())
    }

    fn report(&mut self, occasion: ReadingOccasion) -> Result<(), SessionFailure> {
        let flows = self.counts(match occasion {
            ReadingOccasion::Second => CountsWanted::Second(self.seconds),
            ReadingOccasion::Request | ReadingOccasion::Last => CountsWanted::Now,
        })?;
        self.send(flows, occasion)
    }

    fn send(
        &mut self,
        flows: Vec<SinkCounts>,
        occasion: ReadingOccasion,
    ) -> Result<(), SessionFailure> {
        let elapsed = self.began.elapsed();
        self.reading.elapsed = elapsed;
        self.reading.flows.clone_from(&flows);
        let mut readings = locked(&self.shared.readings);
        let mut known = readings.iter_mut();
        match known.find(|(number, _)| *number == self.number) {
            Some((_, reading)) => reading.clone_from(&self.reading),
            None => readings.push((self.number, self.reading.clone())),
        }
        drop(readings);
        Ok(self.link.send(&ControlMessage::Received {
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            occasion,
            flows,
        })?)
    }

    /// Stops a source that sends more than was agreed.
    fn check_rate(&self) -> Result<(), SessionFailure> {
        let SessionReading { groups, flows, .. } = &self.reading;
        if limits::exceeds(groups, flows, self.began.elapsed()) {
            return Err("a flow sends more than was agreed".to_owned().into());
        }
        Ok(())
    }

    /// Waits for data in flight, and sends the last counts.
    fn finish(&mut self) -> Result<(), SessionFailure> {
        let begun = Instant::now();
        let mut counts = self.counts(CountsWanted::Now)?;
        let mut changed = begun;
        let has_datagrams = |group: &FlowGroup| group.transport == FlowTransport::Udp;
        let has_datagrams = self.reading.groups.iter().any(has_datagrams);
        while begun.elapsed() < LONGEST_IN_FLIGHT {
            let is_quiet = !has_datagrams || changed.elapsed() >= QUIET;
            if is_quiet && (self.streams_have_ended(&counts) || begun.elapsed() >= IN_FLIGHT) {
                break;
            }
            self.link.keep_alive()?;
            match self.link.receive(Duration::from_millis(5))? {
                Some(ControlMessage::Heartbeat {} | ControlMessage::ReadingRequest {}) | None => {}
                Some(_) => return Err(out_of_turn().into()),
            }
            // Counts that pass a deep queue in time show the source that the sink has not died.
            self.report_if_due()?;
            let now = self.counts(CountsWanted::Now)?;
            if self.datagrams_of(&now) != self.datagrams_of(&counts) {
                changed = Instant::now();
            }
            counts = now;
        }
        let counts = self.counts(CountsWanted::Last)?;
        // Before the source has its counts: afterwards it may begin again.
        let session = self.number;
        self.commands.send(DataCommand::Remove { session });
        self.granted.clear();
        self.send(counts, ReadingOccasion::Last)?;
        // If the connection were closed here, further messages of the source would make the system
        // discard unacknowledged counts.
        let sent = Instant::now();
        while sent.elapsed() < LONGEST_IN_FLIGHT
            && !self.shared.is_stopping()
            && self.link.keep_alive().is_ok()
            && self.link.receive(TICK).is_ok()
        {}
        Ok(())
    }

    /// Bytes of all datagrams.
    fn datagrams_of(&self, counts: &[SinkCounts]) -> u64 {
        let group_counts =
            |group: &FlowGroup| std::iter::repeat_n(group.transport, group.flows as usize);
        let transports = self.reading.groups.iter().flat_map(group_counts);
        let flows = counts.iter().zip(transports);
        let datagrams = flows.filter(|(_, transport)| *transport == FlowTransport::Udp);
        datagrams.map(|(flow, _)| flow.bytes).sum()
    }

    fn streams_have_ended(&self, counts: &[SinkCounts]) -> bool {
        let mut counts = counts.iter();
        self.reading.groups.iter().all(|group| {
            let mut flows = counts.by_ref().take(group.flows as usize);
            let ended = flows.by_ref().filter(|flow| flow.has_ended).count();
            // Takes the rest of the group from the iterator, too.
            group.transport == FlowTransport::Udp || ended == group.flows as usize
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LONGEST_SILENCE, SharedToken, SinkLimits, SinkSettings, TrafficSink};

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn a_session_ends_after_its_source_has_the_last_counts() {
        let token = SharedToken::new(b"a token of these tests").unwrap();
        let sink = TrafficSink::start(SinkSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            token: token.clone(),
            // This source writes no heartbeats.
            limits: SinkLimits {
                longest_silence: PATIENCE,
                ..SinkLimits::default()
            },
        })
        .unwrap();
        let stream = TcpStream::connect(sink.address()).unwrap();
        let mut source = ControlLink::new(stream, LONGEST_SILENCE).unwrap();
        let hear = |source: &mut ControlLink| source.expect(PATIENCE, "nothing came", || false);
        let Ok(ControlMessage::Greeting {
            nonce: peer_nonce, ..
        }) = hear(&mut source)
        else {
            unreachable!("a sink greets");
        };
        let own_nonce = nonce().unwrap();
        let introduction = ControlMessage::Introduction {
            version: PROTOCOL_VERSION,
            proof: token.prove(ProofRole::Source, &peer_nonce, &own_nonce),
            nonce: own_nonce,
        };
        source.send(&introduction).unwrap();
        hear(&mut source).unwrap();
        source.trust();
        let group = FlowGroup {
            transport: FlowTransport::Udp,
            flows: 1,
            bytes_per_second: Some(1000),
            duration_ms: 1000,
            block_bytes: 100,
            has_stamps: true,
            port: None,
            may_move: false,
            window_bytes: None,
            congestion_control: None,
        };
        let request = ControlMessage::Request {
            groups: vec![group],
            life: None,
        };
        source.send(&request).unwrap();
        hear(&mut source).unwrap();
        assert_eq!((sink.status().sessions, sink.status().flows), (1, 1));
        source.send(&ControlMessage::Finished {}).unwrap();
        // Counts of a second that has ended may come before.
        while let ControlMessage::Received { occasion, .. } = hear(&mut source).unwrap() {
            if occasion == ReadingOccasion::Last {
                break;
            }
        }
        // Another source may take its slot.
        assert_eq!((sink.status().sessions, sink.status().flows), (0, 0));
        // The connection is not closed as long as counts could be lost with it.
        let after = source.receive(PATIENCE).unwrap();
        assert_eq!(after, Some(ControlMessage::Heartbeat {}));
        assert_eq!(sink.readings().len(), 1);
        drop(source);
        let begun = Instant::now();
        while !sink.readings().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "the session goes on");
            std::thread::yield_now();
        }
        assert_eq!(sink.status().failed_sessions, 0);
    }
}
