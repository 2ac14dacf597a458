//! The order in which a user's contents give way to the cap: scores in `{h}:t:<mid>`.
//!
//! A record's score is its `at`. That of a deleted content is its tombstone's less [`DELETED`], so that deleted ones
//! come first. The members are 10 bytes, kind and oid, big-endian: among equal moments they stand in the order of
//! contents. The place of what is in the head is as old as its coming there.

use ::redis::Value;

use super::bytes::DecodeError;
use super::{keys, value};
use crate::model::forgetting::{ContentRow, Eviction};
use crate::model::ids::Content;

/// Above all moments.
const DELETED: i64 = 1 << 48;

pub fn score(row: &ContentRow) -> i64 {
    score_of(row.eviction())
}

pub fn score_of(eviction: Eviction) -> i64 {
    let newest = eviction.newest as i64;
    if eviction.has_record { newest } else { newest - DELETED }
}

/// Members and scores in turn, as Redis answers with them.
pub fn parse(answer: Value) -> Result<Vec<(Eviction, Content)>, DecodeError> {
    let mut words = value::array(answer)?.into_iter().map(value::bytes);
    let mut found = Vec::with_capacity(words.len() / 2);
    while let (Some(content), Some(score)) = (words.next(), words.next()) {
        let content = keys::content_of(&content?).ok_or(DecodeError("a timeline"))?;
        found.push((eviction_of(&score?)?, content));
    }
    Ok(found)
}

/// Of a score as Redis writes it.
pub fn eviction_of(score: &[u8]) -> Result<Eviction, DecodeError> {
    let score: f64 =
        std::str::from_utf8(score).ok().and_then(|text| text.parse().ok()).ok_or(DecodeError("a timeline"))?;
    let score = score as i64;
    let has_record = score >= 0;
    Ok(Eviction { has_record, newest: if has_record { score } else { score + DELETED } as u64 })
}
