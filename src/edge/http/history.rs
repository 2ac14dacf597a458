//! Reads, deletes and clears of the history.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::bearer::{Caller, ReadingCaller};
use super::content_path::{ContentPath, content, require_name};
use super::pending::Pending;
use super::problem::Problem;
use super::{asked_at, body, query};
use crate::context::ConnectionContext;
use crate::protocol::cursor;
use crate::protocol::frame::Cursor;
use crate::protocol::json::{decode_get_body, encode_page, encode_record, encode_records};
use model::change::Action;
use model::visitor::Visitor;

/// `GET /v1/history`: a page, newest first.
pub async fn list(
    State(context): State<Arc<ConnectionContext>>,
    ReadingCaller(caller): ReadingCaller,
    uri: Uri,
) -> Result<Response, Problem> {
    let request = query::list_request(&uri, &context.frame_limits())?;
    let filter = request.filter.clone();
    let too_fast =
        |wait| Problem::too_fast("too many lists of this user (one at a time, and limits.list_rows_per_second)", wait);
    let permit = context.lists.acquire_or_refuse(caller.user).map_err(too_fast)?;
    let page = context.history.list(caller.user, request, permit.rows()).await?;
    let cursor = page.next.map(|position| cursor::encode(&Cursor { position, filter }));
    let texts = context.texts_of(page.records.iter().map(|record| record.content)).await?;
    let telling = context.telling(&texts);
    Ok(body::answered(encode_page(&page.records, cursor.as_deref(), page.partial, telling)))
}

/// `POST /v1/history/get`: the records asked for, in that order, `null` where nothing is known.
pub async fn get(
    State(context): State<Arc<ConnectionContext>>,
    ReadingCaller(caller): ReadingCaller,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let body = body::received(request, context.limits.body_bytes).await?;
    let contents = decode_get_body(&body, &context.frame_limits())?;
    let found = context.history.get(caller.user, contents).await?;
    let texts = context.texts_of(found.records.iter().flatten().map(|record| record.content)).await?;
    Ok(body::answered(encode_records(&found.records, found.partial, context.telling(&texts))))
}

/// `GET /v1/history/{kind}/{oid}`. What cannot be read just now is no unknown record.
pub async fn get_one(
    State(context): State<Arc<ConnectionContext>>,
    ReadingCaller(caller): ReadingCaller,
    path: ContentPath,
    uri: Uri,
) -> Result<Response, Problem> {
    query::none(&uri)?;
    let (content, _) = content(path, context.content_ids())?;
    let mut found = context.history.get(caller.user, vec![content]).await?;
    let record = found.records.pop().flatten().ok_or_else(|| match found.partial {
        true => Problem::store_away("the history store is away".to_owned()),
        false => Problem::not_found("no record of this content"),
    })?;
    let texts = context.texts_of([content]).await?;
    Ok(body::answered(encode_record(&record, context.telling(&texts))))
}

/// `DELETE /v1/history/{kind}/{oid}`. Succeeds also without a record.
pub async fn delete_one(
    State(context): State<Arc<ConnectionContext>>,
    caller: Caller,
    path: ContentPath,
    uri: Uri,
) -> Result<StatusCode, Problem> {
    let (content, name) = content(path, context.content_ids())?;
    let (at, connection) = query::forgetting(&uri)?;
    require_name(context.contents.as_ref(), name).await?;
    let at = match at {
        Some(at) => at,
        None => asked_at::of_contents(&context, caller.user, vec![content]).await?,
    };
    let delete = Action::Delete { contents: vec![content], at };
    Pending::new(&context, caller.user, connection, Visitor::default())?.order(delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /v1/history`: clears the history.
pub async fn clear(
    State(context): State<Arc<ConnectionContext>>,
    caller: Caller,
    uri: Uri,
) -> Result<StatusCode, Problem> {
    let (at, connection) = query::forgetting(&uri)?;
    let at = match at {
        Some(at) => at,
        None => asked_at::of_all(&context, caller.user).await?,
    };
    Pending::new(&context, caller.user, connection, Visitor::default())?.order(Action::Clear { at }).await?;
    Ok(StatusCode::NO_CONTENT)
}
