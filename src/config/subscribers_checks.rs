//! Checks of the subscribers.

use std::time::Duration;

use super::Config;
use super::checks::{Checks, LONGEST};

const TIMEOUT_MIN: Duration = Duration::from_millis(100);
/// A lease lasts as long, and a deletion waits for it.
const TIMEOUT_LIMIT: Duration = Duration::from_secs(30);
const RETRIES_LIMIT: usize = 32;
const RETRY_MIN: Duration = Duration::from_millis(10);
const QUEUE_BYTES_MIN: u64 = 1 << 20;
const WORKERS_LIMIT: usize = 4_096;

impl Checks<'_> {
    pub(super) fn subscribers(&mut self, config: &Config) {
        let subscribers = &config.subscribers;
        let timeout = subscribers.timeout;
        self.require((TIMEOUT_MIN..=TIMEOUT_LIMIT).contains(&timeout), "subscribers.timeout", || {
            format!("is {timeout:?}; set {TIMEOUT_MIN:?} to {TIMEOUT_LIMIT:?}")
        });
        let retries = &subscribers.retries;
        self.require((1..=RETRIES_LIMIT).contains(&retries.len()), "subscribers.retries", || {
            format!("has {} pauses; give 1 to {RETRIES_LIMIT}", retries.len())
        });
        let fits = retries.iter().all(|retry| (RETRY_MIN..=LONGEST).contains(&retry.0));
        self.require(fits, "subscribers.retries", || format!("each pause must be {RETRY_MIN:?} to {LONGEST:?}"));
        let overlap = subscribers.secret_overlap;
        self.require(overlap <= LONGEST, "subscribers.secret_overlap", || {
            format!("is {overlap:?}; set at most {LONGEST:?}")
        });
        self.at_least_one("subscribers.queue_events", subscribers.queue_events);
        let bytes = subscribers.queue_bytes;
        self.require(bytes >= QUEUE_BYTES_MIN, "subscribers.queue_bytes", || {
            format!("is {bytes}; set at least {QUEUE_BYTES_MIN}")
        });
        let age = subscribers.queue_age;
        self.require((Duration::from_secs(1)..=LONGEST).contains(&age), "subscribers.queue_age", || {
            format!("is {age:?}; set 1s to {LONGEST:?}")
        });
        let workers = subscribers.workers;
        self.require((1..=WORKERS_LIMIT).contains(&workers), "subscribers.workers", || {
            format!("is {workers}; set 1 to {WORKERS_LIMIT}")
        });
    }
}
