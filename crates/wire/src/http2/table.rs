//! The tables of HPACK (RFC 7541, section 2.3).

use std::collections::VecDeque;

/// Bytes that an entry costs in addition to its text (RFC 7541, section 4.1).
const OVERHEAD: usize = 32;
/// Bytes of the dynamic table that a peer may use by default; the default is never changed.
pub(super) const LARGEST: usize = 4096;

/// The dynamic table, the latest entry first. Memory of evicted entries is reused.
#[derive(Debug)]
pub(super) struct DynamicTable {
    entries: VecDeque<TableEntry>,
    spare: Vec<TableEntry>,
    size: usize,
    largest: usize,
}

#[derive(Debug, Default)]
struct TableEntry {
    /// Name and value.
    text: Vec<u8>,
    name: usize,
}

impl Default for DynamicTable {
    fn default() -> DynamicTable {
        DynamicTable {
            entries: VecDeque::new(),
            spare: Vec::new(),
            size: 0,
            largest: LARGEST,
        }
    }
}

impl DynamicTable {
    /// Name and value at an index of both tables, from 1.
    pub(super) fn field(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some((name.as_bytes(), value.as_bytes())),
            None => self
                .entries
                .get(index - STATIC.len())
                .map(|entry| entry.text.split_at(entry.name)),
        }
    }

    /// Puts a field first, and drops those for which there is no room.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        let cost = name.len() + value.len() + OVERHEAD;
        self.make_room(cost);
        if cost > self.largest {
            return;
        }
        let mut entry = self.spare.pop().unwrap_or_default();
        entry.text.clear();
        entry.text.extend_from_slice(name);
        entry.text.extend_from_slice(value);
        entry.name = name.len();
        self.size += cost;
        self.entries.push_front(entry);
    }

    /// Changes the size that the peer uses; false where that is more than permitted.
    pub(super) fn resize(&mut self, largest: usize) -> bool {
        if largest > LARGEST {
            return false;
        }
        self.largest = largest;
        self.make_room(0);
        true
    }

    fn make_room(&mut self, cost: usize) {
        while self.size + cost > self.largest
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.text.len() + OVERHEAD;
            self.spare.push(entry);
        }
    }
}

/// The index of a name in the static table, among those that requests have.
pub(super) fn index_of_name(name: &[u8]) -> Option<u8> {
    Some(match name {
        b"accept" => 19,
        b"accept-encoding" => 16,
        b"accept-language" => 17,
        b"authorization" => 23,
        b"cache-control" => 24,
        b"content-length" => 28,
        b"content-type" => 31,
        b"cookie" => 32,
        b"if-match" => 39,
        b"if-modified-since" => 40,
        b"if-none-match" => 41,
        b"if-range" => 42,
        b"if-unmodified-since" => 43,
        b"range" => 50,
        b"user-agent" => 58,
        _ => return None,
    })
}

/// RFC 7541, appendix A.
const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_requests_have_the_index_of_the_table() {
        for (at, (name, _)) in STATIC.iter().enumerate() {
            if let Some(index) = index_of_name(name.as_bytes()) {
                assert_eq!(usize::from(index), at + 1, "{name}");
            }
        }
    }

    #[test]
    fn entries_go_when_there_is_no_room_for_them() {
        let mut table = DynamicTable::default();
        table.insert(b"a", b"1");
        table.insert(b"b", b"22");
        assert_eq!(table.field(62), Some((&b"b"[..], &b"22"[..])));
        assert_eq!(table.field(63), Some((&b"a"[..], &b"1"[..])));
        assert_eq!((table.field(0), table.field(64)), (None, None));
        assert!(table.resize(40) && !table.resize(LARGEST + 1));
        assert_eq!((table.field(63), table.field(62).is_some()), (None, true));
        // An entry larger than the table empties it (RFC 7541, section 4.4).
        table.insert(&[b'x'; 40], b"");
        assert_eq!((table.field(62), table.size), (None, 0));
    }
}
