//! Commits a group.

use super::Shared;
use crate::storage::hot_store::{Committed, Group, StoreError};

impl Shared {
    pub async fn commit(&self, group: &Group) -> Result<Committed, StoreError> {
        let (committed, claims) = match self.users.store().begin(&group.rewards).await {
            Ok(()) => self.users.commit(group).await?,
            // The node that keeps the calendar is away, and maybe no other: as with a full outbox, beats go on and rewards
            // wait for a later one.
            Err(StoreError::Away(_)) => self.users.commit(&group.without_rewards()).await?,
            Err(failed) => return Err(failed),
        };
        claims.into_iter().for_each(|claim| self.outbox.made(claim));
        Ok(committed)
    }
}
