//! Totals of contents: remembered in Redis, or else the stored total plus the sums of the shard.

use std::sync::LazyLock;

use ::redis::{Script, Value};

use super::keys;
use super::stored::StoredTotals;
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, joined};
use model::ids::Content;
use model::sums::{ShardSums, Sum};
use storage::store_error::StoreError;

static TOTALS: LazyLock<Script> = LazyLock::new(|| script(include_str!("totals.lua")));
const MALFORMED: DecodeError = DecodeError("a total of views");

/// The answer of a shard for one content.
enum InShard {
    Total(u64),
    Sums(ShardSums),
}

/// The totals in the order asked; `None`: currently unknown. The shards are read before the store, so that no flight is
/// missed.
pub async fn read(redis: &Redis, stored: &StoredTotals, contents: &[Content]) -> Result<Vec<Option<u64>>, StoreError> {
    let of_shards = read_shards(redis, contents).await?;
    let is_missed = |in_shard: &InShard| matches!(in_shard, InShard::Sums(_));
    let missed = contents.iter().zip(&of_shards).filter(|(_, in_shard)| is_missed(in_shard));
    let mut stored = stored.read(missed.map(|(content, _)| *content).collect()).await.map(Vec::into_iter);
    let total = |in_shard| match in_shard {
        InShard::Total(total) => Some(total),
        InShard::Sums(sums) => {
            let stored = stored.as_mut()?.next()?;
            Some(u64::try_from(sums.upon(stored)).unwrap_or_default())
        }
    };
    Ok(of_shards.into_iter().map(total).collect())
}

async fn read_shards(redis: &Redis, contents: &[Content]) -> Result<Vec<InShard>, StoreError> {
    let mut order: Vec<usize> = (0..contents.len()).collect();
    let shard = |index: &usize| keys::shard_of(contents[*index]);
    order.sort_by_key(shard);
    let parts = joined::split(redis, &mut order, shard, |_| 1);
    let calls = parts.iter().map(|part| {
        let shards = joined::shards(part, shard);
        let mut args = vec![redis.deployment().as_bytes().to_vec()];
        for index in &**part {
            let of_shard = shards.binary_search(&shard(index)).map_or(0, |of_shard| of_shard + 1);
            args.extend([of_shard.to_string(), keys::content(contents[*index])].map(String::into_bytes));
        }
        Call { shards, keys: Vec::new(), args }
    });
    let answers = redis.run(&TOTALS, calls.collect()).await?;
    let mut found: Vec<(usize, InShard)> = Vec::with_capacity(contents.len());
    for (answer, part) in answers.into_iter().zip(parts) {
        let of_part = value::array(answer)?.into_iter().map(in_shard).collect::<Result<Vec<_>, _>>()?;
        found.extend(part.iter().copied().zip(of_part));
    }
    if found.len() != contents.len() {
        return Err(MALFORMED.into());
    }
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, in_shard)| in_shard).collect())
}

fn in_shard(answer: Value) -> Result<InShard, DecodeError> {
    let parts = match answer {
        Value::Array(parts) => parts,
        total => return Ok(InShard::Total(number(total)?.ok_or(MALFORMED)? as u64)),
    };
    let numbers = parts.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let [last, held, flight, flight_restarts, pending, pending_restarts] = numbers[..] else { return Err(MALFORMED) };
    let sum = |by: Option<i64>, restarts: Option<i64>| Some(Sum { restarts: restarts.is_some(), by: by? });
    let flight = held.zip(sum(flight, flight_restarts)).map(|(held, sum)| (held as u64, sum));
    let last = last.ok_or(MALFORMED)? as u64;
    Ok(InShard::Sums(ShardSums { last, flight, pending: sum(pending, pending_restarts) }))
}

/// A decimal number, or nil.
fn number(value: Value) -> Result<Option<i64>, DecodeError> {
    let Some(text) = value::bytes_or_nil(value)? else { return Ok(None) };
    let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or(MALFORMED)
}
