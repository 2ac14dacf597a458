//! `GET /v1/events`: the event log, from any offset on, so that a reward system can be built on HTTP alone.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::Uri;

use crate::domain::events::Events;
use crate::edge::http::problem::Problem;
use crate::edge::http::{body, query};
use crate::edge::protocol::json::encode_events;
use crate::shutdown::Stop;

/// A log that can be tailed; what is held when a drain begins is answered then.
#[derive(Clone)]
pub struct Tail {
    pub events: Events,
    pub stop: Stop,
}

impl Tail {
    /// What the query of this URL asks for, on whatever path it stands.
    pub async fn page(&self, uri: &Uri) -> Result<Response, Problem> {
        let page = self.events.page(query::events(uri)?, self.stop.draining()).await?;
        Ok(body::answered(encode_events(&page)))
    }
}

/// To be merged into the router of the admin listener, which keeps pages out and answers for all other paths.
pub fn routes(tail: Tail) -> Router {
    Router::new().route("/v1/events", get(tailed)).with_state(Arc::new(tail))
}

async fn tailed(State(tail): State<Arc<Tail>>, uri: Uri) -> Result<Response, Problem> {
    tail.page(&uri).await
}
