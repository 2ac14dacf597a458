//! The probe listener: health, readiness, metrics. It changes nothing and shows no user, so it asks for no token.

pub mod job;

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
use crate::domain::clock_guard::ClockStatus;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::rewards::bus_health::BusHealth;
use crate::shutdown::Stop;

/// Says what is wrong although no viewer notices it; each in a few words.
pub type Degraded = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// What it works with.
pub struct Admin {
    pub health: Arc<StoreHealth>,
    /// Not ready while less than this share of the users is served.
    pub ready_share: f64,
    pub bus: Arc<BusHealth>,
    /// Of what goes on behind the acks, beside the bus.
    pub degraded: Vec<Degraded>,
    pub stop: Stop,
    pub clock_status: ClockStatus,
    /// All that is counted, complete.
    pub registry: Arc<Registry>,
}

pub fn router(admin: Admin) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(all_metrics))
        .with_state(Arc::new(admin))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
}

/// The process lives: it answers.
async fn healthz() -> Response {
    body::answered(r#"{"alive":true}"#.to_owned())
}

/// Whether a load balancer may send clients here.
async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    let mut reasons = Vec::new();
    if admin.stop.is_draining() {
        reasons.push("draining".to_owned());
    }
    reasons.extend(admin.clock_status.trouble());
    let served = if admin.clock_status.is_store_silent() { 0.0 } else { admin.health.served() };
    if served < admin.ready_share {
        reasons.push(waiting(served));
    }
    is_ready(reasons, || {
        // Taking a gateway out would not bring the bus back.
        let mut degraded = admin.bus.degraded();
        degraded.extend(admin.degraded.iter().flat_map(|part| part()));
        if served < 1.0 {
            degraded.push(waiting(served));
        }
        degraded
    })
}

/// `reasons`: why it is not; `degraded`: what is wrong although it is.
fn is_ready(reasons: Vec<String>, degraded: impl FnOnce() -> Vec<String>) -> Response {
    if reasons.is_empty() {
        let degraded = degraded();
        return body::answered(match degraded.is_empty() {
            true => r#"{"ready":true}"#.to_owned(),
            false => format!(r#"{{"ready":true,"degraded":{}}}"#, serde_json::json!(degraded)),
        });
    }
    let document = serde_json::json!({"ready": false, "reasons": reasons});
    (StatusCode::SERVICE_UNAVAILABLE, body::answered(document.to_string())).into_response()
}

/// `served`: the share of users, less than 1.
fn waiting(served: f64) -> String {
    match served > 0.0 {
        true => format!("the store takes no writes of {:.1} % of the users", 100.0 * (1.0 - served)),
        false => "the store takes no writes".to_owned(),
    }
}

async fn all_metrics(State(admin): State<Arc<Admin>>) -> Response {
    metrics::page(&admin.registry)
}

#[cfg(test)]
mod tests;
