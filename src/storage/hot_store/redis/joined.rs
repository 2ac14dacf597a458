//! What goes together into one call.
//!
//! A call costs as much as what it is about, so that one for many is worth having. In a Cluster there is one for each
//! shard: they are of several slots.

use crate::model::shard::Shard;
use crate::storage::redis::Redis;

/// Rows that one call may touch, or as many as one shard's changes do: a script keeps all other calls waiting, with so
/// many beats for 4 to 6 ms.
pub const TOGETHER_MAX: usize = 256;

/// Parts of what is in the order of shards, for one call each. `rows`: so many each may touch.
pub fn split<'a, T>(
    redis: &Redis,
    mut rest: &'a mut [T],
    shard: impl Fn(&T) -> Shard,
    rows: impl Fn(&T) -> usize,
) -> Vec<&'a mut [T]> {
    let joins_shards = redis.joins_shards();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (mut end, mut touched) = (0, 0);
        for of_shard in rest.chunk_by(|one, other| shard(one) == shard(other)) {
            touched += of_shard.iter().map(&rows).sum::<usize>();
            if end > 0 && (!joins_shards || touched > TOGETHER_MAX) {
                break;
            }
            end += of_shard.len();
        }
        let (part, others) = rest.split_at_mut(end);
        parts.push(part);
        rest = others;
    }
    parts
}

/// The shards of a part.
pub fn shards<T>(part: &[T], shard: impl Fn(&T) -> Shard) -> Vec<Shard> {
    part.chunk_by(|one, other| shard(one) == shard(other)).map(|of_shard| shard(&of_shard[0])).collect()
}
