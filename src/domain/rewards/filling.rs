//! Fills the memory from the store, after a start.

use std::sync::Arc;

use super::memory::Memory;
use super::today::Today;
use crate::domain::time::clock::Clock;
use crate::model::shard::Shards;
use crate::storage::hot_store::Claims;

/// Goes through the shards once. Until a shard's turn has come, the store is asked for what its memory does not know;
/// so it is for good when the store does not say.
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
