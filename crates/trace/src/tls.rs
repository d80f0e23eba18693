//! Records of TLS in one direction: type and length, which are not encrypted (RFC 8446, section
//! 5.1). Pure.

use crate::reassembly::NewBytes;

/// Bytes of the header of a record.
const HEADER: usize = 5;

/// Longest record: 2^14 bytes and the expansion that TLS 1.2 permits (RFC 5246, section 6.2.3).
const LONGEST: i64 = (1 << 14) + 2048;

/// Contents of a record, by its header; TLS 1.3 declares [`TlsContent::ApplicationData`] for all
/// encrypted records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsContent {
    /// 20
    ChangeCipherSpec,
    /// 21
    Alert,
    /// 22
    Handshake,
    /// 23
    ApplicationData,
}

impl TlsContent {
    fn of(number: u8) -> Option<TlsContent> {
        match number {
            20 => Some(TlsContent::ChangeCipherSpec),
            21 => Some(TlsContent::Alert),
            22 => Some(TlsContent::Handshake),
            23 => Some(TlsContent::ApplicationData),
            _ => None,
        }
    }
}

/// A record of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsRecord {
    /// Moment at which its header was complete, in nanoseconds.
    pub at_ns: i64,
    /// Number of the packet that completes its header.
    pub packet: u64,
    /// Its contents.
    pub content: TlsContent,
    /// Bytes behind its header.
    pub length: u16,
}

/// Finds the records of one direction in its bytes, which come in order.
#[derive(Debug, Default)]
pub(crate) struct TlsRecords {
    header: [u8; HEADER],
    in_header: usize,
    content: Option<TlsContent>,
    /// Bytes of the record that are missing.
    left: i64,
    next: Option<i64>,
    /// Headers were not captured: the boundaries of records are unknown.
    is_lost: bool,
    pub(crate) records: Vec<TlsRecord>,
    limit: usize,
    /// Records of application data.
    pub(crate) application_records: u64,
}

/// True if a stream begins with a handshake of TLS.
pub(crate) fn is_tls(captured: &[u8]) -> bool {
    matches!(captured, [22, 3, 0..=4, ..])
}

fn header(bytes: &[u8]) -> Option<(TlsContent, u16)> {
    let [content, 3, 0..=4, high, low] = *bytes.first_chunk::<HEADER>()? else {
        return None;
    };
    let length = u16::from_be_bytes([high, low]);
    let content = TlsContent::of(content)?;
    (i64::from(length) <= LONGEST).then_some((content, length))
}

impl TlsRecords {
    pub(crate) fn new(limit: usize) -> TlsRecords {
        TlsRecords {
            limit,
            ..TlsRecords::default()
        }
    }

    /// Reads bytes. `data` is called with the number of each record of application data, counted
    /// from 1, and how many of the bytes belong to it.
    pub(crate) fn read(&mut self, bytes: &NewBytes, mut data: impl FnMut(u64, i64)) {
        if self.next.is_some_and(|next| next != bytes.offset) {
            self.is_lost = true;
        }
        self.next = Some(bytes.offset + bytes.length);
        if self.is_lost && header(&bytes.captured).is_some() {
            self.is_lost = false;
            self.left = 0;
            self.in_header = 0;
        }
        let mut at = 0;
        while at < bytes.length && !self.is_lost {
            if self.left > 0 {
                let part = self.left.min(bytes.length - at);
                self.left -= part;
                at += part;
                if self.content == Some(TlsContent::ApplicationData) {
                    data(self.application_records, part);
                }
                continue;
            }
            let Some(byte) = bytes.captured.get(at as usize) else {
                self.is_lost = true;
                break;
            };
            self.header[self.in_header] = *byte;
            self.in_header += 1;
            at += 1;
            if self.in_header == HEADER {
                self.in_header = 0;
                self.begin(bytes);
            }
        }
        if self.is_lost && self.application_records > 0 && at < bytes.length {
            data(self.application_records, bytes.length - at);
        }
    }

    fn begin(&mut self, bytes: &NewBytes) {
        let Some((content, length)) = header(&self.header) else {
            self.is_lost = true;
            return;
        };
        self.content = Some(content);
        self.left = i64::from(length);
        self.application_records += u64::from(content == TlsContent::ApplicationData);
        if self.records.len() < self.limit {
            self.records.push(TlsRecord {
                at_ns: bytes.at_ns,
                packet: bytes.packet,
                content,
                length,
            });
        }
    }
}
