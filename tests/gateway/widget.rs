//! `/widget/v1`: live numbers for any web page.

use serde_json::{Value, json};

use crate::support::{DEMO_OVERRIDE, MID, NEVER, TestGateway, beat, until};

const FILES: [(&str, &str); 3] = [
    ("/widget/v1.json", "application/json"),
    ("/widget/v1.js", "text/javascript; charset=utf-8"),
    ("/widget/v1.svg", "image/svg+xml"),
];

/// So many sessions of one user play the content (`kind`, `oid`), from the session `first` on.
async fn watch(gateway: &TestGateway, mid: u64, kind: u16, oid: u64, sessions: u64) {
    let mut client = gateway.connect(mid).await;
    let now = client.now();
    for session in 1..=sessions {
        // One content is at one position, so each beat of it is newer than the one before.
        client.watch([beat(oid, now + session).kind(kind).session(1_000 * oid + session)]).await;
    }
}

async fn numbers(gateway: &TestGateway) -> Value {
    gateway.anonymous_http().get("/widget/v1.json").await.json()
}

async fn wait_for(gateway: &TestGateway, watching: u64, top: Value) {
    let what = format!("{watching} watching, {top}");
    until(&what, async || {
        let numbers = gateway.anonymous_http().header("x-forwarded-for", "192.0.2.1").get("/widget/v1.json").await;
        // Asked too often.
        numbers.status == 200 && numbers.json()["watching"] == watching && numbers.json()["top"] == top
    })
    .await;
}

#[tokio::test]
async fn the_widget_is_off_by_default() {
    // A gateway of a test has the demo otherwise.
    let gateway = TestGateway::with(&[(DEMO_OVERRIDE, "false")]);
    for (path, _) in FILES {
        gateway.anonymous_http().get(path).await.problem(404, "not_found");
        gateway.http(MID).get(path).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn any_page_may_read_each_file_without_a_token() {
    let gateway = TestGateway::with(&[("live.widget", "true")]);
    for (path, content_type) in FILES {
        for query in ["", "?_=123", "?token=x&limit=1"] {
            let page = gateway.anonymous_http().header("origin", "https://foreign.example").header("cookie", "a=b");
            let answer = page.get(&format!("{path}{query}")).await;
            assert_eq!(answer.status, 200, "{path}{query}: {}", answer.text());
            assert_eq!(answer.header("content-type"), Some(content_type));
            assert_eq!(answer.header("cache-control"), Some("public, max-age=2"));
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
            assert_eq!((answer.header("set-cookie"), answer.header("vary")), (None, None));
        }
    }
    for other in ["/widget/", "/widget/v2.json", "/widget/v1.json/x"] {
        gateway.anonymous_http().get(other).await.problem(404, "not_found");
    }
    gateway.anonymous_http().post("/widget/v1.json", &json!({})).await.problem(405, "method");
    assert_eq!(gateway.metric("heartline_widget_requests_total{file=\"v1.js\",outcome=\"answered\"}").await, 3.0);
}

#[tokio::test]
async fn the_widget_counts_users_of_its_kinds_and_lists_contents_with_enough_of_them() {
    let settings = [
        ("live.widget", "true"),
        ("live.widget_kinds", "[1, 3]"),
        ("live.widget_min", "2"),
        ("live.widget_per_second", "1000"),
        ("live.timeout", NEVER),
    ];
    let gateway = TestGateway::with(&settings);
    assert_eq!((&numbers(&gateway).await["watching"], &numbers(&gateway).await["top"]), (&json!(0), &json!([])));
    // A user is one viewer, on however many devices: after a reload, or beside another content.
    watch(&gateway, MID, 1, 100, 3).await;
    watch(&gateway, 43, 1, 100, 1).await;
    watch(&gateway, 43, 3, 200, 4).await;
    watch(&gateway, 44, 3, 200, 1).await;
    watch(&gateway, 45, 3, 200, 1).await;
    watch(&gateway, 46, 1, 300, 9).await;
    watch(&gateway, 47, 2, 400, 1).await;
    watch(&gateway, 46, 2, 400, 1).await;
    let listed = |kind: u16, oid: &str, users: u32| json!({"kind": kind, "oid": oid, "users": users});
    wait_for(&gateway, 5, json!([listed(3, "200", 3), listed(1, "100", 2)])).await;
    let badge = gateway.anonymous_http().get("/widget/v1.svg").await;
    assert!(badge.text().contains("aria-label=\"5 watching\""), "{}", badge.text());
    watch(&gateway, 48, 1, 300, 1).await;
    wait_for(&gateway, 6, json!([listed(3, "200", 3), listed(1, "100", 2), listed(1, "300", 2)])).await;
}

#[tokio::test]
async fn an_address_that_asks_too_often_is_told_to_wait() {
    let gateway = TestGateway::with(&[
        ("live.widget", "true"),
        ("live.widget_per_second", "2"),
        ("server.trusted_proxies", "127.0.0.0/8"),
        ("server.forwarded_header", "x-forwarded-for"),
    ]);
    let of = |address: &str| gateway.anonymous_http().header("x-forwarded-for", address);
    let mut refused = None;
    for _ in 0..100 {
        let answer = of("192.0.2.1").get("/widget/v1.json").await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("100 requests take less than 50 s");
    refused.problem(429, "too_fast");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.header("access-control-allow-origin"), Some("*"), "the page sees what it was answered");
    assert_eq!(of("192.0.2.2").get("/widget/v1.json").await.status, 200, "others are served");
    until("its turn again", async || of("192.0.2.1").get("/widget/v1.svg").await.status == 200).await;
    assert!(gateway.metric("heartline_widget_requests_total{file=\"v1.json\",outcome=\"too_fast\"}").await >= 1.0);
}

#[tokio::test]
async fn the_demo_shows_the_widget_on_this_machine_with_every_content() {
    let gateway = TestGateway::with(&[(DEMO_OVERRIDE, "false"), ("auth.hs256_secret", "")]);
    assert_eq!(gateway.anonymous_http().get("/").await.status, 200, "the demo");
    assert_eq!(numbers(&gateway).await["watching"], 0);
    let proxied = gateway.anonymous_http().header("x-forwarded-for", "192.0.2.1").get("/widget/v1.json").await;
    assert_eq!(proxied.status, 403);

    let gateway = TestGateway::with(&[("live.timeout", NEVER), ("live.widget_min", "1000")]);
    watch(&gateway, MID, 1, 100, 1).await;
    wait_for(&gateway, 1, json!([{"kind": 1, "oid": "100", "users": 1}])).await;

    // With live.widget its settings are in force, also beside the demo.
    let gateway = TestGateway::with(&[("live.timeout", NEVER), ("live.widget", "true")]);
    watch(&gateway, MID, 1, 100, 1).await;
    wait_for(&gateway, 1, json!([])).await;
}
