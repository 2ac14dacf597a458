//! `/v1/counters` on the control listener: numbers that requests change.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Answer, MID, TestGateway};

const LIKES: &str = r#"{ id = "likes", key = ["kind", "oid"], min = 0, max = 1000, thresholds = [5, 10] }"#;
const STOCK: &str = r#"{ id = "stock", key = ["item"], initial = 7, min = -2 }"#;
const VISITS: &str = r#"{ id = "visits" }"#;

fn direct(counters: &[&str]) -> String {
    format!("[{}]", counters.join(", "))
}

fn gateway() -> TestGateway {
    TestGateway::with(&[("counters.direct", &direct(&[LIKES, STOCK, VISITS]))])
}

async fn add(gateway: &TestGateway, counter: &str, body: &Value) -> Answer {
    gateway.control().post(&format!("/v1/counters/{counter}"), body).await
}

async fn like(gateway: &TestGateway, oid: &str, by: i64) -> Value {
    add(gateway, "likes", &json!({"key": ["1", oid], "by": by})).await.json()["value"].clone()
}

async fn get(gateway: &TestGateway, path: &str) -> Value {
    gateway.control().get(&format!("/v1/counters/{path}")).await.json()
}

#[tokio::test]
async fn a_counter_has_what_was_added_to_its_keys() {
    let mut gateway = gateway();
    assert_eq!(get(&gateway, "likes?key=1&key=100").await, json!({"value": 0}));
    assert_eq!(get(&gateway, "stock?key=a%20b").await, json!({"value": 7}), "the initial value");
    assert_eq!(add(&gateway, "likes", &json!({"key": ["1", "100"]})).await.json(), json!({"value": 1}));
    assert_eq!(like(&gateway, "100", 3).await, 4);
    assert_eq!(like(&gateway, "100", -1).await, 3);
    assert_eq!(add(&gateway, "stock", &json!({"key": ["a b"], "by": -9})).await.json(), json!({"value": -2}));
    assert_eq!(add(&gateway, "visits", &json!({})).await.json(), json!({"value": 1}));
    assert_eq!(add(&gateway, "visits", &json!({"key": [], "by": null, "id": null})).await.json(), json!({"value": 2}));
    gateway.restart();
    assert_eq!(get(&gateway, "likes?key=1&key=100").await, json!({"value": 3}));
    assert_eq!(get(&gateway, "visits").await, json!({"value": 2}));
    let keys = json!({"keys": [["c"], ["a b"], ["a b"]]});
    let values = gateway.control().post("/v1/counters/stock/get", &keys).await.json();
    assert_eq!(values, json!({"values": [7, -2, -2]}), "in the order asked");
    let deleted = gateway.control().delete("/v1/counters/stock?key=a%20b").await;
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    assert_eq!(get(&gateway, "stock?key=a%20b").await, json!({"value": 7}));
    assert_eq!(gateway.control().delete("/v1/counters/stock?key=never").await.status, 204, "nothing was known");
    assert_eq!(gateway.metric("heartline_counter_failures_total{operation=\"add\"}").await, 0.0);
}

#[tokio::test]
async fn a_step_beyond_a_bound_is_refused_with_the_value() {
    let gateway = gateway();
    like(&gateway, "100", 4).await;
    for (by, word) in [(-5, "bounds"), (997, "bounds")] {
        let refused = add(&gateway, "likes", &json!({"key": ["1", "100"], "by": by})).await;
        let problem = refused.problem(409, word);
        assert_eq!(problem["value"], 4, "{problem}");
        assert_eq!(problem["detail"], "by: the value is 4 and must stay from 0 to 1000");
    }
    assert_eq!(like(&gateway, "100", 996).await, 1_000);
    assert_eq!(gateway.metric("heartline_counter_additions_total{outcome=\"bounds\"}").await, 2.0);
    assert_eq!(gateway.metric("heartline_counter_additions_total{outcome=\"done\"}").await, 2.0);
}

#[tokio::test]
async fn a_request_with_an_id_is_done_once() {
    let mut gateway = gateway();
    let request = json!({"key": ["1", "100"], "by": 5, "id": "order 1:ä"});
    assert_eq!(add(&gateway, "likes", &request).await.json(), json!({"value": 5}));
    assert_eq!(like(&gateway, "100", 1).await, 6);
    assert_eq!(add(&gateway, "likes", &request).await.json(), json!({"value": 5}), "the same answer again");
    gateway.restart();
    assert_eq!(add(&gateway, "likes", &request).await.json(), json!({"value": 5}));
    for other in [json!({"key": ["1", "100"], "by": 6}), json!({"key": ["1", "101"], "by": 5})] {
        let mut other = other;
        other["id"] = request["id"].clone();
        add(&gateway, "likes", &other).await.problem(422, "id_reused");
    }
    let of_other = json!({"key": ["a"], "by": 1, "id": "order 1:ä"});
    assert_eq!(add(&gateway, "stock", &of_other).await.json(), json!({"value": 8}), "ids are of one counter");
    let refused = json!({"key": ["1", "100"], "by": -7, "id": "b"});
    add(&gateway, "likes", &refused).await.problem(409, "bounds");
    assert_eq!(like(&gateway, "100", 1).await, 7);
    assert_eq!(add(&gateway, "likes", &refused).await.json(), json!({"value": 0}), "a refusal is not remembered");
    assert_eq!(gateway.metric("heartline_counter_additions_total{outcome=\"repeated\"}").await, 1.0);
    assert_eq!(gateway.metric("heartline_counter_additions_total{outcome=\"id_reused\"}").await, 2.0);
}

#[tokio::test]
async fn each_threshold_that_is_crossed_is_one_event() {
    let mut gateway = gateway();
    let once = json!({"key": ["1", "a b"], "by": 12, "id": "x"});
    for _ in 0..2 {
        assert_eq!(add(&gateway, "likes", &once).await.json(), json!({"value": 12}));
    }
    let events = gateway.events(2).await;
    let event = |threshold: i64, value: i64, n: u32, time: &Value, source: &Value| {
        json!({
            "specversion": "1.0",
            "id": format!("likes:1:a%20b:{threshold}:{n}"),
            "type": "dev.heartline.counter.v1",
            "source": source,
            "subject": "likes:1:a%20b",
            "partitionkey": "likes:1:a%20b",
            "time": time,
            "datacontenttype": "application/json",
            "data": {"counter": "likes", "key": ["1", "a b"], "value": value, "threshold": threshold},
        })
    };
    let (time, source) = (&events[0]["time"], &events[0]["source"]);
    assert_eq!(events, [event(5, 12, 1, time, source), event(10, 12, 1, time, source)], "ascending");
    assert!(time.as_str().is_some_and(|time| time.parse::<jiff::Timestamp>().is_ok()), "{time}");
    assert_eq!(like(&gateway, "a b", -8).await, 4);
    assert_eq!(like(&gateway, "a b", 4).await, 8);
    let again = gateway.events(3).await;
    assert_eq!(again[2], event(5, 8, 2, &again[2]["time"], source), "each crossing has an id of its own");
    assert_eq!(gateway.metric("heartline_counter_crossings_total").await, 3.0);
    let changed = LIKES.replace("[5, 10]", "[7, 9]");
    gateway.restart_with(&[("counters.direct", &direct(&[&changed]))]);
    assert_eq!(like(&gateway, "a b", 1).await, 9);
    let expected = ["10:1", "5:1", "5:2", "9:1"].map(|end| format!("likes:1:a%20b:{end}"));
    assert_eq!(gateway.event_ids(4).await, BTreeSet::from(expected), "7 had been passed");
}

#[tokio::test]
async fn the_largest_values_are_told_with_their_keys() {
    let gateway = gateway();
    for (kind, oid, by) in [("1", "100", 3), ("1", "7", 9), ("10", "1", 3), ("2", "a!b", 3), ("2", "zero", 1)] {
        add(&gateway, "likes", &json!({"key": [kind, oid], "by": by})).await.json();
    }
    add(&gateway, "likes", &json!({"key": ["2", "zero"], "by": -1})).await.json();
    let of = |kind: &str, oid: &str, value: i64| json!({"key": [kind, oid], "value": value});
    let all = [of("1", "7", 9), of("1", "100", 3), of("10", "1", 3), of("2", "a!b", 3)];
    assert_eq!(get(&gateway, "likes/top").await, json!({"top": all}));
    assert_eq!(get(&gateway, "likes/top?limit=2").await, json!({"top": all[..2]}));
    assert_eq!(get(&gateway, "likes/top?key=1").await, json!({"top": all[..2]}), "kinds that begin alike are others");
    assert_eq!(get(&gateway, "likes/top?key=2&key=a%21b&limit=5000").await, json!({"top": all[3..]}));
    assert_eq!(get(&gateway, "visits/top").await, json!({"top": []}));
    for wrong in ["limit=0", "limit=x", "by=now", "key=1&key=2&key=3", "key="] {
        gateway.control().get(&format!("/v1/counters/likes/top?{wrong}")).await.problem(400, "invalid");
    }
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_and_changes_nothing() {
    let gateway = gateway();
    for body in [
        json!({}),
        json!({"key": ["1"]}),
        json!({"key": ["1", "2", "3"]}),
        json!({"key": ["1", ""]}),
        json!({"key": ["1", "x".repeat(129)]}),
        json!({"key": ["1", 100]}),
        json!({"key": ["1", "100"], "by": 0}),
        json!({"key": ["1", "100"], "by": 1.5}),
        json!({"key": ["1", "100"], "by": 9_007_199_254_740_992_i64}),
        json!({"key": ["1", "100"], "id": ""}),
        json!({"key": ["1", "100"], "id": "x".repeat(65)}),
        json!({"key": ["1", "100"], "amount": 1}),
        json!([]),
    ] {
        add(&gateway, "likes", &body).await.problem(400, "invalid");
    }
    let control = gateway.control();
    control.post("/v1/counters/likes?key=1", &json!({"key": ["1", "100"]})).await.problem(400, "invalid");
    for query in ["", "?key=1", "?key=1&key=2&key=3", "?key=1&key=", "?key=1&key=2&by=3"] {
        control.get(&format!("/v1/counters/likes{query}")).await.problem(400, "invalid");
        control.delete(&format!("/v1/counters/likes{query}")).await.problem(400, "invalid");
    }
    let keys = |count: usize| json!({"keys": vec![json!(["1", "x".repeat(128)]); count]});
    let most = control.post("/v1/counters/likes/get", &keys(500)).await.json();
    assert_eq!(most["values"].as_array().map(Vec::len), Some(500));
    control.post("/v1/counters/likes/get", &keys(501)).await.problem(400, "too_many");
    control.post("/v1/counters/likes/get", &json!({"keys": [["1"]]})).await.problem(400, "invalid");
    assert_eq!(get(&gateway, "likes/top").await, json!({"top": []}));
    for unknown in ["/v1/counters/views", "/v1/counters/a%20b", "/v1/counters/views/top"] {
        control.get(unknown).await.problem(404, "not_found");
    }
    control.post("/v1/counters/views", &json!({})).await.problem(404, "not_found");
    control.put("/v1/counters/likes", &json!({})).await.problem(405, "method");
}

#[tokio::test]
async fn only_the_control_listener_has_counters() {
    let gateway = gateway();
    gateway.http(MID).get("/v1/counters/visits").await.problem(404, "not_found");
    gateway.admin().get("/v1/counters/visits").await.problem(404, "not_found");
    let none = TestGateway::start();
    none.control().get("/v1/counters/visits").await.problem(404, "not_found");
    none.control().post("/v1/counters/visits", &json!({})).await.problem(404, "not_found");
}

#[tokio::test]
async fn steps_of_many_clients_are_all_counted() {
    const CLIENTS: usize = 8;
    const EACH: usize = 25;
    let gateway = gateway();
    let client = |number: usize| {
        let control = gateway.control();
        async move {
            for step in 0..EACH {
                let body = json!({"key": ["1", "100"], "id": format!("{}-{step}", number / 2)});
                control.post("/v1/counters/likes", &body).await.json();
            }
        }
    };
    futures_util::future::join_all((0..CLIENTS).map(client)).await;
    let all = CLIENTS * EACH / 2;
    assert_eq!(get(&gateway, "likes?key=1&key=100").await, json!({"value": all}), "two clients send each request");
    let events = gateway.events(2).await;
    let ids: Vec<_> = events.iter().map(|event| event["id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["likes:1:100:5:1", "likes:1:100:10:1"]);
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn gateways_on_one_redis_share_their_counters() {
    let one = TestGateway::on_redis(&[("counters.direct", &direct(&[LIKES]))]);
    let other = one.neighbour();
    assert_eq!(like(&one, "100", 4).await, 4);
    assert_eq!(like(&other, "100", 3).await, 7);
    let request = json!({"key": ["1", "100"], "by": 1, "id": "x"});
    assert_eq!(add(&one, "likes", &request).await.json(), json!({"value": 8}));
    assert_eq!(add(&other, "likes", &request).await.json(), json!({"value": 8}));
    assert_eq!(get(&one, "likes/top").await, json!({"top": [{"key": ["1", "100"], "value": 8}]}));
    // The gateway whose step it was publishes.
    assert_eq!(other.event_ids(1).await, BTreeSet::from(["likes:1:100:5:1".to_owned()]));
    assert_eq!(one.event_log().await, Vec::<Value>::new());
}
