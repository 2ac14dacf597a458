//! What an operator does for one user: erase, and hand over a copy.
//!
//! An erasure goes the way of everything that changes records: through a lane (this listener has its own) into a group
//! that is committed, and on to the user's other connections.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::{StatusCode, Uri};

use super::BODY_BYTES_MAX;
use crate::domain::devices::presence::Presence;
use crate::domain::history::History;
use crate::domain::ingest::intake::Intake;
use crate::domain::rewards::arrivals::Arrivals;
use crate::edge::http::pending::Pending;
use crate::edge::http::problem::Problem;
use crate::edge::http::{body, query};
use crate::edge::protocol::cursor;
use crate::edge::protocol::frame::Cursor;
use crate::edge::protocol::json::{Exported, decode_user_body, encode_export};
use crate::model::change::Action;
use crate::model::mid_hash::MidHash;
use crate::model::reading::Reading;

/// What it works with.
pub struct Users {
    pub intake: Intake,
    pub presence: Arc<Presence>,
    pub history: History,
    pub arrivals: Arc<Arrivals>,
    pub reading: Reading,
    /// Names users in logs.
    pub mid_hash: MidHash,
}

/// To be merged into the router of the admin listener, which keeps pages out and answers for all other paths.
pub fn routes(users: Users) -> Router {
    Router::new().route("/v1/erase", post(erase)).route("/v1/export", get(export)).with_state(Arc::new(users))
}

/// Done when nothing was known, too; the answer comes when it is on disk.
async fn erase(State(users): State<Arc<Users>>, request: Request) -> Result<StatusCode, Problem> {
    let body = body::whole(request.into_body(), BODY_BYTES_MAX).await?;
    let user = decode_user_body(&body)?;
    Pending::of(&users.intake, |bell| users.presence.request(user, None, bell))?.order(Action::Erase).await?;
    tracing::info!(user = %users.mid_hash.of(user), "erased");
    Ok(StatusCode::NO_CONTENT)
}

/// A page of all that the user can see of himself, as he sees it; the first tells of his rewards, too.
async fn export(State(users): State<Arc<Users>>, uri: Uri) -> Result<Response, Problem> {
    let (user, request) = query::export(&uri)?;
    let first = request.after.is_none();
    let paused = users.history.paused(user).await?;
    let page = users.history.list(user, request).await?;
    let cursor = page.next.map(|position| cursor::encode(&Cursor { position, kinds: Vec::new() }));
    let rewards = if first { Some(users.arrivals.kept_claims(user).await?) } else { None };
    let (records, rewards, cursor) = (&page.records[..], rewards.as_deref(), cursor.as_deref());
    Ok(body::answered(encode_export(&Exported { user, paused, rewards, records, cursor }, &users.reading)))
}
