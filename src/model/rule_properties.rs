//! The promises of the rule, held against the plain maximum of the design.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::beat::{Beat, State};
use super::forgetting::{ContentRow, UserRow};
use super::ids::{Content, SessionId};
use super::moment::Moment;
use super::recording::Switch;
use super::rule::{Verdict, Written, judge};
use crate::version::Version;

#[derive(Clone, Debug)]
enum Step {
    Beat(Beat),
    Delete { oid: u64, at: u64 },
    Clear { at: u64 },
}

#[derive(Default)]
struct User {
    row: UserRow,
    contents: HashMap<Content, ContentRow>,
}

fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

impl User {
    fn with_pauses(switches: &[Switch]) -> Self {
        let mut user = User::default();
        for switch in switches {
            user.row.recording.switch(*switch, 0);
        }
        user
    }

    /// Applies a step; returns the verdict on a beat, and the record written.
    fn apply(&mut self, step: &Step) -> Option<(Verdict, Option<Written>)> {
        match step {
            Step::Beat(beat) => {
                let row = self.contents.entry(beat.content).or_default();
                let last = row.last_version();
                let judged = judge(&self.row, row, beat, &Arc::from(""), &Moment::default());
                assert!(row.last_version() >= last, "a version went back");
                return Some(judged);
            }
            Step::Delete { oid, at } => {
                let row = self.contents.entry(content(*oid)).or_default();
                let last = row.last_version();
                assert_eq!(row.delete(*at).is_some(), row.last_version() > last);
            }
            Step::Clear { at } => {
                self.row.clear(*at);
            }
        }
        None
    }

    fn run(mut self, steps: &[Step]) -> Self {
        steps.iter().for_each(|step| drop(self.apply(step)));
        self
    }

    /// The records that reads return: per content the (at, session, pos) that is kept.
    fn visible(&self) -> Vec<(Content, u64, SessionId, u64)> {
        let live = self.contents.values().filter_map(|row| row.live(&self.row, 0));
        let mut all: Vec<_> = live.map(|r| (r.content, r.at, r.session, r.pos)).collect();
        all.sort();
        all
    }
}

/// The maximum by (at, session) of what no pause, delete or clear covers.
fn plain_maximum(switches: &[Switch], steps: &[Step]) -> Vec<(Content, u64, SessionId, u64)> {
    let pauses = User::with_pauses(switches).row.recording;
    let mut winners: HashMap<Content, Beat> = HashMap::new();
    for step in steps {
        let Step::Beat(beat) = step else { continue };
        let forgotten = steps.iter().any(|other| match other {
            Step::Delete { oid, at } => content(*oid) == beat.content && beat.at <= *at,
            Step::Clear { at } => beat.at <= *at,
            Step::Beat(_) => false,
        });
        if forgotten || pauses.covers(beat.at) {
            continue;
        }
        let winner = winners.entry(beat.content).or_insert(*beat);
        if beat.stamp() > winner.stamp() {
            *winner = *beat;
        }
    }
    let mut all: Vec<_> = winners.values().map(|b| (b.content, b.at, b.session, b.pos)).collect();
    all.sort();
    all
}

fn beat(oid: u64, at: u64, session: u64) -> Beat {
    Beat {
        content: content(oid),
        // Equal (at, session) means the same beat, so all else of it follows from them.
        pos: at * 10 + session,
        dur: 0,
        state: State::Playing,
        session: SessionId(session),
        watched: Some(at),
        rate: 1.0,
        at,
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0u64..3, 1u64..40, 1u64..4).prop_map(|(oid, at, session)| Step::Beat(beat(oid, at, session))),
        1 => (0u64..3, 1u64..40).prop_map(|(oid, at)| Step::Delete { oid, at }),
        1 => (1u64..40).prop_map(|at| Step::Clear { at }),
    ];
    prop::collection::vec(step, 0..60)
}

fn switches() -> impl Strategy<Value = Vec<Switch>> {
    let switch = (1u64..40, any::<bool>()).prop_map(|(at, paused)| Switch { at, paused });
    prop::collection::vec(switch, 0..4)
}

fn shuffled_and_repeated() -> impl Strategy<Value = (Vec<Step>, Vec<Step>)> {
    steps().prop_flat_map(|steps| {
        let twice: Vec<Step> = steps.iter().chain(steps.iter()).cloned().collect();
        (Just(steps), Just(twice).prop_shuffle())
    })
}

proptest! {
    #[test]
    fn any_order_and_repetition_ends_in_the_plain_maximum(
        switches in switches(), (steps, shuffled) in shuffled_and_repeated()
    ) {
        let expected = plain_maximum(&switches, &steps);
        prop_assert_eq!(User::with_pauses(&switches).run(&steps).visible(), expected.clone());
        prop_assert_eq!(User::with_pauses(&switches).run(&shuffled).visible(), expected);
    }

    #[test]
    fn a_resend_is_the_same_beat(switches in switches(), steps in steps()) {
        let mut user = User::with_pauses(&switches).run(&steps);
        for (content, at, session, _) in user.visible() {
            let again = user.apply(&Step::Beat(beat(content.oid, at, session.0)));
            prop_assert_eq!(again, Some((Verdict::Same, None)));
        }
    }

    #[test]
    fn versions_only_grow(steps in steps()) {
        let mut user = User::default();
        let mut newest: HashMap<Content, Version> = HashMap::new();
        for step in &steps {
            let Some((_, Some(Written { after, .. }))) = user.apply(step) else { continue };
            let last = newest.insert(after.content, after.version);
            prop_assert!(last.is_none_or(|last| after.version > last));
            prop_assert!(after.version >= Version::first_of(after.at));
        }
    }

    #[test]
    fn versions_stay_within_the_millisecond_of_the_newest_moment(steps in steps()) {
        let mut user = User::default();
        for step in &steps {
            user.apply(step);
            for row in user.contents.values() {
                prop_assert!(row.last_version() < Version::first_of(row.newest() + 1));
            }
        }
    }
}

#[test]
fn many_older_deletes_leave_a_version_for_the_delete_of_the_record() {
    let (mut user, at) = (User::default(), 10_000);
    user.apply(&Step::Beat(beat(1, at, 1)));
    for older in at - 3_000..at {
        user.apply(&Step::Delete { oid: 1, at: older });
        let row = &user.contents[&content(1)];
        assert!(row.last_version() < Version::last_of(at) && row.record.is_some());
    }
    user.apply(&Step::Delete { oid: 1, at });
    let row = &user.contents[&content(1)];
    assert_eq!((row.record.as_ref(), row.last_version()), (None, Version::last_of(at)));
}
