//! Limits that the user of a sink sets, and their use.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use super::locked;
use crate::FlowTransport;
use crate::message::{FlowGroup, MOST_FLOWS, SinkCounts};
use crate::payload::{BLOCK_HEADER, DATAGRAM_HEADER, LARGEST_BLOCK};
use crate::sys::LARGEST_DATAGRAM;

/// The longest name of a congestion control: `TCP_CA_NAME_MAX` of Linux without the end of the
/// text.
const LONGEST_NAME: usize = 15;

/// Limits of a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkLimits {
    /// Highest total rate of all flows; absent: unlimited.
    pub bytes_per_second: Option<u64>,
    /// Most flows at a time.
    pub flows: u32,
    /// Longest duration of a flow.
    pub duration: Duration,
    /// Most sources at a time.
    pub sessions: u32,
    /// Addresses from which sources may connect.
    pub peers: PermittedPeers,
    /// Silence after which a source is regarded as dead; usually [`crate::LONGEST_SILENCE`].
    pub longest_silence: Duration,
}

impl Default for SinkLimits {
    /// Limits for sources of this machine: 1,000 flows of unlimited rate, for an hour.
    fn default() -> SinkLimits {
        SinkLimits {
            bytes_per_second: None,
            flows: 1000,
            duration: Duration::from_secs(3600),
            sessions: 16,
            peers: PermittedPeers::Loopback,
            longest_silence: crate::LONGEST_SILENCE,
        }
    }
}

impl SinkLimits {
    /// Checks a request against these limits while nothing is in use.
    ///
    /// # Errors
    /// The reason of a refusal, for people.
    pub fn check(&self, groups: &[FlowGroup]) -> Result<(), String> {
        Grants::new(self.clone()).agree(groups).map(drop)
    }
}

/// Addresses from which sources may connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermittedPeers {
    /// Addresses of this machine.
    Loopback,
    /// These addresses.
    Only(Vec<IpAddr>),
    /// Addresses of these networks: an address, and the length of its prefix in bits.
    Networks(Vec<(IpAddr, u8)>),
    /// All addresses.
    Any,
}

impl PermittedPeers {
    /// True if a source of this address may connect.
    pub fn include(&self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        match self {
            PermittedPeers::Loopback => peer.is_loopback(),
            PermittedPeers::Only(peers) => peers.iter().any(|only| only.to_canonical() == peer),
            PermittedPeers::Networks(networks) => networks
                .iter()
                .any(|(address, bits)| is_in_network(peer, address.to_canonical(), *bits)),
            PermittedPeers::Any => true,
        }
    }
}

fn is_in_network(peer: IpAddr, network: IpAddr, bits: u8) -> bool {
    let differing = match (peer, network) {
        (IpAddr::V4(peer), IpAddr::V4(network)) => {
            (peer.to_bits() ^ network.to_bits()).leading_zeros()
        }
        (IpAddr::V6(peer), IpAddr::V6(network)) => {
            (peer.to_bits() ^ network.to_bits()).leading_zeros()
        }
        _ => return false,
    };
    differing >= u32::from(bits)
}

/// The limits of a sink, and how much of them is in use.
#[derive(Debug)]
pub(super) struct Grants {
    limits: SinkLimits,
    taken: Mutex<TakenLimits>,
}

#[derive(Debug, Default)]
struct TakenLimits {
    sessions: u32,
    flows: u32,
    bytes_per_second: u64,
}

/// A part of the limits, in use until this is dropped.
#[derive(Debug)]
pub(super) struct Grant<'a> {
    grants: &'a Grants,
    sessions: u32,
    flows: u32,
    bytes_per_second: u64,
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        let mut taken = locked(&self.grants.taken);
        taken.sessions -= self.sessions;
        taken.flows -= self.flows;
        taken.bytes_per_second -= self.bytes_per_second;
    }
}

impl Grants {
    pub(super) fn new(limits: SinkLimits) -> Grants {
        let taken = Mutex::default();
        Grants { limits, taken }
    }

    pub(super) fn longest_silence(&self) -> Duration {
        self.limits.longest_silence
    }

    pub(super) fn most_sessions(&self) -> usize {
        self.limits.sessions as usize
    }

    /// Sessions and flows.
    pub(super) fn in_use(&self) -> (u32, u32) {
        let taken = locked(&self.taken);
        (taken.sessions, taken.flows)
    }

    /// Fails with the reason why sources of an address may not connect.
    pub(super) fn check_peer(&self, peer: IpAddr) -> Result<(), String> {
        if self.limits.peers.include(peer) {
            Ok(())
        } else {
            Err(format!(
                "this sink accepts no sources from {peer} (--allow of the sink permits them)"
            ))
        }
    }

    /// Admits a source that has proved that it has the token; fails with the reason.
    pub(super) fn admit(&self) -> Result<Grant<'_>, String> {
        let mut taken = locked(&self.taken);
        let most = self.limits.sessions;
        if taken.sessions >= most {
            return Err(format!("this sink serves {most} sources at a time at most"));
        }
        taken.sessions += 1;
        Ok(Grant {
            grants: self,
            sessions: 1,
            flows: 0,
            bytes_per_second: 0,
        })
    }

    /// Agrees to flows; fails with the reason.
    pub(super) fn agree(&self, groups: &[FlowGroup]) -> Result<Grant<'_>, String> {
        let mut flows = 0_u32;
        let mut rate = Some(0_u64);
        for group in groups {
            self.check(group)?;
            flows = flows.saturating_add(group.flows);
            let each = group.bytes_per_second;
            let all = each.map(|rate| rate.saturating_mul(u64::from(group.flows)));
            rate = rate.zip(all).map(|(sum, rate)| sum.saturating_add(rate));
        }
        let limits = &self.limits;
        let mut taken = locked(&self.taken);
        let most = limits.flows.min(MOST_FLOWS);
        if flows == 0 || flows > most.saturating_sub(taken.flows) {
            let taken = taken.flows;
            return Err(format!(
                "{flows} flows are asked for; this sink agrees to {most} at most (its --max-flows), of which {taken} \
                 are taken"
            ));
        }
        let requested = match (limits.bytes_per_second, rate) {
            (None, _) => 0,
            (Some(most), None) => {
                let most = rate_text(most);
                return Err(format!(
                    "a flow without a highest rate is asked for; this sink agrees to {most} at most (--max-rate \
                     none of the sink permits it)"
                ));
            }
            (Some(most), Some(rate)) if rate > most.saturating_sub(taken.bytes_per_second) => {
                let [rate, most, taken] = [rate, most, taken.bytes_per_second].map(rate_text);
                return Err(format!(
                    "{rate} are asked for; this sink agrees to {most} at most (its --max-rate), of which {taken} are taken"
                ));
            }
            (Some(_), Some(rate)) => rate,
        };
        taken.flows += flows;
        taken.bytes_per_second += requested;
        Ok(Grant {
            grants: self,
            sessions: 0,
            flows,
            bytes_per_second: requested,
        })
    }

    fn check(&self, group: &FlowGroup) -> Result<(), String> {
        if group.flows == 0 {
            return Err("a group without flows is asked for; each group has a port".to_owned());
        }
        let longest = self.limits.duration;
        if Duration::from_millis(group.duration_ms) > longest {
            return Err(format!(
                "flows of {} s are asked for; this sink agrees to {} s at most (its --max-time); let them end earlier (--for \
                 of `prestan traffic run`, for= of --background)",
                group.duration_ms as f64 / 1e3,
                longest.as_secs_f64()
            ));
        }
        if let Some(name) = &group.congestion_control {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            if name.len() > LONGEST_NAME || !name.chars().all(is_name) {
                return Err("the congestion control has a name that cannot be".to_owned());
            }
        }
        let (least, most) = match group.transport {
            FlowTransport::Udp => (DATAGRAM_HEADER as u32, LARGEST_DATAGRAM as u32),
            FlowTransport::Tcp if group.has_stamps => (BLOCK_HEADER as u32, LARGEST_BLOCK),
            FlowTransport::Tcp => (1, LARGEST_BLOCK),
        };
        let bytes = group.block_bytes;
        if !(least..=most).contains(&bytes) {
            return Err(format!(
                "blocks of {bytes} bytes are asked for; possible are {least} to {most}"
            ));
        }
        Ok(())
    }
}

/// Permitted excess over the agreed rate: this many seconds of it, and the bytes below, which all
/// flows of a source together may also send at their beginning.
const BURST_SECONDS: f64 = 2.0;
const BURST_BYTES: f64 = 1e6;
/// Largest ratio of the clocks of two machines.
const CLOCK_RATIO: f64 = 1.001;

/// True if a source has sent more than was agreed, by the counts at this time since the agreement.
pub fn exceeds(groups: &[FlowGroup], counts: &[SinkCounts], elapsed: Duration) -> bool {
    let seconds = elapsed.as_secs_f64() * CLOCK_RATIO + BURST_SECONDS;
    let mut counts = counts.iter();
    let (mut agreed_bytes, mut bytes) = (0.0, 0.0);
    for group in groups {
        let group_counts = counts.by_ref().take(group.flows as usize);
        // An unlimited flow does not contribute to the sum.
        let Some(agreed) = group.bytes_per_second else {
            group_counts.for_each(drop);
            continue;
        };
        let block = f64::from(group.block_bytes);
        for flow in group_counts {
            let sent = sent_bytes(flow);
            if sent > agreed as f64 * seconds + BURST_BYTES + block {
                return true;
            }
            agreed_bytes += agreed as f64 * seconds + block;
            bytes += sent;
        }
    }
    bytes > agreed_bytes + BURST_BYTES
}

/// Bytes that a source has sent at least: a network may duplicate datagrams, but not most of them.
fn sent_bytes(flow: &SinkCounts) -> f64 {
    let arrived = flow.packets.saturating_add(flow.duplicates).max(1);
    let unique = 1.0 - flow.duplicates as f64 / arrived as f64;
    flow.bytes as f64 * unique.max(0.5)
}

/// A rate for people, in the unit of --max-rate.
fn rate_text(bytes_per_second: u64) -> String {
    let bits = bytes_per_second as f64 * 8.0;
    let (unit, scale) = match bits {
        bits if bits >= 1e9 => ("Gbit/s", 1e9),
        bits if bits >= 1e6 => ("Mbit/s", 1e6),
        _ => ("kbit/s", 1e3),
    };
    format!("{} {unit}", (bits / scale * 1e2).round() / 1e2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> FlowGroup {
        FlowGroup {
            transport: FlowTransport::Udp,
            flows: 2,
            bytes_per_second: Some(1_000_000),
            duration_ms: 1000,
            block_bytes: 1000,
            has_stamps: true,
            port: None,
            may_move: false,
            window_bytes: None,
            congestion_control: None,
        }
    }

    #[test]
    fn networks_are_the_first_bits_of_addresses() {
        let table = [
            ("192.0.2.0", 24, "192.0.2.255", true),
            ("192.0.2.0", 24, "192.0.3.0", false),
            ("192.0.2.0", 24, "::ffff:192.0.2.7", true),
            ("192.0.2.0", 0, "::1", false),
            ("0.0.0.0", 0, "203.0.113.1", true),
            ("2001:db8::", 32, "2001:db8:1::1", true),
            ("2001:db8::", 128, "2001:db8::1", false),
        ];
        for (network, bits, peer, expected) in table {
            let peers = PermittedPeers::Networks(vec![(network.parse().unwrap(), bits)]);
            let found = peers.include(peer.parse().unwrap());
            assert_eq!(found, expected, "{network}/{bits} {peer}");
        }
    }

    #[test]
    fn a_source_that_sends_more_than_was_agreed_is_noticed() {
        let counts = |bytes, packets, duplicates| SinkCounts {
            bytes,
            packets,
            duplicates,
            ..SinkCounts::default()
        };
        let groups = |flows, rate| FlowGroup {
            flows,
            bytes_per_second: rate,
            ..group()
        };
        let day = 86_400;
        let mb = 1_000_000;
        let one = |bytes, packets, duplicates| vec![counts(bytes, packets, duplicates)];
        let table = [
            // Its rate for ten seconds, and more than the burst in addition.
            (1, Some(100_000), one(mb, 1000, 0), 10, false),
            (1, Some(100_000), one(3 * mb, 3000, 0), 10, true),
            (1, None, one(u64::MAX, 3000, 0), 10, false),
            // A clock that is 100 ppm faster.
            (1, Some(mb), one(86_408_640_000, 86_408_640, 0), day, false),
            (1, Some(mb), one(87_400_000_000, 87_400_000, 0), day, true),
            // A network that duplicates two in five, and a source that sends everything five times.
            (1, Some(mb), one(84 * mb, 60_000, 24_000), 60, false),
            (1, Some(mb), one(300 * mb, 60_000, 240_000), 60, true),
            // Each flow sends the initial allowance, at 1 kB/s.
            (1, Some(1000), one(900_000, 900, 0), 1, false),
            (50, Some(1000), vec![counts(900_000, 900, 0); 50], 1, true),
            (50, Some(1000), vec![counts(3000, 3, 0); 50], 1, false),
        ];
        for (flows, rate, counts, seconds, expected) in table {
            let time = Duration::from_secs(seconds);
            let found = exceeds(&[groups(flows, rate)], &counts, time);
            let first = counts[0];
            assert_eq!(found, expected, "{flows} {rate:?} {seconds} {first:?}");
        }
    }

    #[test]
    fn limits_hold_for_all_sources_together_and_come_back() {
        let grants = Grants::new(SinkLimits {
            bytes_per_second: Some(3_000_000),
            flows: 5,
            duration: Duration::from_secs(2),
            sessions: 1,
            peers: PermittedPeers::Loopback,
            ..SinkLimits::default()
        });
        let loopback = "::ffff:127.0.0.1".parse().unwrap();
        grants.check_peer(loopback).unwrap();
        let session = grants.admit().unwrap();
        assert!(grants.admit().unwrap_err().contains("1 sources"));
        let refusal = grants.check_peer("192.0.2.1".parse().unwrap()).unwrap_err();
        let expected =
            "this sink accepts no sources from 192.0.2.1 (--allow of the sink permits them)";
        assert_eq!(refusal, expected);
        let first = grants.agree(&[group()]).unwrap();
        assert_eq!(grants.in_use(), (1, 2));

        type Change = fn(&mut FlowGroup);
        let table: [(Change, &str); 10] = [
            (
                |_| (),
                "16 Mbit/s are asked for; this sink agrees to 24 Mbit/s at most (its --max-rate), of which 16 Mbit/s",
            ),
            (|group| group.flows = 4, "4 flows are asked for"),
            (|group| group.flows = 0, "a group without flows"),
            (|group| group.flows = u32::MAX, "flows are asked for"),
            (
                |group| group.bytes_per_second = None,
                "a flow without a highest rate",
            ),
            (
                |group| group.bytes_per_second = Some(u64::MAX),
                "this sink agrees to 24 Mbit/s",
            ),
            (|group| group.duration_ms = 2001, "2.001 s are asked for"),
            (
                |group| group.congestion_control = Some("../x".into()),
                "name that cannot be",
            ),
            (|group| group.block_bytes = 27, "possible are 28 to 65507"),
            (|group| group.block_bytes = 65_508, "blocks of 65508 bytes"),
        ];
        for (change, expected) in table {
            let mut group = group();
            change(&mut group);
            let reason = grants.agree(&[group]).unwrap_err();
            assert!(reason.contains(expected), "{reason}");
        }
        assert!(grants.agree(&[]).unwrap_err().contains("0 flows"));
        drop(first);
        assert!(grants.agree(&[group()]).is_ok());
        drop(session);
        assert_eq!(grants.in_use(), (0, 0));
    }
}
