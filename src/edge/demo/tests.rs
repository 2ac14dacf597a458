//! The demo's routes.

mod docs;
mod packs;
mod receivers;

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, StatusCode, request, response};
use http_body_util::BodyExt;
use prometheus_client::metrics::counter::Counter;
use tower::ServiceExt;

use super::*;
use crate::auth::{AuthConfig, Subject, Verifier};
use crate::shutdown::Shutdown;
use domain::events::Events;
use domain::fixtures::MemoryLog;
use domain::live::board::LiveBoard;
use domain::rewards::today::Today;
use domain::time::clock::Clock;
use model::ids::UserId;
use model::rewards::day::Day;
use model::secret::Secret;

const CLIP: &str = "/demo/dawn.webm";
const DAY_MS: u64 = 24 * 3_600_000;

fn config() -> AuthConfig {
    let secret = Secret::new("a-key-for-tests-only-0123456789abcdef".to_owned());
    AuthConfig::of_secret(secret)
}

fn key() -> Option<Arc<SigningKey>> {
    SigningKey::load(&config(), Path::new("/nowhere")).expect("a configured key").map(Arc::new)
}

fn context() -> DemoContext {
    let mut registry = Registry::with_prefix("heartline");
    let beats: Counter = Counter::default();
    registry.register("beats", "Beats", beats.clone());
    beats.inc_by(7);
    let stop = Shutdown::new(Duration::ZERO).stop();
    let tail = Tail::Logs {
        rewards: Events::new(MemoryLog::with(3)),
        positions: Events::new(MemoryLog::with(1)),
        stop: stop.clone(),
    };
    let live = Arc::new(LiveRoutes::new(LiveBoard::new(), None, 1, &mut registry));
    let (registry, packs, counters, receivers, clock) = (Arc::new(registry), None, None, None, None);
    DemoContext { key: key(), registry, tail, live, packs, counters, receivers, clock, behind_proxies: false, stop }
}

/// A clock whose time of day is unknown.
fn rewards_clock() -> RewardsClock {
    let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
    let today = Today::open("UTC", Arc::default(), None, clock.now()).expect("a zone");
    RewardsClock { today: Arc::new(today), clock }
}

async fn ask(request: request::Builder, body: &'static str) -> (response::Parts, Bytes) {
    ask_of(context(), request, body).await
}

async fn ask_of(context: DemoContext, request: request::Builder, body: impl Into<Body>) -> (response::Parts, Bytes) {
    let request = request.body(body.into()).expect("a request");
    let Ok(answer): Result<_, Infallible> = router(context).oneshot(request).await;
    let (head, body) = answer.into_parts();
    (head, body.collect().await.expect("a body").to_bytes())
}

fn of_the_page(request: request::Builder) -> request::Builder {
    request.header("host", "127.0.0.1:7700").header("content-type", "application/json")
}

fn header<'a>(head: &'a response::Parts, name: &str) -> &'a str {
    head.headers.get(name).map_or("", |value| value.to_str().expect("ASCII"))
}

#[tokio::test]
async fn the_page_is_html_and_safe_to_open() {
    for path in ["/", "/demo/index.html", "/demo/live/"] {
        let (head, body) = ask(Request::get(path), "").await;
        assert_eq!((head.status, header(&head, "content-type")), (StatusCode::OK, "text/html; charset=utf-8"));
        assert!(!body.is_empty());
        assert!(header(&head, "content-security-policy").contains("frame-ancestors 'self'"));
        assert_eq!(header(&head, "x-content-type-options"), "nosniff");
    }
}

#[tokio::test]
async fn only_files_of_the_page_are_there() {
    for path in ["/demo/nothing.js", "/demo/make-clip.sh", "/demo/../Cargo.toml", "/demo/%2e%2e/Cargo.toml"] {
        let (head, _) = ask(Request::get(path), "").await;
        assert_eq!((head.status, header(&head, "content-type")), (StatusCode::NOT_FOUND, "application/problem+json"));
    }
    let (head, _) = ask(Request::post("/demo/demo.js"), "").await;
    assert_eq!((head.status, header(&head, "allow")), (StatusCode::METHOD_NOT_ALLOWED, "GET,HEAD"));
}

#[tokio::test]
async fn the_page_learns_which_process_serves_it() {
    let (head, body) = ask(of_the_page(Request::get("/demo/process")), "").await;
    let shown: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((head.status, header(&head, "cache-control")), (StatusCode::OK, "no-store"));
    assert_eq!(shown["pid"], std::process::id());
    assert_eq!(shown["instance"].as_str().map(str::len), Some(16));
    assert!(!shown["command"].as_str().expect("text").is_empty());
    assert_eq!(shown["packs"], false);
    let other_page = of_the_page(Request::get("/demo/process")).header("origin", "https://evil.example");
    assert_eq!(ask(other_page, "").await.0.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_clip_comes_whole_or_in_part() {
    let (head, whole) = ask(Request::get(CLIP), "").await;
    assert_eq!((head.status, header(&head, "content-type")), (StatusCode::OK, "video/webm"));
    assert_eq!(header(&head, "accept-ranges"), "bytes");
    let size = whole.len();

    let (head, part) = ask(Request::get(CLIP).header("range", "bytes=100-199"), "").await;
    assert_eq!((head.status, part), (StatusCode::PARTIAL_CONTENT, whole.slice(100..200)));
    assert_eq!(header(&head, "content-range"), format!("bytes 100-199/{size}"));
    assert_eq!((header(&head, "content-type"), header(&head, "content-length")), ("video/webm", "100"));

    let (head, nothing) = ask(Request::get(CLIP).header("range", format!("bytes={size}-")), "").await;
    assert_eq!((head.status, nothing.len()), (StatusCode::RANGE_NOT_SATISFIABLE, 0));
    assert_eq!(header(&head, "content-range"), format!("bytes */{size}"));

    let (head, nothing) = ask(Request::head(CLIP).header("range", "bytes=0-9"), "").await;
    assert_eq!((head.status, nothing.len()), (StatusCode::OK, 0));
    assert_eq!(header(&head, "content-length"), size.to_string());
}

#[tokio::test]
async fn a_file_that_the_browser_has_is_a_304() {
    let (head, _) = ask(Request::get(CLIP), "").await;
    let tag = header(&head, "etag");
    for known in [tag.to_owned(), format!("\"other\", W/{tag}"), "*".to_owned()] {
        let (head, nothing) = ask(Request::get(CLIP).header("if-none-match", &known), "").await;
        assert_eq!((head.status, nothing.len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
        assert_eq!(header(&head, "etag"), tag);
    }
    let (head, _) = ask(Request::get(CLIP).header("if-none-match", "\"other\""), "").await;
    assert_eq!(head.status, StatusCode::OK);
    let (head, _) = ask(Request::get(CLIP).header("range", "bytes=0-9").header("if-range", "\"other\""), "").await;
    assert_eq!(head.status, StatusCode::OK);
}

#[tokio::test]
async fn a_token_is_one_that_the_gateway_accepts() {
    let wanted = Request::post("/demo/token").header("host", "127.0.0.1:7700");
    let (head, body) = ask(wanted, r#"{"mid":"42","ttl":60}"#).await;
    assert_eq!((head.status, header(&head, "cache-control")), (StatusCode::OK, "no-store"));
    let answer: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    let expires = answer["expires"].as_u64().expect("a number");
    let token = answer["token"].as_str().expect("a text");
    let verifier = Verifier::new(&config(), key().as_deref()).expect("keys");
    let before = expires - Duration::from_secs(60).as_millis() as u64;
    assert_eq!(verifier.verify(token, before).expect("a good token").subject, Subject::Number(UserId(42)));
}

#[tokio::test]
async fn the_page_reads_the_metrics() {
    let (head, body) = ask(Request::get("/demo/metrics").header("host", "127.0.0.1:7700"), "").await;
    assert_eq!((head.status, header(&head, "cache-control")), (StatusCode::OK, "no-store"));
    assert!(header(&head, "content-type").starts_with("application/openmetrics-text"));
    assert!(str::from_utf8(&body).expect("text").contains("\nheartline_beats_total 7\n"), "{body:?}");
}

#[tokio::test]
async fn the_page_reads_the_events() {
    let (head, body) = ask(of_the_page(Request::get("/demo/events?after=1&limit=1")), "").await;
    assert_eq!((head.status, header(&head, "cache-control")), (StatusCode::OK, "no-store"));
    assert_eq!(body, r#"{"events":[{"offset":2,"event":{"n":2}}],"next":2,"log":"a1","newest":3}"#);
    let (head, _) = ask(of_the_page(Request::get("/demo/events?limit=0")), "").await;
    assert_eq!(head.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_page_moves_the_day_of_rewards_past_midnight() {
    let stage = DemoContext { clock: Some(rewards_clock()), ..context() };
    let get = async || ask_of(stage.clone(), of_the_page(Request::get("/demo/clock")), "").await;
    let read = |body: &Bytes| -> (Day, u64) {
        let shown: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        assert_eq!(shown["zone"], "UTC");
        (shown["day"].as_str().expect("a text").parse().expect("a day"), shown["midnight"].as_u64().expect("a number"))
    };
    let (head, body) = get().await;
    assert_eq!((head.status, header(&head, "cache-control")), (StatusCode::OK, "no-store"));
    let (day, midnight) = read(&body);
    assert!((1..=DAY_MS).contains(&midnight), "{midnight}");

    let forward = |by: u64| format!(r#"{{"forward":{by}}}"#);
    let post = async |body| ask_of(stage.clone(), of_the_page(Request::post("/demo/clock")), Body::from(body)).await;
    let (head, body) = post(forward(midnight)).await;
    let (next, left) = read(&body);
    assert_eq!((head.status, next.number()), (StatusCode::OK, day.number() + 1));
    assert!((DAY_MS - 60_000..=DAY_MS).contains(&left), "{left}");
    assert_eq!(read(&get().await.1).0, next);
    assert_eq!(read(&post(forward(0)).await.1).0, next);
    assert_eq!(post("{}".to_owned()).await.0.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn without_the_setting_there_is_no_clock_to_move() {
    for request in [Request::get("/demo/clock"), Request::post("/demo/clock")] {
        let (head, body) = ask(of_the_page(request), r#"{"forward":1}"#).await;
        assert_eq!(head.status, StatusCode::NOT_FOUND);
        assert!(str::from_utf8(&body).expect("text").contains("demo.clock"), "{body:?}");
    }
}

#[tokio::test]
async fn other_pages_are_refused_on_every_route_of_the_demo() {
    let routes = [
        Request::post("/demo/token"),
        Request::get("/demo/metrics"),
        Request::get("/demo/counters?content=1:100"),
        Request::get("/demo/events"),
        Request::get("/demo/live/stream"),
        Request::get("/demo/packs"),
        Request::get("/demo/clock"),
        Request::post("/demo/clock"),
    ];
    for request in routes {
        let other = request.header("host", "127.0.0.1:7700").header("origin", "https://evil.example");
        let stage = DemoContext { clock: Some(rewards_clock()), ..context() };
        assert_eq!(ask_of(stage, other, r#"{"mid":"42","forward":1}"#).await.0.status, StatusCode::FORBIDDEN);
    }
    let renamed = Request::get("/demo/metrics").header("host", "evil.example:7700");
    assert_eq!(ask(renamed, "").await.0.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_token_in_a_url_is_refused() {
    assert_eq!(ask(Request::get("/?token=abc"), "").await.0.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_proxied_request_is_refused_unless_proxies_are_expected() {
    let proxied = [
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-host", "demo.example.org"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-port", "443"),
        ("x-forwarded-server", "proxy"),
        ("x-forwarded-prefix", "/demo"),
        ("forwarded", "for=203.0.113.9"),
        ("via", "1.1 proxy"),
        ("x-real-ip", "203.0.113.9"),
    ];
    for (name, value) in proxied {
        for request in [Request::get("/"), Request::post("/demo/token"), Request::get("/demo/events")] {
            let request = of_the_page(request).header(name, value);
            assert_eq!(ask(request, r#"{"mid":"42"}"#).await.0.status, StatusCode::FORBIDDEN, "{name}");
        }
        let stage = DemoContext { behind_proxies: true, ..context() };
        let request = of_the_page(Request::post("/demo/token")).header(name, value);
        assert_eq!(ask_of(stage, request, r#"{"mid":"42"}"#).await.0.status, StatusCode::OK, "{name}");
    }
}
