//! The control connection, for both of its sides: messages, heartbeats, and signs of life of the
//! other side.
//!
//! Traffic beyond the capacity of the network delays this connection, too: acknowledgments of the
//! sink's messages are lost, and TCP waits longer and longer before it repeats them. Therefore the
//! timeouts do not grow, the sink takes data for a sign of life, and it sends datagrams to the
//! source that need no acknowledgment.
//!
//! Where even these are delayed by seconds, TCP shows if the other side is silent or the path is
//! slow: a system whose program is silent acknowledges heartbeats after a round trip, and probes
//! while there are none. Behind a slow path, acknowledgments come late or not at all; behind a
//! broken one, too: at first, the two look the same.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use crate::message::{
    ControlFrameError, ControlMessage, FrameDecoder, LONGEST_MESSAGE, LONGEST_UNAUTHENTICATED,
    LifeLinePort,
};
use crate::sys::{TcpFacts, keep_timeouts_short, probe_when_idle, tcp_facts};
use crate::token::random;
use crate::{FlowError, HEARTBEAT};

/// Interval at which a wait for a message checks if it should stop.
const TICK: Duration = Duration::from_millis(50);
/// Longest distance between acknowledgments of heartbeats, unless some are lost or wait in a queue.
const ACKNOWLEDGMENTS_APART: Duration = HEARTBEAT.saturating_mul(3);
/// Round trips within which a message longer than heartbeats is acknowledged, though TCP begins
/// slowly: the counts of thousands of flows.
const LONG_MESSAGE: u32 = 8;
/// Probes without acknowledgment that show a slow or broken path.
const UNANSWERED_PROBES: u8 = 2;
/// Additional silence that is permitted where acknowledgments are late: a queue of a thousand full
/// packets takes 12 s at 1 Mbit/s.
pub(crate) const SLOW_PATH: Duration = Duration::from_secs(15);
/// Bytes of an unknown protocol that are shown.
const SHOWN: usize = 40;

/// One side of a control connection.
#[derive(Debug)]
pub(crate) struct ControlLink {
    stream: TcpStream,
    decoder: FrameDecoder,
    buffer: Box<[u8]>,
    /// When the other side was last heard.
    heard: Instant,
    /// When a wait last ended without a message: while this side does not run, the other one is not
    /// silent.
    unheard: Instant,
    /// When this side last wrote.
    written: Instant,
    /// When it last wrote something other than a heartbeat.
    spoke: Instant,
    life: Option<LifeLine>,
    longest_silence: Duration,
    progress: AcknowledgmentProgress,
    /// Additional silence that is permitted, by the acknowledgments of heartbeats, until the other
    /// side is heard again.
    allowance: Duration,
}

/// When the other side last acknowledged something, or had nothing to acknowledge.
#[derive(Debug, Clone, Copy)]
struct AcknowledgmentProgress {
    acknowledged_bytes: u32,
    at: Instant,
}

impl AcknowledgmentProgress {
    /// Time for which unacknowledged bytes have waited for another acknowledgment, `now` that the
    /// connection shows `facts`.
    fn waited(&mut self, facts: TcpFacts, now: Instant) -> Duration {
        if facts.unacknowledged == 0 || facts.acknowledged_bytes != self.acknowledged_bytes {
            self.acknowledged_bytes = facts.acknowledged_bytes;
            self.at = now;
        }
        now - self.at
    }
}

/// Datagrams from the sink to the source, as often as heartbeats.
#[derive(Debug)]
enum LifeLine {
    /// The side of the sink.
    Sender { socket: UdpSocket, number: u64 },
    /// The side of the source.
    Receiver {
        socket: UdpSocket,
        sink: IpAddr,
        number: u64,
    },
}

impl LifeLine {
    /// Sends a sign of life.
    fn send(&self) {
        if let LifeLine::Sender { socket, number } = self {
            // The next one may succeed.
            let _ = socket.send(&number.to_be_bytes());
        }
    }

    /// True if one arrived since the last call.
    fn has_received(&self) -> bool {
        let LifeLine::Receiver {
            socket,
            sink,
            number,
        } = self
        else {
            return false;
        };
        let mut is_heard = false;
        let mut datagram = [0; 9];
        // Bounded, because any host can send there.
        for _ in 0..64 {
            let Ok((count, peer)) = socket.recv_from(&mut datagram) else {
                break;
            };
            let is_right = datagram[..count] == number.to_be_bytes()[..];
            is_heard |= is_right && peer.ip().to_canonical() == *sink;
        }
        is_heard
    }
}

impl ControlLink {
    pub(crate) fn new(stream: TcpStream, longest_silence: Duration) -> io::Result<ControlLink> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(longest_silence))?;
        // Without this option, the connection works as long as less is lost.
        let _ = keep_timeouts_short(stream.as_fd());
        // Without these probes, a side that waits for the first message takes a slow path for a
        // silent program.
        let _ = probe_when_idle(stream.as_fd());
        let now = Instant::now();
        Ok(ControlLink {
            stream,
            decoder: FrameDecoder::new(LONGEST_UNAUTHENTICATED),
            buffer: vec![0; 16 << 10].into(),
            heard: now,
            unheard: now,
            written: now,
            spoke: now,
            life: None,
            longest_silence,
            progress: AcknowledgmentProgress {
                acknowledged_bytes: 0,
                at: now,
            },
            allowance: Duration::ZERO,
        })
    }

    /// Opens a port for datagrams of the other side; `None` where this is impossible.
    pub(crate) fn open_life_line(&mut self) -> Option<LifeLinePort> {
        let local = self.stream.local_addr().ok()?;
        let sink = self.stream.peer_addr().ok()?.ip().to_canonical();
        let socket = UdpSocket::bind(SocketAddr::new(local.ip(), 0)).ok()?;
        socket.set_nonblocking(true).ok()?;
        let port = socket.local_addr().ok()?.port();
        let number = random().map(u64::from_be_bytes).ok()?;
        self.life = Some(LifeLine::Receiver {
            socket,
            sink,
            number,
        });
        Some(LifeLinePort { port, number })
    }

    /// Sends datagrams there from now on.
    pub(crate) fn use_life_line(&mut self, life: LifeLinePort) {
        let connected = || -> io::Result<UdpSocket> {
            let local = self.stream.local_addr()?;
            let socket = UdpSocket::bind(SocketAddr::new(local.ip(), 0))?;
            socket.set_nonblocking(true)?;
            let mut source = self.stream.peer_addr()?;
            source.set_port(life.port);
            socket.connect(source)?;
            Ok(socket)
        };
        // Without it, the connection alone shows that this side lives.
        self.life = connected().ok().map(|socket| LifeLine::Sender {
            socket,
            number: life.number,
        });
    }

    /// Time since the last sign of life of the other side.
    pub(crate) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Notes another sign of life of the other side.
    pub(crate) fn other_side_lives(&mut self) {
        self.heard = Instant::now();
        self.allowance = Duration::ZERO;
    }

    pub(crate) fn longest_silence(&self) -> Duration {
        self.longest_silence
    }

    /// Additional time until something can be heard: acknowledgments are late, or round trips are
    /// long.
    pub(crate) fn delay_of_path(&mut self) -> Duration {
        self.look().map_or(Duration::ZERO, |(_, delay)| delay)
    }

    /// Facts of the system about the connection, and the delay of its path by these.
    fn look(&mut self) -> Option<(TcpFacts, Duration)> {
        let facts = tcp_facts(self.stream.as_fd())?;
        let waited = self.progress.waited(facts, Instant::now());
        Some((facts, delay_by(facts, waited, self.spoke.elapsed())))
    }

    /// True if everything written is acknowledged before the next heartbeat is due.
    pub(crate) fn is_prompt(&self) -> bool {
        self.allowance.is_zero()
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Permits long messages: the other side has proved that it has the token.
    pub(crate) fn trust(&mut self) {
        self.decoder.set_limit(LONGEST_MESSAGE);
    }

    pub(crate) fn send(&mut self, message: &ControlMessage) -> Result<(), FlowError> {
        self.written = Instant::now();
        if *message != (ControlMessage::Heartbeat {}) {
            self.spoke = self.written;
        }
        self.stream.write_all(&message.encode()).map_err(lost)
    }

    /// Writes a heartbeat if one is due.
    ///
    /// # Errors
    /// The connection is lost, or the other side has been silent for too long.
    pub(crate) fn keep_alive(&mut self) -> Result<(), FlowError> {
        if self.life.as_ref().is_some_and(LifeLine::has_received) {
            self.other_side_lives();
        }
        let is_due = self.written.elapsed() >= HEARTBEAT;
        if let Some((facts, delay)) = self.look()
            && is_due
            && facts.unacknowledged > 0
        {
            self.allowance = self.allowance.max(delay);
        }
        let patience = self.longest_silence + self.allowance;
        if self.unheard.saturating_duration_since(self.heard) > patience {
            let seconds = (patience.as_secs_f64() * 10.0).round() / 10.0;
            let silent = format!("silent for {seconds} s");
            return Err(FlowError::ControlLost(silent));
        }
        if is_due {
            if let Some(life) = &self.life {
                life.send();
            }
            self.send(&ControlMessage::Heartbeat {})?;
        }
        Ok(())
    }

    /// The next message; `None` where none is complete within `patience`.
    ///
    /// # Errors
    /// The connection ends, or the bytes are not a message.
    pub(crate) fn receive(
        &mut self,
        patience: Duration,
    ) -> Result<Option<ControlMessage>, FlowError> {
        if let Some(message) = self.decoder.next_message()? {
            return Ok(Some(message));
        }
        let patience = patience.max(Duration::from_millis(1));
        self.stream.set_read_timeout(Some(patience)).map_err(lost)?;
        match self.stream.read(&mut self.buffer) {
            Ok(0) => Err(FlowError::ControlLost(
                "closed by the other side".to_owned(),
            )),
            Ok(count) => {
                self.other_side_lives();
                self.decoder.push(&self.buffer[..count]);
                Ok(self.decoder.next_message()?)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => {
                    self.unheard = Instant::now();
                    Ok(None)
                }
                _ => Err(lost(error)),
            },
        }
    }

    /// The next message, which has to arrive within `patience`, or later where the path is slow;
    /// heartbeats do not count. `should_stop` ends the wait.
    pub(crate) fn expect(
        &mut self,
        patience: Duration,
        what: &str,
        should_stop: impl Fn() -> bool,
    ) -> Result<ControlMessage, FlowError> {
        let begun = Instant::now();
        let mut delay = Duration::ZERO;
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            // On a slow path, an acknowledgment arrives before the message behind it.
            delay = delay.max(self.delay_of_path());
            let received = self.receive(left.min(TICK));
            match received.map_err(|error| self.described(error))? {
                Some(ControlMessage::Refused { reason }) => return Err(FlowError::Refused(reason)),
                Some(ControlMessage::Heartbeat {}) | None => {}
                Some(message) => return Ok(message),
            }
            if should_stop() {
                return Err(FlowError::Stopped);
            }
            // Also checked while heartbeats arrive: an unauthenticated peer may send nothing else.
            let waited = begun.elapsed();
            if waited > patience + delay {
                return Err(FlowError::TimedOut {
                    what: what.to_owned(),
                    seconds: waited.as_secs_f64().round(),
                });
            }
        }
    }

    /// Describes an error: bytes of another protocol have no length in front, so their beginning is
    /// shown.
    fn described(&self, error: FlowError) -> FlowError {
        match error {
            FlowError::Frame(ControlFrameError::TooLong { limit, .. })
                if limit == LONGEST_UNAUTHENTICATED =>
            {
                let beginning = self.decoder.beginning(SHOWN);
                let text = String::from_utf8_lossy(beginning);
                let line = text.lines().next().unwrap_or_default();
                FlowError::OtherProtocol(line.chars().filter(|c| !c.is_control()).collect())
            }
            error => error,
        }
    }
}

/// Additional time until something can be heard on such a path. Unacknowledged bytes have `waited`
/// for another acknowledgment; since `quiet`, nothing but heartbeats was written.
fn delay_by(facts: TcpFacts, waited: Duration, quiet: Duration) -> Duration {
    let round_trip = Duration::from_micros(facts.round_trip_us.into());
    if is_slow(facts, round_trip, waited, quiet) {
        SLOW_PATH.max(2 * round_trip)
    } else {
        2 * round_trip
    }
}

/// True if acknowledgments are later than those of a path with such round trips.
fn is_slow(facts: TcpFacts, round_trip: Duration, waited: Duration, quiet: Duration) -> bool {
    if facts.unacknowledged == 0 {
        return facts.probes >= UNANSWERED_PROBES;
    }
    // Heartbeats within a round trip, and one more at either end of it. A longer message has any
    // number of segments.
    let under_way = round_trip.as_millis() / HEARTBEAT.as_millis() + 2;
    let are_heartbeats = quiet > LONG_MESSAGE * round_trip;
    // After losses, packets of the other side may repeat old acknowledgments.
    facts.timeouts > 0
        || waited > ACKNOWLEDGMENTS_APART
        || are_heartbeats && u128::from(facts.unacknowledged) > under_way
}

fn lost(error: io::Error) -> FlowError {
    FlowError::ControlLost(error.to_string())
}

/// The error for a message of the wrong kind.
pub(crate) fn out_of_turn() -> FlowError {
    FlowError::ControlLost("a message out of turn".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_REST: TcpFacts = TcpFacts {
        round_trip_us: 1000,
        retransmissions: 0,
        unacknowledged: 0,
        timeouts: 0,
        probes: 0,
        acknowledged_bytes: 0,
    };

    #[test]
    fn late_acknowledgments_make_a_path_slow_and_long_round_trips_do_not() {
        let table = [
            // Round trip in ms, segments in flight, time-outs, ms without another acknowledgment,
            // probes; additional time in ms.
            (1, 0, 0, 100, 0, 2),
            (1, 1, 0, 250, 0, 2),
            // The system of a program that hangs continues to acknowledge heartbeats.
            (600, 3, 0, 250, 0, 1200),
            (3000, 13, 0, 260, 0, 6000),
            // Nothing is acknowledged any more, less than a round trip before has arrived, or some
            // were lost.
            (1, 3, 0, 800, 0, 15_000),
            (600, 3, 0, 800, 0, 15_000),
            (600, 6, 0, 250, 0, 15_000),
            (20_000, 90, 0, 800, 0, 40_000),
            (1, 1, 1, 10, 0, 15_000),
            // Neither side writes.
            (1, 0, 0, 1100, 1, 2),
            (1, 0, 0, 2100, 2, 15_000),
        ];
        for (round_trip_ms, unacknowledged, timeouts, waited_ms, probes, expected_ms) in table {
            let facts = TcpFacts {
                round_trip_us: round_trip_ms * 1000,
                unacknowledged,
                timeouts,
                probes,
                ..AT_REST
            };
            let expected = Duration::from_millis(expected_ms);
            let quiet = Duration::from_secs(3600);
            let waited = Duration::from_millis(waited_ms);
            assert_eq!(delay_by(facts, waited, quiet), expected, "{facts:?}");
        }
        // The counts of a thousand flows, of which the other system acknowledges a part with each
        // round trip.
        let counts = TcpFacts {
            round_trip_us: 600_000,
            unacknowledged: 40,
            ..AT_REST
        };
        let ms = Duration::from_millis;
        assert_eq!(delay_by(counts, ms(250), ms(900)), ms(1200));
        assert_eq!(delay_by(counts, ms(250), ms(5000)), SLOW_PATH);
        assert_eq!(delay_by(counts, ms(800), ms(900)), SLOW_PATH);
    }

    #[test]
    fn what_was_written_waits_until_it_is_acknowledged() {
        let begun = Instant::now();
        let mut progress = AcknowledgmentProgress {
            acknowledged_bytes: 0,
            at: begun,
        };
        let mut waited_ms = |at_ms, unacknowledged, acknowledged_bytes| {
            let facts = TcpFacts {
                unacknowledged,
                acknowledged_bytes,
                ..AT_REST
            };
            let at = begun + Duration::from_millis(at_ms);
            progress.waited(facts, at).as_millis()
        };
        // Nothing is unacknowledged, for however long.
        assert_eq!(waited_ms(100, 0, 10), 0);
        assert_eq!(waited_ms(5100, 0, 10), 0);
        // Regardless of other packets, such as probes of a side that waits for a message behind a
        // queue.
        assert_eq!(waited_ms(5800, 3, 10), 700);
        assert_eq!(waited_ms(6300, 5, 10), 1200);
        // A part is acknowledged, and the rest waits again.
        assert_eq!(waited_ms(6400, 4, 20), 0);
        assert_eq!(waited_ms(6600, 4, 20), 200);
    }

    #[test]
    fn a_side_that_did_not_listen_calls_nobody_silent() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _silent = listener.accept().unwrap();
        let mut link = ControlLink::new(stream, Duration::from_secs(1)).unwrap();
        let long_ago = Instant::now() - Duration::from_secs(10);
        (link.heard, link.unheard) = (long_ago, long_ago);
        assert!(link.keep_alive().is_ok());
        assert!(link.receive(Duration::ZERO).unwrap().is_none());
        let silent = link.keep_alive().unwrap_err().to_string();
        assert!(silent.contains("silent for 1 s"), "{silent}");
    }
}
