//! Whether a user is recorded.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;

use super::bearer::Caller;
use super::body;
use super::pending::Pending;
use super::problem::Problem;
use crate::edge::desk::Desk;
use crate::edge::protocol::json::{decode_recording_body, encode_recording};
use crate::model::change::{Action, Outcome};

/// `GET /v1/recording`.
pub async fn get(State(desk): State<Arc<Desk>>, caller: Caller) -> Result<Response, Problem> {
    let paused = desk.history.paused(caller.user).await?;
    Ok(body::answered(encode_recording(paused)))
}

/// `PUT /v1/recording`: answered with the state after it, which an older switch does not change.
pub async fn put(State(desk): State<Arc<Desk>>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let body = body::received(request, desk.limits.body_bytes).await?;
    let body = decode_recording_body(&body)?;
    let pending = Pending::new(&desk, caller.user, body.connection)?;
    let switch = Action::Recording { paused: body.paused, at: desk.intake.when(body.at) };
    match pending.order(switch).await? {
        Outcome::Recording { paused, .. } => Ok(body::answered(encode_recording(paused))),
        other => unreachable!("a switch was answered with {other:?}"),
    }
}
