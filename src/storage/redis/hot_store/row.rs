//! The row of a content as bytes, the value of a field in `{h}:r:<mid>`.
//!
//! | bytes | what | if |
//! |---|---|---|
//! | 1 | the state, 0 = no record, and flags of the parts that follow | |
//! | 6, 8, 2, 6, 1 + n | at, session; of the credit: day, since, base | a record |
//! | 7 | the version minus at × 1000 | `ABOVE` |
//! | 6, 7 | at and version of the tombstone | `TOMBSTONE` |
//! | 1 + 4 n | marks of rules that claimed on the credit's day | `CLAIMS` |
//! | the rest | position, length and watched as varints, the name of the device | a record |

use std::sync::Arc;

use super::bytes::{self, DecodeError, Reader, put_short, put_trimmed, put_varint};
use model::beat::State;
use model::forgetting::{ContentRow, Tombstone};
use model::ids::{Content, SessionId};
use model::record::Record;
use model::rewards::credit::Credit;
use model::rewards::day::Day;
use model::version::Version;
use storage::hot_store::optimistic::StoredRow;

const STATE: u8 = 0b111;
const ABOVE: u8 = 8;
const TOMBSTONE: u8 = 16;
const CLAIMS: u8 = 32;
/// The most marks in a row: the most rules that can be configured.
const MARKS_MAX: usize = 63;

pub fn encode(stored: &StoredRow) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    put(&mut bytes, stored);
    bytes
}

pub fn put(bytes: &mut Vec<u8>, stored: &StoredRow) {
    let StoredRow { row: ContentRow { record, tombstone }, claims } = stored;
    let above = record.as_ref().map_or(0, |record| record.version.above(Version::first_of(record.at)));
    let part = |there: bool, flag: u8| if there { flag } else { 0 };
    let state = record.as_ref().map_or(0, |record| record.state.number());
    bytes
        .push(state | part(above > 0, ABOVE) | part(tombstone.is_some(), TOMBSTONE) | part(!claims.is_empty(), CLAIMS));
    if let Some(record) = record {
        bytes::put::<6>(bytes, record.at);
        bytes::put::<8>(bytes, record.session.0);
        bytes::put::<2>(bytes, record.credit.day.number().into());
        bytes::put::<6>(bytes, record.credit.since);
        put_trimmed(bytes, record.credit.base);
    }
    if above > 0 {
        bytes::put::<7>(bytes, above);
    }
    if let Some(tombstone) = tombstone {
        bytes::put::<6>(bytes, tombstone.at);
        bytes::put::<7>(bytes, tombstone.version.0);
    }
    if !claims.is_empty() {
        let marks: Vec<u8> = claims.iter().take(MARKS_MAX).flat_map(|mark| mark.to_be_bytes()).collect();
        put_short(bytes, &marks);
    }
    if let Some(record) = record {
        put_varint(bytes, record.pos);
        put_varint(bytes, record.dur);
        put_varint(bytes, record.watched);
        bytes.extend_from_slice(record.device.as_bytes());
    }
}

pub fn parse(content: Content, bytes: &[u8]) -> Result<StoredRow, DecodeError> {
    let mut row = Reader::of("a content", bytes);
    let flags = row.byte()?;
    let begun = match flags & STATE {
        0 => None,
        state => Some((State::of_number(state).ok_or(row.malformed())?, begin(&mut row)?)),
    };
    let above = if flags & ABOVE == 0 { 0 } else { row.number(7)? };
    let tombstone = match flags & TOMBSTONE {
        0 => None,
        _ => Some(Tombstone { at: row.number(6)?, version: Version(row.number(7)?) }),
    };
    let marks = if flags & CLAIMS == 0 { &[] } else { row.short()? };
    let claims = marks.chunks_exact(4).map(|mark| mark.iter().fold(0, |mark, byte| mark << 8 | u32::from(*byte)));
    let claims = claims.collect();
    let Some((state, (at, session, credit))) = begun else {
        return Ok(StoredRow { row: ContentRow { record: None, tombstone }, claims });
    };
    let (pos, dur, watched) = (row.varint()?, row.varint()?, row.varint()?);
    let device = std::str::from_utf8(row.rest()).map_err(|_| DecodeError("a content"))?;
    let version = Version::first_of(at).raised(above);
    let device = Arc::from(device);
    let record = Record { content, pos, dur, state, session, device, watched, at, version, credit };
    Ok(StoredRow { row: ContentRow { record: Some(record), tombstone }, claims })
}

fn begin(row: &mut Reader<'_>) -> Result<(u64, SessionId, Credit), DecodeError> {
    let (at, session) = (row.number(6)?, SessionId(row.number(8)?));
    let (day, since, base) = (Day::of_number(row.number(2)? as u16), row.number(6)?, row.trimmed()?);
    Ok((at, session, Credit { day, since, base }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn stored() -> (Content, StoredRow) {
        let content = Content { kind: 2, oid: u64::MAX };
        let record = Record {
            content,
            pos: 1_500,
            dur: 0,
            state: State::Paused,
            session: SessionId(u64::MAX),
            device: Arc::from("tv"),
            watched: u64::MAX,
            at: 7_000,
            version: Version(7_000_003),
            credit: Credit { day: Day::of_number(20_777), since: 6_000, base: 1 << 60 },
        };
        let tombstone = Some(Tombstone { at: 6_999, version: Version(6_999_999) });
        (content, StoredRow { row: ContentRow { record: Some(record), tombstone }, claims: vec![1, u32::MAX] })
    }

    #[test]
    fn a_row_is_read_as_written() {
        let (content, whole) = stored();
        let deleted = StoredRow { row: ContentRow { record: None, ..whole.row.clone() }, claims: Vec::new() };
        for row in [whole, deleted, StoredRow::default()] {
            assert_eq!(parse(content, &encode(&row)), Ok(row));
        }
        assert!(parse(content, &[]).is_err() && parse(content, &[1, 2, 3]).is_err() && parse(content, &[5]).is_err());
    }
}
