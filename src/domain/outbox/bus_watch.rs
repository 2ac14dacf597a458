//! Whether the event bus takes events, concluded from its reports.

use std::time::Duration;

use tokio::time::Instant;

/// A bus, or a part of it, without a report for so long counts as away.
pub const ANSWER_MAX: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BusState {
    #[default]
    Healthy,
    /// Some events wait while others are published.
    Blocked,
    /// Nothing is published.
    Away,
}

#[derive(Debug, Default)]
pub struct BusWatch {
    state: BusState,
    /// The newest event that was published.
    published: Option<Instant>,
    /// When the bus last came back: waiting events have the same time as new ones from then on.
    resumed: Option<Instant>,
    /// Why an event has failed since the last published one.
    failure: Option<String>,
    unreadable: Option<String>,
}

impl BusWatch {
    pub fn published(&mut self, now: Instant) {
        (self.published, self.failure) = (Some(now), None);
    }

    pub fn failed(&mut self, why: String) {
        self.failure = Some(why);
    }

    /// Takes note of the result of a read of the outbox.
    pub fn read(&mut self, error: Option<String>) {
        self.unreadable = error;
    }

    /// Why events wait.
    pub fn reason(&self) -> String {
        let reason = self.unreadable.as_ref().or(self.failure.as_ref());
        reason.cloned().unwrap_or_else(|| format!("no answer from the event bus for {ANSWER_MAX:?}"))
    }

    /// `oldest`: since when the oldest event waits.
    pub fn state(&mut self, oldest: Option<Instant>, now: Instant) -> BusState {
        let state = self.conclude(oldest, now);
        if self.state == BusState::Away && state != BusState::Away {
            self.resumed = Some(now);
            self.state = self.conclude(oldest, now);
        } else {
            self.state = state;
        }
        self.state
    }

    fn conclude(&self, oldest: Option<Instant>, now: Instant) -> BusState {
        if self.unreadable.is_some() {
            return BusState::Away;
        }
        let Some(oldest) = oldest else { return BusState::Healthy };
        let late = now >= self.resumed.map_or(oldest, |resumed| resumed.max(oldest)) + ANSWER_MAX;
        // Something newer was published: a part of the bus works.
        let heard = self.published.is_some_and(|published| published >= oldest);
        match (heard, late) {
            (false, _) if self.failure.is_some() || late => BusState::Away,
            (true, true) => BusState::Blocked,
            _ => BusState::Healthy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_bus_is_away_and_one_that_publishes_only_others_is_blocked() {
        let (mut watch, began) = (BusWatch::default(), Instant::now());
        let at = |seconds| began + Duration::from_secs(seconds);
        assert_eq!(watch.state(Some(began), at(4)), BusState::Healthy);
        assert_eq!(watch.state(Some(began), at(5)), BusState::Away);
        watch.published(at(6));
        assert_eq!(watch.state(Some(began), at(6)), BusState::Healthy, "it has just come back");
        assert_eq!(watch.state(Some(began), at(11)), BusState::Blocked);
        assert_eq!(watch.state(None, at(12)), BusState::Healthy);
    }

    #[test]
    fn a_refusal_means_away_only_if_nothing_is_published() {
        let (mut watch, began) = (BusWatch::default(), Instant::now());
        watch.failed("refused".into());
        assert_eq!((watch.state(Some(began), began), watch.reason()), (BusState::Away, "refused".into()));
        watch.published(began);
        assert_eq!(watch.state(Some(began), began), BusState::Healthy);
        watch.failed("refused".into());
        assert_eq!(watch.state(Some(began), began), BusState::Healthy);
        assert_eq!(watch.state(Some(began), began + ANSWER_MAX), BusState::Blocked);
        watch.read(Some("a test".into()));
        assert_eq!((watch.state(None, began), watch.reason()), (BusState::Away, "a test".into()));
    }
}
