//! Decisions on rows that have left the store.

use std::sync::Arc;

use super::draft_properties::Plain;
use super::{Decider, Draft, Drafted};
use crate::beat::{Beat, State};
use crate::change::{Action, Outcome};
use crate::forgetting::{ContentRow, Tombstone};
use crate::ids::{Content, SessionId, UserId};
use crate::record::Record;
use crate::rewards::credit::Credit;
use crate::rewards::rewarding::Rewarding;
use crate::rewards::rule::RuleSet;
use crate::rule::{Reason, Verdict};
use crate::transition::{Cause, Transition};
use crate::version::Version;

const CONTENT: Content = Content { kind: 1, oid: 5 };
const AT: u64 = 50;

fn beat(at: u64) -> Action {
    let session = SessionId(1);
    let beat =
        Beat { content: CONTENT, pos: at, dur: 0, state: State::Playing, session, watched: Some(1), rate: 1.0, at };
    Action::beat(beat, Arc::from("tv"), RuleSet::NONE)
}

/// A record of that moment, and a delete before it.
fn cold() -> ContentRow {
    let version = Version(Version::first_of(AT).0 + 7);
    let (session, device, credit) = (SessionId(2), Arc::from("tv"), Credit::default());
    let (pos, dur, state, watched) = (1, 0, State::Paused, 1);
    let record = Record { content: CONTENT, pos, dur, state, session, device, watched, at: AT, version, credit };
    ContentRow { record: Some(record), tombstone: Some(Tombstone { at: 40, version: Version::last_of(40) }) }
}

/// Decides these changes of a user of whom the store has nothing, and the history store that row.
fn decide(actions: &[Action]) -> (Vec<Outcome>, Vec<Transition>, Drafted<()>) {
    let (plain, rewards) = (Plain::default(), Rewarding::none());
    let Ok(mut draft) = Draft::new(&plain);
    let Ok(()) = draft.put_cold(CONTENT, cold());
    let mut decider = Decider::new(100, 20, 9, &rewards);
    let decide = |(index, action)| {
        let Ok(outcome) = decider.decide(&mut draft, index, UserId(1), action);
        outcome
    };
    let outcomes = actions.iter().enumerate().map(decide).collect();
    let transitions = decider.finish().1.into_iter().map(|(_, transition)| transition).collect();
    (outcomes, transitions, draft.finish())
}

#[test]
fn a_beat_that_the_cold_row_beats_changes_nothing() {
    let (outcomes, transitions, drafted) = decide(&[beat(AT - 1), beat(40)]);
    let superseded = |outcome: &Outcome| {
        let Outcome::Beat { verdict: Verdict::Rejected { reason, record }, .. } = outcome else { return None };
        Some((*reason, record.as_ref().map(|record| record.at)))
    };
    assert_eq!(outcomes.iter().map(superseded).collect::<Vec<_>>(), [Some((Reason::Superseded, Some(AT))); 2]);
    assert!(transitions.is_empty() && drafted.rows.iter().all(|row| !row.changed));
}

#[test]
fn a_beat_that_wins_goes_on_from_the_cold_version_and_is_counted_as_new() {
    let (_, transitions, drafted) = decide(&[beat(AT), beat(AT + 1)]);
    let [first] = &transitions[..1] else { panic!("a transition") };
    assert_eq!((first.before.as_ref(), first.cause), (None, Cause::Beat), "it has left the sums before");
    let row = &drafted.rows[0];
    assert!(row.changed && !row.is_cold && !row.is_stored);
    assert_eq!(row.row.tombstone, cold().tombstone);
    assert_eq!(drafted.contents, Some(1));
}

#[test]
fn a_beat_of_the_same_moment_by_a_later_session_gets_the_next_version() {
    let session = SessionId(9);
    let Action::Beat { beat, device, .. } = beat(AT) else { panic!("a beat") };
    let (_, transitions, _) = decide(&[Action::beat(Beat { session, ..beat }, device, RuleSet::NONE)]);
    let version = transitions[0].after.as_ref().map(|record| record.version);
    assert_eq!(version, Some(cold().last_version().next()));
}

#[test]
fn a_delete_of_a_cold_record_leaves_a_tombstone_and_no_transition() {
    let (outcomes, transitions, drafted) = decide(&[Action::Delete { contents: vec![CONTENT], at: AT }]);
    assert_eq!(outcomes, [Outcome::Deleted { moved: vec![CONTENT], at: AT }]);
    assert!(transitions.is_empty());
    let row = &drafted.rows[0];
    assert!(row.changed && row.row.record.is_none() && row.row.last_version() > cold().last_version());
}

#[test]
fn a_delete_below_a_cold_record_changes_nothing() {
    let (outcomes, _, drafted) = decide(&[Action::Delete { contents: vec![CONTENT], at: AT - 1 }]);
    assert_eq!(outcomes, [Outcome::Deleted { moved: Vec::new(), at: AT - 1 }]);
    assert!(drafted.rows.iter().all(|row| !row.changed));
}

#[test]
fn a_cold_row_is_neither_erased_nor_pruned_nor_evicted_here() {
    let (_, transitions, drafted) = decide(&[Action::Prune { horizon: 90 }, Action::Erase { at: 60 }]);
    assert!(transitions.is_empty() && drafted.rows.iter().all(|row| !row.changed));
    assert_eq!(drafted.contents, Some(0));
}
