//! The rewards of a user.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::bearer::ReadingCaller;
use super::problem::Problem;
use super::{body, query};
use crate::context::ConnectionContext;
use crate::protocol::json::encode_rewards;

/// `GET /v1/rewards/today`: includes rewards that were lost with a socket or an answer.
pub async fn today(
    State(context): State<Arc<ConnectionContext>>,
    ReadingCaller(caller): ReadingCaller,
    uri: Uri,
) -> Result<Response, Problem> {
    query::none(&uri)?;
    let (day, claims) = context.connect_lookup.claims(caller.user).await?;
    let texts = context.texts_of(claims.iter().filter_map(|claim| claim.content)).await?;
    Ok(body::answered(encode_rewards(day, &claims, caller.name.as_ref(), &texts)))
}
