//! Fills the memory from the store after a start.

use std::sync::Arc;

use super::memory::Memory;
use super::today::Today;
use crate::time::clock::Clock;
use model::shard::Shards;
use storage::hot_store::Claims;

/// Reads the shards once, one after the other. Until a shard is read, the store is asked for claims that its memory
/// does not know; if the read fails, it is asked for the rest of the day.
pub async fn fill(memory: Arc<Memory>, store: Arc<dyn Claims>, today: Arc<Today>, clock: Arc<Clock>) {
    let mut claims = 0;
    for shard in Shards::DEFAULT.all() {
        loop {
            let (ticket, day) = (memory.ticket_of(shard), today.day(clock.now()));
            match store.claims_in(shard, day).await {
                Ok(keys) => {
                    let count = keys.len();
                    if memory.fill(shard, day, keys, ticket) {
                        claims += count;
                        break;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, shard = shard.0, "cannot load the claims of a shard; asking the store instead");
                    break;
                }
            }
        }
    }
    tracing::debug!(claims, "loaded the claims of today");
}
