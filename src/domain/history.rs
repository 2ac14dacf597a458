//! Reads of the history: of the hot store and of what has left it, by the server clock and with a timeout.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::cold::ColdReader;
use super::ingest::hold_index::HoldIndex;
use super::store_reads::{StoreReads, Unavailable};
use super::time::clock::Clock;
use model::ids::{Content, UserId};
use model::page::{ListRequest, Page};
use model::reading::Reading;
use model::recording::Switch;
use model::rows_read::RowsRead;
use storage::hot_store::{Found, Positions, StoreError};

/// How long a read waits for the commit of beats that other connections hold. After it, the stored state is read.
const HELD_MAX: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct History {
    store: Arc<dyn Positions>,
    clock: Arc<Clock>,
    reads: StoreReads,
    /// Says when a record is finished.
    reading: Arc<Reading>,
    /// With `store.steady_hold`.
    holds: Option<Arc<HoldIndex>>,
    /// With a history store.
    cold: Option<Arc<ColdReader>>,
}

impl History {
    /// `holds`: beats that are committed before their user's records are read.
    pub fn new(
        store: Arc<dyn Positions>,
        clock: Arc<Clock>,
        reads: StoreReads,
        reading: Arc<Reading>,
        holds: Option<Arc<HoldIndex>>,
    ) -> Self {
        History { store, clock, reads, reading, holds, cold: None }
    }

    /// Reads what has left the hot store, too.
    pub fn with_cold(self, cold: Option<Arc<ColdReader>>) -> Self {
        History { cold, ..self }
    }

    /// Commits the beats that the user's connections here hold. Does not wait for it while the store takes no writes.
    pub async fn commit_held(&self, user: UserId) {
        if let Some(holds) = &self.holds {
            // The other ends are dropped with the answers.
            let _ = timeout(HELD_MAX, join_all(holds.commit(user))).await;
        }
    }

    /// The live records of these contents, in the order asked.
    pub async fn get(&self, user: UserId, contents: Vec<Content>) -> Result<Found, Unavailable> {
        let records = async {
            self.commit_held(user).await;
            let found = self.store.get(user, contents.clone(), self.clock.now()).await?;
            Ok(match &self.cold {
                Some(cold) => cold.fill(user, &contents, found).await,
                None => Found { partial: found.cold.is_some() || found.partial, cold: None, ..found },
            })
        };
        self.reads.get.in_time(records).await
    }

    /// A page of the user's list, newest first. The rows that are looked at for it are counted.
    pub async fn list(&self, user: UserId, request: ListRequest, rows: RowsRead) -> Result<Page, Unavailable> {
        let page = async {
            self.commit_held(user).await;
            let request = request.read_by(&self.reading);
            let page = self.store.list(user, request.clone(), self.clock.now(), rows).await?;
            match &self.cold {
                Some(cold) => cold.page(user, &request, page).await,
                // The history store was taken out of the settings after rows had gone there.
                None => Ok(Page { partial: page.cold.is_some() || page.partial, cold: None, ..page }),
            }
        };
        self.reads.list.in_time(page).await
    }

    /// Whether the user's recording is paused.
    pub async fn paused(&self, user: UserId) -> Result<bool, Unavailable> {
        Ok(self.last_switch(user).await?.is_some_and(|last| last.paused))
    }

    /// The newest switch of the user's recording.
    pub async fn last_switch(&self, user: UserId) -> Result<Option<Switch>, Unavailable> {
        let switch = async {
            if let Some(cold) = &self.cold
                && !cold.make_known(user).await?
            {
                return Err(StoreError::Away("the history store, which alone knows the user, is away".to_owned()));
            }
            self.store.last_switch(user).await
        };
        self.reads.recording.in_time(switch).await
    }
}
