//! Records packets of one interface or all to a pcapng file, on a thread of its own.
//!
//! On loopback every packet appears twice, with the time stamps of its departure and of its
//! arrival:
//!
//! ```text
//! client --> dev_queue_xmit --+--> loopback --> netif_rx --+--> server
//!                             |                            |
//!                      outgoing copy                 incoming copy
//! ```
//!
//! By default the file has each packet once, as a capture at the client's end of a cable would: the
//! outgoing copy of packets to a server, the incoming one of packets from a server. The time
//! between them includes the server and the network, and nothing of the client. The server is the
//! end with one of the selected ports; if that does not decide, the end with the lower port. Of
//! packets without ports, and of fragments, the incoming copy is kept.
//!
//! A VLAN tag that the kernel has removed from a packet is inserted again. All interfaces together,
//! and those that are not Ethernet, are recorded as Linux cooked 2, which has the interface and the
//! direction of each packet. No interface is set to promiscuous mode.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use socket2::{Socket, Type};
use trace::file::{CaptureInterface, CapturedPacket, LinkType, PacketDirection};

use crate::error::CaptureError;
pub use crate::filter::selection::PacketSelection;
use crate::filter::{REJECT_ALL, selection};
use crate::output::CaptureOutput;
use crate::ring::{Packet, Ring};
use crate::socket::{ANY, CaptureCounters, attach, bind, counted, hardware, open};

/// Time after which the kernel releases a block that is not full; the flag is checked at the same
/// interval.
const RETIRE: Duration = Duration::from_millis(100);

/// Interval of reading counters and writing collected packets.
const EACH: Duration = Duration::from_secs(1);

/// A snap length that cuts no packet off.
pub const WHOLE_PACKETS: u32 = 262_144;

/// Size of a ring for a tenth of a second at 2 Gbit/s.
pub const RECORDING_RING: usize = 32 << 20;

/// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK`, whose packets have Ethernet headers.
const WITH_ETHERNET: [u16; 2] = [1, 772];

/// Source of packets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CaptureSource {
    /// All interfaces of the network namespace.
    #[default]
    Any,
    /// One interface.
    Interface(String),
}

/// Copies of loopback packets that are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoopbackCopies {
    /// One, as seen by the client.
    #[default]
    Once,
    /// Both copies.
    Both,
}

/// Limits that end a recording.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureLimits {
    /// The longest file, in bytes.
    pub bytes: Option<u64>,
    /// The most packets.
    pub packets: Option<u64>,
    /// The longest time.
    pub time: Option<Duration>,
}

/// Options of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingOptions {
    /// Source of packets.
    pub source: CaptureSource,
    /// Selection of packets.
    pub selection: PacketSelection,
    /// Packets of loopback.
    pub copies: LoopbackCopies,
    /// Bytes that are kept of each packet, from its link header; of cooked packets, from the IP
    /// header.
    pub snap_length: u32,
    /// Memory of the kernel for packets that are not yet written, in bytes.
    pub ring_bytes: usize,
    /// Limits that end it.
    pub limits: CaptureLimits,
    /// A comment for readers of the file.
    pub comment: Option<String>,
}

impl Default for RecordingOptions {
    fn default() -> RecordingOptions {
        RecordingOptions {
            source: CaptureSource::Any,
            selection: PacketSelection::default(),
            copies: LoopbackCopies::Once,
            snap_length: WHOLE_PACKETS,
            ring_bytes: RECORDING_RING,
            limits: CaptureLimits::default(),
            comment: None,
        }
    }
}

/// Reason of the end of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordingEnd {
    /// The flag was set.
    Stopped,
    /// The file has its longest length.
    Bytes,
    /// The file has the most packets.
    Packets,
    /// Its time has passed.
    Time,
}

/// Result of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingSummary {
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Counters of the kernel: packets that passed the filter, and lost packets.
    pub counters: CaptureCounters,
    /// Reason of its end.
    pub end: RecordingEnd,
}

/// Progress of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingProgress {
    /// Packets.
    pub packets: u64,
    /// Bytes of the file, including those to be written.
    pub bytes: u64,
    /// Lost packets.
    pub dropped: u64,
}

/// A running recording. Dropping it stops it.
#[derive(Debug)]
pub struct Recording {
    thread: Option<JoinHandle<Result<RecordingSummary, CaptureError>>>,
    stop: Arc<AtomicBool>,
    progress: Arc<SharedProgress>,
}

#[derive(Debug, Default)]
struct SharedProgress {
    packets: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
}

impl Recording {
    /// Begins to record to a new file that only its owner can read. When this returns, packets are
    /// being captured. The recording ends within half a second after `stop` is set.
    ///
    /// # Errors
    /// `CAP_NET_RAW` is missing, the interface is absent or down, the file exists or cannot be
    /// created, or memory is refused.
    pub fn start(
        path: &Path,
        options: &RecordingOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Recording, CaptureError> {
        let tap = PacketTap::open(options)?;
        let in_file = |action| {
            let path = path.to_owned();
            move |error| CaptureError::File {
                action,
                path,
                error,
            }
        };
        // The file contains secrets of the network traffic, so only its owner may read it. A device
        // or a pipe exists already. An empty file would be in the way of the next attempt.
        let is_new = !path.metadata().is_ok_and(|there| !there.is_file());
        let mut private = File::options();
        private.write(true).create_new(is_new).mode(0o600);
        let file = private.open(path).map_err(in_file("creating"))?;
        let interface = CaptureInterface {
            name: Some(tap.name.clone()),
            link: tap.link,
            snap_length: options.snap_length,
            dropped: None,
        };
        let program = concat!("prestan ", env!("CARGO_PKG_VERSION"));
        let comment = options.comment.as_deref();
        let output = CaptureOutput::new(file, program, comment, &interface);
        let remove = || is_new.then(|| fs::remove_file(path));
        let output = output.map_err(in_file("writing"));
        let output = output.inspect_err(|_| drop(remove()))?;
        let progress = Arc::new(SharedProgress::default());
        let task = RecordingTask {
            path: path.to_owned(),
            limits: options.limits,
            stop: Arc::clone(&stop),
            progress: Arc::clone(&progress),
            output,
            scratch: Vec::new(),
            packets: 0,
            latest_ns: 0,
            counters: CaptureCounters::default(),
            tap,
        };
        let thread = thread::Builder::new().name("capture".to_owned());
        let thread = thread.spawn(move || task.run());
        let thread = thread.map_err(CaptureError::system("starting the thread of the capture"));
        let thread = thread.inspect_err(|_| drop(remove()))?;
        Ok(Recording {
            thread: Some(thread),
            stop,
            progress,
        })
    }

    /// Progress up to now.
    pub fn progress(&self) -> RecordingProgress {
        let progress = &self.progress;
        RecordingProgress {
            packets: progress.packets.load(Ordering::Relaxed),
            bytes: progress.bytes.load(Ordering::Relaxed),
            dropped: progress.dropped.load(Ordering::Relaxed),
        }
    }

    /// True if it has ended, by a limit, the flag or an error.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it.
    ///
    /// # Errors
    /// The file could not be written, or capturing failed. The file has the packets before the
    /// failure.
    pub fn stop(self) -> Result<RecordingSummary, CaptureError> {
        self.stop.store(true, Ordering::Relaxed);
        self.wait()
    }

    /// Waits until it ends.
    pub fn wait(mut self) -> Result<RecordingSummary, CaptureError> {
        let thread = self.thread.take();
        let result = thread.map(JoinHandle::join);
        result.and_then(Result::ok).unwrap_or_else(|| {
            let error = std::io::Error::other("its thread panicked");
            Err(CaptureError::system("capturing")(error))
        })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.stop.store(true, Ordering::Relaxed);
            // The result cannot be reported any more.
            let _ = thread.join();
        }
    }
}

/// Checks that packets can be captured here.
pub fn available() -> Result<(), CaptureError> {
    let opened = open(Type::RAW).map(|_| ());
    opened.map_err(CaptureError::system("opening a packet socket"))
}

/// A socket with its filter and its ring.
#[derive(Debug)]
pub(crate) struct PacketTap {
    // Unmapped before the socket is closed.
    pub(crate) ring: Ring,
    pub(crate) socket: Socket,
    link: LinkType,
    name: String,
}

impl PacketTap {
    pub(crate) fn open(options: &RecordingOptions) -> Result<PacketTap, CaptureError> {
        let asking = open(Type::DGRAM).map_err(CaptureError::system("opening a packet socket"))?;
        let index = |name: &str| rustix::net::netdevice::name_to_index(&asking, name);
        let (interface, name, link) = match &options.source {
            CaptureSource::Any => (ANY, "any".to_owned(), LinkType::LINUX_SLL2),
            CaptureSource::Interface(name) => {
                let index = index(name).map_err(|_| no_interface(name))?;
                let kind = hardware(index);
                let kind =
                    kind.map_err(CaptureError::system("asking for the type of an interface"))?;
                let link = if WITH_ETHERNET.contains(&kind) {
                    LinkType::ETHERNET
                } else {
                    LinkType::LINUX_SLL2
                };
                (index, name.clone(), link)
            }
        };
        let loopback = match options.copies {
            LoopbackCopies::Once => index("lo").ok(),
            LoopbackCopies::Both => None,
        };
        let program = selection::program(&options.selection, options.snap_length, loopback);
        let program = program.ok_or(CaptureError::Filter {
            hosts: options.selection.hosts.len(),
            ports: options.selection.ports.len(),
        })?;
        let socket = open(match link {
            LinkType::ETHERNET => Type::RAW,
            _ => Type::DGRAM,
        });
        let socket = socket.map_err(CaptureError::system("opening a packet socket"))?;
        attach(&socket, &program).map_err(CaptureError::system("attaching the packet filter"))?;
        let ring = Ring::new(&socket, options.ring_bytes, RETIRE);
        let ring = ring.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOMEM) => CaptureError::Memory(options.ring_bytes >> 20),
            _ => CaptureError::system("making the ring of packets")(error),
        })?;
        let tap = PacketTap {
            ring,
            socket,
            link,
            name,
        };
        // An interface that is down is reported on the socket.
        let bound = bind(&tap.socket, interface);
        let bound = bound.and_then(|()| tap.socket.take_error()?.map_or(Ok(()), Err));
        bound.map_err(|error| tap.failed(error))?;
        Ok(tap)
    }

    fn failed(&self, error: std::io::Error) -> CaptureError {
        match error.raw_os_error() {
            Some(libc::ENETDOWN) => CaptureError::Down(self.name.clone()),
            _ => CaptureError::system("capturing packets")(error),
        }
    }
}

fn no_interface(name: &str) -> CaptureError {
    let present = std::fs::read_dir("/sys/class/net").into_iter().flatten();
    let present = present.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut present: Vec<String> = present.collect();
    present.sort();
    CaptureError::NoInterface {
        name: name.to_owned(),
        present,
    }
}

/// State of the thread of a recording.
#[derive(Debug)]
struct RecordingTask {
    path: PathBuf,
    limits: CaptureLimits,
    stop: Arc<AtomicBool>,
    progress: Arc<SharedProgress>,
    output: CaptureOutput<File>,
    /// A packet with inserted headers.
    scratch: Vec<u8>,
    packets: u64,
    latest_ns: i64,
    counters: CaptureCounters,
    tap: PacketTap,
}

impl RecordingTask {
    fn run(mut self) -> Result<RecordingSummary, CaptureError> {
        let outcome = self.record();
        // Whatever happened, complete the file.
        let counted = self.count();
        let at_ns = self.latest_ns.max(now_ns());
        let (received, dropped) = (self.counters.packets, self.counters.dropped);
        let finished = self.output.finish(at_ns, received, dropped);
        let end = outcome?;
        counted?;
        finished.map_err(|error| self.not_written(error))?;
        Ok(RecordingSummary {
            packets: self.packets,
            bytes: self.output.in_file(),
            counters: self.counters,
            end,
        })
    }

    fn record(&mut self) -> Result<RecordingEnd, CaptureError> {
        let started = Instant::now();
        let mut done = started;
        let end = loop {
            let left = match self.limits.time {
                Some(time) => time.saturating_sub(started.elapsed()),
                None => RETIRE,
            };
            if self.stop.load(Ordering::Relaxed) {
                break RecordingEnd::Stopped;
            }
            if left.is_zero() {
                break RecordingEnd::Time;
            }
            if let Some(end) = self.next_block(left.min(RETIRE))?.1 {
                return Ok(end);
            }
            if done.elapsed() >= EACH {
                done = Instant::now();
                self.count()?;
                self.output
                    .flush()
                    .map_err(|error| self.not_written(error))?;
            }
        };
        // No more packets arrive, but those in the ring are still to be read.
        attach(&self.tap.socket, &REJECT_ALL)
            .map_err(CaptureError::system("closing the packet filter"))?;
        loop {
            match self.next_block(3 * RETIRE)? {
                (true, None) => {}
                (_, reached) => return Ok(reached.unwrap_or(end)),
            }
        }
    }

    /// Writes the packets of the next block. Returns false without one, and the limit that was
    /// reached.
    fn next_block(
        &mut self,
        patience: Duration,
    ) -> Result<(bool, Option<RecordingEnd>), CaptureError> {
        let waited = self.tap.ring.wait(&self.tap.socket, patience);
        if !waited.map_err(|error| self.tap.failed(error))? {
            return Ok((false, None));
        }
        let mut outcome = Ok(None);
        let RecordingTask {
            tap,
            output,
            scratch,
            limits,
            packets,
            latest_ns,
            ..
        } = self;
        let link = tap.link;
        tap.ring.read_block(|packet| {
            if !matches!(outcome, Ok(None)) {
                return;
            }
            let packet = frame(link, &packet, scratch);
            *latest_ns = packet.at_ns;
            outcome = if limits.packets.is_some_and(|most| *packets >= most) {
                Ok(Some(RecordingEnd::Packets))
            } else if limits
                .bytes
                .is_some_and(|most| !output.has_room(packet.bytes.len(), most))
            {
                Ok(Some(RecordingEnd::Bytes))
            } else {
                *packets += 1;
                output.packet(&packet).map(|()| None)
            };
        });
        let mut reached = outcome.map_err(|error| self.not_written(error))?;
        // Without waiting for one packet too many.
        if self.limits.packets == Some(self.packets) {
            reached = Some(RecordingEnd::Packets);
        }
        let progress = &self.progress;
        progress.packets.store(self.packets, Ordering::Relaxed);
        progress
            .bytes
            .store(self.output.length(), Ordering::Relaxed);
        Ok((true, reached))
    }

    /// Adds the kernel's counts since the last call.
    fn count(&mut self) -> Result<(), CaptureError> {
        let counted = counted(&self.tap.socket);
        let counted = counted.map_err(CaptureError::system("asking for lost packets"))?;
        self.counters.packets += counted.packets;
        self.counters.dropped += counted.dropped;
        let dropped = self.counters.dropped;
        self.progress.dropped.store(dropped, Ordering::Relaxed);
        Ok(())
    }

    fn not_written(&self, error: std::io::Error) -> CaptureError {
        CaptureError::File {
            action: "writing",
            path: self.path.clone(),
            error,
        }
    }
}

/// A packet as written: with its VLAN tag, and cooked ones with their header.
pub(crate) fn frame<'a>(
    link: LinkType,
    packet: &Packet<'a>,
    scratch: &'a mut Vec<u8>,
) -> CapturedPacket<'a> {
    let mut wire_length = packet.wire_length;
    scratch.clear();
    match (link, packet.vlan_tag) {
        (LinkType::ETHERNET, None) => {}
        (LinkType::ETHERNET, Some((protocol, control))) => {
            let addresses = packet.bytes.len().min(12);
            scratch.extend(&packet.bytes[..addresses]);
            scratch.extend(protocol.to_be_bytes());
            scratch.extend(control.to_be_bytes());
            scratch.extend(&packet.bytes[addresses..]);
            wire_length += 4;
        }
        (_, tag) => {
            let from = packet.address;
            let protocol = tag.map_or(from.protocol, |(protocol, _)| protocol);
            scratch.extend(protocol.to_be_bytes());
            scratch.extend([0, 0]);
            scratch.extend(from.interface.to_be_bytes());
            scratch.extend(from.hardware.to_be_bytes());
            scratch.extend([from.kind, from.length]);
            scratch.extend(from.bytes);
            if let Some((_, control)) = tag {
                scratch.extend(control.to_be_bytes());
                scratch.extend(from.protocol.to_be_bytes());
            }
            wire_length += scratch.len() as u32;
            scratch.extend(packet.bytes);
        }
    }
    CapturedPacket {
        number: 0,
        interface: 0,
        link,
        at_ns: packet.at_ns,
        wire_length,
        direction: if packet.outgoing {
            PacketDirection::Outgoing
        } else {
            PacketDirection::Incoming
        },
        bytes: if scratch.is_empty() {
            packet.bytes
        } else {
            scratch
        },
    }
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i64)
}
