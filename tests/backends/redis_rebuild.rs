//! A Redis that has lost everything is rebuilt: no gateway serves it before it is open, claims are known again, and users
//! are read from the history store.

use std::collections::BTreeMap;

use heartline::model::change::Outcome;
use heartline::model::cold::ColdMark;
use heartline::model::ids::UserId;
use heartline::model::pack::{PackedForgetting, PackedRecord, PackedRow};
use heartline::model::recording::Switch;
use heartline::model::rewards::claim::ClaimKey;
use heartline::model::rule::Verdict;
use heartline::model::version::Version;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::history_store::HistoryUser;
use heartline::storage::hot_store::trim_users::TrimUsers;
use heartline::storage::hot_store::unread_users::UnreadUsers;
use heartline::storage::hot_store::{Claims, Positions};
use heartline::storage_redis::Redis;
use heartline::storage_redis::prepare::prepare;
use heartline::storage_redis::rebuild::{Found, Rebuild};

use crate::backends::redis::{Servers, Several, Single, connection, tell};
use crate::backends::redis_listed::{gateway, hot};
use crate::backends::requests::*;

/// What the history store has of [`USER`]: content 1, a deleted content 2, and a pause in the past.
fn history() -> HistoryUser {
    let record = beat(content(1), NOW - 5_000, 1);
    let packed = PackedRecord {
        pos: record.pos,
        dur: record.dur,
        state: record.state,
        session: record.session,
        device: "tv".into(),
        watched: 0,
        at: record.at,
    };
    let version = |at: u64| Version::first_of(at);
    let switches = vec![Switch { at: NOW - 9_000, paused: true }, Switch { at: NOW - 8_000, paused: false }];
    HistoryUser {
        forgetting: Some(PackedForgetting {
            watermark: NOW - 20_000,
            floor: 0,
            switches,
            version: version(NOW - 8_000),
        }),
        rows: vec![
            PackedRow { content: content(1), record: Some(packed), tombstone: 0, version: version(NOW - 5_000) },
            PackedRow { content: content(2), record: None, tombstone: NOW - 3_000, version: version(NOW - 3_000) },
        ],
    }
}

fn is_written(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Beat { verdict: Verdict::Written { .. }, .. })
}

/// Each step, and after each what others may do.
fn rebuild(servers: &impl Servers, claim: &ClaimKey) {
    let config = RedisConfig::strict(&servers.url());
    wait(async {
        let mut first = Rebuild::look(&config).await.unwrap();
        assert_eq!(first.connected().await.unwrap(), Vec::<String>::new());
        assert_eq!(first.found, Found::Empty);
        assert_eq!(tell::<u64>(&mut connection(&servers.all()[0]), &["DBSIZE"]), 0, "a look changes nothing");
        first.mark().await.unwrap();
        first.note_progress("heartline.rewards/3", 7).await.unwrap();
        let id = first.id().to_owned();
        drop(first);
        let refused = Redis::open(&config).map(drop).unwrap_err().to_string();
        assert!(refused.contains("is being rebuilt"), "{refused}");
        let refused = prepare(&config).unwrap_err().to_string();
        assert!(refused.contains("run heartline rebuild again"), "{refused}");
        let mut second = Rebuild::look(&config).await.unwrap();
        assert_eq!((&second.found, second.id()), (&Found::Begun, &*id), "an interrupted rebuild goes on");
        assert_eq!(second.progress().await.unwrap(), BTreeMap::from([("heartline.rewards/3".to_owned(), 7)]));
        second.mark().await.unwrap();
        for _ in 0..2 {
            second.put_claims(std::slice::from_ref(claim)).await.unwrap();
        }
        second.put_generations(7, vec![6, 7]).await.unwrap();
        second.open(NOW).await.unwrap();
        assert_eq!(Rebuild::look(&config).await.unwrap().found, Found::Rebuilt);
    });
}

fn a_lost_user_is_read(servers: &impl Servers) {
    let day = "2026-11-20".parse().unwrap();
    let claim = ClaimKey { rule: "first-view".into(), day, user: USER, content: Some(content(1)) };
    rebuild(servers, &claim);
    let gateway = gateway(&servers.url(), true);
    let store = hot(&gateway);
    assert_eq!(gateway.rebuilt_at(), Some(NOW));
    assert_eq!(wait(gateway.claims_of(USER, day, 10)).unwrap(), [claim]);
    let beat_of = |oid: u64, at: u64| vec![beat_of(USER, content(oid), at)];
    let cold = |outcome: &Outcome| matches!(outcome, Outcome::Cold(wanted) if wanted.mark == ColdMark::UNREAD);
    assert!(cold(&commit(&store, beat_of(3, NOW))[0]), "nothing is decided before the user is read");
    assert!(wait(gateway.is_unread(USER)).unwrap());
    let found = wait(gateway.get(USER, vec![content(1)], NOW)).unwrap();
    assert_eq!((found.records, found.cold.map(|cold| cold.mark)), (vec![None], Some(ColdMark::UNREAD)));
    let mark = wait(gateway.make_head(USER, history().into(), NOW)).unwrap().expect("there was none");
    assert_eq!(mark.floor, NOW - 3_000, "that of the deletion");
    assert_eq!(wait(gateway.read_whole(USER)).unwrap().pack().rows, [], "nothing is refilled");
    assert_eq!(wait(gateway.make_head(USER, HistoryUser::default().into(), NOW)).unwrap(), None, "there is one");
    assert!(!wait(gateway.is_unread(USER)).unwrap());
    assert_eq!(wait(gateway.last_switch(USER)).unwrap(), Some(Switch { at: NOW - 8_000, paused: false }));
    let found = wait(gateway.get(USER, vec![content(1), content(77)], NOW)).unwrap();
    assert_eq!(found.cold.map(|cold| (cold.mark, cold.indices)), Some((mark, vec![0])), "the filter knows content 1");
    assert!(is_written(&commit(&store, beat_of(3, NOW))[0]));
    assert!(is_written(&commit(&store, beat_of(1, NOW))[0]), "it is newer than all that is cold");
    let late = commit(&store, beat_of(2, NOW - 4_000));
    assert!(matches!(&late[0], Outcome::Cold(wanted) if wanted.mark == mark), "{late:?}");
    // Neither store knows the next user.
    let new = || commit(&store, vec![super::requests::beat_of(UserId(77), content(1), NOW)]);
    assert!(cold(&new()[0]));
    let mark =
        wait(gateway.make_head(UserId(77), HistoryUser::default().into(), NOW)).unwrap().expect("there was none");
    let again = new();
    assert!(matches!(&again[0], Outcome::Cold(wanted) if wanted.mark == mark), "for some seconds: {again:?}");
    let connected =
        wait(async { Rebuild::look(&RedisConfig::strict(&servers.url())).await.unwrap().connected().await });
    assert!(!connected.unwrap().is_empty(), "the gateway is seen");
    let generations: String = tell(&mut at_common(servers), &["GET", "{h0}:counters"]);
    assert!(generations.contains(r#""last":7"#), "{generations}");
}

/// A connection to the server of the keys that all shards share.
fn at_common(servers: &impl Servers) -> redis::Connection {
    let has_it =
        |connection: &mut redis::Connection| redis::cmd("EXISTS").arg("{h0}:counters").exec(connection).is_ok();
    let mut all = servers.all().iter().map(connection);
    all.find_map(|mut connection| has_it(&mut connection).then_some(connection)).expect("a node has it")
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_lost_redis_is_rebuilt_and_its_users_are_read() {
    a_lost_user_is_read(&Single::start());
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_lost_cluster_is_rebuilt_and_its_users_are_read() {
    a_lost_user_is_read(&Several::start());
}
