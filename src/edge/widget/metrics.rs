//! How often the widget is asked, by file and outcome.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::Widget;

const FILES: [&str; 3] = ["v1.json", "v1.js", "v1.svg"];
const ANSWERED: &str = "answered";
const TOO_FAST: &str = "too_fast";
const OTHER: &str = "other";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    file: &'static str,
    outcome: &'static str,
}

pub struct Metrics {
    requests: Family<Labels, Counter>,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let requests = Family::<Labels, Counter>::default();
        for file in FILES {
            for outcome in [ANSWERED, TOO_FAST, OTHER] {
                drop(requests.get_or_create(&Labels { file, outcome }));
            }
        }
        registry.register("widget_requests", "Requests to the widget, by file and outcome", requests.clone());
        Metrics { requests }
    }

    fn count(&self, path: &str, status: StatusCode) {
        let Some(file) = FILES.into_iter().find(|file| path.strip_prefix("/widget/") == Some(file)) else { return };
        let outcome = match status {
            StatusCode::TOO_MANY_REQUESTS => TOO_FAST,
            status if status.is_success() => ANSWERED,
            _ => OTHER,
        };
        self.requests.get_or_create(&Labels { file, outcome }).inc();
    }
}

pub(super) async fn count(State(widget): State<Arc<Widget>>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    if let Some(path) = path {
        widget.metrics.count(path.as_str(), response.status());
    }
    response
}
