//! The users of the hot store, for exports.

use std::sync::Arc;

use super::store_reads::Unavailable;
use super::time::clock::Clock;
use crate::model::ids::UserId;
use crate::model::page::UsersRequest;
use crate::storage::hot_store::StoredUsers;

#[derive(Clone)]
pub struct Users {
    pub store: Arc<dyn StoredUsers>,
    pub clock: Arc<Clock>,
}

impl Users {
    /// Users with records that reads return, ascending. It may take long: the asker bounds it.
    pub async fn page(&self, request: UsersRequest) -> Result<Vec<UserId>, Unavailable> {
        self.store.users(request, self.clock.now()).await.map_err(|error| {
            tracing::warn!(event = "store_read_failed", read = "users", %error, "store read failed");
            Unavailable
        })
    }
}
