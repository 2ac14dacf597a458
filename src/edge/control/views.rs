//! `DELETE /v1/views/{kind}/{oid}`: deletes the total and the days of a content.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::delete;
use http::{StatusCode, Uri};

use crate::http::content_path::{ContentPath, content};
use crate::http::problem::Problem;
use crate::http::query;
use domain::views::ViewCounting;
use model::content_name::ContentIds;

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(views: Arc<ViewCounting>, ids: ContentIds) -> Router {
    Router::new().route("/v1/views/{kind}/{oid}", delete(delete_one)).with_state((views, ids))
}

/// Succeeds also if nothing was counted.
async fn delete_one(
    State((views, ids)): State<(Arc<ViewCounting>, ContentIds)>,
    path: ContentPath,
    uri: Uri,
) -> Result<StatusCode, Problem> {
    query::none(&uri)?;
    let (content, _) = content(path, ids)?;
    views.delete(content).await?;
    tracing::info!(event = "views_deleted", kind = content.kind, oid = content.oid, "views deleted");
    Ok(StatusCode::NO_CONTENT)
}
