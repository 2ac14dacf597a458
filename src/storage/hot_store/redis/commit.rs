//! Commits a group.

use std::sync::atomic::Ordering;

use super::{Shared, keys};
use crate::model::rewards::claim::Claim;
use crate::storage::hot_store::{Committed, Group, StoreError};

impl Shared {
    pub async fn commit(&self, group: &Group) -> Result<Committed, StoreError> {
        let (committed, claims) = match self.users.store().begin(&group.rewards).await {
            Ok(()) => {
                if self.without_calendar.swap(false, Ordering::Relaxed) {
                    tracing::info!(
                        event = "rewards_resumed",
                        "calendar of the rewards available again; rewards resumed"
                    );
                }
                self.users.commit(group).await?
            }
            Err(error) => self.commit_without_calendar(group, error).await?,
        };
        claims.into_iter().for_each(|claim| self.outbox.made(claim));
        Ok(committed)
    }

    /// At the start of a day, while the node of a Cluster that keeps the calendar is away: as with a full outbox, the beats
    /// of users of other nodes go on, and rewards wait for a later one.
    async fn commit_without_calendar(
        &self,
        group: &Group,
        error: StoreError,
    ) -> Result<(Committed, Vec<Claim>), StoreError> {
        if self.redis.joins_shards() || self.redis.is_connected(keys::COMMON) {
            return Err(error);
        }
        if !self.without_calendar.swap(true, Ordering::Relaxed) {
            tracing::error!(event = "rewards_suspended", %error, "calendar of the rewards unavailable; rewards suspended");
        }
        self.users.commit(&group.without_rewards()).await
    }
}
