//! A value that is replaced if it is still what it was: `SET … IFEQ`, of Valkey 8.1 and Redis 8.4.
//!
//! The deployment key is not checked. It need not be: a missing key is not set, and the expected value must be one that
//! no other client ever writes.

use ::redis::aio::MultiplexedConnection;
use ::redis::{Pipeline, RedisError, Value};

use super::{dial, tag};
use model::shard::Shard;
use storage::hot_store::StoreError;

/// Shards that are tried at the beginning of a connection. Several, since some may be on their way to another node.
const TRIED_MAX: usize = 8;

/// Replaces a string.
#[derive(Debug)]
pub struct Swap {
    /// The shard of the key.
    pub shard: Shard,
    pub key: String,
    /// The expected value, compared byte by byte.
    pub old: Vec<u8>,
    pub new: Vec<u8>,
    /// A sharded channel. The answer has the number of its subscribers after the swap.
    pub channel: Option<String>,
}

/// The result of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// Done. `followers`: the number of subscribers of the channel; 0 without a channel.
    Done { followers: u64 },
    /// Not done: there is another value or none, or the server cannot swap.
    Refused,
}

impl Swap {
    pub(super) fn put(&self, pipeline: &mut Pipeline) {
        pipeline.cmd("SET").arg(&self.key).arg(&self.new).arg("IFEQ").arg(&self.old);
    }
}

/// Whether the server refused the swap as such, and not because of its own state.
pub(super) fn is_refused(answer: &Value) -> bool {
    match answer {
        Value::Nil => true,
        Value::ServerError(error) => is_refusal(error.code()),
        _ => false,
    }
}

/// The key has another type, or the command another syntax.
fn is_refusal(code: &str) -> bool {
    matches!(code, "WRONGTYPE" | "ERR")
}

/// How many have subscribed to each channel, as `PUBSUB SHARDNUMSUB` answers: names and numbers in turn.
pub(super) fn followers(answer: Value) -> Result<Vec<u64>, StoreError> {
    let unexpected = || StoreError::Away("PUBSUB SHARDNUMSUB is answered in an unknown format".to_owned());
    let Value::Array(words) = answer else { return Err(unexpected()) };
    let numbers = words.chunks_exact(2).map(|pair| match pair[1] {
        Value::Int(number) => u64::try_from(number).ok(),
        _ => None,
    });
    numbers.collect::<Option<_>>().ok_or_else(unexpected)
}

/// Whether the server can swap, tried on keys that do not exist, so that nothing is replaced. `None`: not known, since
/// the server takes no writes now.
pub(super) async fn is_known(
    connection: &mut MultiplexedConnection,
    shards: &[Shard],
) -> Result<Option<bool>, RedisError> {
    let apart = shards.len().div_ceil(TRIED_MAX).max(1);
    let mut pipeline = Pipeline::new();
    let mut count = 0;
    for shard in shards.iter().step_by(apart) {
        let key = format!("{}:swap", tag(*shard));
        Swap { shard: *shard, key, old: b"old".to_vec(), new: b"new".to_vec(), channel: None }.put(&mut pipeline);
        count += 1;
    }
    let answers = dial::send(connection, &pipeline, count).await?;
    Ok(answers.iter().find_map(|answer| match answer {
        Value::Nil => Some(true),
        Value::ServerError(error) if error.code() == "ERR" => Some(false),
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscribers_are_counted_by_channel() {
        let name = |name: &str| Value::BulkString(name.as_bytes().to_vec());
        let answer = Value::Array(vec![name("a"), Value::Int(2), name("b"), Value::Int(0)]);
        assert_eq!(followers(answer).unwrap(), [2, 0]);
        assert!(followers(Value::Nil).is_err() && followers(Value::Array(vec![name("a"), Value::Nil])).is_err());
    }
}
