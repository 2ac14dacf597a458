//! Parses the queries of URLs, and refuses tokens in them.

use axum::extract::{Query, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Uri;

use super::problem::Problem;
use crate::protocol::frame::FrameLimits;
use crate::protocol::json::{
    ExportPage, ListQuery, NamedRevoked, RankedBy, decode_counter_key, decode_counter_top, decode_dead,
    decode_event_request, decode_export, decode_forgetting, decode_list_query, decode_revoked, decode_subscriber_list,
    decode_tail, decode_top, decode_view_days, decode_whom,
};
use crate::protocol::unknown_field;
use crate::protocol::whom::Whom;
use model::content_name::ContentIds;
use model::counters::CounterKey;
use model::event_page::EventRequest;
use model::event_topic::EventTopic;
use model::ids::{ConnectionId, Content};
use model::page::ListRequest;
use model::rewards::day::Day;
use model::subscribers::SubscriberId;

/// URLs end up in logs, histories and referrers, so a token there is refused at once: the mistake shows in testing.
const TOKEN_NAMES: [&str; 3] = ["token", "access_token", "jwt"];

/// Which page of a list is asked for.
pub fn list_request(uri: &Uri, limits: &FrameLimits) -> Result<ListRequest, Problem> {
    let fields = fields(uri, ["limit", "cursor", "kinds", "finished"])?;
    let [limit, cursor, kinds, finished] = fields.each_ref().map(Option::as_deref);
    Ok(decode_list_query(ListQuery { limit, cursor, kinds, finished }, limits)?)
}

/// The `at` of a delete or a clear (server-clock milliseconds), if given, and the connection that gets no push of it.
pub fn forgetting(uri: &Uri) -> Result<(Option<u64>, Option<ConnectionId>), Problem> {
    let [at, connection] = fields(uri, ["at", "connection"])?;
    Ok(decode_forgetting(at.as_deref(), connection.as_deref())?)
}

/// The user, or the token, whose revocation is meant.
pub fn revoked(uri: &Uri) -> Result<NamedRevoked, Problem> {
    let [mid, sub, jti] = fields(uri, ["mid", "sub", "jti"])?;
    Ok(decode_revoked(mid.as_deref(), sub.as_deref(), jti)?)
}

/// The user whose records are exported, and which page of them.
pub fn export(uri: &Uri) -> Result<(Whom, ExportPage), Problem> {
    let fields = fields(uri, ["mid", "sub", "limit", "cursor", "order"])?;
    let [mid, sub, limit, cursor, order] = fields.each_ref().map(Option::as_deref);
    Ok(decode_export((mid, sub), limit, cursor, order)?)
}

/// Which user is asked about.
pub fn user(uri: &Uri) -> Result<Whom, Problem> {
    let [mid, sub] = fields(uri, ["mid", "sub"])?;
    Ok(decode_whom(mid.as_deref(), sub.as_deref())?)
}

/// Which part of which event log is asked for, and how long it may be waited for.
pub fn events(uri: &Uri) -> Result<(EventTopic, EventRequest), Problem> {
    let [log, after, limit, wait] = fields(uri, ["log", "after", "limit", "wait"])?;
    Ok(decode_event_request(log.as_deref(), after.as_deref(), limit.as_deref(), wait.as_deref())?)
}

/// How many contents are asked for, and by what they are ranked.
pub fn top(uri: &Uri) -> Result<(usize, RankedBy), Problem> {
    let [limit, by] = fields(uri, ["limit", "by"])?;
    Ok(decode_top(limit.as_deref(), by.as_deref())?)
}

/// How many visits are asked for.
pub fn tail(uri: &Uri) -> Result<usize, Problem> {
    let [limit] = fields(uri, ["limit"])?;
    Ok(decode_tail(limit.as_deref())?)
}

/// The first and the last day of views that are asked for.
pub fn view_days(uri: &Uri, today: Day) -> Result<(Day, Day), Problem> {
    let [from, to] = fields(uri, ["from", "to"])?;
    Ok(decode_view_days(from.as_deref(), to.as_deref(), today)?)
}

/// Which subscribers are asked for: those after an id, at most so many.
pub fn subscriber_list(uri: &Uri) -> Result<(Option<SubscriberId>, usize), Problem> {
    let [after, limit] = fields(uri, ["after", "limit"])?;
    Ok(decode_subscriber_list(after.as_deref(), limit.as_deref())?)
}

/// Which dead letters are asked for: those after a number, at most so many.
pub fn dead_letters(uri: &Uri) -> Result<(u64, usize), Problem> {
    let [after, limit] = fields(uri, ["after", "limit"])?;
    Ok(decode_dead(after.as_deref(), limit.as_deref())?)
}

/// The key of a counter: the values of `key` are its parts. `parts`: the names of the parts that it must have.
pub fn counter_key(uri: &Uri, parts: &[String]) -> Result<CounterKey, Problem> {
    let (given, []) = key_and_fields(uri, [])?;
    Ok(decode_counter_key(&given, parts)?)
}

/// The first parts of the keys of a counter, perhaps none, and how many of them are asked for.
pub fn counter_top(uri: &Uri, parts: &[String]) -> Result<(CounterKey, usize), Problem> {
    let (prefix, [limit]) = key_and_fields(uri, ["limit"])?;
    Ok(decode_counter_top(limit.as_deref(), &prefix, parts)?)
}

/// All values of `key`, and those of these fields.
fn key_and_fields<const COUNT: usize>(
    uri: &Uri,
    known: [&str; COUNT],
) -> Result<(Vec<String>, [Option<String>; COUNT]), Problem> {
    let (keys, others): (Vec<_>, Vec<_>) = pairs(uri).into_iter().partition(|(name, _)| name == "key");
    let named: Vec<&str> = known.iter().copied().chain(["key"]).collect();
    let values = once_each(others, known, &named)?;
    Ok((keys.into_iter().map(|(_, part)| part).collect(), values))
}

/// The values of `content`, in order: `1:100` is kind 1, oid 100.
pub fn contents(uri: &Uri, most: usize, ids: ContentIds) -> Result<Vec<Content>, Problem> {
    let (contents, others): (Vec<_>, Vec<_>) = pairs(uri).into_iter().partition(|(name, _)| name == "content");
    let [] = once_each(others, [], &["content"])?;
    if !(1..=most).contains(&contents.len()) {
        return Err(Problem::invalid(format!("query: content must be given 1 to {most} times")));
    }
    contents.iter().map(|(_, given)| content(given, ids)).collect()
}

fn content(given: &str, ids: ContentIds) -> Result<Content, Problem> {
    let content = ids.content(given).map(|(content, _)| content);
    content.map_err(|_| Problem::invalid("query: content must be kind:oid, such as 1:100"))
}

/// For a path that takes no query.
pub fn none(uri: &Uri) -> Result<(), Problem> {
    let [] = fields(uri, [])?;
    Ok(())
}

/// The values of these fields, in order. Any other field is an error: it would be ignored silently.
fn fields<const COUNT: usize>(uri: &Uri, known: [&str; COUNT]) -> Result<[Option<String>; COUNT], Problem> {
    once_each(pairs(uri), known, &known)
}

/// `named`: all fields that the path takes, for the complaint about another one.
fn once_each<const COUNT: usize>(
    pairs: Vec<(String, String)>,
    known: [&str; COUNT],
    named: &[&str],
) -> Result<[Option<String>; COUNT], Problem> {
    let mut values = [const { None }; COUNT];
    for (name, value) in pairs {
        let Some(index) = known.iter().position(|known| *known == name) else {
            return Err(Problem::invalid(format!("query: {}", unknown_field::complaint(&name, named))));
        };
        if values[index].replace(value).is_some() {
            return Err(Problem::invalid(format!("query: {name} is given twice")));
        }
    }
    Ok(values)
}

fn pairs(uri: &Uri) -> Vec<(String, String)> {
    // Any text can be read as pairs; what is not UTF-8 is replaced.
    Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default()
}

/// Answers 400 to a request with a token in its URL.
pub async fn refuse_tokens(request: Request, next: Next) -> Response {
    if names_a_token(request.uri()) {
        return Problem::invalid("query: send the token in Authorization, never in a URL").into_response();
    }
    next.run(request).await
}

fn names_a_token(uri: &Uri) -> bool {
    pairs(uri).iter().any(|(name, _)| TOKEN_NAMES.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::cursor;
    use crate::protocol::frame::Cursor;
    use model::ids::UserId;
    use model::page::{ListFilter, Position};
    use model::user_name::UserName;

    const LIMITS: FrameLimits = FrameLimits { ids: ContentIds::Number, beats: 500, items: 500, list: 200 };

    fn uri(query: &str) -> Uri {
        format!("/v1/history?{query}").parse().expect("a URL")
    }

    #[test]
    fn a_page_is_asked_for_by_name() {
        let content = Content { kind: 1, oid: 100 };
        let position = Position { at: 5, content };
        let filter = ListFilter { kinds: vec![1, 3], finished: Some(false) };
        let cursor = cursor::encode(&Cursor { position, filter: filter.clone() });
        let query = format!("kinds=1%2C3&finished=false&cursor={cursor}&limit=7");
        let list = list_request(&uri(&query), &LIMITS).expect("a list");
        assert_eq!(list, ListRequest { limit: 7, after: Some(position), filter });
        let list = list_request(&"/v1/history".parse().expect("a URL"), &LIMITS).expect("a list");
        assert_eq!(list, ListRequest { limit: 20, after: None, filter: ListFilter::default() });
        for bad in ["limit=0", "limit=x", "limit=1&limit=2", "kinds=a", "cursor=a", "finished=1", "finished=no"] {
            assert!(list_request(&uri(bad), &LIMITS).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_query_of_a_delete_has_an_optional_moment_and_connection() {
        let named = forgetting(&uri("connection=00000000000000ff&at=5")).expect("a moment");
        assert_eq!(named, (Some(5), Some(ConnectionId(255))));
        assert_eq!(forgetting(&uri("")).expect("a moment"), (None, None));
        for bad in ["at=-1", "at=1.5", "at=1&at=1", "at=", "at", "connection=zz", "connection="] {
            assert!(forgetting(&uri(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_export_is_of_one_user_in_pages_of_at_most_1000() {
        let of_page = |(user, page)| match page {
            ExportPage::Newest(list) => (user, list.limit),
            ExportPage::ByContent(walk) => (user, walk.limit),
        };
        let limit = |query| export(&uri(query)).ok().map(of_page);
        assert_eq!(limit("mid=42"), Some((Whom::Mid(UserId(42)), 1_000)));
        let ann = UserName::new("a+n n").expect("a name");
        assert_eq!(limit("sub=a%2Bn+n"), Some((Whom::Sub(ann), 1_000)));
        assert_eq!(limit("mid=42&cursor=&limit=7"), Some((Whom::Mid(UserId(42)), 7)));
        assert_eq!(limit("mid=42&limit=5000"), Some((Whom::Mid(UserId(42)), 1_000)));
        for order in ["", "content", "newest"] {
            for (rest, expected) in
                [("", Some(1_000)), ("&limit=7&cursor=", Some(7)), ("&limit=0", None), ("&cursor=x", None)]
            {
                let query = format!("mid=42&order={order}{rest}");
                let expected = expected.map(|limit| (Whom::Mid(UserId(42)), limit));
                assert_eq!(export(&uri(&query)).ok().map(of_page), expected, "{query}");
            }
        }
        let bad = ["", "mid=", "mid=-1", "mid=42&limit=0", "mid=42&cursor=x", "sub=", "sub=a%00", "mid=1&sub=a"];
        for bad in bad.into_iter().chain(["mid=42&order=oldest"]) {
            assert_eq!(limit(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_revocation_is_named_by_user_or_token() {
        assert_eq!(revoked(&uri("mid=42")).expect("a user"), NamedRevoked::User(Whom::Mid(UserId(42))));
        let ann = UserName::new("ann").expect("a name");
        assert_eq!(revoked(&uri("sub=ann")).expect("a user"), NamedRevoked::User(Whom::Sub(ann)));
        assert_eq!(revoked(&uri("jti=a%2Bb%20c")).expect("a token"), NamedRevoked::Token("a+b c".into()));
        for bad in ["", "mid=", "mid=x", "jti=", "mid=1&jti=a", "mid=1&mid=2"] {
            assert!(revoked(&uri(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unknown_field_is_named_with_the_nearest_that_is_known() {
        for (query, complaint) in [
            ("kind=1", "unknown field kind; did you mean kinds?"),
            ("Limit=1", "unknown field Limit; did you mean limit?"),
            ("limit=1&offset=5", "unknown field offset; known: limit, cursor, kinds"),
            ("&=5", "unknown field ; known: limit, cursor, kinds"),
        ] {
            let problem = fields(&uri(query), ["limit", "cursor", "kinds"]).expect_err(query);
            assert!(format!("{problem:?}").contains(complaint), "{query}: {problem:?}");
        }
        assert!(none(&uri("")).is_ok() && none(&uri("&")).is_ok() && none(&uri("x")).is_err());
        let long = format!("{problem:?}", problem = none(&uri(&"x".repeat(1_000))).expect_err("unknown"));
        assert!(long.len() < 400, "{long}");
    }

    #[test]
    fn the_parts_of_a_counters_key_are_repeated() {
        let names = ["kind".to_owned(), "oid".to_owned()];
        let key = |query| counter_key(&uri(query), &names).map(|key| key.to_string()).ok();
        assert_eq!(key("key=1&key=a%20b"), Some("1:a%20b".to_owned()));
        for bad in ["", "key=1", "key=1&key=2&key=3", "key=1&key=", "key=1&key=2&limit=5", "key=1&keys=2"] {
            assert_eq!(key(bad), None, "{bad}");
        }
        let top = |query| counter_top(&uri(query), &names).map(|(key, limit)| (key.to_string(), limit)).ok();
        assert_eq!(top(""), Some((String::new(), 100)));
        assert_eq!(top("key=1&limit=7"), Some(("1".to_owned(), 7)));
        assert_eq!((top("limit=7&limit=8"), top("by=now"), top("limit=x")), (None, None, None));
        let problem = format!("{:?}", counter_top(&uri("prefix=1"), &names).expect_err("unknown"));
        assert!(problem.contains("unknown field prefix; known: limit, key"), "{problem}");
    }

    #[test]
    fn contents_are_named_by_kind_and_oid() {
        let of = |query: &str| contents(&uri(query), 2, ContentIds::Number).ok();
        let content = |kind, oid| Content { kind, oid };
        assert_eq!(of("content=1:100&content=65535:0"), Some(vec![content(1, 100), content(u16::MAX, 0)]));
        for bad in ["", "content=1", "content=1:", "content=:1", "content=65536:1", "content=1:-1", "content=1:1&oid=1"]
        {
            assert_eq!(of(bad), None, "{bad}");
        }
        assert_eq!(of("content=1:1&content=1:2&content=1:3"), None);
    }

    #[test]
    fn a_token_is_found_anywhere_in_a_query() {
        for query in ["token=abc", "limit=1&access_token=", "jwt", "%74oken=abc", "a=%&token=b"] {
            assert!(names_a_token(&uri(query)), "{query}");
        }
        for query in ["", "limit=1", "cursor=token", "tokens=1"] {
            assert!(!names_a_token(&uri(query)), "{query}");
        }
    }
}
