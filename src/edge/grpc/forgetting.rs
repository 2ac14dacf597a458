//! Deletes, clears and switches of recording, each committed before it is answered.

use tonic::Status;

use super::caller::Caller;
use super::decode::{self, Fault};
use super::{status, wire};
use crate::context::ConnectionContext;
use crate::http::asked_at;
use crate::http::pending::Pending;
use model::change::{Action, Outcome};
use model::ids::{ConnectionId, UserId};
use model::visitor::Visitor;

pub async fn delete(
    context: &ConnectionContext,
    caller: &Caller,
    user: UserId,
    request: wire::DeleteRequest,
) -> Result<wire::DeleteResponse, Status> {
    let (contents, names) = decode::contents(&request.items, context.limits.items, context.content_ids())?;
    caller.require_contents("items", &contents)?;
    let (at, origin) = (decode::moment(request.at)?, decode::origin(&request.connection)?);
    let at = match at {
        Some(at) => at,
        None => asked_at::of_contents(context, user, contents.clone()).await.map_err(status::of_read)?,
    };
    if let Some(named) = &context.contents
        && let [index, ..] = named.require(&names).await.map_err(status::of_content_names)?[..]
    {
        let complaint = "its number belongs to another content";
        return Err(Fault::new(format!("items[{index}].name"), complaint).into());
    }
    commit(context, user, origin, Action::Delete { contents, at }).await?;
    Ok(wire::DeleteResponse { at })
}

pub async fn clear(
    context: &ConnectionContext,
    user: UserId,
    request: wire::ClearRequest,
) -> Result<wire::ClearResponse, Status> {
    let (at, origin) = (decode::moment(request.at)?, decode::origin(&request.connection)?);
    let at = match at {
        Some(at) => at,
        None => asked_at::of_all(context, user).await.map_err(status::of_newest)?,
    };
    commit(context, user, origin, Action::Clear { at }).await?;
    Ok(wire::ClearResponse { at })
}

/// Answered with the state after it, which an older switch does not change.
pub async fn set_recording(
    context: &ConnectionContext,
    user: UserId,
    request: wire::SetRecordingRequest,
) -> Result<wire::RecordingState, Status> {
    let paused = request.paused.ok_or_else(|| Fault::missing("paused"))?;
    let (at, origin) = (decode::moment(request.at)?, decode::origin(&request.connection)?);
    let at = match at {
        Some(at) => at,
        None => asked_at::of_switch(context, user).await.map_err(status::of_read)?,
    };
    match commit(context, user, origin, Action::Recording { paused, at }).await? {
        Outcome::Recording { paused, .. } => Ok(wire::RecordingState { paused }),
        other => unreachable!("a switch was answered with {other:?}"),
    }
}

async fn commit(
    context: &ConnectionContext,
    user: UserId,
    origin: Option<ConnectionId>,
    action: Action,
) -> Result<Outcome, Status> {
    let pending = Pending::new(context, user, origin, Visitor::default()).map_err(status::of_commit)?;
    pending.order(action).await.map_err(status::of_commit)
}
