//! The listener of whoever runs the gateway: health, metrics, kicks. It asks for no token.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{StatusCode, header};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

use super::http::body;
use super::http::problem::{self, Problem};
use super::protocol::json::decode_kick_body;
use crate::domain::devices::block::Block;
use crate::domain::ingest::commit::StoreHealth;
use crate::model::mid_hash::MidHash;
use crate::shutdown::Stop;

const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// A kick names one user.
const BODY_BYTES_MAX: usize = 1024;

struct Admin {
    health: Arc<StoreHealth>,
    stop: Stop,
    registry: Arc<Registry>,
    block: Arc<Block>,
    /// Names users in logs.
    mid_hash: MidHash,
}

/// `registry`: all that is counted, complete.
pub fn router(
    health: Arc<StoreHealth>,
    stop: Stop,
    registry: Arc<Registry>,
    block: Arc<Block>,
    mid_hash: MidHash,
) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/v1/kick", post(kick))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn(refuse_pages))
        .with_state(Arc::new(Admin { health, stop, registry, block, mid_hash }))
}

/// The process lives: it answers.
async fn healthz() -> Response {
    body::answered(r#"{"alive":true}"#.to_owned())
}

/// Whether a load balancer may send anybody here.
async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    let mut reasons = Vec::new();
    if admin.stop.is_draining() {
        reasons.push("draining");
    }
    if !admin.health.takes_writes() {
        reasons.push("the store takes no writes");
    }
    if reasons.is_empty() {
        return body::answered(r#"{"ready":true}"#.to_owned());
    }
    let document = serde_json::json!({"ready": false, "reasons": reasons});
    (StatusCode::SERVICE_UNAVAILABLE, body::answered(document.to_string())).into_response()
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    let mut page = String::new();
    text::encode(&mut page, &admin.registry).expect("a String takes all that is written to it");
    ([(header::CONTENT_TYPE, METRICS_TYPE)], page).into_response()
}

/// Closes the user's connections, and keeps him out for a while.
async fn kick(State(admin): State<Arc<Admin>>, request: Request) -> Result<StatusCode, Problem> {
    let body = body::whole(request.into_body(), BODY_BYTES_MAX).await?;
    let user = decode_kick_body(&body)?;
    admin.block.kick(user, Instant::now());
    tracing::info!(user = %admin.mid_hash.of(user), "kicked");
    Ok(StatusCode::NO_CONTENT)
}

/// Browsers can reach a loopback address on behalf of any page; no page has business here.
async fn refuse_pages(request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::ORIGIN) {
        return Problem::forbidden("pages may not use the admin listener").into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use http_body_util::BodyExt;
    use prometheus_client::metrics::counter::Counter;
    use tower::ServiceExt;

    use super::*;
    use crate::domain::devices::presence::Presence;
    use crate::model::ids::UserId;
    use crate::shutdown::Shutdown;

    struct Fixture {
        router: Router,
        block: Arc<Block>,
        shutdown: Shutdown,
    }

    impl Fixture {
        fn new() -> Self {
            let mut registry = Registry::with_prefix("heartline");
            let counter = Counter::<u64>::default();
            counter.inc_by(3);
            registry.register("beats", "Beats", counter);
            let shutdown = Shutdown::new(Duration::from_secs(1));
            let block = Arc::new(Block::new(Presence::new(8)));
            let router =
                router(Arc::default(), shutdown.stop(), Arc::new(registry), block.clone(), MidHash::with_key(&[0; 16]));
            Fixture { router, block, shutdown }
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
}
