//! The demo page and what it needs, only where it is switched on.

use serde_json::{Value, json};

use crate::support::{DEMO_OVERRIDE, MID, TestGateway, beat, until};

#[tokio::test]
async fn the_page_and_its_modules_are_served() {
    let gateway = TestGateway::start();
    let http = gateway.anonymous_http();
    let page = http.get("/").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").expect("a type").starts_with("text/html"));
    let module = http.get("/demo/client/heartline.js").await;
    assert_eq!(module.status, 200);
    assert!(module.header("content-type").expect("a type").starts_with("text/javascript"));
    for path in ["/demo/nothing.js", "/demo/", "/demo/../Cargo.toml", "/demo/%2e%2e/Cargo.toml"] {
        assert_eq!(http.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_demo_token_is_a_token() {
    let gateway = TestGateway::start();
    let asked = json!({"mid": "42", "ttl": 3600});
    let answer = gateway.anonymous_http().post("/demo/token", &asked).await.json();
    let token = answer["token"].as_str().expect("a token");
    let client = gateway.upgrade().bearer(token).welcomed().await;
    assert_eq!(client.welcome()["mid"], "42");
    assert_eq!(client.welcome()["expires"], answer["expires"]);
    for bad in [json!({}), json!({"mid": "nobody"}), json!({"mid": "42", "ttl": -1})] {
        assert_eq!(gateway.anonymous_http().post("/demo/token", &bad).await.status, 400, "{bad}");
    }
}

#[tokio::test]
async fn the_demo_shows_the_gateways_own_counters() {
    let gateway = TestGateway::start();
    let mut client = gateway.connect(MID).await;
    client.still_serves().await;
    let shown = gateway.anonymous_http().get("/demo/metrics").await;
    assert_eq!(shown.status, 200);
    let text = shown.text();
    assert!(text.contains("\nheartline_connections 1\n"), "{text}");
}

#[tokio::test]
async fn the_demo_moves_the_day_of_all_that_come_after() {
    let gateway = TestGateway::start();
    let http = gateway.anonymous_http();
    let clock = http.get("/demo/clock").await.json();
    assert_eq!(gateway.connect(MID).await.welcome()["today"], clock["day"]);
    let moved = http.post("/demo/clock", &json!({"forward": clock["midnight"]})).await.json();
    assert!(moved["day"].as_str() > clock["day"].as_str(), "{moved} after {clock}");
    let client = gateway.connect(MID).await;
    assert_eq!(client.welcome()["today"], moved["day"]);
    let page = http.get("/demo/events").await.json();
    assert_eq!((&page["events"], &page["next"]), (&json!([]), &json!(0)), "{page}");
}

#[tokio::test]
async fn without_a_history_store_no_packs_are_shown() {
    let gateway = TestGateway::start();
    let http = gateway.anonymous_http();
    assert_eq!(http.get("/demo/process").await.json()["packs"], false);
    http.get("/demo/packs").await.problem(404, "not_found");
}

const AUDIENCE: &str = "/demo/counters?content=1:100&content=1:101";

/// The numbers of people, once they are counted.
async fn audience(gateway: &TestGateway) -> Value {
    let mut answer = Value::Null;
    until("the counters are counted", async || {
        let asked = gateway.anonymous_http().get(AUDIENCE).await;
        answer = serde_json::from_str(asked.text()).expect("JSON");
        asked.status != 503
    })
    .await;
    answer
}

#[tokio::test]
async fn the_demo_counts_who_watches_and_who_finished() {
    let mut gateway = TestGateway::embedded(&[]);
    assert_eq!(audience(&gateway).await, json!({"viewers": [0, 0], "finishers": [0, 0]}));
    let (mut one, mut other) = (gateway.connect(MID).await, gateway.connect(43).await);
    let at = one.now() - 5_000;
    one.play(None, [beat(100, at).pos(1_000).dur(10_000), beat(101, at).pos(1_000).dur(10_000)]).await;
    other.play(None, [beat(100, at).pos(9_900).dur(10_000)]).await;
    assert_eq!(audience(&gateway).await, json!({"viewers": [2, 1], "finishers": [1, 0]}));
    let in_progress = gateway.control().get("/v1/counters/in-progress?key=42").await.json();
    assert_eq!(in_progress, json!({"value": 2}));
    other.delete(100, at + 10).await;
    assert_eq!(audience(&gateway).await, json!({"viewers": [1, 1], "finishers": [0, 0]}));
    assert_eq!(counted_for_the_demo(&gateway), 1);
    gateway.restart_with(&[("counters.derived", "[]")]);
    gateway.anonymous_http().get(AUDIENCE).await.problem(404, "not_found");
    gateway.control().get("/v1/counters/viewers?key=1&key=100").await.problem(404, "not_found");
}

/// How often the log says that it counts for the demo.
fn counted_for_the_demo(gateway: &TestGateway) -> usize {
    gateway.log().lines().filter(|line| line.contains("demo_counters")).count()
}

#[tokio::test]
async fn the_demo_shows_the_counters_of_the_settings() {
    let by_content = r#"[{ id = "finishers", key = ["kind", "oid"], when = { finished = true } }]"#;
    for (derived, shown) in [
        ("[]", None),
        (r#"[{ id = "all" }]"#, None),
        (r#"[{ id = "viewers", key = ["oid"] }]"#, None),
        (by_content, Some(json!({"finishers": [0, 0]}))),
    ] {
        let gateway = TestGateway::embedded(&[("counters.derived", derived)]);
        match shown {
            Some(shown) => assert_eq!(audience(&gateway).await, shown),
            None => drop(gateway.anonymous_http().get(AUDIENCE).await.problem(404, "not_found")),
        }
        assert_eq!(counted_for_the_demo(&gateway), 0, "{derived}");
    }
    let gateway = TestGateway::embedded(&[("demo.enabled", "false")]);
    gateway.control().get("/v1/counters/viewers?key=1&key=100").await.problem(404, "not_found");
}

#[tokio::test]
async fn contents_that_cannot_be_read_are_refused() {
    let gateway = TestGateway::embedded(&[]);
    let many = vec!["content=1:1"; 101].join("&");
    for query in ["", "content=", "content=100", "content=1:x", "content=70000:1", "oid=100", &many] {
        gateway.anonymous_http().get(&format!("/demo/counters?{query}")).await.problem(400, "invalid");
    }
}

#[tokio::test]
async fn the_day_stays_where_it_is_without_the_setting() {
    let gateway = TestGateway::with(&[("demo.clock", "false")]);
    assert_eq!(gateway.anonymous_http().post("/demo/clock", &json!({"forward": 1})).await.status, 404);
}

#[tokio::test]
async fn without_the_demo_none_of_its_routes_exist() {
    let gateway = TestGateway::with(&[("demo.enabled", "false")]);
    let http = gateway.anonymous_http();
    for path in [
        "/",
        "/demo/client/heartline.js",
        "/demo/metrics",
        "/demo/events",
        "/demo/live/",
        "/demo/live/stream",
        "/demo/packs",
        "/demo/counters?content=1:100",
        "/demo/clock",
    ] {
        assert_eq!(http.get(path).await.status, 404, "{path}");
    }
    let asked = json!({"mid": "42", "ttl": 3600});
    assert_eq!(http.post("/demo/token", &asked).await.status, 404);
    assert_eq!(http.post("/demo/clock", &json!({"forward": 1})).await.status, 404);
    gateway.connect(MID).await.still_serves().await;
}

const ATTACK: [(&str, &str); 2] = [("x-forwarded-for", "203.0.113.9"), ("content-type", "application/json")];

/// What a stranger sends through a reverse proxy on the gateway's machine: the proxy's own address is a loopback one.
async fn stranger(gateway: &TestGateway) -> u16 {
    let http = ATTACK.iter().fold(gateway.anonymous_http(), |http, (name, value)| http.header(name, value));
    let http = http.host("localhost");
    let thirty_days = json!({"mid": "42", "ttl": 2_592_000});
    for path in [
        "/demo/metrics",
        "/demo/events",
        "/demo/live/stream",
        "/demo/packs",
        "/demo/counters?content=1:100",
        "/demo/clock",
        "/",
    ] {
        assert!(http.get(path).await.status >= 400, "{path}");
    }
    http.post("/demo/token", &thirty_days).await.status
}

#[tokio::test]
async fn beside_a_real_key_or_a_trusted_proxy_there_is_no_demo() {
    let trusting = [("server.trusted_proxies", "127.0.0.1/32"), ("server.forwarded_header", "x-forwarded-for")];
    let real_key = [(DEMO_OVERRIDE, "false")];
    let both = [&trusting[..], &real_key].concat();
    let proxy_only = [&both[..], &[("auth.hs256_secret", "")]].concat();
    for settings in [&real_key[..], &both, &proxy_only] {
        let gateway = TestGateway::with(settings);
        assert_eq!(stranger(&gateway).await, 404, "{settings:?}");
        let plain = gateway.anonymous_http().header("x-forwarded-for", "127.0.0.1");
        assert_eq!(plain.post("/demo/token", &json!({"mid": "42"})).await.status, 404, "{settings:?}");
        assert!(gateway.log().contains("demo off"), "{}", gateway.log());
    }
}

/// With a proxy that the gateway was not told of.
#[tokio::test]
async fn a_stranger_behind_a_proxy_gets_no_token_of_the_development_key() {
    let gateway = TestGateway::with(&[(DEMO_OVERRIDE, "false"), ("auth.hs256_secret", "")]);
    assert_eq!(stranger(&gateway).await, 403);
    let answer = gateway.anonymous_http().post("/demo/token", &json!({"mid": "42"})).await;
    assert_eq!(answer.status, 200, "a developer at this machine does");
}

#[tokio::test]
async fn the_demo_alone_pushes_steady_positions_sooner() {
    let keyless = [(DEMO_OVERRIDE, "false"), ("auth.hs256_secret", "")];
    let pushes = |settings: &[(&str, &str)]| {
        let gateway = TestGateway::embedded(settings);
        let log = gateway.log();
        log.lines().find(|line| line.contains("demo_pushes")).map(str::to_owned)
    };
    assert!(pushes(&keyless).is_some_and(|line| line.contains("interval=5s")));
    assert_eq!(pushes(&[&keyless[..], &[("push.steady_interval", "30s")]].concat()), None, "it was chosen");
    assert_eq!(pushes(&[&keyless[..], &[("demo.enabled", "false")]].concat()), None, "no demo");
    assert_eq!(pushes(&[]), None, "a key");
    let hold = [("store.steady_hold", "8s"), ("limits.ack_delay", "10s")];
    assert!(pushes(&[&keyless[..], &hold].concat()).is_some_and(|line| line.contains("interval=8s")));
}
