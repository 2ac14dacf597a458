//! The stored entries and state as bytes.
//!
//! | table | key | value |
//! |---|---|---|
//! | `entries-N` | offset, from N on | time, end, the event's JSON |
//! | `state` | `state` | newest, newest_time, written, oldest |
//!
//! All numbers are `u64`, big-endian. `end` is the sum of the lengths of all events ever written, up to and with this
//! one: so two entries tell how much lies between them, without a scan.

use storage::event_bus::Offset;

/// The state of the whole log. Written in one batch with every change of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Kept when the event is removed, so that its offset is not used again. 0 = there was no event yet.
    pub newest: Offset,
    /// When it was published, milliseconds since 1970; does not go back.
    pub newest_time: u64,
    /// Bytes of events ever written.
    pub written: u64,
    /// The oldest kept event; greater than `newest` if none is kept.
    pub oldest: Offset,
}

/// One event with what is kept beside it.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub time: u64,
    pub end: u64,
    pub event: &'a str,
}

/// The stored bytes were not written by this program.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unreadable stored row")]
pub struct DecodeError;

const WORD: usize = size_of::<u64>();

impl Default for State {
    fn default() -> Self {
        State { newest: 0, newest_time: 0, written: 0, oldest: 1 }
    }
}

impl State {
    pub fn to_bytes(self) -> Vec<u8> {
        [self.newest, self.newest_time, self.written, self.oldest].map(u64::to_be_bytes).concat()
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (words, []) = bytes.as_chunks::<WORD>() else { return Err(DecodeError) };
        let [newest, newest_time, written, oldest] =
            <[[u8; WORD]; 4]>::try_from(words).map_err(|_| DecodeError)?.map(u64::from_be_bytes);
        let sound = oldest >= 1 && oldest - 1 <= newest;
        if sound { Ok(State { newest, newest_time, written, oldest }) } else { Err(DecodeError) }
    }
}

impl<'a> Entry<'a> {
    /// The bytes of all events before it.
    pub fn begin(&self) -> u64 {
        self.end - self.event.len() as u64
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.time.to_be_bytes()[..], &self.end.to_be_bytes(), self.event.as_bytes()].concat()
    }

    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (time, rest) = bytes.split_first_chunk().ok_or(DecodeError)?;
        let (end, event) = rest.split_first_chunk().ok_or(DecodeError)?;
        let event = std::str::from_utf8(event).map_err(|_| DecodeError)?;
        let end = u64::from_be_bytes(*end);
        if event.len() as u64 > end {
            return Err(DecodeError);
        }
        Ok(Entry { time: u64::from_be_bytes(*time), end, event })
    }
}

pub fn key(offset: Offset) -> [u8; WORD] {
    offset.to_be_bytes()
}

pub fn parse_key(bytes: &[u8]) -> Result<Offset, DecodeError> {
    bytes.try_into().map(u64::from_be_bytes).map_err(|_| DecodeError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_entries_are_read_as_written() {
        let state = State { newest: 7, newest_time: 1_795_150_000_118, written: 900, oldest: 3 };
        assert_eq!(State::parse(&state.to_bytes()), Ok(state));
        assert_eq!(State::parse(&State::default().to_bytes()), Ok(State::default()));
        let entry = Entry { time: 5, end: u64::MAX, event: "{\"a\":\"ä\"}" };
        assert_eq!(Entry::parse(&entry.to_bytes()), Ok(entry));
        assert_eq!(parse_key(&key(258)), Ok(258));
    }

    #[test]
    fn malformed_bytes_are_refused() {
        let state = State::default().to_bytes();
        assert_eq!(State::parse(&state[1..]), Err(DecodeError));
        assert_eq!(State::parse(&[&state[..], &[0; WORD]].concat()), Err(DecodeError));
        assert_eq!(State::parse(&State { oldest: 3, ..State::default() }.to_bytes()), Err(DecodeError));
        assert_eq!(Entry::parse(&[0; 15]), Err(DecodeError));
        assert_eq!(Entry::parse(&[0xff; 17]), Err(DecodeError));
        assert_eq!(Entry::parse(&[0; 17]), Err(DecodeError));
        assert_eq!(parse_key(b"short"), Err(DecodeError));
    }
}
