//! `/v1/live/shares` and `/v1/live/tail`: the device, system, browser and country of viewers.

use serde_json::{Value, json};

use crate::country_file::CountryFile;
use crate::support::{JSON_PROTOCOL, MID, NEVER, TestClient, TestGateway, Token, beat, country_file, items, until};

const PHONE: &str = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 \
                     Mobile Safari/537.36";
const TV: &str =
    "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/87.0.4280.88 Safari/537.36";

async fn connect(gateway: &TestGateway, mid: u64, user_agent: &str) -> TestClient {
    let upgrade = gateway.upgrade().protocols(&[JSON_PROTOCOL]).header("user-agent", user_agent);
    upgrade.bearer(&Token::of(mid).sign()).welcomed().await
}

async fn shares(gateway: &TestGateway) -> Value {
    gateway.control().get("/v1/live/shares").await.json()
}

async fn wait_for_shares(gateway: &TestGateway, expected: Value) {
    until(&format!("shares {expected}"), async || shares(gateway).await == expected).await;
}

#[tokio::test]
async fn sessions_count_by_the_class_of_their_client_while_they_are_live() {
    let file = CountryFile::of("DE");
    let gateway = TestGateway::with(&[("live.timeout", NEVER), ("live.geoip", &file.path())]);
    let nothing = json!({"countries": {}, "os": {}, "browsers": {}, "devices": {}});
    assert_eq!(shares(&gateway).await, nothing);
    let (mut phone, mut tv) = (connect(&gateway, MID, PHONE).await, connect(&gateway, 43, TV).await);
    let now = phone.now();
    phone.watch([beat(100, now)]).await;
    phone.watch([beat(200, now).session(2)]).await;
    tv.watch([beat(100, now)]).await;
    let mut unknown = gateway.connect(44).await;
    unknown.watch([beat(100, now)]).await;
    let body = items([beat(300, now)]);
    let request = gateway.http(45).header("user-agent", TV);
    assert_eq!(request.post("/v1/beats", &body).await.status, 200);
    wait_for_shares(
        &gateway,
        json!({
            "countries": {"DE": 5}, "os": {"Android": 2, "Web0S": 2}, "browsers": {"Chrome Mobile": 2, "Chrome": 2},
            "devices": {"phone": 2, "tv": 2},
        }),
    )
    .await;
    // On the TV now: its class is that of the newest beat.
    connect(&gateway, MID, TV).await.watch([beat(200, now + 1).session(2)]).await;
    tv.watch([beat(100, now + 1).state("ended")]).await;
    wait_for_shares(
        &gateway,
        json!({
            "countries": {"DE": 4}, "os": {"Android": 1, "Web0S": 2}, "browsers": {"Chrome Mobile": 1, "Chrome": 2},
            "devices": {"phone": 1, "tv": 2},
        }),
    )
    .await;
    for mid in [MID, 44, 45] {
        assert_eq!(gateway.control().post("/v1/kick", &json!({"mid": mid.to_string()})).await.status, 204);
    }
    wait_for_shares(&gateway, nothing).await;
}

#[tokio::test]
async fn a_visit_shows_the_class_of_its_client_and_nothing_else_of_it() {
    let file = CountryFile::of("DE");
    let gateway = TestGateway::with(&[("live.timeout", NEVER), ("live.geoip", &file.path())]);
    let mut phone = connect(&gateway, MID, PHONE).await;
    let now = phone.now();
    phone.watch([beat(100, now)]).await;
    file.write(&country_file(&[("127.0.0.0/8", "FR")]));
    gateway.hang_up();
    gateway.wait_for_log("country file reloaded").await;
    file.write(b"no country file");
    gateway.hang_up();
    gateway.wait_for_log("cannot reload the country file").await;
    // An open connection keeps its class.
    phone.watch([beat(101, now + 1)]).await;
    connect(&gateway, 43, "").await.watch([beat(102, now + 2)]).await;
    let of_phone = |oid: &str, at: u64| {
        json!({
            "at": at, "kind": 1, "oid": oid, "device": "phone", "country": "DE", "os": "Android",
            "browser": "Chrome Mobile",
        })
    };
    let unknown = json!({"at": now + 2, "kind": 1, "oid": "102", "country": "FR"});
    let tail = json!({"tail": [unknown, of_phone("101", now + 1), of_phone("100", now)]});
    until("three visits", async || gateway.control().get("/v1/live/tail").await.json() == tail).await;
    assert!(!gateway.log().contains("Pixel"), "a user agent is logged nowhere");
}

#[tokio::test]
async fn without_a_file_there_is_no_country() {
    let gateway = TestGateway::with(&[("live.timeout", NEVER)]);
    let mut tv = connect(&gateway, MID, TV).await;
    let now = tv.now();
    tv.watch([beat(100, now)]).await;
    let (os, browsers) = (json!({"Web0S": 1}), json!({"Chrome": 1}));
    wait_for_shares(&gateway, json!({"countries": {}, "os": os, "browsers": browsers, "devices": {"tv": 1}})).await;
}
