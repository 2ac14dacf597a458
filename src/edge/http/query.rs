//! What stands in the query of a URL, and what may not.

use axum::extract::{Query, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Uri;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use crate::edge::protocol::frame::FrameLimits;
use crate::edge::protocol::json::{
    decode_event_request, decode_export, decode_forgetting, decode_page_request, decode_revoked,
};
use crate::model::event_page::EventRequest;
use crate::model::ids::{ConnectionId, UserId};
use crate::model::page::PageRequest;
use crate::model::revocation::Revoked;

/// URLs end in logs, histories and referrers: whoever puts a token there is told so at once, and learns it in testing.
const TOKEN_NAMES: [&str; 3] = ["token", "access_token", "jwt"];

#[derive(Deserialize)]
struct PageQuery {
    limit: Option<String>,
    cursor: Option<String>,
    kinds: Option<String>,
}

#[derive(Deserialize)]
struct ForgettingQuery {
    at: Option<String>,
    connection: Option<String>,
}

#[derive(Deserialize)]
struct ExportQuery {
    mid: Option<String>,
    limit: Option<String>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct EventsQuery {
    after: Option<String>,
    limit: Option<String>,
    wait: Option<String>,
}

#[derive(Deserialize)]
struct RevokedQuery {
    mid: Option<String>,
    jti: Option<String>,
}

/// Which page of a list is asked for.
pub fn page_request(uri: &Uri, limits: &FrameLimits) -> Result<PageRequest, Problem> {
    let PageQuery { limit, cursor, kinds } = fields(uri)?;
    Ok(decode_page_request(limit.as_deref(), kinds.as_deref(), cursor.as_deref(), limits)?)
}

/// From when on something is to be forgotten (server-clock milliseconds), if that is said, and which connection knows it
/// already.
pub fn forgetting(uri: &Uri) -> Result<(Option<u64>, Option<ConnectionId>), Problem> {
    let ForgettingQuery { at, connection } = fields(uri)?;
    Ok(decode_forgetting(at.as_deref(), connection.as_deref())?)
}

/// Whose revocation, or that of which token.
pub fn revoked(uri: &Uri) -> Result<Revoked, Problem> {
    let RevokedQuery { mid, jti } = fields(uri)?;
    Ok(decode_revoked(mid.as_deref(), jti)?)
}

/// Whose records are handed over, and which page of them.
pub fn export(uri: &Uri) -> Result<(UserId, PageRequest), Problem> {
    let ExportQuery { mid, limit, cursor } = fields(uri)?;
    Ok(decode_export(mid.as_deref(), limit.as_deref(), cursor.as_deref())?)
}

/// Which part of the event log is asked for, and how long it may be waited for.
pub fn events(uri: &Uri) -> Result<EventRequest, Problem> {
    let EventsQuery { after, limit, wait } = fields(uri)?;
    Ok(decode_event_request(after.as_deref(), limit.as_deref(), wait.as_deref())?)
}

/// Unknown fields are ignored, as in a frame.
fn fields<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let Query(fields) = Query::try_from_uri(uri).map_err(|_| Problem::invalid("query: a field is given twice"))?;
    Ok(fields)
}

/// Answers 400 to whatever carries a token in its URL.
pub async fn refuse_tokens(request: Request, next: Next) -> Response {
    if names_a_token(request.uri()) {
        return Problem::invalid("query: a token belongs into Authorization, never into a URL").into_response();
    }
    next.run(request).await
}

fn names_a_token(uri: &Uri) -> bool {
    let fields = Query::<Vec<(String, String)>>::try_from_uri(uri).map(|Query(fields)| fields);
    fields.is_ok_and(|fields| fields.iter().any(|(name, _)| TOKEN_NAMES.contains(&name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::protocol::cursor;
    use crate::edge::protocol::frame::Cursor;
    use crate::model::ids::Content;
    use crate::model::page::Position;

    const LIMITS: FrameLimits = FrameLimits { beats: 500, items: 500, list: 200 };

    fn uri(query: &str) -> Uri {
        format!("/v1/history?{query}").parse().expect("a URL")
    }

    #[test]
    fn a_page_is_asked_for_by_name() {
        let content = Content { kind: 1, oid: 100 };
        let cursor = cursor::encode(&Cursor { position: Position { at: 5, content }, kinds: vec![1, 3] });
        let query = format!("kinds=1%2C3&cursor={cursor}&limit=7&other=x");
        let page = page_request(&uri(&query), &LIMITS).expect("a page");
        assert_eq!(page, PageRequest { limit: 7, after: Some(Position { at: 5, content }), kinds: vec![1, 3] });
        let page = page_request(&"/v1/history".parse().expect("a URL"), &LIMITS).expect("a page");
        assert_eq!(page, PageRequest { limit: 20, after: None, kinds: vec![] });
        for bad in ["limit=0", "limit=x", "limit=1&limit=2", "kinds=a", "cursor=a"] {
            assert!(page_request(&uri(bad), &LIMITS).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_forgetting_may_leave_everything_out() {
        let named = forgetting(&uri("connection=00000000000000ff&at=5")).expect("a moment");
        assert_eq!(named, (Some(5), Some(ConnectionId(255))));
        assert_eq!(forgetting(&uri("")).expect("a moment"), (None, None));
        for bad in ["at=-1", "at=1.5", "at=1&at=1", "connection=zz"] {
            assert!(forgetting(&uri(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_export_is_of_one_user_in_pages_of_at_most_1000() {
        let limit = |query| export(&uri(query)).map(|(user, page)| (user.0, page.limit)).ok();
        assert_eq!(limit("mid=42"), Some((42, 1_000)));
        assert_eq!(limit("mid=42&cursor=&limit=7"), Some((42, 7)));
        assert_eq!(limit("mid=42&limit=5000"), Some((42, 1_000)));
        for bad in ["", "mid=", "mid=-1", "mid=42&limit=0", "mid=42&cursor=x"] {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_revocation_is_named_by_user_or_token() {
        assert_eq!(revoked(&uri("mid=42")).expect("a user"), Revoked::User(UserId(42)));
        assert_eq!(revoked(&uri("jti=a%2Bb%20c")).expect("a token"), Revoked::Token("a+b c".into()));
        for bad in ["", "mid=", "mid=x", "jti=", "mid=1&jti=a", "mid=1&mid=2"] {
            assert!(revoked(&uri(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_found_wherever_it_stands() {
        for query in ["token=abc", "limit=1&access_token=", "jwt", "%74oken=abc", "a=%&token=b"] {
            assert!(names_a_token(&uri(query)), "{query}");
        }
        for query in ["", "limit=1", "cursor=token", "tokens=1"] {
            assert!(!names_a_token(&uri(query)), "{query}");
        }
    }
}
