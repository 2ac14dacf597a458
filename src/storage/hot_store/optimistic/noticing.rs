//! The notices that a user's changes leave.
//!
//! This process remembers the steady notice that it has left last: as long as that certainly waits, further steady beats
//! of the content change nothing but the head, which is the cheapest write. It is believed until [`MARGIN`] before it is
//! due: a commit that relies on it is over by then, and so it is told, too. In the store a notice that is due at once is a
//! member of its own for each position, so that no more than one of them waits.

use parking_lot::Mutex;

use super::Write;
use super::token::{Token, TokenSource};
use crate::notices::UrgentRate;
use model::change::{Change, Outcome};
use model::ids::Content;
use model::notices::{Followed, Notice, noticed};

/// Milliseconds; more than a commit takes whose outcome becomes known.
const MARGIN: u64 = 10_000;

/// A steady notice that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub content: Content,
    /// Milliseconds.
    pub due: u64,
}

/// The same for all users.
#[derive(Clone, Copy)]
pub struct NoticeTerms<'a> {
    pub followed: Followed,
    pub rate: &'a Mutex<UrgentRate>,
}

/// The parameters by which a commit makes notices.
pub struct NoticeRule<'a> {
    pub terms: NoticeTerms<'a>,
    pub tokens: &'a TokenSource,
    /// The token of the state that the changes were decided on.
    pub before: Option<Token>,
    /// Milliseconds.
    pub now: u64,
}

impl NoticeRule<'_> {
    /// The writes of the notices. `waiting`: the last steady notice, before and after.
    pub fn apply<'c>(
        &self,
        changes: impl Iterator<Item = (&'c Change, &'c Outcome)>,
        waiting: &mut Option<Waiting>,
    ) -> Vec<Write> {
        let mut writes = Vec::new();
        if !self.terms.followed.any() {
            return writes;
        }
        for (change, outcome) in changes {
            let version = || self.tokens.next(self.before, self.now).version;
            let Some(mut noticed) = noticed(self.terms.followed, change, outcome, version) else { continue };
            if let Some((user, _)) = noticed.urgent() {
                noticed.steady = !self.terms.rate.lock().allows(user, self.now);
            }
            let due = noticed.due(self.now);
            if let (true, Notice::Position { content, .. }) = (noticed.steady, &noticed.notice) {
                if waiting.is_some_and(|waiting| waiting.covers(*content, self.now)) {
                    continue;
                }
                *waiting = Some(Waiting { content: *content, due });
            }
            writes.push(Write::Notice { noticed, due });
        }
        writes
    }
}

impl Waiting {
    fn covers(&self, content: Content, now: u64) -> bool {
        self.content == content && now + MARGIN < self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::beat::{Beat, State};
    use model::change::Action;
    use model::ids::{SessionId, UserId};
    use model::rewards::rule::RuleSet;
    use model::rule::Verdict;

    fn beat(oid: u64) -> Change {
        let content = Content { kind: 1, oid };
        let state = State::Playing;
        let beat = Beat { content, pos: 1, dur: 2, state, session: SessionId(3), watched: Some(4), rate: 1.0, at: 5 };
        Change { user: UserId(42), action: Action::beat(beat, "tv".into(), RuleSet::NONE) }
    }

    /// The due times of the notices of a beat.
    fn due(now: u64, oid: u64, steady: bool, waiting: &mut Option<Waiting>) -> Vec<u64> {
        let (tokens, rate) = (TokenSource::new(1), Mutex::default());
        let rule = NoticeRule {
            terms: NoticeTerms { followed: Followed::ALL, rate: &rate },
            tokens: &tokens,
            before: None,
            now,
        };
        let writes = rule.apply([(&beat(oid), &Verdict::written(steady).into())].into_iter(), waiting);
        let due = |write| match write {
            Write::Notice { due, .. } => due,
            other => panic!("{other:?}"),
        };
        writes.into_iter().map(due).collect()
    }

    #[test]
    fn steady_beats_leave_a_notice_as_often_as_it_may_be_taken() {
        let mut waiting = None;
        assert_eq!(due(1_000, 1, false, &mut waiting), [1_000]);
        assert_eq!(due(2_000, 1, true, &mut waiting), [32_000], "the first may be taken already");
        assert!(due(21_999, 1, true, &mut waiting).is_empty());
        assert_eq!(due(22_000, 1, true, &mut waiting), [52_000]);
        assert_eq!(due(22_001, 2, true, &mut waiting), [52_001], "of another content");
        assert_eq!(due(22_002, 1, true, &mut waiting), [52_002], "only the last is remembered");
    }

    #[test]
    fn what_is_not_followed_leaves_none() {
        let (tokens, rate, mut waiting) = (TokenSource::new(1), Mutex::default(), None);
        let rule = NoticeRule {
            terms: NoticeTerms { followed: Followed::NONE, rate: &rate },
            tokens: &tokens,
            before: None,
            now: 1,
        };
        let written = Verdict::written(false).into();
        assert!(rule.apply([(&beat(1), &written)].into_iter(), &mut waiting).is_empty());
    }
}
