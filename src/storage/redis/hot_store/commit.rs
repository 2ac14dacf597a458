//! Commits a group.

use super::Shared;
use model::outbox_entry::OutboxEntry;
use storage::hot_store::{Committed, Group, StoreError};

impl Shared {
    pub async fn commit(&self, group: &Group) -> Result<Committed, StoreError> {
        let (committed, claims) = self.users.commit(group).await?;
        claims.into_iter().map(OutboxEntry::Claim).for_each(|entry| self.outbox.made(entry));
        Ok(committed)
    }
}
