//! Backends give the same answers as [`PlainStore`], whatever is asked of them.

use std::collections::HashSet;
use std::sync::Arc;

use proptest::prelude::*;

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change};
use heartline::model::decide::Transitions;
use heartline::model::ids::{Content, UserId};
use heartline::model::page::PageRequest;
use heartline::model::record::Record;
use heartline::model::rewards::claim::{Claim, ClaimKey};
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rule::RuleSet;
use heartline::model::transition::Cause;

use crate::backends::hot_store_finished::finished;
use crate::backends::hot_store_rewards::rewarding;
use crate::backends::ledger::Ledger;
use crate::backends::plain_store::{PlainCommit, PlainStore};
use crate::backends::requests::*;
use crate::support::depth::depth;

/// Numbers of 64 bits are told apart to the last of them, as no double could.
const USERS: [UserId; 3] = [UserId(0), UserId((1 << 53) + 1), UserId(u64::MAX)];
const OIDS: [u64; 3] = [0, (1 << 53) + 1, u64::MAX];
const SESSIONS: [u64; 4] = [1, 1 << 53, (1 << 53) + 1, u64::MAX];

#[derive(Clone, Debug)]
pub enum Step {
    Commit {
        now: u64,
        day: u16,
        room: u64,
        changes: Vec<Change>,
    },
    Read {
        user: UserId,
        request: PageRequest,
    },
    /// With a share of the cap, in percent.
    Reopen(u32),
}

fn seconds() -> impl Strategy<Value = u64> {
    (1u64..40).prop_map(|second| second * 1_000)
}

fn any_content() -> impl Strategy<Value = Content> {
    (1u16..3, 0..OIDS.len()).prop_map(|(kind, oid)| Content { kind, oid: OIDS[oid] })
}

/// What was watched at `at` in a session: rising slowly, rising beyond what a double can tell, rising to the last
/// number of 64 bits, or falling, which earns nothing.
fn watched(at: u64, session: u64) -> u64 {
    match session {
        1 => at / 2,
        u64::MAX => u64::MAX - 40_000 + at,
        odd if odd % 2 == 1 => (1 << 53) - 20_000 + at,
        _ => (3 << 32) + 20_000 - at,
    }
}

fn asks() -> impl Strategy<Value = RuleSet> {
    (0usize..8).prop_map(|bits| (0..3).filter(|index| bits & (1 << index) != 0).collect())
}

/// Beats of one slot: the newest, and so many seconds before it the others.
fn slot(content: Content, session: u64, newest_at: u64, back: &[u64], device: &str, asks: RuleSet) -> Action {
    let beat = |at| Beat { watched: Some(watched(at, session)), dur: session, ..beat(content, at, session) };
    let mut moments: Vec<u64> = back.iter().map(|seconds| newest_at.saturating_sub(seconds * 1_000).max(1)).collect();
    moments.sort_unstable();
    let earlier = moments.into_iter().map(beat).collect();
    Action::Beat { beat: beat(newest_at), earlier, device: Arc::from(device), asks }
}

fn action(clears: u32) -> impl Strategy<Value = Action> {
    let device = prop_oneof![Just(""), Just("tv"), Just("phone")];
    prop_oneof![
        20 => (any_content(), seconds(), 0..SESSIONS.len(), device, asks(), prop::collection::vec(0u64..20, 0..4)).prop_map(
            |(content, at, session, device, asks, back)| slot(content, SESSIONS[session], at, &back, device, asks)
        ),
        3 => (prop::collection::vec(any_content(), 0..4), seconds())
            .prop_map(|(contents, at)| Action::Delete { contents, at }),
        clears => seconds().prop_map(|at| Action::Clear { at }),
        1 => seconds().prop_map(|at| Action::Erase { at }),
        2 => Just(Action::Prune { horizon: u64::MAX }),
        2 => (any::<bool>(), seconds()).prop_map(|(paused, at)| Action::Recording { paused, at }),
    ]
}

pub fn steps(clears: u32) -> impl Strategy<Value = Vec<Step>> {
    let change = (0..USERS.len(), action(clears)).prop_map(|(user, action)| change(USERS[user], action));
    let kinds = prop_oneof![Just(vec![]), Just(vec![1]), Just(vec![2, 7])];
    let step = prop_oneof![
        8 => (seconds(), 20_000u16..20_002, prop_oneof![4 => Just(100), 1 => 0u64..3], prop::collection::vec(change, 1..12))
            .prop_map(|(now, day, room, changes)| Step::Commit { now, day, room, changes }),
        4 => (0..USERS.len(), 1usize..5, kinds, any::<Option<bool>>()).prop_map(|(user, limit, kinds, wanted)| {
            let finished = wanted.and_then(finished);
            Step::Read { user: USERS[user], request: PageRequest { limit, after: None, kinds, finished } }
        }),
        1 => (50u32..200).prop_map(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

fn all_contents() -> Vec<Content> {
    (1..3).flat_map(|kind| OIDS.map(move |oid| Content { kind, oid })).collect()
}

/// What was written by which change. What it was written over may have been removed earlier or later.
fn written(transitions: &Transitions) -> Vec<(usize, &Record)> {
    let written = transitions.iter().filter(|(_, transition)| transition.cause == Cause::Beat);
    written.map(|(change, transition)| (*change, transition.after.as_ref().expect("a record"))).collect()
}

/// What is not newer no read returns.
fn forgotten(model: &PlainStore, limits: Limits, user: UserId) -> u64 {
    let expired = limits.horizon(NOW).saturating_sub(1);
    model.kept(user).map_or(expired, |(row, _)| row.watermark.max(expired))
}

fn hold_to_the_model<B: Backend>(limits: Limits, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut backend = B::fresh(limits);
    let mut model = PlainStore::new(limits);
    let mut ledger = Ledger::default();
    for step in steps {
        match step {
            Step::Commit { now, day, room, changes } => {
                let rewards = rewarding(Day::of_number(day), room);
                let PlainCommit { outcomes, decided, transitions } = model.commit(now, &rewards, &changes);
                let committed = commit_rewarded(&backend.store(), now, rewards, changes);
                prop_assert_eq!((&committed.outcomes, &committed.decided), (&outcomes, &decided));
                prop_assert_eq!(written(&committed.transitions), written(&transitions));
                ledger
                    .hear(&committed.transitions, |user| forgotten(&model, limits, user))
                    .map_err(TestCaseError::fail)?;
            }
            Step::Read { user, mut request } => loop {
                let page = list(&backend.store(), user, request.clone());
                prop_assert_eq!(&page, &model.list(user, &request, NOW));
                request.after = page.next;
                if page.next.is_none() {
                    break;
                }
            },
            Step::Reopen(percent) => {
                let limits = Limits { records_per_user: limits.records_per_user * percent / 100, ..limits };
                backend.reopen(limits);
                model.reopen(limits);
            }
        }
    }
    backend.reopen(limits);
    for user in USERS {
        let expected: Vec<_> = all_contents().into_iter().map(|content| model.get(user, content, NOW)).collect();
        prop_assert_eq!(&get(&backend.store(), user, all_contents()), &expected);
        let told = |content| ledger.get(user, content, forgotten(&model, limits, user));
        prop_assert_eq!(all_contents().into_iter().map(told).collect::<Vec<_>>(), expected);
        prop_assert_eq!(wait(backend.store().paused(user)).unwrap(), model.paused(user));
        for day in (20_000..20_002).map(Day::of_number) {
            let claims: HashSet<ClaimKey> =
                wait(backend.store().claims_of(user, day, 1_000)).unwrap().into_iter().collect();
            prop_assert_eq!(claims, model.claims_of(user, day).into_iter().collect());
        }
    }
    let outbox = wait(backend.outbox().read(0, usize::MAX)).unwrap();
    let mut outbox: Vec<Claim> = outbox.into_iter().filter_map(|(_, entry)| entry.into_claim()).collect();
    if !B::OUTBOX_KEEPS_ORDER {
        outbox.sort_by_key(|claim| format!("{claim:?}"));
        model.outbox.sort_by_key(|claim| format!("{claim:?}"));
    }
    prop_assert_eq!(outbox, model.outbox);
    Ok(())
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: depth(12, 48),
        max_shrink_iters: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

pub fn it_answers_like_the_plain_model<B: Backend>() {
    proptest!(config(), |(steps in steps(1))| {
        hold_to_the_model::<B>(ROOMY, steps)?;
    });
}

/// The beats of a slot leave the record that they leave one by one.
#[test]
fn a_slot_leaves_what_its_beats_leave_one_by_one() {
    let changes = (0..USERS.len(), action(1)).prop_map(|(user, action)| change(USERS[user], action));
    proptest!(ProptestConfig { cases: depth(128, 512), ..config() }, |(changes in prop::collection::vec(changes, 1..40))| {
        let (mut in_slots, mut one_by_one) = (PlainStore::new(ROOMY), PlainStore::new(ROOMY));
        let rewards = rewarding(Day::of_number(20_000), 0);
        in_slots.commit(NOW, &rewards, &changes);
        one_by_one.commit(NOW, &rewards, &changes.into_iter().flat_map(apart).collect::<Vec<_>>());
        for (user, content) in USERS.into_iter().flat_map(|user| all_contents().into_iter().map(move |content| (user, content))) {
            let stamp = |model: &PlainStore| model.get(user, content, NOW).map(|record| (record.stamp(), record.pos));
            prop_assert_eq!(stamp(&in_slots), stamp(&one_by_one));
        }
    });
}

/// Each beat of a slot as a change of its own.
fn apart(Change { user, action }: Change) -> Vec<Change> {
    match action {
        Action::Beat { beat, earlier, device, asks } => {
            let alone = |beat| change(user, Action::beat(beat, Arc::clone(&device), asks));
            earlier.into_iter().chain([beat]).map(alone).collect()
        }
        action => vec![change(user, action)],
    }
}

/// Without clears: how soon what was cleared makes room is up to the backend.
pub fn it_answers_like_the_plain_model_at_its_cap<B: Backend>() {
    proptest!(config(), |(steps in steps(0))| {
        hold_to_the_model::<B>(Limits { records_per_user: 3, ..ROOMY }, steps)?;
    });
}

/// More switches than are kept, so that some have to go.
pub fn it_answers_like_the_plain_model_when_switches_are_many<B: Backend>() {
    let switch = (1u64..2_000, any::<bool>()).prop_map(|(at, paused)| Action::Recording { paused, at });
    let played = (1u64..2_010, 0..SESSIONS.len()).prop_map(|(at, session)| {
        let beat = Beat { watched: Some(at), ..beat(Content { kind: 1, oid: 0 }, at, SESSIONS[session]) };
        Action::beat(beat, Arc::from(""), RuleSet::NONE)
    });
    let action = prop_oneof![3 => switch, 1 => played].prop_map(|action| change(USERS[0], action));
    let groups = prop::collection::vec(prop::collection::vec(action, 20..60), 1..12);
    let limits = Limits { retention_ms: 1_000, ..ROOMY };
    proptest!(ProptestConfig { cases: depth(6, 16), ..config() }, |(groups in groups)| {
        let commits = groups.into_iter().enumerate().map(|(round, changes)| {
            Step::Commit { now: 1_000 + 100 * round as u64, day: 20_000, room: 0, changes }
        });
        hold_to_the_model::<B>(limits, commits.collect())?;
    });
}
