//! Header blocks as they are read (RFC 7541, RFC 9113, section 8.3).

use httlib_huffman::DecoderSpeed;

use super::FrameError;
use super::table::DynamicTable;
use crate::response::{Limits, ProtocolError, ResponseHead, Version, status_code};

/// Connection-specific fields, which HTTP/2 replaces by other means (RFC 9113, section 8.2.2).
pub(super) const CONNECTION_FIELDS: [&[u8]; 5] = [
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
];

/// Decodes the header blocks of a connection: all of them, in their order.
#[derive(Debug, Default)]
pub struct HeaderDecoder {
    table: DynamicTable,
    /// Buffers for strings that are encoded in the block.
    name: Vec<u8>,
    value: Vec<u8>,
}

impl HeaderDecoder {
    /// Replaces the fields of `head` by those of a response. The inner result concerns this
    /// response alone.
    ///
    /// # Errors
    /// The block cannot be decoded; later blocks cannot either.
    pub fn response(
        &mut self,
        block: &[u8],
        limits: Limits,
        head: &mut ResponseHead,
    ) -> Result<Result<(), ProtocolError>, FrameError> {
        head.begin(Version::Http2);
        let (mut bytes, mut wrong) = (0, None);
        self.fields(block, |name, value| {
            bytes += name.len() + value.len();
            if wrong.is_none() {
                wrong = put(head, name, value, bytes, limits).err();
            }
        })?;
        let missing = ProtocolError::Fields("it has no :status");
        let status = (head.status == 0).then_some(missing);
        Ok(wrong.or(status).map_or(Ok(()), Err))
    }

    /// Reads the trailer fields after a body, and drops them.
    ///
    /// # Errors
    /// The block cannot be decoded; later blocks cannot either.
    pub fn trailers(&mut self, block: &[u8]) -> Result<(), FrameError> {
        self.fields(block, |_, _| ())
    }

    /// Calls `each` with every field, of a request or of a response, pseudo-fields included.
    ///
    /// # Errors
    /// The block cannot be decoded; later blocks cannot either.
    pub fn fields(
        &mut self,
        mut block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), FrameError> {
        let mut may_resize = true;
        while let Some(&first) = block.first() {
            if first & 0x80 != 0 {
                let index = integer(&mut block, 7)?;
                let (name, value) = self.table.field(index).ok_or(NO_ENTRY)?;
                each(name, value);
            } else if first & 0xe0 == 0x20 {
                let size = integer(&mut block, 5)?;
                if !may_resize || !self.table.resize(size) {
                    let why = "a table is resized where or to what it must not be";
                    return Err(FrameError::Block(why));
                }
                continue;
            } else {
                let is_kept = first & 0x40 != 0;
                let index = integer(&mut block, if is_kept { 6 } else { 4 })?;
                let name = match index {
                    0 => string(&mut block, &mut self.name)?,
                    _ => self.table.field(index).ok_or(NO_ENTRY)?.0,
                };
                if is_kept {
                    // The insertion may evict the entry that has the name.
                    let name = name.to_vec();
                    let value = string(&mut block, &mut self.value)?;
                    each(&name, value);
                    self.table.insert(&name, value);
                } else {
                    each(name, string(&mut block, &mut self.value)?);
                }
            }
            may_resize = false;
        }
        Ok(())
    }
}

const NO_ENTRY: FrameError = FrameError::Block("an index has no entry");
const CUT_OFF: FrameError = FrameError::Block("it ends within a field");

/// Reads an integer of which the first byte has `bits` bits (RFC 7541, section 5.1).
fn integer(block: &mut &[u8], bits: u32) -> Result<usize, FrameError> {
    let mut next = || {
        let (&byte, rest) = block.split_first().ok_or(CUT_OFF)?;
        *block = rest;
        Ok(usize::from(byte))
    };
    let mask = (1 << bits) - 1;
    let mut value = next()? & mask;
    if value < mask {
        return Ok(value);
    }
    // Four bytes of seven bits suffice for every legitimate length.
    for shift in [0, 7, 14, 21] {
        let byte = next()?;
        value += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(FrameError::Block("an integer is too large"))
}

/// Reads a string (RFC 7541, section 5.2), decoded into `buffer` if it is coded.
fn string<'b, 'a: 'b>(
    block: &mut &'a [u8],
    buffer: &'b mut Vec<u8>,
) -> Result<&'b [u8], FrameError> {
    let is_coded = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(CUT_OFF)?;
    *block = rest;
    if !is_coded {
        return Ok(bytes);
    }
    buffer.clear();
    httlib_huffman::decode(bytes, buffer, DecoderSpeed::FiveBits)
        .map_err(|_| FrameError::Block("a string is not of the Huffman code"))?;
    Ok(buffer)
}

/// Adds a field to the head of a response.
fn put(
    head: &mut ResponseHead,
    name: &[u8],
    value: &[u8],
    bytes: usize,
    limits: Limits,
) -> Result<(), ProtocolError> {
    let wrong = |why| Err(ProtocolError::Fields(why));
    if bytes > limits.head_bytes {
        return Err(ProtocolError::HeadTooLong(limits.head_bytes));
    }
    if name == b":status" {
        if head.status != 0 || !head.headers.is_empty() {
            return wrong(":status is not its first field, or comes twice");
        }
        let Some(status) = str::from_utf8(value).ok().and_then(status_code) else {
            return wrong(":status is not a number of three digits");
        };
        head.status = status;
        return Ok(());
    }
    let is_name = |byte: &u8| crate::request::is_token_byte(*byte) && !byte.is_ascii_uppercase();
    if name.is_empty() || !name.iter().all(is_name) {
        return wrong("the name of a field is not a token in lower case");
    }
    if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return wrong("a value has a line end or a NUL");
    }
    if CONNECTION_FIELDS.contains(&name) {
        return wrong("it has a field of HTTP/1 connections");
    }
    if head.headers.len() == limits.headers {
        return Err(ProtocolError::TooManyHeaders(limits.headers));
    }
    head.headers
        .push(str::from_utf8(name).unwrap_or_default(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(decoder: &mut HeaderDecoder, block: &[u8]) -> Result<String, String> {
        let mut head = ResponseHead::default();
        let decoded = decoder.response(block, Limits::default(), &mut head);
        decoded
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?;
        let fields = head.headers.iter();
        let fields = fields.map(|(name, value)| format!("|{name}={value}"));
        Ok(format!("{}{}", head.status, fields.collect::<String>()))
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }

    /// RFC 7541, appendix C.5 and C.6, with a table of 4096 bytes in the place of one of 256.
    #[test]
    fn examples_of_the_standard_are_decoded() {
        let plain = "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e17\
                     68747470733a2f2f7777772e6578616d706c652e636f6d";
        let coded = "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8\
                     e9ae82ae43d3";
        let expected = "302|cache-control=private|date=Mon, 21 Oct 2013 20:13:21 GMT|location=https://www.example.com";
        for block in [plain, coded] {
            let mut decoder = HeaderDecoder::default();
            assert_eq!(decode(&mut decoder, &hex(block)).as_deref(), Ok(expected));
            // From the table.
            let again = decode(&mut decoder, &hex("4803333037c1c0bf"));
            assert_eq!(again, Ok(expected.replacen("302", "307", 1)));
        }
    }

    #[test]
    fn what_is_malformed_ends_a_stream_or_the_connection() {
        let cases: [(&str, &str); 16] = [
            ("", "it has no :status"),
            ("88 88", "comes twice"),
            ("58 01 78 88", "not its first field"),
            ("48 03 30 39 39", "three digits"),
            ("48 04 32 30 30 30", "three digits"),
            ("88 00 01 41 01 78", "lower case"),
            ("88 00 00 01 78", "lower case"),
            ("88 00 01 61 01 0a", "line end"),
            ("88 39 01 61 88", "resized"),
            ("88 0f 2a 01 61", "of HTTP/1 connections"),
            ("88 be", "no entry"),
            ("80", "no entry"),
            ("88 00 05 61", "within a field"),
            ("ff ff ff ff ff ff", "too large"),
            ("88 00 01 61 84 ff ff ff ff", "Huffman"),
            ("3f e2 1f 88", "resized"),
        ];
        for (block, expected) in cases {
            let error = decode(&mut HeaderDecoder::default(), &hex(block)).unwrap_err();
            assert!(error.contains(expected), "{block}: {error}");
        }
    }
}
