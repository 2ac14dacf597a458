//! The row of a content and the row of a user, as `lua/row.lua` and `lua/user.lua` describe them.
//!
//! What stands behind the optional parts of a row only the gateway reads: position, length and watched as varints, and the
//! name of the device.

use std::sync::Arc;

use super::bytes::{self, Malformed, Reader, put_trimmed, put_varint};
use crate::model::beat::State;
use crate::model::ids::{Content, SessionId};
use crate::model::record::Record;
use crate::model::rewards::credit::Credit;
use crate::model::rewards::day::Day;

const STATE: u8 = 0b111;
const ABOVE: u8 = 8;
const TOMBSTONE: u8 = 16;
const CLAIMS: u8 = 32;

/// What the gateway reads of a row.
pub struct StoredRow {
    pub record: Option<Record>,
    /// Numbers of rules that claimed the content on the day of the record's credit.
    pub claims: Vec<u8>,
}

/// What it reads of a user.
#[derive(Debug, Default, PartialEq)]
pub struct StoredUser {
    pub watermark: u64,
    pub paused: bool,
}

/// A row with this record and no optional part.
pub fn put(bytes: &mut Vec<u8>, record: &Record) {
    bytes.push(record.state.number());
    bytes::put::<6>(bytes, record.at);
    bytes::put::<8>(bytes, record.session.0);
    bytes::put::<2>(bytes, record.credit.day.number().into());
    bytes::put::<6>(bytes, record.credit.since);
    put_trimmed(bytes, record.credit.base);
    put_varint(bytes, record.pos);
    put_varint(bytes, record.dur);
    put_varint(bytes, record.watched);
    bytes.extend_from_slice(record.device.as_bytes());
}

pub fn parse(content: Content, bytes: &[u8]) -> Result<StoredRow, Malformed> {
    let mut row = Reader::of("a content", bytes);
    let flags = row.byte()?;
    if flags & STATE == 0 {
        return Ok(StoredRow { record: None, claims: Vec::new() });
    }
    let state = State::of_number(flags & STATE).ok_or(row.malformed())?;
    let (at, session) = (row.number(6)?, row.number(8)?);
    let (day, since, base) = (row.number(2)?, row.number(6)?, row.trimmed()?);
    let above = if flags & ABOVE == 0 { 0 } else { row.number(7)? };
    if flags & TOMBSTONE != 0 {
        row.bytes(6 + 7)?;
    }
    let claims = if flags & CLAIMS == 0 { &[] } else { row.short()? };
    let (pos, dur, watched) = (row.varint()?, row.varint()?, row.varint()?);
    let device = std::str::from_utf8(row.rest()).map_err(|_| Malformed("a content"))?;
    let record = Record {
        content,
        pos,
        dur,
        state,
        session: SessionId(session),
        device: Arc::from(device),
        watched,
        at,
        version: at * 1000 + above,
        credit: Credit { day: Day::of_number(day as u16), since, base },
    };
    Ok(StoredRow { record: Some(record), claims: claims.to_vec() })
}

pub fn parse_user(bytes: &[u8]) -> Result<StoredUser, Malformed> {
    let mut user = Reader::of("a user", bytes);
    let watermark = user.number(6)?;
    let (_floor, _frozen) = (user.number(6)?, user.number(6)?);
    let mut paused = false;
    while !user.is_empty() {
        let _at = user.number(6)?;
        paused = user.byte()? == 1;
    }
    Ok(StoredUser { watermark, paused })
}
