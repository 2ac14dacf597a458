//! Deletes the views of a content in all shards, since any of them may have counted some.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::redis::{Pipeline, Script, Value};
use tokio::time::sleep;

use super::keys;
use crate::script::script;
use crate::sums::keys::state;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, checked, joined};
use model::ids::Content;
use model::shard::{Shard, Shards};
use model::sums::FlightNumber;
use storage::store_error::StoreError;

static DELETE: LazyLock<Script> = LazyLock::new(|| script(include_str!("delete.lua")));
static MARKED: LazyLock<Script> = LazyLock::new(|| script(include_str!("marked.lua")));

/// The pause between two checks that the statistics store has the deletion.
const PAUSE: Duration = Duration::from_millis(50);
/// Shards of one call: each may have some days of the content pending.
const SHARDS_TOGETHER: usize = 32;

/// Returns when the statistics store is known to have the deletion. `flush`: requests a flight soon.
///
/// Flights take some shards each, so one shard alone has the mark that resets the stored views: its own, where the views
/// by request are. With a mark in each, every flight would reset what the one before has written.
pub async fn delete(redis: &Redis, content: Content, flush: impl Fn()) -> Result<(), StoreError> {
    let own = keys::shard_of(content);
    let others = Shards::DEFAULT.all().filter(|shard| *shard != own).collect();
    let before = drop_pending(redis, content, others, None).await?;
    // All that is pending of the content anywhere is later than the deletion now.
    drop_pending(redis, content, vec![own], Some(before)).await?;
    flush();
    let content = keys::content(content).into_bytes();
    while ask(redis, &MARKED, &[own], |_| vec![content.clone()]).await?.contains(&1) {
        sleep(PAUSE).await;
    }
    Ok(())
}

/// Drops what these shards have pending of the content. `mark_after`: also marks the content as deleted, in a flight
/// after this one. Returns the greatest last flight that one of them had: none after it has anything of what was
/// dropped.
async fn drop_pending(
    redis: &Redis,
    content: Content,
    mut open: Vec<Shard>,
    mark_after: Option<FlightNumber>,
) -> Result<FlightNumber, StoreError> {
    let mut greatest = 0;
    while !open.is_empty() {
        // A flight that begins in between takes along sums counted before, so its shard has to be asked again.
        let lasts = lasts(redis, &mut open).await?;
        greatest = lasts.iter().copied().fold(greatest, FlightNumber::max);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let mark = mark_after.map_or_else(<[String; 2]>::default, |after| [now.to_string(), after.to_string()]);
        let answers = ask(redis, &DELETE, &open, |part| {
            let lasts = part.iter().map(|index| lasts[*index].to_string());
            let words = [keys::content(content)].into_iter().chain(mark.clone()).chain(lasts);
            words.map(String::into_bytes).collect()
        });
        let mut done = answers.await?.into_iter();
        open.retain(|_| done.next() == Some(0));
    }
    Ok(greatest)
}

/// The last flight of each shard.
async fn lasts(redis: &Redis, shards: &mut [Shard]) -> Result<Vec<FlightNumber>, StoreError> {
    let mut lasts = Vec::with_capacity(shards.len());
    for part in joined::split(redis, shards, |shard| *shard, |_| 1) {
        let mut commands = Pipeline::with_capacity(part.len());
        for shard in &*part {
            commands.hget(state(*shard), "last");
        }
        for last in checked::ask(redis, part[0], commands).await? {
            let last = value::bytes_or_nil(last)?.unwrap_or_else(|| b"0".to_vec());
            let last = std::str::from_utf8(&last).ok().and_then(|last| last.parse().ok());
            lasts.push(last.ok_or(DecodeError("the number of a flight"))?);
        }
    }
    Ok(lasts)
}

/// The answer of each shard. `args`: the arguments of a call for the shards at these indexes.
async fn ask(
    redis: &Redis,
    script: &Script,
    shards: &[Shard],
    args: impl Fn(&[usize]) -> Vec<Vec<u8>>,
) -> Result<Vec<u64>, StoreError> {
    let together = if redis.joins_shards() { SHARDS_TOGETHER } else { 1 };
    let indexes: Vec<usize> = (0..shards.len()).collect();
    let mut answers = Vec::with_capacity(shards.len());
    for step in indexes.chunks(SHARDS_TOGETHER) {
        let calls = step.chunks(together).map(|part| {
            let mut all = vec![redis.deployment().as_bytes().to_vec()];
            all.extend(args(part));
            Call { shards: part.iter().map(|index| shards[*index]).collect(), keys: Vec::new(), args: all }
        });
        for answer in redis.run(script, calls.collect()).await? {
            let of_shards: Vec<Value> = value::array(answer)?;
            answers.extend(of_shards.into_iter().map(value::number).collect::<Result<Vec<_>, _>>()?);
        }
    }
    match answers.len() == shards.len() {
        true => Ok(answers),
        false => Err(DecodeError("answers of shards").into()),
    }
}
