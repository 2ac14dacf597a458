//! Whether subscribers are served.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use tokio::time::sleep;

use crate::failures::{Failures, Trouble};
use model::backoff::Backoff;
use storage::event_bus::EventTopic;

/// The pause after a failure.
const RETRY: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));

/// Written by the parts of the cascade, read by the probes. A receiver that fails is no problem of the cascade.
#[derive(Default)]
pub struct CascadeHealth {
    /// The topic whose events it is about, if it is about those of one.
    topic: Option<EventTopic>,
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
    pub fn of(topic: EventTopic) -> Self {
        CascadeHealth { topic: Some(topic), failures: Failures::default() }
    }

    /// The current problems, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        let why = self.failures.reason().map(|why| match self.topic {
            Some(topic) => format!("subscribers wait for {}: {why}", topic.name()),
            None => format!("subscribers wait: {why}"),
        });
        why.into_iter().collect()
    }

    /// Asks until it succeeds, with pauses.
    pub async fn repeat<T, E, F>(&self, step: Step, ask: impl Fn() -> F) -> T
    where
        E: Display,
        F: Future<Output = Result<T, E>>,
    {
        let mut backoff = RETRY;
        loop {
            match self.note(step, ask().await) {
                Some(answer) => return answer,
                None => sleep(backoff.failed_with_jitter(rand::random())).await,
            }
        }
    }

    /// Notes whether it succeeded.
    pub fn note<T, E: Display>(&self, step: Step, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(answer) => {
                if self.failures.succeeded(&step) == Some(Trouble::Ends) {
                    let topic = self.topic.map(EventTopic::name);
                    tracing::info!(event = "subscribers_resumed", topic, "subscribers are served again");
                }
                Some(answer)
            }
            Err(error) => {
                if self.failures.failed(step, error.to_string()) == Some(Trouble::Begins) {
                    let topic = self.topic.map(EventTopic::name);
                    tracing::error!(event = "subscribers_waiting", topic, %error, "subscribers are not served; events wait");
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_with_the_events_of_one_topic_names_it() {
        let of_topic = |topic: Option<EventTopic>| {
            let health = topic.map(CascadeHealth::of).unwrap_or_default();
            assert_eq!(health.note::<(), _>(Step::Read, Err("no broker answers")), None);
            let degraded = health.degraded();
            assert_eq!(health.note::<_, &str>(Step::Read, Ok(7)), Some(7));
            assert!(health.degraded().is_empty());
            degraded
        };
        assert_eq!(of_topic(Some(EventTopic::Rewards)), ["subscribers wait for rewards: no broker answers"]);
        assert_eq!(of_topic(Some(EventTopic::Positions)), ["subscribers wait for positions: no broker answers"]);
        assert_eq!(of_topic(None), ["subscribers wait: no broker answers"]);
    }
}
