//! Fields that cannot be decoded: each is answered with its own path, and the connections stay open.

use serde_json::{Value, json};

use crate::support::{Beat, MID, TestClient, TestGateway, beat, beats};

/// The frame is refused as invalid, with `path` first in the message.
async fn invalid_at(client: &mut TestClient, path: &str, frame: Value) {
    let error = client.refused(frame.clone()).await;
    let message = error["message"].as_str().expect("a message");
    let found = message.split(": ").next().expect("a path");
    assert_eq!((error["code"].as_str(), found), (Some("invalid"), path), "{frame} → {error}");
    assert_eq!(error["retry"], json!(false));
}

/// `rows` are tried on one connection while another of another user looks on.
async fn all_invalid(rows: Vec<(&str, Value)>) {
    let gateway = TestGateway::start();
    let mut bystander = gateway.connect(43).await;
    let mut client = gateway.connect(MID).await;
    for (path, frame) in rows {
        invalid_at(&mut client, path, frame).await;
        client.still_serves().await;
        if client.last_seq() % 80 == 0 {
            // Stays below the rate limit.
            client = gateway.connect(MID).await;
        }
    }
    assert_eq!(client.listed(json!({})).await, [0; 0], "nothing was applied");
    bystander.still_serves().await;
    assert!(bystander.frames_kept().is_empty());
}

fn spoiled(field: &str, value: Value) -> Value {
    beats([beat(100, 1).with(field, value)])
}

#[tokio::test]
async fn every_required_field_of_a_beat_is_missed_by_name() {
    let rows = ["kind", "oid", "pos", "state", "session", "at"];
    let path = |field| format!("beats.items[0].{field}");
    let paths: Vec<String> = rows.iter().map(path).collect();
    let frame = |field: &str| beats([Beat::without(beat(100, 1), field)]);
    all_invalid(paths.iter().zip(rows).map(|(path, field)| (path.as_str(), frame(field))).collect()).await;
}

#[tokio::test]
async fn numbers_of_a_beat_are_integers_in_range() {
    let wrong = [json!(-1), json!(1.5), json!("5"), json!(true), json!([1]), json!({}), json!(1e300)];
    let mut rows = Vec::new();
    for (field, path) in [
        ("kind", "beats.items[0].kind"),
        ("pos", "beats.items[0].pos"),
        ("dur", "beats.items[0].dur"),
        ("watched", "beats.items[0].watched"),
        ("at", "beats.items[0].at"),
    ] {
        rows.extend(wrong.iter().map(|value| (path, spoiled(field, value.clone()))));
    }
    rows.push(("beats.items[0].kind", spoiled("kind", json!(65_536))));
    all_invalid(rows).await;
}

#[tokio::test]
async fn required_numbers_are_not_null() {
    all_invalid(vec![
        ("beats.items[0].pos", spoiled("pos", Value::Null)),
        ("beats.items[0].at", spoiled("at", Value::Null)),
        ("beats.items[0].kind", spoiled("kind", Value::Null)),
        ("beats.items[0].oid", spoiled("oid", Value::Null)),
        ("beats.items[0].state", spoiled("state", Value::Null)),
    ])
    .await;
}

#[tokio::test]
async fn ids_are_digits_only_or_small_numbers() {
    let wrong = [
        json!(""),
        json!("+1"),
        json!("-1"),
        json!(" 1"),
        json!("1 "),
        json!("1.0"),
        json!("1e3"),
        json!("0x1"),
        json!("١٢"),
        json!("18446744073709551616"),
        json!(9_007_199_254_740_992_u64),
        json!(-1),
        json!(1.5),
        json!(true),
        json!(["1"]),
    ];
    let mut rows = Vec::new();
    for value in wrong {
        rows.push(("beats.items[0].oid", spoiled("oid", value.clone())));
        rows.push(("beats.items[0].session", spoiled("session", value.clone())));
        rows.push(("get.items[0].oid", json!({"get": {"items": [{"kind": 1, "oid": value}]}})));
    }
    all_invalid(rows).await;
}

#[tokio::test]
async fn states_are_four_words() {
    let wrong = ["", "Playing", "playing ", "stopped", "buffering"];
    let mut rows: Vec<_> = wrong.iter().map(|word| ("beats.items[0].state", spoiled("state", json!(word)))).collect();
    rows.push(("beats.items[0].state", spoiled("state", json!(1))));
    all_invalid(rows).await;
}

#[tokio::test]
async fn a_rate_is_a_number() {
    let wrong = [json!("1"), json!(true), json!([1.0])];
    all_invalid(wrong.into_iter().map(|value| ("beats.items[0].rate", spoiled("rate", value))).collect()).await;
}

#[tokio::test]
async fn the_path_counts_the_items() {
    let at = 1;
    let third = beats([beat(100, at), beat(101, at), beat(102, at).with("pos", -1)]);
    let items = json!([{"kind": 1, "oid": "1"}, {"kind": 1, "oid": "x"}]);
    all_invalid(vec![
        ("beats.items[2].pos", third),
        ("get.items[1].oid", json!({"get": {"items": items}})),
        ("delete.items[1].oid", json!({"delete": {"items": items, "at": 1}})),
        ("list.kinds[1]", json!({"list": {"kinds": [1, "2"]}})),
    ])
    .await;
}

#[tokio::test]
async fn items_are_lists_of_objects() {
    all_invalid(vec![
        ("beats.items", json!({"beats": {}})),
        ("beats.items", json!({"beats": {"items": {}}})),
        ("beats.items", json!({"beats": {"items": 5}})),
        ("beats.items[0]", json!({"beats": {"items": [5]}})),
        ("beats.items[0]", json!({"beats": {"items": [null]}})),
        ("get.items", json!({"get": {}})),
        ("get.items", json!({"get": {"items": "all"}})),
        ("get.items[0]", json!({"get": {"items": ["100"]}})),
        ("get.items[0].kind", json!({"get": {"items": [{"oid": "100"}]}})),
        ("get.items[0].oid", json!({"get": {"items": [{"kind": 1}]}})),
        ("get.items[0].kind", json!({"get": {"items": [{"kind": 65_536, "oid": "1"}]}})),
        ("delete.items", json!({"delete": {"at": 1}})),
        ("delete.items[0].oid", json!({"delete": {"items": [{"kind": 1}], "at": 1}})),
    ])
    .await;
}

#[tokio::test]
async fn an_operation_is_an_object() {
    let names = ["hello", "beats", "get", "list", "delete", "clear", "recording", "token"];
    let wrong = [json!(5), json!("x"), json!([])];
    let rows = names.iter().flat_map(|name| wrong.iter().map(|value| (*name, json!({*name: value}))));
    all_invalid(rows.collect()).await;
}

#[tokio::test]
async fn forgetting_needs_an_at() {
    let items = json!([{"kind": 1, "oid": "100"}]);
    all_invalid(vec![
        ("delete.at", json!({"delete": {"items": items}})),
        ("delete.at", json!({"delete": {"items": items, "at": -1}})),
        ("delete.at", json!({"delete": {"items": items, "at": "1"}})),
        ("clear.at", json!({"clear": {}})),
        ("clear.at", json!({"clear": {"at": 1.5}})),
        ("recording.at", json!({"recording": {"paused": true}})),
        ("recording.at", json!({"recording": {"paused": true, "at": -5}})),
        ("recording.paused", json!({"recording": {"at": 1}})),
        ("recording.paused", json!({"recording": {"paused": "yes", "at": 1}})),
        ("recording.paused", json!({"recording": {"paused": 1, "at": 1}})),
    ])
    .await;
}

#[tokio::test]
async fn lists_take_sensible_limits_kinds_and_cursors() {
    let too_many: Vec<u16> = (0..33).collect();
    all_invalid(vec![
        ("list.limit", json!({"list": {"limit": 0}})),
        ("list.limit", json!({"list": {"limit": -1}})),
        ("list.limit", json!({"list": {"limit": 1.5}})),
        ("list.limit", json!({"list": {"limit": "20"}})),
        ("list.kinds", json!({"list": {"kinds": 1}})),
        ("list.kinds", json!({"list": {"kinds": too_many}})),
        ("list.kinds[0]", json!({"list": {"kinds": [65_536]}})),
        ("list.kinds[0]", json!({"list": {"kinds": [-1]}})),
        ("list.finished", json!({"list": {"finished": 1}})),
        ("list.finished", json!({"list": {"finished": "true"}})),
        ("list.cursor", json!({"list": {"cursor": 5}})),
        ("list.cursor", json!({"list": {"cursor": "nonsense"}})),
        ("list.cursor", json!({"list": {"cursor": "A".repeat(257)}})),
    ])
    .await;
}

#[tokio::test]
async fn texts_keep_their_lengths_in_bytes() {
    all_invalid(vec![
        ("hello.device", json!({"hello": {"device": "d".repeat(65)}})),
        ("hello.device", json!({"hello": {"device": "€".repeat(22)}})),
        ("hello.device", json!({"hello": {"device": 5}})),
        ("hello.client", json!({"hello": {"client": "c".repeat(65)}})),
        ("hello.client", json!({"hello": {"client": []}})),
        ("hello.ack_delay", json!({"hello": {"ack_delay": -1}})),
        ("hello.ack_delay", json!({"hello": {"ack_delay": "0"}})),
        ("hello.token", json!({"hello": {"token": "t".repeat(4_097)}})),
        ("token.token", json!({"token": {}})),
        ("token.token", json!({"token": {"token": 5}})),
        ("token.token", json!({"token": {"token": "t".repeat(4_097)}})),
    ])
    .await;
}
