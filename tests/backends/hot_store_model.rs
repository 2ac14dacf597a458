//! Backends give the same answers as [`PlainStore`], whatever is asked of them.

use std::sync::Arc;

use proptest::prelude::*;

use heartline::model::change::{Action, Change, Outcome, When};
use heartline::model::ids::{Content, UserId};
use heartline::model::page::PageRequest;

use crate::plain_store::PlainStore;
use crate::requests::*;

const USERS: u64 = 3;
const CONTENTS: u64 = 6;

#[derive(Clone, Debug)]
enum Step {
    Commit {
        now: u64,
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

fn when() -> impl Strategy<Value = When> {
    prop_oneof![3 => seconds().prop_map(When::At), 1 => Just(When::Now)]
}

fn any_content() -> impl Strategy<Value = Content> {
    (1u16..3, 0..CONTENTS / 2).prop_map(|(kind, oid)| Content { kind, oid })
}

fn action(clears: u32) -> impl Strategy<Value = Action> {
    let device = prop_oneof![Just(""), Just("tv"), Just("phone")];
    prop_oneof![
        20 => (any_content(), seconds(), 1u64..4, device).prop_map(|(content, at, session, device)| {
            Action::Beat { beat: beat(content, at, session), device: Arc::from(device) }
        }),
        3 => (prop::collection::vec(any_content(), 0..4), when())
            .prop_map(|(contents, at)| Action::Delete { contents, at }),
        clears => when().prop_map(|at| Action::Clear { at }),
        1 => Just(Action::Erase),
        1 => (any::<bool>(), when()).prop_map(|(paused, at)| Action::Recording { paused, at }),
    ]
}

fn steps(clears: u32) -> impl Strategy<Value = Vec<Step>> {
    let change = (0..USERS, action(clears)).prop_map(|(user, action)| change(UserId(user), action));
    let kinds = prop_oneof![Just(vec![]), Just(vec![1]), Just(vec![2, 7])];
    let step = prop_oneof![
        8 => (seconds(), prop::collection::vec(change, 1..12))
            .prop_map(|(now, changes)| Step::Commit { now, changes }),
        4 => (0..USERS, 1usize..5, kinds).prop_map(|(user, limit, kinds)| {
            Step::Read { user: UserId(user), request: PageRequest { limit, after: None, kinds } }
        }),
        1 => (50u32..200).prop_map(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

fn all_contents() -> Vec<Content> {
    (1..3).flat_map(|kind| (0..CONTENTS / 2).map(move |oid| Content { kind, oid })).collect()
}

fn hold_to_the_model<B: Backend>(limits: Limits, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut backend = B::fresh(limits);
    let mut model = PlainStore::new(limits);
    for step in steps {
        match step {
            Step::Commit { now, changes } => {
                let expected: Vec<Outcome> = changes.iter().map(|change| model.apply(now, change)).collect();
                prop_assert_eq!(commit_at(&backend.store(), now, changes), expected);
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
    for user in (0..USERS).map(UserId) {
        let expected: Vec<_> = all_contents().into_iter().map(|content| model.get(user, content, NOW)).collect();
        prop_assert_eq!(get(&backend.store(), user, all_contents()), expected);
        prop_assert_eq!(wait(backend.store().paused(user)).unwrap(), model.paused(user));
    }
    Ok(())
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() }
}

pub fn it_answers_like_the_plain_model<B: Backend>() {
    proptest!(config(), |(steps in steps(1))| {
        hold_to_the_model::<B>(ROOMY, steps)?;
    });
}

/// Without clears: how soon what was cleared makes room is up to the backend.
pub fn it_answers_like_the_plain_model_at_its_cap<B: Backend>() {
    proptest!(config(), |(steps in steps(0))| {
        hold_to_the_model::<B>(Limits { records_per_user: 3, ..ROOMY }, steps)?;
    });
}
