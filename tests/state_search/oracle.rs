//! What is true of each user: what was applied, decided once more on plain maps in the order in which it was applied.

use std::collections::HashMap;

use heartline::model::change::{Action, Change, Decided, Outcome};
use heartline::model::decide::Transitions;
use heartline::model::forgetting::{ContentRow, Eviction, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rule::Verdict;
use heartline::model::transition::{Cause, Transition};
use heartline::storage::hot_store::optimistic::Write;

use crate::network::{Sender, Sent};
use crate::plain_store::{PlainCommit, PlainStore};
use crate::replay;
use crate::requests::Limits;

/// What of a group concerns one user, and the moments at which it may have been decided.
pub struct Part {
    pub user: UserId,
    /// With their places in the group.
    pub changes: Vec<(usize, Change)>,
    pub rewards: Rewarding,
    /// It may make fewer claims than were earned: the group, or the outbox, had no room for all.
    pub may_lack_claims: bool,
    pub nows: Vec<u64>,
}

/// The answer to a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub outcomes: Vec<Outcome>,
    pub decided: Vec<Decided>,
    pub transitions: Transitions,
}

/// What is to be answered to a part that was applied.
struct Expected {
    /// More than one where the moment of the decision is not known.
    answers: Vec<Answer>,
    /// Which state of the user it has led to.
    state: usize,
}

impl Answer {
    /// What an erasure has removed need not all be told.
    fn is_same(&self, other: &Answer) -> bool {
        let is_told = |moved: &&(usize, Transition)| moved.1.cause != Cause::Erase;
        let transitions = |answer: &Answer| answer.transitions.iter().filter(is_told).cloned().collect::<Vec<_>>();
        let same = (&self.outcomes, &self.decided) == (&other.outcomes, &other.decided);
        same && transitions(self) == transitions(other)
    }
}

pub struct Oracle {
    limits: Limits,
    /// The states that each user has had.
    states: HashMap<UserId, Vec<State>>,
    /// By the op and the user.
    expected: HashMap<(usize, UserId), Expected>,
    /// Entries of outboxes that are not published.
    pub outbox: Vec<Claim>,
}

/// A state of one user.
#[derive(Clone)]
pub struct State {
    kept: PlainStore,
    /// The content whose row is in the head.
    pub current: Option<Content>,
}

impl State {
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

    fn is_same(&self, other: &State, user: UserId) -> bool {
        let of = |state: &State| (state.current, state.forgetting(user), state.contents(user));
        of(self) == of(other) && self.kept.claims() == other.kept.claims()
    }

    pub fn has_claimed(&self, key: &ClaimKey) -> bool {
        self.kept.claims().contains(key)
    }

    /// The state after a part that was decided at `now` and made so many claims; its answer; the claims.
    fn after(&self, part: &Part, limits: Limits, now: u64, claims_max: u64) -> (State, Answer, Vec<Claim>) {
        let Part { user, changes, rewards, .. } = part;
        let mut next = self.clone();
        let rewards = Rewarding { claims_max, ..rewards.clone() };
        let (places, changes): (Vec<_>, Vec<_>) = changes.iter().cloned().unzip();
        let PlainCommit { outcomes, mut decided, mut transitions } = next.kept.commit(now, &rewards, &changes);
        decided.iter_mut().for_each(|decided| decided.change = places[decided.change]);
        transitions.iter_mut().for_each(|(change, _)| *change = places[*change]);
        let left = next.play(*user, &changes, &outcomes, now.saturating_sub(limits.retention_ms));
        transitions.extend(left.map(|transition| (*places.last().unwrap(), transition)));
        let claims = std::mem::take(&mut next.kept.outbox);
        (next, Answer { outcomes, decided, transitions }, claims)
    }

    /// The content of the last written beat goes into the head; what was there comes out, and is pruned. While recording is
    /// paused the head has none. Returns what becomes of the record that comes out.
    fn play(&mut self, user: UserId, changes: &[Change], outcomes: &[Outcome], horizon: u64) -> Option<Transition> {
        let (mut playing, mut erased) = (None, false);
        for (change, outcome) in changes.iter().zip(outcomes) {
            match (&change.action, outcome) {
                (Action::Beat { beat, .. }, Outcome::Beat(Verdict::Written { .. })) => playing = Some(beat.content),
                (Action::Erase, _) => (playing, erased) = (None, true),
                _ => {}
            }
        }
        let of = |content: &Content| self.row(user, *content).is_some_and(|row| row.record.is_some());
        let before = self.current;
        self.current = playing.filter(of).or(before.filter(of)).filter(|_| !self.kept.paused(user));
        let left = before.filter(|before| !erased && self.current != Some(*before))?;
        self.kept.prune(user, left, horizon)
    }

    /// The state after a sweep.
    fn swept(&self, user: UserId, (records, tombstones): (u64, u64)) -> State {
        let mut next = self.clone();
        for (content, row) in self.contents(user) {
            let Eviction { has_record, newest } = row.eviction();
            let is_dead = if has_record { newest <= records } else { newest < tombstones };
            if is_dead || self.current == Some(content) {
                next.kept.prune(user, content, tombstones);
            }
        }
        let of = |content: &Content| next.row(user, *content).is_some_and(|row| row.record.is_some());
        next.current = next.current.filter(of);
        next
    }
}

impl Oracle {
    pub fn new(limits: Limits) -> Self {
        Oracle { limits, states: HashMap::new(), expected: HashMap::new(), outbox: Vec::new() }
    }

    /// The states that the user has had, the last one last.
    fn states(&mut self, user: UserId) -> &mut Vec<State> {
        let limits = self.limits;
        self.states.entry(user).or_insert_with(|| vec![State { kept: PlainStore::new(limits), current: None }])
    }

    pub fn state(&mut self, user: UserId) -> &State {
        self.states(user).last().unwrap()
    }

    /// How many states the user has had.
    pub fn age(&mut self, user: UserId) -> usize {
        self.states(user).len()
    }

    /// Something was written. `part`: what of the group that has sent it concerns the user. `fits`: what is stored, held
    /// to a state.
    pub fn applied(
        &mut self,
        sent: &Sent,
        part: Option<Part>,
        fits: impl Fn(&State) -> Result<(), String>,
    ) -> Result<(), String> {
        let user = sent.apply.user;
        let state = self.state(user).clone();
        let (Sender::Group(op), Some(part)) = (sent.sender, part) else {
            let next = state.swept(user, sent.dead.ok_or("a sweep that has not read what is dead")?);
            fits(&next)?;
            self.states(user).push(next);
            return Ok(());
        };
        let made = || sent.apply.writes.iter().filter_map(claim);
        let claims_max = if part.may_lack_claims { made().count() as u64 } else { u64::MAX };
        let mut found: Option<(State, Vec<Answer>)> = None;
        let mut differs = String::new();
        for now in &part.nows {
            let (next, answer, claims) = state.after(&part, self.limits, *now, claims_max);
            let same_claims = claims.iter().eq(made());
            match same_claims.then_some(()).ok_or_else(|| format!("claims: {claims:?}")).and_then(|()| fits(&next)) {
                Ok(()) => found.get_or_insert_with(|| (next, Vec::new())).1.push(answer),
                Err(why) => differs = why,
            }
        }
        let Some((next, answers)) = found else { return Err(format!("decided wrongly: {differs}")) };
        let expected = Expected { answers, state: self.states(user).len() };
        if self.expected.insert((op, user), expected).is_some() {
            return Err("applied twice".to_owned());
        }
        self.outbox.extend(made().cloned());
        self.states(user).push(next);
        Ok(())
    }

    /// A part was answered. `ages`: of the user, when it was asked and when it was answered.
    pub fn answered(&mut self, op: usize, part: &Part, answer: &Answer, ages: (usize, usize)) -> Result<(), String> {
        if let Some(Expected { answers, state }) = self.expected.get(&(op, part.user)) {
            let states = &self.states[&part.user];
            let erased = part.changes.iter().any(|(_, change)| matches!(change.action, Action::Erase));
            let told = answer.transitions.iter().map(|(_, transition)| transition);
            replay::leads(part.user, &states[state - 1], told, &states[*state], erased)?;
            return match answers.iter().any(|expected| expected.is_same(answer)) {
                true => Ok(()),
                false => Err(format!("answered {answer:?}, not {answers:?}")),
            };
        }
        let limits = self.limits;
        let mut others = Vec::new();
        for state in &self.states(part.user)[ages.0 - 1..ages.1] {
            for now in &part.nows {
                let (next, truth, _) = state.after(part, limits, *now, 0);
                if truth == *answer && next.is_same(state, part.user) {
                    return Ok(());
                }
                others.push(truth);
            }
        }
        others.dedup();
        Err(format!("answered {answer:?}, which was never true; nothing was written, and these were: {others:?}"))
    }

    /// What was answered as being stored is stored, or has made room for what is newer.
    pub fn remembers(&mut self, part: &Part, answer: &Answer, now: u64) -> Result<(), String> {
        let horizon = now.saturating_sub(self.limits.retention_ms);
        let user = part.user;
        let state = self.state(user);
        let (forgetting, contents) = (state.forgetting(user), state.contents(user));
        for ((_, change), outcome) in part.changes.iter().zip(&answer.outcomes) {
            let Action::Beat { beat, .. } = &change.action else { continue };
            if !matches!(outcome, Outcome::Beat(Verdict::Written { .. } | Verdict::Same)) {
                continue;
            }
            let row = contents.get(&beat.content).cloned().unwrap_or_default();
            let forgotten =
                forgetting.watermark.max(forgetting.floor).max(row.tombstone.map_or(0, |deleted| deleted.at));
            let as_new = row.record.as_ref().is_some_and(|record| record.stamp() >= beat.stamp());
            if !as_new && beat.at > forgotten && beat.at >= horizon {
                return Err(format!("{beat:?} was answered with success and is gone"));
            }
        }
        Ok(())
    }
}

pub fn claim(write: &Write) -> Option<&Claim> {
    match write {
        Write::Claim { claim, .. } => Some(claim),
        _ => None,
    }
}
