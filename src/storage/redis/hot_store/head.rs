//! The head of a user as bytes, the value of `{h}:h:<mid>`.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | the token: version 8, writer 8 |
//! | 18 | watermark 6, floor 6, frozen 6 |
//! | 1 + 16 n | the [listing](Listing) and the number n of other recent writers; for each version 8, writer 8 |
//! | 4 or none | the generation of counters, if a bit beside the listing says so |
//! | 6 or none | the newest erasure, likewise |
//! | 14 or none | the [mark of rows that have left](ColdMark), likewise: floor 6, version of the token 8 |
//! | 1 + 7 n | switches of recording: at 6, paused 1 |
//! | the rest | the content being played, 10, and its row; or nothing |
//!
//! `lua/commit.lua` compares the token. A [swap](super::swap) compares the whole head: bytes that differ from those of
//! `encode` cost a script call.

use super::bytes::{DecodeError, Reader, put};
use super::{keys, row};
use model::cold::ColdMark;
use model::forgetting::UserRow;
use model::recording::{Recording, Switch};
use model::version::Version;
use storage::hot_store::optimistic::{Head, Listing, Token};

/// The bit of a listed user, in one byte with the number of writers.
const LISTED: u8 = 128;
const CARRIED: u8 = 64;
/// The bit of a user who belongs to a generation of counters.
const COUNTED: u8 = 32;
/// The bit of a user who was erased.
const ERASED: u8 = 16;
/// The bit of a user of whom rows have left the hot store. Older versions do not know it, and refuse the head.
const COLD: u8 = 8;
const FLAGS: u8 = LISTED | CARRIED | COUNTED | ERASED | COLD;

/// The offset of the byte of the listing.
pub const LISTING_AT: usize = 16 + 18;

/// Whether this byte of a head shows that no gateway that carries changes has ever written the user.
pub fn is_unknown(byte: &[u8]) -> bool {
    matches!(byte, [byte] if byte & (LISTED | CARRIED) == 0)
}

/// The last write of the user, milliseconds, by these first bytes of a head. `None`: there is no head, or it has changes
/// that wait to be carried, or was never carried.
pub fn carried_since(bytes: &[u8]) -> Option<u64> {
    let version: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
    let is_carried = bytes.get(LISTING_AT)? & (LISTED | CARRIED) == CARRIED;
    is_carried.then(|| u64::from_be_bytes(version) / 1_000)
}

pub fn token(bytes: &mut Vec<u8>, token: Token) {
    put::<8>(bytes, token.version.0);
    put::<8>(bytes, token.writer);
}

pub fn encode(head: &Head) -> Vec<u8> {
    let Head { token: newest, writers, listing, generation, forgetting, cold, current } = head;
    let mut bytes = Vec::with_capacity(128);
    token(&mut bytes, *newest);
    put::<6>(&mut bytes, forgetting.watermark);
    put::<6>(&mut bytes, forgetting.floor);
    put::<6>(&mut bytes, forgetting.recording.frozen());
    let listing = match listing {
        Listing::Unknown => 0,
        Listing::Carried => CARRIED,
        Listing::Listed => LISTED,
    };
    let counted = if *generation == 0 { 0 } else { COUNTED };
    let erased = if forgetting.erased == 0 { 0 } else { ERASED };
    let trimmed = if cold.is_none() { 0 } else { COLD };
    bytes.push(listing | counted | erased | trimmed | writers.len() as u8);
    if *generation > 0 {
        put::<4>(&mut bytes, u64::from(*generation));
    }
    if forgetting.erased > 0 {
        put::<6>(&mut bytes, forgetting.erased);
    }
    if let Some(ColdMark { floor, trimmed }) = cold {
        put::<6>(&mut bytes, *floor);
        put::<8>(&mut bytes, trimmed.0);
    }
    writers.iter().for_each(|writer| token(&mut bytes, *writer));
    let switches = forgetting.recording.switches();
    put::<1>(&mut bytes, switches.len() as u64);
    for switch in switches {
        put::<6>(&mut bytes, switch.at);
        bytes.push(u8::from(switch.paused));
    }
    if let Some((content, stored)) = current {
        bytes.extend_from_slice(&keys::content(*content));
        row::put(&mut bytes, stored);
    }
    bytes
}

pub fn decode(bytes: &[u8]) -> Result<Head, DecodeError> {
    let mut head = Reader::of("a user", bytes);
    let token = |head: &mut Reader<'_>| Ok(Token { version: Version(head.number(8)?), writer: head.number(8)? });
    let newest = token(&mut head)?;
    let (watermark, floor, frozen) = (head.number(6)?, head.number(6)?, head.number(6)?);
    let writers = head.byte()?;
    let listing = match writers & (LISTED | CARRIED) {
        0 => Listing::Unknown,
        CARRIED => Listing::Carried,
        LISTED => Listing::Listed,
        _ => return Err(head.malformed()),
    };
    let generation = if writers & COUNTED == 0 { 0 } else { head.number(4)? as u32 };
    let erased = if writers & ERASED == 0 { 0 } else { head.number(6)? };
    let cold = match writers & COLD {
        0 => None,
        _ => Some(ColdMark { floor: head.number(6)?, trimmed: Version(head.number(8)?) }),
    };
    let writers = (0..writers & !FLAGS).map(|_| token(&mut head)).collect::<Result<_, DecodeError>>()?;
    let switch = |head: &mut Reader<'_>| Ok(Switch { at: head.number(6)?, paused: head.byte()? == 1 });
    let switches = (0..head.byte()?).map(|_| switch(&mut head)).collect::<Result<_, DecodeError>>()?;
    let forgetting = UserRow { watermark, floor, erased, recording: Recording::from_parts(switches, frozen) };
    let current = match head.is_empty() {
        true => None,
        false => {
            let content = keys::content_of(head.bytes(10)?).ok_or(head.malformed())?;
            Some((content, row::parse(content, head.rest())?))
        }
    };
    Ok(Head { token: newest, writers, listing, generation, forgetting, cold, current })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_written() {
        let switches = vec![Switch { at: 5, paused: true }, Switch { at: 9, paused: false }];
        let token = |version, writer| Token { version: Version(version), writer };
        let forgetting = UserRow { watermark: 3, floor: 4, erased: 1, recording: Recording::from_parts(switches, 2) };
        let head = Head {
            token: token(u64::MAX, 1),
            writers: vec![token(7, u64::MAX), token(8, 3)],
            listing: Listing::Listed,
            generation: u32::MAX,
            forgetting,
            cold: Some(ColdMark { floor: (1 << 48) - 1, trimmed: Version(u64::MAX - 1) }),
            current: Some(row::tests::stored()),
        };
        assert_eq!(decode(&encode(&head)), Ok(head.clone()));
        let without = Head { current: None, listing: Listing::Carried, generation: 0, ..head };
        assert_eq!(decode(&encode(&without)), Ok(without.clone()));
        let never = UserRow { erased: 0, ..without.forgetting.clone() };
        let without = Head { forgetting: never, cold: None, ..without };
        assert_eq!(decode(&encode(&without)), Ok(without.clone()));
        let bytes = encode(&without);
        (0..bytes.len()).for_each(|length| assert!(decode(&bytes[..length]).is_err(), "{length}"));
    }
}
