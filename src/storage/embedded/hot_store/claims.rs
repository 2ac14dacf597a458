//! The claims, a table for each day. Old claims are removed with their table, and not key by key.
//!
//! | key | value |
//! |---|---|
//! | shard, user, 0, rule's id | empty |
//! | shard, user, 1, kind, oid, rule's id | empty: a claim by a rule per content |
//!
//! Numbers are big-endian. The claims of a shard are adjacent, so that the gateway's memory is filled shard by shard.
//! The claims of a user are adjacent, too, those of rules per user first.

use fjall::Database;

use super::codec::DecodeError;
use super::day_tables::DayTables;
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::shard::{Shard, Shards};
use storage::hot_store::CLAIM_DAYS;

const PREFIX: &str = "claims-";

const PER_USER: u8 = 0;
const PER_CONTENT: u8 = 1;

pub fn open(database: &Database) -> fjall::Result<DayTables> {
    DayTables::open(database, PREFIX, CLAIM_DAYS)
}

pub fn key(claim: &ClaimKey) -> Vec<u8> {
    let mut key = Vec::with_capacity(21 + claim.rule.len());
    key.extend(user_prefix(claim.user));
    match claim.content {
        None => key.push(PER_USER),
        Some(content) => {
            key.push(PER_CONTENT);
            key.extend(content.kind.to_be_bytes());
            key.extend(content.oid.to_be_bytes());
        }
    }
    key.extend(claim.rule.as_bytes());
    key
}

pub fn shard_prefix(shard: Shard) -> [u8; 2] {
    shard.0.to_be_bytes()
}

/// All claims of a user.
pub fn user_prefix(user: UserId) -> [u8; 10] {
    let mut prefix = [0; 10];
    prefix[..2].copy_from_slice(&shard_prefix(Shards::DEFAULT.of(user)));
    prefix[2..].copy_from_slice(&user.0.to_be_bytes());
    prefix
}

/// The user's claims of rules per user.
pub fn per_user_prefix(user: UserId) -> [u8; 11] {
    let mut prefix = [PER_USER; 11];
    prefix[..10].copy_from_slice(&user_prefix(user));
    prefix
}

pub fn parse_key(day: Day, key: &[u8]) -> Result<ClaimKey, DecodeError> {
    let malformed = || DecodeError::of(format!("the key of a claim, {} bytes", key.len()));
    let (_, rest) = key.split_first_chunk::<2>().ok_or_else(malformed)?;
    let (user, rest) = rest.split_first_chunk::<8>().ok_or_else(malformed)?;
    let (content, rule) = match rest.split_first().ok_or_else(malformed)? {
        (&PER_USER, rule) => (None, rule),
        (&PER_CONTENT, rest) => {
            let (kind, rest) = rest.split_first_chunk::<2>().ok_or_else(malformed)?;
            let (oid, rule) = rest.split_first_chunk::<8>().ok_or_else(malformed)?;
            (Some(Content { kind: u16::from_be_bytes(*kind), oid: u64::from_be_bytes(*oid) }), rule)
        }
        _ => return Err(malformed()),
    };
    let rule = std::str::from_utf8(rule).map_err(|_| malformed())?;
    Ok(ClaimKey { rule: rule.into(), day, user: UserId(u64::from_be_bytes(*user)), content })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let day = Day::of_number(20_000);
        let of_user = ClaimKey { rule: "first-of-day".into(), day, user: UserId(42), content: None };
        let of_content = ClaimKey { content: Some(Content { kind: 1, oid: u64::MAX }), ..of_user.clone() };
        for claim in [of_user, of_content] {
            assert_eq!(parse_key(day, &key(&claim)).unwrap(), claim);
        }
        assert!(parse_key(day, &[0; 9]).is_err());
        assert!(parse_key(day, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]).is_err());
    }
}
