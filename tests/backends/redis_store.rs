//! What the store on Redis alone promises.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::ids::{SessionId, UserId};
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, RuleSet, Rules};
use heartline::model::rows_read::RowsRead;
use heartline::model::rule::{Reason, Verdict};
use heartline::model::shard::Shards;
use heartline::storage::hot_store::{Committed, Group, HotStore, Positions, StoreError};
use heartline::storage::outbox::Outbox;
use heartline::storage_redis::hot_store::RedisStore;
use redis::{Connection, cmd};

use crate::backends::PATIENCE;
use crate::backends::hot_store_finished::a_page_of_unfinished_records_is_cut_short;
use crate::backends::hot_store_rewards::rewarding;
use crate::backends::redis::{
    OnRedis, OneServer, Servers, Several, Single, can_swap, connection, key, open_remembering, open_with, tell,
};
use crate::backends::requests::*;

fn day() -> Day {
    Day::of_number(20_777)
}

/// Calls of each command to all of these, those of scripts included, since the last time.
pub fn calls(connections: &mut [Connection]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for connection in connections {
        let info: String = tell(connection, &["INFO", "commandstats"]);
        cmd("CONFIG").arg("RESETSTAT").exec(connection).unwrap();
        for line in info.lines() {
            let call = line.strip_prefix("cmdstat_").and_then(|call| call.split_once(":calls="));
            let Some((name, rest)) = call else { continue };
            *all.entry(name.to_owned()).or_default() += rest.split(',').next().unwrap().parse::<u64>().unwrap();
        }
    }
    all
}

/// Commits groups of a beat each of 300 users; `scripts`: how many script calls that is, by the number of their shards,
/// where the server has no `SET … IFEQ`.
fn costs_so_many_calls<S: Servers>(scripts: impl Fn(u64) -> u64) {
    let backend = OnRedis::<S>::fresh(ROOMY);
    let store = open_remembering(1_000, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false);
    let store: Arc<dyn HotStore> = Arc::new(store);
    let users: Vec<UserId> = (0..300).map(UserId).collect();
    let shards = users.iter().map(|user| Shards::DEFAULT.of(*user)).collect::<HashSet<_>>().len() as u64;
    assert!((200..300).contains(&shards), "some users share a shard");
    let scripts = scripts(shards);
    let beats = |at| users.iter().map(|user| beat_of(*user, content(1), at)).collect();
    commit(&store, beats(1_000));
    let mut connections: Vec<Connection> = backend.servers().all().iter().map(connection).collect();
    // What looks after the connections asks now and then; it is not of this group.
    let own =
        ["ping", "info", "config|get", "config|resetstat", "get", "setex", "time", "cluster|shards", "cluster|slots"];
    calls(&mut connections);
    commit(&store, beats(2_000));
    let mut calls = calls(&mut connections);
    calls.retain(|name, _| !own.contains(&name.as_str()));
    let mut expected = BTreeMap::from([("set", 300)]);
    match connections.iter_mut().any(can_swap) {
        true => {
            let nodes = connections.len() as u64;
            expected.extend([("pubsub|shardnumsub", nodes)]);
            // Shards of a Cluster have no transaction in common.
            expected.extend(["multi", "exec"].map(|name| (name, 1)).into_iter().filter(|_| nodes == 1));
        }
        // Each script looks whether its shards are prepared, and reads what is compared.
        false => expected.extend([("evalsha", scripts), ("mget", 2 * scripts), ("pubsub|shardnumsub", scripts)]),
    }
    assert_eq!(calls, expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect());
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_group_is_one_script_call_or_swaps_and_nothing_else() {
    // At most 256 changes in one.
    costs_so_many_calls::<Single>(|_| 2);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn in_a_cluster_a_group_is_one_script_call_for_each_shard_or_swaps_and_nothing_else() {
    costs_so_many_calls::<Several>(|shards| shards);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn the_first_beat_of_a_connection_reads_nothing_once_it_was_welcomed() {
    let backend = OneServer::fresh(ROOMY);
    let users = || (1..=20).map(UserId);
    commit(&backend.store(), users().map(|user| beat_of(user, content(1), 1_000)).collect());
    let store = open_remembering(1_000, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false);
    let store: Arc<dyn HotStore> = Arc::new(store);
    let mut connections = [backend.connection()];
    let mut reads = |welcomed| {
        let reads = users().filter(|user| user.0 % 2 == u64::from(welcomed)).map(|user| {
            if welcomed {
                wait(store.user_status(user, day())).unwrap();
            }
            calls(&mut connections);
            commit(&store, vec![beat_of(user, content(1), 2_000)]);
            calls(&mut connections).get("get").copied().unwrap_or_default()
        });
        // Now and then the connections themselves are looked at, by reading a mark.
        reads.min().unwrap()
    };
    // A script reads the mark of its shard in either case.
    assert_eq!(reads(false), reads(true) + 1);
    // Another gateway writes after the welcome: what was read with it is outdated, and harmless.
    let user = UserId(1);
    let other: Arc<dyn HotStore> =
        Arc::new(open_remembering(1_000, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false));
    wait(other.user_status(user, day())).unwrap();
    commit(&store, vec![beat_of(user, content(1), 3_000)]);
    let late = commit(&other, vec![beat_of(user, content(1), 2_500)]);
    assert!(
        matches!(late[0], Outcome::Beat { verdict: Verdict::Rejected { reason: Reason::Superseded, .. }, .. }),
        "{late:?}"
    );
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_committed_to_a_shard_that_was_wiped() {
    let backend = OneServer::fresh(ROOMY);
    let store = backend.store();
    let (mut connection, mark) = (backend.connection(), format!("{{h{}}}:deployment", Shards::DEFAULT.of(USER).0));
    let held: String = tell(&mut connection, &["GET", &mark]);
    let beats = vec![beat_of(USER, content(1), 1_000), beat_of(UserId(7), content(1), 1_000)];
    let group = Group::unrewarded(NOW, beats);
    let attempt = || wait(store.commit(&group));
    for wiped in [None, Some("another")] {
        match wiped {
            None => tell::<()>(&mut connection, &["DEL", &mark]),
            Some(other) => tell::<()>(&mut connection, &["SET", &mark, other]),
        }
        let error = attempt().unwrap_err();
        assert!(matches!(error, StoreError::Away(_)), "{error}");
        assert!(
            wait(store.paused(USER)).is_err()
                && wait(store.list(USER, everything(), NOW, RowsRead::default())).is_err()
        );
        assert!(!tell::<bool>(&mut connection, &["EXISTS", &key(USER, "h")]));
    }
    tell::<()>(&mut connection, &["SET", &mark, &held]);
    let began = Instant::now();
    while attempt().is_err() {
        assert!(began.elapsed() < PATIENCE, "it does not come back");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(ats(&store, &[1]), [Some(1_000)]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_server_that_forgets_its_scripts_is_told_them_again() {
    let backend = OneServer::fresh(ROOMY);
    let mut connection = backend.connection();
    for at in 1..20 {
        let outcomes = commit(&backend.store(), vec![beat_of(USER, content(1), at)]);
        assert!(matches!(outcomes[0], Outcome::Beat { verdict: Verdict::Written { .. }, .. }), "{outcomes:?}");
        tell::<()>(&mut connection, &["SCRIPT", "FLUSH"]);
    }
    assert_eq!(oids(&list(&backend.store(), USER, everything())), [1]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn changes_of_users_whom_others_follow_are_told() {
    let backend = OneServer::fresh(ROOMY);
    let own = UserId(43);
    let store = open_with(&backend.servers().url(), ROOMY, Duration::ZERO, move |user| user == own);
    let mut listeners: Vec<Connection> = Vec::new();
    let mut follow = |user| {
        let mut listener = backend.connection();
        let subscribe = cmd("SSUBSCRIBE").arg(key(user, "n")).get_packed_command();
        redis::ConnectionLike::req_packed_command(&mut listener, &subscribe).unwrap();
        listeners.push(listener);
    };
    let elsewhere = |at| {
        let beats = [USER, own, UserId(44)].map(|user| beat_of(user, content(1), at));
        let last = beat_of(USER, content(1), at);
        wait(store.commit(&Group::unrewarded(NOW, beats.into_iter().chain([last]).collect()))).unwrap().elsewhere
    };
    assert!(elsewhere(1_000).is_empty());
    follow(own);
    assert!(elsewhere(2_000).is_empty(), "it is this gateway that follows him");
    follow(USER);
    assert_eq!(elsewhere(3_000), [0], "what changes nothing is not told");
    follow(own);
    assert_eq!(elsewhere(4_000), [0, 1]);
    let orders = vec![delete(&[1], 5_000), delete(&[1], 4_000), recording(true, NOW), erase()];
    assert_eq!(wait(store.commit(&Group::unrewarded(NOW, orders))).unwrap().elsewhere, [0, 2, 3]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn two_gateways_on_one_user_see_what_the_other_has_written() {
    let backend = OneServer::fresh(ROOMY);
    let open = || -> Arc<dyn HotStore> {
        Arc::new(open_remembering(100, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false))
    };
    let (one, other) = (open(), open());
    let beat = |store: &Arc<dyn HotStore>, oid, at| commit(store, vec![beat_of(USER, content(oid), at)]).remove(0);
    let is_written = |outcome| matches!(outcome, Outcome::Beat { verdict: Verdict::Written { .. }, .. });
    for round in 1..20 {
        let at = round * 10_000;
        // Each has remembered what the other changes.
        assert!(is_written(beat(&one, 1, at)) && is_written(beat(&other, 2, at + 1)));
        assert!(is_written(beat(&one, 3, at + 2)));
        commit(&other, vec![delete(&[3], at + 10), recording(true, at + 20)]);
        let refused = |reason| Outcome::from(Verdict::Rejected { reason, record: None });
        assert_eq!(beat(&one, 3, at + 5), refused(Reason::Superseded));
        assert_eq!(beat(&one, 4, at + 25), refused(Reason::NotRecording));
        commit(&one, vec![recording(false, at + 30)]);
        assert!(is_written(beat(&other, 4, at + 40)));
        assert_eq!(ats(&one, &[1, 2, 3, 4]), [Some(at), Some(at + 1), None, Some(at + 40)]);
        assert_eq!(oids(&list(&other, USER, everything())), [4, 2, 1]);
    }
}

/// One rule per content, with a filter for so many claims a day.
fn filtered(day: Day, expected: u64) -> Rewarding {
    let rule = RewardRule {
        id: Arc::from("seen"),
        per: Per::Content,
        kinds: Vec::new(),
        watched: Duration::ZERO,
        memory: RuleMemory::Bloom { expected, probability: 0.000_001 },
    };
    let rules = Rules::new(vec![rule]);
    let today = RewardDay { day, rules: rules.all(), zone: Arc::from("UTC") };
    Rewarding { rules: Arc::new(rules), today, claims_max: 1_000 }
}

fn asking(user: UserId, oid: u64, now: u64, asks: RuleSet) -> Change {
    let beat = Beat { session: SessionId(now), ..beat(content(oid), now, 1) };
    change(user, Action::beat(beat, Arc::from("tv"), asks))
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_filter_that_is_full_is_followed_by_exact_claims() {
    for expected in [1, 1_000_000] {
        let mut backend = OneServer::fresh(ROOMY);
        let ask = |backend: &OneServer, day, now| -> Vec<bool> {
            let rewards = filtered(day, expected);
            let changes = (0..20).map(|oid| asking(USER, oid, now, rewards.today.rules)).collect();
            commit_rewarded(&backend.store(), now, rewards, changes).decided.iter().map(|each| each.first).collect()
        };
        assert_eq!(ask(&backend, day(), NOW), [true; 20]);
        assert_eq!(ask(&backend, day(), NOW + 1), [false; 20]);
        backend.reopen(ROOMY);
        assert_eq!(ask(&backend, day(), NOW + 2), [false; 20]);
        let told = |day| wait(backend.store().claims_of(USER, day, 1_000)).unwrap();
        assert_eq!(
            told(day()).iter().map(|claim| claim.content.unwrap().oid).collect::<Vec<_>>(),
            (0..20).collect::<Vec<_>>()
        );
        assert_eq!(wait(backend.store().claims_of(USER, day(), 7)).unwrap().len(), 7);
        let exact: u64 = tell(&mut backend.connection(), &["HLEN", &format!("{{h819}}:w:{}:{}", day(), USER.0)]);
        assert_eq!(exact, if expected == 1 { 19 } else { 0 }, "a shard's share of one is one");
        let tomorrow = Day::of_number(day().number() + 1);
        assert!(told(tomorrow).is_empty());
        assert_eq!(ask(&backend, tomorrow, NOW + 3), [true; 20]);
        assert_eq!(told(tomorrow).len(), 20);
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_erased_user_has_no_exact_claims_left_and_may_claim_again() {
    let backend = OneServer::fresh(ROOMY);
    let ask = |now: u64| {
        let rewards = rewarding(day(), 100);
        let asks = rewards.today.rules;
        let beat = Beat { watched: Some(0), ..beat(content(1), now, now) };
        let beat = change(USER, Action::beat(beat, Arc::from("tv"), asks));
        commit_rewarded(&backend.store(), now, rewards, vec![beat]).decided.len()
    };
    assert_eq!(ask(NOW), 1);
    commit(&backend.store(), vec![erase()]);
    let left: Vec<String> = tell(&mut backend.connection(), &["KEYS", &format!("*:{}", USER.0)]);
    assert_eq!(left, [key(USER, "h")]);
    assert_eq!(ask(NOW + 1), 1);
}

fn claim_of(store: &RedisStore, mid: u64, now: u64) -> Committed {
    let rewards = rewarding(day(), 100);
    let changes = vec![asking(UserId(mid), 1, now, rewards.today.rules)];
    wait(store.commit(&Group::new(now, changes, rewards))).unwrap()
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_a_gateway_left_in_the_outbox_is_published_by_one_of_the_others() {
    let backend = OneServer::fresh(ROOMY);
    let age = Duration::from_secs(4);
    let gateway = || open_with(&backend.servers().url(), ROOMY, age, |_| false);
    let [lost, one, other] = [gateway(), gateway(), gateway()];
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    assert!(claim_of(&lost, 1, wall).decided[0].first && claim_of(&one, 2, wall).decided[0].first);
    assert!(!claim_of(&other, 1, wall + 1).decided[0].first, "there is one of it, whoever asks");
    assert_eq!((lost.len(), one.len(), other.len()), (1, 1, 0));
    drop(lost);
    let users = |store: &RedisStore| {
        let entries = wait(store.read(0, 100)).unwrap();
        entries.into_iter().filter_map(|(_, entry)| Some(entry.into_claim()?.key.user.0)).collect::<Vec<_>>()
    };
    assert_eq!((users(&one), users(&other)), (vec![2], vec![]), "it may live and publish it itself");
    assert_eq!((one.len(), other.len()), (2, 2), "but all count it");
    let last = wait(one.read(0, 100)).unwrap().pop().unwrap().0;
    wait(one.remove(vec![last])).unwrap();
    let began = Instant::now();
    while users(&one).is_empty() && users(&other).is_empty() {
        assert!(began.elapsed() < PATIENCE, "the claim is not taken over");
        thread::sleep(Duration::from_millis(50));
    }
    let took = if users(&one).is_empty() { &other } else { &one };
    assert_eq!(
        (users(&one).len(), users(&other).len()),
        (usize::from(std::ptr::eq(took, &one)), usize::from(std::ptr::eq(took, &other)))
    );
    assert_eq!(users(took), [1]);
    let all = wait(took.read(0, 100)).unwrap().into_iter().map(|(number, _)| number).collect();
    wait(took.remove(all)).unwrap();
    assert!(took.is_empty());
    let left: Vec<String> = tell(&mut backend.connection(), &["KEYS", "*:o"]);
    assert!(left.is_empty(), "{left:?}");
}

/// Connections are cut at any moment, before the request or between it and the reply.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_group_whose_outcome_is_unknown_may_be_committed_again() {
    let backend = OneServer::fresh(ROOMY);
    let store = backend.store();
    let server = &backend.servers().all()[0];
    let group = Group::unrewarded(NOW, vec![beat_of(USER, content(1), 1_000), beat_of(UserId(7), content(1), 1_000)]);
    let mut killer = connection(server);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for _ in 0..20 {
        let (first, _) = runtime.block_on(async {
            tokio::join!(store.commit(&group), async {
                tell::<()>(&mut killer, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
            })
        });
        let began = Instant::now();
        let mut outcome = first;
        while outcome.is_err() {
            assert!(began.elapsed() < PATIENCE, "{outcome:?}");
            runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
            outcome = runtime.block_on(store.commit(&group));
        }
        for outcome in outcome.unwrap().outcomes {
            let known = matches!(
                outcome,
                Outcome::Beat { verdict: Verdict::Written { steady: false, .. } | Verdict::Same, .. }
            );
            assert!(known, "{outcome:?}");
        }
    }
    let began = Instant::now();
    let kept = loop {
        match wait(store.get(USER, vec![content(1)], NOW)) {
            Ok(found) => break found.records,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
    };
    assert_eq!(kept[0].as_ref().map(|record| record.at), Some(1_000));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_page_of_unfinished_records_looks_at_a_bounded_number_of_rows() {
    a_page_of_unfinished_records_is_cut_short::<OneServer>();
}
