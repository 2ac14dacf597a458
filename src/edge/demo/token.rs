//! Gives any client a token for any user. The back-end of an app does that after it has authenticated the user.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::auth::key::SIGNS_NOTHING;
use crate::http::body;
use crate::http::problem::Problem;
use domain::time::clock;
use model::ids::UserId;

const BODY_BYTES_MAX: usize = 1024;
const TTL_SECONDS_DEFAULT: u64 = 3_600;
const TTL_SECONDS_MAX: u64 = 30 * 24 * 3_600;

#[derive(Deserialize)]
struct TokenBody {
    mid: String,
    ttl: Option<u64>,
}

/// `POST /demo/token` `{"mid":"42","ttl":3600}`; `ttl` in seconds.
pub async fn post(State(context): State<DemoContext>, request: Request) -> Result<Response, Problem> {
    refuse_other_pages(request.headers())?;
    let key = context.key.ok_or_else(|| Problem::not_found(SIGNS_NOTHING))?;
    let body = body::whole(request.into_body(), BODY_BYTES_MAX).await?;
    let (user, ttl) = decode(&body)?;
    let issued = key.issue(user, ttl, clock::wall());
    let answer = serde_json::json!({"token": issued.token, "expires": issued.expires_ms});
    Ok(body::answered(answer.to_string()))
}

fn decode(body: &[u8]) -> Result<(UserId, Duration), Problem> {
    let wanted: TokenBody = serde_json::from_slice(body).map_err(|error| Problem::invalid(format!("body: {error}")))?;
    let digits = wanted.mid.bytes().all(|byte| byte.is_ascii_digit());
    let mid = wanted.mid.parse().ok().filter(|_| digits);
    let mid = mid.ok_or_else(|| Problem::invalid("mid: must be a decimal number of 64 bits, as a string"))?;
    let ttl = wanted.ttl.unwrap_or(TTL_SECONDS_DEFAULT);
    if !(1..=TTL_SECONDS_MAX).contains(&ttl) {
        return Err(Problem::invalid(format!("ttl: must be from 1 to {TTL_SECONDS_MAX} seconds")));
    }
    Ok((UserId(mid), Duration::from_secs(ttl)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_demo_token_request_has_a_user_and_perhaps_a_lifetime() {
        let decoded = |body: &str| decode(body.as_bytes()).map(|(user, ttl)| (user.0, ttl.as_secs())).ok();
        assert_eq!(decoded(r#"{"mid":"42","ttl":60}"#), Some((42, 60)));
        assert_eq!(decoded(r#"{"mid":"42"}"#), Some((42, 3_600)));
        let bad = [
            "",
            "{}",
            r#"{"mid":"x"}"#,
            r#"{"mid":"+1"}"#,
            r#"{"mid":""}"#,
            r#"{"mid":42}"#,
            r#"{"mid":"42","ttl":0}"#,
            r#"{"mid":"42","ttl":-1}"#,
            r#"{"mid":"42","ttl":99999999}"#,
        ];
        for body in bad {
            assert_eq!(decoded(body), None, "{body}");
        }
    }
}
