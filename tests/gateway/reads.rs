//! `get`: in the order asked, with nulls.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat};

#[tokio::test]
async fn records_come_in_the_order_asked_with_null_for_the_unknown() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(1, at), beat(2, at), beat(1, at).kind(2)]).await;
    let asked = [(1, 2), (1, 9), (2, 1), (1, 1), (9, 1), (1, 2)];
    let items: Vec<Value> = asked.iter().map(|(kind, oid)| json!({"kind": kind, "oid": oid.to_string()})).collect();
    let result = client.call(json!({"get": {"items": items}})).await;
    let records = result["records"].as_array().expect("records");
    let got: Vec<Option<(u64, &str)>> =
        records.iter().map(|record| Some((record["kind"].as_u64()?, record["oid"].as_str()?))).collect();
    let expected = [Some((1, "2")), None, Some((2, "1")), Some((1, "1")), None, Some((1, "2"))];
    assert_eq!(got, expected);
    assert!(records[1].is_null() && records[4].is_null());
}

#[tokio::test]
async fn a_get_of_no_items_returns_no_records() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let result = client.call(json!({"get": {"items": []}})).await;
    assert_eq!(result, json!({"seq": 1, "records": []}));
}

#[tokio::test]
async fn a_get_of_500_items_is_answered() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..250).map(|oid| beat(oid * 2, at).pos(oid))).await;
    let items: Vec<Value> = (0..500).map(|oid| json!({"kind": 1, "oid": oid})).collect();
    let result = client.call(json!({"get": {"items": items}})).await;
    let records = result["records"].as_array().expect("records");
    assert_eq!(records.len(), 500);
    for (oid, record) in records.iter().enumerate() {
        assert_eq!(record["pos"].as_u64(), (oid % 2 == 0).then_some(oid as u64 / 2));
    }
}

#[tokio::test]
async fn a_new_connection_is_told_nothing_it_did_not_ask_for() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    client.close(1000).await;
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.position(100).await, Some(10_000));
    assert!(client.frames_kept().is_empty());
}
