//! The probe listener: health, readiness, metrics. It changes nothing and shows no user, so it asks for no token.

pub mod readiness;
pub mod sockless;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prometheus_client::registry::Registry;

use self::readiness::Readiness;
use super::http::{accepted, body, problem};
use super::metrics::{self, Format};

/// Returns problems that no viewer notices, each in a few words.
pub type Degraded = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// The state of the probe listener.
pub struct Admin {
    pub readiness: Arc<Readiness>,
    /// The checks of background work.
    pub degraded: Vec<Degraded>,
    /// All that is counted, complete.
    pub registry: Arc<Registry>,
}

/// A process that the listener reports on.
pub trait Probed: Send + Sync + 'static {
    /// Why the process is not ready, each in a few words; empty = it is ready.
    fn unready(&self) -> Vec<String>;
    /// Problems that do not affect readiness.
    fn degraded(&self) -> Vec<String>;
    fn registry(&self) -> &Registry;
}

pub fn router(probed: impl Probed) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(all_metrics))
        .with_state(Arc::new(probed) as Arc<dyn Probed>)
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
}

/// Answers that the process is alive.
async fn healthz() -> Response {
    body::answered(r#"{"alive":true}"#.to_owned())
}

async fn readyz(State(probed): State<Arc<dyn Probed>>) -> Response {
    let reasons = probed.unready();
    if reasons.is_empty() {
        let degraded = probed.degraded();
        return body::answered(match degraded.is_empty() {
            true => r#"{"ready":true}"#.to_owned(),
            false => format!(r#"{{"ready":true,"degraded":{}}}"#, serde_json::json!(once(degraded))),
        });
    }
    let document = serde_json::json!({"ready": false, "reasons": reasons});
    (StatusCode::SERVICE_UNAVAILABLE, body::answered(document.to_string())).into_response()
}

/// Each line once, though several parts may say it.
fn once(lines: Vec<String>) -> Vec<String> {
    let mut all = Vec::with_capacity(lines.len());
    for line in lines {
        if !all.contains(&line) {
            all.push(line);
        }
    }
    all
}

/// OpenMetrics if `Accept` asks for it, as Prometheus does; otherwise the older format, which every reader knows.
async fn all_metrics(State(probed): State<Arc<dyn Probed>>, headers: HeaderMap) -> Response {
    let asks = accepted::prefers(&headers, &["application/openmetrics-text"], &["text/plain", "text/*", "*/*"]);
    let format = if asks { Format::OpenMetrics } else { Format::Plain };
    let mut answer = metrics::page(probed.registry(), format);
    answer.headers_mut().append(header::VARY, HeaderValue::from_static("Accept"));
    answer
}

impl Probed for Admin {
    fn unready(&self) -> Vec<String> {
        self.readiness.unready()
    }

    /// An unavailable bus does not affect readiness: taking a gateway out would not bring the bus back.
    fn degraded(&self) -> Vec<String> {
        let mut degraded: Vec<_> = self.degraded.iter().flat_map(|part| part()).collect();
        let served = self.readiness.served();
        if served < 1.0 {
            degraded.push(self.readiness.waiting(served));
        }
        degraded
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }
}

#[cfg(test)]
mod tests;
