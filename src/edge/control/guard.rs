//! Admits calls to the control listener, and logs each.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri, header};
use tracing::field::display;

use super::callers::Callers;
use super::host;
use crate::auth::ControlToken;
use crate::called_users::CalledUsers;
use crate::http::problem::Problem;
use crate::http::{bearer, body};
use crate::protocol::json::decode_whom;
use crate::protocol::whom::Whom;
use model::mid_hash::{HashedMid, MidHash};

/// Bytes of any body here: those of the path that takes most. It is read before the route sees it, so that the log can
/// name the user.
const BODY_BYTES_MAX: usize = super::counters::BODY_BYTES_MAX;
/// Characters of a path in the log: the rest is cut off.
const LOGGED_MAX: usize = 128;

pub struct Guard {
    /// Allows everything.
    pub token: ControlToken,
    pub callers: Callers,
    /// Names of this listener besides `localhost` and addresses.
    pub hosts: Vec<String>,
    /// Names users in the log.
    pub mid_hash: MidHash,
    pub called_users: CalledUsers,
}

/// Refuses calls without permission, passes on the others, and logs all.
pub async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let of_query = whom_of_query(request.uri());
    let mut call = Call::of(&request);
    // A `mid` needs no look-up. A name is looked up only for a call that is let in.
    if let Some(Whom::Mid(user)) = of_query {
        call.user = Some(guard.mid_hash.of(user));
    }
    let response = match guard.open(request).await {
        Ok((request, body, caller)) => {
            call.caller = caller;
            if let Some(whom) = of_query.or_else(|| whom_of_body(&body)) {
                call.user = guard.called_users.logged(whom).await.map(|user| guard.mid_hash.of(user));
            }
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    call.status = Some(response.status());
    response
}

/// One call. It is logged when it is over, even if its client has gone before the answer, since its effect may be done.
struct Call {
    source: Option<SocketAddr>,
    method: Method,
    path: String,
    /// The service that calls; `None`: it has the control token, or is refused.
    caller: Option<String>,
    /// Whom the call is about.
    user: Option<HashedMid>,
    /// `None`: there was no answer.
    status: Option<StatusCode>,
}

impl Call {
    fn of(request: &Request) -> Self {
        Call {
            source: request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(source)| *source),
            method: request.method().clone(),
            path: cut(request.uri().path()),
            caller: None,
            user: None,
            status: None,
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Call { source, method, path, caller, user, status } = self;
        let (source, user, path) = (source.map(display), user.map(display), path.as_str());
        let caller = caller.as_deref().map(cut).map(display);
        match status.map(|status| status.as_u16()) {
            Some(status) if is_routine(method, path, status) => {
                tracing::debug!(event = "control", source, %method, path, status, caller, user, "control call");
            }
            Some(status) => {
                tracing::info!(event = "control", source, %method, path, status, caller, user, "control call");
            }
            None => {
                tracing::warn!(event = "control", source, %method, path, caller, user, "control call broken off by its client");
            }
        }
    }
}

impl Guard {
    /// The request with its whole body, if it may come in, and the service that calls, if it has a token of its own.
    async fn open(&self, request: Request) -> Result<(Request, Bytes, Option<String>), Problem> {
        let caller = self.check(request.uri(), request.headers()).await?;
        let (head, body) = request.into_parts();
        let body = body::whole(body, BODY_BYTES_MAX).await?;
        Ok((Request::from_parts(head, Body::from(body.clone())), body, caller))
    }

    async fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<String>, Problem> {
        if !host::is_known(uri, headers, &self.hosts) {
            return Err(Problem::forbidden(
                "host: must be localhost, an IP address, or a name listed in control.hosts",
            ));
        }
        // A browser reaches a loopback address on behalf of any page.
        if headers.contains_key(header::ORIGIN) {
            return Err(Problem::forbidden("origin: web pages may not use the control listener"));
        }
        let authorization = bearer::authorization(headers)?;
        let missing = || Problem::unauthenticated("authorization: is missing; send the control token");
        match bearer::token_of(authorization.ok_or_else(missing)?) {
            Some(token) if self.token.is(token) => Ok(None),
            Some(token) => self.callers.admit(token, uri.path()).await.map(Some),
            None => Err(Problem::unauthenticated("authorization: must be a bearer token")),
        }
    }
}

/// Whether back-ends make such calls all the time: a step or a read of counters, or a read of live numbers. 409 is the
/// answer to a step beyond the bounds.
fn is_routine(method: &Method, path: &str, status: u16) -> bool {
    let answered = (200..300).contains(&status) || status == StatusCode::CONFLICT.as_u16();
    let of_counters = path.starts_with("/v1/counters/") && !path.ends_with("/recount");
    let asks_live = path == "/v1/live" || path.starts_with("/v1/live/");
    answered && ((of_counters && method != Method::DELETE) || (asks_live && method == Method::GET))
}

fn whom_of_query(uri: &Uri) -> Option<Whom> {
    let Query(fields) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    let named = |name| fields.iter().find(|(given, _)| given == name).map(|(_, value)| &**value);
    decode_whom(named("mid"), named("sub")).ok()
}

fn whom_of_body(body: &[u8]) -> Option<Whom> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    let named = |name| document.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    decode_whom(named("mid").as_deref(), named("sub").as_deref()).ok()
}

fn cut(text: &str) -> String {
    text.chars().take(LOGGED_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::UserId;
    use model::user_name::UserName;

    #[test]
    fn what_back_ends_do_all_the_time_is_routine_unless_it_fails_or_removes() {
        for (method, path, status) in [
            (Method::POST, "/v1/counters/likes", 200),
            (Method::POST, "/v1/counters/likes", 409),
            (Method::POST, "/v1/counters/likes/get", 200),
            (Method::GET, "/v1/counters/likes", 200),
            (Method::GET, "/v1/counters/likes/top", 200),
            (Method::GET, "/v1/live", 200),
            (Method::GET, "/v1/live/1/100", 200),
        ] {
            assert!(is_routine(&method, path, status), "{method} {path} {status}");
        }
        for (method, path, status) in [
            (Method::POST, "/v1/counters/likes", 401),
            (Method::POST, "/v1/counters/likes", 503),
            (Method::DELETE, "/v1/counters/likes", 204),
            (Method::POST, "/v1/counters/viewers/recount", 202),
            (Method::GET, "/v1/liver", 200),
            (Method::GET, "/v1/export", 200),
            (Method::POST, "/v1/erase", 204),
        ] {
            assert!(!is_routine(&method, path, status), "{method} {path} {status}");
        }
    }

    #[test]
    fn the_logged_user_is_the_one_of_the_query_or_of_the_body() {
        let of_query = |uri: &str| whom_of_query(&uri.parse().expect("a URI"));
        assert_eq!(of_query("/v1/export?limit=1&mid=42"), Some(Whom::Mid(UserId(42))));
        for none in ["/v1/export", "/v1/export?mids=1", "/v1/export?mid=x%0Ay", "/v1/export?mid="] {
            assert_eq!(of_query(none), None, "{none}");
        }
        assert_eq!(whom_of_body(br#"{"mid":"42"}"#), Some(Whom::Mid(UserId(42))));
        assert_eq!(whom_of_body(br#"{"mid":42}"#), Some(Whom::Mid(UserId(42))));
        let ann = Some(Whom::Sub(UserName::new("ann").expect("a name")));
        assert_eq!((whom_of_body(br#"{"sub":"ann"}"#), of_query("/v1/export?sub=ann")), (ann.clone(), ann));
        for none in [&b""[..], b"[42]", br#"{"jti":"a"}"#, br#"{"mid":[7]}"#] {
            assert_eq!(whom_of_body(none), None, "{none:?}");
        }
        assert_eq!(cut(&"9".repeat(1_000)).len(), LOGGED_MAX);
    }
}
