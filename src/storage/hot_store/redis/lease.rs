//! Keys that one process at a time holds, and that expire. They fence nothing: they spare double work.

use std::time::Duration;

use ::redis::{Pipeline, Value, pipe};

use super::{Shared, checked, value};
use crate::model::shard::Shard;
use crate::storage::hot_store::StoreError;
use crate::storage::hot_store::listed_users::Turn;

impl Shared {
    /// Takes the key, or goes on holding it, for so long from now.
    pub(super) async fn lease(&self, shard: Shard, key: &str, lasts: Duration) -> Result<Turn, StoreError> {
        let (name, lasts_ms) = (self.name.as_bytes(), lasts.as_millis() as u64);
        let look = async |mut commands: Pipeline| {
            commands.get(key).pttl(key);
            let mut answers = checked::ask(&self.redis, shard, commands).await?;
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
        if value::bytes_or_nil(holder)?.as_deref() != Some(name) {
            // It may expire this moment.
            return Ok(Turn::Taken(Duration::from_millis(value::number(rest).unwrap_or_default())));
        }
        let mut commands = pipe();
        commands.cmd("PEXPIRE").arg(key).arg(lasts_ms);
        checked::ask(&self.redis, shard, commands).await?;
        Ok(Turn::Mine)
    }
}
