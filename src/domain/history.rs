//! "Where was I?": reads of the hot store, by the server's clock and within a time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::storage::hot_store::{HotStore, StoreError};

/// How long a read may take before its asker is told to try again.
pub const READ_TIMEOUT: Duration = Duration::from_secs(3);

/// The store did not answer, or not in time. Asking again may help.
#[derive(Debug, thiserror::Error)]
#[error("the store is away")]
pub struct Unavailable;

#[derive(Clone)]
pub struct History {
    store: Arc<dyn HotStore>,
    clock: Arc<Clock>,
}

impl History {
    pub fn new(store: Arc<dyn HotStore>, clock: Arc<Clock>) -> Self {
        History { store, clock }
    }

    /// The live records of these contents, in the order asked.
    pub async fn get(&self, user: UserId, contents: Vec<Content>) -> Result<Vec<Option<Record>>, Unavailable> {
        in_time(self.store.get(user, contents, self.clock.now())).await
    }

    /// A page of the user's list, newest first.
    pub async fn list(&self, user: UserId, request: PageRequest) -> Result<Page, Unavailable> {
        in_time(self.store.list(user, request, self.clock.now())).await
    }

    /// Whether the user's recording is paused.
    pub async fn paused(&self, user: UserId) -> Result<bool, Unavailable> {
        in_time(self.store.paused(user)).await
    }
}

pub(super) async fn in_time<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, Unavailable> {
    match tokio::time::timeout(READ_TIMEOUT, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a read failed");
            Err(Unavailable)
        }
        Err(_) => {
            tracing::warn!("a read took longer than {READ_TIMEOUT:?}");
            Err(Unavailable)
        }
    }
}
