//! Requests: converts the head of HTTP/1 to a header block.
//!
//! No field enters the dynamic table of the peer: a request always has the same length, and none
//! depends on those before it.

use super::block::CONNECTION_FIELDS;
use super::table::index_of_name;

const AUTHORITY: u8 = 1;
const METHOD: u8 = 2;
const PATH: u8 = 4;

/// Appends the header block of a request whose head is `head`, the empty line included or not.
/// Fields are taken as [`write_head`](crate::request::write_head) writes them; `Host` becomes
/// `:authority`.
pub fn append_request_block(out: &mut Vec<u8>, head: &[u8], is_https: bool) {
    let lines = head.split(|&byte| byte == b'\n');
    let mut lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut words = lines.next().unwrap_or_default().split(|&byte| byte == b' ');
    match words.next().unwrap_or_default() {
        b"GET" => out.push(0x82),
        b"POST" => out.push(0x83),
        method => append_indexed(out, METHOD, method),
    }
    out.push(if is_https { 0x87 } else { 0x86 });
    append_indexed(out, PATH, words.next().unwrap_or_default());
    let fields = lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    });
    let is_host = |name: &[u8]| name.eq_ignore_ascii_case(b"host");
    if let Some((_, host)) = fields.clone().find(|(name, _)| is_host(name)) {
        append_indexed(out, AUTHORITY, host);
    }
    for (name, value) in fields {
        let is_name = |field: &&[u8]| name.eq_ignore_ascii_case(field);
        if is_host(name) || CONNECTION_FIELDS.iter().any(is_name) {
            continue;
        }
        let start = out.len();
        out.push(0);
        append_string(out, name);
        out[start + 1..].make_ascii_lowercase();
        // Names that have an index are short enough for one byte of length.
        if let Some(index) = index_of_name(&out[start + 2..]) {
            out.truncate(start);
            let is_secret = index == AUTHORIZATION;
            let leading = if is_secret { NEVER_INDEXED } else { 0 };
            append_integer(out, index.into(), 4, leading);
        }
        append_string(out, value);
    }
}

/// Index of `authorization`: intermediaries must not store credentials in their tables (RFC 7541,
/// section 7.1.3).
const AUTHORIZATION: u8 = 23;
const NEVER_INDEXED: u8 = 0x10;

/// Appends a field whose name is in the static table, not to be added to the dynamic one.
fn append_indexed(out: &mut Vec<u8>, name: u8, value: &[u8]) {
    append_integer(out, name.into(), 4, 0);
    append_string(out, value);
}

fn append_string(out: &mut Vec<u8>, string: &[u8]) {
    append_integer(out, string.len(), 7, 0);
    out.extend_from_slice(string);
}

/// Appends an integer of which the first byte has `bits` bits, after those of `leading` (RFC 7541,
/// section 5.1).
fn append_integer(out: &mut Vec<u8>, value: usize, bits: u32, leading: u8) {
    let mask = (1 << bits) - 1;
    if value < mask {
        return out.push(leading | value as u8);
    }
    out.push(leading | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_of_http1_becomes_a_block() {
        let head = b"PROPFIND /dav/a%20b HTTP/2\r\nHost: example.org:81\r\nDepth: 1\r\nConnection: close\r\n\
                     Transfer-Encoding: chunked\r\nUser-Agent: x\r\nAuthorization: Basic eA==\r\n\r\n";
        let mut block = Vec::new();
        append_request_block(&mut block, head, false);
        let expected =
            b"\x02\x08PROPFIND\x86\x04\x0a/dav/a%20b\x01\x0eexample.org:81\x00\x05depth\x011\
                         \x0f\x2b\x01x\x1f\x08\x0aBasic eA==";
        assert_eq!(
            block.escape_ascii().to_string(),
            expected.escape_ascii().to_string()
        );
    }

    #[test]
    fn long_strings_have_their_length_in_several_bytes() {
        let path = format!("/{}", "x".repeat(400));
        let mut block = Vec::new();
        let head = format!("GET {path} HTTP/2\r\n");
        append_request_block(&mut block, head.as_bytes(), true);
        // 401 is 127 + 146 + 1 * 128.
        assert_eq!(block[..6], [0x82, 0x87, 0x04, 0x7f, 0x92, 0x02]);
        assert_eq!(block.len(), 6 + path.len());
    }
}
