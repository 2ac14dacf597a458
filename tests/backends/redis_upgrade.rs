//! A Redis that an older version has written is carried over with nothing lost.

use std::sync::Arc;
use std::time::Duration;

use heartline::model::beat::Beat;
use heartline::model::change::{Action, Change, Outcome};
use heartline::model::ids::{Content, SessionId, UserId};
use heartline::model::rewards::calendar::RewardDay;
use heartline::model::rewards::claim::ClaimKey;
use heartline::model::rewards::day::Day;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{Per, RewardRule, RuleMemory, Rules};
use heartline::model::rule::{Reason, Verdict};
use heartline::storage::hot_store::HotStore;
use heartline::storage::hot_store::redis::carry_over;
use heartline::storage::redis::Redis;
use heartline::storage::redis::config::RedisConfig;
use heartline::storage::redis::upgrade::{Upgraded, upgrade};
use redis::{Connection, cmd, pipe};

use crate::redis::{Servers, Single, connection, key, open, tell};
use crate::requests::*;

const ID: &str = "66867154-ad79-47bb-8cef-6d05a9b89843";
const OTHER: UserId = UserId(u64::MAX);
/// Just after it was written, milliseconds.
const LATER: u64 = 1_795_433_430_000;

fn day() -> Day {
    "2026-11-23".parse().unwrap()
}

/// The rules by which it was rewarded.
fn rewarding() -> Rewarding {
    let rule = |id: &str, per, memory| RewardRule {
        id: Arc::from(id),
        per,
        kinds: Vec::new(),
        watched: Duration::ZERO,
        memory,
    };
    let filter = RuleMemory::Bloom { expected: 1_000_000, probability: 0.01 };
    let rules = Rules::new(vec![
        rule("first-of-day", Per::User, RuleMemory::Exact),
        rule("first-view", Per::Content, filter),
        rule("each-view", Per::Content, RuleMemory::Exact),
    ]);
    let today = RewardDay { day: day(), rules: rules.all(), zone: Arc::from("UTC") };
    Rewarding { rules: Arc::new(rules), today, claims_max: 1_000 }
}

fn asking(user: UserId, oid: u64, at: u64) -> Change {
    let beat = Beat { session: SessionId(9), ..beat(content(oid), at, 9) };
    change(user, Action::beat(beat, Arc::from("tv"), rewarding().rules.all()))
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| (digit as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn mark_all(connection: &mut Connection, text: &str) {
    let mut commands = pipe();
    for shard in 0..1_000 {
        commands.set(format!("{{h{shard}}}:deployment"), text).ignore();
    }
    commands.exec(connection).unwrap();
}

fn written_by_the_older_version() -> (Single, Connection) {
    let servers = Single::start();
    let mut connection = connection(&servers.all()[0]);
    for line in include_str!("data/redis_format_1.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (command, key) = (words.next().unwrap(), words.next().unwrap());
        cmd(command).arg(key).arg(words.map(bytes).collect::<Vec<_>>()).exec(&mut connection).unwrap();
    }
    mark_all(&mut connection, &format!("{ID} format=1 shards=1000 hash=siphash-2-4"));
    (servers, connection)
}

fn upgraded(servers: &Single) -> Upgraded {
    upgrade(&RedisConfig::strict(&servers.url()), carry_over).unwrap()
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn it_is_refused_until_it_is_upgraded() {
    let (servers, mut connection) = written_by_the_older_version();
    let refused = || Redis::open(&RedisConfig::strict(&servers.url())).map(drop).unwrap_err().to_string();
    assert!(refused().contains("heartline upgrade"), "{}", refused());
    mark_all(&mut connection, &format!("upgrading {ID}"));
    assert!(refused().contains("heartline upgrade"), "{}", refused());
    assert_eq!(upgraded(&servers), Upgraded::Done { id: ID.to_owned(), users: 2 });
    assert_eq!(upgraded(&servers), Upgraded::Before { id: ID.to_owned() });
    Redis::open(&RedisConfig::strict(&servers.url())).map(drop).unwrap();
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn heads_of_the_last_version_stay_as_they_are() {
    let (servers, mut connection) = written_by_the_older_version();
    upgraded(&servers);
    let head = |connection: &mut Connection| cmd("GET").arg(key(USER, "h")).query::<Vec<u8>>(connection).unwrap();
    let before = head(&mut connection);
    mark_all(&mut connection, &format!("{ID} format=3 shards=1000 hash=siphash-2-4"));
    let refused = Redis::open(&RedisConfig::strict(&servers.url())).map(drop).unwrap_err().to_string();
    assert!(refused.contains("heartline upgrade"), "{refused}");
    assert_eq!(upgraded(&servers), Upgraded::Done { id: ID.to_owned(), users: 0 });
    assert_eq!(head(&mut connection), before);
    assert_eq!(
        oids(&list(&(Arc::new(open(&servers.url(), ROOMY)) as Arc<dyn HotStore>), USER, everything())),
        [u64::MAX, 101]
    );
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn all_that_it_kept_is_there_and_decided_on() {
    let (servers, mut connection) = written_by_the_older_version();
    upgraded(&servers);
    // Broken off just before its end, and begun again.
    mark_all(&mut connection, &format!("upgrading {ID}"));
    assert_eq!(upgraded(&servers), Upgraded::Done { id: ID.to_owned(), users: 0 });
    let store: Arc<dyn HotStore> = Arc::new(open(&servers.url(), ROOMY));
    let page = list(&store, USER, everything());
    assert_eq!(oids(&page), [u64::MAX, 101]);
    assert_eq!((page.records[1].pos, page.records[1].at, &*page.records[1].device), (2_000, 1_795_433_421_132, "tv"));
    assert_eq!(oids(&list(&store, OTHER, everything())), [5]);
    assert!(wait(store.paused(OTHER)).unwrap() && !wait(store.paused(USER)).unwrap());
    let claims = |user| {
        let mut ids: Vec<String> =
            wait(store.claims_of(user, day(), 100)).unwrap().iter().map(ClaimKey::to_string).collect();
        ids.sort_unstable();
        ids
    };
    let single: Vec<String> = [100, 101, 102].iter().map(|oid| format!("each-view:2026-11-23:42:1:{oid}")).collect();
    // Of what is only in a filter, rows know; those of 100 and 102 were forgotten.
    let known = ["first-of-day:2026-11-23:42", "first-view:2026-11-23:42:1:101"].map(str::to_owned);
    let last = format!("first-view:2026-11-23:42:2:{}", u64::MAX);
    assert_eq!(claims(USER), [single, known.to_vec(), vec![last]].concat());

    // What was forgotten stays away, what was claimed is not claimed again, and what was paused is not recorded.
    let before_the_clear = beat_of(USER, Content { kind: 3, oid: 1 }, 1_795_433_420_000);
    let deleted = beat_of(USER, content(102), 1_795_433_422_000);
    let group = vec![before_the_clear, deleted, asking(USER, 100, LATER), asking(OTHER, 6, LATER)];
    let committed = commit_rewarded(&store, LATER, rewarding(), group);
    let refused = |reason| Outcome::from(Verdict::Rejected { reason, record: None });
    assert_eq!(committed.outcomes[0], refused(Reason::Superseded));
    assert_eq!(committed.outcomes[1], refused(Reason::Superseded));
    assert_eq!(committed.outcomes[3], refused(Reason::NotRecording));
    assert_eq!(committed.outcomes[2], Outcome::from(Verdict::Written { steady: false }));
    assert!(committed.decided.iter().all(|decided| decided.change == 2 && !decided.first));
    assert_eq!(committed.decided.len(), 3);
}

/// As the second format had it: like today's, but for lifetimes, and users nobody had to look at.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_expired_by_itself_stays_until_somebody_looks() {
    const RETENTION_MS: u64 = 23 * 3_600_000;
    let limits = Limits { retention_ms: RETENTION_MS, ..ROOMY };
    let (servers, mut connection) = written_by_the_older_version();
    upgraded(&servers);
    let store: Arc<dyn HotStore> = Arc::new(open(&servers.url(), limits));
    let users = [1, 2, 3].map(UserId);
    for user in users {
        commit_at(&store, LATER, (0..3).map(|oid| beat_of(user, content(oid), LATER)).collect());
    }
    commit_at(&store, LATER, vec![beat_of(UserId(4), content(1), LATER)]);
    drop(store);
    for user in users {
        for letter in ["h", "r", "t"] {
            assert!(tell::<bool>(&mut connection, &["PEXPIRE", &key(user, letter), "600000"]));
        }
        let looks = key(user, "x");
        let looks = looks.rsplit_once(':').unwrap().0;
        assert!(tell::<bool>(&mut connection, &["ZREM", looks, &user.0.to_string()]));
    }
    mark_all(&mut connection, &format!("{ID} format=2 shards=1000 hash=siphash-2-4"));
    assert!(Redis::open(&RedisConfig::strict(&servers.url())).is_err());
    assert_eq!(upgraded(&servers), Upgraded::Done { id: ID.to_owned(), users: 3 });
    for user in users {
        let ttls = ["h", "r", "t"].map(|letter| tell::<i64>(&mut connection, &["PTTL", &key(user, letter)]));
        assert_eq!(ttls, [-1; 3]);
    }
    let store: Arc<dyn HotStore> = Arc::new(open(&servers.url(), limits));
    let due = |now| {
        let due = (0..20).flat_map(|_| wait(store.due(now)).unwrap().users);
        let mut due: Vec<UserId> = due.filter(|user| user.0 < 10).collect();
        due.sort_unstable();
        due.dedup();
        due
    };
    assert_eq!(due(LATER), users);
    for user in users {
        assert_eq!(list(&store, user, everything()).records.len(), 3);
        assert_eq!(
            commit_at(&store, LATER, vec![prune(user, LATER - RETENTION_MS)]),
            [Outcome::Pruned { more: false }]
        );
    }
    assert_eq!((due(LATER + RETENTION_MS), due(LATER + RETENTION_MS + 1).len()), (Vec::new(), 4));
}
