//! A group on its way: what is known of each of its users, and what was decided on it.

use std::collections::HashMap;
use std::sync::Arc;

use super::busy::{Before, Turn};
use super::contents::Contents;
use super::heads::Remembered;
use super::known::{Known, Need};
use super::limits::Limits;
use super::listing::{Changes, ListingRule};
use super::needs::Needs;
use super::placement::{Placed, Placement};
use super::token::TokenSource;
use super::{Applied, Apply, Head, Load, Loaded, Write};
use crate::model::change::{Change, Decided, Outcome};
use crate::model::decide::{Decider, Draft, Transitions};
use crate::model::ids::UserId;
use crate::model::rewards::claim::Claim;
use crate::model::transition::Transition;
use crate::storage::hot_store::{Committed, Group};

pub struct Round {
    pub turn: Turn,
    /// Groups that have to be over first.
    pub before: Before,
    pub users: Vec<UserRound>,
}

/// One user's changes of the group.
pub struct UserRound {
    pub user: UserId,
    /// Which changes of the group.
    places: Vec<usize>,
    known: Known,
    /// So many claims at most; as many as there are in the end, when the group may make no more.
    claims_max: u64,
    pub plan: Option<Plan>,
    pub done: bool,
}

/// What is counted of an answer.
pub enum Fate {
    /// Another writer was first. The user is decided anew.
    Conflict,
    /// An earlier attempt had done it.
    Found,
    Other,
}

/// What was decided. It stays as it is until it is applied or refused, so that a repetition writes and tells the same.
pub struct Plan {
    pub apply: Apply,
    outcomes: Vec<Outcome>,
    decided: Vec<Decided>,
    transitions: Transitions,
    pub elsewhere: bool,
    /// As they are once it is applied.
    contents: Contents,
}

impl Round {
    pub fn new(group: &Group, users: Vec<(UserId, Vec<usize>)>, turn: Turn, before: Before) -> Self {
        debug_assert_eq!(users.iter().map(|(_, places)| places.len()).sum::<usize>(), group.changes.len());
        let users = users.into_iter().map(|(user, places)| UserRound {
            user,
            places,
            known: Known::default(),
            claims_max: u64::MAX,
            plan: None,
            done: false,
        });
        Round { turn, before, users: users.collect() }
    }

    /// Decides for all users as far as enough is known. Returns what has to be read of the others.
    pub fn decide(&mut self, group: &Group, limits: &Limits, tokens: &TokenSource) -> Vec<Load> {
        let mut loads = Vec::new();
        for user in self.users.iter_mut().filter(|user| user.plan.is_none()) {
            let needs = user.needs(group);
            let needs = match needs.is_empty() {
                true => user.decide(group, limits, tokens).err().into_iter().collect(),
                false => needs,
            };
            if !needs.is_empty() {
                loads.push(Load { user: user.user, needs });
            }
        }
        loads
    }

    /// Gives out the room for claims in the order of the group. False: some users had too many, and are to be decided
    /// anew.
    pub fn has_room(&mut self, claims_max: u64) -> bool {
        let of_done = self.users.iter().filter(|user| user.done).flat_map(UserRound::claims).count() as u64;
        let room = claims_max.saturating_sub(of_done);
        let open = self.users.iter().enumerate().filter(|(_, user)| !user.done);
        let mut made: Vec<(usize, usize)> =
            open.flat_map(|(number, user)| user.claims().map(move |change| (change, number))).collect();
        if made.len() as u64 <= room {
            return true;
        }
        made.sort_unstable();
        for (_, number) in &made[room as usize..] {
            let user = &mut self.users[*number];
            user.reconsider();
            user.claims_max = made[..room as usize].iter().filter(|(_, granted)| granted == number).count() as u64;
        }
        false
    }

    /// Takes notice of what was read; both are in the order of the users.
    pub fn loaded(&mut self, loads: &[Load], loaded: Vec<Loaded>) {
        let mut users = self.users.iter_mut();
        for (load, loaded) in loads.iter().zip(loaded) {
            if let Some(user) = users.find(|user| user.user == load.user) {
                match loaded.unreadable {
                    None => user.known.add(loaded),
                    Some(why) => user.is_unreadable(why),
                }
            }
        }
    }

    /// What has become of the plan of a user.
    pub fn applied(&mut self, place: usize, applied: Applied) -> Fate {
        let user = &mut self.users[place];
        let Some(plan) = &mut user.plan else { return Fate::Other };
        match applied {
            Applied::Done { elsewhere } => {
                plan.elsewhere = elsewhere;
                user.done = true;
            }
            Applied::Refused(Some(head)) if plan.is_in(&head) => {
                // An earlier attempt has done it. Whether others follow the user is not known: they are told.
                plan.elsewhere = true;
                plan.apply.head = Some(head);
                plan.contents = Contents::Unknown;
                user.done = true;
                return Fate::Found;
            }
            Applied::Refused(head) => {
                user.refused(head);
                return Fate::Conflict;
            }
            Applied::Unreadable(why) => user.is_unreadable(why),
            Applied::NoRoom => user.without_claims(),
        }
        Fate::Other
    }

    /// The answers in the order of the group, and the claims that were made.
    pub fn committed(self, group: &Group) -> (Committed, Vec<Claim>) {
        let mut outcomes: Vec<Option<Outcome>> = group.changes.iter().map(|_| None).collect();
        let transitions = self.users.iter().flat_map(|user| &user.plan).map(|plan| plan.transitions.len()).sum();
        let transitions = Vec::with_capacity(transitions);
        let (mut committed, mut claims) = (Committed { transitions, ..Committed::default() }, Vec::new());
        for user in self.users {
            let Some(plan) = user.plan else { continue };
            for (place, outcome) in user.places.iter().zip(plan.outcomes) {
                if plan.elsewhere && outcome.is_news() {
                    committed.elsewhere.push(*place);
                }
                outcomes[*place] = Some(outcome);
            }
            committed.decided.extend(plan.decided);
            committed.transitions.extend(plan.transitions);
            claims.extend(plan.apply.writes.into_iter().filter_map(|write| match write {
                Write::Claim { claim, .. } => Some(claim),
                _ => None,
            }));
        }
        committed.elsewhere.sort_unstable();
        // Those of one change stay in their order.
        committed.decided.sort_by_key(|decided| decided.change);
        // Mostly they are in order: then there is no need of the memory that sorting takes.
        if !committed.transitions.is_sorted_by_key(|(change, _)| *change) {
            committed.transitions.sort_by_key(|(change, _)| *change);
        }
        committed.outcomes = outcomes.into_iter().flatten().collect();
        debug_assert_eq!(committed.outcomes.len(), group.changes.len(), "each change is of a user of the round");
        (committed, claims)
    }
}

impl Plan {
    /// Whether this head is what the plan has written, or follows it.
    fn is_in(&self, head: &Head) -> bool {
        self.apply.head.as_ref().is_some_and(|mine| head.includes(mine.token))
    }
}

impl UserRound {
    pub fn knows(&mut self, remembered: Remembered) {
        self.known = Known::of(remembered);
    }

    /// Another gateway has written. Nothing that was known holds any more.
    fn refused(&mut self, head: Option<Box<Head>>) {
        self.known = Known::of_head(head);
        self.plan = None;
    }

    /// Nothing is decided on what cannot be read; the other users of the group go on.
    fn is_unreadable(&mut self, why: String) {
        let (user, why) = (self.user, Arc::from(why));
        let outcomes = self.places.iter().map(|_| Outcome::Unreadable { why: Arc::clone(&why) }).collect();
        let apply = Apply { user, expected: None, head: None, writes: Vec::new(), news: false };
        self.known = Known::default();
        let (decided, transitions, contents) = (Vec::new(), Vec::new(), Contents::Unknown);
        self.plan = Some(Plan { apply, outcomes, decided, transitions, elsewhere: false, contents });
        self.done = true;
    }

    fn without_claims(&mut self) {
        self.claims_max = 0;
        self.reconsider();
    }

    /// What is planned was not done, and is decided once more on what is known.
    fn reconsider(&mut self) {
        if let Some(plan) = self.plan.take() {
            self.known.head = Some(plan.apply.expected);
        }
    }

    /// The changes that have made claims, one for each.
    fn claims(&self) -> impl Iterator<Item = usize> {
        let decided = self.plan.iter().flat_map(|plan| &plan.decided);
        decided.filter(|decided| decided.first).map(|decided| decided.change)
    }

    /// What to remember of the user once the plan is applied.
    pub fn remembered(&mut self) -> Option<(UserId, Remembered)> {
        let plan = self.plan.as_mut()?;
        if plan.apply.writes.contains(&Write::RemoveUser) {
            return None;
        }
        let head = plan.apply.head.take().or_else(|| plan.apply.expected.take())?;
        Some((self.user, Remembered { head, contents: std::mem::take(&mut plan.contents) }))
    }

    fn decide(&mut self, group: &Group, limits: &Limits, tokens: &TokenSource) -> Result<(), Need> {
        let horizon = limits.retention.horizon(group.now);
        let mut draft = Draft::new(&self.known)?;
        let decider = Decider::new(group.now, horizon, limits.contents_max, &group.rewards);
        let mut decider = decider.with_claims_max(self.claims_max).for_changes(self.places.len());
        let mut outcomes = Vec::with_capacity(self.places.len());
        for place in &self.places {
            let Change { user, action } = &group.changes[*place];
            outcomes.push(decider.decide(&mut draft, *place, *user, action)?);
        }
        let (decided, mut transitions) = decider.finish();
        let before = self.known.head.as_ref().and_then(Option::as_ref).map(|head| head.token);
        let drafted = draft.finish();
        let counted = drafted.contents;
        let (mut head, mut writes) = (None, Vec::new());
        let placement = Placement { known: &self.known, drafted, limits, now: group.now };
        if let Some(Placed { head: new, writes: all, dead }) = placement.place() {
            (head, writes) = (new, all);
            if let Some(head) = &mut head {
                head.renew(tokens.next(before, group.now));
                let known = self.known.head.as_ref().and_then(Option::as_deref);
                let changes = Changes::of(self.places.iter().map(|place| &group.changes[*place]));
                let rule = ListingRule { interval: limits.history_interval, now: group.now };
                rule.apply(known, head, &mut writes, changes);
            }
            // Because of what was decided last: another row came into the head.
            let last = *self.places.last().expect("each user of a group has changes");
            let gone = |(record, cause)| (last, Transition::gone(self.user, record, cause));
            transitions.extend(dead.into_iter().map(gone));
        }
        let contents = self.known.contents.after(&writes, counted);
        let news = outcomes.iter().any(Outcome::is_news);
        // Nothing asks for it while there is a plan.
        let expected = self.known.head.take().flatten();
        let apply = Apply { user: self.user, expected, head, writes, news };
        self.plan = Some(Plan { apply, outcomes, decided, transitions, elsewhere: false, contents });
        Ok(())
    }

    /// What the changes need for sure and is not known.
    fn needs(&self, group: &Group) -> Vec<Need> {
        let mut needs = Needs::new(&self.known, group);
        self.places.iter().for_each(|place| needs.add(&group.changes[*place]));
        needs.into_vec()
    }
}

/// The users of a group in the order in which they first come, each with the places of its changes.
pub fn users_of(group: &Group) -> Vec<(UserId, Vec<usize>)> {
    let mut places: HashMap<UserId, usize> = HashMap::with_capacity(group.changes.len());
    let mut users: Vec<(UserId, Vec<usize>)> = Vec::with_capacity(group.changes.len());
    for (place, change) in group.changes.iter().enumerate() {
        let user = *places.entry(change.user).or_insert_with(|| {
            users.push((change.user, Vec::new()));
            users.len() - 1
        });
        users[user].1.push(place);
    }
    users
}
