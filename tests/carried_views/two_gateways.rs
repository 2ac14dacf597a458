//! Two gateways on one Redis count as one.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::carried_views::mongo_server::MongoServer;
use crate::carried_views::pages::*;
use crate::carried_views::support::until;

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn what_one_has_counted_the_other_tells() {
    let one = gateway(&database_at(&shared()));
    let other = one.neighbour();
    for step in 0..50_u64 {
        let (from, to) = if step % 2 == 0 { (&one, &other) } else { (&other, &one) };
        assert_eq!(view(from, 100, step).await, json!({"views": step + 1, "counted": true}));
        assert_eq!(totals(to, &[100]).await, json!({"views": [step + 1]}));
        assert_eq!(view(to, 100, step).await, json!({"views": step + 1, "counted": false}));
    }
    for gateway in [&one, &other] {
        wait_for_days(gateway, 100, 50).await;
    }
    // By the gateway that does not write flights, too.
    for (deletes, reads) in [(&one, &other), (&other, &one)] {
        assert_eq!(delete(deletes, 100).await, 204);
        assert_eq!((totals(reads, &[100]).await, days(reads, 100).await), (json!({"views": [0]}), Some((0, 0))));
        assert_eq!(view(reads, 100, if std::ptr::eq(reads, &one) { 100 } else { 101 }).await["views"], 1);
    }
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn a_flight_that_one_writes_the_other_leaves_to_it() {
    /// For both to begin a flight while the server does not answer.
    const STANDSTILL: Duration = Duration::from_secs(2);
    let server = MongoServer::start();
    let one = gateway(&database_at(&server.url()));
    let other = one.neighbour();
    assert_eq!(view(&one, 100, 0).await["views"], 1);
    wait_for_days(&one, 100, 1).await;
    server.freeze();
    assert_eq!(view(&one, 100, 1).await["views"], 2);
    // Each deletion asks its own gateway for a flight. On a slow machine it is answered 503, and asked for again.
    let deleted = async {
        let until_done = async |gateway, oid| until("it is deleted", async || delete(gateway, oid).await == 204).await;
        tokio::join!(until_done(&one, 200), until_done(&other, 300))
    };
    let go_on = async {
        tokio::time::sleep(STANDSTILL).await;
        server.go_on();
    };
    tokio::join!(deleted, go_on);
    wait_for_days(&one, 100, 2).await;
    for gateway in [&one, &other] {
        assert_eq!(gateway.metric("heartline_statistics_documents_repeated_total").await, 0.0);
    }
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn a_gateway_that_is_killed_leaves_its_flight_to_the_other() {
    const VIEWS: u64 = 20;
    let server = MongoServer::start();
    let mut one = gateway(&database_at(&server.url()));
    let other = one.neighbour();
    assert_eq!(view(&one, 100, 0).await["views"], 1);
    wait_for_days(&one, 100, 1).await;
    server.freeze();
    for session in 1..VIEWS {
        assert_eq!(view(&one, 100, session).await, json!({"views": session + 1, "counted": true}));
    }
    // A flight that was begun and is not known to be written.
    one.wait_for_metric("heartline_flight_failures_total", |failures| failures > 0.0).await;
    one.kill();
    // It may write what was sent to it before, and the other gateway sends it again.
    server.go_on();
    other.wait_for_metric("heartline_flights_taken_over_total", |flights| flights > 0.0).await;
    wait_for_days(&other, 100, VIEWS).await;
    assert_eq!(view(&other, 100, VIEWS).await, json!({"views": VIEWS + 1, "counted": true}));
    wait_for_days(&other, 100, VIEWS + 1).await;
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn a_gateway_that_stops_leaves_its_turn_to_the_other() {
    /// Of a gateway that is killed, it lasts for 15 s.
    const TURN_LEFT_MAX: Duration = Duration::from_secs(10);
    let mut one = gateway(&database_at(&shared()));
    view(&one, 100, 0).await;
    wait_for_days(&one, 100, 1).await;
    let other = one.neighbour();
    one.terminate();
    assert!(one.ended().await.success());
    let stopped = Instant::now();
    view(&other, 100, 1).await;
    wait_for_days(&other, 100, 2).await;
    assert!(stopped.elapsed() < TURN_LEFT_MAX, "after {:?}", stopped.elapsed());
}
