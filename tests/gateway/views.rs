//! `/v1/views`: how often contents were viewed, counted by request.

use serde_json::{Value, json};

use crate::support::{MID, TestGateway};

/// Pages are counted by request, whatever the defaults are.
const PAGES: (&str, &str) = ("views.by_request", "[3, 4]");

fn gateway(settings: &[(&str, &str)]) -> TestGateway {
    TestGateway::embedded(&[&[PAGES], settings].concat())
}

async fn view(gateway: &TestGateway, mid: u64, content: &str, body: &Value) -> Value {
    gateway.http(mid).post(&format!("/v1/views/{content}"), body).await.json()
}

async fn totals(gateway: &TestGateway, oids: &[&str]) -> Value {
    let items: Vec<Value> = oids.iter().map(|oid| json!({"kind": 3, "oid": oid})).collect();
    gateway.http(MID).post("/v1/views/get", &json!({"items": items})).await.json()
}

async fn today(gateway: &TestGateway) -> Value {
    gateway.http(MID).get("/v1/rewards/today").await.json()["day"].clone()
}

#[tokio::test]
async fn a_view_is_kept_when_it_is_answered() {
    let mut gateway = gateway(&[]);
    let by_session = json!({"session": "7"});
    assert_eq!(view(&gateway, MID, "3/100", &by_session).await, json!({"views": 1, "counted": true}));
    assert_eq!(view(&gateway, MID, "3/100", &by_session).await, json!({"views": 1, "counted": false}));
    assert_eq!(view(&gateway, 43, "3/100", &by_session).await, json!({"views": 2, "counted": true}));
    gateway.restart();
    assert_eq!(view(&gateway, MID, "3/100", &by_session).await, json!({"views": 2, "counted": false}));
    assert_eq!(view(&gateway, MID, "3/100", &json!({"session": 8})).await, json!({"views": 3, "counted": true}));
    assert_eq!(totals(&gateway, &["5", "100", "100"]).await, json!({"views": [0, 3, 3]}));
    let days = gateway.http(MID).get("/v1/views/3/100/days").await.json();
    assert_eq!(days, json!({"total": 3, "days": [{"day": today(&gateway).await, "views": 3}]}));
    assert_eq!(gateway.metric("heartline_views_counted_total{by=\"request\"}").await, 1.0);
    assert_eq!(gateway.metric("heartline_views_repeated_total{by=\"request\"}").await, 1.0);
}

#[tokio::test]
async fn without_a_session_each_request_counts() {
    let gateway = gateway(&[]);
    let bare = gateway.http(MID).send("POST", "/v1/views/4/100", None).await;
    assert_eq!(bare.json(), json!({"views": 1, "counted": true}));
    assert_eq!(view(&gateway, MID, "4/100", &json!({})).await["views"], 2);
    assert_eq!(view(&gateway, MID, "4/100", &json!({"session": null})).await["views"], 3);
    gateway.http(MID).post("/v1/views/4/100", &json!({"sesion": "1"})).await.problem(400, "invalid");
    gateway.http(MID).post("/v1/views/4/100", &json!({"session": "x"})).await.problem(400, "invalid");
    gateway.http(MID).post("/v1/views/4/x", &json!({})).await.problem(400, "invalid");
    gateway.http(MID).post("/v1/views/4/100?session=1", &json!({})).await.problem(400, "invalid");
    gateway
        .http(MID)
        .send("POST", "/v1/views/4/100", Some(("text/plain", "{}".to_owned())))
        .await
        .problem(415, "media_type");
    gateway.anonymous_http().post("/v1/views/4/100", &json!({})).await.problem(401, "unauthorized");
    assert_eq!(view(&gateway, MID, "4/100", &json!({})).await["views"], 4, "what was refused was not counted");
}

#[tokio::test]
async fn a_view_that_is_asked_for_ahead_counts_nothing() {
    let gateway = gateway(&[]);
    let by_session = json!({"session": "7"});
    for (name, value) in [("sec-purpose", "prefetch;prerender"), ("sec-purpose", "prefetch"), ("purpose", "prefetch")] {
        let ahead = gateway.http(MID).header(name, value).post("/v1/views/3/100", &by_session).await;
        assert_eq!(ahead.json(), json!({"views": 0, "counted": false}), "{name}: {value}");
    }
    let shown = view(&gateway, MID, "3/100", &by_session).await;
    assert_eq!(shown, json!({"views": 1, "counted": true}), "nothing is remembered of the session");
}

#[tokio::test]
async fn only_the_kinds_of_the_settings_are_counted() {
    let other = gateway(&[]);
    other.http(MID).post("/v1/views/5/100", &json!({})).await.problem(404, "not_found");

    let off = TestGateway::embedded(&[("views.by_playback", "[]"), ("views.by_request", "[]")]);
    off.http(MID).post("/v1/views/3/100", &json!({})).await.problem(404, "not_found");
    off.http(MID).post("/v1/views/get", &json!({"items": []})).await.problem(404, "not_found");
    off.http(MID).get("/v1/views/3/100/days").await.problem(404, "not_found");
    off.control().delete("/v1/views/3/100").await.problem(404, "not_found");
}

#[tokio::test]
async fn totals_are_public_if_the_settings_say_so() {
    let asked = json!({"items": [{"kind": 3, "oid": "100"}]});
    let closed = gateway(&[]);
    closed.anonymous_http().post("/v1/views/get", &asked).await.problem(401, "unauthorized");

    let open = gateway(&[("views.public", "true"), ("limits.frames_per_second", "1"), ("limits.burst", "3")]);
    for _ in 0..3 {
        let answer = open.anonymous_http().post("/v1/views/get", &asked).await;
        assert_eq!(answer.json(), json!({"views": [0]}));
    }
    let often = open.anonymous_http().post("/v1/views/get", &asked).await;
    often.problem(429, "too_fast");
    assert!(often.header("retry-after").is_some());
    let forged = open.anonymous_http().bearer("a.b.c").post("/v1/views/get", &asked).await;
    forged.problem(401, "unauthorized");
    assert_eq!(open.http(43).post("/v1/views/get", &asked).await.json(), json!({"views": [0]}), "by user");
    open.anonymous_http().post("/v1/views/3/100", &json!({})).await.problem(401, "unauthorized");
    open.anonymous_http().get("/v1/views/3/100/days").await.problem(401, "unauthorized");
}

#[tokio::test]
async fn at_most_500_totals_are_asked_for_at_once() {
    let gateway = gateway(&[]);
    let items = |count: usize| json!({"items": vec![json!({"kind": 3, "oid": 1}); count]});
    let most = gateway.http(MID).post("/v1/views/get", &items(500)).await.json();
    assert_eq!(most["views"].as_array().map(Vec::len), Some(500));
    gateway.http(MID).post("/v1/views/get", &items(501)).await.problem(400, "too_many");
    assert_eq!(gateway.http(MID).post("/v1/views/get", &items(0)).await.json(), json!({"views": []}));
}

#[tokio::test]
async fn days_are_rows_of_json_or_csv() {
    let gateway = gateway(&[("demo.clock", "true")]);
    let day = today(&gateway).await;
    let day = day.as_str().expect("a day");
    view(&gateway, MID, "3/100", &json!({})).await;
    let path = "/v1/views/3/100/days";
    let csv = gateway.http(MID).header("accept", "text/csv").get(path).await;
    assert_eq!((csv.status, csv.text()), (200, format!("day,views\n{day},1\n").as_str()));
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let row = json!([{"day": day, "views": 1}]);
    assert_eq!(gateway.http(MID).get(&format!("{path}?from={day}&to={day}")).await.json()["days"], row);
    let before = gateway.http(MID).get(&format!("{path}?from=2020-01-01&to=2020-12-31")).await.json();
    assert_eq!(before, json!({"total": 1, "days": []}));
    for wrong in [
        "from=x",
        "from=",
        "to=",
        "from=2020-01-01",
        "from=2020-01-02&to=2020-01-01",
        "limit=5",
        "from=2020-01-01&to=2021-02-05",
    ] {
        gateway.http(MID).get(&format!("{path}?{wrong}")).await.problem(400, "invalid");
    }
    gateway.anonymous_http().get(path).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn an_operator_deletes_total_and_days() {
    let mut gateway = gateway(&[]);
    for oid in ["100", "101"] {
        view(&gateway, MID, &format!("3/{oid}"), &json!({})).await;
    }
    let deleted = gateway.control().delete("/v1/views/3/100").await;
    assert_eq!(deleted.status, 204, "{}", deleted.text());
    gateway.restart();
    assert_eq!(totals(&gateway, &["100", "101"]).await, json!({"views": [0, 1]}));
    assert_eq!(gateway.http(MID).get("/v1/views/3/100/days").await.json(), json!({"total": 0, "days": []}));
    assert_eq!(view(&gateway, MID, "3/100", &json!({})).await["views"], 1);
    gateway.http(MID).delete("/v1/views/3/100").await.problem(405, "method");
    gateway.control().delete("/v1/views/3/x").await.problem(400, "invalid");
    assert_eq!(gateway.control().delete("/v1/views/3/5").await.status, 204, "nothing was known");
}

#[tokio::test]
async fn an_erased_user_leaves_the_views() {
    let gateway = gateway(&[]);
    let session = json!({"session": "7"});
    view(&gateway, MID, "3/100", &session).await;
    let erased = gateway.control().post("/v1/erase", &json!({"mid": MID.to_string()})).await;
    assert_eq!(erased.status, 204, "{}", erased.text());
    assert_eq!(totals(&gateway, &["100"]).await, json!({"views": [1]}));
    let again = view(&gateway, MID, "3/100", &session).await;
    assert_eq!(again, json!({"views": 2, "counted": true}), "no mark of the user is left");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run gateway-redis"]
async fn on_redis_without_a_statistics_store_they_are_off() {
    let gateway = TestGateway::on_redis(&[]);
    gateway.http(MID).post("/v1/views/3/100", &json!({})).await.problem(404, "not_found");
    gateway.control().delete("/v1/views/3/100").await.problem(404, "not_found");
    assert_eq!(gateway.log().matches("views_off").count(), 1, "the log says so once");
    let asked_for = TestGateway::fails_on_redis(&[PAGES]);
    assert_eq!(asked_for.code, Some(78));
    assert!(asked_for.stderr.contains("HEARTLINE__VIEWS__BY_REQUEST: with store.hot_store"), "{}", asked_for.stderr);
    let none = TestGateway::on_redis(&[("views.by_playback", "[]"), ("views.by_request", "[]")]);
    assert!(!none.log().contains("views_off"), "nothing was asked for");
}
