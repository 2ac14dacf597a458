//! The probe listener of a process that has no sockets.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use prometheus_client::registry::Registry;

use super::{Degraded, healthz, is_ready};
use crate::edge::http::problem;
use crate::edge::metrics;
use crate::shutdown::Stop;

/// What it works with.
pub struct JobAdmin {
    pub stop: Stop,
    pub degraded: Degraded,
    /// All that is counted, complete.
    pub registry: Arc<Registry>,
}

pub fn router(admin: JobAdmin) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(all_metrics))
        .with_state(Arc::new(admin))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
}

/// Ready as long as it runs: what it cannot write waits on the bus.
async fn readyz(State(admin): State<Arc<JobAdmin>>) -> Response {
    let reasons = if admin.stop.is_draining() { vec!["draining".to_owned()] } else { Vec::new() };
    is_ready(reasons, || (admin.degraded)())
}

async fn all_metrics(State(admin): State<Arc<JobAdmin>>) -> Response {
    metrics::page(&admin.registry)
}
