//! The control connection, for both of its sides: messages, heartbeats, and whether the other side
//! lives.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::message::{ControlMessage, FrameDecoder, LONGEST_FROM_STRANGER, LONGEST_MESSAGE};
use crate::{FlowError, HEARTBEAT};

/// One side of a control connection.
#[derive(Debug)]
pub(crate) struct ControlLink {
    stream: TcpStream,
    decoder: FrameDecoder,
    buffer: Box<[u8]>,
    /// When the other side was heard last.
    heard: Instant,
    /// When this side wrote last.
    written: Instant,
    longest_silence: Duration,
}

impl ControlLink {
    pub(crate) fn new(stream: TcpStream, longest_silence: Duration) -> io::Result<ControlLink> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(longest_silence))?;
        let now = Instant::now();
        Ok(ControlLink {
            stream,
            decoder: FrameDecoder::new(LONGEST_FROM_STRANGER),
            buffer: vec![0; 16 << 10].into(),
            heard: now,
            written: now,
            longest_silence,
        })
    }

    pub(crate) fn longest_silence(&self) -> Duration {
        self.longest_silence
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The other side has proved that it has the token: it may write long messages.
    pub(crate) fn trust(&mut self) {
        self.decoder.set_limit(LONGEST_MESSAGE);
    }

    pub(crate) fn send(&mut self, message: &ControlMessage) -> Result<(), FlowError> {
        self.written = Instant::now();
        self.stream.write_all(&message.encode()).map_err(lost)
    }

    /// Writes a heartbeat if it is time for one.
    ///
    /// # Errors
    /// Where the connection is lost, or the other side has been silent for too long.
    pub(crate) fn keep_alive(&mut self) -> Result<(), FlowError> {
        if self.heard.elapsed() > self.longest_silence {
            let silent = format!("silent for {} s", self.longest_silence.as_secs_f64());
            return Err(FlowError::ControlLost(silent));
        }
        if self.written.elapsed() >= HEARTBEAT {
            self.send(&ControlMessage::Heartbeat {})?;
        }
        Ok(())
    }

    /// The next message; `None` where none is complete within `patience`.
    ///
    /// # Errors
    /// Where the connection ends, or what arrives is no message.
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
                self.heard = Instant::now();
                self.decoder.push(&self.buffer[..count]);
                Ok(self.decoder.next_message()?)
            }
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock
                | io::ErrorKind::TimedOut
                | io::ErrorKind::Interrupted => Ok(None),
                _ => Err(lost(error)),
            },
        }
    }

    /// The next message, which has to be there within `patience`.
    pub(crate) fn expect(
        &mut self,
        patience: Duration,
        what: &str,
    ) -> Result<ControlMessage, FlowError> {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.receive(left)? {
                Some(ControlMessage::Heartbeat {}) => {}
                Some(ControlMessage::Refused { reason }) => return Err(FlowError::Refused(reason)),
                Some(message) => return Ok(message),
                None if left.is_zero() => {
                    return Err(FlowError::TimedOut {
                        what: what.to_owned(),
                        seconds: patience.as_secs_f64(),
                    });
                }
                None => {}
            }
        }
    }
}

fn lost(error: io::Error) -> FlowError {
    FlowError::ControlLost(error.to_string())
}

/// What arrived instead of the message that had to come.
pub(crate) fn out_of_turn() -> FlowError {
    FlowError::ControlLost("a message out of turn".to_owned())
}
