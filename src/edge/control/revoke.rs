//! `/v1/revoke`: revocations of all tokens of a user, or of a single token.
//!
//! The id of a token may identify its user, so it is not logged.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::Control;
use crate::http::problem::Problem;
use crate::http::{body, query};
use crate::protocol::json::{NamedRevoked, RevokeBody, decode_revoke_body, encode_revocations};
use domain::revocations::{Revocations, Unchanged};
use domain::time::clock;
use model::revocation::Revoked;

/// A token's id may be written in escapes of six bytes for each of its own.
const BODY_BYTES_MAX: usize = 4096;

/// Adds a revocation, and closes the connections that it covers with 4003.
pub async fn post(State(control): State<Arc<Control>>, request: Request) -> Result<StatusCode, Problem> {
    query::none(request.uri())?;
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let RevokeBody { what, until } = decode_revoke_body(&body)?;
    let what = revoked(&control, what).await?;
    // A revocation holds from now on, and one that has ended by now is dropped.
    if let Some(trouble) = control.clock_status.trouble() {
        return Err(Problem::store_away(trouble));
    }
    let now = clock::wall();
    if until.is_some_and(|until| until <= now) {
        return Err(Problem::invalid("until: must be a moment to come, in milliseconds since 1970"));
    }
    let revoked = what.clone();
    change(&control, move |revocations| revocations.revoke(what, until, now)).await?;
    match revoked {
        Revoked::User(user) => tracing::info!(event = "revoked", user = %control.mid_hash.of(user), "revoked"),
        Revoked::Token(_) => tracing::info!(event = "revoked", "a token is revoked"),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Takes a revocation back; succeeds also if there was none.
pub async fn delete(State(control): State<Arc<Control>>, uri: Uri) -> Result<StatusCode, Problem> {
    let what = revoked(&control, query::revoked(&uri)?).await?;
    let taken_back = what.clone();
    change(&control, move |revocations| revocations.take_back(&what, clock::wall())).await?;
    match taken_back {
        Revoked::User(user) => {
            tracing::info!(event = "revocation_removed", user = %control.mid_hash.of(user), "no longer revoked")
        }
        Revoked::Token(_) => tracing::info!(event = "revocation_removed", "a token is no longer revoked"),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The revocations in force, the newest first.
pub async fn get(State(control): State<Arc<Control>>, uri: Uri) -> Result<Response, Problem> {
    query::none(&uri)?;
    let all = control.revocations.all(clock::wall());
    let users = all.iter().filter_map(|revocation| match &revocation.what {
        Revoked::User(user) => Some(*user),
        Revoked::Token(_) => None,
    });
    let names = control.called_users.names_of(users).await?;
    Ok(body::answered(encode_revocations(&all, &names)))
}

async fn revoked(control: &Control, what: NamedRevoked) -> Result<Revoked, Problem> {
    match what {
        NamedRevoked::User(whom) => Ok(Revoked::User(control.called_users.changed(whom).await?.id)),
        NamedRevoked::Token(id) => Ok(Revoked::Token(id)),
    }
}

/// Makes a change on another thread, since it waits for the disk and this thread serves all calls.
async fn change(
    control: &Control,
    change: impl FnOnce(&Revocations) -> Result<(), Unchanged> + Send + 'static,
) -> Result<(), Problem> {
    let revocations = control.revocations.clone();
    let changed = tokio::task::spawn_blocking(move || change(&revocations)).await;
    match changed {
        Ok(Ok(())) => Ok(()),
        Ok(Err(unchanged)) => {
            tracing::error!(event = "revocation_failed", %unchanged, "revocation list not changed");
            Err(Problem::store_away(unchanged.to_string()))
        }
        Err(_) => Err(Problem::store_away("the outcome is unknown; repeat the request")),
    }
}
