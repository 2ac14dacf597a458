//! Removal of records that are older than the retention or over the cap of a user.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, in_time, reasons, until};

/// So long a record stays that has nearly expired: it is to be seen before.
const STAYS_MS: u64 = 5_000;

#[tokio::test]
async fn a_record_older_than_the_retention_is_absent_from_every_read() {
    let gateway = TestGateway::with(&[("store.retention", "1h")]);
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    let nearly = now - 3_600_000 + STAYS_MS;
    client.watch([beat(100, nearly), beat(101, now)]).await;
    assert_eq!(client.listed(json!({})).await, [101, 100]);
    in_time("the end of the retention", gone(&mut client, 100)).await;
    assert_eq!(client.listed(json!({})).await, [101]);
    assert_eq!(gateway.http(MID).get("/v1/history/1/100").await.status, 404);
    let rejected = client.beats([beat(100, nearly)]).await;
    assert_eq!(reasons(&rejected), [(0, "expired")]);
}

#[tokio::test]
async fn cleared_and_expired_records_are_removed_and_counted_by_cause() {
    let gateway = TestGateway::with(&[("store.retention", "1h"), ("store.prune_interval", "200ms")]);
    let removed = |cause| format!("heartline_records_removed_total{{cause=\"{cause}\"}}");
    let mut client = gateway.connect(MID).await;
    let now = client.now();
    assert_eq!(gateway.metric(&removed("clear")).await, 0.0);
    client.watch((0..300).map(|oid| beat(oid, now - 1_000))).await;
    client.call(json!({"clear": {"at": now}})).await;
    gateway.wait_for_metric(&removed("clear"), |count| count == 300.0).await;
    let mut other = gateway.connect(43).await;
    let nearly = other.now() - 3_600_000 + STAYS_MS;
    other.watch([beat(100, nearly), beat(101, now)]).await;
    // A store that is not used removes nothing by age.
    let used = async {
        while gateway.metric(&removed("expiry")).await < 1.0 {
            gone(&mut other, 100).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    in_time("the removal by age", used).await;
    assert_eq!(other.listed(json!({})).await, [101]);
    assert_eq!(gateway.metric(&removed("clear")).await, 300.0);
    assert!(gateway.metric("heartline_janitor_looks_total").await >= 3.0);
}

async fn gone(client: &mut TestClient, oid: u64) {
    while client.record(oid).await != Value::Null {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn over_the_cap_of_a_user_the_oldest_records_go() {
    let gateway = TestGateway::with(&[("store.records_per_user", "1000")]);
    let mut client = gateway.connect(MID).await;
    let mut other = gateway.connect(43).await;
    let at = client.now() - 10_000;
    other.watch((0..500).map(|oid| beat(oid, at))).await;
    for part in 0..3 {
        client.watch((0..500).map(|index| part * 500 + index).map(|oid| beat(oid, at + oid))).await;
    }
    until("the pruning", async || count(&mut client).await <= 1_000).await;
    assert_eq!(client.position(1_499).await, Some(10_000));
    assert_eq!(client.record(0).await, Value::Null);
    assert_eq!(count(&mut other).await, 500);
}

async fn count(client: &mut TestClient) -> usize {
    let mut list = json!({"limit": 200});
    let mut count = 0;
    loop {
        let result = client.call(json!({ "list": list })).await;
        count += result["records"].as_array().expect("records").len();
        match result.get("cursor") {
            None => return count,
            Some(cursor) => list = json!({"limit": 200, "cursor": cursor}),
        }
    }
}
