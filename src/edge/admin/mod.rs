//! The listener of whoever runs the gateway: health, metrics, kicks, revocations, one user's records, the event log. It
//! asks for no token.

pub mod events;
mod revoke;
pub mod users;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{StatusCode, header};
use prometheus_client::registry::Registry;

use super::http::body;
use super::http::problem::{self, Problem};
use super::metrics;
use super::protocol::json::decode_user_body;
use crate::domain::devices::block::Block;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::revocations::Revocations;
use crate::domain::rewards::bus_health::BusHealth;
use crate::domain::timekeeper::Timekeeping;
use crate::model::mid_hash::MidHash;
use crate::shutdown::Stop;

/// A kick or an erasure names one user.
const BODY_BYTES_MAX: usize = 1024;

/// What it works with.
pub struct Admin {
    pub health: Arc<StoreHealth>,
    pub bus: Arc<BusHealth>,
    pub stop: Stop,
    pub timekeeping: Timekeeping,
    /// All that is counted, complete.
    pub registry: Arc<Registry>,
    pub block: Arc<Block>,
    pub revocations: Arc<Revocations>,
    /// Names users in logs.
    pub mid_hash: MidHash,
}

/// `others`: the routes of [`users`] and of [`events`].
pub fn router(admin: Admin, others: Router) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(all_metrics))
        .route("/v1/kick", post(kick))
        .route("/v1/revoke", get(revoke::get).post(revoke::post).delete(revoke::delete))
        .with_state(Arc::new(admin))
        .merge(others)
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn(refuse_pages))
}

/// The process lives: it answers.
async fn healthz() -> Response {
    body::answered(r#"{"alive":true}"#.to_owned())
}

/// Whether a load balancer may send anybody here.
async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    let mut reasons = Vec::new();
    if admin.stop.is_draining() {
        reasons.push("draining".to_owned());
    }
    reasons.extend(admin.timekeeping.trouble());
    if !admin.health.takes_writes() || admin.timekeeping.is_store_silent() {
        reasons.push("the store takes no writes".to_owned());
    }
    if reasons.is_empty() {
        // Taking a gateway out would not bring the bus back.
        let degraded = admin.bus.degraded();
        return body::answered(match degraded.is_empty() {
            true => r#"{"ready":true}"#.to_owned(),
            false => format!(r#"{{"ready":true,"degraded":{}}}"#, serde_json::json!(degraded)),
        });
    }
    let document = serde_json::json!({"ready": false, "reasons": reasons});
    (StatusCode::SERVICE_UNAVAILABLE, body::answered(document.to_string())).into_response()
}

async fn all_metrics(State(admin): State<Arc<Admin>>) -> Response {
    metrics::page(&admin.registry)
}

/// Closes the user's connections on all gateways, and keeps him out for a while. 503 when the others could not be told:
/// here he is kicked all the same.
async fn kick(State(admin): State<Arc<Admin>>, request: Request) -> Result<StatusCode, Problem> {
    let body = body::whole(request.into_body(), BODY_BYTES_MAX).await?;
    let user = decode_user_body(&body)?;
    let told = admin.block.kick_everywhere(user, Instant::now()).await;
    tracing::info!(user = %admin.mid_hash.of(user), "kicked");
    told.map_err(|away| {
        tracing::error!(%away, "a kick reached this gateway only");
        Problem::store_away(format!("kicked here, but {away}; kick again"))
    })?;
    Ok(StatusCode::NO_CONTENT)
}

/// Browsers can reach a loopback address on behalf of any page; no page has business here.
async fn refuse_pages(request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::ORIGIN) {
        return Problem::forbidden("pages may not use the admin listener").into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests;
