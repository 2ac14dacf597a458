//! A notice, and which changes leave one.

use super::followed::Followed;
use crate::change::{Action, Change, Outcome};
use crate::ids::{Content, UserId};
use crate::rule::Verdict;
use crate::version::Version;

/// Something of a user that is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The position of this content, as it is when it is told.
    Position {
        user: UserId,
        content: Content,
    },
    Forgotten(Forgotten),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgotten {
    pub user: UserId,
    pub cause: ForgottenCause,
    /// The deleted contents; none where everything is forgotten.
    pub items: Vec<Content>,
    /// Everything concerned up to this moment is forgotten, milliseconds of the server's clock.
    pub at: u64,
    /// The version of the commit. No two forgettings of a user have the same.
    pub version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgottenCause {
    /// Some contents were deleted.
    Delete,
    /// All records were deleted.
    Clear,
    /// The user was erased.
    Erase,
}

/// A notice, and when it is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    pub notice: Notice,
    /// The position only moves on. It is due later, and the steady beats until then need no other notice.
    pub steady: bool,
}

impl Notice {
    /// How long the notice of a steady position waits for newer positions, milliseconds.
    pub const STEADY: u64 = 30_000;

    pub fn user(&self) -> UserId {
        match self {
            Notice::Position { user, .. } => *user,
            Notice::Forgotten(forgotten) => forgotten.user,
        }
    }

    /// The contents that it names.
    pub fn contents(&self) -> &[Content] {
        match self {
            Notice::Position { content, .. } => std::slice::from_ref(content),
            Notice::Forgotten(forgotten) => &forgotten.items,
        }
    }
}

impl Noticed {
    /// The position that is told at once, if that is what it is.
    pub fn urgent(&self) -> Option<(UserId, Content)> {
        match &self.notice {
            Notice::Position { user, content } if !self.steady => Some((*user, *content)),
            _ => None,
        }
    }

    /// `now`: of the commit, milliseconds.
    pub fn due(&self, now: u64) -> u64 {
        if self.steady { now + Notice::STEADY } else { now }
    }
}

impl ForgottenCause {
    pub fn word(self) -> &'static str {
        match self {
            ForgottenCause::Delete => "delete",
            ForgottenCause::Clear => "clear",
            ForgottenCause::Erase => "erase",
        }
    }
}

/// The notice that a change leaves, if it does. `version`: gives out versions, none twice for a user.
pub fn noticed(
    followed: Followed,
    change: &Change,
    outcome: &Outcome,
    version: impl FnOnce() -> Version,
) -> Option<Noticed> {
    let user = change.user;
    let forgotten = |cause, items: &[Content], at, version: Version| {
        let notice = Notice::Forgotten(Forgotten { user, cause, items: items.to_vec(), at, version });
        followed.forgotten.then_some(Noticed { notice, steady: false })
    };
    match (&change.action, outcome) {
        (Action::Beat { beat, .. }, Outcome::Beat { verdict: Verdict::Written { steady, .. }, .. }) => {
            let notice = Notice::Position { user, content: beat.content };
            followed.positions.then_some(Noticed { notice, steady: *steady })
        }
        (_, Outcome::Deleted { moved, at }) if !moved.is_empty() => {
            forgotten(ForgottenCause::Delete, moved, *at, version())
        }
        (_, Outcome::Cleared { moved: true, at }) => forgotten(ForgottenCause::Clear, &[], *at, version()),
        (_, Outcome::Erased { moved: true, at, .. }) => forgotten(ForgottenCause::Erase, &[], *at, version()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beat::{Beat, State};
    use crate::ids::SessionId;
    use crate::rewards::rule::RuleSet;
    use crate::rule::Reason;

    const USER: UserId = UserId(42);

    fn beat() -> Beat {
        let content = Content { kind: 1, oid: 100 };
        let state = State::Playing;
        Beat { content, pos: 1, dur: 2, state, session: SessionId(3), watched: Some(4), rate: 1.0, at: 5 }
    }

    fn left(followed: Followed, action: Action, outcome: &Outcome) -> Option<Noticed> {
        noticed(followed, &Change { user: USER, action }, outcome, || Version(7))
    }

    fn written(steady: bool) -> Outcome {
        Verdict::written(steady).into()
    }

    #[test]
    fn a_new_position_is_due_at_once_and_a_steady_one_later() {
        let action = || Action::beat(beat(), "tv".into(), RuleSet::NONE);
        let notice = Notice::Position { user: USER, content: beat().content };
        for (steady, due) in [(false, 1_000), (true, 31_000)] {
            let left = left(Followed::ALL, action(), &written(steady)).expect("it leaves a notice");
            assert_eq!((left.due(1_000), left.notice), (due, notice.clone()));
        }
        let rejected = Verdict::Rejected { reason: Reason::Superseded, record: None }.into();
        assert_eq!(left(Followed::ALL, action(), &rejected), None);
        let only_forgotten = Followed { positions: false, ..Followed::ALL };
        assert_eq!(left(only_forgotten, action(), &written(false)), None);
    }

    #[test]
    fn a_forgetting_is_due_at_once_with_all_that_it_says() {
        let item = Content { kind: 1, oid: 100 };
        let delete = Action::Delete { contents: vec![item], at: 5 };
        let erased = |moved| Outcome::Erased { at: 5, resumed: false, moved };
        let cases = [
            (delete.clone(), Outcome::Deleted { moved: vec![item], at: 5 }, ForgottenCause::Delete, vec![item]),
            (Action::Clear { at: 5 }, Outcome::Cleared { moved: true, at: 5 }, ForgottenCause::Clear, vec![]),
            (Action::Erase { at: 5 }, erased(true), ForgottenCause::Erase, vec![]),
        ];
        for (action, outcome, cause, items) in cases {
            let forgotten = Forgotten { user: USER, cause, items, at: 5, version: Version(7) };
            let expected = Noticed { notice: Notice::Forgotten(forgotten), steady: false };
            assert_eq!(left(Followed::ALL, action.clone(), &outcome), Some(expected));
            assert_eq!(left(Followed { forgotten: false, ..Followed::ALL }, action, &outcome), None);
        }
        let nothing = [
            (delete, Outcome::Deleted { moved: vec![], at: 5 }),
            (Action::Clear { at: 5 }, Outcome::Cleared { moved: false, at: 5 }),
            (Action::Erase { at: 5 }, erased(false)),
            (Action::Erase { at: 5 }, Outcome::Ahead),
        ];
        for (action, outcome) in nothing {
            assert_eq!(left(Followed::ALL, action, &outcome), None, "{outcome:?}");
        }
    }
}
