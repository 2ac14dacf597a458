//! The changes of a run, and what is compared of their outcomes.

use std::sync::Arc;

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::rule::RuleSet;
use heartline::model::rule::Verdict;
use rand::RngExt;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

use crate::backends::requests::beat;

pub const USER: UserId = UserId(1);
pub const OIDS: u64 = 5;
const HOUR: u64 = 3_600_000;

pub fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

pub fn contents() -> Vec<Content> {
    (1..=OIDS).map(content).collect()
}

/// Mostly a beat of now; also late ones, down to what other changes have the same moment as.
/// What is older than the horizon is refused before it comes to a store.
pub fn any(rng: &mut SmallRng, now: u64, horizon: u64, moments: &[u64]) -> Change {
    let ages = [0, 0, 0, 0, 1, 1_000, 60_000, HOUR, 5 * HOUR, 30 * HOUR];
    let age = *ages.choose(rng).unwrap();
    let near = moments.choose(rng).map(|at| at.saturating_add(rng.random_range(0..3)).saturating_sub(1));
    let near = near.filter(|at| *at >= horizon + 5);
    let at = near.filter(|_| rng.random_bool(0.4)).unwrap_or(now - age).min(now);
    let content = content(rng.random_range(1..=OIDS));
    let action = match rng.random_range(0..40) {
        0..30 => {
            let session = rng.random_range(1..=2);
            let beat = |at| Beat { dur: 60_000, ..beat(content, at, session) };
            let earlier = if rng.random_bool(0.1) { vec![beat(at - at.min(5))] } else { Vec::new() };
            Action::Beat { beat: beat(at), earlier, device: Arc::from("tv"), asks: RuleSet::NONE }
        }
        30..35 => {
            let second = self::content(rng.random_range(1..=OIDS));
            Action::Delete { contents: if rng.random() { vec![content] } else { vec![content, second] }, at }
        }
        35..37 => Action::Clear { at },
        37..39 => Action::Recording { paused: rng.random_bool(0.3), at },
        // The control listener gives it the time of the request.
        _ => Action::Erase { at: now },
    };
    Change { user: USER, action }
}

pub fn beat_of(content: Content, at: u64) -> Change {
    let beat = Beat { dur: 60_000, ..beat(content, at, 1) };
    Change { user: USER, action: Action::beat(beat, Arc::from("tv"), RuleSet::NONE) }
}

pub fn moment(change: &Change) -> u64 {
    match &change.action {
        Action::Beat { beat, .. } => beat.at,
        Action::Delete { at, .. }
        | Action::Clear { at }
        | Action::Recording { at, .. }
        | Action::Erase { at }
        | Action::Prune { horizon: at } => *at,
    }
}

/// What a client learns of an outcome. A record that comes along with a refusal need not be read from the history store,
/// and whether a beat moves on what was there before is not known of what was not read.
pub fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Beat { verdict: Verdict::Written { .. }, skipped } => format!("written, {skipped}"),
        Outcome::Beat { verdict: Verdict::Same, skipped } => format!("same, {skipped}"),
        Outcome::Beat { verdict: Verdict::Rejected { reason, .. }, skipped } => {
            format!("{}, {skipped}", reason.word())
        }
        Outcome::Deleted { at, .. } => format!("deleted at {at}"),
        Outcome::Cleared { moved, at } => format!("cleared at {at}: {moved}"),
        other => format!("{other:?}"),
    }
}
