//! Events that are published together, until each has its delivery report.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

/// Answered once, when the last report is in: the first failure, if there was one.
pub struct Batch(Mutex<State>);

pub type Reported = Result<(), String>;

struct State {
    missing: usize,
    failure: Option<String>,
    answer: Option<oneshot::Sender<Reported>>,
}

impl Batch {
    /// `events`: at least one.
    pub fn of(events: usize) -> (Self, oneshot::Receiver<Reported>) {
        let (answer, answered) = oneshot::channel();
        (Batch(Mutex::new(State { missing: events, failure: None, answer: Some(answer) })), answered)
    }

    pub fn delivered(&self) {
        self.reported(1, None);
    }

    /// So many of them are not there, or it is not known.
    pub fn failed(&self, events: usize, why: String) {
        self.reported(events, Some(why));
    }

    fn reported(&self, events: usize, failure: Option<String>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.missing = state.missing.saturating_sub(events);
        if state.failure.is_none() {
            state.failure = failure;
        }
        if state.missing == 0
            && let Some(answer) = state.answer.take()
        {
            // Whoever asked may have given up.
            let _ = answer.send(state.failure.take().map_or(Ok(()), Err));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_answered_with_the_last_report() {
        let (batch, mut answered) = Batch::of(2);
        batch.delivered();
        assert!(answered.try_recv().is_err());
        batch.delivered();
        assert_eq!(answered.try_recv(), Ok(Ok(())));
    }

    #[test]
    fn one_failure_is_the_answer_of_all() {
        let (batch, mut answered) = Batch::of(4);
        batch.failed(1, "one".into());
        batch.delivered();
        assert!(answered.try_recv().is_err());
        batch.failed(2, "two".into());
        assert_eq!(answered.try_recv(), Ok(Err("one".into())));
    }
}
