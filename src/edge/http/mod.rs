//! HTTP on the public listener: the same token and the same semantics as on a socket, one request at a time.
//!
//! ```text
//! request_log ─▶ metrics ─▶ cors ─▶ query::refuse_tokens ─▶ body::refuse_unread ─▶ refuse_out_of_time ─▶ bearer
//!     ─▶ beats, history, recording, rewards, views ─▶ commit
//! request_log ─▶ metrics ─▶ asked_origin
//! ```
//!
//! Whatever goes wrong is answered with a [`problem`] document. [`problem`], [`body`], [`bearer`], [`pending`],
//! [`accepted`], [`passed_on`] and [`asked_at`] serve the other listeners of the edge, too, and [`event_stream`] serves those alone.

pub mod accepted;
pub mod arriving_body;
pub mod asked_at;
mod asked_origin;
pub mod bearer;
mod beats;
pub mod body;
pub mod content_path;
mod cors;
pub mod event_stream;
mod history;
pub mod passed_on;
pub mod pending;
pub mod problem;
pub mod query;
mod recording;
mod request_log;
mod rewards;
mod views;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use super::context::ConnectionContext;
use super::metrics::http as http_metrics;
use problem::Problem;

/// All paths but the socket's. Others may be merged into it, if they bring no fallback of their own.
pub fn router(context: Arc<ConnectionContext>) -> Router {
    Router::new()
        .route("/v1/beats", post(beats::post))
        .route("/v1/history", get(history::list).delete(history::clear))
        .route("/v1/history/get", post(history::get))
        .route("/v1/history/{kind}/{oid}", get(history::get_one).delete(history::delete_one))
        .route("/v1/recording", get(recording::get).put(recording::put))
        .route("/v1/rewards/today", get(rewards::today))
        .merge(routes_of_views())
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn_with_state(context.clone(), refuse_out_of_time))
        .layer(from_fn(body::refuse_unread))
        .layer(from_fn(query::refuse_tokens))
        .layer(from_fn_with_state(context.clone(), cors::apply))
        .merge(asked_origin::router(&context))
        .layer(from_fn_with_state(context.metrics.http.clone(), http_metrics::measure))
        .layer(from_fn_with_state(context.clone(), request_log::log))
        .with_state(context)
}

fn routes_of_views() -> Router<Arc<ConnectionContext>> {
    Router::new()
        .route("/v1/views/get", post(views::get))
        .route("/v1/views/{kind}/{oid}", post(views::count))
        .route("/v1/views/{kind}/{oid}/days", get(views::days))
}

/// Views alone, for requests that gateways have [passed on](passed_on).
pub fn views(context: Arc<ConnectionContext>) -> Router {
    routes_of_views().with_state(context)
}

/// A beat that is judged by a wrong clock may be refused for good.
async fn refuse_out_of_time(State(context): State<Arc<ConnectionContext>>, request: Request, next: Next) -> Response {
    match context.clock_status.trouble() {
        Some(trouble) => Problem::out_of_time(trouble).into_response(),
        None => next.run(request).await,
    }
}
