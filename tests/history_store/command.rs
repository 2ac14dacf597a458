//! `heartline history`.

use std::process::{Command, Output};
use std::sync::Arc;

use heartline::model::beat::{Beat, State};
use heartline::model::change::{Action, Change};
use heartline::model::ids::{SessionId, UserId};
use heartline::model::pack::PackedRow;
use heartline::model::rewards::rule::RuleSet;
use heartline::storage::config::cassandra::CassandraConfig;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::{Group, Positions};
use heartline::storage_cassandra::{CassandraStore, Metrics, Schema};
use heartline::storage_redis::Redis;
use heartline::storage_redis::hot_store::{RedisStore, Settings};
use heartline::storage_redis::prepare::prepare;

use crate::history_store::cassandra::{OnCassandra, settings, shared};
use crate::history_store::redis_server::RedisServer;
use crate::history_store::words::*;

fn heartline(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heartline"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEARTLINE__")) {
        command.env_remove(name);
    }
    command.args(arguments).envs(variables.iter().copied()).output().unwrap()
}

fn on(cassandra: &str, keyspace: &str, redis: &str) -> Vec<(&'static str, String)> {
    vec![
        ("HEARTLINE__STORE__HOT_STORE", "redis".to_owned()),
        ("HEARTLINE__REDIS__URL", redis.to_owned()),
        ("HEARTLINE__HISTORY__STORE", "cassandra".to_owned()),
        ("HEARTLINE__CASSANDRA__NODES", cassandra.to_owned()),
        ("HEARTLINE__CASSANDRA__KEYSPACE", keyspace.to_owned()),
        ("HEARTLINE__CASSANDRA__REPLICATION", "1".to_owned()),
    ]
}

/// The code it ends with, and what it says.
fn asked(arguments: &[&str], variables: &[(&str, String)]) -> (Option<i32>, String, String) {
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let output = heartline(arguments, &variables);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A Redis that has these rows' records of a user, made by beats.
fn keep_in_redis(url: &str, user: UserId, rows: &[&PackedRow]) {
    prepare(&RedisConfig::strict(url)).unwrap();
    let redis = Redis::open(&RedisConfig::strict(url)).unwrap();
    let settings = Settings {
        history_interval: None,
        retention: LONG,
        records_per_user: 100.try_into().unwrap(),
        user_cache: 10.try_into().unwrap(),
        outbox_max: 10,
        takeover_after: Settings::TAKEOVER_AFTER,
    };
    let changes = rows.iter().map(|row| {
        let record = row.record.as_ref().unwrap();
        let beat = Beat {
            content: row.content,
            pos: record.pos,
            dur: record.dur,
            state: record.state,
            session: record.session,
            watched: Some(record.watched),
            rate: 1.0,
            at: record.at,
        };
        Change { user, action: Action::beat(beat, record.device.clone(), RuleSet::NONE) }
    });
    let group = Group::unrewarded(wall(), changes.collect());
    wait(async {
        let store = RedisStore::open(redis, settings, Arc::new(|_| false)).await.unwrap();
        store.commit(&group).await.unwrap()
    });
}

/// Of which every column is known.
fn row(oid: u64, at: u64) -> PackedRow {
    let mut row = played(oid, at);
    let record = row.record.as_mut().unwrap();
    (record.state, record.session, record.device) = (State::Playing, SessionId(u64::MAX), "tv".into());
    row
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn the_history_of_a_user_is_printed_and_compared_with_redis() {
    let directory = tempfile::tempdir().unwrap();
    let redis = RedisServer::start(directory.path());
    let kept = Kept::<CassandraStore>::new::<OnCassandra>(LONG);
    let now = wall();
    let (same, old, new) = (row(1, now - 10), row(2, now - 10), row(2, now - 9));
    let (gone, only_hot) = (deleted(3, now - 5), row(u64::MAX, now - 1));
    kept.write_all(Some(cleared(now - 100)), &[same.clone(), old, gone, row(4, now - 100)]);
    keep_in_redis(&redis.url(), kept.user, &[&same, &new, &only_hot]);
    let mid = kept.user.0.to_string();
    let variables = on(&shared(), "heartline_test", &redis.url());
    let (code, printed, said) = asked(&["history", "--mid", &mid], &variables);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let lines: Vec<serde_json::Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4, "{printed}");
    assert_eq!(lines[0], serde_json::json!({"watermark": now - 100, "switches": []}));
    let first = serde_json::json!({
        "kind": 1, "oid": "1", "pos": (now - 10) % 1_000_003, "dur": 3_600_000, "state": "playing",
        "session": "18446744073709551615", "device": "tv", "watched": (now - 10) % 100_003, "at": now - 10,
        "version": (now - 10) * 1000
    });
    assert_eq!(lines[1], first);
    let tombstone = serde_json::json!({"kind": 1, "oid": "3", "tombstone": now - 5, "version": (now - 5) * 1000 + 999});
    assert_eq!(lines[3], tombstone);

    let (code, compared, said) = asked(&["history", "--mid", &mid, "--compare"], &variables);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let compared: Vec<serde_json::Value> = compared.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&compared[..2], &compared[3]), (&lines[..2], &lines[3]), "the same");
    assert_eq!((&compared[2]["at"], &compared[2]["redis"]["at"]), (&(now - 10).into(), &(now - 9).into()));
    assert_eq!(compared[4].as_object().unwrap().len(), 1, "{}", compared[4]);
    assert_eq!(compared[4]["redis"]["oid"], "18446744073709551615");
    assert_eq!(compared.len(), 5);
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn the_history_command_creates_no_keyspace() {
    let keyspace = format!("heartline_test_{:x}", rand::random::<u64>());
    let variables = on(&shared(), &keyspace, "redis://127.0.0.1:1");
    let (code, printed, said) = asked(&["history", "--mid", "42"], &variables);
    assert_eq!((code, printed.as_str()), (Some(78), ""));
    assert!(said.contains(&format!("there is no keyspace {keyspace}")) && said.lines().count() == 1, "{said}");
    let found = CassandraStore::open(
        &CassandraConfig { keyspace, ..settings(&shared()) },
        LONG,
        Schema::Find,
        Metrics::default(),
    );
    assert!(found.is_err());
}

#[test]
fn a_missing_or_unreachable_history_store_is_reported() {
    let (code, printed, said) = asked(&["history", "--mid", "42"], &[]);
    assert_eq!((code, printed.as_str()), (Some(78), ""));
    assert_eq!(said, "heartline: there is no history store: history.store is \"none\"; set it to \"cassandra\"\n");
    let away = on("127.0.0.1:1", "heartline", "redis://127.0.0.1:1");
    let (code, printed, said) = asked(&["history", "--mid", "42"], &away);
    assert_eq!((code, printed.as_str()), (Some(69), ""));
    assert!(
        said.starts_with("heartline: cannot reach Cassandra at 127.0.0.1:1: ") && said.lines().count() == 1,
        "{said}"
    );
}
