//! Problems of a Cassandra are reported at the start, with their fixes.

use heartline::model::secret::Secret;
use heartline::storage::config::cassandra::{CassandraConfig, Replication};
use heartline::storage_cassandra::{CassandraRefused, CassandraStore, Metrics, Schema};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;

use crate::history_store::cassandra::{settings, shared};
use crate::history_store::cassandra_node::CassandraNode;
use crate::history_store::words::*;

/// A keyspace of this test's own, dropped at its end.
struct Keyspace {
    settings: CassandraConfig,
    runtime: tokio::runtime::Runtime,
    session: Session,
}

impl Keyspace {
    fn new() -> Self {
        let mut settings = settings(&shared());
        settings.keyspace = format!("heartline_test_{:x}", rand::random::<u64>());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let session = runtime.block_on(SessionBuilder::new().known_node(shared()).build()).unwrap();
        Keyspace { settings, runtime, session }
    }

    /// With its own name for `KS`.
    fn tell(&self, statement: &str) {
        let statement = statement.replace("KS", &self.settings.keyspace);
        self.runtime.block_on(self.session.query_unpaged(statement, &[])).unwrap();
    }

    fn open(&self, schema: Schema) -> Result<CassandraStore, CassandraRefused> {
        CassandraStore::open(&self.settings, LONG, schema, Metrics::default())
    }

    /// The code that the process would end with, and what it would say.
    fn refusal(&self, schema: Schema) -> (u8, String) {
        let refused = self.open(schema).map(drop).unwrap_err();
        (refused.exit_code(), refused.to_string())
    }
}

impl Drop for Keyspace {
    fn drop(&mut self) {
        self.tell("DROP KEYSPACE IF EXISTS KS");
    }
}

fn has(refusal: (u8, String), words: &[&str]) {
    assert!(refusal.0 == 78 && words.iter().all(|word| refusal.1.contains(word)), "{words:?}: {refusal:?}");
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn a_missing_keyspace_or_table_is_created_or_reported() {
    let keyspace = Keyspace::new();
    has(keyspace.refusal(Schema::Find), &["there is no keyspace heartline_test_"]);
    keyspace.tell("CREATE KEYSPACE KS WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    has(keyspace.refusal(Schema::Find), &["there is no table heartline_test_"]);
    drop(keyspace.open(Schema::Make).unwrap());
    drop(keyspace.open(Schema::Find).unwrap());
    drop(keyspace.open(Schema::Make).unwrap());
    keyspace.tell("ALTER TABLE KS.history ADD note text");
    keyspace.tell("ALTER TABLE KS.history WITH compaction = {'class': 'SizeTieredCompactionStrategy'}");
    drop(keyspace.open(Schema::Make).unwrap());
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn another_table_or_replication_is_refused() {
    let mut keyspace = Keyspace::new();
    keyspace.tell("CREATE KEYSPACE KS WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    keyspace.tell("CREATE TABLE KS.history (mid text, kind int, oid bigint, pos bigint, PRIMARY KEY (mid, kind, oid))");
    has(keyspace.refusal(Schema::Make), &["a column mid (text, partition_key)", "no column version (bigint, regular)"]);
    keyspace.settings.replication = Replication::Each(3);
    has(keyspace.refusal(Schema::Make), &["SimpleStrategy { replication_factor = 1 }", "cassandra.replication"]);
    keyspace.settings.replication = Replication::ByDataCenter([("datacenter1".to_owned(), 1)].into());
    has(keyspace.refusal(Schema::Make), &["cassandra.replication"]);
    keyspace.tell("ALTER KEYSPACE KS WITH durable_writes = false");
    keyspace.settings.replication = Replication::Each(1);
    has(keyspace.refusal(Schema::Make), &["durable_writes"]);
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn a_table_without_read_repair_is_refused() {
    let keyspace = Keyspace::new();
    keyspace.open(Schema::Make).map(drop).unwrap();
    keyspace.tell("ALTER TABLE KS.history WITH read_repair = 'NONE'");
    has(keyspace.refusal(Schema::Make), &["no blocking read repair", "WITH read_repair = 'BLOCKING'"]);
    keyspace.tell("ALTER TABLE KS.history WITH read_repair = 'BLOCKING'");
    keyspace.open(Schema::Find).map(drop).unwrap();
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn a_replication_above_the_number_of_nodes_is_refused() {
    let mut keyspace = Keyspace::new();
    keyspace.settings.replication = Replication::Each(3);
    has(keyspace.refusal(Schema::Make), &["datacenter1 has 1 node(s), too few for 3 copies"]);
}

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn a_user_needs_the_right_password() {
    let node = CassandraNode::start_with(&["authenticator=PasswordAuthenticator"]);
    let mut settings = settings(&node.address());
    let open =
        |settings: &CassandraConfig| CassandraStore::open(settings, LONG, Schema::Make, Metrics::default()).map(drop);
    let refusal = |settings: &CassandraConfig| {
        let refused = open(settings).unwrap_err();
        (refused.exit_code(), refused.to_string())
    };
    has(refusal(&settings), &["asks for a user", "cassandra.user"]);
    settings.user = "cassandra".to_owned();
    settings.password = Secret::new("hunter2".to_owned());
    let refused = refusal(&settings);
    assert!(!refused.1.contains("hunter2"), "{refused:?}");
    has(refused, &["refuses cassandra.user and cassandra.password"]);
    settings.password = Secret::new("cassandra".to_owned());
    // The role is made some time after the start.
    until("the user is let in", || open(&settings).is_ok());
}

#[test]
fn a_cassandra_that_is_away_is_named() {
    let refused =
        CassandraStore::open(&settings("127.0.0.1:1"), LONG, Schema::Make, Metrics::default()).map(drop).unwrap_err();
    assert_eq!(refused.exit_code(), 69);
    assert!(
        refused.to_string().contains("127.0.0.1:1") && refused.to_string().contains("cassandra.nodes"),
        "{refused}"
    );
}
