//! Deltas, held to a count of all records from scratch.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::beat::State;
use crate::ids::{Content, SessionId, UserId};
use crate::reading::Reading;
use crate::record::Record;
use crate::rewards::credit::Credit;
use crate::transition::{Cause, Transition};
use crate::version::Version;

const STATES: [State; 4] = [State::Playing, State::Paused, State::Seeked, State::Ended];

fn definitions() -> Definitions {
    let counters = r#"[
        {"id":"all"},
        {"id":"viewers","key":["kind","oid"]},
        {"id":"finishers","key":["kind","oid"],"when":{"finished":true}},
        {"id":"in-progress","key":["mid"],"when":{"finished":false}},
        {"id":"by-device","key":["device","state"],"when":{"kind":[1,2]}},
        {"id":"watched","key":["kind"],"when":{"state":["playing","ended"],"device":["tv",""]},"value":"watched"},
        {"id":"pos","value":"pos"}
    ]"#;
    let reading = Reading {
        resume_below: 0.05,
        resume_below_max: std::time::Duration::ZERO,
        finished_at: 0.9,
        finished_remaining_max: std::time::Duration::ZERO,
        overrides: Vec::new(),
    };
    Definitions { counters: serde_json::from_str(counters).unwrap(), reading }
}

fn record(rng: &mut SmallRng, content: Content) -> Record {
    Record {
        content,
        pos: rng.random_range(0..10),
        dur: rng.random_range(0..11),
        state: STATES[rng.random_range(0..4)],
        session: SessionId(1),
        device: ["", "tv", "phone 7"][rng.random_range(0..3)].into(),
        watched: rng.random_range(0..4),
        at: 1,
        version: Version(1),
        credit: Credit::default(),
    }
}

#[test]
fn sums_of_deltas_are_a_count_from_scratch() {
    let (mut rng, definitions) = (SmallRng::seed_from_u64(37), definitions());
    let mut stored = BTreeMap::<(UserId, Content), Record>::new();
    let mut sums = BTreeMap::<(CounterId, CounterKey), i64>::new();
    for _ in 0..3_000 {
        // A commit of a few changes, some of one record.
        let mut transitions = Vec::new();
        for _ in 0..rng.random_range(1..4) {
            let (user, content) =
                (UserId(rng.random_range(0..3)), Content { kind: rng.random_range(1..4), oid: rng.random_range(0..3) });
            let after = rng.random_bool(0.8).then(|| record(&mut rng, content));
            let before = match after.clone() {
                Some(record) => stored.insert((user, content), record),
                None => stored.remove(&(user, content)),
            };
            transitions.push(Transition { user, content, before, after, cause: Cause::Beat });
        }
        for (id, key, by) in definitions.deltas(&transitions).iter() {
            assert_ne!(by, 0);
            *sums.entry((id.clone(), key.clone())).or_default() += by;
        }
        sums.retain(|_, sum| *sum != 0);
        let mut scratch = Deltas::default();
        stored.iter().for_each(|((user, _), record)| definitions.count(*user, record, &mut scratch));
        let scratch: BTreeMap<_, _> = scratch.iter().map(|(id, key, by)| ((id.clone(), key.clone()), by)).collect();
        assert_eq!(sums, scratch);
    }
}

#[test]
fn what_changes_no_sum_is_no_delta() {
    let (mut rng, definitions) = (SmallRng::seed_from_u64(38), definitions());
    let content = Content { kind: 1, oid: 1 };
    let before = record(&mut rng, content);
    let after = Record { at: 2, session: SessionId(9), version: Version(2), ..before.clone() };
    let transition =
        Transition { user: UserId(1), content, before: Some(before), after: Some(after), cause: Cause::Beat };
    assert!(definitions.deltas([&transition]).is_empty());
}
