//! Reads of gateways.

use std::sync::Arc;

use tonic::Status;

use super::commit::blocking;
use super::{malformed, status};
use crate::context::ConnectionContext;
use domain::gateway_messages::{claims, decode_contents, encode_day, pages, records, revocations, wire};
use domain::revocations::Revocations;
use domain::stored_users::Users;
use model::ids::UserId;
use model::rows_read::RowsRead;

pub async fn get(context: &ConnectionContext, request: wire::GetRequest) -> Result<wire::GetResponse, Status> {
    let contents = decode_contents(&request.contents).map_err(malformed)?;
    let found = context.history.get(UserId(request.mid), contents).await.map_err(status::of_read)?;
    Ok(wire::GetResponse { records: records::encode_found(&found.records), partial: found.partial })
}

/// The gateway has held its user back by the rows of earlier lists.
pub async fn list(context: &ConnectionContext, request: wire::ListRequest) -> Result<wire::ListResponse, Status> {
    let list = pages::decode_request(&request).map_err(malformed)?;
    let rows = RowsRead::default();
    let page = context.history.list(UserId(request.mid), list, rows.clone()).await.map_err(status::of_read)?;
    Ok(pages::encode_page(&page, rows.get()))
}

pub async fn last_switch(
    context: &ConnectionContext,
    request: wire::UserRequest,
) -> Result<wire::LastSwitchResponse, Status> {
    let last = context.history.last_switch(UserId(request.mid)).await.map_err(status::of_read)?;
    Ok(wire::LastSwitchResponse { last: last.map(|last| wire::Switch { paused: last.paused, at: last.at }) })
}

pub async fn open(context: &ConnectionContext, request: wire::UserRequest) -> Result<wire::OpenResponse, Status> {
    let known = context.connect_lookup.of(UserId(request.mid)).await.map_err(status::of_read)?;
    let (today, flag) = (encode_day(Some(known.today)), encode_day(known.flag));
    Ok(wire::OpenResponse { paused: known.paused, today, flag })
}

pub async fn claims(context: &ConnectionContext, request: wire::ClaimsRequest) -> Result<wire::ClaimsResponse, Status> {
    let (lookup, user) = (&context.connect_lookup, UserId(request.mid));
    let (today, found) = match request.kept {
        true => (lookup.today(), lookup.kept_claims(user).await.map_err(status::of_read)?),
        false => lookup.claims(user).await.map_err(status::of_read)?,
    };
    Ok(wire::ClaimsResponse { today: encode_day(Some(today)), claims: found.iter().map(claims::encode).collect() })
}

pub async fn users(users: &Users, request: wire::UsersRequest) -> Result<wire::UsersResponse, Status> {
    let request = pages::decode_users(&request).map_err(malformed)?;
    let found = users.page(request).await.map_err(status::of_read)?;
    Ok(wire::UsersResponse { mids: found.into_iter().map(|user| user.0).collect() })
}

pub async fn walk(users: &Users, request: wire::WalkRequest) -> Result<wire::WalkResponse, Status> {
    let walk = pages::decode_walk(&request).map_err(malformed)?;
    let walked = users.walk(UserId(request.mid), walk).await.map_err(status::of_read)?;
    Ok(pages::encode_walked(&walked))
}

pub async fn revocations(
    revocations: &Arc<Revocations>,
    known: Option<u64>,
) -> Result<wire::RevocationsResponse, Status> {
    let kept = revocations.clone();
    let stored = blocking(move || kept.stored(known)).await?;
    Ok(match stored.map_err(|error| status::unavailable(error.to_string()))? {
        None => wire::RevocationsResponse { same: true, ..wire::RevocationsResponse::default() },
        Some((edition, list)) => wire::RevocationsResponse {
            same: false,
            edition,
            revocations: list.iter().map(revocations::encode).collect(),
        },
    })
}
