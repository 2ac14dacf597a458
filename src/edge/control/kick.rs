//! `POST /v1/kick`: closes a user's connections on all gateways, and refuses the user for a while.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use http::StatusCode;

use super::{Control, USER_BODY_BYTES_MAX};
use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::protocol::json::decode_user_body;

/// 503 when the other gateways could not be told: here the user is kicked all the same.
pub async fn post(State(control): State<Arc<Control>>, request: Request) -> Result<StatusCode, Problem> {
    query::none(request.uri())?;
    let body = body::received(request, USER_BODY_BYTES_MAX).await?;
    let user = control.called_users.changed(decode_user_body(&body)?).await?.id;
    let told = control.kick_list.kick_everywhere(user, control.clock.now(), Instant::now()).await;
    tracing::info!(event = "kicked", user = %control.mid_hash.of(user), "kicked");
    told.map_err(|away| {
        tracing::error!(event = "kick_incomplete", %away, "kick reached this gateway only; repeat it");
        Problem::store_away(format!("kicked here, but {away}; kick again"))
    })?;
    Ok(StatusCode::NO_CONTENT)
}
