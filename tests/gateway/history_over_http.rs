//! Reading and forgetting over HTTP, with the semantics of the socket.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Http, MID, TestClient, TestGateway, beat, reasons, until};

async fn watched(gateway: &TestGateway, count: u64) -> (TestClient, Http, u64) {
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 1_000;
    client.watch((0..count).map(|oid| beat(oid, at - oid).kind((oid % 4) as u16))).await;
    (client, gateway.http(MID), at)
}

fn oids(answer: &Value) -> Vec<&str> {
    let records = answer["records"].as_array().expect("records");
    records.iter().map(|record| record["oid"].as_str().expect("an oid")).collect()
}

#[tokio::test]
async fn the_history_is_the_list_of_the_socket() {
    let gateway = TestGateway::start();
    let (mut client, http, _) = watched(&gateway, 30).await;
    let mut listed = client.call(json!({"list": {}})).await;
    listed.as_object_mut().expect("a result").remove("seq");
    assert_eq!(http.get("/v1/history").await.json(), listed);
}

#[tokio::test]
async fn pages_limits_and_kinds_work_in_the_query() {
    let gateway = TestGateway::start();
    let (_client, http, _) = watched(&gateway, 30).await;
    let first = http.get("/v1/history?limit=3&kinds=1,3").await.json();
    assert_eq!(oids(&first), ["1", "3", "5"]);
    let cursor = first["cursor"].as_str().expect("a cursor");
    let next = http.get(&format!("/v1/history?limit=3&cursor={cursor}")).await.json();
    assert_eq!(oids(&next), ["7", "9", "11"]);
    assert_eq!(oids(&http.get("/v1/history?limit=5000").await.json()).len(), 30);
    for query in ["limit=0", "limit=-1", "limit=x", "kinds=x", "kinds=65536", "cursor=nonsense"] {
        http.get(&format!("/v1/history?{query}")).await.problem(400, "invalid");
    }
    let other_kinds = format!("/v1/history?cursor={cursor}&kinds=2");
    http.get(&other_kinds).await.problem(400, "invalid");
}

#[tokio::test]
async fn several_records_are_read_with_one_body() {
    let gateway = TestGateway::start();
    let (_client, http, _) = watched(&gateway, 4).await;
    let items = json!([{"kind": 3, "oid": "3"}, {"kind": 9, "oid": "9"}, {"kind": 1, "oid": 1}]);
    let answer = http.post("/v1/history/get", &json!({ "items": items })).await.json();
    assert_eq!(answer["records"][0]["oid"], "3");
    assert_eq!(answer["records"][1], Value::Null);
    assert_eq!(answer["records"][2]["oid"], "1");
    let many: Vec<Value> = (0..501).map(|oid| json!({"kind": 1, "oid": oid})).collect();
    http.post("/v1/history/get", &json!({ "items": many })).await.problem(400, "too_many");
    http.post("/v1/history/get", &json!({"items": [{}]})).await.problem(400, "invalid");
}

#[tokio::test]
async fn a_single_record_is_read_by_path_and_an_unknown_one_is_a_404() {
    let gateway = TestGateway::start();
    let (mut client, http, _) = watched(&gateway, 2).await;
    assert_eq!(http.get("/v1/history/1/1").await.json(), client.record(1).await);
    http.get("/v1/history/1/999").await.problem(404, "not_found");
    for path in ["/v1/history/x/1", "/v1/history/1/x", "/v1/history/65536/1", "/v1/history/1/-1"] {
        let status = http.get(path).await.status;
        assert!(status == 400 || status == 404, "{path}: {status}");
    }
}

#[tokio::test]
async fn a_delete_with_an_at_is_the_delete_of_the_socket() {
    let gateway = TestGateway::start();
    let (mut client, http, at) = watched(&gateway, 1).await;
    let delete = async |at: u64| http.delete(&format!("/v1/history/0/0?at={at}")).await;
    assert_eq!(delete(at - 1).await.status, 204);
    assert_eq!(oids(&http.get("/v1/history").await.json()), ["0"], "newer than the delete");
    assert_eq!(delete(at).await.status, 204);
    assert_eq!(http.get("/v1/history/0/0").await.status, 404);
    let rejected = client.beats([beat(0, at).kind(0).session(9)]).await;
    assert_eq!(reasons(&rejected), [(0, "superseded")]);
    client.watch([beat(0, at + 1).kind(0)]).await;
    delete(at + 600_000).await.problem(400, "invalid");
    http.delete("/v1/history/0/0?at=x").await.problem(400, "invalid");
}

#[tokio::test]
async fn deleting_a_content_without_a_record_succeeds() {
    let gateway = TestGateway::start();
    let answer = gateway.http(MID).delete("/v1/history/1/999").await;
    assert_eq!((answer.status, answer.text()), (204, ""));
}

#[tokio::test]
async fn without_an_at_a_delete_takes_even_what_is_ahead() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let ahead = client.now() + 4_000;
    client.watch([beat(100, ahead), beat(101, ahead), beat(102, ahead - 1)]).await;
    let http = gateway.http(MID);
    assert_eq!(http.delete("/v1/history/1/100").await.status, 204);
    assert_eq!(client.record(100).await, Value::Null);
    let rejected = client.beats([beat(100, ahead)]).await;
    assert_eq!(reasons(&rejected), [(0, "superseded")]);
    assert_eq!(http.delete("/v1/history").await.status, 204);
    assert_eq!(client.listed(json!({})).await, [0; 0]);
}

/// Its commit may come later than that of a beat that came after it: another thread took that in.
#[tokio::test]
async fn without_an_at_a_delete_takes_nothing_that_was_played_after_it() {
    let gateway = TestGateway::with(&[("server.threads", "2"), ("store.group_interval", "500ms")]);
    let mut clients = join_all((0..8).map(|_| gateway.connect(MID))).await;
    // What comes now waits for the next group.
    let at = clients[0].now();
    clients[0].watch([beat(100, at)]).await;
    let delete = |oid| {
        let http = gateway.http(MID);
        tokio::spawn(async move { http.delete(&format!("/v1/history/1/{oid}")).await.status })
    };
    let deletes: Vec<JoinHandle<u16>> = (0..8).map(delete).collect();
    let taken_in = async || {
        let answered = deletes.iter().filter(|delete| delete.is_finished()).count();
        answered as f64 + gateway.metric("heartline_uncommitted_slots").await >= 8.0
    };
    until("all deletes", taken_in).await;
    // By the clock of the gateway, which is in the welcome.
    let at = gateway.connect(MID).await.now() + 1;
    join_all((0..).zip(&mut clients).map(async |(oid, client)| client.watch([beat(oid, at)]).await)).await;
    assert!(join_all(deletes).await.into_iter().all(|status| status.expect("an answer") == 204));
    let mut left = clients[0].listed(json!({})).await;
    left.sort_unstable();
    assert_eq!(left, [0, 1, 2, 3, 4, 5, 6, 7, 100]);
}

#[tokio::test]
async fn a_clear_with_an_at_spares_what_is_newer() {
    let gateway = TestGateway::start();
    let (mut client, http, at) = watched(&gateway, 3).await;
    assert_eq!(http.delete(&format!("/v1/history?at={}", at - 1)).await.status, 204);
    assert_eq!(client.listed(json!({})).await, [0]);
    http.delete(&format!("/v1/history?at={}", at + 600_000)).await.problem(400, "invalid");
}

#[tokio::test]
async fn recording_is_read_and_switched() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    let http = gateway.http(MID);
    assert_eq!(http.get("/v1/recording").await.json(), json!({"paused": false}));
    let now = client.now();
    let answer = http.put("/v1/recording", &json!({"paused": true, "at": now - 1_000})).await;
    assert_eq!(answer.json(), json!({"paused": true}));
    assert_eq!(http.get("/v1/recording").await.json(), json!({"paused": true}));
    let rejected = client.beats([beat(100, now)]).await;
    assert_eq!(reasons(&rejected), [(0, "not_recording")]);
    assert_eq!(http.put("/v1/recording", &json!({"paused": false})).await.json(), json!({"paused": false}));

    // An old switch does not change the state, and is answered with the state after it.
    let old = json!({"paused": true, "at": now - 500});
    assert_eq!(http.put("/v1/recording", &old).await.json(), json!({"paused": false}));
    for bad in [json!({}), json!({"paused": 1}), json!({"paused": true, "at": now + 600_000})] {
        http.put("/v1/recording", &bad).await.problem(400, "invalid");
    }
}
