//! `/v1/erase` and `/v1/export` on the control listener: all data of a user.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway, beat, reasons};

async fn erase(gateway: &TestGateway) {
    let answer = gateway.control().post("/v1/erase", &json!({"mid": "42"})).await;
    assert_eq!(answer.status, 204, "{}", answer.text());
}

/// All pages of the export, and how many they were.
async fn export(gateway: &TestGateway, query: &str) -> (Vec<Value>, usize) {
    let (mut records, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = gateway.control().get(&format!("/v1/export?mid=42&cursor={cursor}{query}")).await.json();
        assert_eq!(page["mid"], "42", "{page}");
        records.extend(page["records"].as_array().expect("records").clone());
        pages += 1;
        match page["cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return (records, pages),
        }
    }
}

#[tokio::test]
async fn an_erased_user_has_nothing_left_and_others_have_all() {
    let mut gateway = TestGateway::start();
    let (mut client, mut other) = (gateway.connect(MID).await, gateway.connect(43).await);
    let at = client.now();
    client.watch([beat(100, at), beat(101, at + 1)]).await;
    client.delete(102, at).await;
    other.watch([beat(100, at)]).await;
    erase(&gateway).await;
    for _ in 0..2 {
        let mut client = gateway.connect(MID).await;
        assert!(client.listed(json!({})).await.is_empty());
        assert_eq!(client.position(100).await, None);
        assert_eq!(export(&gateway, "").await.0, [] as [Value; 0]);
        assert_eq!(gateway.connect(43).await.position(100).await, Some(10_000));
        gateway.restart();
    }
}

#[tokio::test]
async fn beats_older_than_an_erasure_are_rejected() {
    let mut gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    erase(&gateway).await;
    let late = [beat(100, at), beat(100, at + 1), beat(200, at)];
    assert!(!reasons(&client.beats(late.clone()).await).is_empty());
    assert!(client.listed(json!({})).await.is_empty());
    gateway.restart();
    let mut client = gateway.connect(MID).await;
    client.beats(late).await;
    assert!(client.listed(json!({})).await.is_empty());
    let at = client.now();
    client.watch([beat(100, at)]).await;
    assert_eq!(client.position(100).await, Some(10_000));
}

#[tokio::test]
async fn every_device_is_told_of_an_erasure() {
    let gateway = TestGateway::start();
    let (mut tv, mut phone) = (gateway.connect(MID).await, gateway.connect(MID).await);
    let at = tv.now();
    tv.watch([beat(100, at)]).await;
    tv.pause_recording(true, at + 1).await;
    erase(&gateway).await;
    for client in [&mut tv, &mut phone] {
        let cleared = client.wait_for("cleared", |frame| frame["push"]["cleared"] == true).await;
        assert!(cleared["push"]["at"].as_u64().expect("a moment") >= at, "{cleared}");
        client.wait_for("resumed", |frame| frame["push"]["recording"]["paused"] == false).await;
        let recording = gateway.http(MID).get("/v1/recording").await.json();
        assert_eq!(recording["paused"], false);
    }
}

#[tokio::test]
async fn an_erasure_may_be_repeated_and_must_name_a_user() {
    let gateway = TestGateway::start();
    erase(&gateway).await;
    erase(&gateway).await;
    for body in [json!({}), json!({"mid": "all"}), json!({"mid": -1})] {
        assert_eq!(gateway.control().post("/v1/erase", &body).await.status, 400, "{body}");
    }
    assert_eq!(gateway.http(MID).post("/v1/erase", &json!({"mid": "42"})).await.status, 404, "the public listener");
}

#[tokio::test]
async fn an_export_has_every_record_once() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..50).map(|oid| beat(oid, at + oid))).await;
    let newest = client.record(49).await;
    let (whole, pages) = export(&gateway, "").await;
    assert_eq!((whole.len(), pages, &whole[49]), (50, 1, &newest));
    for order in ["", "&order=content"] {
        let (paged, pages) = export(&gateway, &format!("&limit=20{order}")).await;
        assert_eq!((&paged, pages), (&whole, 3), "{order}");
    }
    let (paged, pages) = export(&gateway, "&limit=20&order=newest").await;
    assert_eq!((&paged[0], pages), (&newest, 3));
    assert!(paged.into_iter().rev().eq(whole), "the same, newest first");
    assert_eq!(gateway.control().get("/v1/export?mid=7").await.json()["records"], json!([]));
    for bad in ["", "?mid=x", "?mid=42&cursor=x", "?mid=42&limit=0", "?mid=42&order=oldest"] {
        assert_eq!(gateway.control().get(&format!("/v1/export{bad}")).await.status, 400, "{bad}");
    }
    assert_eq!(gateway.http(MID).get("/v1/export?mid=42").await.status, 404, "the public listener");
}

#[tokio::test]
async fn an_export_has_every_record_once_though_some_move_ahead() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..50).map(|oid| beat(oid, at + oid))).await;
    let (mut oids, mut cursor) = (Vec::new(), String::new());
    for page in 1.. {
        let shown = gateway.control().get(&format!("/v1/export?mid=42&limit=10&cursor={cursor}")).await.json();
        assert_eq!(shown["rewards"].is_array(), page == 1, "{shown}");
        let records = shown["records"].as_array().expect("records");
        oids.extend(
            records.iter().map(|record| record["oid"].as_str().expect("an oid").parse::<u64>().expect("a number")),
        );
        let Some(next) = shown["cursor"].as_str() else { break };
        next.clone_into(&mut cursor);
        client.watch([1, 25, 45].map(|oid| beat(oid, at + 100 + page))).await;
    }
    oids.sort_unstable();
    assert_eq!(oids, (0..50).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_cursor_of_an_export_belongs_to_its_order() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..3).map(|oid| beat(oid, at + oid))).await;
    let page = async |query: &str| gateway.control().get(&format!("/v1/export?mid=42&limit=1{query}")).await;
    let cursor = async |query: &str| page(query).await.json()["cursor"].as_str().expect("a cursor").to_owned();
    let (by_content, newest) = (cursor("").await, cursor("&order=newest").await);
    for order in ["", "&order=content"] {
        assert_eq!(page(&format!("&cursor={by_content}{order}")).await.status, 200, "{order}");
        let problem = page(&format!("&cursor={newest}{order}")).await.problem(400, "invalid");
        assert_eq!(problem["detail"], "cursor: is of order=newest, which must be given beside it", "{order}");
    }
    let problem = page(&format!("&cursor={by_content}&order=newest")).await.problem(400, "invalid");
    assert_eq!(problem["detail"], "cursor: must be one given by a page with order=newest");
}

#[tokio::test]
async fn rewards_are_exported_and_erased_too() {
    let rules = r#"[{ id = "at-once", per = "user", watched = "0s", exact = true }]"#;
    let gateway = TestGateway::with(&[("rewards.rules", rules)]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    let first_page = async || gateway.control().get("/v1/export?mid=42").await.json();
    assert_eq!(first_page().await["rewards"][0]["rule"], "at-once");
    erase(&gateway).await;
    assert_eq!(first_page().await["rewards"], json!([]));
    let today = gateway.http(MID).get("/v1/rewards/today").await.json();
    assert_eq!(today["rewards"], json!([]), "{today}");
}
