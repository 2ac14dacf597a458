//! Commits a group.

use super::Shared;
use crate::storage::hot_store::{Committed, Group, StoreError};

impl Shared {
    pub async fn commit(&self, group: &Group) -> Result<Committed, StoreError> {
        let (committed, claims) = self.users.commit(group).await?;
        claims.into_iter().for_each(|claim| self.outbox.made(claim));
        Ok(committed)
    }
}
