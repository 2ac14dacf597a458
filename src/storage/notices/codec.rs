//! A notice as bytes.
//!
//! | first byte | the rest |
//! |---|---|
//! | `u` (at once), `s` (steady), `t` (taken) | of a position: user, kind, oid, each big-endian |
//! | `f` | of a forgetting: a protobuf message |

use prost::Message;

use model::ids::{Content, UserId};
use model::notices::{Forgotten, ForgottenCause, Notice, Noticed};
use model::version::Version;

/// The first byte of a notice of a position that is due at once.
pub const URGENT: u8 = b'u';
/// The first byte of a notice of a position that is due later.
pub const STEADY: u8 = b's';
/// The first byte of a notice of a position that is being told.
pub const TAKEN: u8 = b't';
const FORGOTTEN: u8 = b'f';

const POSITION_BYTES: usize = 1 + 8 + 2 + 8;

/// Bytes that are no notice.
#[derive(Debug, thiserror::Error)]
#[error("unreadable notice")]
pub struct DecodeError;

#[derive(Clone, PartialEq, Message)]
struct StoredForgotten {
    #[prost(fixed64, tag = "1")]
    user: u64,
    /// 1 = delete, 2 = clear, 3 = erase.
    #[prost(uint32, tag = "2")]
    cause: u32,
    #[prost(message, repeated, tag = "3")]
    items: Vec<StoredItem>,
    #[prost(uint64, tag = "4")]
    at: u64,
    #[prost(uint64, tag = "5")]
    version: u64,
}

#[derive(Clone, PartialEq, Message)]
struct StoredItem {
    #[prost(uint32, tag = "1")]
    kind: u32,
    #[prost(uint64, tag = "2")]
    oid: u64,
}

pub fn encode(noticed: &Noticed) -> Vec<u8> {
    match &noticed.notice {
        Notice::Position { user, content } => {
            position(if noticed.steady { STEADY } else { URGENT }, *user, *content).to_vec()
        }
        Notice::Forgotten(forgotten) => {
            let mut bytes = vec![FORGOTTEN];
            stored(forgotten).encode_raw(&mut bytes);
            bytes
        }
    }
}

/// A notice of a position, with this first byte.
pub fn position(first: u8, user: UserId, content: Content) -> [u8; POSITION_BYTES] {
    let mut bytes = [first; POSITION_BYTES];
    bytes[1..9].copy_from_slice(&user.0.to_be_bytes());
    bytes[9..11].copy_from_slice(&content.kind.to_be_bytes());
    bytes[11..].copy_from_slice(&content.oid.to_be_bytes());
    bytes
}

pub fn decode(bytes: &[u8]) -> Result<Notice, DecodeError> {
    match *bytes.first().ok_or(DecodeError)? {
        URGENT | STEADY | TAKEN => {
            let (user, rest) = bytes[1..].split_first_chunk().ok_or(DecodeError)?;
            let (kind, oid) = rest.split_first_chunk().ok_or(DecodeError)?;
            let oid = u64::from_be_bytes(oid.try_into().map_err(|_| DecodeError)?);
            let content = Content { kind: u16::from_be_bytes(*kind), oid };
            Ok(Notice::Position { user: UserId(u64::from_be_bytes(*user)), content })
        }
        FORGOTTEN => {
            let stored = StoredForgotten::decode(&bytes[1..]).map_err(|_| DecodeError)?;
            Ok(Notice::Forgotten(restored(stored)?))
        }
        _ => Err(DecodeError),
    }
}

fn stored(forgotten: &Forgotten) -> StoredForgotten {
    let item = |content: &Content| StoredItem { kind: content.kind.into(), oid: content.oid };
    let cause = match forgotten.cause {
        ForgottenCause::Delete => 1,
        ForgottenCause::Clear => 2,
        ForgottenCause::Erase => 3,
    };
    StoredForgotten {
        user: forgotten.user.0,
        cause,
        items: forgotten.items.iter().map(item).collect(),
        at: forgotten.at,
        version: forgotten.version.0,
    }
}

fn restored(StoredForgotten { user, cause, items, at, version }: StoredForgotten) -> Result<Forgotten, DecodeError> {
    let item = |StoredItem { kind, oid }| u16::try_from(kind).map(|kind| Content { kind, oid });
    let items: Result<_, _> = items.into_iter().map(item).collect();
    let cause = match cause {
        1 => ForgottenCause::Delete,
        2 => ForgottenCause::Clear,
        3 => ForgottenCause::Erase,
        _ => return Err(DecodeError),
    };
    Ok(Forgotten { user: UserId(user), cause, items: items.map_err(|_| DecodeError)?, at, version: Version(version) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Content = Content { kind: u16::MAX, oid: u64::MAX };

    #[test]
    fn a_notice_is_read_as_it_is_written() {
        let positions = [UserId(0), UserId(u64::MAX)].map(|user| Notice::Position { user, content: MOST });
        let forgotten = |cause, items| {
            Notice::Forgotten(Forgotten { user: UserId(u64::MAX), cause, items, at: 5, version: Version(u64::MAX) })
        };
        let forgettings = [
            forgotten(ForgottenCause::Delete, vec![MOST, Content { kind: 0, oid: 0 }]),
            forgotten(ForgottenCause::Clear, vec![]),
            forgotten(ForgottenCause::Erase, vec![]),
        ];
        for notice in positions.into_iter().chain(forgettings) {
            for steady in [false, true] {
                let noticed = Noticed { notice: notice.clone(), steady };
                assert_eq!(decode(&encode(&noticed)).expect("it can be read"), notice);
            }
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in [&b""[..], b"x", b"u", b"u123456789", b"f\xff", b"s1234567890123456789"] {
            assert!(decode(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_position_has_exactly_these_bytes() {
        let content = Content { kind: 1, oid: 2 };
        assert_eq!(&position(TAKEN, UserId(3), content), b"t\0\0\0\0\0\0\0\x03\0\x01\0\0\0\0\0\0\0\x02");
    }
}
