//! The order in which a user's contents are evicted at the cap: scores in `{h}:t:<mid>`.
//!
//! The score of a record is its `at`. The score of a deleted content is the moment of its tombstone less [`DELETED`],
//! so that deleted contents come first. The members are 10 bytes, kind and oid, big-endian: equal moments are in the
//! order of contents. The score of the content in the head is not updated while it is there.

use ::redis::Value;

use super::bytes::DecodeError;
use super::keys;
use crate::value;
use model::forgetting::{ContentRow, Eviction};
use model::ids::Content;

/// More than any moment.
const DELETED: i64 = 1 << 48;

pub fn score(row: &ContentRow) -> i64 {
    score_of(row.eviction())
}

pub fn score_of(eviction: Eviction) -> i64 {
    let newest = eviction.newest as i64;
    if eviction.has_record { newest } else { newest - DELETED }
}

/// Parses an answer of Redis: members and scores alternate.
pub fn parse(answer: Value) -> Result<Vec<(Eviction, Content)>, DecodeError> {
    let mut words = value::array(answer)?.into_iter().map(value::bytes);
    let mut found = Vec::with_capacity(words.len() / 2);
    while let (Some(content), Some(score)) = (words.next(), words.next()) {
        let content = keys::content_of(&content?).ok_or(DecodeError("a timeline"))?;
        found.push((eviction_of(&score?)?, content));
    }
    Ok(found)
}

/// The order of eviction of a score as Redis writes it.
pub fn eviction_of(score: &[u8]) -> Result<Eviction, DecodeError> {
    let score: f64 =
        std::str::from_utf8(score).ok().and_then(|text| text.parse().ok()).ok_or(DecodeError("a timeline"))?;
    let score = score as i64;
    let has_record = score >= 0;
    Ok(Eviction { has_record, newest: if has_record { score } else { score + DELETED } as u64 })
}
