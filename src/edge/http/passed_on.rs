//! Requests that a gateway without a store passes on to a history service, at both ends.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::problem::Problem;
use domain::elsewhere::{By, Elsewhere, Forwarded, ForwardedAnswer};
use model::ids::UserId;

/// Headers of a request that bear on its answer.
const ASKED: [&str; 4] = ["content-type", "accept", "sec-purpose", "purpose"];
/// Headers of an answer that its asker needs.
const TOLD: [&str; 4] = ["content-type", "retry-after", "allow", "vary"];

/// In the extensions of a request at a history service: a gateway has checked its token. `None`: it had none, and needed
/// none.
#[derive(Clone, Copy, Debug)]
pub struct PassedOn(pub Option<UserId>);

/// The answer of a history service.
pub async fn answered(services: &Elsewhere, by: By, request: Request, bytes_max: usize) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let (path, is_get) = (head.uri.path(), head.method == Method::GET);
    let may_repeat = is_get || (head.method == Method::POST && path.ends_with("/get"));
    let (headers, method) = (only(&head.headers, &ASKED), head.method.to_string());
    let uri = head.uri.path_and_query().map_or(path, |asked| asked.as_str()).to_owned();
    let body = super::body::received_or_none(Request::from_parts(head, body), bytes_max).await?.to_vec();
    let answer = services.ask(Forwarded { by, method, uri, headers, body, may_repeat }).await?;
    response(answer).ok_or_else(|| Problem::store_away("a history service has answered something else"))
}

fn response(ForwardedAnswer { status, headers, body }: ForwardedAnswer) -> Option<Response> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).ok()?;
    for (name, value) in headers {
        response.headers_mut().append(name.parse::<HeaderName>().ok()?, HeaderValue::try_from(value).ok()?);
    }
    Some(response)
}

/// The same request at the service; `None`: it is none.
pub fn request(Forwarded { by, method, uri, headers, body, .. }: Forwarded) -> Option<Request> {
    let mut request = Request::builder().method(&*method).uri(uri);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let mut request = request.body(Body::from(body)).ok()?;
    let user = match by {
        By::User(user) => Some(user),
        By::Anybody | By::Operator => None,
    };
    request.extensions_mut().insert(PassedOn(user));
    Some(request)
}

/// The headers of an answer that go back to the gateway.
pub fn answer_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    only(headers, &TOLD)
}

fn only(headers: &HeaderMap, names: &[&str]) -> Vec<(String, String)> {
    let named = names.iter().flat_map(|name| headers.get_all(*name).iter().map(move |value| (*name, value)));
    named.filter_map(|(name, value)| Some((name.to_owned(), value.to_str().ok()?.to_owned()))).collect()
}
