//! A gateway without a store: its history services, found, lost, refused and foreign.

use serde_json::json;

use crate::support::{FailedStart, HistoryService, MID, TestGateway, Token, beat, until};

const REMOTE: (&str, &str) = ("store.hot_store", "history-service");

/// The setting for these services.
fn addresses(services: &[&HistoryService]) -> String {
    let places: Vec<_> = services.iter().map(|service| service.address()).collect();
    json!(places).to_string()
}

fn fails(addresses: &str, settings: &[(&str, &str)]) -> FailedStart {
    TestGateway::fails_with(&[&[REMOTE, ("history_service.addresses", addresses)], settings].concat())
}

fn started() -> HistoryService {
    let service = HistoryService::default();
    service.start(&[]);
    service
}

#[tokio::test]
async fn what_it_acks_is_in_its_history_service() {
    let service = started();
    let gateway = TestGateway::embedded(&[REMOTE, ("history_service.addresses", &addresses(&[&service]))]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at).pos(5_000)]).await;
    let exported = service.control().get(&format!("/v1/export?mid={MID}")).await.json();
    assert_eq!(exported["records"][0]["pos"], 5_000, "{exported}");
    // Erased there, it is gone here.
    assert_eq!(service.control().post("/v1/erase", &json!({"mid": MID.to_string()})).await.status, 204);
    assert_eq!(client.listed(json!({})).await, [0_u64; 0]);
}

#[tokio::test]
async fn acks_wait_for_a_service_that_is_away() {
    let service = started();
    let gateway = TestGateway::embedded(&[REMOTE, ("history_service.addresses", &addresses(&[&service]))]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    service.kill();
    until("the gateway is not ready", async || gateway.admin().get("/readyz").await.status == 503).await;
    let seq = client.send(crate::support::beats([beat(100, at + 1).pos(7_000)])).await;
    service.start(&[]);
    client.acked(seq).await;
    assert_eq!(client.position(100).await, Some(7_000));
    until("the gateway is ready", async || gateway.admin().get("/readyz").await.status == 200).await;
    assert!(gateway.log().contains("history_service_lost"));
}

#[tokio::test]
async fn a_kick_at_the_service_closes_sockets_of_the_gateway() {
    let service = started();
    let gateway = TestGateway::embedded(&[REMOTE, ("history_service.addresses", &addresses(&[&service]))]);
    let mut client = gateway.connect(MID).await;
    let kick = service.control().post("/v1/kick", &json!({"mid": MID.to_string()})).await;
    assert_eq!((kick.status, client.closed().await), (204, 4003));
}

#[tokio::test]
async fn a_revocation_at_one_gateway_holds_at_all() {
    let service = started();
    let addresses = addresses(&[&service]);
    let settings = [REMOTE, ("history_service.addresses", addresses.as_str())];
    let (one, other) = (TestGateway::embedded(&settings), TestGateway::embedded(&settings));
    let mut client = other.connect(MID).await;
    let revoked = one.control().post("/v1/revoke", &json!({"mid": MID.to_string()})).await;
    assert_eq!((revoked.status, client.closed().await), (204, 4003));
    let again = other.upgrade().bearer(&Token::of(MID).claim("iat", 1).sign()).refused().await;
    assert_eq!(again.status, 403);
}

#[tokio::test]
async fn events_and_subscribers_are_named_as_elsewhere() {
    let service = started();
    let gateway = TestGateway::embedded(&[REMOTE, ("history_service.addresses", &addresses(&[&service]))]);
    for path in ["/v1/events", "/v1/subscribers"] {
        let answer = gateway.control().get(path).await;
        assert!(answer.status >= 400 && answer.text().contains("history services"), "{path}: {}", answer.text());
    }
}

#[tokio::test]
async fn views_are_counted_at_the_service() {
    let service = HistoryService::default();
    service.start(&[("views.by_playback", "[1]"), ("views.by_request", "[3]")]);
    let settings = [REMOTE, ("history_service.addresses", &addresses(&[&service])), ("views.public", "true")];
    let gateway = TestGateway::embedded(&settings);
    let session = json!({"session": "7"});
    let http = || gateway.http(MID);
    assert_eq!(http().post("/v1/views/3/100", &session).await.json(), json!({"views": 1, "counted": true}));
    assert_eq!(http().post("/v1/views/3/100", &session).await.json(), json!({"views": 1, "counted": false}));
    let other = gateway.http(43).post("/v1/views/3/100", &session).await;
    assert_eq!(other.json(), json!({"views": 2, "counted": true}), "each user by the gateway's word");
    let ahead = http().header("sec-purpose", "prefetch").send("POST", "/v1/views/3/100", None).await;
    assert_eq!(ahead.json(), json!({"views": 2, "counted": false}));
    let asked = json!({"items": [{"kind": 3, "oid": "100"}, {"kind": 3, "oid": "5"}]});
    let totals = gateway.anonymous_http().post("/v1/views/get", &asked).await.json();
    assert_eq!(totals, json!({"views": [2, 0]}), "totals are public here");
    let csv = http().header("accept", "text/csv").get("/v1/views/3/100/days").await;
    assert_eq!((csv.status, csv.header("content-type")), (200, Some("text/csv; charset=utf-8")));
    assert!(csv.text().starts_with("day,views\n") && csv.text().ends_with(",2\n"), "{}", csv.text());
    // What is wrong is said by the service, and who may ask is decided here.
    http().post("/v1/views/3/100", &json!({"sesion": "7"})).await.problem(400, "invalid");
    http().post("/v1/views/9/100", &session).await.problem(404, "not_found");
    http().get("/v1/views/3/100/days?from=").await.problem(400, "invalid");
    gateway.anonymous_http().post("/v1/views/3/100", &session).await.problem(401, "unauthorized");
    http().send("PUT", "/v1/views/3/100", None).await.problem(405, "method");
    assert_eq!(gateway.control().delete("/v1/views/3/100").await.status, 204);
    assert_eq!(http().post("/v1/views/get", &asked).await.json(), json!({"views": [0, 0]}));
    service.kill();
    http().post("/v1/views/3/100", &session).await.problem(503, "unavailable");
}

#[tokio::test]
async fn counters_are_those_of_the_service() {
    let service = HistoryService::default();
    let likes = r#"[{ id = "likes", key = ["kind", "oid"], max = 3 }]"#;
    let viewers = r#"[{ id = "viewers", key = ["kind", "oid"] }]"#;
    service.start(&[("counters.direct", likes), ("counters.derived", viewers)]);
    let gateway = TestGateway::embedded(&[REMOTE, ("history_service.addresses", &addresses(&[&service]))]);
    let control = || gateway.control();
    let step = json!({"key": ["1", "100"], "by": 2, "id": "order-17"});
    for _ in 0..2 {
        assert_eq!(control().post("/v1/counters/likes", &step).await.json(), json!({"value": 2}));
    }
    let refused = control().post("/v1/counters/likes", &json!({"key": ["1", "100"], "by": 2})).await;
    assert_eq!(refused.problem(409, "bounds")["value"], 2);
    assert_eq!(control().get("/v1/counters/likes?key=1&key=100").await.json(), json!({"value": 2}));
    let values = control().post("/v1/counters/likes/get", &json!({"keys": [["1", "100"], ["1", "5"]]})).await;
    assert_eq!(values.json(), json!({"values": [2, 0]}));
    assert_eq!(control().delete("/v1/counters/likes?key=1&key=100").await.status, 204);
    assert_eq!(control().get("/v1/counters/likes/top").await.json(), json!({"top": []}));

    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    let viewed = async || control().get("/v1/counters/viewers?key=1&key=100").await;
    until("the viewer is counted", async || {
        let answer = viewed().await;
        answer.status == 200 && answer.json()["value"] == 1
    })
    .await;
    let recount = control().post("/v1/counters/viewers/recount", &json!({})).await;
    assert_eq!(recount.status, 202, "{}", recount.text());
    let job: serde_json::Value = serde_json::from_str(recount.text()).expect("JSON");
    let job = format!("/v1/jobs/{}", job["job"].as_str().expect("a name"));
    until("the recount is done", async || control().get(&job).await.json()["state"] == "done").await;
    control().get("/v1/counters/none?key=1").await.problem(404, "not_found");
    assert!(service.admin().get("/metrics").await.text().contains(r#"method="gateway_forward""#));
}

#[tokio::test]
async fn a_service_with_another_store_is_not_used() {
    let (one, other) = (started(), started());
    let settings = [REMOTE, ("history_service.addresses", &addresses(&[&one, &other]))];
    let gateway = TestGateway::embedded(&settings);
    gateway.wait_for_log("history_service_foreign").await;
    gateway.wait_for_metric("heartline_history_services", |services| services == 1.0).await;
    gateway.connect(MID).await.still_serves().await;
}

#[tokio::test]
async fn it_has_the_settings_of_its_services_where_it_uses_them() {
    let service = started();
    let addresses = addresses(&[&service]);
    for (setting, value) in [("store.retention", "2d"), ("reading.finished_at", "0.8")] {
        let failed = fails(&addresses, &[(setting, value)]);
        assert_eq!(failed.code, Some(78), "{setting}: {}", failed.stderr);
        let said =
            failed.stderr.lines().find(|line| line.starts_with(&format!("heartline: {setting}: is {value}, and ")));
        assert!(said.is_some_and(|line| line.contains("the history services have")), "{}", failed.stderr);
    }
    // The services decide by these alone.
    let theirs = [("store.records_per_user", "500"), ("rewards.zone", "Europe/Berlin"), ("views.watched", "6s")];
    let settings = [&[REMOTE, ("history_service.addresses", addresses.as_str())][..], &theirs].concat();
    TestGateway::embedded(&settings).connect(MID).await.still_serves().await;
}

#[tokio::test]
async fn it_ends_when_its_service_comes_back_with_other_settings() {
    let service = started();
    let mut gateway = TestGateway::embedded(&[REMOTE, ("history_service.addresses", &addresses(&[&service]))]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;
    service.start(&[("store.retention", "2d")]);
    assert_eq!(client.closed().await, 1012);
    assert_eq!(gateway.ended().await.code(), Some(78));
    let said = gateway.log();
    assert!(said.contains("store.retention: is 90d, and the history services have 2d"), "{said}");
}

#[test]
fn it_does_not_start_with_a_token_that_the_service_refuses() {
    let service = started();
    let back_end = Token::of(1).claim("scope", "heartline.read heartline.write").sign();
    for token in ["nonsense", back_end.as_str(), &Token::of(1).sign()] {
        let failed = fails(&addresses(&[&service]), &[("history_service.token", token)]);
        assert_eq!(failed.code, Some(77), "{}", failed.stderr);
        assert!(failed.stderr.contains("check history_service.token"), "{}", failed.stderr);
    }
}

#[test]
fn it_does_not_start_without_a_service() {
    let failed = fails(r#"["http://127.0.0.1:1"]"#, &[]);
    assert_eq!(failed.code, Some(69), "{}", failed.stderr);
    assert!(failed.stderr.contains("no history service answers: http://127.0.0.1:1: "), "{}", failed.stderr);
    assert!(!failed.stderr.contains("listening"), "{}", failed.stderr);
}
