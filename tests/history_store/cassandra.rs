//! The history store in the Cassandra that all tests share.

use std::sync::Once;

use heartline::model::retention::Retention;
use heartline::model::secret::Secret;
use heartline::storage::config::cassandra::{CassandraConfig, Consistency, Replication};
use heartline::storage_cassandra::{CassandraStore, Metrics, Schema};

use crate::history_store::words::Backend;

const ADDRESS: &str = "HEARTLINE_TEST_CASSANDRA";

pub struct OnCassandra;

/// The address of the node for all tests.
pub fn shared() -> String {
    std::env::var(ADDRESS).unwrap_or_else(|_| panic!("{ADDRESS} is not set; run: tests/run cassandra"))
}

/// For one node.
pub fn settings(address: &str) -> CassandraConfig {
    CassandraConfig {
        nodes: vec![address.to_owned()],
        keyspace: "heartline_test".to_owned(),
        replication: Replication::Each(1),
        consistency: Consistency::LocalQuorum,
        user: String::new(),
        password: Secret::default(),
    }
}

impl Backend for OnCassandra {
    type Store = CassandraStore;

    fn open(retention: Retention) -> CassandraStore {
        OnCassandra::counting(retention, Metrics::default())
    }
}

impl OnCassandra {
    pub fn counting(retention: Retention, metrics: Metrics) -> CassandraStore {
        static MADE: Once = Once::new();
        let settings = settings(&shared());
        MADE.call_once(|| drop(CassandraStore::open(&settings, retention, Schema::Make, Metrics::default()).unwrap()));
        CassandraStore::open(&settings, retention, Schema::Find, metrics).unwrap()
    }
}
