//! Views of contents.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Uri, header};

use super::bearer::Caller;
use super::history::{ContentPath, content};
use super::problem::Problem;
use super::{body, query};
use crate::domain::views::ViewCounting;
use crate::edge::address::{ClientAddress, Network};
use crate::edge::context::ConnectionContext;
use crate::edge::protocol::json::{
    decode_get_body, decode_view_body, encode_view_days, encode_view_totals, encode_viewed,
};
use crate::model::view::ViewDays;

/// Any user; without a token, too, where totals are public. Then the requests of an address are limited.
pub struct Reader;

impl FromRequestParts<Arc<ConnectionContext>> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, context: &Arc<ConnectionContext>) -> Result<Self, Problem> {
        let is_public = context.views.as_ref().is_some_and(|views| views.is_public());
        if !is_public || parts.headers.contains_key(header::AUTHORIZATION) {
            return Caller::from_request_parts(parts, context).await.map(|_| Reader);
        }
        if let Some(client) = parts.extensions.get::<ClientAddress>() {
            context.anonymous.count(&Network::of(client.0)).map_err(Problem::of_address_too_fast)?;
        }
        Ok(Reader)
    }
}

/// `POST /v1/views/{kind}/{oid}`: counts a view, unless its kind is counted by playback.
pub async fn count(
    State(context): State<Arc<ConnectionContext>>,
    caller: Caller,
    path: ContentPath,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let views = views(&context)?;
    let content = content(path)?;
    let body = body::received_or_none(request, context.limits.body_bytes).await?;
    let session = decode_view_body(&body)?;
    if !views.counts(content.kind) {
        let kind = content.kind;
        let why = format!("views of kind {kind} are not counted (views.by_playback, views.by_request)");
        return Err(Problem::not_found(why));
    }
    let viewed = views.count(caller.user, content, session).await?;
    Ok(body::answered(encode_viewed(viewed)))
}

/// `POST /v1/views/get`: totals in the order asked.
pub async fn get(
    State(context): State<Arc<ConnectionContext>>,
    _reader: Reader,
    request: Request,
) -> Result<Response, Problem> {
    query::none(request.uri())?;
    let views = views(&context)?;
    let body = body::received(request, context.limits.body_bytes).await?;
    let contents = decode_get_body(&body, &context.frame_limits())?;
    let totals = views.totals(contents).await?;
    Ok(body::answered(encode_view_totals(&totals)))
}

/// `GET /v1/views/{kind}/{oid}/days`, as JSON or as CSV.
pub async fn days(
    State(context): State<Arc<ConnectionContext>>,
    _caller: Caller,
    path: ContentPath,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let views = views(&context)?;
    let content = content(path)?;
    let (from, to) = query::view_days(&uri, views.today())?;
    let days = views.days(content, from, to).await?;
    let mut answer = match prefers_csv(&headers) {
        true => csv(&days),
        false => body::answered(encode_view_days(&days)),
    };
    answer.headers_mut().append(header::VARY, HeaderValue::from_static("Accept"));
    Ok(answer)
}

fn views(context: &ConnectionContext) -> Result<&ViewCounting, Problem> {
    let off = || Problem::not_found("views are not counted here (views.by_playback, views.by_request)");
    context.views.as_deref().ok_or_else(off)
}

fn csv(views: &ViewDays) -> Response {
    let rows = views.days.iter().map(|(day, views)| format!("{day},{views}\n"));
    let text: String = std::iter::once("day,views\n".to_owned()).chain(rows).collect();
    ([(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"))], text).into_response()
}

/// Whether CSV is named, and JSON not before it or with more weight.
fn prefers_csv(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut best: Option<(f32, bool)> = None;
    for range in accepted.flat_map(|value| value.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let is_csv = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "text/csv" | "text/*" => true,
            "application/json" | "application/*" | "*/*" => false,
            _ => continue,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |weight| weight.parse().ok());
        let weight = weight.unwrap_or(0.0);
        if weight > best.map_or(0.0, |(weight, _)| weight) {
            best = Some((weight, is_csv));
        }
    }
    best.is_some_and(|(_, is_csv)| is_csv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_answered_when_it_is_asked_for() {
        let prefers = |accept: &'static str| {
            prefers_csv(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
        };
        for csv in ["text/csv", "Text/CSV; charset=utf-8", "text/csv, */*;q=0.1", "application/json;q=0.5,text/csv"] {
            assert!(prefers(csv), "{csv}");
        }
        for json in ["", "*/*", "application/json, text/csv;q=0.9", "text/html", "text/csv;q=0", "application/json"] {
            assert!(!prefers(json), "{json}");
        }
        assert!(!prefers_csv(&HeaderMap::new()));
    }
}
