//! Whether positions and forgettings are told.

use std::fmt::Display;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::failures::{Failures, Trouble};
use model::notices::{FORGOTTEN, POSITION};

/// Written by the publisher, read by the probes.
pub struct NoticeHealth {
    failures: Failures<Step>,
    published: Family<Labels, Counter>,
    seconds: Histogram,
    /// 1: they wait.
    waiting: Gauge,
}

/// The steps that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Asking who has subscribed.
    Subscriptions,
    /// Asking whether this process has the turn.
    Turn,
    Take,
    /// Reading records.
    Read,
    Publish,
    Remove,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    event_type: &'static str,
}

impl NoticeHealth {
    pub fn new(registry: &mut Registry) -> Self {
        let (published, seconds) = (Family::default(), Histogram::new([0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]));
        let waiting = Gauge::default();
        let health = NoticeHealth { failures: Failures::default(), published, seconds, waiting };
        for event_type in [POSITION, FORGOTTEN] {
            drop(health.published.get_or_create_owned(&Labels { event_type }));
        }
        let meaning = "Events of positions and forgettings that were published";
        registry.register("notices_published", meaning, health.published.clone());
        let meaning = "Time from taking notices to their publication";
        registry.register("notices_seconds", meaning, health.seconds.clone());
        let meaning = "1: positions and forgettings cannot be published, and wait";
        registry.register("notices_waiting", meaning, health.waiting.clone());
        health
    }

    /// The current problems, each in a few words.
    pub fn degraded(&self) -> Vec<String> {
        self.failures.reason().map(|why| format!("position events wait: {why}")).into_iter().collect()
    }

    /// Events of these types were published, so long after they were taken.
    pub(super) fn published(&self, types: &[&'static str], after: Duration) {
        for event_type in types {
            self.published.get_or_create_owned(&Labels { event_type }).inc();
        }
        if !types.is_empty() {
            self.seconds.observe(after.as_secs_f64());
        }
    }

    /// Notes whether it succeeded.
    pub(super) fn note<T, E: Display>(&self, step: Step, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(answer) => {
                if self.failures.succeeded(&step) == Some(Trouble::Ends) {
                    self.waiting.set(0);
                    tracing::info!(event = "positions_resumed", "position events are published again");
                }
                Some(answer)
            }
            Err(error) => {
                if self.failures.failed(step, error.to_string()) == Some(Trouble::Begins) {
                    self.waiting.set(1);
                    tracing::error!(event = "positions_waiting", %error, "position events are not published; they wait");
                }
                None
            }
        }
    }
}
