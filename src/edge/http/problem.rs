//! Errors as the problem documents of RFC 9457.
//!
//! `type` is `/problems/<word>`: a name to compare, with nothing behind it. The words are those of the protocol.

use std::time::Duration;

use axum::response::{AppendHeaders, IntoResponse, Response};
use http::header::{self, HeaderName};
use http::{HeaderValue, Method, StatusCode};
use serde::Serialize;

use crate::called_users::{NoUser, NotAll};
use crate::protocol::frame::{DecodeError, ErrorCode};
use domain::content_names::ContentNamesUnavailable;
use domain::counters::CountersUnavailable;
use domain::events::LogAway;
use domain::names::NamesUnavailable;
use domain::store_reads::Unavailable;
use domain::subscribers::SubscribersError;
use domain::views::ViewsUnavailable;

const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");
/// When to ask again what the store did not answer.
const STORE_RETRY_SECONDS: u64 = 1;
/// When to try again while a server drains, if there is no other.
const DRAIN_RETRY_SECONDS: u64 = 5;
/// When to ask again a server whose clock is wrong, if there is no other.
const CLOCK_RETRY_SECONDS: u64 = 5;

/// An error answer, ready to be sent.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    word: &'static str,
    /// The same for all problems of one word.
    title: &'static str,
    /// The details of this occurrence.
    detail: String,
    /// The counter's present value, in a member of its own.
    value: Option<i64>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

#[derive(Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<i64>,
}

impl Problem {
    fn new(status: StatusCode, word: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Problem { status, word, title, detail: detail.into(), value: None, headers: Vec::new() }
    }

    /// `detail` begins with the path of the field.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::of_code(StatusCode::BAD_REQUEST, ErrorCode::Invalid, detail)
    }

    /// The request is not authenticated.
    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        let problem = Self::of_code(StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized, detail);
        problem.with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// The request is not allowed, whatever its token.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::of_code(StatusCode::FORBIDDEN, ErrorCode::Unauthorized, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "Not found", detail)
    }

    /// The request conflicts with the current state.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", "Conflict", detail)
    }

    /// A counter would pass a bound. `value`: as it is.
    pub fn bounds(detail: impl Into<String>, value: i64) -> Self {
        let problem = Self::new(StatusCode::CONFLICT, "bounds", "Out of bounds", detail);
        Problem { value: Some(value), ..problem }
    }

    /// The id of the request was given to another one.
    pub fn id_reused(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "id_reused", "Id reused", detail)
    }

    /// The router adds the methods there are.
    pub fn no_such_method() -> Self {
        Self::method(&[], "the Allow header lists the allowed methods")
    }

    /// `allowed`: the methods there are; empty where the router adds them.
    pub fn method(allowed: &[Method], detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", "Method not allowed", detail);
        let names: Vec<&str> = allowed.iter().map(Method::as_str).collect();
        match HeaderValue::from_str(&names.join(",")) {
            Ok(names) if !allowed.is_empty() => problem.with(header::ALLOW, names),
            _ => problem,
        }
    }

    /// The request is to become a socket, and does not ask for one as it is spoken here.
    pub fn upgrade_required(detail: impl Into<String>) -> Self {
        let problem = Self::of_code(StatusCode::UPGRADE_REQUIRED, ErrorCode::Invalid, detail);
        problem.with(header::UPGRADE, HeaderValue::from_static("websocket"))
    }

    pub fn too_large(bytes_max: usize) -> Self {
        let detail = format!("body: must be at most {bytes_max} bytes long");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "Too large", detail)
    }

    pub fn media_type() -> Self {
        let detail = "content-type: must be application/json, or left out";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", "Wrong media type", detail)
    }

    pub fn too_fast(detail: impl Into<String>, wait: Duration) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_fast", "Too fast", detail);
        problem.with(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)))
    }

    /// More requests without a token than one address may send.
    pub fn of_address_too_fast(wait: Duration) -> Self {
        Self::too_fast("too many requests of this address (limits.frames_per_second)", wait)
    }

    /// The server drains.
    pub fn going_away() -> Self {
        Self::unavailable("the gateway is shutting down", DRAIN_RETRY_SECONDS)
    }

    /// Nothing is known to have been done; the same may be sent again.
    pub fn unavailable(detail: impl Into<String>, retry_after_seconds: u64) -> Self {
        let problem = Self::of_code(StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable, detail);
        problem.with(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds))
    }

    /// The store did not answer.
    pub fn store_away(detail: impl Into<String>) -> Self {
        Self::unavailable(detail, STORE_RETRY_SECONDS)
    }

    /// The clock is wrong: no request is served.
    pub fn out_of_time(detail: impl Into<String>) -> Self {
        Self::unavailable(detail, CLOCK_RETRY_SECONDS)
    }

    fn of_code(status: StatusCode, code: ErrorCode, detail: impl Into<String>) -> Self {
        let title = match code {
            ErrorCode::Invalid => "Invalid request",
            ErrorCode::UnknownOperation => "Unknown operation",
            ErrorCode::Unauthorized => "Not authorized",
            ErrorCode::TooMany => "Too many at once",
            ErrorCode::Unavailable => "Not available now",
        };
        Self::new(status, code.word(), title, detail)
    }

    /// The details of this occurrence.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The same, with a header more.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl From<DecodeError> for Problem {
    fn from(malformed: DecodeError) -> Self {
        Problem::of_code(StatusCode::BAD_REQUEST, malformed.code, malformed.message)
    }
}

impl From<Unavailable> for Problem {
    fn from(unavailable: Unavailable) -> Self {
        Problem::store_away(unavailable.to_string())
    }
}

impl From<NamesUnavailable> for Problem {
    fn from(unavailable: NamesUnavailable) -> Self {
        Problem::store_away(unavailable.to_string())
    }
}

impl From<ContentNamesUnavailable> for Problem {
    fn from(unavailable: ContentNamesUnavailable) -> Self {
        Problem::store_away(unavailable.to_string())
    }
}

impl From<NoUser> for Problem {
    fn from(error: NoUser) -> Self {
        match error {
            NoUser::NumbersOnly | NoUser::Unknown => Problem::invalid(error.to_string()),
            NoUser::Unavailable(unavailable) => unavailable.into(),
        }
    }
}

impl From<NotAll> for Problem {
    fn from(error: NotAll) -> Self {
        match error {
            NotAll::One(_, error) => error.into(),
            NotAll::Unavailable(unavailable) => unavailable.into(),
        }
    }
}

impl From<ViewsUnavailable> for Problem {
    fn from(unavailable: ViewsUnavailable) -> Self {
        Problem::store_away(unavailable.to_string())
    }
}

impl From<CountersUnavailable> for Problem {
    fn from(unavailable: CountersUnavailable) -> Self {
        Problem::store_away(unavailable.to_string())
    }
}

impl From<SubscribersError> for Problem {
    fn from(error: SubscribersError) -> Self {
        match error {
            SubscribersError::Missing => Problem::not_found(error.to_string()),
            SubscribersError::Future | SubscribersError::Unknown { .. } => Problem::invalid(error.to_string()),
            SubscribersError::Unreadable(_) | SubscribersError::Store | SubscribersError::Bus => {
                Problem::store_away(error.to_string())
            }
        }
    }
}

impl From<LogAway> for Problem {
    fn from(away: LogAway) -> Self {
        Problem::store_away(away.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = Document {
            r#type: format!("/problems/{}", self.word),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            value: self.value,
        };
        let text = serde_json::to_string(&document).expect("text and numbers can be written as JSON");
        let headers = AppendHeaders(self.headers);
        (self.status, [(header::CONTENT_TYPE, MEDIA_TYPE)], headers, text).into_response()
    }
}

/// A wait as the value of `Retry-After`: rounded up, and at least 1.
pub fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// For paths that lead nowhere.
pub async fn no_such_path() -> Problem {
    Problem::not_found("no such path")
}

/// For methods that a path does not have.
pub async fn no_such_method() -> Problem {
    Problem::no_such_method()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use serde_json::{Value, json};

    async fn sent(problem: Problem) -> (http::response::Parts, Value) {
        let (head, body) = problem.into_response().into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        (head, serde_json::from_slice(&body).expect("JSON"))
    }

    #[tokio::test]
    async fn a_problem_document_has_the_error_code_of_the_protocol() {
        let (head, document) = sent(Problem::invalid("items[0].pos: must not be negative")).await;
        assert_eq!(head.headers[header::CONTENT_TYPE], "application/problem+json");
        let expected = json!({
            "type": "/problems/invalid", "title": "Invalid request", "status": 400,
            "detail": "items[0].pos: must not be negative",
        });
        assert_eq!(document, expected);
    }

    #[tokio::test]
    async fn a_refusal_that_may_be_retried_says_after_how_long() {
        let (head, document) = sent(Problem::too_fast("too fast", Duration::from_micros(1_000_001))).await;
        assert_eq!((head.status.as_u16(), &head.headers[header::RETRY_AFTER]), (429, &HeaderValue::from(2)));
        assert_eq!(document["type"], "/problems/too_fast");
        let (head, _) = sent(Problem::too_fast("too fast", Duration::ZERO)).await;
        assert_eq!(head.headers[header::RETRY_AFTER], "1");
        let (head, document) = sent(Unavailable.into()).await;
        assert_eq!((head.status.as_u16(), &head.headers[header::RETRY_AFTER]), (503, &HeaderValue::from(1)));
        assert_eq!(document["type"], "/problems/unavailable");
    }
}
