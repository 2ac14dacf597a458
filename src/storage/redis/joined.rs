//! Which shards are joined into one call of a script.
//!
//! A call has a cost of its own, so one call for many shards saves much. In a Cluster each shard needs its own call,
//! since a call may touch keys of one slot only.

use super::Redis;
use model::shard::Shard;

/// Rows that one call may touch, unless the changes of one shard alone touch more. A script keeps all other calls
/// waiting: with so many beats for 4 to 6 ms.
pub const TOGETHER_MAX: usize = 256;

/// Splits items in the order of shards into parts, one call each. `rows`: how many rows an item may touch.
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
