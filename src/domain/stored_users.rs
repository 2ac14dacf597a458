//! The users of the hot store, for exports.

use std::sync::Arc;

use super::store_reads::Unavailable;
use super::time::clock::Clock;
use model::ids::UserId;
use model::page::UsersRequest;
use model::walk::{WalkRequest, Walked};
use storage::hot_store::StoredUsers;

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

    /// The next records of a user, in the order of their contents.
    pub async fn walk(&self, user: UserId, request: WalkRequest) -> Result<Walked, Unavailable> {
        self.store.walk(user, request, self.clock.now()).await.map_err(|error| {
            tracing::warn!(event = "store_read_failed", read = "walk", %error, "store read failed");
            Unavailable
        })
    }
}
