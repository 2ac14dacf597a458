//! What a user was rewarded for.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::bearer::Caller;
use super::body;
use super::problem::Problem;
use crate::edge::desk::Desk;
use crate::edge::protocol::json::encode_rewards;

/// `GET /v1/rewards/today`: also what was lost with a socket or an answer.
pub async fn today(State(desk): State<Arc<Desk>>, caller: Caller) -> Result<Response, Problem> {
    let (day, claims) = desk.arrivals.claims(caller.user).await?;
    Ok(body::answered(encode_rewards(day, &claims)))
}
