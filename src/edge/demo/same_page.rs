//! Whether a request comes from the demo page itself.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, header};

use crate::http::problem::Problem;
use crate::origin::Origins;

const ADDED_BY_PROXIES: [&str; 3] = ["forwarded", "via", "x-real-ip"];
/// The prefix of the other names: `X-Forwarded-For`, `X-Forwarded-Host`, `X-Forwarded-Proto` and any more.
const ADDED_BY_PROXIES_PREFIX: &str = "x-forwarded";

/// Browsers reach a loopback address on behalf of any page, and a name can be made to lead here: only the page that
/// was served under this machine's own name is answered.
pub fn refuse_other_pages(headers: &HeaderMap) -> Result<(), Problem> {
    let same_host = Origins::new(Vec::new()).allow(headers);
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if same_host && host.is_some_and(names_this_machine) {
        return Ok(());
    }
    Err(Problem::forbidden("only the demo page on this machine may use this path"))
}

/// A proxy on this machine has a loopback address and passes on what clients elsewhere send: a request that says that
/// it came through one is refused, unless that is wanted.
pub async fn refuse_proxied(State(behind_proxies): State<bool>, request: Request, next: Next) -> Response {
    if !behind_proxies && request.headers().keys().any(is_added_by_proxies) {
        return Problem::forbidden("the demo is for this machine only, and this request came through a proxy")
            .into_response();
    }
    next.run(request).await
}

fn is_added_by_proxies(name: &HeaderName) -> bool {
    name.as_str().starts_with(ADDED_BY_PROXIES_PREFIX) || ADDED_BY_PROXIES.contains(&name.as_str())
}

fn names_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_page_on_this_machine_is_allowed() {
        for host in ["localhost:7700", "127.0.0.1:7700", "[::1]:7700", "LOCALHOST"] {
            assert!(names_this_machine(host), "{host}");
        }
        for host in ["evil.example:7700", "10.0.0.1:7700", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            assert!(!names_this_machine(host), "{host}");
        }
        let asks = |host: &str, origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().expect("a value"));
            headers.insert(header::ORIGIN, origin.parse().expect("a value"));
            refuse_other_pages(&headers).is_ok()
        };
        assert!(asks("localhost:7700", "http://localhost:7700"));
        assert!(!asks("localhost:7700", "https://evil.example"));
        assert!(!asks("evil.example:7700", "http://evil.example:7700"));
    }
}
