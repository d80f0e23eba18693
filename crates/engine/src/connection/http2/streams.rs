//! The streams of a connection: sent and received bytes of each, and the windows.

use std::collections::VecDeque;

use record::Nanos;
use wire::http2::{
    ErrorCode, FrameError, FrameEvent, HeaderDecoder, LARGEST_FRAME, LARGEST_WINDOW, PeerSetting,
    USUAL_WINDOW, append_data_header, append_goaway, append_headers, append_ping_ack,
    append_request_block, append_reset, append_settings_ack, append_window_update,
};
use wire::response::{Limits, ProtocolError};

use super::stream::Stream;
use super::{PIECE, SeenAt, WINDOW};
use crate::clock::stamps::RealNanos;
use crate::connection::http1::{StreamEnd, begin};
use crate::connection::queue::{RequestQueue, RequestToken};
use crate::watch::heads::HeadsOfClient;

/// Largest number of a stream (RFC 9113, section 5.1.1).
const LAST_STREAM: u32 = LARGEST_WINDOW;

/// Bytes to be written that belong to a request.
#[derive(Debug)]
struct FrameBytes {
    token: RequestToken,
    /// Their range, counted from the first byte of the connection.
    from: u64,
    to: u64,
    /// They are its last bytes.
    is_end: bool,
}

/// The server accepts no more streams.
#[derive(Debug)]
pub(super) struct GoingAway {
    code: ErrorCode,
    debug: String,
}

/// All streams of a connection, in the order in which they were opened. That is the order of their
/// requests in the queue, of which they are the first.
#[derive(Debug)]
pub(super) struct Streams {
    open: Vec<Stream>,
    spare: Vec<Stream>,
    decoder: HeaderDecoder,
    limits: Limits,
    is_https: bool,
    /// Number of the next one.
    next: u32,
    /// Frames to be written, and the number of bytes already written.
    pub(super) out: Vec<u8>,
    written: usize,
    /// Bytes written before those of `out`.
    gone: u64,
    frame_bytes: VecDeque<FrameBytes>,
    /// Requests completely written since the last call.
    just_written: Vec<RequestToken>,
    block: Vec<u8>,
    /// The server has sent its settings.
    pub(super) has_settings: bool,
    most_streams: u32,
    largest_frame: usize,
    initial_window: i64,
    /// For all streams together; below 0 after the server has reduced it.
    window: i64,
    /// Bytes read and not yet reported to the server.
    unreported: u32,
    pub(super) going_away: Option<GoingAway>,
}

impl Streams {
    pub(super) fn new(limits: Limits, is_https: bool) -> Streams {
        Streams {
            open: Vec::new(),
            spare: Vec::new(),
            decoder: HeaderDecoder::default(),
            limits,
            is_https,
            next: 1,
            out: Vec::new(),
            written: 0,
            gone: 0,
            frame_bytes: VecDeque::new(),
            just_written: Vec::new(),
            block: Vec::new(),
            has_settings: false,
            most_streams: u32::MAX,
            largest_frame: LARGEST_FRAME,
            initial_window: USUAL_WINDOW.into(),
            window: USUAL_WINDOW.into(),
            unreported: 0,
            going_away: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Responses that have not begun.
    pub(super) fn awaited(&self) -> usize {
        self.open.iter().filter(|stream| !stream.has_begun).count()
    }

    /// True if nothing is in flight, and nothing more can be.
    pub(super) fn cannot_go_on(&self) -> bool {
        self.open.is_empty() && (self.going_away.is_some() || self.next > LAST_STREAM)
    }

    pub(super) fn why_going_away(&self) -> String {
        match &self.going_away {
            Some(GoingAway { code, debug }) => {
                format!("the server takes no more streams (GOAWAY, {code}{debug})")
            }
            None => "all numbers of streams are used".to_owned(),
        }
    }

    /// Notifies the server that the connection cannot continue.
    pub(super) fn send_goaway(&mut self, code: ErrorCode) {
        append_goaway(&mut self.out, code);
    }

    /// Resets the streams of requests that are not in flight any more.
    pub(super) fn forget_others(&mut self, queue: &mut RequestQueue) {
        let mut at = 0;
        while let Some(stream) = self.open.get(at) {
            if queue.request(stream.token).is_some() {
                at += 1;
                continue;
            }
            let stream = self.open.remove(at);
            if stream.end.is_none() {
                append_reset(&mut self.out, stream.number, ErrorCode::CANCEL);
            }
            self.recycle(stream);
        }
    }

    pub(super) fn take_ended(&mut self) -> Option<Stream> {
        let at = self.open.iter().position(|stream| stream.end.is_some())?;
        Some(self.open.remove(at))
    }

    /// Keeps the memory of a stream for another.
    pub(super) fn recycle(&mut self, mut stream: Stream) {
        stream.forget_large_body();
        self.spare.push(stream);
    }

    /// Fills frames as the windows and the number of streams permit, up to the size of one write.
    pub(super) fn fill(&mut self, queue: &mut RequestQueue) {
        if self.going_away.is_none() {
            self.open_streams(queue);
        }
        let mut at = 0;
        while at < self.open.len() && self.out.len() - self.written < PIECE {
            if !self.fill_body(at, queue) {
                at += 1;
            }
        }
    }

    fn open_streams(&mut self, queue: &RequestQueue) {
        while (self.open.len() as u64) < u64::from(self.most_streams)
            && self.next <= LAST_STREAM
            && self.out.len() - self.written < PIECE
            && let Some((token, head, body_length)) = queue.head_at(self.open.len())
        {
            let mut stream = self.spare.pop().unwrap_or_default();
            stream.begin(self.next, token, self.initial_window);
            stream.is_sent = body_length == 0;
            self.next += 2;
            self.block.clear();
            append_request_block(&mut self.block, head, self.is_https);
            let from = self.gone + self.out.len() as u64;
            let (number, is_end) = (stream.number, stream.is_sent);
            append_headers(
                &mut self.out,
                number,
                &self.block,
                self.largest_frame,
                is_end,
            );
            self.note(token, from, stream.is_sent);
            self.open.push(stream);
        }
    }

    /// Adds the next piece of a request's body as a frame; false if there is none, or no window for
    /// it.
    fn fill_body(&mut self, at: usize, queue: &RequestQueue) -> bool {
        let stream = &mut self.open[at];
        if stream.is_sent || stream.end.is_some() {
            return false;
        }
        let Some(body) = queue.body_at(at) else {
            return false;
        };
        let rest = &body[stream.sent..];
        let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
        let count = rest.len().min(window).min(self.largest_frame).min(PIECE);
        if count == 0 {
            return false;
        }
        stream.is_sent = count == rest.len();
        stream.sent += count;
        stream.window -= count as i64;
        self.window -= count as i64;
        let (token, is_end) = (stream.token, stream.is_sent);
        let from = self.gone + self.out.len() as u64;
        append_data_header(&mut self.out, stream.number, count, is_end);
        self.out.extend_from_slice(&rest[..count]);
        self.note(token, from, is_end);
        true
    }

    fn note(&mut self, token: RequestToken, from: u64, is_end: bool) {
        let to = self.gone + self.out.len() as u64;
        self.frame_bytes.push_back(FrameBytes {
            token,
            from,
            to,
            is_end,
        });
    }

    pub(super) fn must_write(&self) -> bool {
        self.written < self.out.len()
    }

    pub(super) fn piece(&self, most: usize) -> &[u8] {
        let piece = &self.out[self.written..];
        &piece[..piece.len().min(most)]
    }

    /// True if a request ends within this many bytes.
    pub(super) fn ends_within(&self, count: usize) -> bool {
        let until = self.gone + (self.written + count) as u64;
        let within = self.frame_bytes.iter();
        let mut within = within.take_while(|bytes| bytes.to <= until);
        within.any(|bytes| bytes.is_end)
    }

    pub(super) fn wrote(&mut self, count: usize, queue: &mut RequestQueue) {
        self.written += count;
        let until = self.gone + self.written as u64;
        while let Some(first) = self.frame_bytes.front_mut()
            && first.from < until
        {
            let to = first.to.min(until);
            if let Some(request) = queue.request(first.token) {
                request.stamps.bytes_sent += to - first.from;
            }
            first.from = to;
            if first.to > until {
                break;
            }
            if first.is_end {
                self.just_written.push(first.token);
            }
            self.frame_bytes.pop_front();
        }
        if self.written == self.out.len() {
            self.gone += self.written as u64;
            self.out.clear();
            self.written = 0;
        }
    }

    /// True if requests were completely written that have not been reported.
    pub(super) fn has_just_written(&self) -> bool {
        !self.just_written.is_empty()
    }

    /// Reports these requests as left.
    pub(super) fn have_left(&mut self, each: impl FnMut(RequestToken)) {
        self.just_written.drain(..).for_each(each);
    }

    pub(super) fn received(&self, number: u32, count: u64, queue: &mut RequestQueue) {
        let stream = self.open.iter().find(|stream| stream.number == number);
        if let Some(request) = stream.and_then(|stream| queue.request(stream.token)) {
            request.stamps.bytes_received += count;
        }
    }

    /// Sets the end of the streams that have ended.
    pub(super) fn note_done(&self, at: Nanos, queue: &mut RequestQueue) {
        for stream in self.open.iter().filter(|stream| stream.has_response()) {
            if let Some(request) = queue.request(stream.token) {
                request.stamps.done.get_or_insert(at);
            }
        }
    }

    /// Handles a frame.
    ///
    /// # Errors
    /// The connection cannot continue.
    pub(super) fn on(
        &mut self,
        event: FrameEvent<'_>,
        seen: SeenAt,
        arrival: Option<RealNanos>,
        queue: &mut RequestQueue,
        heads: Option<&HeadsOfClient>,
    ) -> Result<(), FrameError> {
        match event {
            FrameEvent::NeedMore | FrameEvent::Ignored | FrameEvent::SettingsAck => {}
            FrameEvent::HeadersBegin { stream } => {
                if let Some(stream) = self.at(stream)? {
                    stream.has_begun = true;
                    if let Some(request) = queue.request(stream.token) {
                        begin(&mut request.stamps, seen, arrival);
                    }
                }
            }
            FrameEvent::Headers {
                stream,
                block,
                is_end,
            } => self.headers(stream, block, is_end, queue, heads)?,
            FrameEvent::Data {
                stream,
                data,
                counted,
                is_end,
            } => self.data(stream, data, counted, is_end, queue)?,
            FrameEvent::Reset { stream, code } => {
                if let Some(stream) = self.at(stream)? {
                    stream.end = Some(match code {
                        ErrorCode::REFUSED_STREAM => StreamEnd::Refused,
                        code => StreamEnd::Reset(format!(
                            "the server ended the stream (RST_STREAM, {code})"
                        )),
                    });
                }
            }
            FrameEvent::Settings(settings) => {
                for setting in settings.iter() {
                    self.set(setting?)?;
                }
                self.has_settings = true;
                append_settings_ack(&mut self.out);
            }
            FrameEvent::Ping(payload) => append_ping_ack(&mut self.out, payload),
            FrameEvent::GoAway {
                last_stream,
                code,
                debug,
            } => self.go_away(last_stream, code, debug, queue),
            FrameEvent::WindowUpdate {
                stream: 0,
                increment,
            } => self.window = enlarged(self.window, increment)?,
            FrameEvent::WindowUpdate { stream, increment } => {
                if let Some(stream) = self.at(stream)? {
                    stream.window = enlarged(stream.window, increment)?;
                }
            }
        }
        Ok(())
    }

    /// An open stream; `None` for a closed one.
    fn at(&mut self, number: u32) -> Result<Option<&mut Stream>, FrameError> {
        if number >= self.next || number.is_multiple_of(2) {
            return Err(FrameError::IdleStream(number));
        }
        let mut open = self.open.iter_mut();
        Ok(open.find(|stream| stream.number == number && stream.end.is_none()))
    }

    fn headers(
        &mut self,
        number: u32,
        block: &[u8],
        is_end: bool,
        queue: &mut RequestQueue,
        heads: Option<&HeadsOfClient>,
    ) -> Result<(), FrameError> {
        let mut open = self.open.iter_mut();
        let stream = open.find(|stream| stream.number == number && stream.end.is_none());
        let Some(stream) = stream else {
            return self.decoder.trailers(block);
        };
        if stream.has_head {
            self.decoder.trailers(block)?;
            if is_end {
                stream.finish(queue);
            } else {
                let what = "a second one does not end the stream";
                stream.end = Some(StreamEnd::Malformed(ProtocolError::Fields(what)));
            }
        } else {
            let decoded = self.decoder.response(block, self.limits, &mut stream.head);
            match decoded? {
                Err(error) => stream.end = Some(StreamEnd::Malformed(error)),
                Ok(()) => stream.on_head(is_end, self.limits, queue, heads),
            }
        }
        self.reset_if_over(number);
        Ok(())
    }

    fn data(
        &mut self,
        number: u32,
        data: &[u8],
        counted: u32,
        is_end: bool,
        queue: &mut RequestQueue,
    ) -> Result<(), FrameError> {
        self.unreported += counted;
        if self.unreported > WINDOW / 2 {
            append_window_update(&mut self.out, 0, std::mem::take(&mut self.unreported));
        }
        let limits = self.limits;
        let Some(stream) = self.at(number)? else {
            return Ok(());
        };
        stream.on_data(data, is_end, limits, queue);
        self.reset_if_over(number);
        Ok(())
    }

    /// Resets a stream whose response is malformed, or came before the whole request has left: the
    /// rest is not needed then.
    fn reset_if_over(&mut self, number: u32) {
        let stream = self.open.iter().find(|stream| stream.number == number);
        let Some(stream) = stream else { return };
        match &stream.end {
            Some(StreamEnd::Malformed(_)) => {
                append_reset(&mut self.out, number, ErrorCode::PROTOCOL_ERROR)
            }
            Some(_) if !stream.is_sent => append_reset(&mut self.out, number, ErrorCode::CANCEL),
            _ => {}
        }
    }

    fn set(&mut self, setting: PeerSetting) -> Result<(), FrameError> {
        match setting {
            PeerSetting::MaxConcurrentStreams(most) => self.most_streams = most,
            PeerSetting::MaxFrameSize(largest) => self.largest_frame = largest as usize,
            PeerSetting::InitialWindowSize(size) => {
                let by = i64::from(size) - self.initial_window;
                for stream in &mut self.open {
                    stream.window += by;
                    if stream.window > LARGEST_WINDOW.into() {
                        return Err(FrameError::Window(size));
                    }
                }
                self.initial_window = size.into();
            }
            PeerSetting::EnablePush(true) => {
                return Err(FrameError::Setting {
                    name: "SETTINGS_ENABLE_PUSH",
                    value: 1,
                });
            }
            // No field enters the table of the server.
            PeerSetting::EnablePush(false)
            | PeerSetting::HeaderTableSize(_)
            | PeerSetting::Other => {}
        }
        Ok(())
    }

    /// Handles GOAWAY: streams above the last one were not processed, so their requests count as
    /// unsent.
    fn go_away(&mut self, last: u32, code: ErrorCode, debug: &[u8], queue: &mut RequestQueue) {
        let debug = String::from_utf8_lossy(&debug[..debug.len().min(80)]);
        let debug = if debug.is_empty() {
            String::new()
        } else {
            format!(", \"{}\"", debug.escape_debug())
        };
        self.going_away = Some(GoingAway { code, debug });
        let mut at = 0;
        while let Some(stream) = self.open.get(at) {
            if stream.number <= last || stream.end.is_some() {
                at += 1;
                continue;
            }
            let stream = self.open.remove(at);
            self.just_written.retain(|token| *token != stream.token);
            self.frame_bytes.retain(|bytes| bytes.token != stream.token);
            queue.was_not_sent(stream.token);
            self.recycle(stream);
        }
    }
}

fn enlarged(window: i64, by: u32) -> Result<i64, FrameError> {
    let enlarged = window + i64::from(by);
    if enlarged > LARGEST_WINDOW.into() {
        Err(FrameError::Window(by))
    } else {
        Ok(enlarged)
    }
}
