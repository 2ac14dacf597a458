//! A Cassandra that is killed in the middle of what is written, and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use heartline::model::ids::UserId;
use heartline::storage::history_store::HistoryStore;
use heartline::storage_cassandra::{CassandraStore, Metrics, Schema};

use crate::history_store::cassandra::settings;
use crate::history_store::cassandra_node::CassandraNode;
use crate::history_store::words::*;

const WRITERS: u64 = 8;
const ROUNDS: u64 = 3;
/// Answered by a writer before each kill.
const BETWEEN: u64 = 40;

/// Rows that a writer was answered for: its user has the contents 1 to that number.
struct Writers {
    answered: Vec<AtomicU64>,
    failed: AtomicU64,
    over: AtomicBool,
}

impl Writers {
    /// One row after the other, each again until it is answered.
    fn write(&self, store: &CassandraStore, users: &[UserId], nth: usize) {
        while !self.over.load(Ordering::Relaxed) {
            let next = self.answered[nth].load(Ordering::Relaxed) + 1;
            let row = played(next, wall() - 1);
            match wait(store.write([pack(users[nth], None, vec![row])].into(), None, wall())) {
                Ok(()) => self.answered[nth].store(next, Ordering::Relaxed),
                Err(_) => {
                    self.failed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn all_have(&self, number: u64) -> bool {
        self.answered.iter().all(|answered| answered.load(Ordering::Relaxed) >= number)
    }
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn answered_writes_survive_kills_and_the_store_recovers_by_itself() {
    let mut node = CassandraNode::start();
    let store =
        Arc::new(CassandraStore::open(&settings(&node.address()), LONG, Schema::Make, Metrics::default()).unwrap());
    let users: Vec<UserId> = (0..WRITERS).map(|_| some_user()).collect();
    let writers = Writers {
        answered: users.iter().map(|_| AtomicU64::new(0)).collect(),
        failed: AtomicU64::new(0),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for nth in 0..users.len() {
            let (writers, users, store) = (&writers, &users, &store);
            scope.spawn(move || writers.write(store, users, nth));
        }
        for round in 1..=ROUNDS {
            until("rows are written", || writers.all_have(round * BETWEEN));
            node.kill();
            let failed = writers.failed.load(Ordering::Relaxed);
            until("writes fail", || writers.failed.load(Ordering::Relaxed) > failed);
            let away = wait(store.read(users[0], wall())).unwrap_err();
            assert!(away.to_string().starts_with("history store unavailable: "), "{away}");
            node.start_again();
        }
        until("rows are written", || writers.all_have((ROUNDS + 1) * BETWEEN));
        writers.over.store(true, Ordering::Relaxed);
    });
    for (user, answered) in users.iter().zip(&writers.answered) {
        let rows = wait(store.read(*user, wall())).unwrap().rows;
        let contents: Vec<u64> = rows.iter().map(|row| row.content.oid).collect();
        assert_eq!(contents, (1..=answered.load(Ordering::Relaxed)).collect::<Vec<_>>());
    }
}
