//! Counters and views of a gateway without a store: a history service answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::any;

use super::counters::BODY_BYTES_MAX;
use crate::http::passed_on;
use crate::http::problem::Problem;
use domain::elsewhere::{By, Elsewhere};

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(services: Arc<Elsewhere>) -> Router {
    Router::new()
        .route("/v1/counters/{*rest}", any(ask))
        .route("/v1/jobs/{job}", any(ask))
        .route("/v1/views/{kind}/{oid}", any(ask))
        .with_state(services)
}

async fn ask(State(services): State<Arc<Elsewhere>>, request: Request) -> Result<Response, Problem> {
    passed_on::answered(&services, By::Operator, request, BODY_BYTES_MAX).await
}
