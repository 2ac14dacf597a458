//! I9: no frame and no request of one user reads or writes the data of another.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat};

const STRANGER: u64 = 43;

/// A user with two records, and what they look like.
async fn owner(gateway: &TestGateway) -> (TestClient, Value) {
    let mut owner = gateway.connect(MID).await;
    let at = owner.now() - 1_000;
    owner.watch([beat(100, at).pos(50_000), beat(101, at + 1)]).await;
    let records = owner.call(json!({"list": {}})).await["records"].take();
    (owner, records)
}

#[tokio::test]
async fn no_frame_reads_records_of_another_user() {
    let gateway = TestGateway::start();
    let (_owner, _) = owner(&gateway).await;
    let mut stranger = gateway.connect(STRANGER).await;
    assert_eq!(stranger.record(100).await, Value::Null);
    assert_eq!(stranger.listed(json!({})).await, [0; 0]);
    // Naming the owner anywhere changes nothing: the user is the token's.
    let items = json!([{"kind": 1, "oid": "100", "mid": "42"}]);
    let get = json!({"get": {"items": items, "mid": "42"}, "mid": "42"});
    assert_eq!(stranger.call(get).await["records"], json!([null]));
    assert_eq!(stranger.listed(json!({"mid": "42"})).await, [0; 0]);
}

#[tokio::test]
async fn a_cursor_of_another_user_shows_no_records() {
    let gateway = TestGateway::start();
    let (mut owner, _) = owner(&gateway).await;
    let cursor = owner.call(json!({"list": {"limit": 1}})).await["cursor"].take();
    let mut stranger = gateway.connect(STRANGER).await;
    let seq = stranger.send(json!({"list": {"cursor": cursor}})).await;
    let answer = stranger.answer(seq).await;
    let empty = answer["result"]["records"] == json!([]);
    assert!(empty || answer["error"]["code"] == "invalid", "{answer}");
}

#[tokio::test]
async fn a_rejection_never_shows_the_record_of_another_user() {
    let gateway = TestGateway::start();
    let (_owner, records) = owner(&gateway).await;
    let at = records[0]["at"].as_u64().expect("at");
    let mut stranger = gateway.connect(STRANGER).await;
    // Older than the owner's record: superseded, were it judged against that.
    stranger.watch([beat(100, at - 500).pos(1_000)]).await;
    assert_eq!(stranger.position(100).await, Some(1_000));
}

#[tokio::test]
async fn no_frame_writes_records_of_another_user() {
    let gateway = TestGateway::start();
    let (mut owner, records) = owner(&gateway).await;
    let mut stranger = gateway.connect(STRANGER).await;
    let now = stranger.now();
    let intruding = beat(100, now).pos(1).with("mid", "42");
    stranger.watch([intruding]).await;
    stranger.delete(100, now).await;
    stranger.clear(now).await;
    stranger.pause_recording(true, now).await;
    assert_eq!(owner.call(json!({"list": {}})).await["records"], records);
    owner.watch([beat(100, now - 1)]).await;
    assert!(owner.frames_kept().is_empty(), "told nothing of what the stranger does");
}

#[tokio::test]
async fn no_request_reads_or_writes_records_of_another_user() {
    let gateway = TestGateway::start();
    let (mut owner, records) = owner(&gateway).await;
    let http = gateway.http(STRANGER);
    assert_eq!(http.get("/v1/history").await.json()["records"], json!([]));
    http.get("/v1/history?mid=42").await.problem(400, "invalid");
    assert_eq!(http.get("/v1/history/1/100").await.status, 404);
    let items = json!({"items": [{"kind": 1, "oid": "100"}], "mid": "42"});
    assert_eq!(http.post("/v1/history/get", &items).await.json()["records"], json!([null]));

    let connection = owner.connection().to_owned();
    let beats = json!({"items": [beat(100, owner.now()).json()], "mid": "42", "connection": connection});
    http.post("/v1/beats", &beats).await.json();
    for path in ["/v1/history/1/100", "/v1/history"] {
        let path = format!("{path}?connection={connection}");
        assert_eq!(http.delete(&path).await.status, 204, "{path}");
    }
    http.put("/v1/recording", &json!({"paused": true})).await.json();

    assert_eq!(owner.call(json!({"list": {}})).await["records"], records);
    let now = owner.now();
    owner.watch([beat(100, now)]).await;
    assert_eq!(gateway.connect(MID).await.welcome()["recording"], json!({"paused": false}));
}

#[tokio::test]
async fn a_connection_named_by_a_stranger_still_gets_its_pushes() {
    let gateway = TestGateway::start();
    let (mut owner, _) = owner(&gateway).await;
    let mut second = gateway.connect(MID).await;
    let body = json!({"items": [beat(300, owner.now()).json()], "connection": second.connection()});
    gateway.http(STRANGER).post("/v1/beats", &body).await.json();
    let at = owner.now();
    owner.watch([beat(102, at)]).await;
    assert_eq!(second.pushed_record().await["oid"], "102");
}
