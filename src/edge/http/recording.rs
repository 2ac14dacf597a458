//! Whether a user is recorded.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::Uri;

use super::bearer::{Caller, ReadingCaller};
use super::pending::Pending;
use super::problem::Problem;
use super::{asked_at, body, query};
use crate::context::ConnectionContext;
use crate::protocol::json::{decode_recording_body, encode_recording};
use model::change::{Action, Outcome};
use model::visitor::Visitor;

/// `GET /v1/recording`.
pub async fn get(
    State(context): State<Arc<ConnectionContext>>,
    ReadingCaller(caller): ReadingCaller,
    uri: Uri,
) -> Result<Response, Problem> {
    query::none(&uri)?;
    let paused = context.history.paused(caller.user).await?;
    Ok(body::answered(encode_recording(paused)))
}

/// `PUT /v1/recording`: answered with the state after it, which an older switch does not change.
pub async fn put(
    State(context): State<Arc<ConnectionContext>>,
    caller: Caller,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let body = body::received(request, context.limits.body_bytes).await?;
    let body = decode_recording_body(&body)?;
    let at = match body.at {
        Some(at) => at,
        None => asked_at::of_all(&context, caller.user).await?,
    };
    let pending = Pending::new(&context, caller.user, body.connection, Visitor::default())?;
    match pending.order(Action::Recording { paused: body.paused, at }).await? {
        Outcome::Recording { paused, .. } => Ok(body::answered(encode_recording(paused))),
        other => unreachable!("a switch was answered with {other:?}"),
    }
}
