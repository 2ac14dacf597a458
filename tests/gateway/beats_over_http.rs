//! `POST /v1/beats`: the page-hide flush, answered after the commit, with the rules of the socket.

use serde_json::{Value, json};

use crate::support::{Beat, Http, MID, TestGateway, Token, beat, items, reasons};

async fn now(http: &Http) -> u64 {
    http.post("/v1/beats", &items([])).await.json()["now"].as_u64().expect("now")
}

async fn post(http: &Http, beats: impl IntoIterator<Item = Beat>) -> Vec<Value> {
    let answer = http.post("/v1/beats", &items(beats)).await.json();
    answer["rejected"].as_array().expect("rejected").clone()
}

#[tokio::test]
async fn beats_are_stored_when_they_are_answered() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let at = now(&http).await;
    let answer = http.post("/v1/beats", &items([beat(100, at).pos(73_200)])).await.json();
    assert_eq!(answer["rejected"], json!([]));
    assert!(answer["now"].as_u64().expect("now") >= at);
    assert_eq!(answer["today"].as_str().expect("today").len(), 10);
    assert_eq!(gateway.connect(MID).await.position(100).await, Some(73_200));
}

#[tokio::test]
async fn a_new_user_and_a_malformed_flag_are_accepted() {
    let gateway = TestGateway::start();
    let http = gateway.http(7);
    let mut body = items([beat(100, now(&http).await)]);
    body["flag"] = json!("not a day");
    assert_eq!(http.post("/v1/beats", &body).await.json()["rejected"], json!([]));
}

#[tokio::test]
async fn the_body_may_name_the_device() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let mut body = items([beat(100, now(&http).await)]);
    body["device"] = json!("phone-7");
    http.post("/v1/beats", &body).await.json();
    assert_eq!(http.get("/v1/history/1/100").await.json()["device"], "phone-7");
}

#[tokio::test]
async fn every_rejection_has_its_reason_and_index_and_no_seq() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let at = now(&http).await;
    post(&http, [beat(100, at)]).await;
    let pause = json!({"paused": true, "at": at - 60_000});
    http.put("/v1/recording", &pause).await.json();
    http.put("/v1/recording", &json!({"paused": false, "at": at - 30_000})).await.json();
    let rejected = post(
        &http,
        [
            beat(101, at),
            beat(100, at).with("rate", 17),
            beat(102, at + 60_000),
            beat(103, 1),
            beat(104, at).state("paused").watched(0),
            beat(105, at - 45_000),
            beat(100, at - 1),
        ],
    )
    .await;
    let mut told = reasons(&rejected);
    told.sort_unstable();
    assert_eq!(
        told,
        [(1, "invalid"), (2, "clock"), (3, "expired"), (4, "not_started"), (5, "not_recording"), (6, "superseded"),]
    );
    for one in &rejected {
        assert_eq!(one.get("seq"), None);
        let expected = (one["reason"] == "superseded").then_some(at);
        let record = one.get("record").map(|record| record["at"].as_u64().expect("at"));
        assert_eq!(record, expected);
    }
}

#[tokio::test]
async fn a_flush_repeated_in_any_mixture_changes_nothing() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    let sent = [beat(100, at), beat(101, at - 1), beat(102, at - 2)];
    client.watch(sent.clone()).await;
    let before = http.get("/v1/history").await.json();
    for _ in 0..3 {
        assert!(post(&http, sent.clone()).await.is_empty());
    }
    assert_eq!(http.get("/v1/history").await.json(), before);
}

#[tokio::test]
async fn beats_of_one_body_coalesce() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let at = now(&http).await - 1_000;
    let trail = (0..500).map(|step| beat(100, at + step).pos(step));
    assert!(post(&http, trail).await.is_empty());
    assert_eq!(http.get("/v1/history/1/100").await.json()["pos"], 499);
}

#[tokio::test]
async fn a_bad_field_is_a_400_with_its_path_and_nothing_is_applied() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let at = now(&http).await;
    for (path, body) in [
        ("items[1].pos", items([beat(100, at), beat(101, at).with("pos", -1)])),
        ("items[0].state", items([beat(100, at).state("asleep")])),
        ("items[0].at", items([beat(100, at).without("at")])),
        ("items[0].oid", items([beat(100, at).with("oid", "x")])),
        ("items", json!({})),
        ("items", json!({"items": 5})),
        ("device", json!({"items": [], "device": "d".repeat(65)})),
    ] {
        let problem = http.post("/v1/beats", &body).await.problem(400, "invalid");
        let detail = problem["detail"].as_str().expect("a detail");
        assert_eq!(detail.split(": ").next(), Some(path), "{problem}");
    }
    assert_eq!(http.get("/v1/history").await.json()["records"], json!([]));
}

#[tokio::test]
async fn more_beats_than_the_limit_are_too_many() {
    let gateway = TestGateway::start();
    let http = gateway.http(MID);
    let body = items((0..501).map(|oid| beat(oid, 1)));
    http.post("/v1/beats", &body).await.problem(400, "too_many");
}

#[tokio::test]
async fn an_expiry_is_forgiven_for_5_s() {
    let gateway = TestGateway::start();
    let with = |seconds| Token::of(MID).expires_in(seconds).sign();
    let late = gateway.anonymous_http().bearer(&with(-2));
    late.post("/v1/beats", &items([])).await.json();
    let gone = gateway.anonymous_http().bearer(&with(-8));
    gone.post("/v1/beats", &items([])).await.problem(401, "unauthorized");
}
