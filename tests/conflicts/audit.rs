//! Replays what Redis has done, in its order, by the model: each write must be what one group of one gateway makes of
//! the state before it, and its answer must be what that gateway was told.

use std::collections::HashMap;

use heartline::model::ids::UserId;
use heartline::model::rewards::claim::Claim;
use heartline::storage::hot_store::optimistic::Token;

use crate::conflicts::replay;
use crate::conflicts::requests::Limits;
use crate::conflicts::state::{Answer, Part, State};
use crate::conflicts::stored_user::{StoredUser, Write};
use crate::conflicts::witness::CommittedOnce;

/// What of a group concerned one user, and what was answered.
pub struct Said {
    part: Part,
    answer: Answer,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Tally {
    /// Parts of groups that have written.
    pub writes: usize,
    /// Parts of groups that have written nothing.
    pub silent: usize,
    pub transitions: usize,
    pub claims: usize,
}

/// All that one user's groups were told, and all that was written of the user.
pub struct Book {
    limits: Limits,
    /// By the gateways, in the order of their groups. Of one gateway a user's groups follow each other.
    said: [Vec<Said>; 2],
    /// In the order of their tokens.
    events: Vec<Event>,
    /// The states that the user has had, as far as is known: one more than events.
    states: Vec<State>,
}

/// A write of the user.
struct Event {
    /// Which gateway has written.
    gateway: usize,
    token: Token,
    /// What is stored then.
    stored: StoredUser,
    /// How many claims it has put into the outbox.
    made: usize,
}

/// How far the groups of each gateway are accounted for.
#[derive(Clone, Copy, Default)]
struct Reached {
    /// The next of them.
    next: [usize; 2],
    /// The least state on which it was decided.
    least: [usize; 2],
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        let Tally { writes, silent, transitions, claims } = other;
        self.writes += writes;
        self.silent += silent;
        self.transitions += transitions;
        self.claims += claims;
    }
}

impl Said {
    /// The parts of a group.
    pub fn of(group: CommittedOnce) -> Vec<Said> {
        let CommittedOnce { nows, changes, rewards, outcomes, decided, transitions, .. } = group;
        assert_eq!(outcomes.len(), changes.len(), "each change has an outcome");
        let users: Vec<UserId> = changes.iter().map(|change| change.user).collect();
        let mut indexes: HashMap<UserId, usize> = HashMap::new();
        let mut said: Vec<Said> = Vec::new();
        for ((index, change), outcome) in changes.into_iter().enumerate().zip(outcomes) {
            let user = change.user;
            let number = *indexes.entry(user).or_insert_with(|| {
                let (nows, rewards) = (nows.clone(), rewards.clone());
                let part = Part { user, changes: Vec::new(), rewards, may_lack_claims: false, nows, may_wait: false };
                let answer = Answer { outcomes: Vec::new(), decided: Vec::new(), transitions: Vec::new() };
                said.push(Said { part, answer });
                said.len() - 1
            });
            said[number].part.changes.push((index, change));
            said[number].answer.outcomes.push(outcome);
        }
        for each in decided {
            said[indexes[&users[each.change]]].answer.decided.push(each);
        }
        for (index, transition) in transitions {
            said[indexes[&users[index]]].answer.transitions.push((index, transition));
        }
        said
    }

    pub fn user(&self) -> UserId {
        self.part.user
    }

    /// The state that it has led to: it is what is stored after the event, and all that was answered follows from the
    /// state before.
    fn leads(&self, before: &State, limits: Limits, event: &Event) -> Result<State, String> {
        let Said { part, answer } = self;
        let mut why = String::new();
        for now in &part.nows {
            let (next, truth, claims) = before.after(part, limits, *now, u64::MAX);
            let checked = event.stored.fits(&next, part.user).and_then(|()| {
                event.published(claims)?;
                if truth != *answer {
                    return Err(format!("answered {answer:?}, not {truth:?}"));
                }
                let told = answer.transitions.iter().map(|(_, transition)| transition);
                replay::leads(part.user, before, told, &next)
            });
            match checked {
                Ok(()) => return Ok(next),
                Err(differs) => why = differs,
            }
        }
        Err(why)
    }

    /// Whether it was true in that state, and nothing was to be written.
    fn is_silent_in(&self, state: &State, limits: Limits) -> bool {
        let after = |now: &u64| state.after(&self.part, limits, *now, u64::MAX);
        let silent = |(next, truth, _): (State, Answer, _)| truth == self.answer && next.is_same(state, self.part.user);
        self.part.nows.iter().map(after).any(silent)
    }
}

impl Event {
    /// Whether the events of these claims, and of no others, were put into the outbox. One that was there is not put
    /// there again.
    fn published(&self, claims: Vec<Claim>) -> Result<(), String> {
        let (before, made) = self.stored.outbox.split_at(self.stored.outbox.len() - self.made);
        let mut expected: Vec<Claim> = Vec::new();
        for claim in claims {
            if !before.contains(&claim) && !expected.contains(&claim) {
                expected.push(claim);
            }
        }
        match made == expected {
            true => Ok(()),
            false => Err(format!("claims {made:?}, not {expected:?}")),
        }
    }
}

impl Book {
    pub fn new(limits: Limits) -> Self {
        let (said, states) = (Default::default(), vec![State::new(limits)]);
        Book { limits, said, events: Vec::new(), states }
    }

    /// The gateway's next group that has changes of the user.
    pub fn said(&mut self, gateway: usize, said: Said) {
        self.said[gateway].push(said);
    }

    /// The next write of the user.
    pub fn write(&mut self, gateway: usize, write: &Write) -> Result<(), String> {
        let (last, token) = (self.events.last(), write.token());
        if last.is_some_and(|last| last.token.version >= token.version) {
            return Err(format!("{token:?} follows a newer one"));
        }
        let mut stored = last.map(|last| last.stored.clone()).unwrap_or_default();
        let made = stored.write(write);
        self.events.push(Event { gateway, token, stored, made });
        Ok(())
    }

    /// What is stored and what is true in the end.
    pub fn end(&self) -> (Option<&StoredUser>, &State) {
        (self.events.last().map(|event| &event.stored), self.states.last().expect("the first is always there"))
    }

    /// Accounts for all that was written and said.
    pub fn replay(&mut self) -> Result<Tally, String> {
        let mut deepest = (0, String::new());
        if !self.go_on(Reached::default(), &mut deepest) {
            return Err(deepest.1);
        }
        let said = self.said.iter().flatten();
        let (parts, writes) = (said.clone().count(), self.events.len());
        let transitions = said.map(|said| said.answer.transitions.len()).sum();
        let claims = self.events.iter().map(|event| event.made).sum();
        Ok(Tally { writes, silent: parts - writes, transitions, claims })
    }

    /// Accounts for the events from the state on that was reached. Which group has written is not always to be seen:
    /// some writes change nothing but the token, and then all groups are tried that it may have been. True: all are
    /// accounted for. `deepest`: how far it came, and why no further.
    fn go_on(&mut self, reached: Reached, deepest: &mut (usize, String)) -> bool {
        let at = self.states.len() - 1;
        let mut stuck = |why: String| {
            if at >= deepest.0 {
                *deepest = (at, why);
            }
        };
        let Some(event) = self.events.get(at) else {
            let left = [0, 1].map(|gateway| self.pass_silent(reached, gateway).last().unwrap_or(reached));
            let open = [0, 1].into_iter().find(|gateway| left[*gateway].next[*gateway] < self.said[*gateway].len());
            if let Some(gateway) = open {
                stuck(format!("never true: {}", self.describe(left[gateway], gateway)));
            }
            return open.is_none();
        };
        let (gateway, before) = (event.gateway, &self.states[at]);
        let mut found = Vec::new();
        for reached in [reached].into_iter().chain(self.pass_silent(reached, gateway)) {
            let Some(said) = self.said[gateway].get(reached.next[gateway]) else { break };
            match said.leads(before, self.limits, event) {
                Ok(next) => {
                    let mut then = reached;
                    then.next[gateway] += 1;
                    then.least[gateway] = at + 1;
                    found.push((next, then));
                }
                Err(why) => stuck(format!("{:?}: {why}\n{}", event.token, self.describe(reached, gateway))),
            }
        }
        for (next, reached) in found {
            self.states.push(next);
            if self.go_on(reached, deepest) {
                return true;
            }
            self.states.truncate(at + 1);
        }
        false
    }

    /// What is reached when the gateway's next groups have written nothing, one after the other: each was true in a
    /// state that is not before that of the group before it.
    fn pass_silent(&self, reached: Reached, gateway: usize) -> impl Iterator<Item = Reached> {
        std::iter::successors(Some(reached), move |reached| {
            let said = self.said[gateway].get(reached.next[gateway])?;
            let mut indexes = reached.least[gateway]..self.states.len();
            let mut then = *reached;
            then.least[gateway] = indexes.find(|index| said.is_silent_in(&self.states[*index], self.limits))?;
            then.next[gateway] += 1;
            Some(then)
        })
        .skip(1)
    }

    /// What was said next, and what would have been true.
    fn describe(&self, reached: Reached, gateway: usize) -> String {
        let Some(said) = self.said[gateway].get(reached.next[gateway]) else { return "no group is left".to_owned() };
        let truths = self.states[reached.least[gateway]..].iter().map(|state| {
            let (_, truth, _) = state.after(&said.part, self.limits, said.part.nows[0], u64::MAX);
            format!("\ntrue: {truth:?}")
        });
        format!("{:?}\nsaid: {:?}{}", said.part.changes, said.answer, truths.collect::<String>())
    }
}
