//! How far the parts of the bus were read, by which messages they are recognised, and when a cascade last looked at the bus.

use std::sync::LazyLock;

use ::redis::{Script, pipe};

use super::answer::{MALFORMED, Parts};
use super::calls::word;
use super::keys::{self, COMMON};
use crate::script::script;
use crate::{Call, Redis, checked};
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::LogMark;
use storage::store_error::StoreError;

static MOVE: LazyLock<Script> = LazyLock::new(|| script(include_str!("cursor.lua")));

pub async fn cursor(redis: &Redis, part: &Part) -> Result<Offset, StoreError> {
    let mut commands = pipe();
    commands.hget(keys::cursors(), part.as_str());
    let answers = checked::ask(redis, COMMON, commands).await?;
    Ok(Parts::of(::redis::Value::Array(answers))?.number_or_nil()?.unwrap_or(0))
}

pub async fn mark(redis: &Redis, part: &Part) -> Result<Option<LogMark>, StoreError> {
    let mut commands = pipe();
    commands.hget(keys::cursors(), keys::mark(part));
    let answers = checked::ask(redis, COMMON, commands).await?;
    let Some(text) = Parts::of(::redis::Value::Array(answers))?.text_or_nil()? else { return Ok(None) };
    let read = text
        .split_once(' ')
        .and_then(|(offset, hash)| Some(LogMark { offset: offset.parse().ok()?, hash: hash.parse().ok()? }));
    Ok(Some(read.ok_or(MALFORMED)?))
}

pub async fn keep_mark(redis: &Redis, part: &Part, LogMark { offset, hash }: LogMark) -> Result<(), StoreError> {
    let mut commands = pipe();
    commands.hset(keys::cursors(), keys::mark(part), format!("{offset} {hash}"));
    checked::ask(redis, COMMON, commands).await.map(drop)
}

pub async fn move_cursor(redis: &Redis, part: &Part, to: Offset) -> Result<(), StoreError> {
    let args = vec![redis.deployment().as_bytes().to_vec(), word(part), word(to)];
    let call = Call { keys: vec![keys::cursors().into_bytes()], ..Call::of(COMMON, args) };
    let answers = redis.run(&MOVE, vec![call]).await?;
    (answers.len() == 1).then_some(()).ok_or_else(|| MALFORMED.into())
}

pub async fn looked_at(redis: &Redis) -> Result<Option<u64>, StoreError> {
    let mut commands = pipe();
    commands.hget(keys::cursors(), keys::LOOKED);
    let answers = checked::ask(redis, COMMON, commands).await?;
    Ok(Parts::of(::redis::Value::Array(answers))?.number_or_nil()?)
}

pub async fn keep_look(redis: &Redis, at: u64) -> Result<(), StoreError> {
    let mut commands = pipe();
    commands.hset(keys::cursors(), keys::LOOKED, at);
    checked::ask(redis, COMMON, commands).await.map(drop)
}
