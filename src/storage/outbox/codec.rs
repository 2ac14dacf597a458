//! An entry of the outbox as bytes: a protobuf message of its kind, so that fields and kinds can be added.

use std::str::FromStr;
use std::sync::Arc;

use prost::Message;

use model::counters::crossing::Crossing;
use model::counters::{CounterId, CounterKey};
use model::ids::{Content, SessionId, UserId};
use model::outbox_entry::OutboxEntry;
use model::rewards::claim::{Claim, ClaimKey};
use model::rewards::day::Day;

/// Bytes that are no entry of a known kind.
#[derive(Debug, thiserror::Error)]
#[error("unreadable outbox entry: {0}")]
pub struct DecodeError(String);

const CLAIM: u32 = 0;
const CROSSING: u32 = 1;

/// The field that the messages of all kinds share: it says of which kind a message is.
#[derive(Clone, PartialEq, Message)]
struct StoredKind {
    #[prost(uint32, tag = "12")]
    entry_kind: u32,
}

/// Its `entry_kind` is [`CLAIM`], which takes no byte.
#[derive(Clone, PartialEq, Message)]
struct StoredClaim {
    #[prost(string, tag = "1")]
    rule: String,
    /// Days since 1970-01-01.
    #[prost(uint32, tag = "2")]
    day: u32,
    #[prost(fixed64, tag = "3")]
    user: u64,
    /// Whether the rule is one per content.
    #[prost(bool, tag = "4")]
    per_content: bool,
    #[prost(uint32, tag = "5")]
    kind: u32,
    #[prost(uint64, tag = "6")]
    oid: u64,
    #[prost(fixed64, tag = "7")]
    session: u64,
    #[prost(string, tag = "8")]
    device: String,
    #[prost(uint64, tag = "9")]
    watched: u64,
    #[prost(uint64, tag = "10")]
    claimed_at: u64,
    #[prost(string, tag = "11")]
    zone: String,
}

/// A crossed threshold. The values that a script finds are texts in the last fields, so that it can append them to
/// [`crossing_beginning`].
#[derive(Clone, PartialEq, Message)]
struct StoredCrossing {
    #[prost(string, tag = "1")]
    counter: String,
    /// Encoded.
    #[prost(string, tag = "2")]
    key: String,
    #[prost(uint64, tag = "3")]
    at: u64,
    /// [`CROSSING`].
    #[prost(uint32, tag = "12")]
    entry_kind: u32,
    #[prost(string, tag = "13")]
    threshold: String,
    #[prost(string, tag = "14")]
    n: String,
    #[prost(string, tag = "15")]
    value: String,
}

pub fn encode(entry: &OutboxEntry) -> Vec<u8> {
    match entry {
        OutboxEntry::Claim(claim) => encode_claim(claim),
        OutboxEntry::Crossing(crossing) => encode_crossing(crossing),
    }
}

pub fn decode(bytes: &[u8]) -> Result<OutboxEntry, DecodeError> {
    match message::<StoredKind>(bytes)?.entry_kind {
        CLAIM => Ok(OutboxEntry::Claim(decode_claim(bytes)?)),
        CROSSING => Ok(OutboxEntry::Crossing(decode_crossing(bytes)?)),
        kind => Err(DecodeError(format!("unknown kind {kind}"))),
    }
}

fn encode_claim(claim: &Claim) -> Vec<u8> {
    let stored = StoredClaim {
        rule: claim.key.rule.to_string(),
        day: claim.key.day.number().into(),
        user: claim.key.user.0,
        per_content: claim.key.content.is_some(),
        kind: claim.content.kind.into(),
        oid: claim.content.oid,
        session: claim.session.0,
        device: claim.device.to_string(),
        watched: claim.watched,
        claimed_at: claim.claimed_at,
        zone: claim.zone.to_string(),
    };
    stored.encode_to_vec()
}

fn decode_claim(bytes: &[u8]) -> Result<Claim, DecodeError> {
    let stored: StoredClaim = message(bytes)?;
    let number = |number: u32| u16::try_from(number).map_err(|_| DecodeError(format!("{number} in it")));
    let content = Content { kind: number(stored.kind)?, oid: stored.oid };
    Ok(Claim {
        key: ClaimKey {
            rule: stored.rule.into(),
            day: Day::of_number(number(stored.day)?),
            user: UserId(stored.user),
            content: stored.per_content.then_some(content),
        },
        content,
        session: SessionId(stored.session),
        device: Arc::from(stored.device),
        watched: stored.watched,
        claimed_at: stored.claimed_at,
        zone: Arc::from(stored.zone),
    })
}

/// A crossing up to its threshold, `n` and value, which follow as the texts of the fields 13, 14 and 15.
pub fn crossing_beginning(counter: &CounterId, key: &CounterKey, at: u64) -> Vec<u8> {
    beginning(counter, key, at).encode_to_vec()
}

fn beginning(counter: &CounterId, key: &CounterKey, at: u64) -> StoredCrossing {
    let (counter, key) = (counter.to_string(), key.encoded().to_owned());
    StoredCrossing { counter, key, at, entry_kind: CROSSING, ..StoredCrossing::default() }
}

fn encode_crossing(crossing: &Crossing) -> Vec<u8> {
    let stored = StoredCrossing {
        threshold: crossing.threshold.to_string(),
        n: crossing.n.to_string(),
        value: crossing.value.to_string(),
        ..beginning(&crossing.counter, &crossing.key, crossing.at)
    };
    stored.encode_to_vec()
}

fn decode_crossing(bytes: &[u8]) -> Result<Crossing, DecodeError> {
    let stored: StoredCrossing = message(bytes)?;
    Ok(Crossing {
        counter: stored.counter.parse().map_err(|_| DecodeError("the id of a counter".to_owned()))?,
        key: CounterKey::of_encoded(&stored.key),
        value: number(&stored.value)?,
        threshold: number(&stored.threshold)?,
        n: number(&stored.n)?,
        at: stored.at,
    })
}

fn number<N: FromStr>(text: &str) -> Result<N, DecodeError> {
    text.parse().map_err(|_| DecodeError(format!("{text:?} for a number")))
}

fn message<M: Message + Default>(bytes: &[u8]) -> Result<M, DecodeError> {
    M::decode(bytes).map_err(|error| DecodeError(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::crossing;

    #[test]
    fn a_claim_is_read_as_it_is_written() {
        let content = Content { kind: u16::MAX, oid: u64::MAX };
        let key =
            |content| ClaimKey { rule: "first".into(), day: Day::of_number(20_777), user: UserId(1 << 63), content };
        for of_content in [None, Some(content)] {
            let claim = OutboxEntry::Claim(Claim {
                key: key(of_content),
                content,
                session: SessionId(u64::MAX),
                device: "tv".into(),
                watched: u64::MAX,
                claimed_at: 1,
                zone: "UTC".into(),
            });
            assert_eq!(decode(&encode(&claim)).unwrap(), claim);
        }
        assert!(decode(&[0xff; 3]).is_err());
    }

    /// An entry that holds no kind is a claim.
    #[test]
    fn a_claim_has_exactly_these_bytes() {
        let claim = OutboxEntry::Claim(Claim {
            key: ClaimKey { rule: "r".into(), day: Day::of_number(1), user: UserId(2), content: None },
            content: Content { kind: 3, oid: 4 },
            session: SessionId(5),
            device: "d".into(),
            watched: 6,
            claimed_at: 7,
            zone: "z".into(),
        });
        let bytes = b"\x0a\x01r\x10\x01\x19\x02\0\0\0\0\0\0\0\x28\x03\x30\x04\x39\x05\0\0\0\0\0\0\0\
            \x42\x01d\x48\x06\x50\x07\x5a\x01z";
        assert_eq!(encode(&claim), bytes);
        assert_eq!(decode(bytes).unwrap(), claim);
    }

    #[test]
    fn a_crossing_is_read_as_it_is_written() {
        for (parts, threshold) in [(&["1", "a:b"][..], 1_000), (&[], -5)] {
            let entry = OutboxEntry::Crossing(crossing(parts, threshold, u64::MAX));
            assert_eq!(decode(&encode(&entry)).unwrap(), entry);
        }
    }

    #[test]
    fn a_crossing_ends_with_texts() {
        let crossing = Crossing { at: 7, value: -3, ..crossing(&["9"], -5, 1) };
        let beginning = b"\x0a\x05likes\x12\x019\x18\x07\x60\x01";
        assert_eq!(crossing_beginning(&crossing.counter, &crossing.key, 7), beginning);
        let entry = OutboxEntry::Crossing(crossing);
        assert_eq!(encode(&entry), [&beginning[..], b"\x6a\x02-5\x72\x011\x7a\x02-3"].concat());
    }

    #[test]
    fn an_entry_of_an_unknown_kind_is_refused() {
        let error = decode(&StoredKind { entry_kind: 77 }.encode_to_vec()).unwrap_err();
        assert_eq!(error.to_string(), "unreadable outbox entry: unknown kind 77");
    }
}
