//! Helpers of the tests.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use lab::{Delay, ForwarderSettings, Impairment, LabError, TwoHosts};

/// Time limit on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// True if a laboratory can be built here, with a message if not; where `CI` is set, that is a
/// failure.
pub(crate) fn can_build() -> bool {
    possible(lab::check_requirements()).is_some()
}

/// The value, or `None` with a message; where `CI` is set, an error is a failure.
pub(crate) fn possible<T>(result: Result<T, LabError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Frames from the client are impaired, and pass back at once.
pub(crate) fn forth(impairment: Impairment) -> ForwarderSettings {
    ForwarderSettings {
        forth: impairment,
        ..ForwarderSettings::default()
    }
}

pub(crate) fn delay(base: Duration) -> Impairment {
    Impairment {
        delay: Delay {
            base,
            ..Delay::default()
        },
        ..Impairment::default()
    }
}

/// Sends datagrams from the client to the server.
pub(crate) struct DatagramPath {
    pub(crate) sender: UdpSocket,
    pub(crate) receiver: UdpSocket,
}

impl DatagramPath {
    pub(crate) fn new(hosts: &TwoHosts) -> DatagramPath {
        let bind = |ip: Ipv4Addr| UdpSocket::bind((ip, 0)).unwrap();
        let receiver = hosts.server.run(|| bind(TwoHosts::SERVER.ipv4)).unwrap();
        let sender = hosts.client.run(|| bind(TwoHosts::CLIENT.ipv4)).unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.connect(sender.local_addr().unwrap()).unwrap();
        for socket in [&sender, &receiver] {
            socket.set_read_timeout(Some(DEADLINE)).unwrap();
            socket2::SockRef::from(socket)
                .set_recv_buffer_size(4 << 20)
                .unwrap();
        }
        DatagramPath { sender, receiver }
    }

    /// Sends datagrams of this many bytes, with their numbers from 0 in front.
    pub(crate) fn send(&self, count: u32, bytes: usize) {
        let mut datagram = vec![0; bytes];
        for number in 0..count {
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            self.sender.send(&datagram).unwrap();
        }
    }

    /// Receives this many datagrams. Returns their numbers and when they were received.
    pub(crate) fn receive(&self, count: usize) -> Vec<(u32, Instant)> {
        let mut datagram = [0; 2048];
        let mut receive = || {
            self.receiver.recv(&mut datagram).unwrap();
            let number = datagram[..4].try_into().unwrap();
            (u32::from_be_bytes(number), Instant::now())
        };
        (0..count).map(|_| receive()).collect()
    }

    /// Numbers of datagrams that have been received and not read.
    pub(crate) fn rest(&self) -> Vec<u32> {
        self.receiver.set_nonblocking(true).unwrap();
        let mut datagram = [0; 2048];
        let mut numbers = Vec::new();
        while self.receiver.recv(&mut datagram).is_ok() {
            numbers.push(u32::from_be_bytes(datagram[..4].try_into().unwrap()));
        }
        numbers
    }
}

/// Waits until a condition holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "not after {DEADLINE:?}: {what}");
        std::thread::yield_now();
    }
}
