//! The state of one user on plain maps, and what a part of a group makes of it.

use std::collections::HashMap;

use heartline::model::change::{Action, Change, Decided, Outcome};
use heartline::model::decide::Transitions;
use heartline::model::forgetting::{ContentRow, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rule::Verdict;
use heartline::model::transition::Transition;

use crate::state_search::plain_store::{PlainCommit, PlainStore};
use crate::state_search::requests::Limits;

/// What of a group concerns one user, and the moments at which it may have been decided.
pub struct Part {
    pub user: UserId,
    /// With their indexes in the group.
    pub changes: Vec<(usize, Change)>,
    pub rewards: Rewarding,
    /// It may make fewer claims than were earned: the group, or the outbox, had no room for all.
    pub may_lack_claims: bool,
    pub nows: Vec<u64>,
    /// What has expired may have waited to be carried.
    pub may_wait: bool,
}

impl Part {
    /// The moments at which it may have been decided, each with whether what had expired waited.
    pub fn moments(&self) -> impl Iterator<Item = (u64, bool)> {
        let waits = [false, true].into_iter().take(1 + usize::from(self.may_wait));
        self.nows.iter().flat_map(move |now| waits.clone().map(move |waits| (*now, waits)))
    }
}

/// The answer to a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub outcomes: Vec<Outcome>,
    pub decided: Vec<Decided>,
    pub transitions: Transitions,
}

/// A state of one user.
#[derive(Clone)]
pub struct State {
    kept: PlainStore,
    /// The content whose row is in the head.
    pub current: Option<Content>,
}

impl State {
    /// Of a user of whom nothing is kept.
    pub fn new(limits: Limits) -> Self {
        State { kept: PlainStore::new(limits), current: None }
    }

    #[allow(dead_code, reason = "the state search looks at it from outside")]
    pub fn kept(&self) -> &PlainStore {
        &self.kept
    }

    pub fn forgetting(&self, user: UserId) -> UserRow {
        self.kept.kept(user).map(|(row, _)| row.clone()).unwrap_or_default()
    }

    pub fn contents(&self, user: UserId) -> HashMap<Content, ContentRow> {
        let contents = self.kept.kept(user).into_iter().flat_map(|(_, contents)| contents);
        contents.map(|(content, row)| (*content, row.clone())).collect()
    }

    fn row(&self, user: UserId, content: Content) -> Option<&ContentRow> {
        self.kept.kept(user)?.1.get(&content)
    }

    pub fn is_same(&self, other: &State, user: UserId) -> bool {
        let of = |state: &State| (state.current, state.forgetting(user), state.contents(user));
        of(self) == of(other) && self.kept.claims() == other.kept.claims()
    }

    pub fn has_claimed(&self, key: &ClaimKey) -> bool {
        self.kept.claims().contains(key)
    }

    /// The state after a part that was decided at `now` and made so many claims; its answer; the claims.
    pub fn after(&self, part: &Part, limits: Limits, now: u64, claims_max: u64) -> (State, Answer, Vec<Claim>) {
        self.after_with(part, limits, (now, false), claims_max)
    }

    /// `moment`: when it was decided, and whether what had expired waited to be carried when the user was pruned.
    pub fn after_with(
        &self,
        part: &Part,
        limits: Limits,
        (now, waits): (u64, bool),
        claims_max: u64,
    ) -> (State, Answer, Vec<Claim>) {
        let Part { user, changes, rewards, .. } = part;
        let mut next = self.clone();
        let rewards = Rewarding { claims_max, ..rewards.clone() };
        let (indexes, mut changes): (Vec<_>, Vec<_>) = changes.iter().cloned().unzip();
        for change in changes.iter_mut().filter(|change| waits && matches!(change.action, Action::Prune { .. })) {
            change.action = Action::Prune { horizon: 0 };
        }
        let PlainCommit { outcomes, mut decided, mut transitions } = next.kept.commit(now, &rewards, &changes);
        decided.iter_mut().for_each(|decided| decided.change = indexes[decided.change]);
        transitions.iter_mut().for_each(|(change, _)| *change = indexes[*change]);
        let horizon = if part.may_wait { 0 } else { limits.horizon(now) };
        let left = next.play(*user, &changes, &outcomes, horizon);
        transitions.extend(left.map(|transition| (*indexes.last().unwrap(), transition)));
        let claims = std::mem::take(&mut next.kept.outbox);
        (next, Answer { outcomes, decided, transitions }, claims)
    }

    /// The content of the last written beat goes into the head; what was there comes out, and is pruned. While
    /// recording is paused the head has none. Returns what becomes of the record that comes out.
    fn play(&mut self, user: UserId, changes: &[Change], outcomes: &[Outcome], horizon: u64) -> Option<Transition> {
        let (mut playing, mut erased) = (None, false);
        for (change, outcome) in changes.iter().zip(outcomes) {
            match (&change.action, outcome) {
                (Action::Beat { beat, .. }, Outcome::Beat { verdict: Verdict::Written { .. }, .. }) => {
                    playing = Some(beat.content)
                }
                (Action::Erase { .. }, Outcome::Erased { moved: true, .. }) => erased = true,
                _ => {}
            }
        }
        let of = |content: &Content| self.row(user, *content).is_some_and(|row| row.record.is_some());
        let before = self.current;
        self.current = playing.filter(of).or(before.filter(of)).filter(|_| !self.kept.paused(user));
        let left = before.filter(|before| !erased && self.current != Some(*before))?;
        self.kept.prune(user, left, horizon)
    }
}
