//! The routes of the admin listener.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use prometheus_client::metrics::counter::Counter;
use tower::ServiceExt;

use super::*;
use crate::domain::devices::presence::Presence;
use crate::domain::events::Events;
use crate::domain::events::tests::MemoryLog;
use crate::domain::revocations::tests::in_memory as revocations_in_memory;
use crate::domain::rewards::bus_health::tests::healthy;
use crate::domain::timekeeper::Timekeeping;
use crate::domain::timekeeper::tests::measured;
use crate::model::ids::UserId;
use crate::shutdown::Shutdown;

struct Fixture {
    router: Router,
    block: Arc<Block>,
    shutdown: Shutdown,
    log: Arc<MemoryLog>,
}

impl Fixture {
    fn new() -> Self {
        Self::with(Timekeeping::alone())
    }

    fn with(timekeeping: Timekeeping) -> Self {
        let mut registry = Registry::with_prefix("heartline");
        let counter = Counter::<u64>::default();
        counter.inc_by(3);
        registry.register("beats", "Beats", counter);
        let shutdown = Shutdown::new(Duration::from_secs(1));
        let presence = Presence::new(8);
        let block = Arc::new(Block::new(presence.clone()));
        let admin = Admin {
            bus: healthy(),
            health: Arc::default(),
            stop: shutdown.stop(),
            timekeeping,
            registry: Arc::new(registry),
            block: block.clone(),
            revocations: Arc::new(revocations_in_memory(presence)),
            mid_hash: MidHash::with_key(&[0; 16]),
        };
        let log = MemoryLog::with(3);
        let tail = events::Tail::Log { events: Events::new(log.clone()), stop: shutdown.stop() };
        let router = router(admin, events::routes(tail));
        Fixture { router, block, shutdown, log }
    }

    async fn ask(&self, request: http::request::Builder, body: &'static str) -> (u16, String) {
        let request = request.body(Body::from(body)).expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.ask(Request::get(path), "").await
    }

    async fn kick(&self, body: &'static str) -> u16 {
        self.ask(Request::post("/v1/kick").header("content-type", "application/json"), body).await.0
    }
}

#[tokio::test]
async fn it_is_ready_until_it_drains_and_alive_all_the_while() {
    let fixture = Fixture::new();
    assert_eq!(fixture.get("/readyz").await, (200, r#"{"ready":true}"#.to_owned()));
    fixture.shutdown.drain();
    let unready = r#"{"ready":false,"reasons":["draining"]}"#;
    assert_eq!(fixture.get("/readyz").await, (503, unready.to_owned()));
    assert_eq!(fixture.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn it_is_not_ready_while_its_clock_is_not_that_of_the_store() {
    assert_eq!(Fixture::with(measured(Some(900)).await).get("/readyz").await.0, 200);
    let (status, said) = Fixture::with(measured(Some(-2_000)).await).get("/readyz").await;
    assert!(status == 503 && said.contains("ahead of the store's"), "{said}");
}

#[tokio::test]
async fn it_is_not_ready_while_the_store_is_away_though_nobody_commits() {
    let unready = r#"{"ready":false,"reasons":["the store takes no writes"]}"#;
    assert_eq!(Fixture::with(measured(None).await).get("/readyz").await, (503, unready.to_owned()));
}

#[tokio::test]
async fn metrics_are_text() {
    let (status, text) = Fixture::new().get("/metrics").await;
    assert_eq!(status, 200);
    assert!(text.lines().any(|line| line == "heartline_beats_total 3"), "{text}");
}

#[tokio::test]
async fn a_kick_names_a_user_by_text_or_number() {
    let fixture = Fixture::new();
    assert_eq!(fixture.kick(r#"{"mid":"42"}"#).await, 204);
    assert_eq!(fixture.kick(r#"{"mid":7}"#).await, 204);
    let refused = |mid| fixture.block.refuses(UserId(mid), Instant::now());
    assert!(refused(42) && refused(7) && !refused(43));
    for bad in ["", "{}", r#"{"mid":"x"}"#, r#"{"mid":-1}"#, r#"["42"]"#] {
        assert_eq!(fixture.kick(bad).await, 400, "{bad}");
    }
}

#[tokio::test]
async fn pages_cannot_kick() {
    let (fixture, body) = (Fixture::new(), r#"{"mid":"42"}"#);
    let page = Request::post("/v1/kick").header("content-type", "application/json");
    let page = page.header("origin", "http://127.0.0.1:7701");
    assert_eq!(fixture.ask(page, body).await.0, 403);
    assert!(!fixture.block.refuses(UserId(42), Instant::now()));
}

#[tokio::test]
async fn what_is_not_there_is_a_problem() {
    let fixture = Fixture::new();
    assert!(fixture.get("/").await.1.contains("/problems/not_found"));
    assert_eq!(fixture.get("/v1/kick").await.0, 405);
}

#[tokio::test]
async fn a_revocation_is_shown_until_it_is_taken_back() {
    let fixture = Fixture::new();
    let post = |body| fixture.ask(Request::post("/v1/revoke"), body);
    assert_eq!(post(r#"{"mid":"42"}"#).await.0, 204);
    assert_eq!(post(r#"{"jti":"a+b","until":9999999999999}"#).await.0, 204);
    for bad in ["", "{}", r#"{"mid":"42","jti":"a"}"#, r#"{"mid":"42","until":1}"#] {
        assert_eq!(post(bad).await.0, 400, "{bad}");
    }
    let (status, shown) = fixture.get("/v1/revoke").await;
    assert!(status == 200 && shown.contains(r#""mid":"42""#) && shown.contains(r#""until":9999999999999"#), "{shown}");
    for query in ["mid=42", "jti=a%2Bb", "jti=never"] {
        let path = format!("/v1/revoke?{query}");
        assert_eq!(fixture.ask(Request::delete(path), "").await.0, 204, "{query}");
    }
    assert_eq!(fixture.ask(Request::delete("/v1/revoke"), "").await.0, 400);
    assert_eq!(fixture.get("/v1/revoke").await.1, r#"{"revocations":[]}"#);
}

#[tokio::test]
async fn events_are_given_from_any_offset_on() {
    let fixture = Fixture::new();
    let all = r#"{"events":[{"offset":1,"event":{"n":1}},{"offset":2,"event":{"n":2}},{"offset":3,"event":{"n":3}}],"next":3}"#;
    assert_eq!(fixture.get("/v1/events").await, (200, all.to_owned()));
    let second = r#"{"events":[{"offset":2,"event":{"n":2}}],"next":2}"#;
    assert_eq!(fixture.get("/v1/events?after=1&limit=1").await, (200, second.to_owned()));
    assert_eq!(fixture.get("/v1/events?after=9").await.1, r#"{"events":[],"next":9}"#);
    for (query, path) in [("limit=0", "limit"), ("after=x", "after"), ("wait=-1", "wait"), ("after=1&after=2", "query")]
    {
        let (status, problem) = fixture.get(&format!("/v1/events?{query}")).await;
        assert!(status == 400 && problem.contains(&format!(r#""detail":"{path}: "#)), "{problem}");
    }
    *fixture.log.away.lock().expect("no panic") = true;
    assert_eq!(fixture.get("/v1/events").await.0, 503);
}

#[tokio::test]
async fn whoever_asks_for_events_that_are_elsewhere_is_told_where() {
    let router = events::routes(events::Tail::Elsewhere("they are in a topic".into()));
    let answer = router.oneshot(Request::get("/v1/events?limit=0").body(Body::empty()).expect("a request")).await;
    let (head, body) = answer.expect("an answer").into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    assert_eq!(head.status, StatusCode::NOT_FOUND);
    assert!(String::from_utf8_lossy(&body).contains(r#""detail":"they are in a topic""#), "{body:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_events_is_answered_when_the_gateway_drains() {
    let fixture = Fixture::new();
    let drain_later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        fixture.shutdown.drain();
    };
    let began = tokio::time::Instant::now();
    let (answer, ()) = tokio::join!(fixture.get("/v1/events?after=3&wait=30000"), drain_later);
    assert_eq!(answer, (200, r#"{"events":[],"next":3}"#.to_owned()));
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}
