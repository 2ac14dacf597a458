//! A recount of a derived counter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::CounterId;
use super::key::CounterKey;

/// How far a recount is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Recount {
    pub state: RecountState,
    /// Records that are counted.
    pub done: u64,
    /// Records there are, about.
    pub of: u64,
    /// At most [`Recount::DIFFERENCES_MAX`], in the order of their keys.
    pub differences: Vec<Difference>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RecountState {
    #[default]
    Running,
    Done,
    /// The process has ended, or the store has failed.
    Failed,
}

/// A number that was not the sum of its records. It is now.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Difference {
    pub key: CounterKey,
    pub was: i64,
    pub is: i64,
}

impl Recount {
    pub const DIFFERENCES_MAX: usize = 100;
}

/// A recount that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RecountJob {
    pub counter: CounterId,
    /// The keys that are compared; empty: all.
    pub keys: Vec<CounterKey>,
    /// Milliseconds.
    pub began: u64,
    /// The generation that is counted for it; 0 = it waits.
    pub generation: u32,
    pub recount: Recount,
}

impl RecountJob {
    const KEPT_MS: u64 = 24 * 60 * 60 * 1000;
    /// The oldest that has ended goes for a new one.
    pub const KEPT_MAX: usize = 1_000;

    pub fn new(counter: CounterId, keys: Vec<CounterKey>, began: u64) -> Self {
        RecountJob { counter, keys, began, generation: 0, recount: Recount::default() }
    }

    /// Adds a difference of its counter, if it is of its keys.
    pub fn note(&mut self, difference: &Difference) {
        let is_asked_for = self.keys.is_empty() || self.keys.contains(&difference.key);
        if is_asked_for && self.recount.differences.len() < Recount::DIFFERENCES_MAX {
            self.recount.differences.push(difference.clone());
        }
    }

    pub fn is_running(&self) -> bool {
        self.recount.state == RecountState::Running
    }

    /// Whether it may still be asked about: while it runs, and for 24 hours. `now`: milliseconds.
    pub fn is_kept(&self, now: u64) -> bool {
        self.is_running() || now < self.began.saturating_add(Self::KEPT_MS)
    }

    /// The names of those that go when another one comes. `now`: milliseconds.
    pub fn gone(jobs: &BTreeMap<String, RecountJob>, now: u64) -> Vec<String> {
        let (kept, gone): (Vec<_>, Vec<_>) = jobs.iter().partition(|(_, job)| job.is_kept(now));
        let ended = kept.iter().filter(|(_, job)| !job.is_running());
        let oldest = ended.min_by_key(|(_, job)| job.began).filter(|_| kept.len() >= Self::KEPT_MAX);
        gone.iter().chain(oldest).map(|(name, _)| (*name).clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recounts_go_after_a_day_and_the_oldest_for_a_new_one() {
        let id: CounterId = "viewers".parse().expect("an id");
        let ended = |began| {
            let mut job = RecountJob::new(id.clone(), Vec::new(), began);
            job.recount.state = RecountState::Done;
            job
        };
        let day = RecountJob::KEPT_MS;
        let running = RecountJob::new(id.clone(), Vec::new(), 1);
        let mut jobs: BTreeMap<String, RecountJob> =
            [("old".to_owned(), ended(1)), ("new".to_owned(), ended(day)), ("running".to_owned(), running)].into();
        assert_eq!(RecountJob::gone(&jobs, day), [""; 0]);
        assert_eq!(RecountJob::gone(&jobs, day + 1), ["old"]);
        jobs.extend((0..RecountJob::KEPT_MAX as u64).map(|began| (format!("{began}"), ended(day + 1 + began))));
        assert_eq!(RecountJob::gone(&jobs, day + 1), ["old", "new"]);
    }
}
