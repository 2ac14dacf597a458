//! `GET /v1/origin`: tells any page whether it may use the gateway.
//!
//! A browser does not tell a page why its socket was refused, nor lets it read a refusal over HTTP. So this path is
//! outside [`super::cors`], and its answer may be read by pages of any origin. There is no token: the requests of an
//! address are limited.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, Uri, header};

use super::problem::{self, Problem};
use super::{body, query};
use crate::address::{ClientAddress, Network};
use crate::context::ConnectionContext;
use crate::origin::Origins;
use crate::protocol::json::encode_asked_origin;

/// To be merged into the router of the other paths, whose fallback answers for what is not here.
pub fn router(context: &Arc<ConnectionContext>) -> Router<Arc<ConnectionContext>> {
    Router::new()
        .route("/v1/origin", get(answer))
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn_with_state(context.clone(), refuse_often))
        .layer(from_fn(body::refuse_unread))
        .layer(from_fn(query::refuse_tokens))
        .layer(map_response(for_all_pages))
}

async fn answer(
    State(context): State<Arc<ConnectionContext>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    query::none(&uri)?;
    Ok(body::answered(encode_asked_origin(Origins::sent(&headers), context.origins.allow(&headers))))
}

async fn refuse_often(State(context): State<Arc<ConnectionContext>>, request: Request, next: Next) -> Response {
    let client = request.extensions().get::<ClientAddress>();
    match client.map_or(Ok(()), |client| context.anonymous.count(&Network::of(client.0))) {
        Ok(()) => next.run(request).await,
        Err(wait) => Problem::of_address_too_fast(wait).into_response(),
    }
}

/// Pages of any origin may read each answer, errors included.
async fn for_all_pages(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
