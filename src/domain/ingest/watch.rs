//! Notices commits that do not return.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::health::{STALLED_AFTER, StoreHealth};
use storage::hot_store::StoreError;

/// A commit that takes longer will not return: something that it waits for, such as a thread of the store, has died.
const LOST_AFTER: Duration = Duration::from_secs(60);
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Watches for commits that do not return: a store may block its thread for ever, and nothing else would report it.
pub struct Watch {
    /// The failure that the store has noticed: [`Positions::failure`](storage::hot_store::Positions::failure).
    pub store_failure: Box<dyn Fn() -> Option<StoreError> + Send>,
    pub health: Arc<StoreHealth>,
}

impl Watch {
    /// Ends with the failure when the store reports one, or when a commit has not returned for a minute. Must run on
    /// another thread than the commits. The commit thread is lost then: do not wait for it.
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
    use tokio::time::Instant;

    use super::super::health::LaneHealth;
    use super::*;

    fn watch() -> (Arc<LaneHealth>, tokio::task::JoinHandle<StoreError>) {
        watch_over(|| None)
    }

    fn watch_over(
        failure: impl Fn() -> Option<StoreError> + Send + 'static,
    ) -> (Arc<LaneHealth>, tokio::task::JoinHandle<StoreError>) {
        let lane: Arc<LaneHealth> = Arc::default();
        let health =
            Arc::new(StoreHealth::new(vec![lane.clone()], Box::new(|_| 0), Box::new(|_| true), Box::new(Vec::new)));
        let watch = Watch { store_failure: Box::new(failure), health };
        (lane, tokio::spawn(watch.run()))
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
    async fn a_commit_that_does_not_return_is_a_failure() {
        let (began, (health, watch)) = (Instant::now(), watch());
        health.begins(began);
        sleep(Duration::from_secs(9)).await;
        assert!(health.takes_writes());
        sleep(Duration::from_secs(2)).await;
        assert!(!health.takes_writes() && !watch.is_finished());
        let failure = watch.await.unwrap();
        assert_eq!(began.elapsed().as_secs(), 60);
        assert!(failure.to_string().contains("has not returned for 60 s"), "{failure}");
    }

    #[tokio::test(start_paused = true)]
    async fn slow_commits_that_return_are_no_failure() {
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
