//! "Where was I?": reads of the hot store, by the server's clock and within a time.

use std::sync::Arc;

use super::clock::Clock;
use super::devices::presence::Presence;
use super::store_reads::{StoreReads, Unavailable};
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::model::rows_read::RowsRead;
use crate::storage::hot_store::Positions;

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

    async fn commit_held(&self, user: UserId) {
        let Some(presence) = &self.holding else { return };
        for commit in presence.commit_held(user) {
            // Its other end is dropped when it is done.
            let _ = commit.await;
        }
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
