//! Compares the users who have more than what is to stay hot, region by region, and trims them if it may.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::behind::Behind;
use super::compare::{Compared, Found, compare};
use super::metrics::Metrics;
use crate::cold::HistoryHandle;
use crate::time::clock::Clock;
use model::backoff::Backoff;
use model::ids::{Content, UserId};
use model::pack::UserPack;
use model::retention::Retention;
use model::shard::Region;
use storage::history_store::HistoryAway;
use storage::hot_store::cold_filter::ColdFilter;
use storage::hot_store::trim_users::{BeyondUser, HotBounds, Trim, TrimUsers};
use storage::hot_store::{ListedUser, StoreError};
use storage::turn::Turn;

/// A holder that dies leaves its region for so long.
const LEASE: Duration = Duration::from_secs(60);
/// The pause after each page of users and after each compared user, so that beats go first.
const PAUSE: Duration = Duration::from_millis(5);
/// The pause before all regions are asked for again.
const ROUND_PAUSE_MAX: Duration = Duration::from_secs(60);
const AWAY: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// How much stays hot, and how users are compared.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub contents_max: u64,
    pub contents_kept: u64,
    /// Only the head stays of a user who was not written for so long; `None`: more may stay of every user.
    pub idle: Option<Duration>,
    /// Each region is looked at once in this time.
    pub every: Duration,
    /// How long the history store may be behind, while packs are on the bus.
    pub grace: Duration,
    /// Whether rows leave the hot store, or are only compared.
    pub trims: bool,
}

/// Compares users. Any number of them may run, in any number of processes.
pub struct Comparer {
    store: Arc<dyn TrimUsers>,
    history: Arc<HistoryHandle>,
    clock: Arc<Clock>,
    retention: Retention,
    bounds: Bounds,
    behind: Behind,
    is_away: bool,
    /// Users who were listed again, and not told of yet.
    healed: u64,
    metrics: Metrics,
}

/// Why a region is left before all of its users are compared.
#[derive(Debug, thiserror::Error)]
enum Left {
    #[error(transparent)]
    Hot(#[from] StoreError),
    #[error(transparent)]
    History(#[from] HistoryAway),
    /// Which rows have expired is not known.
    #[error("the clock is in doubt")]
    Clock,
}

/// A user of whom the history store has everything that it should have.
struct Proved {
    hot: ListedUser,
    pack: UserPack,
    found: Compared,
    /// All contents that the history store has.
    filter: Option<ColdFilter>,
}

impl Proved {
    /// The contents that need not stay: first the covered ones, which the history store need not have, then all but the
    /// newest `kept` and the one that is played, the oldest first.
    fn leaving(&self, kept: usize) -> Vec<Content> {
        let mut rows: Vec<_> = self.pack.rows.iter().map(|row| (row.newest(), row.content)).collect();
        rows.sort_unstable();
        rows.truncate(rows.len().saturating_sub(kept));
        let playing = self.hot.playing();
        // Rows that expire soon were not compared, and are left to the janitor.
        let is_proved =
            |content: &Content| self.found.rows.binary_search_by_key(content, |(content, _)| *content).is_ok();
        let contents = rows.into_iter().map(|(_, content)| content);
        let proved = contents.filter(|content| playing != Some(*content) && is_proved(content));
        self.hot.covered().chain(proved).collect()
    }
}

impl Comparer {
    pub fn new(
        store: Arc<dyn TrimUsers>,
        history: Arc<HistoryHandle>,
        clock: Arc<Clock>,
        retention: Retention,
        bounds: Bounds,
        metrics: Metrics,
    ) -> Self {
        let behind = Behind::new(bounds.grace);
        Comparer { store, history, clock, retention, bounds, behind, is_away: false, healed: 0, metrics }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let mut away = AWAY;
        let pause = (self.bounds.every / 10).min(ROUND_PAUSE_MAX);
        loop {
            match self.round().await {
                Ok(()) => {
                    self.is_away = false;
                    away.succeeded();
                    sleep(pause).await;
                }
                Err(left) => {
                    self.metrics.failures.inc();
                    // The packer and the job report a store that is away. This line says that comparisons have stopped.
                    if !std::mem::replace(&mut self.is_away, true) {
                        tracing::warn!(
                            event = "history_not_compared",
                            error = %left,
                            "users are not compared with the history store; retrying"
                        );
                    }
                    sleep(away.failed()).await;
                }
            }
        }
    }

    /// Compares the regions that are due, and once more the users whose data were missing.
    async fn round(&mut self) -> Result<(), Left> {
        for region in Region::all() {
            self.look_again().await?;
            let since = self.clock.now().saturating_sub(self.bounds.every.as_millis() as u64);
            if self.store.take_look(region, since, LEASE).await? == Turn::Mine {
                self.look(region).await?;
            }
        }
        self.look_again().await
    }

    async fn look(&mut self, region: Region) -> Result<(), Left> {
        let began = self.clock.now();
        let idle_since = |idle: Duration| began.saturating_sub(idle.as_millis() as u64);
        let bounds =
            HotBounds { contents_max: self.bounds.contents_max, idle_since: self.bounds.idle.map_or(0, idle_since) };
        for shard in region.shards() {
            let mut from = None;
            loop {
                let page = self.store.beyond(shard, from, bounds).await?;
                for user in page.users {
                    self.user(user).await?;
                }
                // The lease must not end in the middle.
                self.store.take_look(region, began, LEASE).await?;
                sleep(PAUSE).await;
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
        }
        Ok(self.store.end_look(region, began).await?)
    }

    async fn look_again(&mut self) -> Result<(), Left> {
        for user in self.behind.due(Instant::now()) {
            self.compare(user).await?;
        }
        let healed = std::mem::take(&mut self.healed);
        if healed > 0 {
            self.metrics.healed.inc_by(healed);
            tracing::warn!(
                event = "history_healed",
                users = healed,
                "the history store lacked data of some users; all of their data are carried again"
            );
        }
        Ok(())
    }

    async fn user(&mut self, BeyondUser { user, is_idle }: BeyondUser) -> Result<(), Left> {
        if let Some(proved) = self.compare(user).await? {
            let kept = if is_idle { 0 } else { self.bounds.contents_kept };
            let leaving = proved.leaving(kept as usize);
            self.metrics.users.inc();
            self.metrics.trimmable.inc_by(leaving.len() as u64);
            if self.bounds.trims && !leaving.is_empty() {
                let trim = Trim { user: proved.hot, leaving, filter: proved.filter };
                let trimmed = self.store.trim(trim, self.clock.now()).await?;
                self.metrics.trimmed.inc_by(trimmed.rows);
            }
        }
        sleep(PAUSE).await;
        Ok(())
    }

    /// `None`: the user has changed and is not compared, or the history store is behind.
    async fn compare(&mut self, user: UserId) -> Result<Option<Proved>, Left> {
        if self.clock.doubt().is_some() {
            return Err(Left::Clock);
        }
        let hot = self.store.read_whole(user).await?;
        if hot.unreadable.is_some() {
            self.metrics.failures.inc();
        }
        let (Some(token), None, true) = (hot.token(), &hot.unreadable, hot.is_carried()) else {
            self.behind.forget(user);
            return Ok(None);
        };
        let pack = hot.pack();
        // Read after the hot store: nothing that was written in between is missing there.
        let history = self.history.get().await?.read(user, self.clock.now()).await?;
        let found = compare(&pack, &history, self.retention, self.clock.now());
        found.all().for_each(|found| self.metrics.found(found));
        if !found.all().any(Found::is_behind) {
            self.behind.forget(user);
            let filter = ColdFilter::of(history.rows.iter().map(|row| row.content));
            return Ok(Some(Proved { hot, pack, found, filter }));
        }
        if self.behind.is_overdue(user, token, Instant::now()) {
            self.behind.forget(user);
            self.healed += self.store.list_again(vec![user], self.clock.now()).await?;
        }
        Ok(None)
    }
}
