//! Changes that affect the live numbers.

use crate::beat::State;
use crate::ids::{Content, SessionId, UserId};
use crate::transition::{Cause, Transition};
use crate::visitor::Visitor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveChange {
    Playing(Played),
    /// An `ended` beat was written.
    Ended {
        user: UserId,
        session: SessionId,
        at: u64,
    },
    Erased(UserId),
    /// At this moment.
    Kicked {
        user: UserId,
        at: u64,
    },
}

/// A `playing` beat that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    pub user: UserId,
    pub session: SessionId,
    pub content: Content,
    pub at: u64,
    /// The client that it came from.
    pub visitor: Visitor,
}

impl LiveChange {
    /// `visitor`: the client behind it. `None`: it does not concern them. A pause or a seek changes nothing: the
    /// session runs out if no more is played.
    pub fn of(transition: &Transition, visitor: Visitor) -> Option<Self> {
        if transition.cause != Cause::Beat {
            return None;
        }
        let (user, record) = (transition.user, transition.after.as_ref()?);
        let (session, content, at) = (record.session, record.content, record.at);
        match record.state {
            State::Playing => Some(LiveChange::Playing(Played { user, session, content, at, visitor })),
            State::Ended => Some(LiveChange::Ended { user, session, at }),
            State::Paused | State::Seeked => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::rewards::credit::Credit;
    use crate::version::Version;
    use crate::visitor::Os;

    fn written(state: State, cause: Cause) -> Transition {
        let content = Content { kind: 1, oid: 100 };
        let record = Record {
            content,
            pos: 10_000,
            dur: 0,
            state,
            session: SessionId(7),
            device: "".into(),
            watched: 5_000,
            at: 1_000,
            version: Version(1_000_000),
            credit: Credit::default(),
        };
        Transition { user: UserId(42), content, before: None, after: Some(record), cause }
    }

    #[test]
    fn only_written_beats_change_live_numbers() {
        let (user, session, at) = (UserId(42), SessionId(7), 1_000);
        let (content, visitor) = (Content { kind: 1, oid: 100 }, Visitor { os: Os::of("iOS"), ..Visitor::default() });
        let playing = LiveChange::Playing(Played { user, session, content, at, visitor });
        for (state, change) in [
            (State::Playing, Some(playing)),
            (State::Ended, Some(LiveChange::Ended { user, session, at })),
            (State::Paused, None),
            (State::Seeked, None),
        ] {
            assert_eq!(LiveChange::of(&written(state, Cause::Beat), visitor), change);
        }
        for cause in [Cause::Delete, Cause::Clear, Cause::Erase, Cause::Cap, Cause::Expiry] {
            let removed = Transition { after: None, ..written(State::Playing, cause) };
            assert_eq!(LiveChange::of(&removed, visitor), None, "{cause:?}");
        }
    }
}
