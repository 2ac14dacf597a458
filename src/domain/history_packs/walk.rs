//! Searches for users that were never listed, since they were written by gateways that do not carry changes.
//!
//! Each gateway that carries changes has a search done after its start. So there is one after the start of the last of
//! them, and from then on no gateway writes without listing.

use std::time::Duration;

use rand::RngExt;
use tokio::time::sleep;

use super::packer::Packer;
use model::shard::{Shard, Shards};
use storage::hot_store::StoreError;
use storage::turn::Turn;

/// The most that clocks of gateways may differ.
const CLOCKS_DIFFER_MS: u64 = 2_000;
const LEASE: Duration = Duration::from_secs(30);
/// The pause before the next shard, so that beats go first.
const PAUSE: Duration = Duration::from_millis(20);
/// The pause when a part of the store is away.
const AWAY: Duration = Duration::from_secs(2);

impl Packer {
    /// Returns when all shards were searched since the call, by this or another gateway.
    pub(super) async fn walk(&self) {
        let since = self.clock.now() + CLOCKS_DIFFER_MS;
        loop {
            let pause = match self.store.take_walk(since, LEASE).await {
                Ok(Turn::Done) => return,
                Ok(Turn::Taken(rest)) => rest + PAUSE.mul_f64(rand::rng().random_range(1.0..50.0)),
                Ok(Turn::Mine) => {
                    let began = self.clock.now();
                    match self.walk_all(since).await {
                        Ok(listed) if self.store.end_walk(began).await.is_ok() => {
                            if listed > 0 {
                                tracing::info!(
                                    event = "users_listed",
                                    users = listed,
                                    "listed users that were never carried to the history store"
                                );
                            }
                            return;
                        }
                        _ => AWAY,
                    }
                }
                Err(_) => AWAY,
            };
            sleep(pause).await;
        }
    }

    async fn walk_all(&self, since: u64) -> Result<u64, StoreError> {
        let mut listed = 0;
        for shard in Shards::DEFAULT.all() {
            listed += self.walk_shard(shard, since).await?;
            sleep(PAUSE).await;
        }
        Ok(listed)
    }

    async fn walk_shard(&self, shard: Shard, since: u64) -> Result<u64, StoreError> {
        // The lease must not end in the middle.
        if shard.0.is_multiple_of(100) {
            self.store.take_walk(since, LEASE).await?;
        }
        self.store.list_unknown(shard, self.clock.now()).await
    }
}
