//! History services on one Redis, one of which cannot reach it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{FreezingProxy, HistoryService, TestGateway, beat, beats, until};

/// Enough users for lanes of each service.
const MIDS: std::ops::Range<u64> = 100..132;
/// From when a service loses its store until its users are served by another one.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// A busy machine runs the test slower than a gateway has to be.
const SLACK: Duration = Duration::from_secs(5);
const COMMITS: &str = r#"heartline_grpc_calls_total{method="gateway_commit",status="ok"}"#;

/// A gateway that is on Redis itself, two history services on the same Redis, the first through a proxy, and a gateway
/// without a store that uses both.
struct Scene {
    direct: TestGateway,
    proxy: FreezingProxy,
    first: HistoryService,
    _second: HistoryService,
    gateway: TestGateway,
}

impl Scene {
    async fn new() -> Self {
        let direct = TestGateway::on_redis(&[]);
        let port = direct.redis_url().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        let proxy = FreezingProxy::start(port);
        let start = |url: &str| {
            let service = HistoryService::default();
            service.start(&[("store.hot_store", "redis"), ("redis.url", url)]);
            service
        };
        let (first, second) = (start(&format!("redis://127.0.0.1:{}", proxy.port())), start(&direct.redis_url()));
        let addresses = json!([first.address(), second.address()]).to_string();
        let settings = [("store.hot_store", "history-service"), ("history_service.addresses", addresses.as_str())];
        let gateway = TestGateway::embedded(&settings);
        gateway.wait_for_metric("heartline_history_services", |services| services == 2.0).await;
        Scene { direct, proxy, first, _second: second, gateway }
    }

    async fn first_commits(&self) -> f64 {
        self.first.metric(COMMITS).await
    }

    /// A user whose changes the first service commits.
    async fn user_of_first(&self) -> u64 {
        for mid in MIDS {
            let before = self.first_commits().await;
            let mut client = self.gateway.connect(mid).await;
            let at = client.now();
            client.watch([beat(100, at)]).await;
            if self.first_commits().await > before {
                return mid;
            }
        }
        panic!("the first service has no user of {MIDS:?}");
    }
}

#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn users_of_a_service_that_loses_its_store_go_to_another_one_within_seconds() {
    let scene = Scene::new().await;
    let mut clients = Vec::new();
    for mid in MIDS {
        let mut client = scene.gateway.connect(mid).await;
        let at = client.now();
        client.watch([beat(100, at)]).await;
        clients.push((client, at));
    }
    assert!(scene.first_commits().await > 0.0, "some are its users");
    scene.proxy.freeze();
    let began = Instant::now();
    for (client, at) in &mut clients {
        let seq = client.send(beats([beat(100, *at + 1).pos(20_000)])).await;
        client.acked(seq).await;
    }
    assert!(began.elapsed() < LEAVE_WITHIN + SLACK, "acks wait for {:?}", began.elapsed());
    assert!(scene.gateway.log().contains("history_service_store_away"), "{}", scene.gateway.log());
    assert_eq!(scene.gateway.admin().get("/readyz").await.text(), r#"{"ready":true}"#, "all have a service");
    scene.proxy.thaw();
    scene.gateway.wait_for_log("history_service_store_back").await;
    let commits = scene.first_commits().await;
    for (client, at) in &mut clients {
        client.watch([beat(100, *at + 2).pos(30_000)]).await;
    }
    assert!(scene.first_commits().await > commits, "it has its users again");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn users_without_a_service_that_reaches_its_store_are_not_served() {
    let scene = Scene::new().await;
    let addresses = json!([scene.first.address()]).to_string();
    let alone = TestGateway::embedded(&[
        ("store.hot_store", "history-service"),
        ("history_service.addresses", addresses.as_str()),
    ]);
    until("it is ready", async || alone.admin().get("/readyz").await.status == 200).await;
    scene.proxy.freeze();
    let unready = async || alone.admin().get("/readyz").await.status == 503;
    until("nobody's changes are committed", unready).await;
    scene.proxy.thaw();
    until("it is ready again", async || alone.admin().get("/readyz").await.status == 200).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run services"]
async fn an_erasure_that_one_service_brings_late_takes_nothing_that_was_played_since() {
    let scene = Scene::new().await;
    let mid = scene.user_of_first().await;
    // The erasure is the next script of the first service. Reads need none.
    scene.proxy.freeze_at(b"EVALSHA");
    let erased =
        async || scene.gateway.control().post("/v1/erase", &json!({"mid": mid.to_string()})).await.status == 204;
    until("the erasure is done", erased).await;
    assert!(scene.proxy.is_frozen(), "the first service has it in flight");
    let mut client = scene.gateway.connect(mid).await;
    let at = client.now();
    client.watch([beat(100, at).pos(7_000)]).await;
    scene.proxy.thaw();
    until("the first service has done what it had", async || scene.first.admin().get("/readyz").await.status == 200)
        .await;
    assert_eq!(client.position(100).await, Some(7_000));
    assert_eq!(scene.direct.connect(mid).await.position(100).await, Some(7_000), "in Redis, too");
}
