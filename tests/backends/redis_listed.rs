//! The list of users whose changes are to be carried to the history store: who is on it, when, with what, and how they
//! leave.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::ids::UserId;
use heartline::model::pack::UserPack;
use heartline::model::shard::{Region, Shards};
use heartline::model::transition::Cause;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::listed_users::{ListedUsers, Waiting};
use heartline::storage::hot_store::optimistic::UNCARRIED_AGAIN_MS;
use heartline::storage::hot_store::{HotStore, ListedUser, StoreError};
use heartline::storage::turn::Turn;
use heartline::storage_redis::Redis;
use heartline::storage_redis::hot_store::{RedisStore, Settings};

use crate::backends::PATIENCE;
use crate::backends::redis::{Cluster, OneServer, Servers, key, tell};
use crate::backends::requests::*;

const INTERVAL_MS: u64 = 30_000;
const SECOND: Duration = Duration::from_secs(1);

/// A gateway that carries changes, or does not.
pub fn gateway(url: &str, carries: bool) -> Arc<RedisStore> {
    gateway_with(url, carries, ROOMY)
}

fn gateway_with(url: &str, carries: bool, limits: Limits) -> Arc<RedisStore> {
    let settings = Settings {
        retention: limits.retention(),
        records_per_user: NonZeroU32::new(limits.records_per_user).unwrap(),
        user_cache: NonZeroUsize::new(100).unwrap(),
        history_interval: carries.then_some(Duration::from_millis(INTERVAL_MS)),
        outbox_max: 1_000_000,
        takeover_after: Duration::ZERO,
    };
    let redis = Redis::open(&RedisConfig::strict(url)).unwrap();
    Arc::new(wait(RedisStore::open(redis, settings, Arc::new(|_| false))).unwrap())
}

pub fn hot(gateway: &Arc<RedisStore>) -> Arc<dyn HotStore> {
    gateway.clone()
}

fn region(user: UserId) -> Region {
    Shards::DEFAULT.of(user).region()
}

fn due(gateway: &RedisStore, user: UserId, now: u64) -> Vec<UserId> {
    wait(gateway.due(region(user), now, 100)).unwrap()
}

pub fn read(gateway: &RedisStore, user: UserId) -> ListedUser {
    wait(gateway.read(vec![user])).unwrap().remove(0)
}

fn pack(gateway: &RedisStore, user: UserId) -> UserPack {
    read(gateway, user).pack()
}

pub fn packed(pack: &UserPack) -> Vec<(u64, u64)> {
    pack.rows.iter().map(|row| (row.content.oid, row.newest())).collect()
}

pub fn unlist(gateway: &RedisStore, user: ListedUser) -> bool {
    wait(gateway.unlist(vec![user], NOW)).unwrap()[0]
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_change_lists_its_user_and_all_of_it_is_packed() {
    let backend = OneServer::fresh(ROOMY);
    let gateway = gateway(&backend.servers().url(), true);
    commit(&hot(&gateway), vec![beat_of(USER, content(1), NOW)]);
    assert_eq!(due(&gateway, USER, NOW + INTERVAL_MS - 1), []);
    assert_eq!(due(&gateway, USER, NOW + INTERVAL_MS), [USER]);
    assert_eq!(packed(&pack(&gateway, USER)), [(1, NOW)]);
    // It is due by its first change.
    commit_at(&hot(&gateway), NOW + 9, vec![beat_of(USER, content(2), NOW + 5), delete(&[3], NOW + 4)]);
    commit_at(&hot(&gateway), NOW + 9, vec![beat_of(USER, content(4), NOW + 6), recording(true, NOW + 7)]);
    assert_eq!(due(&gateway, USER, NOW + INTERVAL_MS), [USER]);
    let found = pack(&gateway, USER);
    assert_eq!(packed(&found), [(1, NOW), (2, NOW + 5), (3, NOW + 4), (4, NOW + 6)]);
    assert!(found.rows[2].record.is_none() && found.rows[2].tombstone == NOW + 4);
    assert!(found.forgetting.is_some_and(|forgetting| forgetting.switches[0].at == NOW + 7));
    assert_eq!(wait(gateway.waiting()).unwrap(), Waiting { users: 1, oldest_due: Some(NOW + INTERVAL_MS) });
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_delivered_user_is_listed_again_by_the_next_change() {
    let backend = OneServer::fresh(ROOMY);
    let gateway = gateway(&backend.servers().url(), true);
    let store = hot(&gateway);
    commit(&store, vec![beat_of(USER, content(1), NOW), beat_of(USER, content(2), NOW)]);
    let first = read(&gateway, USER);
    commit(&store, vec![beat_of(USER, content(3), NOW + 1)]);
    assert!(!unlist(&gateway, first), "it was written since");
    assert_eq!(packed(&pack(&gateway, USER)), [(1, NOW), (2, NOW), (3, NOW + 1)]);
    assert!(unlist(&gateway, read(&gateway, USER)));
    assert_eq!((due(&gateway, USER, u64::MAX), wait(gateway.waiting()).unwrap()), (vec![], Waiting::default()));
    let mut connection = backend.connection();
    assert!(!tell::<bool>(&mut connection, &["EXISTS", &key(USER, "p")]));
    // What is remembered of the head is old now.
    commit(&store, vec![beat_of(USER, content(3), NOW + 2)]);
    assert_eq!(packed(&pack(&gateway, USER)), [(3, NOW + 2)]);
    commit(&store, vec![beat_of(USER, content(2), NOW + 3)]);
    assert_eq!(packed(&pack(&gateway, USER)), [(2, NOW + 3), (3, NOW + 2)]);
    assert_eq!(ats(&store, &[1, 2, 3]), [Some(NOW), Some(NOW + 3), Some(NOW + 2)]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_postponed_user_keeps_marks_newer_than_the_delivered_rows() {
    let backend = OneServer::fresh(ROOMY);
    let gateway = gateway(&backend.servers().url(), true);
    let store = hot(&gateway);
    commit(&store, vec![beat_of(USER, content(1), NOW), beat_of(USER, content(2), NOW)]);
    let version = read(&gateway, USER).token().unwrap().version;
    commit(&store, vec![beat_of(USER, content(3), NOW + 1)]);
    wait(gateway.put_off(vec![(USER, version), (UserId(7), version)], NOW + 99_000)).unwrap();
    assert_eq!((due(&gateway, USER, NOW + 98_999), due(&gateway, USER, NOW + 99_000)), (vec![], vec![USER]));
    assert_eq!(packed(&pack(&gateway, USER)), [(2, NOW), (3, NOW + 1)], "2 has left the head, and 1 was delivered");
    assert_eq!(due(&gateway, UserId(7), u64::MAX), [], "who is not listed is not put off");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_is_cleared_or_erased_is_not_packed_and_what_says_so_is() {
    let backend = OneServer::fresh(ROOMY);
    let gateway = gateway(&backend.servers().url(), true);
    let store = hot(&gateway);
    commit(&store, vec![beat_of(USER, content(1), NOW - 9), beat_of(USER, content(2), NOW)]);
    commit(&store, vec![clear(NOW - 5)]);
    let found = read(&gateway, USER);
    assert_eq!(packed(&found.pack()), [(2, NOW)]);
    assert_eq!(found.pack().forgetting.map(|forgetting| forgetting.watermark), Some(NOW - 5));
    commit(&store, vec![erase()]);
    let found = pack(&gateway, USER);
    assert_eq!((packed(&found), found.forgetting.map(|forgetting| forgetting.watermark)), (vec![], Some(NOW)));
    assert!(unlist(&gateway, read(&gateway, USER)));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn who_was_never_listed_is_found_and_listed_with_everything() {
    for cluster in [false, true] {
        let (single, several);
        let url = match cluster {
            false => {
                single = OneServer::fresh(ROOMY);
                single.servers().url()
            }
            true => {
                several = Cluster::fresh(ROOMY);
                several.servers().url()
            }
        };
        let (off, on) = (gateway(&url, false), gateway(&url, true));
        let users: Vec<UserId> = (1..=300).map(UserId).collect();
        let beats = |oid, at| users.iter().map(|user| beat_of(*user, content(oid), at)).collect();
        commit(&hot(&off), beats(1, NOW));
        commit(&hot(&off), beats(2, NOW + 1));
        assert_eq!(wait(on.waiting()).unwrap().users, 0);
        commit(&hot(&on), vec![beat_of(UserId(1), content(3), NOW + 2)]);
        assert_eq!(packed(&pack(&on, UserId(1))), [(1, NOW), (2, NOW + 1), (3, NOW + 2)], "all of it at once");
        let listed = || Shards::DEFAULT.all().map(|shard| wait(on.list_unknown(shard, NOW)).unwrap()).sum::<u64>();
        assert_eq!((listed(), listed()), (299, 0));
        assert_eq!(wait(on.waiting()).unwrap(), Waiting { users: 300, oldest_due: Some(NOW) });
        for user in [UserId(2), UserId(300)] {
            assert_eq!(due(&on, user, NOW).iter().filter(|due| **due == user).count(), 1);
            assert_eq!(packed(&pack(&on, user)), [(1, NOW), (2, NOW + 1)]);
            assert!(unlist(&on, read(&on, user)));
        }
        // From now on all gateways list, also those that do not carry.
        commit(&hot(&off), vec![beat_of(UserId(2), content(9), NOW + 3)]);
        assert_eq!(packed(&pack(&on, UserId(2))), [(9, NOW + 3)]);
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_user_who_is_listed_stays_though_nothing_else_is_left() {
    let backend = OneServer::fresh(ROOMY);
    let limits = Limits { retention_ms: 23 * 3_600_000, ..ROOMY };
    let url = backend.servers().url();
    let gateway = gateway_with(&url, true, limits);
    // One that carries nothing does not wait until all is carried.
    let (store, mut connection) = (hot(&gateway_with(&url, false, limits)), backend.connection());
    let mut prune_at = |now: u64| {
        commit_at(&store, now, vec![prune(USER, limits.horizon(now))]);
        tell::<bool>(&mut connection, &["EXISTS", &key(USER, "h")])
    };
    commit(&hot(&gateway), vec![beat_of(USER, content(1), NOW)]);
    let (later, last) = (NOW + 2 * limits.retention_ms, NOW + 4 * limits.retention_ms);
    assert!(prune_at(later), "to prune is to write");
    assert!(prune_at(last), "it is listed");
    assert!(unlist(&gateway, read(&gateway, USER)));
    let last = last + 2 * limits.retention_ms;
    assert!(!prune_at(last));
    assert_eq!(wait(gateway.waiting()).unwrap(), Waiting::default());
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_a_narrower_retention_would_remove_is_kept_until_it_is_carried() {
    const HOUR: u64 = 3_600_000;
    let backend = OneServer::fresh(ROOMY);
    let url = backend.servers().url();
    let wide = hot(&gateway(&url, true));
    let oids = |gateway: &RedisStore| packed(&pack(gateway, USER)).into_iter().map(|(oid, _)| oid).collect::<Vec<_>>();
    commit(&wide, vec![clear(NOW - 9), delete(&[4], NOW - 1)]);
    commit(&wide, (1..=3).map(|oid| beat_of(USER, content(oid), NOW + oid)).collect());
    let limits = Limits { retention_ms: HOUR, ..ROOMY };
    let gateway = gateway_with(&url, true, limits);
    let narrow = hot(&gateway);
    let later = NOW + 2 * HOUR;
    let prune = |now: u64| commit_group(&narrow, now, vec![prune(USER, limits.horizon(now))]);
    let listed = key(USER, "x");
    let (schedule, _) = listed.rsplit_once(':').unwrap();
    let mut connection = backend.connection();
    assert_eq!(prune(later).transitions, []);
    let look: Option<u64> = tell(&mut connection, &["ZSCORE", schedule, &USER.0.to_string()]);
    assert_eq!(look, Some(later + UNCARRIED_AGAIN_MS), "not at once");
    assert_eq!(oids(&gateway), [1, 2, 3, 4]);
    assert_eq!(pack(&gateway, USER).forgetting.map(|forgetting| forgetting.watermark), Some(NOW - 9));
    // Another content takes the place of the third in the head.
    let told = commit_group(&narrow, later, vec![beat_of(USER, content(5), later)]).transitions;
    assert_eq!(moves(&told), [(0, None, Some(later), Cause::Beat)]);
    assert_eq!(prune(later).transitions, []);
    assert_eq!(oids(&gateway), [1, 2, 3, 4, 5]);
    // Reads do not show them.
    let seen = wait(narrow.get(USER, [1, 2, 3, 5].map(content).to_vec(), later)).unwrap();
    assert_eq!(
        seen.records.into_iter().map(|record| record.map(|record| record.at)).collect::<Vec<_>>(),
        [None, None, None, Some(later)]
    );
    assert!(unlist(&gateway, read(&gateway, USER)));
    assert_eq!(prune(later).transitions.len(), 3);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_turn_is_of_one_process_until_its_lease_ends() {
    let backend = OneServer::fresh(ROOMY);
    let url = backend.servers().url();
    let (one, other) = (gateway(&url, true), gateway(&url, true));
    let take = |gateway: &RedisStore, region| wait(gateway.take(Region(region), SECOND)).unwrap();
    assert_eq!((take(&one, 7), take(&one, 7)), (Turn::Mine, Turn::Mine));
    assert!(matches!(take(&other, 7), Turn::Taken(rest) if !rest.is_zero() && rest <= SECOND));
    assert_eq!(take(&other, 8), Turn::Mine);
    let began = Instant::now();
    while take(&other, 7) != Turn::Mine {
        assert!(began.elapsed() < PATIENCE, "a lease does not end");
    }
    assert!(began.elapsed() > SECOND / 2, "{:?}", began.elapsed());
    let walk = |gateway: &RedisStore, since| wait(gateway.take_walk(since, SECOND)).unwrap();
    assert_eq!(walk(&one, NOW), Turn::Mine);
    assert!(matches!(walk(&other, NOW), Turn::Taken(_)));
    wait(one.end_walk(NOW)).unwrap();
    assert_eq!((walk(&other, NOW), walk(&other, NOW + 1)), (Turn::Done, Turn::Mine));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_read_from_a_store_that_was_wiped_and_nothing_written() {
    let backend = OneServer::fresh(ROOMY);
    let gateway = gateway(&backend.servers().url(), true);
    commit(&hot(&gateway), vec![beat_of(USER, content(1), NOW)]);
    let found = read(&gateway, USER);
    let mut connection = backend.connection();
    tell::<()>(&mut connection, &["FLUSHALL"]);
    let away = |answer: Result<(), StoreError>| assert!(matches!(answer, Err(StoreError::Away(_))), "{answer:?}");
    away(wait(gateway.due(region(USER), u64::MAX, 9)).map(drop));
    away(wait(gateway.take(Region(7), SECOND)).map(drop));
    away(wait(gateway.unlist(vec![found], NOW)).map(drop));
    away(wait(gateway.waiting()).map(drop));
    away(wait(gateway.list_unknown(Shards::DEFAULT.of(USER), NOW)).map(drop));
    let mut written: Vec<String> = tell(&mut connection, &["KEYS", "*"]);
    // Written by what looks after the connection, if it had not noticed yet.
    written.retain(|key| !key.ends_with(":probe"));
    assert_eq!(written, [""; 0]);
}
