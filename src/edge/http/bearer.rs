//! The user of a request: the token in `Authorization`, checked once per request.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};

use super::passed_on::PassedOn;
use super::problem::Problem;
use super::request_log::RequestUser;
use crate::auth::authenticator::Authenticator;
use crate::auth::{Identity, User};
use crate::context::ConnectionContext;
use model::ids::UserId;
use model::user_name::UserName;

/// The answer to a request that is refused although its token is valid.
pub const SENT_AWAY: &str = "sub: this user was kicked a moment ago, or the token is revoked";

/// An authenticated user that was not kicked and is within the rate limit.
pub struct Caller {
    pub user: UserId,
    /// Where users are named by texts.
    pub name: Option<UserName>,
}

/// The caller of a request that changes nothing. A name that has no number gets none, and nothing is found.
pub struct ReadingCaller(pub Caller);

/// The user of the token in `Authorization`. A bad one is a 401, which a client that can set a header can also read.
pub fn identify(authorization: &HeaderValue, authenticator: &Authenticator) -> Result<Identity, Problem> {
    let token =
        token_of(authorization).ok_or_else(|| Problem::unauthenticated("authorization: must be a bearer token"))?;
    authenticator.identify(token).map_err(|error| Problem::unauthenticated(error.cause()))
}

/// The one `Authorization` of a request, if it has any. Of two, a proxy in front may have checked the other one.
pub fn authorization(headers: &HeaderMap) -> Result<Option<&HeaderValue>, Problem> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (_, Some(_)) => Err(Problem::invalid("authorization: is given twice")),
        (authorization, None) => Ok(authorization),
    }
}

/// The token of a `Bearer` authorization.
pub fn token_of(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl FromRequestParts<Arc<ConnectionContext>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, context: &Arc<ConnectionContext>) -> Result<Self, Problem> {
        Caller::of(parts, context, false).await
    }
}

impl FromRequestParts<Arc<ConnectionContext>> for ReadingCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, context: &Arc<ConnectionContext>) -> Result<Self, Problem> {
        Caller::of(parts, context, true).await.map(ReadingCaller)
    }
}

impl Caller {
    async fn of(parts: &Parts, context: &ConnectionContext, reads: bool) -> Result<Self, Problem> {
        if let Some(PassedOn(Some(user))) = parts.extensions.get() {
            return Ok(Caller { user: *user, name: None });
        }
        let authorization = authorization(&parts.headers)?;
        let authorization = authorization.ok_or_else(|| Problem::unauthenticated("authorization: is missing"))?;
        if let Some(token) = token_of(authorization) {
            context.authenticator.await_key(token).await;
        }
        let authenticator = &context.authenticator;
        let identity = identify(authorization, authenticator)?;
        let found = if reads { authenticator.reader(&identity).await } else { authenticator.user(&identity).await };
        let User { id: user, name } = found?;
        if let Some(logged) = parts.extensions.get::<RequestUser>() {
            logged.is(user);
        }
        if authenticator.refuses(user, &identity) {
            return Err(Problem::forbidden(SENT_AWAY));
        }
        let too_fast = |wait| Problem::too_fast("too many requests of this user (limits.frames_per_second)", wait);
        context.requests.count(&user).map_err(too_fast)?;
        Ok(Caller { user, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_is_accepted() {
        let token = |text| token_of(&HeaderValue::from_static(text)).map(str::to_owned);
        for good in ["Bearer a.b.c", "bearer a.b.c", "BEARER  a.b.c"] {
            assert_eq!(token(good), Some("a.b.c".to_owned()), "{good}");
        }
        for bad in ["Bearer", "Bearer ", "Basic NDI6NDI=", "Bearera.b.c", "a.b.c", ""] {
            assert_eq!(token(bad), None, "{bad}");
        }
    }
}
