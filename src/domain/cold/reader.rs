//! Reads rows of users from the history store.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};

use super::breaker::Breaker;
use super::handle::HistoryHandle;
use super::kept::Kept;
use super::metrics::{ColdOutcome, Metrics};
use crate::time::clock::Clock;
use model::backoff::Backoff;
use model::cold::{ColdContents, ColdMark, ColdRows};
use model::forgetting::ContentRow;
use model::ids::{Content, UserId};
use model::pack::PackedRow;
use model::page::{Page, PageRequest, Position};
use model::record::Record;
use model::retention::Retention;
use model::walk::{WalkRequest, Walked};
use storage::history_store::{HistoryAway, HistoryUser};
use storage::hot_store::unread_users::ColdUsers;
use storage::hot_store::{Found, StoreError};

/// How long a read of single contents waits for the history store, and a list.
const GET_MAX: Duration = Duration::from_millis(300);
const LIST_MAX: Duration = Duration::from_secs(1);
/// A read of the history store that takes longer has failed. It is longer than readers wait, so that the rows are there
/// when they ask again.
const FLIGHT_MAX: Duration = Duration::from_secs(5);
/// The pause before a late change asks again.
const AGAIN: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));

type Flight = Shared<BoxFuture<'static, Result<Arc<HistoryUser>, HistoryAway>>>;

/// Must be used within a tokio runtime.
pub struct ColdReader {
    hot: Arc<dyn ColdUsers>,
    history: Arc<HistoryHandle>,
    clock: Arc<Clock>,
    retention: Retention,
    breaker: Breaker,
    kept: Mutex<Kept>,
    /// The reads that are under way.
    flights: Mutex<HashMap<(UserId, ColdMark), Flight>>,
    pub metrics: Arc<Metrics>,
}

impl fmt::Debug for ColdReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColdReader").finish_non_exhaustive()
    }
}

impl ColdReader {
    pub fn new(
        hot: Arc<dyn ColdUsers>,
        history: Arc<HistoryHandle>,
        clock: Arc<Clock>,
        retention: Retention,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let (breaker, kept, flights) = (Breaker::default(), Mutex::default(), Mutex::default());
        Arc::new(ColdReader { hot, history, clock, retention, breaker, kept, flights, metrics })
    }

    pub fn history(&self) -> &Arc<HistoryHandle> {
        &self.history
    }

    /// Fills the empty slots of records that the hot store does not have any more.
    pub async fn fill(self: &Arc<Self>, user: UserId, contents: &[Content], mut found: Found) -> Found {
        let Some(cold) = found.cold.take() else { return found };
        let Some(history) = self.read(user, cold.mark, GET_MAX).await else {
            return Found { partial: true, ..found };
        };
        let oldest_live = cold.oldest_live.max(oldest_kept(&history));
        for index in cold.indices {
            let row = row(&history, contents[index]);
            // Without a head there is no filter.
            self.metrics.filter_misses.inc_by(u64::from(row.is_none() && cold.mark != ColdMark::UNREAD));
            found.records[index] = row.and_then(|row| live(row, oldest_live));
        }
        found
    }

    /// The page with the records that the hot store does not have any more. `page`: as the hot store answered.
    pub async fn page(self: &Arc<Self>, user: UserId, request: &PageRequest, page: Page) -> Result<Page, StoreError> {
        if page.cold.is_none() {
            return Ok(page);
        }
        Ok(match self.both(user).await? {
            Some(both) => both.page(request),
            None => Page { cold: None, partial: true, ..page },
        })
    }

    /// The next records of a walk, with those that the hot store does not have any more.
    pub async fn walk(
        self: &Arc<Self>,
        user: UserId,
        request: &WalkRequest,
        walked: Walked,
    ) -> Result<Walked, StoreError> {
        if walked.cold.is_none() {
            return Ok(walked);
        }
        Ok(match self.both(user).await? {
            Some(both) => both.walked(request),
            None => Walked { cold: None, partial: true, ..walked },
        })
    }

    /// The user's rows in both stores. `None`: the history store is away.
    async fn both(self: &Arc<Self>, user: UserId) -> Result<Option<Both>, StoreError> {
        // The hot store first: what leaves it afterwards is in the history store.
        let hot = self.hot.read_at_once(user).await?;
        let horizon = self.retention.horizon(self.clock.now());
        let mark = match hot.token() {
            None if self.hot.rebuilt_at().is_some() => Some(ColdMark::UNREAD),
            _ => hot.cold_mark(horizon),
        };
        let history = match mark {
            Some(mark) => self.read(user, mark, LIST_MAX).await,
            None => Some(Arc::default()),
        };
        let rows = hot.pack().rows;
        Ok(history.map(|history| {
            let oldest_live = hot.oldest_live(horizon).max(oldest_kept(&history));
            Both { hot: rows, history, oldest_live }
        }))
    }

    /// Makes the head of a user whom a rebuilt hot store has not read yet, if the history store has any data of the user.
    /// False: the history store is away.
    pub async fn make_known(self: &Arc<Self>, user: UserId) -> Result<bool, StoreError> {
        if self.hot.rebuilt_at().is_none() || !self.hot.is_unread(user).await? {
            return Ok(true);
        }
        match self.read(user, ColdMark::UNREAD, GET_MAX).await {
            None => Ok(false),
            // A new user takes no room before the first change.
            Some(history) if *history == HistoryUser::default() => Ok(true),
            Some(history) => self.make_head(user, history).await.map(|()| true),
        }
    }

    async fn make_head(&self, user: UserId, history: Arc<HistoryUser>) -> Result<(), StoreError> {
        let made = self.hot.make_head(user, history.clone(), self.clock.now()).await?;
        if let Some(mark) = made {
            self.metrics.heads_made.inc();
            // Late beats need the rows next.
            self.kept.lock().put(user, mark, history, Instant::now().into_std());
        }
        Ok(())
    }

    /// Waits until the head of the user is made, however long either store is away.
    async fn head_made(self: &Arc<Self>, user: UserId) {
        let mut again = AGAIN;
        loop {
            let history = self.read_patiently(user, ColdMark::UNREAD).await;
            match self.make_head(user, history).await {
                Ok(()) => return,
                Err(_) => sleep(again.failed()).await,
            }
        }
    }

    /// Waits until the contents are read, however long the history store is away.
    pub async fn rows(self: &Arc<Self>, user: UserId, wanted: &ColdContents) -> ColdRows {
        if wanted.mark == ColdMark::UNREAD {
            self.head_made(user).await;
            return ColdRows { mark: wanted.mark, rows: Vec::new() };
        }
        let history = self.read_patiently(user, wanted.mark).await;
        let row = |content: &Content| {
            let row = row(&history, *content);
            self.metrics.filter_misses.inc_by(u64::from(row.is_none()));
            (*content, row.map(ContentRow::of_packed))
        };
        ColdRows { mark: wanted.mark, rows: wanted.contents.iter().map(row).collect() }
    }

    /// The same as [`read`](Self::read), however long the history store is away.
    async fn read_patiently(self: &Arc<Self>, user: UserId, mark: ColdMark) -> Arc<HistoryUser> {
        let mut again = AGAIN;
        loop {
            match self.read(user, mark, FLIGHT_MAX).await {
                Some(history) => return history,
                None => sleep(again.failed()).await,
            }
        }
    }

    /// The user's rows in the history store, read after the hot store told this mark. `None`: not in this time.
    async fn read(self: &Arc<Self>, user: UserId, mark: ColdMark, within: Duration) -> Option<Arc<HistoryUser>> {
        let (outcome, history) = match self.flight(user, mark) {
            Ok(history) => (ColdOutcome::Kept, Some(history)),
            Err(None) => (ColdOutcome::Refused, None),
            Err(Some(flight)) => match timeout(within, flight).await {
                Ok(Ok(history)) => (ColdOutcome::Read, Some(history)),
                Ok(Err(_)) => (ColdOutcome::Away, None),
                Err(_) => {
                    self.has_failed(&HistoryAway("no answer in time".to_owned()));
                    (ColdOutcome::Away, None)
                }
            },
        };
        self.metrics.ended(outcome);
        history
    }

    /// The rows that are kept, or else a read that is under way; with neither, the breaker is open.
    fn flight(self: &Arc<Self>, user: UserId, mark: ColdMark) -> Result<Arc<HistoryUser>, Option<Flight>> {
        let now = Instant::now().into_std();
        if let Some(history) = self.kept.lock().get(user, mark, now) {
            return Ok(history);
        }
        let mut flights = self.flights.lock();
        if let Some(flight) = flights.get(&(user, mark)) {
            return Err(Some(flight.clone()).filter(|_| !self.breaker.is_open()));
        }
        if !self.breaker.allows(now) {
            return Err(None);
        }
        let flight = self.clone().begin(user, mark).boxed().shared();
        flights.insert((user, mark), flight.clone());
        // It goes on when its askers wait no longer.
        tokio::spawn(flight.clone());
        Err(Some(flight))
    }

    async fn begin(self: Arc<Self>, user: UserId, mark: ColdMark) -> Result<Arc<HistoryUser>, HistoryAway> {
        let began = Instant::now();
        let read = async { self.history.get().await?.read(user, self.clock.now()).await };
        let read = timeout(FLIGHT_MAX, read).await.unwrap_or_else(|_| Err(HistoryAway("no answer in time".to_owned())));
        let (now, took) = (Instant::now().into_std(), began.elapsed());
        self.metrics.took(took);
        let read = match read {
            Ok(history) => {
                let was_open = self.breaker.is_open();
                self.breaker.succeeded(took, now);
                self.tell(was_open, None);
                let history = Arc::new(history);
                self.kept.lock().put(user, mark, history.clone(), now);
                Ok(history)
            }
            Err(error) => {
                self.has_failed(&error);
                Err(error)
            }
        };
        self.flights.lock().remove(&(user, mark));
        read
    }

    fn has_failed(&self, error: &HistoryAway) {
        let was_open = self.breaker.is_open();
        self.breaker.failed(Instant::now().into_std());
        self.tell(was_open, Some(error));
    }

    fn tell(&self, was_open: bool, error: Option<&HistoryAway>) {
        match (was_open, self.breaker.is_open()) {
            (false, true) => {
                let error = error.map_or_else(|| "it is too slow".to_owned(), HistoryAway::to_string);
                tracing::warn!(
                    event = "cold_reads_suspended",
                    %error,
                    "the history store is not asked for older records; answers are partial, late beats wait"
                );
            }
            (true, false) => {
                tracing::info!(event = "cold_reads_resumed", "the history store answers again");
            }
            _ => {}
        }
    }
}

/// The oldest moment that a clear has left, if the hot store does not know of it. Milliseconds.
fn oldest_kept(history: &HistoryUser) -> u64 {
    history.forgetting.as_ref().map_or(0, |told| told.watermark.saturating_add(1))
}

fn row(history: &HistoryUser, content: Content) -> Option<&PackedRow> {
    let index = history.rows.binary_search_by_key(&content, |row| row.content).ok()?;
    Some(&history.rows[index])
}

fn live(row: &PackedRow, oldest_live: u64) -> Option<Record> {
    let record = row.record.as_ref().filter(|record| record.at >= oldest_live)?;
    Some(record.record(row.content, row.version))
}

/// The rows of a user in both stores. A row of the hot store counts, whatever the history store has.
struct Both {
    hot: Vec<PackedRow>,
    history: Arc<HistoryUser>,
    /// Milliseconds.
    oldest_live: u64,
}

impl Both {
    /// In the order of contents.
    fn rows(&self) -> impl Iterator<Item = &PackedRow> {
        let mut rows: BTreeMap<Content, &PackedRow> = self.history.rows.iter().map(|row| (row.content, row)).collect();
        rows.extend(self.hot.iter().map(|row| (row.content, row)));
        rows.into_values()
    }

    fn page(&self, request: &PageRequest) -> Page {
        let comes = |row: &&PackedRow| {
            let position = row.record.as_ref().map(|record| Position { at: record.at, content: row.content });
            position.is_some_and(|position| request.after.is_none_or(|after| position < after))
        };
        let records = self.rows().filter(comes).filter_map(|row| live(row, self.oldest_live));
        request.cut(records.filter(|record| request.wants(record)).collect())
    }

    fn walked(&self, request: &WalkRequest) -> Walked {
        let wanted = self.rows().filter(|row| request.wants(row.content));
        let mut records = wanted.filter_map(|row| live(row, self.oldest_live));
        let page: Vec<Record> = records.by_ref().take(request.limit).collect();
        let next = page.last().map(|record| record.content).filter(|_| records.next().is_some());
        Walked { records: page, next, ..Walked::default() }
    }
}
