//! The probe listener: health, readiness, metrics. It changes nothing and shows no user, so it asks for no token.

pub mod sockless;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::StatusCode;
use prometheus_client::registry::Registry;

use super::http::body;
use super::http::problem;
use super::metrics;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::outbox::bus_health::BusHealth;
use crate::domain::time::guard::ClockStatus;
use crate::shutdown::Stop;

/// Returns problems that no viewer notices, each in a few words.
pub type Degraded = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// The state of the probe listener.
pub struct Admin {
    pub health: Arc<StoreHealth>,
    /// Not ready while less than this share of the users is served.
    pub ready_share: f64,
    pub bus: Arc<BusHealth>,
    /// The checks of background work, beside that of the bus.
    pub degraded: Vec<Degraded>,
    pub stop: Stop,
    pub clock_status: ClockStatus,
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
            false => format!(r#"{{"ready":true,"degraded":{}}}"#, serde_json::json!(degraded)),
        });
    }
    let document = serde_json::json!({"ready": false, "reasons": reasons});
    (StatusCode::SERVICE_UNAVAILABLE, body::answered(document.to_string())).into_response()
}

async fn all_metrics(State(probed): State<Arc<dyn Probed>>) -> Response {
    metrics::page(probed.registry())
}

impl Admin {
    /// The share of users whose changes are committed.
    fn served(&self) -> f64 {
        if self.clock_status.is_store_silent() { 0.0 } else { self.health.served() }
    }
}

/// Whether a load balancer may send clients here.
impl Probed for Admin {
    fn unready(&self) -> Vec<String> {
        let mut reasons = draining(&self.stop);
        reasons.extend(self.clock_status.trouble());
        let served = self.served();
        if served < self.ready_share {
            reasons.push(waiting(served));
        }
        reasons
    }

    /// An unavailable bus does not affect readiness: taking a gateway out would not bring the bus back.
    fn degraded(&self) -> Vec<String> {
        let mut degraded = self.bus.degraded();
        degraded.extend(self.degraded.iter().flat_map(|part| part()));
        let served = self.served();
        if served < 1.0 {
            degraded.push(waiting(served));
        }
        degraded
    }

    fn registry(&self) -> &Registry {
        &self.registry
    }
}

fn draining(stop: &Stop) -> Vec<String> {
    stop.is_ending().then(|| "draining".to_owned()).into_iter().collect()
}

/// `served`: the share of users, less than 1.
fn waiting(served: f64) -> String {
    match served > 0.0 {
        true => format!("the store takes no writes of {:.1} % of the users", 100.0 * (1.0 - served)),
        false => "the store takes no writes".to_owned(),
    }
}

#[cfg(test)]
mod tests;
