//! Counters that follow from the stored records, read on the control listener.

use serde_json::{Value, json};

use crate::support::{MID, TestClient, TestGateway, beat, until};

const VIEWERS: &str = r#"{ id = "viewers", key = ["kind", "oid"] }"#;
const FINISHERS: &str = r#"{ id = "finishers", key = ["kind", "oid"], when = { finished = true } }"#;
const IN_PROGRESS: &str = r#"{ id = "in-progress", key = ["mid"], when = { finished = false } }"#;
const WATCHED: &str = r#"{ id = "watched", value = "watched" }"#;

fn derived(counters: &[&str]) -> String {
    format!("[{}]", counters.join(", "))
}

fn gateway() -> TestGateway {
    let counters = derived(&[VIEWERS, FINISHERS, IN_PROGRESS, WATCHED]);
    TestGateway::embedded(&[("counters.derived", &counters), ("reading.finished_at", "0.9")])
}

async fn get(gateway: &TestGateway, path: &str) -> Value {
    gateway.control().get(&format!("/v1/counters/{path}")).await.json()
}

/// Waits while it is being counted.
async fn value(gateway: &TestGateway, path: &str) -> Value {
    let mut value = Value::Null;
    until("the counter is counted", async || {
        value = get(gateway, path).await["value"].clone();
        !value.is_null()
    })
    .await;
    value
}

/// Content 100, which is 10 s long.
async fn watch(client: &mut TestClient, at: u64, pos: u64) {
    client.play(None, [beat(100, at).pos(pos).dur(10_000).watched(pos)]).await;
}

#[tokio::test]
async fn the_numbers_follow_the_records() {
    let mut gateway = gateway();
    assert_eq!(value(&gateway, "viewers?key=1&key=100").await, 0);
    let (mut one, mut other) = (gateway.connect(MID).await, gateway.connect(43).await);
    let at = one.now() - 5_000;
    watch(&mut one, at, 1_000).await;
    watch(&mut other, at, 2_000).await;
    watch(&mut other, at + 1, 9_500).await;
    for _ in 0..2 {
        assert_eq!(value(&gateway, "viewers?key=1&key=100").await, 2);
        assert_eq!(value(&gateway, "finishers?key=1&key=100").await, 1);
        assert_eq!(value(&gateway, "in-progress?key=42").await, 1);
        assert_eq!(value(&gateway, "in-progress?key=43").await, 0);
        assert_eq!(value(&gateway, "watched").await, 10_500);
        gateway.restart();
    }
    let (mut one, mut other) = (gateway.connect(MID).await, gateway.connect(43).await);
    one.delete(100, at + 10).await;
    assert_eq!(value(&gateway, "viewers?key=1&key=100").await, 1);
    other.clear(at + 10).await;
    until("what was cleared is removed", async || value(&gateway, "viewers?key=1&key=100").await == 0).await;
    let keys = json!({"keys": [["1", "100"], ["9", "9"]]});
    let values = gateway.control().post("/v1/counters/finishers/get", &keys).await.json();
    assert_eq!(values, json!({"values": [0, 0]}));
    assert_eq!(get(&gateway, "viewers/top").await, json!({"top": []}));
}

#[tokio::test]
async fn a_definition_that_changes_is_counted_from_what_is_stored() {
    let mut gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 5_000;
    client.play(None, (1..=50).map(|oid| beat(oid, at).kind(1 + (oid % 2) as u16))).await;
    let by_kind = r#"{ id = "viewers", key = ["kind"] }"#;
    gateway.restart_with(&[("counters.derived", &derived(&[by_kind, WATCHED])), ("reading.finished_at", "0.9")]);
    assert_eq!(value(&gateway, "viewers?key=1").await, 25);
    assert_eq!(get(&gateway, "viewers/top?limit=1").await, json!({"top": [{"key": ["1"], "value": 25}]}));
    gateway.control().get("/v1/counters/finishers?key=1&key=1").await.problem(404, "not_found");
    gateway.control().get("/v1/counters/viewers?key=1&key=100").await.problem(400, "invalid");
}

#[tokio::test]
async fn a_recount_finds_no_difference() {
    let gateway = gateway();
    let mut client = gateway.connect(MID).await;
    let at = client.now() - 5_000;
    // Each content twice: an estimate of how many there are then says more.
    for later in 0..2 {
        client.play(None, (1..=50).map(|oid| beat(oid, at + later))).await;
    }
    assert_eq!(value(&gateway, "in-progress?key=42").await, 50);
    for body in [json!({}), json!({"keys": [["1", "7"]]})] {
        let asked = gateway.control().post("/v1/counters/viewers/recount", &body).await;
        assert_eq!(asked.status, 202);
        let asked: Value = serde_json::from_str(asked.text()).expect("JSON");
        let job = asked["job"].as_str().expect("a name").to_owned();
        let mut told = Value::Null;
        until("the recount is done", async || {
            told = gateway.control().get(&format!("/v1/jobs/{job}")).await.json();
            told["state"] != "running"
        })
        .await;
        assert_eq!(told, json!({"state": "done", "done": 50, "of": 50, "differences": []}));
    }
    assert_eq!(gateway.metric("heartline_counter_differences_total").await, 0.0);
    gateway.control().get("/v1/jobs/none").await.problem(404, "not_found");
    gateway.control().post("/v1/counters/none/recount", &json!({})).await.problem(404, "not_found");
    gateway.control().post("/v1/counters/viewers/recount", &json!({"key": []})).await.problem(400, "invalid");
}

#[tokio::test]
async fn requests_change_no_derived_counter() {
    let gateway = gateway();
    let refused = gateway.control().post("/v1/counters/watched", &json!({})).await.problem(405, "method");
    assert_eq!(
        refused["detail"],
        "watched is a derived counter: it follows from the records, and no request changes it"
    );
    gateway.control().delete("/v1/counters/watched").await.problem(405, "method");
}
