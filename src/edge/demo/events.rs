//! The event log, for the page's consumer to tail: no page may use the control listener.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Uri};

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::problem::Problem;

/// `GET /demo/events`: what `/v1/events` answers on the control listener.
pub async fn get(State(context): State<DemoContext>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    context.tail.page(&uri).await
}
