//! Tests for an open port in the network of a process, without connecting to it: a sink for one
//! client would take the connection for its client.

use std::fs;

/// State of a TCP socket that listens (`TCP_LISTEN`).
const TCP_LISTEN: &str = "0A";
/// State of a UDP socket without a peer (`TCP_CLOSE`).
const UDP_UNCONNECTED: &str = "07";

/// True if, in the network namespace of a process, a TCP socket listens on a port or a UDP socket
/// without a peer is bound to it.
pub(super) fn is_open(process: u32, port: u16) -> bool {
    let tables = [
        ("tcp", TCP_LISTEN),
        ("tcp6", TCP_LISTEN),
        ("udp", UDP_UNCONNECTED),
        ("udp6", UDP_UNCONNECTED),
    ];
    tables.into_iter().any(|(table, state)| {
        // A process that has ended has no table, and a kernel without IPv6 has only two.
        let text = fs::read_to_string(format!("/proc/{process}/net/{table}"));
        text.is_ok_and(|text| has_socket(&text, port, state))
    })
}

/// True if a table of sockets (proc(5), `/proc/net/tcp`) has one with this local port in this
/// state.
fn has_socket(table: &str, port: u16, state: &str) -> bool {
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next();
        local.is_some_and(|local| local.ends_with(&suffix)) && words.nth(1) == Some(state)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_found_by_port_and_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n   \
            0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n   \
            1: 0100007F:9C40 0100007F:1452 01 00000000:00000000 00:00000000 00000000\n";
        let expected = [
            (0x1451, TCP_LISTEN, true),
            (0x1451, UDP_UNCONNECTED, false),
            (0x9c40, TCP_LISTEN, false),
            // The port of a peer.
            (0x1452, "01", false),
            (0x451, TCP_LISTEN, false),
        ];
        for (port, state, is_there) in expected {
            assert_eq!(has_socket(table, port, state), is_there, "{port:x} {state}");
        }
        assert!(!has_socket("", 1, TCP_LISTEN));
    }
}
