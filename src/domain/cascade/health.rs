//! Whether subscribers are served.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use tokio::time::sleep;

use crate::domain::failures::{Failures, Trouble};
use crate::model::backoff::Backoff;

/// The pause after a failure.
const RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Written by the parts of the cascade, read by the probes. A receiver that fails is no problem of the cascade.
#[derive(Default)]
pub struct CascadeHealth {
    failures: Failures<Step>,
}

/// The steps that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Reading the event bus.
    Read,
    /// Asking which owners there are.
    Owners,
    /// Queueing events.
    Append,
    /// Committing what was read.
    Commit,
    /// Asking which owners are due.
    Take,
    /// Ending a lease.
    Done,
    /// Giving up what is too old.
    Expire,
    /// Filling a queue from the log.
    Fill,
}

impl CascadeHealth {
    /// The current problems, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        self.failures.reason().map(|why| format!("subscribers wait: {why}")).into_iter().collect()
    }

    /// Asks until it succeeds, with pauses.
    pub async fn repeat<T, E, F>(&self, step: Step, ask: impl Fn() -> F) -> T
    where
        E: Display,
        F: Future<Output = Result<T, E>>,
    {
        let mut backoff = RETRY;
        loop {
            match self.told(step, ask().await) {
                Some(answer) => return answer,
                None => sleep(backoff.failed_with_jitter(rand::random())).await,
            }
        }
    }

    /// Keeps whether it succeeded.
    pub fn told<T, E: Display>(&self, step: Step, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(answer) => {
                if self.failures.succeeded(&step) == Some(Trouble::Ends) {
                    tracing::info!(event = "subscribers_resumed", "subscribers are served again");
                }
                Some(answer)
            }
            Err(error) => {
                if self.failures.failed(step, error.to_string()) == Some(Trouble::Begins) {
                    tracing::error!(event = "subscribers_waiting", %error, "subscribers are not served; events wait");
                }
                None
            }
        }
    }
}
