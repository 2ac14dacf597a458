//! The names of the keys of direct counters. Scripts make them, too, from the hash tag of the shard.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:cv:<counter>` | the keys of the shard (`1!100`), by their negated values | sorted set |
//! | `{h}:cx:<counter>` | how often thresholds were crossed, by threshold and key (`1000 1!100`) | hash |
//! | `{h}:cr:<counter>:<id>` | a request that was done: time, what was added, value, key | string that expires |
//! | `{h}:ch:<counter>:<id>` | in the shard of the id: the request that holds it, with time, a word of its own, what is added, key | string that expires |
//! | `{h}:o` | the outbox of the shard, which claims share | sorted set |

use crate::tag;
use model::counters::CounterId;
use model::shard::Shard;

pub fn values(shard: Shard, counter: &CounterId) -> String {
    format!("{}:cv:{counter}", tag(shard))
}

pub fn crossings(shard: Shard, counter: &CounterId) -> String {
    format!("{}:cx:{counter}", tag(shard))
}

pub fn request(shard: Shard, counter: &CounterId, id: &str) -> String {
    format!("{}:cr:{counter}:{id}", tag(shard))
}

pub fn hold(shard: Shard, counter: &CounterId, id: &str) -> String {
    format!("{}:ch:{counter}:{id}", tag(shard))
}

pub fn outbox(shard: Shard) -> String {
    format!("{}:o", tag(shard))
}
