//! `GET /v1/events`: an event log, from any offset on, so that a reward system can be built on HTTP alone.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::Uri;

use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::protocol::json::encode_events;
use crate::shutdown::Stop;
use domain::events::Events;
use model::event_topic::EventTopic;

/// The place where events can be read.
#[derive(Clone)]
pub enum Tail {
    /// In logs of this process; requests that wait when a drain begins are answered then.
    Logs { rewards: Events, positions: Events, stop: Stop },
    /// In another system; requests here are answered with this text.
    Elsewhere(Arc<str>),
}

impl Tail {
    /// The page that the query of this URL asks for, on any path.
    pub async fn page(&self, uri: &Uri) -> Result<Response, Problem> {
        match self {
            Tail::Logs { rewards, positions, stop } => {
                let (topic, request) = query::events(uri)?;
                let events = match topic {
                    EventTopic::Rewards => rewards,
                    EventTopic::Positions => positions,
                };
                let page = events.page(request, stop.draining()).await?;
                Ok(body::answered(encode_events(&page)))
            }
            Tail::Elsewhere(place) => Err(Problem::not_found(place.as_ref())),
        }
    }
}

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(tail: Tail) -> Router {
    Router::new().route("/v1/events", get(tailed)).with_state(Arc::new(tail))
}

async fn tailed(State(tail): State<Arc<Tail>>, uri: Uri) -> Result<Response, Problem> {
    tail.page(&uri).await
}
