//! The names of all keys. Each has its shard's hash tag, so that one script may use all keys of a change, in a Cluster,
//! too.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:h:<mid>` | the user's head: token, forgetting, the content being played with its row | string |
//! | `{h}:r:<mid>` | the user's other rows, by content | hash |
//! | `{h}:t:<mid>` | the user's contents, in the order of eviction at the cap | sorted set |
//! | `{h}:k:<mid>` | the user's [cold filter](storage::hot_store::cold_filter::ColdFilter) | string |
//! | `{h}:x` | the shard's users, by the time of their next look for expired and cleared records | sorted set |
//! | `{h}:d` | the shard's users with changes, by when these are due to be carried to the history store | sorted set |
//! | `{h}:p:<mid>` | the user's contents that have changed outside the head, by the version of the token that wrote them; `*` = all | sorted set |
//! | `{h}:c:<day>` | the rules that have claims on the day | hash |
//! | `{h}:c:<day>:<rule>` | users who claimed by a rule per user | set of signed 64-bit decimals |
//! | `{h}:w:<day>:<mid>` | claims per content that are kept exactly | hash |
//! | `{h}:b:<day>:<rule>` | the filter of a rule per content | string |
//! | `{h}:o` | the outbox, by the time when its entries were made | sorted set |
//! | `{h}:e` | notices, by when they are due | sorted set |
//! | `{h}:g` | the generations of counters that commits add to, such as `3,4` | string |
//! | `{h0}:counters` | the generations with their definitions, as JSON | string |
//! | `{h0}:recounts` | recounts of counters by name, as JSON | hash |
//! | `{h0}:count` | the gateway that counts all records | string that expires |
//! | `{h0}:calendar` | the newest day on which anything was committed | hash |
//! | `{h0}:filters:<day>` | the measures of the day's filters, by rule | hash |
//! | `{h}:pack` | the gateway that carries the changes of the region, in its first shard | string that expires |
//! | `{h0}:walk`, `{h0}:walked` | the gateway that searches for users never listed; the start of the last search | string |
//! | `{h}:look`, `{h}:looked` | in a region's first shard: the gateway that compares its users with the history store; the start of the last time | string |
//! | `{h0}:notices` | the gateway that publishes notices | string that expires |
//! | `{h0}:rebuild` | how far `heartline rebuild` has read the events of each part | hash |
//! | `{h0}:takeover` | the gateway that publishes old outbox entries of other gateways | string that expires |
//!
//! The mid is decimal; a day is `2026-11-20`. The sharded channel `{h}:n:<mid>` announces changes of a user.

use std::fmt;

use crate::tag;
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use model::shard::{Shard, Shards};

/// The shard of the calendar and the lock of the takeover.
pub const COMMON: Shard = Shard(0);

/// Writes the keys of one shard.
pub struct Keys(String);

impl Keys {
    pub fn of(shard: Shard) -> Self {
        Keys(tag(shard))
    }

    pub fn takeover(&self) -> String {
        self.name(format_args!("takeover"))
    }

    pub fn pack(&self) -> String {
        self.name(format_args!("pack"))
    }

    pub fn walk(&self) -> String {
        self.name(format_args!("walk"))
    }

    pub fn walked(&self) -> String {
        self.name(format_args!("walked"))
    }

    pub fn look(&self) -> String {
        self.name(format_args!("look"))
    }

    pub fn looked(&self) -> String {
        self.name(format_args!("looked"))
    }

    pub fn head(&self, user: UserId) -> String {
        self.name(format_args!("h:{}", user.0))
    }

    pub fn rows(&self, user: UserId) -> String {
        self.name(format_args!("r:{}", user.0))
    }

    pub fn timeline(&self, user: UserId) -> String {
        self.name(format_args!("t:{}", user.0))
    }

    pub fn cold_filter(&self, user: UserId) -> String {
        self.name(format_args!("k:{}", user.0))
    }

    pub fn looks(&self) -> String {
        self.name(format_args!("x"))
    }

    pub fn listed(&self) -> String {
        self.name(format_args!("d"))
    }

    pub fn marks(&self, user: UserId) -> String {
        self.name(format_args!("p:{}", user.0))
    }

    pub fn rules(&self, day: Day) -> String {
        self.name(format_args!("c:{day}"))
    }

    pub fn claimants(&self, day: Day, rule: &str) -> String {
        self.name(format_args!("c:{day}:{rule}"))
    }

    pub fn contents_claimed(&self, day: Day, user: UserId) -> String {
        self.name(format_args!("w:{day}:{}", user.0))
    }

    pub fn filter(&self, day: Day, rule: &str) -> String {
        self.name(format_args!("b:{day}:{rule}"))
    }

    pub fn filters(&self, day: Day) -> String {
        self.name(format_args!("filters:{day}"))
    }

    pub fn outbox(&self) -> String {
        self.name(format_args!("o"))
    }

    pub fn notices(&self) -> String {
        self.name(format_args!("e"))
    }

    pub fn notices_turn(&self) -> String {
        self.name(format_args!("notices"))
    }

    pub fn channel(&self, user: UserId) -> String {
        self.name(format_args!("n:{}", user.0))
    }

    pub fn calendar(&self) -> String {
        self.name(format_args!("calendar"))
    }

    pub fn pair(&self) -> String {
        self.name(format_args!("g"))
    }

    pub fn generations(&self) -> String {
        self.name(format_args!("counters"))
    }

    pub fn recounts(&self) -> String {
        self.name(format_args!("recounts"))
    }

    pub fn count(&self) -> String {
        self.name(format_args!("count"))
    }

    fn name(&self, rest: fmt::Arguments<'_>) -> String {
        format!("{}:{rest}", self.0)
    }
}

pub fn shard_of(user: UserId) -> Shard {
    Shards::DEFAULT.of(user)
}

/// The user as a member of a set of claimants: Redis stores a set of signed 64-bit decimals compactly, as integers.
pub fn claimant(user: UserId) -> String {
    user.0.cast_signed().to_string()
}

pub fn claimant_of(member: &[u8]) -> Option<UserId> {
    let number: i64 = std::str::from_utf8(member).ok()?.parse().ok()?;
    Some(UserId(number.cast_unsigned()))
}

/// Kind and oid, big-endian, so that bytes have the order of contents.
pub fn content(content: Content) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[..2].copy_from_slice(&content.kind.to_be_bytes());
    bytes[2..].copy_from_slice(&content.oid.to_be_bytes());
    bytes
}

pub fn content_of(bytes: &[u8]) -> Option<Content> {
    let (kind, oid) = bytes.split_first_chunk::<2>()?;
    Some(Content { kind: u16::from_be_bytes(*kind), oid: u64::from_be_bytes(oid.try_into().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_as_they_are_written() {
        for number in [0, 1, (1 << 53) + 1, i64::MAX as u64, 1 << 63, u64::MAX] {
            assert_eq!(claimant_of(claimant(UserId(number)).as_bytes()), Some(UserId(number)));
            let content_there = Content { kind: number as u16, oid: number };
            assert_eq!(content_of(&content(content_there)), Some(content_there));
        }
        assert_eq!((claimant_of(b"x"), content_of(b"123456789")), (None, None));
    }
}
