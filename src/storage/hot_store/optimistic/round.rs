//! A group on its way: the known state of each of its users, and the decisions.

use std::collections::HashMap;
use std::sync::Arc;

use super::busy::{Before, Turn};
use super::contents::Contents;
use super::heads::Remembered;
use super::known::{Known, Need};
use super::limits::Limits;
use super::listing::{Changes, ListingRule};
use super::needs::Needs;
use super::noticing::{NoticeRule, NoticeTerms, Waiting};
use super::placement::{Placed, Placement};
use super::token::TokenSource;
use super::{Applied, Apply, Head, Load, Loaded, Write};
use crate::hot_store::{Committed, Group};
use model::change::{Action, Change, Decided, Outcome};
use model::counters::Generations;
use model::decide::{Decider, Draft, Transitions};
use model::ids::UserId;
use model::rewards::claim::Claim;
use model::rewards::rewarding::Rewarding;
use model::rewards::rule::Rules;
use model::transition::Transition;

pub struct Round {
    pub turn: Turn,
    /// Groups that have to be over first.
    pub before: Before,
    pub users: Vec<UserRound>,
}

/// One user's changes of the group.
pub struct UserRound {
    pub user: UserId,
    /// The indexes of the user's changes in the group.
    indexes: Vec<usize>,
    known: Known,
    /// The limit of claims. It is lowered to the granted number when the group has too many claims.
    claims_max: u64,
    pub plan: Option<Plan>,
    pub done: bool,
}

/// The kind of an answer, for the metrics.
pub enum Fate {
    /// Another writer was first. The user is decided again.
    Conflict,
    /// An earlier attempt has stored the changes.
    Found,
    Other,
}

/// A decision. It stays unchanged until it is applied or refused, so that a repetition writes and answers the same.
pub struct Plan {
    pub apply: Apply,
    outcomes: Vec<Outcome>,
    decided: Vec<Decided>,
    transitions: Transitions,
    pub elsewhere: bool,
    /// The contents after the plan is applied.
    contents: Contents,
    /// The last steady notice, after the plan is applied.
    waiting: Option<Waiting>,
}

impl Round {
    pub fn new(group: &Group, users: Vec<(UserId, Vec<usize>)>, turn: Turn, before: Before) -> Self {
        debug_assert_eq!(users.iter().map(|(_, indexes)| indexes.len()).sum::<usize>(), group.changes.len());
        let users = users.into_iter().map(|(user, indexes)| UserRound {
            user,
            indexes,
            known: Known::default(),
            claims_max: u64::MAX,
            plan: None,
            done: false,
        });
        Round { turn, before, users: users.collect() }
    }

    /// Decides the users whose needed state is known. Returns the loads for the others.
    pub fn decide(
        &mut self,
        group: &Group,
        limits: &Limits,
        tokens: &TokenSource,
        generations: &Arc<Generations>,
        notices: NoticeTerms,
    ) -> Vec<Load> {
        let mut loads = Vec::new();
        for user in self.users.iter_mut().filter(|user| user.plan.is_none()) {
            let needs = user.needs(group);
            let needs = match needs.is_empty() {
                true => user.decide(group, limits, tokens, generations, notices).err().into_iter().collect(),
                false => needs,
            };
            if !needs.is_empty() {
                loads.push(Load { user: user.user, needs });
            }
        }
        loads
    }

    /// The newest generation of counters that a known head belongs to.
    pub fn newest_generation(&self) -> u32 {
        let open = self.users.iter().filter(|user| user.plan.is_none());
        let heads = open.filter_map(|user| user.known.head.as_ref()?.as_deref());
        heads.map(|head| head.generation).max().unwrap_or(0)
    }

    /// Grants the free room for claims in the order of the group. False: some users have too many claims, and have to
    /// be decided again.
    pub fn has_room(&mut self, rewards: &Rewarding) -> bool {
        let claims = |user: &UserRound| user.claims(&rewards.rules).count() as u64;
        let of_done: u64 = self.users.iter().filter(|user| user.done).map(claims).sum();
        let room = rewards.claims_max.saturating_sub(of_done);
        let open = self.users.iter().enumerate().filter(|(_, user)| !user.done);
        let mut made: Vec<(usize, usize)> =
            open.flat_map(|(number, user)| user.claims(&rewards.rules).map(move |change| (change, number))).collect();
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

    /// Adds the loaded state; both lists are in the order of the users.
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

    /// Takes the result of applying a user's plan.
    pub fn applied(&mut self, index: usize, applied: Applied) -> Fate {
        let user = &mut self.users[index];
        let Some(plan) = &mut user.plan else { return Fate::Other };
        match applied {
            Applied::Done { elsewhere } => {
                plan.elsewhere = elsewhere;
                user.done = true;
            }
            Applied::Refused(Some(head)) if plan.is_in(&head) => {
                // An earlier attempt has stored the changes. Its subscribers are unknown, so other gateways are told in
                // any case.
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

    /// The outcomes in the order of the group, and the claims that were made.
    pub fn committed(self, group: &Group) -> (Committed, Vec<Claim>) {
        let mut outcomes: Vec<Option<Outcome>> = group.changes.iter().map(|_| None).collect();
        let transitions = self.users.iter().flat_map(|user| &user.plan).map(|plan| plan.transitions.len()).sum();
        let transitions = Vec::with_capacity(transitions);
        let (mut committed, mut claims) = (Committed { transitions, ..Committed::default() }, Vec::new());
        for user in self.users {
            let Some(plan) = user.plan else { continue };
            for (index, outcome) in user.indexes.iter().zip(plan.outcomes) {
                if plan.elsewhere && outcome.is_news() {
                    committed.elsewhere.push(*index);
                }
                outcomes[*index] = Some(outcome);
            }
            committed.decided.extend(plan.decided);
            committed.transitions.extend(plan.transitions);
            claims.extend(plan.apply.writes.into_iter().filter_map(|write| match write {
                Write::Claim { claim, .. } => Some(claim),
                _ => None,
            }));
        }
        committed.elsewhere.sort_unstable();
        // A stable sort: the decisions of one change stay in order.
        committed.decided.sort_by_key(|decided| decided.change);
        // Mostly they are in order, which saves the memory of sorting.
        if !committed.transitions.is_sorted_by_key(|(change, _)| *change) {
            committed.transitions.sort_by_key(|(change, _)| *change);
        }
        committed.outcomes = outcomes.into_iter().flatten().collect();
        debug_assert_eq!(committed.outcomes.len(), group.changes.len(), "each change is of a user of the round");
        (committed, claims)
    }
}

impl Plan {
    /// Whether this head is the one that the plan has written, or a later one.
    fn is_in(&self, head: &Head) -> bool {
        self.apply.head.as_ref().is_some_and(|mine| head.includes(mine.token))
    }
}

impl UserRound {
    pub fn knows(&mut self, remembered: Remembered) {
        self.known = Known::of(remembered);
    }

    /// Another gateway has written, so the known state is outdated.
    fn refused(&mut self, head: Option<Box<Head>>) {
        self.known = Known::of_head(head);
        self.plan = None;
    }

    /// An unreadable user gets no decision; the other users of the group go on.
    fn is_unreadable(&mut self, why: String) {
        let (user, why) = (self.user, Arc::from(why));
        let outcomes = self.indexes.iter().map(|_| Outcome::Unreadable { why: Arc::clone(&why) }).collect();
        let generations = Arc::default();
        let apply = Apply { user, expected: None, head: None, writes: Vec::new(), news: false, generations };
        self.known = Known::default();
        let (decided, transitions, contents) = (Vec::new(), Vec::new(), Contents::Unknown);
        self.plan = Some(Plan { apply, outcomes, decided, transitions, elsewhere: false, contents, waiting: None });
        self.done = true;
    }

    fn without_claims(&mut self) {
        self.claims_max = 0;
        self.reconsider();
    }

    /// Drops the plan, which was not applied. The user is decided again on the known state.
    fn reconsider(&mut self) {
        if let Some(plan) = self.plan.take() {
            self.known.head = Some(plan.apply.expected);
        }
    }

    /// The changes that have made claims, once for each claim. Views take no room.
    fn claims(&self, rules: &Rules) -> impl Iterator<Item = usize> {
        let decided = self.plan.iter().flat_map(|plan| &plan.decided);
        let enters = |decided: &&Decided| decided.first && !rules.counts_views(decided.rule);
        decided.filter(enters).map(|decided| decided.change)
    }

    /// The state to cache after the plan is applied.
    pub fn remembered(&mut self) -> Option<(UserId, Remembered)> {
        let plan = self.plan.as_mut()?;
        if plan.apply.writes.contains(&Write::RemoveUser) {
            return None;
        }
        let head = plan.apply.head.take().or_else(|| plan.apply.expected.take())?;
        Some((self.user, Remembered { head, contents: std::mem::take(&mut plan.contents), waiting: plan.waiting }))
    }

    fn decide(
        &mut self,
        group: &Group,
        limits: &Limits,
        tokens: &TokenSource,
        generations: &Arc<Generations>,
        notices: NoticeTerms,
    ) -> Result<(), Need> {
        let horizon = limits.retention.horizon(group.now);
        let mut draft = Draft::new(&self.known)?;
        let decider = Decider::new(group.now, horizon, limits.contents_max, &group.rewards);
        let mut decider = decider.with_claims_max(self.claims_max).for_changes(self.indexes.len());
        let waits_expired = self.prunes(group) && self.known.waits_expired(limits, horizon)?;
        let of_cleared = Action::Prune { horizon: 0 };
        let mut outcomes = Vec::with_capacity(self.indexes.len());
        for index in &self.indexes {
            let Change { user, action } = &group.changes[*index];
            if let Some(cold) = self.known.warm(&mut draft, group, *index, limits)? {
                outcomes.push(Outcome::Cold(Box::new(cold)));
                continue;
            }
            let kept = waits_expired && matches!(action, Action::Prune { .. });
            let action = if kept { &of_cleared } else { action };
            outcomes.push(decider.decide(&mut draft, *index, *user, action)?);
        }
        let (decided, mut transitions) = decider.finish();
        let before = self.known.head.as_ref().and_then(Option::as_ref).map(|head| head.token);
        let drafted = draft.finish();
        let counted = drafted.contents;
        let (mut head, mut writes, mut waiting) = (None, Vec::new(), self.known.waiting);
        let placement = Placement { known: &self.known, drafted, limits, now: group.now, waits_expired };
        if let Some(Placed { head: new, writes: all, dead }) = placement.place() {
            (head, writes) = (new, all);
            if let Some(head) = &mut head {
                let rule = NoticeRule { terms: notices, tokens, before, now: group.now };
                let changes = self.indexes.iter().map(|index| &group.changes[*index]);
                writes.extend(rule.apply(changes.zip(&outcomes), &mut waiting));
                head.renew(tokens.next(before, group.now));
                let known = self.known.head.as_ref().and_then(Option::as_deref);
                let changes = Changes::of(self.indexes.iter().map(|index| &group.changes[*index]));
                let rule = ListingRule { interval: limits.history_interval, now: group.now };
                rule.apply(known, head, &mut writes, changes);
            }
            // The last change caused it: another row came into the head.
            let last = *self.indexes.last().expect("each user of a group has changes");
            let gone = |(record, cause)| (last, Transition::gone(self.user, record, cause));
            transitions.extend(dead.into_iter().map(gone));
        }
        let contents = self.known.contents.after(&writes, counted);
        if let Some(head) = &mut head {
            if before.is_none() {
                head.generation = generations.newest();
            }
            let counts = generations.deltas(head.generation, transitions.iter().map(|(_, transition)| transition));
            let at = group.now;
            writes.extend(counts.into_iter().map(|(generation, deltas)| Write::Count { generation, deltas, at }));
        }
        let news = outcomes.iter().any(Outcome::is_news);
        // The known head is not needed while there is a plan.
        let expected = self.known.head.take().flatten();
        let apply = Apply { user: self.user, expected, head, writes, news, generations: generations.clone() };
        self.plan = Some(Plan { apply, outcomes, decided, transitions, elsewhere: false, contents, waiting });
        Ok(())
    }

    fn prunes(&self, group: &Group) -> bool {
        self.indexes.iter().any(|index| matches!(group.changes[*index].action, Action::Prune { .. }))
    }

    /// The state that the changes certainly need and that is not known yet.
    fn needs(&self, group: &Group) -> Vec<Need> {
        let mut needs = Needs::new(&self.known, group);
        self.indexes.iter().for_each(|index| needs.add(&group.changes[*index]));
        needs.into_vec()
    }
}

/// The users of a group in the order of their first changes, each with the indexes of its changes.
pub fn users_of(group: &Group) -> Vec<(UserId, Vec<usize>)> {
    let mut indexes: HashMap<UserId, usize> = HashMap::with_capacity(group.changes.len());
    let mut users: Vec<(UserId, Vec<usize>)> = Vec::with_capacity(group.changes.len());
    for (index, change) in group.changes.iter().enumerate() {
        let user = *indexes.entry(change.user).or_insert_with(|| {
            users.push((change.user, Vec::new()));
            users.len() - 1
        });
        users[user].1.push(index);
    }
    users
}
