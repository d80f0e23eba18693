//! The flow of a frame: its addresses, protocol and ports.

use std::hash::Hash;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// The common fields of the frames of a flow. All frames other than IP are one flow; so are
/// fragments of one sender and receiver, and packets with extension headers of IPv6.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct FlowKey {
    addresses: [[u8; 16]; 2],
    protocol: u8,
    ports: [u8; 4],
}

impl FlowKey {
    pub(super) fn of(frame: &[u8]) -> FlowKey {
        FlowKey::read(frame).unwrap_or_default()
    }

    fn read(frame: &[u8]) -> Option<FlowKey> {
        let kind = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let at = if kind(12)? == VLAN { 16 } else { 12 };
        let ip = frame.get(at + 2..)?;
        let mut key = FlowKey::default();
        let (header, is_whole) = match kind(at)? {
            IPV4 => {
                key.addresses[0][..4].copy_from_slice(ip.get(12..16)?);
                key.addresses[1][..4].copy_from_slice(ip.get(16..20)?);
                key.protocol = *ip.get(9)?;
                // Neither more fragments nor an offset.
                let is_whole = ip.get(6)? & 0x3f == 0 && *ip.get(7)? == 0;
                (usize::from(ip.first()? & 0x0f) * 4, is_whole)
            }
            IPV6 => {
                key.addresses[0].copy_from_slice(ip.get(8..24)?);
                key.addresses[1].copy_from_slice(ip.get(24..40)?);
                key.protocol = *ip.get(6)?;
                (40, true)
            }
            _ => return None,
        };
        if is_whole
            && [TCP, UDP].contains(&key.protocol)
            && let Some(ports) = ip.get(header..header + 4)
        {
            key.ports.copy_from_slice(ports);
        }
        Some(key)
    }
}
