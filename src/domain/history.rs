//! "Where was I?": reads of the hot store, by the server's clock and within a time.

use std::sync::Arc;

use super::clock::Clock;
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
}

impl History {
    pub fn new(store: Arc<dyn Positions>, clock: Arc<Clock>, reads: StoreReads) -> Self {
        History { store, clock, reads }
    }

    /// The live records of these contents, in the order asked.
    pub async fn get(&self, user: UserId, contents: Vec<Content>) -> Result<Vec<Option<Record>>, Unavailable> {
        self.reads.get.in_time(self.store.get(user, contents, self.clock.now())).await
    }

    /// A page of the user's list, newest first. The rows that are looked at for it are counted.
    pub async fn list(&self, user: UserId, request: PageRequest, rows: RowsRead) -> Result<Page, Unavailable> {
        self.reads.list.in_time(self.store.list(user, request, self.clock.now(), rows)).await
    }

    /// Whether the user's recording is paused.
    pub async fn paused(&self, user: UserId) -> Result<bool, Unavailable> {
        self.reads.recording.in_time(self.store.paused(user)).await
    }
}
