//! The metrics of the store.

use heartline::storage::history_store::HistoryStore;
use heartline::storage_cassandra::Metrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::history_store::cassandra::OnCassandra;
use crate::history_store::words::*;

#[test]
#[ignore = "needs Cassandra: tests/run cassandra"]
fn rows_requests_and_expired_rows_are_counted() {
    let (mut registry, metrics) = (Registry::with_prefix("heartline"), Metrics::default());
    metrics.register(&mut registry);
    let (store, user, now) = (OnCassandra::counting(LONG, metrics), some_user(), wall());
    let has = |line: &str| {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    };
    has("heartline_history_store_rows_written_total 0");
    has("heartline_history_store_errors_total{operation=\"write\"} 0");
    let expired = played(3, now - 100 * DAY_MS);
    write(&store, vec![pack(user, Some(cleared(now - 9)), vec![played(1, now), played(2, now), expired])]);
    wait(store.read(user, now)).unwrap();
    has("heartline_history_store_rows_written_total 2");
    has("heartline_history_store_rows_expired_total 1");
    has("heartline_history_store_request_seconds_count{operation=\"write\"} 1");
    has("heartline_history_store_request_seconds_count{operation=\"read\"} 1");
    has("heartline_history_store_errors_total{operation=\"read\"} 0");
}
