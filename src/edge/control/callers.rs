//! Callers that prove themselves by a token of their own, in place of the one that may do everything.

use std::collections::HashMap;

use crate::auth::ControlScopes;
use crate::auth::authenticator::Authenticator;
use crate::config::{ControlCaller, ControlScope};
use crate::http::problem::Problem;

/// The services of `control.callers`.
pub struct Callers {
    authenticator: Authenticator,
    /// The most that each caller may do, by its name.
    listed: HashMap<String, ControlScopes>,
}

impl Callers {
    pub fn new(authenticator: Authenticator, configured: &[ControlCaller]) -> Self {
        let scopes = |caller: &ControlCaller| (caller.name.clone(), ControlScopes::these(&caller.scopes));
        Callers { authenticator, listed: configured.iter().map(scopes).collect() }
    }

    /// The name of the caller, if its token and the list both allow this path.
    pub async fn admit(&self, token: &str, path: &str) -> Result<String, Problem> {
        if self.listed.is_empty() {
            return Err(Problem::unauthenticated("authorization: is not the control token"));
        }
        self.authenticator.await_key(token).await;
        let service = self.authenticator.identify_service(token).map_err(|error| {
            let cause = error.cause();
            Problem::unauthenticated(format!(
                "authorization: is neither the control token nor that of a caller: {cause}"
            ))
        })?;
        let unlisted = || Problem::forbidden("sub: is not the name of a caller (control.callers)");
        let listed = *self.listed.get(&service.name).ok_or_else(unlisted)?;
        let needed = scope_of(path).ok_or_else(|| Problem::forbidden("scope: this call needs the control token"))?;
        match (listed & service.control).has(needed) {
            true => Ok(service.name),
            false => Err(Problem::forbidden(format!("scope: this call needs {}", needed.word()))),
        }
    }
}

/// The scope needed for this path; `None` where no scope is enough, which includes paths that do not exist.
fn scope_of(path: &str) -> Option<ControlScope> {
    let is_below =
        |parent: &str| path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    Some(match path {
        "/v1/erase" => ControlScope::Erase,
        "/v1/kick" | "/v1/revoke" | "/v1/export" | "/v1/connections" => ControlScope::Users,
        "/v1/events" => ControlScope::Subscribers,
        _ if is_below("/v1/subscribers") => ControlScope::Subscribers,
        _ if is_below("/v1/live") => ControlScope::Live,
        _ if is_below("/v1/counters") || is_below("/v1/jobs") || is_below("/v1/views") => ControlScope::Counters,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_needs_a_scope_or_the_control_token() {
        for (path, scope) in [
            ("/v1/counters/likes", Some(ControlScope::Counters)),
            ("/v1/jobs/5f", Some(ControlScope::Counters)),
            ("/v1/views/1/100", Some(ControlScope::Counters)),
            ("/v1/subscribers", Some(ControlScope::Subscribers)),
            ("/v1/subscribers/loyalty/replay", Some(ControlScope::Subscribers)),
            ("/v1/events", Some(ControlScope::Subscribers)),
            ("/v1/live", Some(ControlScope::Live)),
            ("/v1/live/1/100", Some(ControlScope::Live)),
            ("/v1/export", Some(ControlScope::Users)),
            ("/v1/kick", Some(ControlScope::Users)),
            ("/v1/erase", Some(ControlScope::Erase)),
            ("/v1/erase/", None),
            ("/v1/liver", None),
            ("/v1/live%2F..%2Ferase", None),
            ("/v1/reload", None),
            ("/v1/clock/accept", None),
            ("/", None),
        ] {
            assert_eq!(scope_of(path), scope, "{path}");
        }
    }
}
