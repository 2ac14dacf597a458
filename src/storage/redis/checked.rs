//! Commands that are valid only if the deployment key is still there: a wiped Redis would answer that there is no data.
//! The commands are sent in one pipeline with the read of the key, so they must be harmless in another deployment.

use ::redis::{Pipeline, Value, pipe};

use super::{Redis, deployment};
use model::shard::Shard;
use storage::store_error::StoreError;

/// Sends commands about keys of one shard; answers in their order.
pub async fn ask(redis: &Redis, shard: Shard, commands: Pipeline) -> Result<Vec<Value>, StoreError> {
    let key = deployment::key(shard);
    let mut all = pipe();
    all.get(&key);
    for command in commands.cmd_iter() {
        all.add_command(command.clone());
    }
    let mut answers = redis.ask(shard, all).await?;
    let expected = Value::BulkString(redis.deployment().as_bytes().to_vec());
    if answers.remove(0) != expected {
        return Err(StoreError::Away(format!("{key} is missing or belongs to another deployment")));
    }
    Ok(answers)
}
