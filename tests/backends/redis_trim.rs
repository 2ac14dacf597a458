//! Users of whom more is kept than what is to stay hot: who they are, all of their data, and how they are listed again.

use heartline::model::ids::UserId;
use heartline::model::shard::{Region, Shard, Shards};
use heartline::storage::hot_store::trim_users::{BeyondUser, HotBounds, TrimUsers};
use heartline::storage::turn::Turn;
use heartline::storage_redis::hot_store::RedisStore;
use std::time::Duration;

use crate::backends::redis::{Cluster, OneServer, Servers};
use crate::backends::redis_listed::{gateway, hot, packed, read, unlist};
use crate::backends::requests::*;

const USERS: u64 = 600;
const MINUTE: Duration = Duration::from_secs(60);

/// All users beyond the bounds, by shards and pages.
fn beyond(gateway: &RedisStore, bounds: HotBounds) -> Vec<BeyondUser> {
    let mut found = Vec::new();
    for shard in Shards::DEFAULT.all() {
        let mut from = None;
        loop {
            let page = wait(gateway.beyond(shard, from, bounds)).unwrap();
            found.extend(page.users);
            from = page.next;
            if from.is_none() {
                break;
            }
        }
    }
    found.sort_by_key(|found| found.user);
    found
}

fn ids(found: &[BeyondUser], is_idle: bool) -> Vec<u64> {
    found.iter().filter(|found| found.is_idle == is_idle).map(|found| found.user.0).collect()
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn users_with_more_than_is_to_stay_hot_are_found_unless_changes_wait() {
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
        let gateway = gateway(&url, true);
        // Each user has 1 to 6 contents. Every tenth has changes that wait.
        for user in 1..=USERS {
            let oids = 1..=1 + user % 6;
            commit(&hot(&gateway), oids.map(|oid| beat_of(UserId(user), content(oid), NOW)).collect());
            if user % 10 > 0 {
                assert!(unlist(&gateway, read(&gateway, UserId(user))));
            }
        }
        let carried = |contents: std::ops::RangeInclusive<u64>| -> Vec<u64> {
            (1..=USERS).filter(|user| user % 10 > 0 && contents.contains(&(1 + user % 6))).collect()
        };
        let many = beyond(&gateway, HotBounds { contents_max: 4, idle_since: NOW });
        assert_eq!((ids(&many, false), ids(&many, true)), (carried(5..=6), vec![]));
        let idle = beyond(&gateway, HotBounds { contents_max: 4, idle_since: NOW + 1_000 });
        assert_eq!((ids(&idle, false), ids(&idle, true)), (vec![], carried(2..=6)));
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn who_is_listed_again_is_carried_with_all_data() {
    let backend = OneServer::fresh(ROOMY);
    let gateway = gateway(&backend.servers().url(), true);
    let store = hot(&gateway);
    let everything = [(1, NOW), (2, NOW), (3, NOW + 1)];
    commit(&store, vec![beat_of(USER, content(1), NOW), beat_of(USER, content(2), NOW)]);
    assert!(unlist(&gateway, read(&gateway, USER)));
    commit(&store, vec![delete(&[3], NOW + 1)]);
    assert_eq!(packed(&read(&gateway, USER).pack()), [(2, NOW), (3, NOW + 1)], "1 was carried before");
    let whole = wait(gateway.read_whole(USER)).unwrap();
    assert_eq!((packed(&whole.pack()), whole.is_carried()), (everything.to_vec(), false));
    let listed = |users: &[UserId]| wait(gateway.list_again(users.to_vec(), NOW + 2)).unwrap();
    assert_eq!(listed(&[USER, UserId(77)]), 1, "who has no data is not listed");
    assert_eq!(packed(&read(&gateway, USER).pack()), everything, "although the user was listed");
    assert!(unlist(&gateway, read(&gateway, USER)));
    assert!(wait(gateway.read_whole(USER)).unwrap().is_carried());
    assert_eq!(wait(gateway.list_shard_again(Shards::DEFAULT.of(USER), NOW + 3)).unwrap(), 1);
    assert_eq!(packed(&read(&gateway, USER).pack()), everything);
    let others = Shards::DEFAULT.all().filter(|shard| *shard != Shards::DEFAULT.of(USER));
    assert_eq!(others.map(|shard| wait(gateway.list_shard_again(shard, NOW)).unwrap()).sum::<u64>(), 0);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_region_is_looked_at_by_one_gateway_and_not_again_before_it_is_due() {
    let backend = OneServer::fresh(ROOMY);
    let url = backend.servers().url();
    let (one, other) = (gateway(&url, true), gateway(&url, true));
    let take = |gateway: &RedisStore, region, since| wait(gateway.take_look(Region(region), since, MINUTE)).unwrap();
    assert_eq!((take(&one, 7, NOW), take(&one, 7, NOW)), (Turn::Mine, Turn::Mine));
    assert!(matches!(take(&other, 7, NOW), Turn::Taken(rest) if rest <= MINUTE));
    assert_eq!(take(&other, 8, NOW), Turn::Mine);
    wait(one.end_look(Region(7), NOW)).unwrap();
    assert_eq!((take(&other, 7, NOW), take(&other, 7, NOW + 1)), (Turn::Done, Turn::Mine));
    assert_eq!(Region(7).shards().next(), Some(Shard(7)), "its keys are in its first shard");
}
