//! The generations of counters, as all gateways know them.
//!
//! `{h0}:counters` has their definitions. A change of it comes first; then every shard has the new pair, and refuses what
//! was decided for another one; and then the records are counted.

use std::sync::LazyLock;

use ::redis::{Script, Value, pipe};

use super::keys::{COMMON, Keys};
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, checked, joined};
use model::counters::Generations;
use model::shard::{Shard, Shards};
use storage::hot_store::StoreError;

static REPLACE: LazyLock<Script> = LazyLock::new(|| script(include_str!("lua/generations.lua")));
static NAME: LazyLock<Script> = LazyLock::new(|| script(include_str!("lua/generation_names.lua")));

pub async fn read(redis: &Redis) -> Result<Generations, StoreError> {
    let mut commands = pipe();
    commands.get(Keys::of(COMMON).generations());
    let answer = checked::ask(redis, COMMON, commands).await?.pop().unwrap_or(Value::Nil);
    match value::bytes_or_nil(answer)? {
        None => Ok(Generations::default()),
        Some(json) => Ok(serde_json::from_slice(&json).map_err(|_| DecodeError("generations of counters"))?),
    }
}

/// Replaces the generations, if they are still these. False: another gateway has changed them.
pub async fn replace(redis: &Redis, known: &Generations, new: &Generations) -> Result<bool, StoreError> {
    let json = |generations: &Generations| serde_json::to_vec(generations).expect("definitions are JSON");
    let known = if *known == Generations::default() { Vec::new() } else { json(known) };
    let args = vec![redis.deployment().as_bytes().to_vec(), known, json(new)];
    let call = Call { shards: vec![COMMON], keys: vec![Keys::of(COMMON).generations().into_bytes()], args };
    let answer = redis.run(&REPLACE, vec![call]).await?.pop().unwrap_or(Value::Nil);
    Ok(value::number(answer)? == 1)
}

/// Names the pair in every shard, unless there is a newer one.
pub async fn name_in_all_shards(redis: &Redis, generations: &Generations) -> Result<(), StoreError> {
    let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
    let parts = joined::split(redis, &mut shards, |shard| *shard, |_| 1);
    let args = vec![redis.deployment().as_bytes().to_vec(), generations.pair().into_bytes()];
    let key = |shard: &Shard| Keys::of(*shard).pair().into_bytes();
    let keys = |part: &[Shard]| if redis.joins_shards() { Vec::new() } else { part.iter().map(key).collect() };
    let call = |part: &mut [Shard]| Call { shards: part.to_vec(), keys: keys(part), args: args.clone() };
    redis.run(&NAME, parts.into_iter().map(call).collect()).await.map(drop)
}
