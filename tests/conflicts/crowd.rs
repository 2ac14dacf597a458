//! What the users of one gateway do, from a seed.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use heartline::model::beat::{Beat, State};
use heartline::model::change::Action;
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, Rules};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// The same at all gateways.
pub const USERS: u64 = 1_000;
/// The first of them do more than others: several of their groups are under way at one time.
const BUSY_USERS: u64 = 20;
const CONTENTS: u64 = 9;
const SESSIONS: u64 = 3;

/// Two rules per user, one of them at once; and two seconds of each content.
pub static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
    let rule = |id: &str, per, kinds: &[u16], seconds| RewardRule {
        id: Arc::from(id),
        per,
        kinds: kinds.to_vec(),
        watched: Duration::from_secs(seconds),
        memory: RuleMemory::Exact,
    };
    Arc::new(Rules::new(vec![
        rule("at-once", Per::User, &[1], 0),
        rule("per-user", Per::User, &[], 5),
        rule("per-content", Per::Content, &[], 2),
    ]))
});

pub struct Crowd {
    rng: SmallRng,
    /// Moments are counted from here, milliseconds.
    began: u64,
    /// The last beat of each user here.
    last: HashMap<UserId, Beat>,
}

impl Crowd {
    pub fn new(seed: u64, began: u64) -> Self {
        Crowd { rng: SmallRng::seed_from_u64(seed), began, last: HashMap::new() }
    }

    pub fn next(&mut self, now: u64) -> (UserId, Action) {
        let busy = self.rng.random_bool(0.1);
        let user = UserId(self.rng.random_range(0..if busy { BUSY_USERS } else { USERS }));
        // At once, late, or from a device that was offline.
        let age = *[0, 0, 0, 0, 0, 50, 500, 3_000, 20_000, 600_000].choose(&mut self.rng).expect("some");
        let at = now - age;
        let action = match self.rng.random_range(0..1_000) {
            0..790 => self.beat(user, at),
            790..830 => self.again(user, at),
            830..910 => Action::Delete { contents: self.contents(), at },
            910..935 => Action::Clear { at },
            935..950 => Action::Recording { paused: true, at },
            950..985 => Action::Recording { paused: false, at },
            985..988 => Action::Clear { at: now + 60_000 },
            988..994 => Action::Prune { horizon: 0 },
            _ => Action::Erase { at },
        };
        (user, action)
    }

    fn content(&mut self) -> Content {
        let oid = self.rng.random_range(0..CONTENTS);
        Content { kind: if oid % 3 == 0 { 2 } else { 1 }, oid }
    }

    fn contents(&mut self) -> Vec<Content> {
        (0..self.rng.random_range(1..=3)).map(|_| self.content()).collect()
    }

    fn beat(&mut self, user: UserId, at: u64) -> Action {
        let session = self.rng.random_range(1..=SESSIONS);
        let beat = Beat {
            content: self.content(),
            pos: self.rng.random_range(0..3_600_000),
            dur: 7_200_000,
            state: *[State::Playing, State::Playing, State::Paused, State::Ended].choose(&mut self.rng).expect("some"),
            session: SessionId(session),
            // It rises with time, more slowly in later sessions.
            watched: Some(1 + (at + 1_000_000).saturating_sub(self.began) / session),
            rate: 1.0,
            at,
        };
        self.last.insert(user, beat);
        Self::action(beat)
    }

    /// A beat that was sent before.
    fn again(&mut self, user: UserId, at: u64) -> Action {
        match self.last.get(&user) {
            Some(last) => Self::action(*last),
            None => self.beat(user, at),
        }
    }

    fn action(beat: Beat) -> Action {
        Action::beat(beat, Arc::from("tv"), Default::default())
    }
}
