//! The control listener: kicks, revocations, one user's records, the event log, live numbers, views, counters, subscribers,
//! the clock. It is for operators and for back-ends.
//!
//! [`guard`] admits and logs calls; the routes behind it do neither.

mod callers;
mod clock;
pub mod counter_keys;
pub mod counters;
pub mod elsewhere;
pub mod events;
pub mod guard;
mod host;
mod kick;
pub mod live;
pub mod reload;
mod revoke;
pub mod subscribers;
pub mod users;
pub mod views;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};

use super::called_users::CalledUsers;
use super::http::{body, problem};
use domain::devices::kick_list::KickList;
use domain::revocations::Revocations;
use domain::time::clock::Clock;
use domain::time::guard::ClockStatus;
use model::mid_hash::MidHash;

pub use callers::Callers;
pub use guard::Guard;

/// A kick or an erasure names one user.
const USER_BODY_BYTES_MAX: usize = 1024;

/// The state of the control listener.
pub struct Control {
    pub kick_list: Arc<KickList>,
    pub revocations: Arc<Revocations>,
    pub clock: Arc<Clock>,
    pub clock_status: ClockStatus,
    /// Names users in logs.
    pub mid_hash: MidHash,
    pub called_users: CalledUsers,
}

/// `others`: the routes of [`users`], of [`events`], of [`live`], of [`views`], of [`counters`], of [`subscribers`] and of
/// [`reload`].
pub fn router(control: Control, others: Router, guard: Guard) -> Router {
    Router::new()
        .route("/v1/kick", post(kick::post))
        .route("/v1/revoke", get(revoke::get).post(revoke::post).delete(revoke::delete))
        .route("/v1/clock", get(clock::get))
        .route("/v1/clock/accept", post(clock::accept))
        .with_state(Arc::new(control))
        .merge(others)
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .layer(from_fn(body::refuse_unread))
        .layer(from_fn_with_state(Arc::new(guard), guard::admit))
}

#[cfg(test)]
mod tests;
