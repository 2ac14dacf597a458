//! The log of subscribers that begin to fail, stop, or are well again: a line for each change, not for each try.

use model::subscribers::{PauseReason, State, Status, SubscriberId};

/// The change of a subscriber's state in a turn.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Failing,
    WellAgain,
    TriesUsedUp,
    Disabled,
}

/// Logs what a turn has changed, if anything.
pub fn log_change(subscriber: &SubscriberId, before: &Status, after: &Status) {
    let Some(change) = change(before, after) else { return };
    let failure = after.last_failure.as_ref();
    let (reason, status) = (failure.map(|failure| failure.reason.word()), failure.and_then(|failure| failure.status));
    match change {
        Change::Failing => {
            tracing::warn!(event = "subscriber_failing", %subscriber, reason, status, "subscriber fails; it is tried again")
        }
        Change::WellAgain => {
            tracing::info!(event = "subscriber_recovered", %subscriber, "subscriber takes events again");
        }
        Change::TriesUsedUp => tracing::warn!(
            event = "subscriber_paused",
            %subscriber,
            reason,
            status,
            "subscriber has failed for 72 h and is paused; its events wait"
        ),
        Change::Disabled => tracing::warn!(
            event = "subscriber_disabled",
            %subscriber,
            "subscriber has answered 410 and is disabled; it gets no more events"
        ),
    }
}

fn change(before: &Status, after: &Status) -> Option<Change> {
    match (after.state, before.failing.is_some(), after.failing.is_some()) {
        (state, ..) if state != before.state => match state {
            State::Disabled => Some(Change::Disabled),
            State::Paused(PauseReason::TriesUsedUp) => Some(Change::TriesUsedUp),
            State::Active | State::Paused(PauseReason::Requested | PauseReason::Other) => None,
        },
        (_, false, true) => Some(Change::Failing),
        (_, true, false) => Some(Change::WellAgain),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subscribers::Failing;

    #[test]
    fn each_change_is_told_once_and_tries_are_not() {
        let failing = |tries| Status { failing: Some(Failing { since: 1, tries }), ..Status::default() };
        let stopped = |state| Status { state, ..Status::default() };
        let used_up = stopped(State::Paused(PauseReason::TriesUsedUp));
        let well = Status::default();
        for (before, after, told) in [
            (&well, &well, None),
            (&well, &failing(1), Some(Change::Failing)),
            (&failing(1), &failing(2), None),
            (&failing(2), &well, Some(Change::WellAgain)),
            (&failing(9), &used_up, Some(Change::TriesUsedUp)),
            (&failing(9), &stopped(State::Disabled), Some(Change::Disabled)),
            (&well, &stopped(State::Disabled), Some(Change::Disabled)),
        ] {
            assert_eq!(change(before, after), told, "{before:?} -> {after:?}");
        }
    }
}
