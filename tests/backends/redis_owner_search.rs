//! A search for steps after which the keys of owners' queues do not fit each other.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use heartline::model::subscribers::{Failing, PauseReason, State, Status};
use heartline::storage::event_bus::Offset;
use heartline::storage::event_bus::part::Offsets;
use heartline::storage::owner_queues::{Append, Bounds, Change, Done, Fill, Limit, OwnerQueues, Taken};
use heartline::storage_redis::owner_queues::{RedisQueues, unit};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redis::Connection;

use crate::backends::redis::{Single, tell};
use crate::backends::redis_owner_queues::*;
use crate::backends::requests::wait;

const OWNERS: [&str; 4] = ["a", "b", "c", "d"];
const STEPS: usize = 800;
const BOUNDS: Bounds = Bounds { events: 12, bytes: 150, age: Duration::from_millis(60) };

struct Search<'a> {
    queues: &'a RedisQueues,
    rng: SmallRng,
    newest: Offset,
    leases: Vec<Taken>,
}

impl Search<'_> {
    fn name(&mut self) -> &'static str {
        OWNERS[self.rng.random_range(0..OWNERS.len())]
    }

    /// Returns what was done.
    fn step(&mut self) -> &'static str {
        match self.rng.random_range(0..20) {
            0..=3 => self.change(),
            4..=9 => self.append(),
            10..=12 => self.take(),
            13..=15 => self.done(),
            16..=17 => self.fill(),
            18 => {
                let name = self.name();
                wait(self.queues.resend(id(name))).unwrap();
                "resend"
            }
            _ => {
                thread::sleep(Duration::from_millis(self.rng.random_range(0..30)));
                wait(self.queues.expire()).unwrap();
                "expire"
            }
        }
    }

    fn change(&mut self) -> &'static str {
        let (name, offset) = (self.name(), self.rng.random_range(0..=self.newest));
        let ends = Offsets::from([(part(), self.newest)]);
        let (what, change) = match self.rng.random_range(0..10) {
            0..=3 => ("put", Change::Put { subscriber: subscriber(), ends }),
            4 => ("redefine", Change::Redefine { subscriber: subscriber() }),
            5 => ("delete", Change::Delete),
            6 => ("pause", Change::Pause),
            7 => ("resume", Change::Resume),
            _ => ("replay", Change::Replay { after: Offsets::from([(part(), offset)]) }),
        };
        wait(self.queues.change(id(name), version(self.queues, name), change)).unwrap();
        what
    }

    fn append(&mut self) -> &'static str {
        let first = self.newest + 1 - u64::from(self.newest > 0 && self.rng.random_bool(0.2));
        self.newest += self.rng.random_range(1..6);
        let mut events: Vec<Append> = Vec::new();
        for name in OWNERS {
            if let (_, Some(Ok(owner))) = wait(self.queues.owner(id(name))).unwrap() {
                events.extend((first..=self.newest).map(|offset| event(name, owner.incarnation, offset)));
            }
        }
        wait(self.queues.append(part(), events)).unwrap();
        "append"
    }

    fn take(&mut self) -> &'static str {
        let lease = Duration::from_millis([2, 1_000][self.rng.random_range(0..2)]);
        let limit = Limit { all: self.rng.random_range(0..3), slow: self.rng.random_range(0..3) };
        let due = wait(self.queues.take(limit, lease)).unwrap();
        self.leases.extend(due.taken);
        "take"
    }

    fn done(&mut self) -> &'static str {
        if self.leases.is_empty() {
            return "nothing";
        }
        let taken = self.leases[self.rng.random_range(0..self.leases.len())].clone();
        let delivered = self.rng.random_range(0..=taken.entries.len());
        let state = match self.rng.random_range(0..8) {
            0 => State::Disabled,
            1 => State::Paused(PauseReason::TriesUsedUp),
            _ => State::Active,
        };
        let failing = self.rng.random_bool(0.3).then_some(Failing { since: 1, tries: 1 });
        let done = Done {
            delivered_to: delivered.checked_sub(1).map(|last| taken.entries[last].number),
            delivered: delivered as u64,
            status: Status { state, failing, last_failure: None },
            slow: self.rng.random_bool(0.3),
            pause: Duration::from_millis(self.rng.random_range(0..20)),
        };
        wait(self.queues.done(taken.owner, taken.fence, done)).unwrap();
        "done"
    }

    fn fill(&mut self) -> &'static str {
        for replay in wait(self.queues.replays()).unwrap() {
            let at = replay.at[&part()];
            let to = self.newest.min(at + self.rng.random_range(0..4)).max(at);
            let events = (at + 1..=to).map(|offset| (offset, event("a", 0, offset).event)).collect();
            let (owner, version, is_end) = (replay.owner, replay.version, to == self.newest);
            wait(self.queues.fill(Fill {
                owner,
                version,
                part: part(),
                at,
                to,
                events,
                is_end,
                parts: [part()].into(),
            }))
            .unwrap();
        }
        "fill"
    }
}

/// The members of a sorted set, with their scores.
fn scores(connection: &mut Connection, key: &str) -> BTreeMap<String, u64> {
    tell::<Vec<(String, f64)>>(connection, &["ZRANGE", key, "0", "-1", "WITHSCORES"])
        .into_iter()
        .map(|(id, score)| (id, score as u64))
        .collect()
}

/// Sums of all owners: owners, events, bytes, dead letters.
type Sums = [u64; 4];

/// The keys of one owner fit each other.
fn check(connection: &mut Connection, name: &str, sums: &mut Sums) {
    let tag = format!("{{h{}}}", unit::unit_of(&id(name)).0);
    let record: BTreeMap<String, String> = tell(connection, &["HGETALL", &format!("{tag}:qo:{name}")]);
    let entries: Vec<String> = tell(connection, &["LRANGE", &format!("{tag}:ql:{name}"), "0", "-1"]);
    let entries: Vec<(u64, &str)> = entries
        .iter()
        .map(|entry| entry.split_once(' ').map(|(number, event)| (number.parse().unwrap(), event)).unwrap())
        .collect();
    let [quick, slow, ages, ids, changes, failing, stopped] = ["qc", "qw", "qa", "qi", "qv", "qf", "qx"]
        .map(|key| scores(connection, &format!("{tag}:{key}")).get(name).copied());
    let dead: u64 = tell(connection, &["XLEN", &format!("{tag}:qd:{name}")]);
    let filled: bool = tell(connection, &["SISMEMBER", &format!("{tag}:qr"), name]);
    let has_definition: bool = tell(connection, &["EXISTS", &format!("{tag}:qp:{name}")]);
    let (events, bytes) = (entries.len() as u64, entries.iter().map(|(_, event)| event.len() as u64).sum::<u64>());
    let number = |field: &str| record.get(field).map_or(0, |text| text.parse::<u64>().unwrap());
    let exists = record.contains_key("i");

    assert_eq!((number("n"), number("b"), number("y")), (events, bytes, dead), "counts");
    assert!(entries.is_sorted_by(|one, other| one.0 < other.0), "numbers rise");
    assert!(events <= BOUNDS.events && bytes <= BOUNDS.bytes && dead <= BOUNDS.events, "bounds");
    let (control, other) = if record.contains_key("q") { (slow, quick) } else { (quick, slow) };
    assert!(other.is_none(), "an owner is in one line");
    let is_due = exists && events > 0 && record["w"] == "active";
    assert_eq!(control.is_some(), is_due, "an active owner with events is in the control queue, and no other");
    assert_eq!(ages.is_some(), events > 0, "the age of what is queued is known");
    assert!(ages.is_none_or(|age| age <= entries[0].0), "and is no less");
    assert_eq!((ids.is_some(), has_definition), (exists, exists), "an owner is listed");
    let state = record.get("w").map(String::as_str);
    let since = record.get("g").and_then(|failing| failing.split(' ').next()?.parse().ok());
    assert_eq!(failing, since.filter(|_| state == Some("active")), "an owner that is failing is listed");
    assert_eq!(stopped.is_some(), state.is_some_and(|state| state != "active"), "and one that is stopped");
    assert_eq!(filled, record.contains_key("r"), "a replay is listed");
    assert!(exists || record.keys().all(|field| ["v", "l", "x"].contains(&field.as_str())), "what is deleted is gone");
    assert!(changes.unwrap_or(0) >= number("v"), "a change is told");
    for (sum, of_owner) in sums.iter_mut().zip([u64::from(exists), events, bytes, dead]) {
        *sum += of_owner;
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn the_keys_fit_each_other_after_any_steps() {
    let on = OnServers::<Single>::fresh(BOUNDS);
    let mut connection = on.connection();
    let seed = rand::random();
    let rng = SmallRng::seed_from_u64(seed);
    let mut search = Search { queues: &on.queues, rng, newest: 0, leases: Vec::new() };
    let mut seen = BTreeSet::new();
    for step in 0..STEPS {
        let what = search.step();
        seen.insert(what);
        println!("seed {seed}, step {step}: {what}");
        let mut sums = Sums::default();
        OWNERS.iter().for_each(|name| check(&mut connection, name, &mut sums));
        let totals = wait(on.queues.totals()).unwrap();
        assert_eq!([totals.owners, totals.events, totals.bytes, totals.dead], sums, "totals");
    }
    assert!(seen.len() >= 12 && wait(on.queues.totals()).unwrap().dropped > 0, "{seen:?} show nothing");
}
