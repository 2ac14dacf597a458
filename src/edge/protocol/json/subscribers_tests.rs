use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use model::ids::Content;
use model::subscribers::{DeadReason, Failing, FailureReason, Newer, Secrets};

fn decoded(body: &Value) -> Result<SubscriberBody, String> {
    decode_subscriber(body.to_string().as_bytes(), false, ContentIds::Number).map_err(|malformed| malformed.message)
}

fn least() -> Value {
    json!({ "url": "https://example.com/hook", "types": ["dev.heartline.reward.v1"] })
}

fn with(name: &str, value: Value) -> Value {
    let mut body = least();
    body[name] = value;
    body
}

#[test]
fn what_is_left_out_has_a_default() {
    let body = decoded(&least()).expect("it is whole");
    assert_eq!((body.url.as_str(), body.types), ("https://example.com/hook", vec![EventType::Reward]));
    assert_eq!((body.filter, body.batch, body.secret), (Filter::default(), 1, None));
}

#[test]
fn all_fields_are_read() {
    let filter = json!({
        "rules": ["first-of-day"], "counters": ["likes"], "kinds": [1], "contents": ["1:100"], "mids": ["42", 43],
    });
    let mut body = with("filter", filter);
    body["batch"] = json!(100);
    body["types"] = json!(["dev.heartline.counter.v1", "dev.heartline.reward.v1", "dev.heartline.reward.v1"]);
    body["secret"] = json!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let body = decoded(&body).expect("it is whole");
    assert_eq!((body.types, body.batch), (vec![EventType::Reward, EventType::Counter], 100));
    assert_eq!(body.users, [Whom::Mid(UserId(42)), Whom::Mid(UserId(43))]);
    assert_eq!(body.filter.contents, [Content { kind: 1, oid: 100 }]);
    assert!(body.secret.is_some());
}

#[test]
fn what_is_wrong_is_named() {
    for (body, message) in [
        (json!({ "types": ["dev.heartline.reward.v1"] }), "url: is missing"),
        (json!({ "url": "https://example.com/" }), "types: is missing"),
        (with("types", json!([])), "types: must have at least one"),
        (
            with("types", json!(["other"])),
            "types[0]: must be a type of event that can be subscribed to, such as dev.heartline.reward.v1",
        ),
        (with("batch", json!(0)), "batch: must be at least 1"),
        (with("batch", json!(101)), "batch: must be at most 100"),
        (with("secret", json!("whsec_x")), "secret: must be \"whsec_\" and the Base64 of 24 to 64 bytes"),
        (
            with("filter", json!({ "contents": ["1"] })),
            "filter.contents[0]: must be a kind and an oid, such as \"1:100\"",
        ),
        (with("filter", json!({ "rules": ["A"] })), "filter.rules[0]: must be the id of a rule"),
        (with("filter", json!({ "kinds": vec![1; 1_001] })), "filter.kinds: must hold at most 1000"),
        (with("filter", json!([])), "filter: must be an object"),
    ] {
        assert_eq!(decoded(&body), Err(message.to_owned()));
    }
    let unknown = decoded(&with("filter", json!({ "colours": [] }))).expect_err("it is unknown");
    assert!(unknown.starts_with("filter: ") && unknown.contains("colours"), "{unknown}");
    assert!(decoded(&with("colour", json!(1))).is_err());
}

#[test]
fn users_may_have_names() {
    let by_name = |mids: Value| {
        let body = with("filter", json!({ "mids": mids })).to_string();
        decode_subscriber(body.as_bytes(), true, ContentIds::Number)
            .map(|body| body.users)
            .map_err(|malformed| malformed.message)
    };
    let name = |text: &str| Whom::Sub(UserName::new(text).expect("a name"));
    assert_eq!(by_name(json!(["auth0|6405", "42"])), Ok(vec![name("auth0|6405"), name("42")]));
    let expected = "must be the name of a user: 1 to 256 bytes without control characters";
    assert_eq!(by_name(json!(["a", ""])), Err(format!("filter.mids[1]: {expected}")));
    assert!(by_name(json!([42])).is_err_and(|complaint| complaint.starts_with("filter.mids[0]: ")));
    let users = HashMap::from([(UserId(42), "ann".parse().expect("a name"))]);
    let (owner, names) = (owner(Status::default()), FilterNames { users, ..FilterNames::default() });
    let shown: Value = serde_json::from_str(&encode_subscriber(&owner, &names, None)).expect("it is JSON");
    assert_eq!(shown["filter"]["mids"], json!(["ann"]), "{shown}");
}

#[test]
fn contents_may_have_names() {
    let by_name = |contents: Value| {
        let body = with("filter", json!({ "contents": contents })).to_string();
        decode_subscriber(body.as_bytes(), false, ContentIds::Any).map_err(|malformed| malformed.message)
    };
    let name = |text: &str| ContentName::new(text).expect("a name");
    let decoded = by_name(json!(["1:a:b", "2:100"])).expect("a filter");
    let content = |kind, text| Content { kind, oid: name(text).oid() };
    assert_eq!(decoded.filter.contents, [content(1, "a:b"), content(2, "100")]);
    assert_eq!(decoded.names, [name("a:b"), name("100")]);
    let expected = "must be a kind and an oid, such as \"1:100\"";
    assert_eq!(by_name(json!(["1:a", "1"])).unwrap_err(), format!("filter.contents[1]: {expected}"));
    let mut owner = owner(Status::default());
    Arc::make_mut(&mut owner.subscriber).filter = decoded.filter;
    let contents = decoded.names.into_iter().map(|name| (name.oid(), name)).collect();
    let names = FilterNames { contents, ..FilterNames::default() };
    let shown: Value = serde_json::from_str(&encode_subscriber(&owner, &names, None)).expect("it is JSON");
    assert_eq!(shown["filter"]["contents"], json!(["1:a:b", "2:100"]), "{shown}");
}

#[test]
fn a_replay_begins_at_a_time() {
    let since = |text: &str| decode_replay(json!({ "since": text }).to_string().as_bytes());
    assert_eq!(since("2026-11-20T00:00:00Z"), Ok(1_795_132_800_000));
    assert_eq!(since("2026-11-20T01:00:00+01:00"), Ok(1_795_132_800_000));
    for wrong in ["", "yesterday", "2026-11-20", "1960-01-01T00:00:00Z"] {
        assert!(since(wrong).is_err(), "{wrong}");
    }
}

fn owner(status: Status) -> Owner {
    let secrets = Secrets::new(SigningSecret::of(vec![1; 32]).expect("it is long enough"));
    let subscriber = Subscriber {
        url: "https://example.com/hook".parse().expect("it is a URL"),
        types: vec![EventType::Reward],
        filter: Filter { kinds: vec![1], users: vec![UserId(42)], ..Filter::default() },
        batch: 1,
        secrets,
        newer: Newer::default(),
    };
    Owner {
        id: "a".parse().expect("it is an id"),
        subscriber: Arc::new(subscriber),
        incarnation: 1,
        version: 2,
        status,
        depth: 3,
        oldest: Some(1_795_150_000_000),
        next_try: Some(Duration::from_secs(5)),
        delivered: 7,
        dead: 0,
        replaying: false,
    }
}

fn encoded(status: Status) -> Value {
    serde_json::from_str(&encode_subscriber(&owner(status), &FilterNames::default(), None)).expect("it is JSON")
}

#[test]
fn a_subscriber_is_shown_with_its_queue_and_without_its_secret() {
    let expected = json!({
        "id": "a", "url": "https://example.com/hook", "types": ["dev.heartline.reward.v1"],
        "filter": { "kinds": [1], "mids": ["42"] },
        "batch": 1, "state": "active", "depth": 3, "oldest": 1_795_150_000_000_u64, "delivered": 7, "dead": 0,
    });
    assert_eq!(encoded(Status::default()), expected);
}

#[test]
fn a_state_says_why() {
    let failure = Failure { at: 5, status: Some(500), reason: FailureReason::Status };
    let failing =
        Status { failing: Some(Failing { since: 4, tries: 1 }), last_failure: Some(failure), ..Status::default() };
    let shown = encoded(failing);
    assert_eq!((&shown["state"], &shown["next_try"]), (&json!("failing"), &json!(5_000)));
    assert_eq!(shown["last_error"], json!({ "at": 5, "status": 500, "reason": "status" }));
    for (state, word, reason) in [
        (State::Paused(PauseReason::Requested), "paused", "requested"),
        (State::Paused(PauseReason::TriesUsedUp), "paused", "tries_used_up"),
        (State::Disabled, "disabled", "gone"),
    ] {
        let shown = encoded(Status { state, ..Status::default() });
        assert_eq!((&shown["state"], &shown["reason"]), (&json!(word), &json!(reason)));
        assert_eq!(shown.get("next_try"), None);
    }
}

#[test]
fn dead_letters_are_shown_with_their_events() {
    let dead = Dead { number: 9, event: r#"{"id":"x"}"#.into(), reason: DeadReason::TooOld, at: 5 };
    let text = encode_dead(&[dead], 0);
    assert_eq!(text, r#"{"dead":[{"event":{"id":"x"},"reason":"too_old","at":5}],"next":9}"#);
    assert_eq!(encode_dead(&[], 9), r#"{"dead":[],"next":9}"#);
}

#[test]
fn a_list_tells_whether_a_cascade_looks_at_the_bus() {
    let cascade = |looked_at, is_away| {
        let list = encode_subscriber_list(&[], &FilterNames::default(), true, CascadeStatus { looked_at, is_away });
        serde_json::from_str::<Value>(&list).expect("it is JSON")
    };
    assert_eq!(cascade(Some(5), false), json!({ "subscribers": [], "cascade": { "looked_at": 5, "away": false } }));
    assert_eq!(cascade(None, true), json!({ "subscribers": [], "cascade": { "away": true } }));
}
