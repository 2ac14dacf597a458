//! Who asks: the token in `Authorization`, checked once per request.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderValue, header};

use super::problem::Problem;
use crate::edge::auth::Identity;
use crate::edge::auth::gate::Gate;
use crate::edge::desk::Desk;
use crate::model::ids::UserId;

/// What is said to whoever is refused with a good token.
pub const SENT_AWAY: &str = "sub: this user was kicked a moment ago, or the token is revoked";

/// An authenticated user, who was not kicked and does not ask too often.
pub struct Caller {
    pub user: UserId,
}

/// Whose token stands in `Authorization`. A bad one is a 401, which those who set a header can read.
pub fn identify(authorization: &HeaderValue, gate: &Gate) -> Result<Identity, Problem> {
    let token = token_of(authorization).ok_or_else(|| Problem::unauthenticated("authorization: is no bearer token"))?;
    gate.identify(token).map_err(|error| Problem::unauthenticated(error.to_string()))
}

fn token_of(authorization: &HeaderValue) -> Option<&str> {
    let (scheme, token) = authorization.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl FromRequestParts<Arc<Desk>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, desk: &Arc<Desk>) -> Result<Self, Problem> {
        let authorization = parts.headers.get(header::AUTHORIZATION);
        let authorization = authorization.ok_or_else(|| Problem::unauthenticated("authorization: is missing"))?;
        let identity = identify(authorization, &desk.gate)?;
        if desk.gate.refuses(&identity) {
            return Err(Problem::forbidden(SENT_AWAY));
        }
        let user = identity.user;
        let too_fast = |wait| Problem::too_fast("more requests of this user than the gateway takes", wait);
        desk.requests.count(user, Instant::now()).map_err(too_fast)?;
        Ok(Caller { user })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_and_nothing_else() {
        let token = |text| token_of(&HeaderValue::from_static(text)).map(str::to_owned);
        for good in ["Bearer a.b.c", "bearer a.b.c", "BEARER  a.b.c"] {
            assert_eq!(token(good), Some("a.b.c".to_owned()), "{good}");
        }
        for bad in ["Bearer", "Bearer ", "Basic NDI6NDI=", "Bearera.b.c", "a.b.c", ""] {
            assert_eq!(token(bad), None, "{bad}");
        }
    }
}
