//! Slots of a Cluster that move to another node, and a node that is away.

use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::ids::UserId;
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, Rules};
use heartline::model::rule::Verdict;
use heartline::model::shard::Shards;
use heartline::storage::hot_store::{Committed, Group, HotStore, StoreError};
use redis::{Connection, cmd};

use crate::backends::PATIENCE;
use crate::backends::redis::{OnRedis, Servers, Several, connection, key, open_remembering, tell};
use crate::backends::redis_server::RedisServer;
use crate::backends::requests::*;

fn other_of_shard(user: UserId) -> UserId {
    let shard = Shards::DEFAULT.of(user);
    (0..).map(UserId).find(|other| *other != user && Shards::DEFAULT.of(*other) == shard).unwrap()
}

/// A slot on its way from one node to another.
pub struct Moving {
    slot: String,
    pub from: Connection,
    to: Connection,
    port: String,
    id: String,
}

impl Moving {
    /// The slot of this key.
    pub fn begin(servers: &Several, key: &str) -> Self {
        let mut nodes: Vec<Connection> = servers.all().iter().map(connection).collect();
        let slot: u16 = tell(&mut nodes[0], &["CLUSTER", "KEYSLOT", key]);
        let slot = slot.to_string();
        let keys_in = |node: &mut Connection| tell::<usize>(node, &["CLUSTER", "COUNTKEYSINSLOT", &slot]);
        let index = nodes.iter_mut().position(|node| keys_in(node) > 0).unwrap();
        let mut from = nodes.remove(index);
        let mut to = nodes.remove(0);
        let there = usize::from(index == 0);
        let [from_id, id] = [&mut from, &mut to].map(|node| tell::<String>(node, &["CLUSTER", "MYID"]));
        tell::<()>(&mut to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
        tell::<()>(&mut from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id]);
        Moving { slot, from, to, port: servers.all()[there].port().to_string(), id }
    }

    pub fn take(&mut self, key: &str) {
        tell::<()>(&mut self.from, &["MIGRATE", "127.0.0.1", &self.port, key, "0", "5000"]);
    }

    pub fn finish(mut self) {
        let keys: Vec<String> = tell(&mut self.from, &["CLUSTER", "GETKEYSINSLOT", &self.slot, "1000"]);
        keys.iter().for_each(|key| self.take(key));
        for node in [&mut self.to, &mut self.from] {
            tell::<()>(node, &["CLUSTER", "SETSLOT", &self.slot, "NODE", &self.id]);
        }
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_written_while_some_of_what_a_call_touches_is_on_another_node() {
    let backend = OnRedis::<Several>::fresh(ROOMY);
    let store = open_remembering(1_000, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false);
    let store: Arc<dyn HotStore> = Arc::new(store);
    let other = other_of_shard(USER);
    // Nothing has to be read for a third content of theirs.
    for (oid, at) in [(1, NOW - 2), (2, NOW - 1)] {
        commit(&store, vec![beat_of(USER, content(oid), at), beat_of(other, content(oid), at)]);
    }
    let mut moving = Moving::begin(backend.servers(), &key(USER, "h"));
    ["r", "t"].iter().for_each(|letter| moving.take(&key(other, letter)));

    let both = vec![beat_of(USER, content(3), NOW), beat_of(other, content(3), NOW)];
    let group = Group::unrewarded(NOW, both);
    let refused = wait(store.commit(&group));
    assert!(matches!(refused, Err(StoreError::Away(_))), "{refused:?}");
    let rows: usize = tell(&mut moving.from, &["HLEN", &key(USER, "r")]);
    assert_eq!(rows, 1, "the first user's row was written, and the second's could not be");

    moving.finish();
    let began = Instant::now();
    while let Err(error) = wait(store.commit(&group)) {
        assert!(began.elapsed() < PATIENCE, "{error}");
    }
    for user in [USER, other] {
        let stored = get(&store, user, vec![content(1), content(2), content(3)]);
        let ats: Vec<_> = stored.into_iter().map(|record| record.map(|record| record.at)).collect();
        assert_eq!(ats, [Some(NOW - 2), Some(NOW - 1), Some(NOW)]);
    }
}

/// The head is all that it touches.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_steady_beat_waits_for_its_head_and_is_written_where_it_is_then() {
    let backend = OnRedis::<Several>::fresh(ROOMY);
    let store = open_remembering(1_000, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false);
    let store: Arc<dyn HotStore> = Arc::new(store);
    commit(&store, vec![beat_of(USER, content(1), NOW)]);
    let mut moving = Moving::begin(backend.servers(), &key(USER, "h"));
    let steady = |at| Group::unrewarded(NOW, vec![beat_of(USER, content(1), at)]);
    known(&store, &steady(NOW + 1));
    moving.take(&key(USER, "h"));
    let group = steady(NOW + 2);
    let refused = wait(store.commit(&group));
    assert!(matches!(refused, Err(StoreError::Away(_))), "{refused:?}");
    moving.finish();
    let committed = known(&store, &group);
    assert_eq!(committed.outcomes, [Outcome::from(Verdict::written(true))]);
    assert_eq!(committed.transitions.len(), 1);
    assert_eq!(ats(&store, &[1]), [Some(NOW + 2)]);
}

/// A beat that earns what one rule per user gives for the first beat of the day.
fn rewarded(user: UserId, at: u64, day: u16, rule: &str) -> Group {
    let rule = RewardRule {
        id: Arc::from(rule),
        per: Per::User,
        kinds: Vec::new(),
        watched: Duration::ZERO,
        memory: RuleMemory::Exact,
    };
    let rules = Rules::new(vec![rule]);
    let (asks, today) =
        (rules.all(), RewardDay { day: Day::of_number(day), rules: rules.all(), zone: Arc::from("UTC") });
    let beat = Beat { watched: Some(0), ..beat(content(1), at, at) };
    let change = Change { user, action: Action::beat(beat, Arc::from("tv"), asks) };
    Group::new(at, vec![change], Rewarding { rules: Arc::new(rules), today, claims_max: 100 })
}

/// Repeats it until its outcome is known.
fn known(store: &Arc<dyn HotStore>, group: &Group) -> Committed {
    let began = Instant::now();
    loop {
        match wait(store.commit(group)) {
            Ok(committed) => return committed,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_rule_may_have_the_name_of_a_key() {
    let backend = OnRedis::<Several>::fresh(ROOMY);
    let store: Arc<dyn HotStore> = backend.store();
    // The second finds the rule listed: no other key of claims stands before that of the rule.
    for user in [USER, other_of_shard(USER)] {
        let committed = wait(store.commit(&rewarded(user, NOW, 20_777, "deployment"))).unwrap();
        assert!(committed.decided[0].first, "{committed:?}");
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn at_the_start_of_a_day_beats_go_on_without_the_node_that_keeps_the_calendar_and_earn_later() {
    beats_go_on_and_earn_later(RedisServer::kill, RedisServer::come_back);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn at_the_start_of_a_day_beats_go_on_while_the_node_that_keeps_the_calendar_is_full_and_earn_later() {
    let limit = |server: &mut RedisServer, bytes| {
        tell::<()>(&mut connection(server), &["CONFIG", "SET", "maxmemory", bytes]);
    };
    beats_go_on_and_earn_later(|server| limit(server, "1"), |server| limit(server, "0"));
}

fn beats_go_on_and_earn_later(fail: impl FnOnce(&mut RedisServer), recover: impl FnOnce(&mut RedisServer)) {
    let mut backend = OnRedis::<Several>::fresh(ROOMY);
    let url = backend.servers().url();
    let store: Arc<dyn HotStore> = Arc::new(open_remembering(1_000, &url, ROOMY, Duration::ZERO, |_| false));
    let has = |server: &RedisServer, key: &str| {
        cmd("EXISTS").arg(key).query::<bool>(&mut connection(server)).unwrap_or_default()
    };
    let home = backend.servers().all().iter().position(|server| has(server, "{h0}:deployment")).unwrap();
    let elsewhere = |user: &UserId| !has(&backend.servers().all()[home], &key(*user, "h"));
    for user in (1..50).map(UserId) {
        known(&store, &rewarded(user, NOW, 20_777, "first"));
    }
    let user = (1..50).map(UserId).find(elsewhere).unwrap();

    fail(&mut backend.servers_mut().all_mut()[home]);
    let without = known(&store, &rewarded(user, NOW + 1, 20_778, "first"));
    assert!(without.decided.is_empty(), "{without:?}");
    assert_eq!(get(&store, user, vec![content(1)])[0].as_ref().map(|record| record.at), Some(NOW + 1));

    recover(&mut backend.servers_mut().all_mut()[home]);
    let began = Instant::now();
    let mut firsts = Vec::new();
    while firsts.is_empty() {
        assert!(began.elapsed() < PATIENCE, "the calendar does not come back");
        let at = NOW + 2 + began.elapsed().as_millis() as u64;
        firsts = known(&store, &rewarded(user, at, 20_778, "first")).decided;
    }
    assert!(firsts[0].first, "{firsts:?}");
    assert!(!known(&store, &rewarded(user, NOW + 60_000, 20_778, "first")).decided[0].first);
}
