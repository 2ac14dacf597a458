//! Operations on the data of one user: erasure, export, and a list of connections.
//!
//! An erasure is committed like any other change: through a submit queue (the control listener has its own) into a
//! group, and is pushed to the user's connections.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::{StatusCode, Uri};

use super::USER_BODY_BYTES_MAX;
use crate::called_users::CalledUsers;
use crate::http::pending::Pending;
use crate::http::problem::Problem;
use crate::http::{asked_at, body, query};
use crate::protocol::cursor;
use crate::protocol::frame::{Cursor, Telling};
use crate::protocol::json::{Connected, ExportPage, Exported, decode_user_body, encode_connections, encode_export};
use domain::content_names::{NamedContents, texts_of};
use domain::devices::presence::Presence;
use domain::history::History;
use domain::ingest::lanes::Lanes;
use domain::rewards::lookup::Lookup;
use domain::stored_users::Users;
use domain::time::clock::Clock;
use domain::views::ViewCounting;
use model::change::Action;
use model::mid_hash::MidHash;
use model::reading::Reading;
use model::rows_read::RowsRead;
use model::visitor::Visitor;

/// The state of the routes.
pub struct UserOperations {
    pub lanes: Lanes,
    pub presence: Arc<Presence>,
    pub clock: Arc<Clock>,
    pub history: History,
    pub users: Users,
    pub connect_lookup: Arc<dyn Lookup>,
    /// `None`: views are not counted.
    pub views: Option<Arc<ViewCounting>>,
    pub reading: Reading,
    /// Names users in logs.
    pub mid_hash: MidHash,
    pub called_users: CalledUsers,
    /// `None`: contents are named by numbers.
    pub contents: Option<NamedContents>,
    /// Names this gateway among others: its host and the port of its public listener.
    pub gateway: String,
}

/// To be merged into the router of the control listener, whose guard lets calls in.
pub fn routes(users: UserOperations) -> Router {
    Router::new()
        .route("/v1/erase", post(erase))
        .route("/v1/export", get(export))
        .route("/v1/connections", get(connections))
        .with_state(Arc::new(users))
}

/// Succeeds also if there was nothing to erase; the answer comes when the erasure is on disk.
async fn erase(State(users): State<Arc<UserOperations>>, request: Request) -> Result<StatusCode, Problem> {
    query::none(request.uri())?;
    let body = body::received(request, USER_BODY_BYTES_MAX).await?;
    let user = users.called_users.changed(decode_user_body(&body)?).await?.id;
    users.history.commit_held(user).await;
    let at = asked_at::of_erasure(&users.clock, &users.history, user).await?;
    let intake = users.lanes.intake(users.lanes.of(user));
    Pending::of(intake, |notifier| users.presence.request(user, None, Visitor::default(), notifier))?
        .order(Action::Erase { at })
        .await?;
    if let Some(views) = &users.views {
        views.forget(user).await?;
    }
    users.called_users.forget(user).await?;
    tracing::info!(event = "erased", user = %users.mid_hash.of(user), "erased");
    Ok(StatusCode::NO_CONTENT)
}

/// A page of a user's own data, as the user's clients see it. The first page also has the rewards.
async fn export(State(users): State<Arc<UserOperations>>, uri: Uri) -> Result<Response, Problem> {
    let (whom, page) = query::export(&uri)?;
    let named = users.called_users.read(whom).await?;
    let user = named.id;
    let paused = users.history.paused(user).await?;
    let (first, records, cursor) = match page {
        ExportPage::ByContent(request) => {
            let first = request.after.is_none();
            users.history.commit_held(user).await;
            let walked = users.users.walk(user, request).await?;
            require_all(walked.partial)?;
            (first, walked.records, walked.next.map(|next| cursor::encode_walk(next, &[])))
        }
        ExportPage::Newest(request) => {
            let (first, filter) = (request.after.is_none(), request.filter.clone());
            let page = users.history.list(user, request, RowsRead::default()).await?;
            require_all(page.partial)?;
            (first, page.records, page.next.map(|position| cursor::encode(&Cursor { position, filter })))
        }
    };
    let rewards = if first { Some(users.connect_lookup.kept_claims(user).await?) } else { None };
    let (records, rewards, cursor) = (&records[..], rewards.as_deref(), cursor.as_deref());
    let of_rewards = rewards.into_iter().flatten().filter_map(|claim| claim.content);
    let texts =
        texts_of(users.contents.as_ref(), records.iter().map(|record| record.content).chain(of_rewards)).await?;
    let telling = Telling { reading: &users.reading, texts: &texts };
    Ok(body::answered(encode_export(&Exported { user: &named, paused, rewards, records, cursor }, telling)))
}

/// An export without the user's older records is none.
fn require_all(partial: bool) -> Result<(), Problem> {
    match partial {
        true => Err(Problem::store_away("the history store is away, and has older records of this user".to_owned())),
        false => Ok(()),
    }
}

/// The user's connections to this gateway; others have to be asked themselves.
async fn connections(State(users): State<Arc<UserOperations>>, uri: Uri) -> Result<Response, Problem> {
    let user = users.called_users.read(query::user(&uri)?).await?;
    let (connections, hash) = (users.presence.connections(user.id), users.mid_hash.of(user.id));
    let connected = Connected { user: &user, gateway: &users.gateway, hash, connections: &connections };
    Ok(body::answered(encode_connections(&connected)))
}
