//! Views of contents.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};

use super::bearer::{Caller, ReadingCaller};
use super::content_path::{ContentPath, content, require_name};
use super::passed_on::{self, PassedOn};
use super::problem::Problem;
use super::{accepted, body, query};
use crate::address::{ClientAddress, Network};
use crate::context::ConnectionContext;
use crate::protocol::json::{decode_get_body, decode_view_body, encode_view_days, encode_view_totals, encode_viewed};
use domain::elsewhere::By;
use domain::views::ViewCounting;
use model::view::ViewDays;

/// The media ranges that ask for days as CSV, and those that ask for JSON.
const CSV: [&str; 2] = ["text/csv", "text/*"];
const JSON: [&str; 3] = ["application/json", "application/*", "*/*"];

/// Any user; without a token, too, where totals are public. Then the requests of an address are limited.
pub struct Reader(By);

impl FromRequestParts<Arc<ConnectionContext>> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, context: &Arc<ConnectionContext>) -> Result<Self, Problem> {
        if parts.extensions.get::<PassedOn>().is_some() {
            return Ok(Reader(By::Anybody));
        }
        let is_public = context.views.as_ref().is_some_and(|views| views.is_public())
            || context.elsewhere.as_ref().is_some_and(|services| services.views_are_public);
        if !is_public || parts.headers.contains_key(header::AUTHORIZATION) {
            return Caller::from_request_parts(parts, context).await.map(|caller| Reader(By::User(caller.user)));
        }
        if let Some(client) = parts.extensions.get::<ClientAddress>() {
            context.anonymous.count(&Network::of(client.0)).map_err(Problem::of_address_too_fast)?;
        }
        Ok(Reader(By::Anybody))
    }
}

/// `POST /v1/views/{kind}/{oid}`: counts a view, unless its kind is counted by playback, or the page is only being got
/// ready for someone who may never open it.
pub async fn count(
    State(context): State<Arc<ConnectionContext>>,
    caller: Caller,
    path: ContentPath,
    request: Request,
) -> Result<Response, Problem> {
    if let Some(services) = &context.elsewhere {
        return passed_on::answered(services, By::User(caller.user), request, context.limits.body_bytes).await;
    }
    query::none(request.uri())?;
    let views = views(&context)?;
    let (content, name) = content(path, context.content_ids())?;
    let is_ahead = is_ahead(request.headers());
    let body = body::received_or_none(request, context.limits.body_bytes).await?;
    let session = decode_view_body(&body)?;
    if !views.counts(content.kind) {
        let kind = content.kind;
        let why = format!("views of kind {kind} are not counted (views.by_playback, views.by_request)");
        return Err(Problem::not_found(why));
    }
    let viewed = match is_ahead {
        true => views.uncounted(content).await?,
        false => {
            require_name(context.contents.as_ref(), name).await?;
            views.count(caller.user, content, session).await?
        }
    };
    Ok(body::answered(encode_viewed(viewed)))
}

/// `POST /v1/views/get`: totals in the order asked.
pub async fn get(
    State(context): State<Arc<ConnectionContext>>,
    Reader(by): Reader,
    request: Request,
) -> Result<Response, Problem> {
    if let Some(services) = &context.elsewhere {
        return passed_on::answered(services, by, request, context.limits.body_bytes).await;
    }
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
    ReadingCaller(caller): ReadingCaller,
    path: ContentPath,
    request: Request,
) -> Result<Response, Problem> {
    if let Some(services) = &context.elsewhere {
        return passed_on::answered(services, By::User(caller.user), request, context.limits.body_bytes).await;
    }
    let views = views(&context)?;
    let (content, _) = content(path, context.content_ids())?;
    let (from, to) = query::view_days(request.uri(), views.today())?;
    let days = views.days(content, from, to).await?;
    let mut answer = match accepted::prefers(request.headers(), &CSV, &JSON) {
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

/// Whether a browser says that it fetches ahead, or renders a page that is not shown yet.
fn is_ahead(headers: &HeaderMap) -> bool {
    let purposes = ["sec-purpose", "purpose"].into_iter().flat_map(|name| headers.get_all(name));
    purposes.filter_map(|value| value.to_str().ok()).any(|purpose| {
        let mut words = purpose.split([';', ',']).map(str::trim);
        words.any(|word| word.eq_ignore_ascii_case("prefetch") || word.eq_ignore_ascii_case("prerender"))
    })
}

#[cfg(test)]
mod tests {
    use http::header::HeaderName;

    use super::*;

    #[test]
    fn a_browser_says_in_two_headers_that_it_asks_ahead() {
        let is_ahead = |name, value| is_ahead(&HeaderMap::from_iter([(name, HeaderValue::from_static(value))]));
        let (new, old) = (HeaderName::from_static("sec-purpose"), HeaderName::from_static("purpose"));
        for ahead in ["prefetch", "prefetch;prerender", "prefetch; anonymous-client-ip", "Prerender"] {
            assert!(is_ahead(new.clone(), ahead) && is_ahead(old.clone(), ahead), "{ahead}");
        }
        for not in ["", "prefetched", "preview"] {
            assert!(!is_ahead(new.clone(), not) && !is_ahead(old.clone(), not), "{not}");
        }
    }
}
