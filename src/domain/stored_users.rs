//! The users of the hot store, for exports.

use std::sync::Arc;

use super::cold::ColdReader;
use super::store_reads::Unavailable;
use super::time::clock::Clock;
use model::ids::UserId;
use model::page::UsersRequest;
use model::walk::{WalkRequest, Walked};
use storage::hot_store::{StoreError, StoredUsers};

#[derive(Clone)]
pub struct Users {
    pub store: Arc<dyn StoredUsers>,
    pub clock: Arc<Clock>,
    /// With a history store.
    pub cold: Option<Arc<ColdReader>>,
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
        let walked = async {
            let walked = self.store.walk(user, request.clone(), self.clock.now()).await?;
            match &self.cold {
                Some(cold) => cold.walk(user, &request, walked).await,
                None => Ok(Walked { partial: walked.cold.is_some() || walked.partial, cold: None, ..walked }),
            }
        };
        walked.await.map_err(|error: StoreError| {
            tracing::warn!(event = "store_read_failed", read = "walk", %error, "store read failed");
            Unavailable
        })
    }
}
