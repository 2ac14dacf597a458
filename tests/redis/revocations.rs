//! The list of revocations in Redis.

use heartline::model::ids::UserId;
use heartline::model::revocation::{Revocation, Revoked};
use heartline::storage::revocation_list::{ListError, RevocationList};
use heartline::storage_redis::Redis;
use heartline::storage_redis::revocation_list::RedisList;

use super::cluster::Cluster;
use super::server::Server;
use crate::backends::revocation_list as suite;

fn list(redis: &Redis) -> Box<dyn RevocationList> {
    Box::new(RedisList::of(redis.clone()))
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_is_added_is_there_until_it_is_removed() {
    let server = Server::prepared();
    suite::what_is_added_is_there_until_it_is_removed(|| list(&server.open()));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_cluster_keeps_the_revocation_list() {
    let cluster = Cluster::prepared();
    let redis = Redis::open(&cluster.config(1)).unwrap();
    suite::what_is_added_is_there_until_it_is_removed(|| list(&redis));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_removal_that_is_late_leaves_a_later_revocation() {
    let server = Server::prepared();
    suite::a_removal_that_is_late_leaves_a_later_revocation(|| list(&server.open()));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn of_one_user_the_later_revocation_stands() {
    let server = Server::prepared();
    let redis = server.open();
    suite::of_one_user_the_later_revocation_stands(|| list(&redis));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_full_list_takes_no_more_until_some_have_expired() {
    let server = Server::prepared();
    let fill = |count: usize, until: u64| {
        let script = "for mid = 0, ARGV[1] - 1 do redis.call('HSET', KEYS[1], 'u' .. mid, ARGV[2]) end";
        let value = format!("{:020}{until:020}", 1);
        server.tell::<()>(&["EVAL", script, "1", "{h0}:revocations", &count.to_string(), &value]);
    };
    suite::a_full_list_takes_no_more_until_some_have_expired(&*list(&server.open()), fill);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn two_gateways_that_revoke_at_once_lose_nothing() {
    let server = Server::prepared();
    let revoke = |from: u64| {
        let list = list(&server.open());
        for mid in from..from + 200 {
            list.add(&Revocation { what: Revoked::User(UserId(mid)), at_ms: mid, until_ms: None }, 0).unwrap();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| revoke(0));
        scope.spawn(|| revoke(1_000));
    });
    let (edition, all) = list(&server.open()).load(None).unwrap().unwrap();
    assert_eq!((edition, all.len()), (400, 400));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_lost_list_is_an_error_and_not_an_empty_list() {
    let mut server = Server::prepared();
    let list = list(&server.open());
    let revocation = Revocation { what: Revoked::User(UserId(42)), at_ms: 5, until_ms: None };
    list.add(&revocation, 0).unwrap();
    let (edition, _) = list.load(Some(0)).unwrap().expect("it was empty");
    server.tell::<()>(&["DEL", "{h0}:revocations"]);
    let gone = list.load(Some(edition)).unwrap_err().to_string();
    assert!(gone.contains("the revocation list in Redis is missing"), "{gone}");
    server.tell::<()>(&["FLUSHALL"]);
    assert!(matches!(list.add(&revocation, 0), Err(ListError::Broken { .. })), "nothing goes into a wiped one");
    server.kill();
    assert!(matches!(list.load(Some(edition)), Err(ListError::Broken { .. })));
}
