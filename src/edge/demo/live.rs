//! The live numbers, for the page that shows them: no page may use the control listener.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Uri};

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::body::Streamed;
use crate::http::problem::Problem;
use crate::http::query;

/// `GET /demo/live/stream`: what `/v1/live/stream` answers on the control listener, until the drain begins.
pub async fn stream(State(context): State<DemoContext>, headers: HeaderMap, uri: Uri) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    query::none(&uri)?;
    let mut response = context.live.stream(context.stop.draining())?;
    response.extensions_mut().insert(Streamed);
    Ok(response)
}
