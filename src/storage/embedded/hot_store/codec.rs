//! Rows and keys as bytes.
//!
//! Values are protobuf messages, so that fields can be added. The content of a row is in its key.

use fjall::Slice;
use prost::Message;

use model::forgetting::{ContentRow, UserRow};
use model::ids::{Content, UserId};
use model::outbox_entry::OutboxEntry;
use model::recording::{Recording, Switch};
use model::rewards::calendar::StoredCalendar;
use model::rewards::day::Day;
use storage::outbox::codec as outbox_codec;
use storage::stored_content::StoredContent;

/// User, kind and oid, big-endian: the rows of a user are adjacent, in the order of [`Content`].
pub type ContentKey = [u8; 18];
pub type UserKey = [u8; 8];

/// A value that this program has not written.
#[derive(Debug, thiserror::Error)]
#[error("unreadable stored row: {0}")]
pub struct DecodeError(String);

impl DecodeError {
    pub fn of(what: String) -> Self {
        DecodeError(what)
    }
}

#[derive(Clone, PartialEq, Message)]
struct StoredUser {
    #[prost(uint64, tag = "1")]
    watermark: u64,
    #[prost(uint64, tag = "2")]
    floor: u64,
    /// `at` × 2, + 1 for a pause.
    #[prost(uint64, repeated, tag = "3")]
    switches: Vec<u64>,
    #[prost(uint64, tag = "4")]
    frozen: u64,
    #[prost(uint64, tag = "5")]
    erased: u64,
}

pub fn content_key(user: UserId, content: Content) -> ContentKey {
    let mut key = [0; 18];
    key[..8].copy_from_slice(&user.0.to_be_bytes());
    key[8..10].copy_from_slice(&content.kind.to_be_bytes());
    key[10..].copy_from_slice(&content.oid.to_be_bytes());
    key
}

pub fn user_key(user: UserId) -> UserKey {
    user.0.to_be_bytes()
}

pub fn parse_content_key(key: &[u8]) -> Result<(UserId, Content), DecodeError> {
    let malformed = || DecodeError(format!("its key has {} bytes", key.len()));
    let (user, rest) = key.split_first_chunk::<8>().ok_or_else(malformed)?;
    let (kind, oid) = rest.split_first_chunk::<2>().ok_or_else(malformed)?;
    let oid: &[u8; 8] = oid.try_into().map_err(|_| malformed())?;
    let content = Content { kind: u16::from_be_bytes(*kind), oid: u64::from_be_bytes(*oid) };
    Ok((UserId(u64::from_be_bytes(*user)), content))
}

pub fn parse_number(bytes: &[u8]) -> Result<u64, DecodeError> {
    let number: [u8; 8] = bytes.try_into().map_err(|_| DecodeError(format!("{} bytes for a number", bytes.len())))?;
    Ok(u64::from_be_bytes(number))
}

pub fn parse_content(content: Content, bytes: &[u8]) -> Result<ContentRow, DecodeError> {
    let stored = StoredContent::decode(bytes).map_err(|error| DecodeError(error.to_string()))?;
    stored.row(content).map_err(|error| DecodeError(error.to_string()))
}

pub fn parse_user(bytes: &[u8]) -> Result<UserRow, DecodeError> {
    let stored = StoredUser::decode(bytes).map_err(|error| DecodeError(error.to_string()))?;
    let switches = stored.switches.iter().map(|word| Switch { at: word >> 1, paused: word & 1 == 1 }).collect();
    Ok(UserRow {
        watermark: stored.watermark,
        floor: stored.floor,
        erased: stored.erased,
        recording: Recording::from_parts(switches, stored.frozen),
    })
}

#[derive(Clone, PartialEq, Message)]
struct StoredDay {
    /// Since 1970-01-01.
    #[prost(uint32, tag = "1")]
    day: u32,
    #[prost(string, tag = "2")]
    zone: String,
    #[prost(string, repeated, tag = "3")]
    rules: Vec<String>,
}

pub fn calendar(calendar: &StoredCalendar) -> Slice {
    let StoredCalendar { day, zone, rules } = calendar.clone();
    Slice::from(StoredDay { day: day.number().into(), zone, rules }.encode_to_vec())
}

pub fn outbox_entry(entry: &OutboxEntry) -> Slice {
    Slice::from(outbox_codec::encode(entry))
}

pub fn parse_outbox_entry(bytes: &[u8]) -> Result<OutboxEntry, DecodeError> {
    outbox_codec::decode(bytes).map_err(|error| DecodeError(error.to_string()))
}

pub fn parse_calendar(bytes: &[u8]) -> Result<StoredCalendar, DecodeError> {
    let StoredDay { day, zone, rules } = StoredDay::decode(bytes).map_err(|error| DecodeError(error.to_string()))?;
    let day = u16::try_from(day).map_err(|_| DecodeError(format!("day {day}")))?;
    Ok(StoredCalendar { day: Day::of_number(day), zone, rules })
}

/// Writes rows, and reuses its buffers for the next row.
#[derive(Default)]
pub struct RowWriter {
    content: StoredContent,
    bytes: Vec<u8>,
}

impl RowWriter {
    pub fn content(&mut self, row: &ContentRow) -> Slice {
        self.content.set(row);
        self.bytes.clear();
        self.content.encode(&mut self.bytes).expect("a Vec takes what it is given");
        Slice::from(self.bytes.as_slice())
    }

    pub fn user(&mut self, row: &UserRow) -> Slice {
        let switches = row.recording.switches().iter();
        let stored = StoredUser {
            watermark: row.watermark,
            floor: row.floor,
            switches: switches.map(|switch| switch.at << 1 | u64::from(switch.paused)).collect(),
            frozen: row.recording.frozen(),
            erased: row.erased,
        };
        Slice::from(stored.encode_to_vec())
    }
}
