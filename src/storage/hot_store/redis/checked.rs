//! Commands to a Redis that is known to be the one that was prepared: one that was wiped would answer that there is
//! nothing. What is sent with the question is done before its answer is known, so it must be harmless elsewhere.

use ::redis::{Pipeline, Value, pipe};

use super::keys::Keys;
use super::value;
use crate::model::shard::Shard;
use crate::storage::hot_store::StoreError;
use crate::storage::redis::Redis;

/// Sends commands about keys of one shard; answers in their order.
pub async fn ask(redis: &Redis, shard: Shard, commands: Pipeline) -> Result<Vec<Value>, StoreError> {
    let key = Keys::of(shard).deployment();
    let mut all = pipe();
    all.get(&key);
    for command in commands.cmd_iter() {
        all.add_command(command.clone());
    }
    let mut answers = redis.ask(shard, all).await?;
    let found = value::bytes_or_nil(answers.remove(0))?;
    if found.as_deref() != Some(redis.deployment().as_bytes()) {
        return Err(StoreError::Away(format!("{key} is missing or belongs to another deployment")));
    }
    Ok(answers)
}
