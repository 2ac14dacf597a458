//! What a hot store promises of claims and of their outbox.

use std::sync::Arc;
use std::time::Duration;

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change, Decided};
use heartline::model::ids::{SessionId, UserId};
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, RuleSet, Rules};
use heartline::storage::hot_store::HotStore;

use crate::backends::requests::*;

const AT_ONCE: usize = 0;
const PER_USER: usize = 1;
const PER_CONTENT: usize = 2;
const ROOM: u64 = 100;

/// Three rules: the first beat of a kind that is video; five seconds of anything; two seconds of each content.
pub fn rewarding(day: Day, claims_max: u64) -> Rewarding {
    let rule = |id: &str, per, kinds: &[u16], seconds| RewardRule {
        id: Arc::from(id),
        per,
        kinds: kinds.to_vec(),
        watched: Duration::from_secs(seconds),
        memory: RuleMemory::Exact,
    };
    let rules = Rules::new(vec![
        rule("at-once", Per::User, &[1], 0),
        rule("per-user", Per::User, &[], 5),
        rule("per-content", Per::Content, &[], 2),
    ]);
    let today = RewardDay { day, rules: rules.which(|_| true), zone: Arc::from("Europe/Berlin") };
    Rewarding { rules: Arc::new(rules), today, claims_max }
}

fn day() -> Day {
    Day::of_number(20_777)
}

fn asks(indexes: &[usize]) -> RuleSet {
    indexes.iter().copied().collect()
}

/// A beat that was made `age` ago, after so much of its session; milliseconds.
fn played(user: UserId, oid: u64, now: u64, watched: u64, indexes: &[usize]) -> Change {
    let beat = Beat { watched: Some(watched), ..beat(content(oid), now, 1) };
    change(user, Action::beat(beat, Arc::from("tv"), asks(indexes)))
}

fn commit(store: &Arc<dyn HotStore>, now: u64, changes: Vec<Change>) -> Vec<Decided> {
    commit_rewarded(store, now, rewarding(day(), ROOM), changes).decided
}

/// (change, rule, whether the claim is new) of each.
fn told(decided: &[Decided]) -> Vec<(usize, usize, bool)> {
    decided.iter().map(|each| (each.change, each.rule, each.first)).collect()
}

fn ids(store: &Arc<dyn HotStore>, user: UserId, day: Day) -> Vec<String> {
    wait(store.claims_of(user, day, 100)).unwrap().iter().map(ClaimKey::to_string).collect()
}

fn published<B: Backend>(backend: &B) -> Vec<Claim> {
    wait(backend.outbox().read(0, 100)).unwrap().into_iter().filter_map(|(_, entry)| entry.into_claim()).collect()
}

pub fn the_first_who_has_watched_enough_makes_the_claim<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let all = [AT_ONCE, PER_USER, PER_CONTENT];
    let beats = |after: u64, watched| commit(&store, NOW + after, vec![played(USER, 1, NOW + after, watched, &all)]);
    assert_eq!(told(&beats(0, 0)), [(0, AT_ONCE, true)]);
    // Neither what the client says alone nor the time alone is enough.
    assert_eq!(told(&beats(1_000, 60_000)), [(0, AT_ONCE, false)]);
    assert_eq!(told(&beats(3_000, 60_000)), [(0, AT_ONCE, false), (0, PER_CONTENT, true)]);
    let decided = beats(5_000, 60_000);
    assert_eq!(told(&decided), [(0, AT_ONCE, false), (0, PER_USER, true), (0, PER_CONTENT, false)]);
    let key = ClaimKey { rule: Arc::from("per-user"), day: day(), user: USER, content: None };
    let claim = Claim {
        key,
        content: content(1),
        session: SessionId(1),
        device: Arc::from("tv"),
        watched: 60_000,
        claimed_at: NOW + 5_000,
        zone: Arc::from("Europe/Berlin"),
    };
    assert_eq!(published(&backend).last(), Some(&claim));
    let day = day();
    let expected = [format!("at-once:{day}:42"), format!("per-user:{day}:42"), format!("per-content:{day}:42:1:1")];
    assert_eq!(ids(&store, USER, day), expected);
    assert_eq!(wait(store.user_status(USER, day)).unwrap().rewarded, ["at-once", "per-user"]);
    assert!(told(&commit(&store, NOW + 9_000, vec![played(USER, 1, NOW + 9_000, 70_000, &[])])).is_empty());
}

pub fn a_claim_and_its_outbox_entry_survive_together<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    commit(&backend.store(), NOW, vec![played(USER, 1, NOW, 0, &[AT_ONCE])]);
    let before = published(&backend);
    backend.reopen(ROOMY);
    assert_eq!(published(&backend), before);
    assert_eq!((before.len(), backend.outbox().len()), (1, 1));
    let again = commit(&backend.store(), NOW + 1, vec![played(USER, 2, NOW + 1, 0, &[AT_ONCE])]);
    assert_eq!(told(&again), [(0, AT_ONCE, false)]);
    let shard = heartline::model::shard::Shards::DEFAULT.of(USER);
    assert_eq!(wait(backend.store().claims_in(shard, day())).unwrap(), [before[0].key.clone()]);
}

pub fn of_a_group_that_races_for_a_claim_one_makes_it<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let racers = (0..50).map(|oid| played(USER, oid, NOW, 0, &[AT_ONCE])).collect();
    let decided = commit(&backend.store(), NOW, racers);
    assert_eq!(decided.iter().filter(|each| each.first).count(), 1);
    assert_eq!((decided.len(), published(&backend).len()), (50, 1));
}

pub fn nothing_is_claimed_without_room_in_the_outbox<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let users = |now| (1..=3).map(|mid| played(UserId(mid), 1, now, 0, &[AT_ONCE])).collect();
    let committed = commit_rewarded(&store, NOW, rewarding(day(), 2), users(NOW));
    assert_eq!((committed.outcomes.len(), told(&committed.decided)), (3, vec![(0, AT_ONCE, true), (1, AT_ONCE, true)]));
    assert!(ids(&store, UserId(3), day()).is_empty());
    // What is known already needs no room, and what was put off is claimed when there is some.
    let committed = commit_rewarded(&store, NOW + 1, rewarding(day(), 0), users(NOW + 1));
    assert_eq!(told(&committed.decided), [(0, AT_ONCE, false), (1, AT_ONCE, false)]);
    let committed = commit_rewarded(&store, NOW + 2, rewarding(day(), 1), users(NOW + 2));
    assert_eq!(told(&committed.decided), [(0, AT_ONCE, false), (1, AT_ONCE, false), (2, AT_ONCE, true)]);
}

pub fn what_was_played_long_ago_earns_nothing<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let ask = |oid, age| vec![played(USER, oid, NOW - age, 600_000, &[AT_ONCE])];
    assert!(commit(&backend.store(), NOW, ask(1, 60_001)).is_empty());
    assert!(commit(&backend.store(), NOW, ask(2, 86_400_000)).is_empty());
    assert_eq!(told(&commit(&backend.store(), NOW, ask(3, 60_000))), [(0, AT_ONCE, true)]);
}

pub fn another_session_and_another_day_begin_anew<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let beat = |day, session, after: u64| {
        let beat = Beat { watched: Some(after), session: SessionId(session), ..beat(content(1), NOW + after, session) };
        let change = change(USER, Action::beat(beat, Arc::from(""), asks(&[PER_USER])));
        told(&commit_rewarded(&store, NOW + after, rewarding(day, ROOM), vec![change]).decided)
    };
    let (today, tomorrow) = (day(), Day::of_number(day().number() + 1));
    assert!(beat(today, 1, 0).is_empty());
    assert!(beat(today, 2, 4_000).is_empty());
    assert!(beat(today, 2, 8_000).is_empty(), "four seconds of the second session");
    assert!(beat(tomorrow, 2, 12_000).is_empty(), "and none of them on the next day");
    assert!(beat(tomorrow, 2, 16_999).is_empty());
    assert_eq!(beat(tomorrow, 2, 17_000), [(0, PER_USER, true)]);
}

pub fn forgetting_does_not_bring_a_claim_back<B: Backend>() {
    let backend = B::fresh(ROOMY);
    let store = backend.store();
    let ask = |now| vec![played(USER, 1, now, 0, &[AT_ONCE])];
    assert_eq!(told(&commit(&store, NOW, ask(NOW))), [(0, AT_ONCE, true)]);
    let forgettings: [fn(u64) -> Change; 2] = [|at| delete(&[1], at), clear];
    for (step, forgetting) in forgettings.into_iter().enumerate() {
        let now = NOW + 1_000 * (step as u64 + 1);
        commit(&store, now, vec![forgetting(now)]);
        assert_eq!(told(&commit(&store, now + 1, ask(now + 1))), [(0, AT_ONCE, false)]);
    }
}

pub fn an_erasure_takes_the_claims_along<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let other = UserId(43);
    let both = [USER, other].map(|user| played(user, 1, NOW, 0, &[AT_ONCE]));
    commit(&backend.store(), NOW, both.to_vec());
    let again = played(USER, 2, NOW, 0, &[AT_ONCE]);
    commit(&backend.store(), NOW, vec![again, erase()]);
    for _ in 0..2 {
        assert!(ids(&backend.store(), USER, day()).is_empty());
        assert_eq!(ids(&backend.store(), other, day()).len(), 1);
        backend.reopen(ROOMY);
    }
    assert_eq!(published(&backend).len(), 2, "what is to be published is");
    let anew = played(USER, 3, NOW + 1, 0, &[AT_ONCE]);
    assert_eq!(told(&commit(&backend.store(), NOW + 1, vec![anew])), [(0, AT_ONCE, true)]);
    commit(&backend.store(), NOW + 2, vec![erase()]);
    assert_eq!(ids(&backend.store(), USER, day()).len(), 1, "an erasure that arrives again takes no claim");
}

pub fn claims_are_kept_for_three_days<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let days: Vec<Day> = (0..4).map(|after| Day::of_number(day().number() + after)).collect();
    for (after, day) in days.iter().enumerate() {
        let now = NOW + after as u64;
        commit_rewarded(&backend.store(), now, rewarding(*day, ROOM), vec![played(USER, 1, now, 0, &[AT_ONCE])]);
    }
    for _ in 0..2 {
        let kept: Vec<usize> = days.iter().map(|day| ids(&backend.store(), USER, *day).len()).collect();
        assert_eq!(kept, [0, 1, 1, 1]);
        backend.reopen(ROOMY);
    }
}

pub fn what_is_removed_from_the_outbox_is_gone_and_nothing_else<B: Backend>() {
    let mut backend = B::fresh(ROOMY);
    let users = |entries: Vec<Claim>| entries.iter().map(|claim| claim.key.user.0).collect::<Vec<_>>();
    let changes = (1..=6).map(|mid| played(UserId(mid), 1, NOW, 0, &[AT_ONCE])).collect();
    commit(&backend.store(), NOW, changes);
    let outbox = backend.outbox();
    let numbers: Vec<_> = wait(outbox.read(0, 100)).unwrap().into_iter().map(|(number, _)| number).collect();
    // From the middle and from the end; twice, and together with others.
    for removed in [vec![numbers[3], numbers[1]], vec![numbers[1], numbers[5], numbers[1]], vec![], vec![numbers[5]]] {
        wait(outbox.remove(removed)).unwrap();
    }
    assert_eq!((users(published(&backend)), outbox.len()), (vec![1, 3, 5], 3));
    assert_eq!(wait(outbox.read(numbers[2], 100)).unwrap().len(), 1, "a number stays that of its entry");
    wait(outbox.remove(vec![numbers[5] + 100])).unwrap();
    drop(outbox);
    backend.reopen(ROOMY);
    let mut left = users(published(&backend));
    left.sort_unstable();
    assert_eq!((left, backend.outbox().len()), (vec![1, 3, 5], 3));
    let all = wait(backend.outbox().read(0, 100)).unwrap().into_iter().map(|(number, _)| number).collect();
    wait(backend.outbox().remove(all)).unwrap();
    commit(&backend.store(), NOW + 1, vec![played(UserId(7), 1, NOW + 10, 0, &[AT_ONCE])]);
    assert_eq!((users(published(&backend)), backend.outbox().len()), (vec![7], 1));
}
