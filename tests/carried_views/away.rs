//! While the statistics store is away views are counted all the same, and nothing of them is lost.

use serde_json::json;

use crate::carried_views::mongo_server::MongoServer;
use crate::carried_views::pages::*;
use crate::carried_views::support::{MID, TestGateway, until};

async fn wait_until_it_complains(gateway: &TestGateway) {
    until("the complaint", async || {
        let said = degraded(gateway).await;
        said.iter().any(|line| line.starts_with("sums are not written, they wait in the hot store: "))
    })
    .await;
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn views_are_counted_and_carried_there_later() {
    let mut server = MongoServer::start();
    let gateway = gateway(&database_at(&server.url()));
    view(&gateway, 100, 1).await;
    wait_for_days(&gateway, 100, 1).await;
    server.kill();
    // The total of one is remembered in Redis, that of the other is not known.
    assert_eq!(view(&gateway, 100, 2).await, json!({"views": 2, "counted": true}));
    let unknown = json!({"views": null, "partial": true, "counted": true});
    assert_eq!(view(&gateway, 101, 1).await, unknown);
    assert_eq!(view(&gateway, 101, 1).await, json!({"views": null, "partial": true, "counted": false}));
    assert_eq!(totals(&gateway, &[100, 101]).await, json!({"views": [2, null], "partial": true}));
    let refused = gateway.http(MID).get("/v1/views/3/100/days").await.problem(503, "unavailable");
    assert_eq!(refused["detail"], "statistics store unavailable");
    wait_until_it_complains(&gateway).await;
    gateway.wait_for_metric("heartline_flight_oldest_seconds", |age| age >= 1.0).await;

    server.start_again();
    wait_for_days(&gateway, 100, 2).await;
    wait_for_days(&gateway, 101, 1).await;
    until("no complaint", async || degraded(&gateway).await.is_empty()).await;
    assert_eq!(view(&gateway, 101, 2).await, json!({"views": 2, "counted": true}));
    gateway.wait_for_metric("heartline_flight_oldest_seconds", |age| age == 0.0).await;
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn a_deletion_that_was_not_answered_is_done_later() {
    let mut server = MongoServer::start();
    let gateway = gateway(&database_at(&server.url()));
    view(&gateway, 100, 1).await;
    wait_for_days(&gateway, 100, 1).await;
    server.kill();
    assert_eq!(delete(&gateway, 100).await, 503);
    server.start_again();
    wait_for_days(&gateway, 100, 0).await;
    assert_eq!(view(&gateway, 100, 2).await, json!({"views": 1, "counted": true}));
}

#[tokio::test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
async fn a_gateway_stops_and_starts_without_it() {
    let mut server = MongoServer::start();
    let mut gateway = gateway(&database_at(&server.url()));
    view(&gateway, 100, 1).await;
    wait_for_days(&gateway, 100, 1).await;
    server.kill();
    view(&gateway, 100, 2).await;
    gateway.terminate();
    assert!(gateway.ended().await.success());
    let gateway = gateway.beside().expect("it is not needed at the start");
    gateway.wait_for_log("mongodb_away").await;
    assert_eq!(view(&gateway, 100, 3).await, json!({"views": 3, "counted": true}));
    server.start_again();
    wait_for_days(&gateway, 100, 3).await;
    gateway.wait_for_log("mongodb_opened").await;
}
