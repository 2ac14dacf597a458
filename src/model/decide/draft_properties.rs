//! Decisions do not depend on how the changes are grouped.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use proptest::prelude::*;

use super::{AtHand, DeadContents, Decider, Draft, Drafted, StoredUser};
use crate::beat::{Beat, State};
use crate::change::{Action, Outcome};
use crate::forgetting::{ContentRow, Eviction, UserRow};
use crate::ids::{Content, SessionId, UserId};
use crate::rewards::claim::ClaimKey;
use crate::rewards::rewarding::Rewarding;
use crate::rewards::rule::RuleSet;
use crate::transition::Transition;

const NOW: u64 = 100;
const HORIZON: u64 = 20;
const CONTENTS_MAX: u32 = 3;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Plain {
    forgetting: UserRow,
    rows: BTreeMap<Content, ContentRow>,
}

impl Plain {
    fn undrafted(&self, is_drafted: impl Fn(Content) -> bool) -> impl Iterator<Item = (Content, &ContentRow)> {
        let rows = self.rows.iter().map(|(content, row)| (*content, row));
        rows.filter(move |(content, _)| !is_drafted(*content))
    }

    fn store(&mut self, drafted: Drafted<()>) {
        let Drafted { forgetting, forgetting_changed, rows, contents, erased, .. } = drafted;
        assert!(forgetting_changed || forgetting == self.forgetting, "a change that is not marked");
        self.forgetting = forgetting;
        if erased {
            self.rows.clear();
        }
        for draft in rows {
            let before = self.rows.remove(&draft.content);
            assert!(draft.changed || before.unwrap_or_default() == draft.row, "a change that is not marked");
            if !draft.row.is_empty() {
                self.rows.insert(draft.content, draft.row);
            }
        }
        assert!(contents.is_none_or(|contents| contents as usize == self.rows.len()), "{contents:?} {:?}", self.rows);
    }

    /// Decides all actions in one group.
    fn decide(&mut self, actions: &[Action]) -> (Vec<Outcome>, Vec<Transition>) {
        let rewards = Rewarding::none();
        let mut decider = Decider::new(NOW, HORIZON, CONTENTS_MAX, &rewards);
        let Ok(mut draft) = Draft::new(&*self);
        let decide = |(index, action)| {
            let Ok(outcome) = decider.decide(&mut draft, index, UserId(1), action);
            outcome
        };
        let outcomes = actions.iter().enumerate().map(decide).collect();
        let drafted = draft.finish();
        let transitions = decider.finish().1.into_iter().map(|(_, transition)| transition).collect();
        self.store(drafted);
        (outcomes, transitions)
    }
}

impl StoredUser for &Plain {
    type Error = Infallible;
    type Claims = ();

    /// The oldest row is at hand, so that the tests cover a row at hand.
    fn at_hand(&mut self) -> Result<AtHand, Infallible> {
        let row = self.rows.iter().next().map(|(content, row)| (*content, row.clone()));
        Ok(AtHand { forgetting: self.forgetting.clone(), row, contents: None })
    }

    fn row(&mut self, content: Content) -> Result<Option<ContentRow>, Infallible> {
        Ok(self.rows.get(&content).cloned())
    }

    fn contents(&mut self) -> Result<u32, Infallible> {
        Ok(self.rows.len() as u32)
    }

    fn newest_record(&mut self, oldest: u64, is_drafted: impl Fn(Content) -> bool) -> Result<u64, Infallible> {
        let records = self.undrafted(is_drafted).filter_map(|(_, row)| row.record.as_ref());
        Ok(records.map(|record| record.at).filter(|at| *at >= oldest).max().unwrap_or(0))
    }

    fn first_to_go(&mut self, is_drafted: impl Fn(Content) -> bool) -> Result<Option<(Eviction, Content)>, Infallible> {
        Ok(self.undrafted(is_drafted).map(|(content, row)| (row.eviction(), content)).min())
    }

    fn dead(
        &mut self,
        forgetting: &UserRow,
        horizon: u64,
        is_drafted: impl Fn(Content) -> bool,
    ) -> Result<DeadContents, Infallible> {
        let dead = self.undrafted(is_drafted).filter(|(_, row)| (*row).clone().prune(forgetting, horizon));
        Ok(DeadContents { contents: dead.map(|(content, _)| content).collect(), more: false })
    }

    fn all(&mut self) -> Result<Vec<(Content, ContentRow)>, Infallible> {
        Ok(self.rows.clone().into_iter().collect())
    }

    fn is_claimed(&mut self, _: &ClaimKey, _: bool) -> Result<bool, Infallible> {
        Ok(false)
    }

    fn claims(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

fn content() -> impl Strategy<Value = Content> {
    (0u64..12).prop_map(|oid| Content { kind: 1, oid })
}

fn action() -> impl Strategy<Value = Action> {
    let beat = |(content, at, session)| {
        let session = SessionId(session);
        let beat = Beat { content, pos: at, dur: 0, state: State::Playing, session, watched: Some(1), rate: 1.0, at };
        Action::beat(beat, Arc::from("tv"), RuleSet::NONE)
    };
    let at = || 1u64..110;
    prop_oneof![
        20 => (content(), at(), 1u64..3).prop_map(beat),
        4 => (prop::collection::vec(content(), 1..4), at()).prop_map(|(contents, at)| Action::Delete { contents, at }),
        2 => at().prop_map(|at| Action::Clear { at }),
        2 => (any::<bool>(), at()).prop_map(|(paused, at)| Action::Recording { paused, at }),
        1 => at().prop_map(|at| Action::Erase { at }),
        3 => at().prop_map(|horizon| Action::Prune { horizon }),
    ]
}

proptest! {
    #[test]
    fn one_group_decides_the_same_as_many(
        before in prop::collection::vec(action(), 0..20), actions in prop::collection::vec(action(), 1..20),
    ) {
        let mut one = Plain::default();
        one.decide(&before);
        let mut many = one.clone();
        let (outcomes, transitions) = one.decide(&actions);
        let decided: Vec<_> = actions.iter().map(|action| many.decide(std::slice::from_ref(action))).collect();
        let (apart, transitions_apart): (Vec<_>, Vec<_>) = decided.into_iter().unzip();
        prop_assert_eq!((outcomes, transitions), (apart.concat(), transitions_apart.concat()));
        prop_assert_eq!(one, many);
    }
}
