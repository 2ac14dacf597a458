//! `list`: newest first, page by page, steady while beats arrive.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat};

/// All pages of `limit`, as (kind, oid); `between` runs after each page.
async fn pages(
    client: &mut TestClient,
    first: Value,
    limit: u64,
    mut between: impl AsyncFnMut(&mut TestClient),
) -> Vec<(u64, u64)> {
    let mut list = first;
    let mut seen = Vec::new();
    loop {
        list["limit"] = json!(limit);
        let result = client.call(json!({ "list": list })).await;
        let records = result["records"].as_array().expect("records");
        assert!(records.len() as u64 <= limit);
        for record in records {
            let oid = record["oid"].as_str().expect("an oid").parse().expect("digits");
            seen.push((record["kind"].as_u64().expect("a kind"), oid));
        }
        match result.get("cursor") {
            None => return seen,
            Some(cursor) => {
                assert!(cursor.as_str().expect("a string").len() <= 256);
                list = json!({ "cursor": cursor });
            }
        }
        between(client).await;
    }
}

async fn quiet(_: &mut TestClient) {}

#[tokio::test]
async fn the_newest_comes_first() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch([beat(1, at + 2), beat(2, at + 3), beat(3, at + 1)]).await;
    assert_eq!(client.listed(json!({})).await, [2, 1, 3]);
    client.watch([beat(3, at + 4)]).await;
    assert_eq!(client.listed(json!({})).await, [3, 2, 1]);
}

#[tokio::test]
async fn an_empty_history_is_an_empty_list() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    assert_eq!(client.call(json!({"list": {}})).await, json!({"seq": 1, "records": []}));
}

#[tokio::test]
async fn a_page_is_20_unless_asked_and_never_more_than_200() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..201).map(|oid| beat(oid, at - oid))).await;
    let sizes = [(json!({}), 20), (json!({"limit": 1}), 1), (json!({"limit": 200}), 200)];
    for (list, size) in sizes {
        assert_eq!(client.listed(list).await, (0..size).collect::<Vec<u64>>());
    }
    for above in [json!(201), json!(1_000_000), json!(u32::MAX)] {
        assert_eq!(client.listed(json!({"limit": above})).await.len(), 200);
    }
}

#[tokio::test]
async fn the_last_page_has_no_cursor() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..4).map(|oid| beat(oid, at - oid))).await;
    for (limit, more) in [(3, true), (4, false), (5, false)] {
        let result = client.call(json!({"list": {"limit": limit}})).await;
        assert_eq!(result.get("cursor").is_some(), more, "limit {limit}");
    }
}

#[tokio::test]
async fn pages_hold_each_record_once_also_where_times_are_equal() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..30).map(|oid| beat(oid, at - oid / 10).kind((oid % 2) as u16))).await;
    let mut seen = pages(&mut client, json!({}), 4, quiet).await;
    let times: Vec<u64> = seen.iter().map(|(_, oid)| oid / 10).collect();
    assert!(times.is_sorted(), "{seen:?}");
    seen.sort_unstable_by_key(|(_, oid)| *oid);
    assert_eq!(seen, (0..30).map(|oid| (oid % 2, oid)).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_list_neither_repeats_nor_skips_unmoved_records_while_beats_arrive() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let mut player = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    client.watch((0..60).map(|oid| beat(oid, at - oid))).await;

    let mut step = 0;
    let seen = pages(&mut client, json!({}), 7, async |_: &mut TestClient| {
        // Moves one record that was listed, one that was not, and adds one.
        step += 1;
        let (listed, coming, new) = (step * 2, 59 - step * 2, 1_000 + step);
        player.watch([listed, coming, new].map(|oid| beat(oid, at + 100 * step))).await;
    })
    .await;

    let mut times: HashMap<u64, usize> = HashMap::new();
    for (_, oid) in &seen {
        *times.entry(*oid).or_default() += 1;
    }
    let moved: Vec<u64> = (1..=step).flat_map(|step| [step * 2, 59 - step * 2]).collect();
    for oid in (0..60).filter(|oid| !moved.contains(oid)) {
        assert_eq!(times.get(&oid), Some(&1), "oid {oid} in {seen:?}");
    }
    assert!(seen.iter().all(|(_, oid)| *oid < 1_000), "what is new is before the first page: {seen:?}");
}

#[tokio::test]
async fn a_record_deleted_between_pages_skips_no_other() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 10_000;
    client.watch((0..20).map(|oid| beat(oid, at - oid))).await;
    let mut page = 0;
    let seen = pages(&mut client, json!({}), 5, async |client: &mut TestClient| {
        // The last of the page just read: the cursor stands on it.
        page += 5;
        client.delete(page - 1, at).await;
    })
    .await;
    assert_eq!(seen, (0..20).map(|oid| (1, oid)).collect::<Vec<_>>());
}

#[tokio::test]
async fn kinds_choose_and_the_cursor_carries_them() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..40).map(|oid| beat(oid, at - oid).kind((oid % 4) as u16))).await;
    let seen = pages(&mut client, json!({"kinds": [1, 3, 77]}), 3, quiet).await;
    assert_eq!(seen, (0..40).filter(|oid| oid % 2 == 1).map(|oid| (oid % 4, oid)).collect::<Vec<_>>());
    assert_eq!(client.listed(json!({"kinds": [], "limit": 100})).await.len(), 40);
    assert_eq!(client.listed(json!({"kinds": [77]})).await, [0; 0]);
}

#[tokio::test]
async fn other_kinds_beside_a_cursor_are_invalid() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..10).map(|oid| beat(oid, at - oid))).await;
    let result = client.call(json!({"list": {"limit": 2, "kinds": [1]}})).await;
    let cursor = &result["cursor"];
    let error = client.refused(json!({"list": {"cursor": cursor, "kinds": [1, 2]}})).await;
    assert_eq!(error["code"], "invalid");
    assert!(error["message"].as_str().expect("a message").starts_with("list.kinds:"), "{error}");
    assert_eq!(client.listed(json!({"cursor": cursor, "kinds": [1], "limit": 2})).await, [2, 3]);
}

#[tokio::test]
async fn a_cursor_that_was_changed_is_invalid_or_harmless() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch((0..10).map(|oid| beat(oid, at - oid))).await;
    let result = client.call(json!({"list": {"limit": 2}})).await;
    let cursor = result["cursor"].as_str().expect("a cursor");
    for length in 0..cursor.len() {
        let seq = client.send(json!({"list": {"cursor": &cursor[..length]}})).await;
        let answer = client.answer(seq).await;
        let fine = answer["result"].is_object() || answer["error"]["code"] == "invalid";
        assert!(fine, "{answer}");
        client.still_serves().await;
        if client.last_seq() > 80 {
            client = gateway.connect(MID).await;
        }
    }
}
