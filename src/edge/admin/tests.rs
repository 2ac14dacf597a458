//! The routes of the probe listener.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use http_body_util::BodyExt;
use prometheus_client::metrics::counter::Counter;
use tower::ServiceExt;

use super::readiness::ReadyGauge;
use super::*;
use crate::shutdown::Shutdown;
use domain::fixtures::{believing, measured};
use domain::ingest::health::{LaneHealth, StoreHealth};
use domain::time::guard::ClockStatus;
use model::shard::Shard;

struct Fixture {
    router: Router,
    shutdown: Shutdown,
    lanes: Vec<Arc<LaneHealth>>,
}

impl Fixture {
    fn new() -> Self {
        Self::with(ClockStatus::alone())
    }

    fn with(clock_status: ClockStatus) -> Self {
        let mut registry = Registry::with_prefix("heartline");
        let counter = Counter::<u64>::default();
        counter.inc_by(3);
        registry.register("beats", "Beats", counter);
        let shutdown = Shutdown::new(Duration::from_secs(1));
        let lanes: Vec<Arc<LaneHealth>> = (0..4).map(|_| Arc::default()).collect();
        let lane_of = Box::new(|shard: Shard| usize::from(shard.0 / 250));
        let health = StoreHealth::new(lanes.clone(), lane_of, Box::new(|_| true), Box::new(Vec::new));
        let health = Arc::new(health);
        let readiness = Arc::new(Readiness { health, ready_share: 0.5, stop: shutdown.stop(), clock_status });
        registry.register_collector(Box::new(ReadyGauge(readiness.clone())));
        let (degraded, registry) = (Vec::new(), Arc::new(registry));
        let router = router(Admin { readiness, degraded, registry });
        Fixture { router, shutdown, lanes }
    }

    /// The reasons for which the metrics show it as not ready.
    async fn not_ready(&self) -> Vec<String> {
        let (_, page) = self.get("/metrics").await;
        let samples = page.lines().filter_map(|line| line.strip_prefix("heartline_ready{reason=\""));
        let samples: Vec<_> = samples.map(|sample| sample.split_once("\"} ").expect("a sample")).collect();
        assert_eq!(samples.len(), 3, "{page}");
        samples.into_iter().filter(|(_, ready)| *ready == "0").map(|(reason, _)| reason.to_owned()).collect()
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
    }
}

#[tokio::test]
async fn a_gateway_is_ready_until_it_drains_and_alive_all_the_while() {
    let fixture = Fixture::new();
    assert_eq!(fixture.get("/readyz").await, (200, r#"{"ready":true}"#.to_owned()));
    fixture.shutdown.drain();
    let unready = r#"{"ready":false,"reasons":["draining"]}"#;
    assert_eq!(fixture.get("/readyz").await, (503, unready.to_owned()));
    assert_eq!(fixture.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn a_gateway_is_ready_while_enough_users_are_served() {
    let fixture = Fixture::new();
    let away = |lanes: usize| {
        for (index, lane) in fixture.lanes.iter().enumerate() {
            lane.set_away((index < lanes).then(|| "node 1 is full".to_owned()));
        }
    };
    away(2);
    let half = r#"{"ready":true,"degraded":["the store takes no writes of 50.0 % of the users: node 1 is full"]}"#;
    assert_eq!(fixture.get("/readyz").await, (200, half.to_owned()));
    away(3);
    let quarter = r#"{"ready":false,"reasons":["the store takes no writes of 75.0 % of the users: node 1 is full"]}"#;
    assert_eq!(fixture.get("/readyz").await, (503, quarter.to_owned()));
    away(4);
    let none = r#"{"ready":false,"reasons":["the store takes no writes: node 1 is full"]}"#;
    assert_eq!(fixture.get("/readyz").await, (503, none.to_owned()));
    away(0);
    assert_eq!(fixture.get("/readyz").await, (200, r#"{"ready":true}"#.to_owned()));
}

#[tokio::test]
async fn a_gateway_is_not_ready_while_its_clock_is_off() {
    assert_eq!(Fixture::with(measured(Some(900)).await).get("/readyz").await.0, 200);
    let (status, said) = Fixture::with(measured(Some(-2_000)).await).get("/readyz").await;
    assert!(status == 503 && said.contains("ahead of the store's"), "{said}");
}

#[tokio::test]
async fn a_gateway_is_not_ready_while_the_store_is_away_even_without_commits() {
    let unready = r#"{"ready":false,"reasons":["the store takes no writes"]}"#;
    assert_eq!(Fixture::with(measured(None).await).get("/readyz").await, (503, unready.to_owned()));
}

#[tokio::test]
async fn the_metrics_say_why_a_gateway_is_not_ready() {
    let fixture = Fixture::new();
    assert_eq!(fixture.not_ready().await, [""; 0]);
    fixture.shutdown.drain();
    assert_eq!(fixture.not_ready().await, ["draining"]);
    for lane in &fixture.lanes {
        lane.set_away(Some("node 1 is full".to_owned()));
    }
    assert_eq!(fixture.not_ready().await, ["draining", "store"]);
    assert_eq!(Fixture::with(measured(Some(-2_000)).await).not_ready().await, ["clock"]);
    assert_eq!(Fixture::with(believing(0)).not_ready().await, ["clock"]);
}

#[tokio::test]
async fn metrics_are_text() {
    let (status, text) = Fixture::new().get("/metrics").await;
    assert_eq!(status, 200);
    assert!(text.lines().any(|line| line == "heartline_beats_total 3"), "{text}");
}

#[tokio::test]
async fn the_admin_listener_serves_no_control_routes() {
    let fixture = Fixture::new();
    for path in ["/", "/v1/kick", "/v1/revoke", "/v1/erase", "/v1/export?mid=42", "/v1/events"] {
        let (status, problem) = fixture.get(path).await;
        assert!(status == 404 && problem.contains("/problems/not_found"), "{path}: {problem}");
    }
}
