//! Which pages may ask, and read the answer: the Origin allow-list of the sockets.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use tracing::field;

use super::problem::Problem;
use crate::address::ClientAddress;
use crate::context::ConnectionContext;
use crate::metrics::Refused;
use crate::origin::Origins;

/// Seconds for which a browser need not ask again; it keeps none longer.
const PREFLIGHT_SECONDS: &str = "7200";

/// Refuses pages that are not allowed, answers preflights, and lets allowed pages read every answer, errors included.
pub async fn apply(State(context): State<Arc<ConnectionContext>>, request: Request, next: Next) -> Response {
    let allowed = context.origins.allow(request.headers());
    let origin = request.headers().get(header::ORIGIN).cloned().filter(|_| allowed);
    let mut response = if !allowed {
        refused(&context, &request);
        Problem::forbidden("this origin is not allowed (server.origins)").into_response()
    } else if is_preflight(&request) {
        preflight()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    // Answers about a user must not be cached, nor must errors.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
    }
    response
}

fn refused(context: &ConnectionContext, request: &Request) {
    let address = request.extensions().get::<ClientAddress>().map(|client| field::display(client.0));
    let origin = Origins::named(request.headers());
    context.metrics.refused(Refused::Origin);
    tracing::debug!(event = "request_refused", address, origin, cause = Refused::Origin.word(), "request refused");
}

fn is_preflight(request: &Request) -> bool {
    let headers = request.headers();
    request.method() == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

fn preflight() -> Response {
    let answer = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
        (header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS),
    ];
    (StatusCode::NO_CONTENT, answer).into_response()
}
