//! `DELETE /v1/views/{kind}/{oid}`: deletes the total and the days of a content.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::routing::delete;
use http::{StatusCode, Uri};

use crate::http::problem::Problem;
use crate::http::query;
use crate::protocol::json::decode_content;
use domain::views::ViewCounting;

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(views: Arc<ViewCounting>) -> Router {
    Router::new().route("/v1/views/{kind}/{oid}", delete(delete_one)).with_state(views)
}

/// Succeeds also if nothing was counted.
async fn delete_one(
    State(views): State<Arc<ViewCounting>>,
    path: Result<Path<(String, String)>, PathRejection>,
    uri: Uri,
) -> Result<StatusCode, Problem> {
    query::none(&uri)?;
    let Path((kind, oid)) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    let content = decode_content(&kind, &oid)?;
    views.delete(content).await?;
    tracing::info!(event = "views_deleted", kind = content.kind, oid = content.oid, "views deleted");
    Ok(StatusCode::NO_CONTENT)
}
