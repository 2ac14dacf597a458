//! The metrics of the gateway, which the page shows beside its own counts.

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::problem::Problem;
use crate::metrics::{self, Format};

/// `GET /demo/metrics`: what `/metrics` says on the probe listener, as OpenMetrics.
pub async fn get(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    Ok(metrics::page(&context.registry, Format::OpenMetrics))
}
