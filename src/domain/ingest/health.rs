//! Whether commits go through, seen from other threads than the one that waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::metrics::Metrics;
use crate::storage::hot_store::StoreError;

/// A commit that takes longer is said to be stalled, and `/readyz` to be false. A disk that is only slow is faster.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// A commit that takes longer does not come back: what it waits for, such as a thread of the store's, has died.
const LOST_AFTER: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What `/readyz` asks.
#[derive(Debug)]
pub struct StoreHealth {
    away: AtomicBool,
    epoch: Instant,
    /// Milliseconds from `epoch` to the beginning of the commit that is under way, + 1; 0 = none is.
    began: AtomicU64,
}

impl Default for StoreHealth {
    fn default() -> Self {
        StoreHealth { away: AtomicBool::new(false), epoch: Instant::now(), began: AtomicU64::new(0) }
    }
}

impl StoreHealth {
    pub fn takes_writes(&self) -> bool {
        !self.away.load(Ordering::Relaxed) && self.under_way() < STALLED_AFTER
    }

    /// Returns whether it was away before.
    pub(super) fn set_away(&self, away: bool) -> bool {
        self.away.swap(away, Ordering::Relaxed)
    }

    pub(super) fn begins(&self, now: Instant) {
        self.began.store(now.duration_since(self.epoch).as_millis() as u64 + 1, Ordering::Relaxed);
    }

    pub(super) fn ends(&self) {
        self.began.store(0, Ordering::Relaxed);
    }

    /// For how long the commit that is under way has been; zero if none is.
    fn under_way(&self) -> Duration {
        match self.began.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            began => self.epoch.elapsed().saturating_sub(Duration::from_millis(began - 1)),
        }
    }
}

/// Watches for commits that do not return: a store may block its thread for ever, and nothing else would report it.
pub struct Watch {
    /// What the store has noticed by itself: [`HotStore::failure`](crate::storage::hot_store::HotStore::failure).
    pub(super) store_failure: Box<dyn Fn() -> Option<StoreError> + Send>,
    pub(super) health: Arc<StoreHealth>,
    pub(super) metrics: Metrics,
}

impl Watch {
    /// Ends when the store says that it has failed, or when a commit has not come back for a minute; with that failure. Must run on another thread
    /// than the commits. The commit thread is lost then: waiting for it would take for ever.
    pub async fn run(self) -> StoreError {
        let mut stalled = false;
        loop {
            sleep(LOOK_INTERVAL).await;
            if let Some(failure) = (self.store_failure)() {
                return failure;
            }
            let under_way = self.health.under_way();
            if under_way >= LOST_AFTER {
                return StoreError::Failed(format!("a commit has not returned for {} s", LOST_AFTER.as_secs()));
            }
            if stalled == (under_way >= STALLED_AFTER) {
                continue;
            }
            stalled = !stalled;
            self.metrics.store_ok(self.health.takes_writes());
            if stalled {
                tracing::error!(
                    event = "commit_stalled",
                    seconds = STALLED_AFTER.as_secs(),
                    "commit stalled; acks suspended"
                );
            } else {
                tracing::info!(event = "commit_recovered", "commits complete again");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::registry::Registry;

    fn watch() -> (Arc<StoreHealth>, tokio::task::JoinHandle<StoreError>) {
        watch_over(|| None)
    }

    fn watch_over(
        failure: impl Fn() -> Option<StoreError> + Send + 'static,
    ) -> (Arc<StoreHealth>, tokio::task::JoinHandle<StoreError>) {
        let health = Arc::new(StoreHealth::default());
        let metrics = Metrics::new(&mut Registry::default());
        let watch = Watch { store_failure: Box::new(failure), health: health.clone(), metrics };
        (health, tokio::spawn(watch.run()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_has_failed_is_noticed_within_a_second_while_a_commit_waits() {
        let began = Instant::now();
        let dead = move || {
            (began.elapsed() > Duration::from_secs(5)).then(|| StoreError::Failed("a worker has died".to_owned()))
        };
        let (health, watch) = watch_over(dead);
        health.begins(began);
        let failure = watch.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 6);
        assert!(failure.to_string().contains("a worker has died"), "{failure}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_that_does_not_come_back_is_a_failure() {
        let (health, watch) = watch();
        health.begins(Instant::now());
        sleep(Duration::from_secs(9)).await;
        assert!(health.takes_writes());
        sleep(Duration::from_secs(2)).await;
        assert!(!health.takes_writes() && !watch.is_finished());
        let failure = watch.await.unwrap();
        assert_eq!(health.epoch.elapsed().as_secs(), 60);
        assert!(failure.to_string().contains("has not returned for 60 s"), "{failure}");
    }

    #[tokio::test(start_paused = true)]
    async fn commits_that_come_back_are_none() {
        let (health, watch) = watch();
        for _ in 0..10 {
            health.begins(Instant::now());
            sleep(Duration::from_secs(50)).await;
            assert!(!health.takes_writes());
            health.ends();
            assert!(health.takes_writes());
        }
        sleep(Duration::from_secs(600)).await;
        assert!(health.takes_writes() && !watch.is_finished());
    }
}
