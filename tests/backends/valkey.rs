//! Steady beats where the server can `SET … IFEQ`: without the script, and with it once they are refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::change::Outcome;
use heartline::model::ids::UserId;
use heartline::model::rule::{Reason, Verdict};
use heartline::storage::hot_store::{Group, HotStore, StoreError};
use redis::Connection;

use crate::backends::PATIENCE;
use crate::backends::redis::{OnRedis, OneServer, Servers, can_swap, key, open_remembering, tell};
use crate::backends::redis_store::calls;
use crate::backends::requests::*;

const STEADY: Outcome = Outcome::Beat { verdict: Verdict::written(true), skipped: 0 };

struct Bench {
    backend: OneServer,
    store: Arc<dyn HotStore>,
    connection: Connection,
}

impl Bench {
    /// With a user whose head is remembered and holds all there is.
    fn new() -> Self {
        let backend = OnRedis::fresh(ROOMY);
        let store = gateway(&backend);
        let mut connection = backend.connection();
        assert!(can_swap(&mut connection), "this server has no SET IFEQ; run: tests/run valkey");
        commit(&store, vec![beat_of(USER, content(1), NOW)]);
        Bench { backend, store, connection }
    }

    fn beat(&self, at: u64) -> Outcome {
        commit(&self.store, vec![beat_of(USER, content(1), at)]).remove(0)
    }

    /// The script calls that this takes, and the swaps and other `SET`s.
    fn cost(&mut self, of: impl FnOnce(&mut Self)) -> (u64, u64) {
        calls(std::slice::from_mut(&mut self.connection));
        of(self);
        let calls = calls(std::slice::from_mut(&mut self.connection));
        ["evalsha", "set"].map(|name| calls.get(name).copied().unwrap_or(0)).into()
    }

    /// Once it can be read again, this is stored.
    fn wait_for(&self, at: u64) {
        let began = Instant::now();
        let records = loop {
            match wait(self.store.get(USER, vec![content(1)], NOW)) {
                Ok(found) => break found.records,
                Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
            }
        };
        assert_eq!(records[0].as_ref().map(|record| record.at), Some(at));
    }

    fn head(&mut self) -> Option<Vec<u8>> {
        tell(&mut self.connection, &["GET", &key(USER, "h")])
    }

    fn put_head(&mut self, head: &[u8]) {
        redis::cmd("SET").arg(key(USER, "h")).arg(head).exec(&mut self.connection).unwrap();
    }
}

fn gateway(backend: &OneServer) -> Arc<dyn HotStore> {
    Arc::new(open_remembering(100, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false))
}

#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn a_steady_beat_calls_no_script() {
    let mut bench = Bench::new();
    assert_eq!(bench.cost(|bench| assert_eq!(bench.beat(NOW + 1), STEADY)), (0, 1));
    assert_eq!(ats(&bench.store, &[1]), [Some(NOW + 1)]);
    let left: i64 = tell(&mut bench.connection, &["PTTL", &key(USER, "h")]);
    assert_eq!(left, -1, "it has no lifetime");
    // What needs rows is for the script, and does not keep the others from the short way.
    let mixed = vec![beat_of(UserId(7), content(1), NOW), beat_of(USER, content(1), NOW + 2)];
    assert_eq!(bench.cost(|bench| assert_eq!(commit(&bench.store, mixed)[1], STEADY)), (1, 2));
    assert_eq!(ats(&bench.store, &[1]), [Some(NOW + 2)]);
}

/// One `MULTI` for up to 1,024.
#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn the_swaps_of_a_large_group_are_all_done() {
    let mut bench = Bench::new();
    let store = open_remembering(2_000, &bench.backend.servers().url(), ROOMY, Duration::ZERO, |_| false);
    let store: Arc<dyn HotStore> = Arc::new(store);
    let beats = |at| (100..1_400).map(|mid| beat_of(UserId(mid), content(1), at)).collect();
    commit(&store, beats(NOW));
    assert_eq!(
        bench.cost(|_| assert!(commit(&store, beats(NOW + 1)).iter().all(|outcome| *outcome == STEADY))),
        (0, 1_300)
    );
    for mid in [100, 1_123, 1_124, 1_399] {
        let stored = get(&store, UserId(mid), vec![content(1)]);
        assert_eq!(stored[0].as_ref().map(|record| record.at), Some(NOW + 1));
    }
}

#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn a_server_that_has_no_memory_left_replaces_nothing_until_it_has() {
    let mut bench = Bench::new();
    commit(&bench.store, vec![beat_of(UserId(7), content(1), NOW)]);
    let before = bench.head();
    let both = vec![beat_of(USER, content(1), NOW + 1), beat_of(UserId(7), content(1), NOW + 1)];
    let group = Group::unrewarded(NOW, both);
    tell::<()>(&mut bench.connection, &["CONFIG", "SET", "maxmemory", "1"]);
    let refused = wait(bench.store.commit(&group));
    assert!(matches!(&refused, Err(StoreError::Away(why)) if why.contains("OOM")), "{refused:?}");
    assert_eq!(bench.head(), before);
    tell::<()>(&mut bench.connection, &["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(wait(bench.store.commit(&group)).unwrap().outcomes, [STEADY, STEADY]);
}

#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn what_another_gateway_has_written_is_found_by_the_script() {
    let mut bench = Bench::new();
    let other = gateway(&bench.backend);
    commit(&other, vec![beat_of(USER, content(1), NOW + 10)]);
    let late = |bench: &mut Bench| {
        let outcome = bench.beat(NOW + 5);
        assert!(
            matches!(outcome, Outcome::Beat { verdict: Verdict::Rejected { reason: Reason::Superseded, .. }, .. }),
            "{outcome:?}"
        );
    };
    // Refused as a swap, refused by the script, and then decided anew: nothing to write, which the script compares.
    assert_eq!(bench.cost(late), (2, 1));
    assert_eq!(ats(&bench.store, &[1]), [Some(NOW + 10)]);
    commit(&other, vec![beat_of(USER, content(1), NOW + 20)]);
    assert_eq!(bench.cost(|bench| assert_eq!(bench.beat(NOW + 30), STEADY)), (1, 2));
    commit(&other, vec![recording(true, NOW + 40)]);
    assert_eq!(bench.beat(NOW + 50), Outcome::from(Verdict::Rejected { reason: Reason::NotRecording, record: None }));
    assert_eq!(ats(&bench.store, &[1]), [Some(NOW + 30)]);
}

#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn the_same_head_in_other_bytes_is_taken() {
    let mut bench = Bench::new();
    // The device ends it. The token is as it was.
    let mut bytes = bench.head().unwrap();
    bytes.extend_from_slice(b" of another version");
    bench.put_head(&bytes);
    assert_eq!(bench.cost(|bench| assert_eq!(bench.beat(NOW + 1), STEADY)), (1, 2));
    assert_eq!(bench.cost(|bench| assert_eq!(bench.beat(NOW + 2), STEADY)), (0, 1));
    assert_eq!(ats(&bench.store, &[1]), [Some(NOW + 2)]);
}

#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn a_head_of_another_type_is_unreadable_and_the_others_of_the_group_go_on() {
    let mut bench = Bench::new();
    let other = UserId(7);
    commit(&bench.store, vec![beat_of(other, content(1), NOW)]);
    tell::<()>(&mut bench.connection, &["DEL", &key(USER, "h")]);
    tell::<()>(&mut bench.connection, &["RPUSH", &key(USER, "h"), "x"]);
    let both = vec![beat_of(USER, content(1), NOW + 1), beat_of(other, content(1), NOW + 1)];
    let outcomes = commit(&bench.store, both);
    assert!(matches!(&outcomes[0], Outcome::Unreadable { .. }), "{outcomes:?}");
    assert_eq!(outcomes[1], STEADY);
}

#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn nothing_is_written_into_a_store_that_was_wiped() {
    let mut bench = Bench::new();
    let before = bench.head().unwrap();
    let group = Group::unrewarded(NOW, vec![beat_of(USER, content(1), NOW + 1)]);
    let mark = format!("{{h{}}}:deployment", heartline::model::shard::Shards::DEFAULT.of(USER).0);
    let held: String = tell(&mut bench.connection, &["GET", &mark]);
    tell::<()>(&mut bench.connection, &["DEL", &mark, &key(USER, "h")]);
    let refused = wait(bench.store.commit(&group));
    assert!(matches!(refused, Err(StoreError::Away(_))), "{refused:?}");
    assert_eq!(bench.head(), None);
    // Everything is there again, as in a restored Redis: the same group is written now.
    tell::<()>(&mut bench.connection, &["SET", &mark, &held]);
    bench.put_head(&before);
    let began = Instant::now();
    let committed = loop {
        match wait(bench.store.commit(&group)) {
            Ok(committed) => break committed,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
    };
    assert_eq!(committed.outcomes, [STEADY]);
    bench.wait_for(NOW + 1);
}

/// Connections are cut at any moment: what the first try has replaced is found by the script, and told once.
#[test]
#[ignore = "needs Valkey: tests/run valkey"]
fn a_repetition_finds_what_the_first_try_has_replaced() {
    let mut bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for at in NOW + 1..NOW + 40 {
        let group = Group::unrewarded(at, vec![beat_of(USER, content(1), at)]);
        let (mut outcome, began) = (None, Instant::now());
        while !matches!(outcome, Some(Ok(_))) {
            assert!(began.elapsed() < PATIENCE, "{outcome:?}");
            let first = outcome.is_none();
            outcome = Some(runtime.block_on(async {
                let cut = async {
                    match first {
                        true => {
                            tell::<()>(&mut bench.connection, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])
                        }
                        false => tokio::time::sleep(Duration::from_millis(20)).await,
                    }
                };
                tokio::join!(bench.store.commit(&group), cut).0
            }));
        }
        let committed = outcome.unwrap().unwrap();
        assert_eq!(committed.outcomes, [STEADY]);
        assert_eq!(committed.transitions.len(), 1, "told once");
    }
    bench.wait_for(NOW + 39);
}
