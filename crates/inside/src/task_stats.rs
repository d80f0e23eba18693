//! Counts of the kernel for all threads of a process together, by its interface taskstats: one
//! request instead of two files for each thread (Documentation/accounting/taskstats.rst of the
//! kernel, `linux/taskstats.h`).
//!
//! It is for root only, and only in the network namespace of the machine; elsewhere the files are
//! read.

use std::os::fd::OwnedFd;

use rustix::net::netlink::GENERIC;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, send, socket_with};

use crate::proc_files::ThreadFields;

#[derive(Debug)]
pub(crate) struct TaskStats {
    socket: OwnedFd,
    /// The kernel's number of this interface.
    family: u16,
}

/// The interface that lists all others (`GENL_ID_CTRL`), its request for a number and the fields of
/// both (`linux/genetlink.h`).
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `TASKSTATS_CMD_GET`, with the number of a process; the response has that number, too, in a
/// nested field.
const GET: u8 = 1;
const OF_PROCESS: u16 = 2;
const STATS: u16 = 3;
const PROCESS_AND_STATS: u16 = 5;

/// Offsets of `cpu_count`, `cpu_delay_total`, `nvcsw` and `nivcsw` in `struct taskstats`.
const RAN: usize = 16;
const QUEUED: usize = 24;
const WAITS: usize = 272;
const PREEMPTIONS: usize = 280;

/// A request, with no response but the requested one.
const REQUEST: u16 = 1;
/// Length of `nlmsghdr` and `genlmsghdr`.
const HEADERS: usize = 20;
/// Length of the header of a field.
const FIELD: usize = 4;

impl TaskStats {
    /// `None` where the kernel does not have it, or does not let this process use it.
    pub(crate) fn open() -> Option<TaskStats> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(GENERIC),
        );
        let mut stats = TaskStats {
            socket: socket.ok()?,
            family: CONTROL,
        };
        let mut buffer = [0; 4096];
        let fields = stats.request(GET_FAMILY, FAMILY_NAME, b"TASKSTATS\0", &mut buffer)?;
        stats.family = u16::from_ne_bytes(*field(fields, FAMILY_ID)?.first_chunk()?);
        // A kernel that was built without accounting of delays does not count time slices either.
        let (_, ran) = stats.fields_of(std::process::id())?;
        (ran > 0).then_some(stats)
    }

    /// Counts of all threads that a process has or had; `None` if it has ended.
    pub(crate) fn of(&self, pid: u32) -> Option<ThreadFields> {
        self.fields_of(pid).map(|(fields, _)| fields)
    }

    fn fields_of(&self, pid: u32) -> Option<(ThreadFields, u64)> {
        let mut buffer = [0; 1024];
        let fields = self.request(GET, OF_PROCESS, &pid.to_ne_bytes(), &mut buffer)?;
        counts_in_response(fields, pid)
    }

    /// The fields of the response to a request with one field. The kernel responds before `send`
    /// returns.
    fn request<'b>(
        &self,
        command: u8,
        kind: u16,
        value: &[u8],
        buffer: &'b mut [u8],
    ) -> Option<&'b [u8]> {
        let request = request(self.family, command, kind, value)?;
        send(&self.socket, &request, SendFlags::empty()).ok()?;
        let (_, length) = recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT).ok()?;
        fields_of_response(buffer.get(..length)?, self.family)
    }
}

/// The fields of a response of this interface. An error is a message of another kind.
fn fields_of_response(message: &[u8], family: u16) -> Option<&[u8]> {
    let is_response = message.get(4..6)? == family.to_ne_bytes();
    is_response.then_some(message.get(HEADERS..)?)
}

/// The counts of this process in a response, and its number of time slices. `None` where the
/// response is about another process.
fn counts_in_response(fields: &[u8], pid: u32) -> Option<(ThreadFields, u64)> {
    let fields = field(fields, PROCESS_AND_STATS)?;
    let is_own = *field(fields, OF_PROCESS)? == pid.to_ne_bytes();
    let stats = field(fields, STATS)?;
    Some((thread_fields(stats)?, number(stats, RAN)?)).filter(|_| is_own)
}

fn request(family: u16, command: u8, kind: u16, value: &[u8]) -> Option<Vec<u8>> {
    let field = FIELD + value.len();
    let length = u32::try_from(HEADERS + field.next_multiple_of(FIELD)).ok()?;
    let mut request = Vec::new();
    request.extend(length.to_ne_bytes());
    request.extend(family.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    // No sequence number and no sender.
    request.extend([0; 8]);
    request.extend([command, 1, 0, 0]);
    request.extend(u16::try_from(field).ok()?.to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(value);
    request.resize(length as usize, 0);
    Some(request)
}

/// The value of a field in a sequence of fields.
fn field(mut fields: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16::from_ne_bytes(*fields.first_chunk()?));
        let field_kind = u16::from_ne_bytes(*fields.get(2..)?.first_chunk()?);
        if field_kind == kind {
            return fields.get(FIELD..length);
        }
        fields = fields.get(length.max(FIELD).next_multiple_of(FIELD)..)?;
    }
}

/// Reads `struct taskstats`, which has grown at its end only.
fn thread_fields(stats: &[u8]) -> Option<ThreadFields> {
    Some(ThreadFields {
        queued_ns: number(stats, QUEUED)?,
        waits: number(stats, WAITS)?,
        preemptions: number(stats, PREEMPTIONS)?,
    })
}

fn number(stats: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*stats.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A field as the kernel writes it.
    fn written(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (FIELD + value.len()) as u16;
        let mut field = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        field.extend(value);
        field.resize(field.len().next_multiple_of(FIELD), 0);
        field
    }

    fn stats() -> Vec<u8> {
        let mut stats = vec![0; 416];
        let values = [(RAN, 4_u64), (QUEUED, 5), (WAITS, 6), (PREEMPTIONS, 7)];
        for (offset, value) in values {
            stats[offset..offset + 8].copy_from_slice(&value.to_ne_bytes());
        }
        stats
    }

    /// A response about process 77.
    fn response(family: u16, stats: &[u8]) -> Vec<u8> {
        let parts = [
            written(OF_PROCESS, &77_u32.to_ne_bytes()),
            written(STATS, stats),
        ];
        let fields = written(PROCESS_AND_STATS, &parts.concat());
        let mut message = vec![0; HEADERS];
        message[4..6].copy_from_slice(&family.to_ne_bytes());
        message.extend(fields);
        message
    }

    fn read(message: &[u8], pid: u32) -> Option<(ThreadFields, u64)> {
        counts_in_response(fields_of_response(message, 30)?, pid)
    }

    #[test]
    fn a_response_has_what_threads_of_a_process_did() {
        let expected = ThreadFields {
            queued_ns: 5,
            waits: 6,
            preemptions: 7,
        };
        let message = response(30, &stats());
        assert_eq!(read(&message, 77), Some((expected, 4)));
        // Newer kernels have more at the end.
        let longer = [stats(), vec![9; 64]].concat();
        assert_eq!(read(&response(30, &longer), 77), Some((expected, 4)));
    }

    #[test]
    fn what_is_no_response_about_that_process_is_none() {
        let message = response(30, &stats());
        assert_eq!(read(&message, 78), None);
        // An error has the kind 2, and no fields.
        assert_eq!(read(&response(2, &stats()), 77), None);
        assert_eq!(read(&message[..HEADERS], 77), None);
        // All of these are cut before the last field that is read, or within a field that is
        // longer.
        for length in 0..message.len() {
            assert_eq!(read(&message[..length], 77), None, "{length}");
        }
        assert_eq!(read(&response(30, &stats()[..PREEMPTIONS + 7]), 77), None);
    }

    #[test]
    fn a_field_is_found_among_others() {
        let both = [written(9, &[1]), written(3, &[7, 8])].concat();
        assert_eq!(field(&both, 3), Some(&[7, 8][..]));
        assert_eq!(field(&both, 4), None);
        // A length that leaves no room for the header of the field.
        for length in 0..4_u8 {
            assert_eq!(field(&[length, 0, 3, 0, 1, 2, 3, 4], 3), None);
            assert_eq!(field(&[length, 0, 9, 0, 1, 2, 3, 4], 3), None);
        }
    }

    #[test]
    fn the_kernel_tells_of_processes_that_exist() {
        let Some(stats) = TaskStats::open() else {
            eprintln!("skipped: taskstats is for root, and for kernels that have it");
            return;
        };
        assert!(stats.of(std::process::id()).is_some());
        // No process has this number, and the next request has a response as before.
        assert_eq!(stats.of(u32::MAX / 2), None);
        assert!(stats.of(std::process::id()).is_some());
    }

    proptest! {
        #[test]
        fn no_response_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600), kind in 0..6_u16) {
            let _ = (field(&bytes, kind), thread_fields(&bytes), read(&bytes, 77));
        }

        #[test]
        fn no_change_of_a_response_panics(offset in 0..450_usize, value in any::<u8>()) {
            let mut message = response(30, &stats());
            if let Some(byte) = message.get_mut(offset) {
                *byte = value;
            }
            let _ = read(&message, 77);
        }
    }
}
