//! Recounts by name, which all gateways see: the hash `{h0}:recounts`.

use std::collections::BTreeMap;

use ::redis::{Value, pipe};

use crate::hot_store::keys::{COMMON, Keys};
use crate::value::{self, DecodeError};
use crate::{Redis, checked};
use model::counters::RecountJob;
use storage::hot_store::StoreError;

const MALFORMED: DecodeError = DecodeError("a recount");

pub async fn all(redis: &Redis) -> Result<BTreeMap<String, RecountJob>, StoreError> {
    let mut commands = pipe();
    commands.hgetall(key());
    let answer = checked::ask(redis, COMMON, commands).await?.pop().unwrap_or(Value::Nil);
    let fields = value::texts(answer)?;
    let (pairs, []) = fields.as_chunks::<2>() else { return Err(MALFORMED.into()) };
    let job = |[name, json]: &[String; 2]| Ok((name.clone(), parse(json.as_bytes())?));
    pairs.iter().map(job).collect()
}

pub async fn get(redis: &Redis, name: &str) -> Result<Option<RecountJob>, StoreError> {
    let mut commands = pipe();
    commands.hget(key(), name);
    let answer = checked::ask(redis, COMMON, commands).await?.pop().unwrap_or(Value::Nil);
    Ok(value::bytes_or_nil(answer)?.map(|json| parse(&json)).transpose()?)
}

/// Adds one, and removes those that are too old.
pub async fn add(
    redis: &Redis,
    present: &BTreeMap<String, RecountJob>,
    name: &str,
    job: &RecountJob,
) -> Result<(), StoreError> {
    let mut commands = pipe();
    commands.hset(key(), name, json(job));
    for name in RecountJob::gone(present, job.began) {
        commands.hdel(key(), name);
    }
    checked::ask(redis, COMMON, commands).await.map(drop)
}

pub async fn put(redis: &Redis, jobs: &BTreeMap<String, RecountJob>) -> Result<(), StoreError> {
    if jobs.is_empty() {
        return Ok(());
    }
    let mut commands = pipe();
    for (name, job) in jobs {
        commands.hset(key(), name, json(job));
    }
    checked::ask(redis, COMMON, commands).await.map(drop)
}

fn key() -> String {
    Keys::of(COMMON).recounts()
}

fn parse(json: &[u8]) -> Result<RecountJob, DecodeError> {
    serde_json::from_slice(json).map_err(|_| MALFORMED)
}

fn json(job: &RecountJob) -> Vec<u8> {
    serde_json::to_vec(job).expect("a recount is JSON")
}
