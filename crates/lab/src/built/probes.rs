//! Measures a wire: sends frames from the device at one end to that at the other.
//!
//! They are raw frames, so that every link is measured alone, whatever its ends are: a host, a
//! router, or a port of a switch. Bridges do not forward their destination (IEEE 802.1D, table
//! 7-10). The time of departure is read just before the system call; that of arrival is the
//! kernel's.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::time::{ClockId, clock_gettime};
use topology::{LabInterface, PlannedWire, WireMeasurement};

use super::BuiltLab;
use crate::error::LabError;
use crate::namespace::Namespace;
use crate::system;

/// LLDP's address for the nearest bridge, which no bridge forwards.
const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e];

/// Local experimental EtherType 1 (IEEE 802).
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];

/// Marks these frames, behind the Ethernet header and before their numbers.
const MARK: [u8; 8] = *b"prestan?";

/// Ethernet header, mark, kind, number and time of departure.
const HEADER: usize = 14 + 8 + 4 + 4 + 8;

/// Shortest frame of Ethernet without its check sequence, in bytes.
const PROBE: usize = 60;

/// Longest time for the probes of delay and loss, unless the wire is so slow that the fewest take
/// longer.
const PROBING: Duration = Duration::from_secs(3);

/// Fewest probes of delay and loss.
const FEWEST_PROBES: u32 = 5;

/// Longest time of sending more than the wire carries, unless the fewest frames take longer.
const RATING: Duration = Duration::from_secs(4);

/// Frames for measuring the rate, if they take as long as that; and the fewest.
const RATED_FRAMES: u64 = 200;
const FEWEST_RATED: u64 = 8;

/// A queue for fewer packets is sometimes empty, when this machine is busy.
const SHALLOW: usize = 4;

/// Time without an arrival after which the wire is empty.
const SILENCE: Duration = Duration::from_millis(60);

/// Longest wait for the receiver to check, after the wire became silent: other frames may keep it
/// busy.
const LOOKING: Duration = Duration::from_secs(5);

/// Frames that a wire without a rate has to carry.
const BURST: u32 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeKind {
    Delay = 0,
    Rate = 1,
}

#[derive(Debug, Clone, Copy)]
struct ArrivedProbe {
    kind: u32,
    number: u32,
    /// Times of day in ns.
    sent: u64,
    received: u64,
}

/// How a wire is measured.
#[derive(Debug, Clone, Copy)]
struct ProbePlan {
    wire: PlannedWire,
    /// Probes of delay and loss, and the time from one to the next: half of the rate at most, so
    /// that none waits.
    count: u32,
    gap: Duration,
    /// Bytes of a frame that measures the rate, and its duration.
    bytes: usize,
    each: u64,
    /// Time of sending such frames.
    rating: Duration,
}

impl ProbePlan {
    /// `longest` is the longest frame.
    fn new(wire: PlannedWire, longest: usize) -> ProbePlan {
        let gap = wire.sending_time(PROBE).saturating_mul(2).max(100_000);
        // So many that some are lost, and some are not.
        let share = wire.loss.min(1.0 - wire.loss);
        let wanted = if share > 0.0 {
            (100.0 / share).clamp(200.0, 5000.0) as u128
        } else {
            200
        };
        let most = PROBING.as_nanos() / u128::from(gap);
        let count = u32::try_from(wanted.min(most)).unwrap_or(FEWEST_PROBES);
        // Shorter frames where the longest would take too long.
        let time = RATING.as_nanos() as u64 / (RATED_FRAMES / 2);
        let fits = |bytes: &usize| wire.sending_time(*bytes) <= time;
        let bytes = [longest, longest / 2, longest / 4, longest / 8]
            .into_iter()
            .find(fits);
        let bytes = bytes.unwrap_or(PROBE).max(PROBE);
        let each = wire.sending_time(bytes);
        let rating = each.saturating_mul(RATED_FRAMES);
        let rating = rating.clamp(400_000_000, RATING.as_nanos() as u64);
        ProbePlan {
            wire,
            count: count.max(FEWEST_PROBES),
            gap: Duration::from_nanos(gap),
            bytes,
            each,
            rating: Duration::from_nanos(rating.max(each.saturating_mul(FEWEST_RATED))),
        }
    }

    /// Longest time of a frame on the wire, if it does not wait.
    fn on_the_wire(&self, bytes: usize) -> Duration {
        let wire = &self.wire;
        let time = wire.delay.saturating_add(wire.jitter);
        Duration::from_nanos(time.saturating_add(wire.sending_time(bytes)))
    }

    /// Longest duration, if nothing else is on the wire. Frames that wait at the end of the rating
    /// are fewer than were sent in it.
    fn duration(&self) -> Duration {
        let waits =
            [PROBE, self.bytes].map(|bytes| self.on_the_wire(bytes).saturating_add(SILENCE));
        let probes = self.gap.saturating_mul(self.count);
        let rating = self.rating.saturating_mul(2);
        [probes, rating, waits[0], waits[1]]
            .into_iter()
            .fold(Duration::ZERO, Duration::saturating_add)
    }
}

struct WireEnd<'a> {
    namespace: &'a Namespace,
    interface: &'a LabInterface,
}

impl BuiltLab {
    /// Longest time for measuring one direction of a link: half a second for most, and some seconds
    /// for slow ones.
    pub fn measuring_time(&self, link: usize, from: usize) -> Duration {
        let planned = self.network.links.get(link).zip(self.ends_of(link, from));
        planned.map_or(Duration::ZERO, |(planned, (sender, _))| {
            let wire = self.network.wire(planned, from);
            ProbePlan::new(wire, sender.longest()).duration()
        })
    }

    /// Measures one direction of a link, from its end 0 or 1 on: delay, loss and rate. Nothing else
    /// should be on the link meanwhile.
    ///
    /// A link to a hub is measured to the next station of the hub.
    ///
    /// # Errors
    /// There is no such link, or the system refuses raw sockets.
    pub fn measure(&self, link: usize, from: usize) -> Result<WireMeasurement, LabError> {
        let none = || {
            LabError::Setting(format!(
                "there is no link {link} with a station at its end {from}"
            ))
        };
        let planned = self.network.links.get(link).ok_or_else(none)?;
        let wire = self.network.wire(planned, from);
        let (sender, receiver) = self.ends_of(link, from).ok_or_else(none)?;
        let measure = || -> io::Result<WireMeasurement> {
            let output = sender.open()?;
            let input = receiver.open()?;
            let probes = Probes {
                output,
                input,
                ethernet: sender.interface.ethernet,
                arrived: Mutex::default(),
                idle: AtomicU64::new(0),
                ends: AtomicBool::new(false),
            };
            let plan = ProbePlan::new(wire, sender.longest());
            thread::scope(|scope| {
                let thread = thread::Builder::new().spawn_scoped(scope, || probes.receive())?;
                let measured = {
                    let _ends = EndOfMeasuring(&probes.ends);
                    probes.measure(&plan)
                };
                match thread.join() {
                    Ok(received) => received.and(measured),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            })
        };
        measure().map_err(LabError::system("measure a link"))
    }

    /// The ends of a wire; of a hub, one station and the next.
    fn ends_of(&self, link: usize, from: usize) -> Option<(WireEnd<'_>, WireEnd<'_>)> {
        let planned = self.network.links.get(link)?;
        let end = |end: topology::LabLinkEnd| {
            Some(WireEnd {
                namespace: self.namespaces[end.node].as_ref()?,
                interface: self.network.interface(end)?,
            })
        };
        let Some((hub, _)) = self.network.hub_of(planned) else {
            return Some((
                end(*planned.ends.get(from)?)?,
                end(*planned.ends.get(1 - from)?)?,
            ));
        };
        let stations = self.network.links.iter().filter_map(|other| {
            let is_there = other.ends.iter().any(|end| end.node == hub);
            other
                .ends
                .iter()
                .copied()
                .find(|end| is_there && end.node != hub)
        });
        let stations: Vec<_> = stations.collect();
        let station = stations
            .iter()
            .position(|station| planned.ends.contains(station))?;
        let next = stations[(station + 1) % stations.len()];
        (planned.ends.get(from)? == &stations[station] && stations.len() > 1)
            .then_some((end(stations[station])?, end(next)?))
    }
}

impl WireEnd<'_> {
    /// Bytes of the longest frame, from its Ethernet header on.
    fn longest(&self) -> usize {
        14 + self.interface.mtu as usize
    }

    /// A socket for raw frames at the device.
    fn open(&self) -> io::Result<OwnedFd> {
        let open = || -> io::Result<OwnedFd> {
            let protocol = u32::from(system::EVERY_PROTOCOL).try_into();
            let protocol = Protocol::from_raw(protocol.map_err(io::Error::other)?);
            let flags = SocketFlags::CLOEXEC;
            let (family, kind) = (AddressFamily::PACKET, SocketType::RAW);
            let socket = rustix::net::socket_with(family, kind, flags, Some(protocol))?;
            let index = rustix::net::netdevice::name_to_index(&socket, &self.interface.device)?;
            system::bind_to_device(&socket, index)?;
            let timeout = Some(Duration::from_millis(20));
            rustix::net::sockopt::set_socket_timeout(
                &socket,
                rustix::net::sockopt::Timeout::Recv,
                timeout,
            )?;
            // As much as an ordinary user gets.
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 4 << 20);
            // Enables the time stamps; there is none yet.
            let _ = system::received_at(&socket);
            Ok(socket)
        };
        self.namespace.run(open).map_err(io::Error::other)?
    }
}

/// Announces the end of a thread, also when it panics: the other one then stops waiting.
struct EndOfMeasuring<'a>(&'a AtomicBool);

impl Drop for EndOfMeasuring<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A wire that is being measured.
struct Probes {
    output: OwnedFd,
    input: OwnedFd,
    ethernet: [u8; 6],
    arrived: Mutex<Vec<ArrivedProbe>>,
    /// Number of times that the receiver waited, and nothing had arrived.
    idle: AtomicU64,
    /// Either thread has ended.
    ends: AtomicBool,
}

impl Probes {
    fn measure(&self, plan: &ProbePlan) -> io::Result<WireMeasurement> {
        let mut last: Option<Instant> = None;
        for number in 0..plan.count {
            // Never two together, however late this thread is: the queue may have room for one.
            let since = last.map_or(plan.gap, |last| last.elapsed());
            thread::sleep(plan.gap.saturating_sub(since));
            last = Some(Instant::now());
            self.send(ProbeKind::Delay, number, PROBE)?;
        }
        self.wait(
            ProbeKind::Delay,
            plan.on_the_wire(PROBE),
            Some(plan.count as usize),
        );
        let probes = self.unique(ProbeKind::Delay);
        let delays = probes
            .iter()
            .map(|probe| probe.received.saturating_sub(probe.sent) as f64);
        let least_delay = delays.clone().reduce(f64::min);
        self.flood(plan)?;
        self.wait(ProbeKind::Rate, plan.on_the_wire(plan.bytes), None);
        let (rate, rated) = rate(&self.unique(ProbeKind::Rate), plan);
        Ok(WireMeasurement {
            probe_bytes: PROBE,
            sent: u64::from(plan.count),
            received: probes.len() as u64,
            least_delay,
            mean_delay: least_delay.map(|_| delays.sum::<f64>() / probes.len() as f64),
            rate,
            rated,
        })
    }

    /// Sends more than the wire can carry.
    fn flood(&self, plan: &ProbePlan) -> io::Result<()> {
        let each = plan.each;
        if each == 0 {
            for number in 0..BURST {
                self.send(ProbeKind::Rate, number, plan.bytes)?;
            }
            return Ok(());
        }
        let rating = plan.rating.as_nanos() as u64;
        let room = plan.wire.queue.room(plan.bytes);
        let first = (room as u64).min(64).min(rating / each / 4).max(1);
        // One and a half times the rate; three times where the queue is soon empty.
        let (halves, pause) = if room < SHALLOW {
            (6, each / 8)
        } else {
            (3, each)
        };
        let pause = Duration::from_nanos(pause.min(1_000_000));
        let start = Instant::now();
        let mut number = 0_u32;
        loop {
            let elapsed = start.elapsed().as_nanos() as u64;
            if elapsed >= rating {
                return Ok(());
            }
            let due = first.saturating_add(elapsed.saturating_mul(halves) / each.saturating_mul(2));
            if u64::from(number) < due {
                self.send(ProbeKind::Rate, number, plan.bytes)?;
                number = number.saturating_add(1);
            } else if pause >= Duration::from_micros(100) {
                thread::sleep(pause);
            } else {
                // Sleeping takes longer than that.
                thread::yield_now();
            }
        }
    }

    fn send(&self, kind: ProbeKind, number: u32, bytes: usize) -> io::Result<()> {
        let mut frame = vec![0; bytes.max(HEADER)];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&DESTINATION);
        put(&self.ethernet);
        put(&ETHER_TYPE);
        put(&MARK);
        put(&(kind as u32).to_be_bytes());
        put(&number.to_be_bytes());
        put(&time_of_day().to_be_bytes());
        match rustix::net::send(&self.output, &frame, SendFlags::empty()) {
            Ok(_) => Ok(()),
            // The queue of the device is full, as intended: more cannot be sent.
            Err(rustix::io::Errno::NOBUFS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Receives until the other thread ends.
    fn receive(&self) -> io::Result<()> {
        let _ends = EndOfMeasuring(&self.ends);
        let mut frame = [0; HEADER];
        while !self.ends.load(Ordering::Acquire) {
            match rustix::net::recv(self.input.as_fd(), &mut frame[..], RecvFlags::empty()) {
                Ok((length, _)) => {
                    let received = system::received_at(&self.input)?;
                    if let Some(probe) = read(&frame[..length], received)
                        && frame[6..12] == self.ethernet
                    {
                        self.all().push(probe);
                    }
                }
                Err(rustix::io::Errno::AGAIN) => {
                    self.idle.fetch_add(1, Ordering::Release);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<ArrivedProbe>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this many frames arrived, or none arrives for longer than one is on the wire,
    /// and the receiver has checked since, or ended: when other programs use the processors, frames
    /// wait for it.
    fn wait(&self, kind: ProbeKind, on_the_wire: Duration, until: Option<usize>) {
        let idle = || self.idle.load(Ordering::Acquire);
        let mut last = Instant::now();
        let mut enough: Option<u64> = None;
        let mut seen = 0;
        loop {
            thread::sleep(Duration::from_millis(5));
            let count = self
                .all()
                .iter()
                .filter(|probe| probe.kind == kind as u32)
                .count();
            if count > seen {
                (seen, last, enough) = (count, Instant::now(), None);
            }
            let is_complete = until.is_some_and(|until| count >= until);
            let longest = on_the_wire + SILENCE;
            let is_silent = last.elapsed() > longest;
            // Of two waits without an arrival, the second one began in the silence.
            let has_looked = is_silent && idle() >= *enough.get_or_insert_with(|| idle() + 2);
            let is_over = last.elapsed() > longest + LOOKING || self.ends.load(Ordering::Acquire);
            if is_complete || has_looked || is_over {
                return;
            }
        }
    }

    /// Frames that arrived, each once, in the order of their departure.
    fn unique(&self, kind: ProbeKind) -> Vec<ArrivedProbe> {
        let all = self.all();
        let mut probes: Vec<_> = all
            .iter()
            .filter(|probe| probe.kind == kind as u32)
            .copied()
            .collect();
        probes.sort_by_key(|probe| (probe.number, probe.received));
        probes.dedup_by_key(|probe| probe.number);
        probes
    }
}

/// The rate at which frames arrived, in bit/s, and the number of frames that it is based on; `None`
/// for fewer than two. The first tenth is left out: the sender was not busy yet. Frames lost behind
/// the sender took their time, too.
fn rate(probes: &[ArrivedProbe], plan: &ProbePlan) -> (Option<f64>, u64) {
    let wire = &plan.wire;
    let mut times: Vec<u64> = probes.iter().map(|probe| probe.received).collect();
    times.sort_unstable();
    let times = &times[times.len() / 10..];
    let rated = times.len() as u64;
    let &[first, .., last] = times else {
        return (None, rated);
    };
    let bits = 8.0 * (plan.bytes as f64 + f64::from(wire.overhead));
    let mean = (last - first).max(1) as f64 / (times.len() - 1) as f64;
    let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    // A sender that is sometimes idle still sends most frames back to back.
    let is_idle_at_times = wire.rate.is_some() && wire.queue.room(plan.bytes) < SHALLOW;
    let gap = if is_idle_at_times && wire.jitter == 0 && wire.loss <= 0.0 {
        gaps[gaps.len() / 2].max(1) as f64
    } else {
        mean
    };
    let rate = bits * 1e9 / gap / (1.0 - wire.loss).max(1e-9);
    (Some(rate), rated)
}

fn read(frame: &[u8], received: u64) -> Option<ArrivedProbe> {
    let content = frame.get(12..)?.strip_prefix(&ETHER_TYPE)?;
    let content = content.strip_prefix(&MARK)?;
    let number = |at: usize| {
        Some(u32::from_be_bytes(
            content.get(at..at + 4)?.try_into().ok()?,
        ))
    };
    Some(ArrivedProbe {
        kind: number(0)?,
        number: number(4)?,
        sent: u64::from_be_bytes(content.get(8..16)?.try_into().ok()?),
        received,
    })
}

/// In ns.
fn time_of_day() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Realtime)).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate: Option<u64>, loss: f64) -> ProbePlan {
        let wire = PlannedWire {
            rate,
            overhead: 24,
            loss,
            ..PlannedWire::default()
        };
        ProbePlan::new(wire, 1514)
    }

    #[test]
    fn a_measurement_has_a_time_limit_at_every_rate() {
        for rate in [1_000, 64_000, 1_000_000, 10_000_000_000_000] {
            let plan = plan(Some(rate), 0.0);
            assert!(plan.duration() < Duration::from_secs(20), "{plan:?}");
            assert!(
                plan.count >= FEWEST_PROBES && plan.bytes >= PROBE,
                "{plan:?}"
            );
            assert!(
                plan.each.saturating_mul(FEWEST_RATED) <= plan.rating.as_nanos() as u64,
                "{plan:?}"
            );
        }
        // Nothing overflows, whatever a lab file has.
        assert!(plan(Some(1), 1.0).duration() > Duration::from_secs(1000));
        assert!(plan(None, 0.5).duration() < Duration::from_secs(2));
    }

    #[test]
    fn nothing_is_waited_for_behind_a_receiver_that_failed() {
        let no_socket = || std::fs::File::open("/dev/null").unwrap().into();
        let probes = Probes {
            output: no_socket(),
            input: no_socket(),
            ethernet: [0; 6],
            arrived: Mutex::default(),
            idle: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            let receiver = scope.spawn(|| probes.receive());
            probes.wait(ProbeKind::Delay, Duration::from_secs(3600), None);
            assert!(receiver.join().unwrap().is_err());
        });
    }
}
