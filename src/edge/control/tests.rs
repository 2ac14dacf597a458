//! The routes of the control listener, and its guard.

use std::path::Path;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use http::StatusCode;
use http_body_util::BodyExt;
use prometheus_client::registry::Registry;
use tower::ServiceExt;

use super::*;
use crate::auth::authenticator::Authenticator;
use crate::auth::{AuthConfig, ControlToken, SigningKey, Verifier};
use crate::config::{ControlCaller, ControlConfig, ControlScope};
use crate::shutdown::Shutdown;
use domain::devices::presence::Presence;
use domain::events::Events;
use domain::fixtures::{MemoryLog, believing, revocations_in_memory};
use domain::time::clock::wall;
use domain::time::guard::ClockStatus;
use model::ids::UserId;
use model::secret::Secret;

const TOKEN: &str = "a-control-token-for-tests-0123456789";

struct Fixture {
    router: Router,
    kick_list: Arc<KickList>,
    shutdown: Shutdown,
    log: Arc<MemoryLog>,
}

impl Fixture {
    fn new() -> Self {
        Self::with(ClockStatus::alone())
    }

    fn with(clock_status: ClockStatus) -> Self {
        let shutdown = Shutdown::new(Duration::from_secs(1));
        let presence = Presence::new(8);
        let kick_list = Arc::new(KickList::new(presence.clone()));
        let control = Control {
            kick_list: kick_list.clone(),
            revocations: Arc::new(revocations_in_memory(presence)),
            clock: Arc::new(Clock::starting_at(0, Duration::from_secs(60))),
            clock_status,
            mid_hash: MidHash::with_key(&[0; 16]),
            called_users: CalledUsers(None),
        };
        let log = MemoryLog::with(3);
        let tail = events::Tail::Logs {
            rewards: Events::new(log.clone()),
            positions: Events::new(MemoryLog::with(1)),
            stop: shutdown.stop(),
        };
        let router = router(control, events::routes(tail), guard());
        Fixture { router, kick_list, shutdown, log }
    }

    async fn send(&self, request: http::request::Builder, body: impl Into<Body>) -> (u16, String) {
        let request = request.body(body.into()).expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("UTF-8"))
    }

    /// As an operator does it.
    async fn ask(&self, request: http::request::Builder, body: &'static str) -> (u16, String) {
        let request = request.header("host", "127.0.0.1:7702").header("authorization", format!("Bearer {TOKEN}"));
        self.send(request, body).await
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.ask(Request::get(path), "").await
    }

    async fn post(&self, path: &str, body: &'static str) -> (u16, String) {
        self.ask(Request::post(path), body).await
    }

    async fn kick(&self, body: &'static str) -> u16 {
        self.ask(Request::post("/v1/kick").header("content-type", "application/json"), body).await.0
    }
}

fn guard() -> Guard {
    let (listen, token) = ("127.0.0.1:0".parse().expect("an address"), Secret::new(TOKEN.to_owned()));
    let live = ControlCaller { name: "wall".to_owned(), scopes: vec![ControlScope::Live, ControlScope::Users] };
    let config = ControlConfig { listen, token, callers: vec![live], hosts: vec!["gateway-1".to_owned()] };
    let token = ControlToken::load(&config, Path::new("/nowhere")).expect("a configured token");
    let callers = Callers::new(authenticator(), &config.callers);
    Guard {
        token,
        callers,
        hosts: config.hosts,
        mid_hash: MidHash::with_key(&[0; 16]),
        called_users: CalledUsers(None),
    }
}

fn auth() -> (AuthConfig, SigningKey) {
    let hs256_secret = Secret::new("a-key-for-tests-only-0123456789abcdef".to_owned());
    let config = AuthConfig::of_secret(hs256_secret);
    let key = SigningKey::load(&config, Path::new("/nowhere")).expect("a key").expect("a configured key");
    (config, key)
}

fn authenticator() -> Authenticator {
    let (config, key) = auth();
    let verifier = Arc::new(Verifier::new(&config, Some(&key)).expect("keys"));
    let presence = Presence::new(8);
    let kick_list = Arc::new(KickList::new(presence.clone()));
    let revocations = Arc::new(revocations_in_memory(presence.clone()));
    let clock = Arc::new(Clock::starting_at(0, Duration::from_secs(60)));
    Authenticator::new(verifier, presence, kick_list, revocations, clock, None, &mut Registry::default())
}

#[tokio::test]
async fn a_caller_may_do_what_its_token_and_the_list_allow() {
    let (_, key) = auth();
    let of = |name: &str, scope: &str| key.issue_service(name, scope, Duration::from_secs(60), wall()).token;
    let expired = key.issue_service("wall", "heartline.users", Duration::from_secs(60), 1_000).token;
    let user = key.issue(UserId(42), Duration::from_secs(60), wall()).token;
    for (token, status, says) in [
        (of("wall", "heartline.users"), 204, ""),
        (of("wall", "heartline.live heartline.users"), 204, ""),
        (of("wall", "heartline.live"), 403, "scope: this call needs heartline.users"),
        (of("wall", "heartline.erase"), 403, "scope: this call needs heartline.users"),
        (of("shop", "heartline.users"), 403, "sub: is not the name of a caller"),
        (user, 403, "sub: is not the name of a caller"),
        (expired, 401, "nor that of a caller: "),
        (format!("{}x", of("wall", "heartline.users")), 401, "nor that of a caller: "),
    ] {
        let fixture = Fixture::new();
        let request = Request::post("/v1/kick").header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {token}"));
        let (answered, problem) = fixture.send(request, r#"{"mid":"42"}"#).await;
        assert!(answered == status && problem.contains(says), "{says}: {answered} {problem}");
        assert_eq!(fixture.kick_list.refuses(UserId(42), Instant::now()), status == 204, "{says}");
    }
    // A call for operators alone, and a path that does not exist.
    for path in ["/v1/clock", "/v1/nothing"] {
        let token = of("wall", "heartline.live heartline.users heartline.erase");
        let request = Request::get(path).header("host", "localhost").header("authorization", format!("Bearer {token}"));
        let (answered, problem) = Fixture::new().send(request, "").await;
        assert!(answered == 403 && problem.contains("this call needs the control token"), "{path}: {problem}");
    }
}

#[tokio::test]
async fn a_call_needs_the_token_and_a_known_host_and_no_browser_page() {
    const HOST: (&str, &str) = ("host", "127.0.0.1:7702");
    let bearer = format!("Bearer {TOKEN}");
    let token = ("authorization", bearer.as_str());
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[HOST, token], 204),
        (&[("host", "gateway-1:7702"), token], 204),
        (&[HOST], 401),
        (&[HOST, ("authorization", "Bearer wrong")], 401),
        (&[HOST, ("authorization", "Bearer ")], 401),
        (&[HOST, ("authorization", TOKEN)], 401),
        (&[HOST, ("authorization", "Basic NDI6NDI=")], 401),
        (&[HOST, token, ("authorization", "Bearer wrong")], 400),
        (&[HOST, ("x-forwarded-for", "127.0.0.1")], 401),
        (&[("host", "evil.example:7702"), token], 403),
        (&[("host", "evil.example:7702")], 403),
        (&[token], 403),
        (&[HOST, ("host", "evil.example"), token], 403),
        (&[HOST, token, ("origin", "http://127.0.0.1:7702")], 403),
        (&[HOST, token, ("origin", "null")], 403),
    ];
    for (headers, expected) in cases {
        let fixture = Fixture::new();
        let request =
            headers.iter().fold(Request::post("/v1/kick"), |request, (name, value)| request.header(*name, *value));
        assert_eq!(fixture.send(request, r#"{"mid":"42"}"#).await.0, *expected, "{headers:?}");
        assert_eq!(fixture.kick_list.refuses(UserId(42), Instant::now()), *expected == 204, "{headers:?}");
    }
}

#[tokio::test]
async fn without_the_token_it_does_not_say_which_paths_there_are() {
    let fixture = Fixture::new();
    for path in ["/", "/v1/kick", "/v1/nothing", "/healthz"] {
        assert_eq!(fixture.send(Request::get(path).header("host", "localhost"), "").await.0, 401, "{path}");
    }
}

#[tokio::test]
async fn a_body_where_none_is_read_is_refused() {
    let fixture = Fixture::new();
    assert_eq!(fixture.ask(Request::delete("/v1/revoke?mid=42"), r#"{"mid":"43"}"#).await.0, 400);
    assert_eq!(fixture.ask(Request::get("/v1/events"), "{}").await.0, 400);
}

#[tokio::test]
async fn a_body_has_its_bounds() {
    let fixture = Fixture::new();
    let long = |bytes| format!(r#"{{"mid":"42","x":"{}"}}"#, "x".repeat(bytes));
    let request =
        || Request::post("/v1/kick").header("host", "localhost").header("authorization", format!("Bearer {TOKEN}"));
    assert_eq!(fixture.send(request(), long(2_000)).await.0, 413);
    assert_eq!(fixture.send(request(), long(100_000)).await.0, 413);
}

#[tokio::test]
async fn a_kick_names_a_user_by_text_or_number() {
    let fixture = Fixture::new();
    assert_eq!(fixture.kick(r#"{"mid":"42"}"#).await, 204);
    assert_eq!(fixture.kick(r#"{"mid":7}"#).await, 204);
    let refused = |mid| fixture.kick_list.refuses(UserId(mid), Instant::now());
    assert!(refused(42) && refused(7) && !refused(43));
    for bad in ["", "{}", r#"{"mid":"x"}"#, r#"{"mid":-1}"#, r#"["42"]"#] {
        assert_eq!(fixture.kick(bad).await, 400, "{bad}");
    }
}

#[tokio::test]
async fn a_body_with_anything_unknown_does_nothing() {
    let fixture = Fixture::new();
    for (path, body, says) in [
        ("/v1/kick", r#"{"mid":"42","dry_run":true}"#, "body: unknown field dry_run; known: mid, sub"),
        ("/v1/kick", r#"{"dry_run":null,"mid":"42"}"#, "body: unknown field dry_run; known: mid, sub"),
        ("/v1/kick", r#"{"mids":"42","mid":"42"}"#, "body: unknown field mids; did you mean mid?"),
        ("/v1/kick", r#"{"mid":"42","mid":"42"}"#, "mid: appears twice"),
        ("/v1/kick", r#"{"mid":"42"} {"mid":"42"}"#, "body: is not JSON"),
        ("/v1/revoke", r#"{"mid":"42","for":5}"#, "body: unknown field for; known: mid, sub, jti, until"),
        ("/v1/revoke", r#"{"mid":"42","Until":99}"#, "body: unknown field Until; did you mean until?"),
        ("/v1/revoke", r#"{"jti":"a","jti":"b"}"#, "jti: appears twice"),
        ("/v1/clock/accept", r#"{"dry_run":true}"#, "body: this path takes none"),
    ] {
        let (status, problem) = fixture.post(path, body).await;
        assert!(
            status == 400 && problem.contains(&format!(r#""detail":"{says}""#)),
            "{path} {body}: {status} {problem}"
        );
    }
    assert!(!fixture.kick_list.refuses(UserId(42), Instant::now()));
    assert_eq!(fixture.get("/v1/revoke").await.1, r#"{"revocations":[]}"#);
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems() {
    let fixture = Fixture::new();
    assert!(fixture.get("/").await.1.contains("/problems/not_found"));
    assert_eq!(fixture.get("/v1/kick").await.0, 405);
}

#[tokio::test]
async fn a_revocation_is_shown_until_it_is_taken_back() {
    let fixture = Fixture::new();
    let post = |body| fixture.ask(Request::post("/v1/revoke"), body);
    assert_eq!(post(r#"{"mid":"42"}"#).await.0, 204);
    assert_eq!(post(r#"{"jti":"a+b","until":9999999999999}"#).await.0, 204);
    for bad in ["", "{}", r#"{"mid":"42","jti":"a"}"#, r#"{"mid":"42","until":1}"#] {
        assert_eq!(post(bad).await.0, 400, "{bad}");
    }
    let (status, shown) = fixture.get("/v1/revoke").await;
    assert!(status == 200 && shown.contains(r#""mid":"42""#) && shown.contains(r#""until":9999999999999"#), "{shown}");
    for query in ["mid=42", "jti=a%2Bb", "jti=never"] {
        let path = format!("/v1/revoke?{query}");
        assert_eq!(fixture.ask(Request::delete(path), "").await.0, 204, "{query}");
    }
    assert_eq!(fixture.ask(Request::delete("/v1/revoke"), "").await.0, 400);
    assert_eq!(fixture.get("/v1/revoke").await.1, r#"{"revocations":[]}"#);
}

#[tokio::test]
async fn a_step_of_the_wall_clock_is_shown_until_it_is_accepted() {
    let fixture = Fixture::with(believing(0));
    let revoke = || fixture.ask(Request::post("/v1/revoke"), r#"{"mid":"42"}"#);
    assert_eq!(revoke().await.0, 503);
    let step = |shown: &str| serde_json::from_str::<serde_json::Value>(shown).expect("JSON")["step"].as_i64();
    let (status, shown) = fixture.get("/v1/clock").await;
    assert!(status == 200 && step(&shown).is_some_and(|step| step > 0), "{shown}");
    for _ in 0..2 {
        let (status, shown) = fixture.ask(Request::post("/v1/clock/accept"), "").await;
        assert!(status == 200 && step(&shown).is_none(), "{shown}");
    }
    assert_eq!(revoke().await.0, 204);
}

#[tokio::test]
async fn a_clock_that_would_have_to_go_back_by_days_is_not_accepted() {
    let fixture = Fixture::with(believing(u64::MAX >> 2));
    let (status, problem) = fixture.ask(Request::post("/v1/clock/accept"), "").await;
    assert!(status == 409 && problem.contains("restart the gateway"), "{problem}");
    assert_eq!(fixture.get("/v1/clock/accept").await.0, 405);
    assert_eq!(fixture.ask(Request::post("/v1/clock/accept?x=1"), "").await.0, 400);
}

#[tokio::test]
async fn events_are_given_from_any_offset_on() {
    let fixture = Fixture::new();
    let all = r#"{"events":[{"offset":1,"event":{"n":1}},{"offset":2,"event":{"n":2}},{"offset":3,"event":{"n":3}}],"next":3,"log":"a1","newest":3}"#;
    assert_eq!(fixture.get("/v1/events").await, (200, all.to_owned()));
    let second = r#"{"events":[{"offset":2,"event":{"n":2}}],"next":2,"log":"a1","newest":3}"#;
    assert_eq!(fixture.get("/v1/events?after=1&limit=1").await, (200, second.to_owned()));
    assert_eq!(
        fixture.get("/v1/events?after=9").await.1,
        r#"{"events":[],"next":0,"log":"a1","newest":3,"beyond_end":true}"#
    );
    for (query, path) in [("limit=0", "limit"), ("after=x", "after"), ("wait=-1", "wait"), ("after=1&after=2", "query")]
    {
        let (status, problem) = fixture.get(&format!("/v1/events?{query}")).await;
        assert!(status == 400 && problem.contains(&format!(r#""detail":"{path}: "#)), "{problem}");
    }
    *fixture.log.away.lock() = true;
    assert_eq!(fixture.get("/v1/events").await.0, 503);
}

#[tokio::test]
async fn events_that_are_kept_elsewhere_are_a_404_that_says_where() {
    let router = events::routes(events::Tail::Elsewhere("they are in a topic".into()));
    let answer = router.oneshot(Request::get("/v1/events?limit=0").body(Body::empty()).expect("a request")).await;
    let (head, body) = answer.expect("an answer").into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    assert_eq!(head.status, StatusCode::NOT_FOUND);
    assert!(String::from_utf8_lossy(&body).contains(r#""detail":"they are in a topic""#), "{body:?}");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_request_for_events_is_answered_when_the_gateway_drains() {
    let fixture = Fixture::new();
    let drain_later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        fixture.shutdown.drain();
    };
    let began = tokio::time::Instant::now();
    let (answer, ()) = tokio::join!(fixture.get("/v1/events?after=3&wait=30000"), drain_later);
    assert_eq!(answer, (200, r#"{"events":[],"next":3,"log":"a1","newest":3}"#.to_owned()));
    assert_eq!(began.elapsed(), Duration::from_secs(1));
}
