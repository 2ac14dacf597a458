//! The demo: its page, and the stand-in for an app's own back-end that hands out tokens. On a loopback address only.

mod page;
mod range;
mod token;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, map_response};
use axum::response::Response;
use axum::routing::{get, post};
use http::{HeaderValue, header};

use super::auth::SigningKey;
use super::http::{problem, query};

/// The page takes all it needs from here, and only pages from here may frame it.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'self'";

/// To be merged into the router of the public listener, whose fallback answers for all other paths. `key` signs what
/// the gateway accepts; without one the page has no tokens.
pub fn router(key: Option<Arc<SigningKey>>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/demo/{*path}", get(page::file))
        .route("/demo/token", post(token::post))
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn(query::refuse_tokens))
        .layer(map_response(secure))
        .with_state(key)
}

async fn secure(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
