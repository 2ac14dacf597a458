//! "Where was I?": reads of the hot store, by the server's clock and within a time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::devices::presence::Presence;
use super::store_reads::{StoreReads, Unavailable};
use super::time::clock::Clock;
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::model::rows_read::RowsRead;
use crate::storage::hot_store::Positions;

/// How long a read waits for what other connections hold. After it, what is stored is read.
const HELD_MAX: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct History {
    store: Arc<dyn Positions>,
    clock: Arc<Clock>,
    reads: StoreReads,
    /// Of connections that may hold beats.
    holding: Option<Arc<Presence>>,
}

impl History {
    /// `holding`: connections that commit the beats they hold before their user's records are read.
    pub fn new(
        store: Arc<dyn Positions>,
        clock: Arc<Clock>,
        reads: StoreReads,
        holding: Option<Arc<Presence>>,
    ) -> Self {
        History { store, clock, reads, holding }
    }

    /// Has the user's connections here commit what they hold. While the store takes no writes, it is not waited for.
    pub async fn commit_held(&self, user: UserId) {
        let Some(presence) = &self.holding else { return };
        // Its other ends are dropped as they are answered, or with their connections.
        let _ = timeout(HELD_MAX, join_all(presence.commit_held(user))).await;
    }

    /// The live records of these contents, in the order asked.
    pub async fn get(&self, user: UserId, contents: Vec<Content>) -> Result<Vec<Option<Record>>, Unavailable> {
        let records = async {
            self.commit_held(user).await;
            self.store.get(user, contents, self.clock.now()).await
        };
        self.reads.get.in_time(records).await
    }

    /// A page of the user's list, newest first. The rows that are looked at for it are counted.
    pub async fn list(&self, user: UserId, request: PageRequest, rows: RowsRead) -> Result<Page, Unavailable> {
        let page = async {
            self.commit_held(user).await;
            self.store.list(user, request, self.clock.now(), rows).await
        };
        self.reads.list.in_time(page).await
    }

    /// Whether the user's recording is paused.
    pub async fn paused(&self, user: UserId) -> Result<bool, Unavailable> {
        self.reads.recording.in_time(self.store.paused(user)).await
    }
}
