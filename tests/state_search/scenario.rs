//! What is done in a run, and what may go wrong in it; all of it follows from a seed.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change};
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, RuleSet, Rules};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::state_search::requests::{Limits, beat, change};

pub const DAY_MS: u64 = 86_400_000;
/// When runs begin: shortly before a midnight.
pub const BEGIN: u64 = 20_780 * DAY_MS - 60_000;
/// When time goes on in small steps only, so that no claim of a run is older than claims are kept.
pub const LONG_PAUSES_END: u64 = BEGIN + 2 * DAY_MS;
pub const USERS: [UserId; 3] = [UserId(1), UserId(2), UserId(3)];
pub const OIDS: u64 = 4;
/// Room for all claims of a group.
pub const ROOM: u64 = 100;

#[derive(Clone, Debug)]
pub struct Scenario {
    /// The order of events follows from it.
    pub schedule: u64,
    pub gateways: usize,
    /// Heads that a gateway remembers.
    pub heads: usize,
    pub limits: Limits,
    /// Entries of a user's outbox.
    pub outbox_max: usize,
    pub ops: Vec<Op>,
    pub faults: Vec<Fault>,
    pub history: History,
}

/// Which gateways carry changes to the history store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    None,
    All,
    /// Every second one: it is being switched on.
    Some,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A call, or a part of it, is not done.
    Lost,
    /// It is done, and not answered.
    ReplyLost,
    /// It is answered with an error, and done later.
    Late,
    /// It is done, answered, and done once more later.
    Repeated,
    /// A load is read in several steps.
    Torn,
    /// A gateway ends, and another begins.
    Killed,
    /// All callers that wait for a commit give up.
    GivenUp,
    /// Time goes on by hours.
    LongPause,
    /// No gateway publishes.
    FullOutbox,
}

impl Fault {
    pub const ALL: [Fault; 9] = [
        Fault::Lost,
        Fault::ReplyLost,
        Fault::Late,
        Fault::Repeated,
        Fault::Torn,
        Fault::Killed,
        Fault::GivenUp,
        Fault::LongPause,
        Fault::FullOutbox,
    ];
}

/// A group.
#[derive(Clone, Debug)]
pub struct Op {
    pub number: usize,
    pub changes: Vec<(UserId, Ask)>,
    /// The number of an op whose changes come along once more.
    pub again: Option<usize>,
    pub claims_max: u64,
}

/// Moments are ages: milliseconds before the group begins.
#[derive(Clone, Debug)]
pub enum Ask {
    Beat { content: Content, age: i64, session: u64, asks: RuleSet },
    Delete { contents: Vec<Content>, age: i64 },
    Clear { age: i64 },
    Recording { paused: bool, age: i64 },
    Erase { age: i64 },
    Prune,
}

impl Scenario {
    pub fn of(seed: u64, ops_max: usize) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let users = rng.random_range(1..=USERS.len());
        let faults = Fault::ALL.into_iter().filter(|_| rng.random_bool(0.6)).collect();
        let count = rng.random_range(2..=ops_max);
        Scenario {
            schedule: rng.random(),
            gateways: rng.random_range(1..=3),
            heads: rng.random_range(1..=2),
            limits: Limits {
                retention_ms: rng.random_range(1..=2) * DAY_MS,
                records_per_user: rng.random_range(2..=4),
            },
            outbox_max: rng.random_range(1..=6),
            ops: (0..count).map(|number| Op::any(&mut rng, number, users)).collect(),
            faults,
            history: *[History::None, History::All, History::All, History::Some].choose(&mut rng).unwrap(),
        }
    }

    /// Whether this gateway lists whom it writes.
    pub fn carries(&self, gateway: usize) -> bool {
        match self.history {
            History::None => false,
            History::All => true,
            History::Some => gateway.is_multiple_of(2),
        }
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}

impl Op {
    fn any(rng: &mut SmallRng, number: usize, users: usize) -> Self {
        let again = (number > 0 && rng.random_bool(0.2)).then(|| rng.random_range(0..number));
        let least = usize::from(again.is_none());
        let count = *[least, 1, 1, 2, 3].choose(rng).unwrap();
        let changes = (0..count).map(|_| (USERS[rng.random_range(0..users)], Ask::any(rng))).collect();
        let claims_max = if rng.random_bool(0.2) { rng.random_range(0..3) } else { ROOM };
        Op { number, changes, again, claims_max }
    }
}

impl Ask {
    fn any(rng: &mut SmallRng) -> Self {
        let age = *[0, 0, 0, 0, 0, 0, 1_000, 3_000, 20_000, 100_000, DAY_MS as i64, 2 * DAY_MS as i64, -3_000]
            .choose(rng)
            .unwrap();
        let content = content(rng.random_range(1..=OIDS));
        // Or ahead of the clock.
        let of_forgetting = if rng.random_bool(0.1) { -60_000 } else { age };
        match rng.random_range(0..36) {
            0..24 => {
                let rewards = (0..VIEWS).filter(|_| rng.random_bool(0.6));
                let asks = rewards.chain([VIEWS]).collect();
                Ask::Beat { content, age, session: rng.random_range(1..=2), asks }
            }
            24..27 => {
                let second = self::content(rng.random_range(1..=OIDS));
                Ask::Delete {
                    contents: if rng.random() { vec![content] } else { vec![content, second] },
                    age: of_forgetting,
                }
            }
            27..29 => Ask::Clear { age: of_forgetting },
            29..31 => Ask::Recording { paused: rng.random_bool(0.4), age: of_forgetting },
            31 => Ask::Erase { age: of_forgetting },
            _ => Ask::Prune,
        }
    }

    /// `None`: it would not be admitted.
    pub fn change(&self, user: UserId, now: u64, limits: &Limits) -> Option<Change> {
        let at = |age: i64| now.saturating_add_signed(-age);
        Some(change(
            user,
            match self {
                Ask::Beat { content, age, session, asks } => {
                    let at = at(*age);
                    if at < limits.horizon(now) {
                        return None;
                    }
                    // It rises with time, more slowly in the second session.
                    let watched = Some((at - (BEGIN - 4 * DAY_MS)) / session);
                    let beat = Beat { watched, ..beat(*content, at, *session) };
                    Action::beat(beat, Arc::from("tv"), *asks)
                }
                Ask::Delete { contents, age } => Action::Delete { contents: contents.clone(), at: at(*age) },
                Ask::Clear { age } => Action::Clear { at: at(*age) },
                Ask::Recording { paused, age } => Action::Recording { paused: *paused, at: at(*age) },
                Ask::Erase { age } => Action::Erase { at: at(*age) },
                Ask::Prune => Action::Prune { horizon: limits.horizon(now) },
            },
        ))
    }
}

/// The last one is no video.
pub fn content(oid: u64) -> Content {
    Content { kind: if oid == OIDS { 2 } else { 1 }, oid }
}

/// Three rules: the first beat of a video; five seconds of anything; two seconds of each content. And a view of each
/// video of which a second was watched.
pub static RULES: LazyLock<Arc<Rules>> = LazyLock::new(|| {
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
    Arc::new(rules.and(Some(RewardRule::of_views(vec![1], Duration::from_secs(1)))))
});
/// The index of the rule that counts views, after all others.
const VIEWS: usize = 3;
static ZONE: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("UTC"));

/// Of the day of `now`, milliseconds.
pub fn rewarding(now: u64, claims_max: u64) -> Rewarding {
    let day = Day::of_number((now / DAY_MS) as u16);
    Rewarding { rules: RULES.clone(), today: RewardDay { day, rules: RULES.all(), zone: ZONE.clone() }, claims_max }
}
