//! What is true of each user: what was applied, decided once more on plain maps in the order in which it was applied.

use std::collections::{BTreeMap, HashMap};

use heartline::model::change::{Action, Outcome};
use heartline::model::ids::UserId;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rule::Verdict;
use heartline::model::sums::SumKey;
use heartline::storage::hot_store::optimistic::Write;

use crate::state_search::network::Sent;
use crate::state_search::replay;
use crate::state_search::requests::Limits;
use crate::state_search::state::{Answer, Part, State};

/// What is to be answered to a part that was applied.
struct Expected {
    /// More than one where the moment of the decision is not known.
    answers: Vec<Answer>,
    /// Which state of the user it has led to.
    state: usize,
}

pub struct Oracle {
    limits: Limits,
    /// The states that each user has had.
    states: HashMap<UserId, Vec<State>>,
    /// By the op and the user.
    expected: HashMap<(usize, UserId), Expected>,
    /// Entries of outboxes that are not published.
    pub outbox: Vec<Claim>,
    /// The views of each user.
    views: HashMap<UserId, BTreeMap<SumKey, i64>>,
}

impl Oracle {
    pub fn new(limits: Limits) -> Self {
        Oracle { limits, states: HashMap::new(), expected: HashMap::new(), outbox: Vec::new(), views: HashMap::new() }
    }

    /// The states that the user has had, the last one last.
    fn states(&mut self, user: UserId) -> &mut Vec<State> {
        let limits = self.limits;
        self.states.entry(user).or_insert_with(|| vec![State::new(limits)])
    }

    pub fn state(&mut self, user: UserId) -> &State {
        self.states(user).last().unwrap()
    }

    pub fn views(&self, user: UserId) -> BTreeMap<SumKey, i64> {
        self.views.get(&user).cloned().unwrap_or_default()
    }

    /// How many states the user has had.
    pub fn age(&mut self, user: UserId) -> usize {
        self.states(user).len()
    }

    /// Something was written. `part`: what of the group that has sent it concerns the user. `fits`: what is stored,
    /// held to a state.
    pub fn applied(
        &mut self,
        sent: &Sent,
        part: &Part,
        fits: impl Fn(&State) -> Result<(), String>,
    ) -> Result<(), String> {
        let user = sent.apply.user;
        let state = self.state(user).clone();
        let op = sent.sender;
        let made = || sent.apply.writes.iter().filter_map(claim);
        let viewed = || sent.apply.writes.iter().filter_map(view);
        let claims_max = if part.may_lack_claims { made().count() as u64 } else { u64::MAX };
        let mut found: Option<(State, Vec<Answer>)> = None;
        let mut differs = String::new();
        for moment in part.moments() {
            let (next, answer, claims) = state.after_with(part, self.limits, moment, claims_max);
            let (views, rewards): (Vec<_>, Vec<_>) = claims.iter().partition(|claim| claim.key.is_view());
            let same_views = views.iter().map(|claim| &claim.key).eq(viewed());
            let same_claims = same_views && rewards.into_iter().eq(made());
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
        for ClaimKey { day, content, .. } in viewed() {
            let (views, content) = (self.views.entry(user).or_default(), content.unwrap());
            *views.entry(SumKey::Views(content)).or_default() += 1;
            *views.entry(SumKey::ViewsOn(content, *day)).or_default() += 1;
        }
        self.states(user).push(next);
        Ok(())
    }

    /// A part was answered. `ages`: of the user, when it was asked and when it was answered.
    pub fn answered(&mut self, op: usize, part: &Part, answer: &Answer, ages: (usize, usize)) -> Result<(), String> {
        if let Some(Expected { answers, state }) = self.expected.get(&(op, part.user)) {
            let states = &self.states[&part.user];
            let told = answer.transitions.iter().map(|(_, transition)| transition);
            replay::leads(part.user, &states[state - 1], told, &states[*state])?;
            return match answers.iter().any(|expected| expected == answer) {
                true => Ok(()),
                false => Err(format!("answered {answer:?}, not {answers:?}")),
            };
        }
        let limits = self.limits;
        let mut others = Vec::new();
        for state in &self.states(part.user)[ages.0 - 1..ages.1] {
            for moment in part.moments() {
                let (next, truth, _) = state.after_with(part, limits, moment, 0);
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
        let horizon = self.limits.horizon(now);
        let user = part.user;
        let state = self.state(user);
        let (forgetting, contents) = (state.forgetting(user), state.contents(user));
        for ((_, change), outcome) in part.changes.iter().zip(&answer.outcomes) {
            let Action::Beat { beat, .. } = &change.action else { continue };
            if !matches!(outcome, Outcome::Beat { verdict: Verdict::Written { .. } | Verdict::Same, .. }) {
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

fn view(write: &Write) -> Option<&ClaimKey> {
    match write {
        Write::View { key, .. } => Some(key),
        _ => None,
    }
}

pub fn claim(write: &Write) -> Option<&Claim> {
    match write {
        Write::Claim { claim, .. } => Some(claim),
        _ => None,
    }
}
