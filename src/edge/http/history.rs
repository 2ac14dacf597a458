//! "Where was I?", and forgetting it.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{StatusCode, Uri};

use super::bearer::Caller;
use super::pending::Pending;
use super::problem::Problem;
use super::{body, query};
use crate::edge::desk::Desk;
use crate::edge::protocol::cursor;
use crate::edge::protocol::frame::Cursor;
use crate::edge::protocol::json::{decode_content, decode_get_body, encode_page, encode_record, encode_records};
use crate::model::change::Action;
use crate::model::ids::Content;

/// The last two parts of a path: kind and oid.
type ContentPath = Result<Path<(String, String)>, PathRejection>;

/// `GET /v1/history`: a page, newest first.
pub async fn list(State(desk): State<Arc<Desk>>, caller: Caller, uri: Uri) -> Result<Response, Problem> {
    let request = query::page_request(&uri, &desk.frame_limits())?;
    let kinds = request.kinds.clone();
    let page = desk.history.list(caller.user, request).await?;
    let cursor = page.next.map(|position| cursor::encode(&Cursor { position, kinds }));
    Ok(body::answered(encode_page(&page.records, cursor.as_deref(), &desk.reading)))
}

/// `POST /v1/history/get`: the records asked for, in that order, `null` where nothing is known.
pub async fn get(State(desk): State<Arc<Desk>>, caller: Caller, request: Request) -> Result<Response, Problem> {
    let body = body::received(request, desk.limits.body_bytes).await?;
    let contents = decode_get_body(&body, &desk.frame_limits())?;
    let records = desk.history.get(caller.user, contents).await?;
    Ok(body::answered(encode_records(&records, &desk.reading)))
}

/// `GET /v1/history/{kind}/{oid}`.
pub async fn get_one(State(desk): State<Arc<Desk>>, caller: Caller, path: ContentPath) -> Result<Response, Problem> {
    let content = content(path)?;
    let mut records = desk.history.get(caller.user, vec![content]).await?;
    let record = records.pop().flatten().ok_or_else(|| Problem::not_found("nothing is known of this content"))?;
    Ok(body::answered(encode_record(&record, &desk.reading)))
}

/// `DELETE /v1/history/{kind}/{oid}`. Done when nothing was known, too.
pub async fn delete_one(
    State(desk): State<Arc<Desk>>,
    caller: Caller,
    path: ContentPath,
    uri: Uri,
) -> Result<StatusCode, Problem> {
    let contents = vec![content(path)?];
    let (at, connection) = query::forgetting(&uri)?;
    let delete = Action::Delete { contents, at: desk.intake.when(at) };
    Pending::new(&desk, caller.user, connection)?.order(delete).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /v1/history`: forgets everything.
pub async fn clear(State(desk): State<Arc<Desk>>, caller: Caller, uri: Uri) -> Result<StatusCode, Problem> {
    let (at, connection) = query::forgetting(&uri)?;
    let clear = Action::Clear { at: desk.intake.when(at) };
    Pending::new(&desk, caller.user, connection)?.order(clear).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn content(path: ContentPath) -> Result<Content, Problem> {
    let Path((kind, oid)) = path.map_err(|_| Problem::invalid("path: must be UTF-8"))?;
    Ok(decode_content(&kind, &oid)?)
}
