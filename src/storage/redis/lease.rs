//! Keys that one process at a time holds, and that expire. They only spare double work: a holder whose key has expired
//! may still write.

use std::time::Duration;

use ::redis::{Pipeline, Value, from_redis_value, pipe};

use super::{Redis, checked};
use model::shard::Shard;
use storage::store_error::StoreError;
use storage::turn::Turn;

/// Takes the key, or extends it, for this time from now. `name` identifies this process.
pub async fn take(redis: &Redis, shard: Shard, key: &str, name: &str, lasts: Duration) -> Result<Turn, StoreError> {
    let lasts_ms = lasts.as_millis() as u64;
    let look = async |mut commands: Pipeline| {
        commands.get(key).pttl(key);
        let mut answers = checked::ask(redis, shard, commands).await?;
        let (rest, holder) = (answers.pop(), answers.pop());
        Ok::<_, StoreError>((holder.unwrap_or(Value::Nil), rest.unwrap_or(Value::Nil)))
    };
    // Looked at before anything is written: it may be no Redis of ours.
    let (mut holder, mut rest) = look(pipe()).await?;
    if holder == Value::Nil {
        let mut commands = pipe();
        commands.cmd("SET").arg(key).arg(name).arg("NX").arg("PX").arg(lasts_ms);
        (holder, rest) = look(commands).await?;
    }
    if holder != Value::BulkString(name.as_bytes().to_vec()) {
        // It may expire this moment.
        let rest: i64 = from_redis_value(rest).unwrap_or_default();
        return Ok(Turn::Taken(Duration::from_millis(rest.try_into().unwrap_or_default())));
    }
    let mut commands = pipe();
    commands.cmd("PEXPIRE").arg(key).arg(lasts_ms);
    checked::ask(redis, shard, commands).await?;
    Ok(Turn::Mine)
}

/// Deletes the key if this process holds it. If it expires at this moment, the key of another process may be deleted.
pub async fn give_up(redis: &Redis, shard: Shard, key: &str, name: &str) -> Result<(), StoreError> {
    let mut commands = pipe();
    commands.get(key);
    if checked::ask(redis, shard, commands).await?.pop() == Some(Value::BulkString(name.as_bytes().to_vec())) {
        let mut commands = pipe();
        commands.del(key);
        checked::ask(redis, shard, commands).await?;
    }
    Ok(())
}
