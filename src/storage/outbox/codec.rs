//! A claim as bytes: a protobuf message, so that fields can be added.
//!
//! In two parts that follow each other, since a message may be cut between any two fields: what a rule says of all its
//! claims, and what a beat says whatever the rule.

use std::sync::Arc;

use prost::Message;

use crate::model::ids::{Content, SessionId, UserId};
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::day::Day;

/// Bytes that are no claim.
#[derive(Debug, thiserror::Error)]
#[error("unreadable stored claim: {0}")]
pub struct DecodeError(String);

#[derive(Clone, PartialEq, Message)]
struct StoredClaim {
    #[prost(string, tag = "1")]
    rule: String,
    /// Days since 1970-01-01.
    #[prost(uint32, tag = "2")]
    day: u32,
    #[prost(fixed64, tag = "3")]
    user: u64,
    /// Of a rule per content.
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

pub fn encode(claim: &Claim) -> Vec<u8> {
    let mut bytes = rule_part(&claim.key.rule, claim.key.content.is_some());
    bytes.extend(beat_part(claim));
    bytes
}

/// What is the same in all claims of a rule.
pub fn rule_part(rule: &str, per_content: bool) -> Vec<u8> {
    StoredClaim { rule: rule.to_owned(), per_content, ..StoredClaim::default() }.encode_to_vec()
}

/// What is the same in the claims of all rules that one beat makes.
pub fn beat_part(claim: &Claim) -> Vec<u8> {
    let stored = StoredClaim {
        rule: String::new(),
        day: claim.key.day.number().into(),
        user: claim.key.user.0,
        per_content: false,
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

pub fn decode(bytes: &[u8]) -> Result<Claim, DecodeError> {
    let stored = StoredClaim::decode(bytes).map_err(|error| DecodeError(error.to_string()))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_as_it_is_written() {
        let content = Content { kind: u16::MAX, oid: u64::MAX };
        let key =
            |content| ClaimKey { rule: "first".into(), day: Day::of_number(20_777), user: UserId(1 << 63), content };
        for of_content in [None, Some(content)] {
            let claim = Claim {
                key: key(of_content),
                content,
                session: SessionId(u64::MAX),
                device: "tv".into(),
                watched: u64::MAX,
                claimed_at: 1,
                zone: "UTC".into(),
            };
            assert_eq!(decode(&encode(&claim)).unwrap(), claim);
        }
        assert!(decode(&[0xff; 3]).is_err());
    }
}
