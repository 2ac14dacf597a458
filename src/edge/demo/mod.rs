//! The demo: its page, the documentation, the stand-in for an app's own back-end that hands out tokens, the gateway's
//! own counts, the event log, the live numbers, the counters of contents, the history packs, two receivers of events, the
//! reward clock, and which process this is. On a loopback address only.

mod clock;
mod counters;
mod docs;
mod events;
mod live;
mod metrics;
mod packs;
mod page;
mod process;
mod range;
mod receivers;
mod same_page;
mod token;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{get, post, put};
use http::{HeaderValue, header};
use prometheus_client::registry::Registry;

pub use self::clock::RewardsClock;
pub use self::packs::PackStreams;
pub use self::receivers::Receivers;
use super::auth::SigningKey;
use super::control::events::Tail;
use super::control::live::LiveRoutes;
use super::http::{problem, query};
use crate::shutdown::Stop;
use domain::counters::Counters;

/// The page takes all it needs from here, and only pages from here may frame it.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'self'";

/// The state of the demo routes.
#[derive(Clone)]
pub struct DemoContext {
    /// Signs what the gateway accepts; without one the page has no tokens.
    pub key: Option<Arc<SigningKey>>,
    /// All that is counted, complete.
    pub registry: Arc<Registry>,
    pub tail: Tail,
    pub live: Arc<LiveRoutes>,
    /// `None`: this gateway sends no packs.
    pub packs: Option<PackStreams>,
    /// `None`: this gateway has no derived counters.
    pub counters: Option<Arc<Counters>>,
    /// `None`: this gateway cannot deliver to itself.
    pub receivers: Option<Arc<Receivers>>,
    /// `None`: the page cannot move the clock.
    pub clock: Option<RewardsClock>,
    /// Whether requests may come through a proxy.
    pub behind_proxies: bool,
    /// Streams end when the drain begins.
    pub stop: Stop,
}

/// To be merged into the router of the public listener, whose fallback answers for all other paths.
pub fn router(context: DemoContext) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/demo/{*path}", get(page::file))
        .route("/demo/live/", get(page::live))
        .route("/demo/live/stream", get(live::stream))
        .route("/demo/docs/", get(docs::index))
        .route("/demo/docs/{name}", get(docs::document_page))
        .route("/demo/process", get(process::get))
        .route("/demo/token", post(token::post))
        .route("/demo/metrics", get(metrics::get))
        .route("/demo/events", get(events::get))
        .route("/demo/counters", get(counters::get))
        .route("/demo/packs", get(packs::stream))
        .route("/demo/receivers", get(receivers::list).put(receivers::subscribe).delete(receivers::unsubscribe))
        .route("/demo/receivers/{name}", put(receivers::behave).post(receivers::receive))
        .route("/demo/clock", get(clock::get).post(clock::post))
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn_with_state(context.behind_proxies, same_page::refuse_proxied))
        .layer(from_fn(query::refuse_tokens))
        .layer(map_response(secure))
        .with_state(context)
}

/// Answers no request that came through a proxy, unless that is wanted.
pub fn on_this_machine<S: Clone + Send + Sync + 'static>(router: Router<S>, behind_proxies: bool) -> Router<S> {
    router.layer(from_fn_with_state(behind_proxies, same_page::refuse_proxied))
}

async fn secure(mut response: Response) -> Response {
    let headers = response.headers_mut();
    // But for the page's own files, which say so themselves.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
