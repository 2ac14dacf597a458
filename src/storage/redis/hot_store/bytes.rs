//! Numbers as bytes, as the scripts read and write them: big-endian, as wide as their largest value needs.

use prost::encoding::{decode_varint, encode_varint};

pub use crate::value::DecodeError;

pub fn put<const WIDTH: usize>(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_be_bytes()[8 - WIDTH..]);
}

/// Appends the length of the text in one byte, and then the text.
///
/// # Panics
/// If it is longer than 255 bytes.
pub fn put_short(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.push(u8::try_from(text.len()).expect("ids and numbers are short"));
    bytes.extend_from_slice(text);
}

/// A number of any 64 bits, without its leading zeros.
pub fn put_trimmed(bytes: &mut Vec<u8>, number: u64) {
    let zeros = number.leading_zeros() as usize / 8;
    put_short(bytes, &number.to_be_bytes()[zeros..]);
}

pub fn put_varint(bytes: &mut Vec<u8>, number: u64) {
    encode_varint(number, bytes);
}

/// The unread rest of `what`.
pub struct Reader<'b> {
    rest: &'b [u8],
    what: &'static str,
}

impl<'b> Reader<'b> {
    pub fn of(what: &'static str, rest: &'b [u8]) -> Self {
        Reader { rest, what }
    }

    pub fn malformed(&self) -> DecodeError {
        DecodeError(self.what)
    }

    pub fn bytes(&mut self, count: usize) -> Result<&'b [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(self.malformed())?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.bytes(1)?[0])
    }

    /// Reads a number of `width` bytes, at most eight.
    pub fn number(&mut self, width: usize) -> Result<u64, DecodeError> {
        Ok(self.bytes(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub fn trimmed(&mut self) -> Result<u64, DecodeError> {
        match self.byte()? {
            width @ 0..=8 => self.number(width.into()),
            _ => Err(self.malformed()),
        }
    }

    pub fn short(&mut self) -> Result<&'b [u8], DecodeError> {
        let count = self.byte()?;
        self.bytes(count.into())
    }

    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        decode_varint(&mut self.rest).map_err(|_| DecodeError(self.what))
    }

    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}
