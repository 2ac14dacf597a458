//! What the store counts.

use heartline::storage::statistics::CounterStatistics;
use heartline::storage_mongodb::{Metrics, MongoStatistics};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::statistics::mongo::{DEPLOYMENT, OnMongo};
use crate::statistics::words::*;

#[test]
#[ignore = "needs MongoDB's protocol: tests/run statistics"]
fn requests_documents_and_repeats_are_counted() {
    let (mut registry, metrics) = (Registry::with_prefix("heartline"), Metrics::default());
    metrics.register(&mut registry);
    let has = |line: &str| {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    };
    let requests = |request: &str, outcome: &str, count: u64| {
        has(&format!(
            "heartline_statistics_request_seconds_count{{request=\"{request}\",outcome=\"{outcome}\"}} {count}"
        ));
    };
    for request in ["check", "write", "months", "totals", "days", "counters", "top", "page", "drop"] {
        requests(request, "ok", 0);
        requests(request, "failed", 0);
    }
    let store = MongoStatistics::open(&OnMongo::new().settings, DEPLOYMENT, metrics).unwrap();
    requests("check", "ok", 1);
    let first = flight(1, &[views(1, 1), views(2, 1), views_on(1, "2026-11-22", 1)]);
    write(&store, &first);
    has("heartline_statistics_documents_written_total 3");
    has("heartline_statistics_documents_repeated_total 0");
    requests("write", "ok", 2);
    write(&store, &first);
    has("heartline_statistics_documents_written_total 3");
    has("heartline_statistics_documents_repeated_total 3");
    write(&store, &flight(2, &[restart(1, 0)]));
    has("heartline_statistics_documents_written_total 5");
    requests("months", "ok", 1);
    totals(&store, &(0..501).collect::<Vec<_>>());
    days(&store, 1);
    requests("totals", "ok", 2);
    requests("days", "ok", 1);
    requests("days", "failed", 0);
    crate::statistics::words::counted(&store, 3, "all", &[&[]]);
    requests("counters", "ok", 1);
    wait(store.counter_top(3, "all".parse().unwrap(), key(&[]), 1)).unwrap();
    requests("top", "ok", 1);
    wait(store.counter_page(3, "all".parse().unwrap(), None, 1)).unwrap();
    requests("page", "ok", 1);
    write(&store, &flight(3, &[counter(3, "all", &[], 1)]));
    wait(store.drop_generation(3)).unwrap();
    // Found, removed, and none found.
    requests("drop", "ok", 3);
}
