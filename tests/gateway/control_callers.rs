//! Services with tokens of their own on the control listener.

use serde_json::json;

use crate::support::{Http, MID, SECRET, TestGateway, beat, run};

const CALLERS: &str = r#"[{ name = "shop", scopes = ["heartline.counters"] },
    { name = "privacy", scopes = ["heartline.users", "heartline.erase"] }]"#;

/// As `heartline token` prints it.
fn token(service: &str, scopes: &[&str]) -> String {
    let scopes = scopes.iter().flat_map(|scope| ["--scope", scope]);
    let words: Vec<&str> = ["token", "--service", service].into_iter().chain(scopes).collect();
    let printed = run(&words, &[("auth.hs256_secret", SECRET)]);
    assert!(printed.status.success(), "{printed:?}");
    String::from_utf8(printed.stdout).expect("UTF-8").trim().to_owned()
}

fn caller(gateway: &TestGateway, token: &str) -> Http {
    Http::to(gateway.control_address()).bearer(token)
}

#[tokio::test]
async fn a_service_that_counts_cannot_erase() {
    let counters = r#"[{ id = "likes", key = ["kind", "oid"] }]"#;
    let gateway = TestGateway::embedded(&[("control.callers", CALLERS), ("counters.direct", counters)]);
    let mut client = gateway.connect(MID).await;
    let at = client.now();
    client.watch([beat(100, at)]).await;

    let shop = caller(&gateway, &token("shop", &["heartline.counters", "heartline.erase"]));
    let like = json!({"key": ["1", "100"]});
    assert_eq!(shop.post("/v1/counters/likes", &like).await.json(), json!({"value": 1}));
    assert_eq!(shop.delete("/v1/views/1/100").await.status, 204);
    let user = json!({"mid": MID.to_string()});
    for path in ["/v1/erase", "/v1/kick", "/v1/reload"] {
        shop.post(path, &user).await.problem(403, "unauthorized");
    }
    shop.get("/v1/export?mid=42").await.problem(403, "unauthorized");
    assert_eq!(client.position(100).await, Some(10_000));

    let privacy = caller(&gateway, &token("privacy", &["heartline.users", "heartline.erase"]));
    assert_eq!(privacy.get("/v1/export?mid=42").await.json()["mid"], "42");
    privacy.post("/v1/counters/likes", &like).await.problem(403, "unauthorized");
    assert_eq!(privacy.post("/v1/erase", &user).await.status, 204);
    assert_eq!(client.position(100).await, None);
    assert_eq!(gateway.control().get("/v1/counters/likes?key=1&key=100").await.json(), json!({"value": 1}));
    gateway.wait_for_log("caller=privacy").await;

    // On the public listener such a token is refused, and without a list nobody has one.
    let public = gateway.anonymous_http().bearer(&token("shop", &["heartline.counters"]));
    public.get("/v1/history").await.problem(401, "unauthorized");
    let closed = TestGateway::embedded(&[]);
    caller(&closed, &token("shop", &["heartline.counters"])).get("/v1/live").await.problem(401, "unauthorized");
}
