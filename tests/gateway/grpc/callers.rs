//! Who may call, and what.

use serde_json::json;
use tonic::{Code, Request};

use super::{BOTH, Client, batch, beat, caller, channel, client, contents, now, of, served, service, wire};
use crate::support::{MID, TestGateway, Token};

const CALLERS: &str = r#"[
    { name = "ranker", scopes = ["heartline.read"] },
    { name = "kids", scopes = ["heartline.read", "heartline.write"], kinds = [3, 1] },
]"#;

fn open() -> wire::OpenRequest {
    wire::OpenRequest { mid: Some(MID), sub: String::new() }
}

async fn code_with(gateway: &TestGateway, token: Option<String>) -> Code {
    client(gateway, token).await.open(open()).await.map_or_else(|status| status.code(), |_| Code::Ok)
}

fn code<T>(answer: Result<T, tonic::Status>) -> Code {
    answer.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn only_good_tokens_are_believed() {
    let gateway = served(&[]);
    let read = || service("heartline.read");
    assert_eq!(code_with(&gateway, Some(read().sign())).await, Code::Ok);
    let bad = [
        None,
        Some("x.y.z".to_owned()),
        Some(read().expires_in(-60).sign()),
        Some(read().without("exp").sign()),
        Some(read().without("sub").sign()),
        Some(read().sign_with(jsonwebtoken::Algorithm::HS256, "another-key-of-thirty-two-bytes-and-more")),
    ];
    for token in bad {
        assert_eq!(code_with(&gateway, token.clone()).await, Code::Unauthenticated, "{token:?}");
    }
    let mut twice = client(&gateway, Some(read().sign())).await;
    let mut request = Request::new(open());
    request.metadata_mut().append("authorization", "Bearer x".parse().expect("ASCII"));
    // The interceptor replaces what is there: the second one has to come by itself.
    assert_eq!(code(twice.open(request).await), Code::Ok);
    let mut plain = wire::history_client::HistoryClient::new(channel(&gateway).await);
    let mut request = Request::new(open());
    for _ in 0..2 {
        let value = format!("Bearer {}", read().sign()).parse().expect("ASCII");
        request.metadata_mut().append("authorization", value);
    }
    assert_eq!(code(plain.open(request).await), Code::Unauthenticated, "a second token");
}

#[tokio::test]
async fn a_scope_is_needed_and_none_implies_another() {
    let gateway = served(&[]);
    let scopes = async |scopes: &str| {
        let mut client = client(&gateway, Some(service(scopes).sign())).await;
        let read = code(client.open(open()).await);
        (read, code(client.put(batch([])).await))
    };
    assert_eq!(scopes("heartline.read").await, (Code::Ok, Code::PermissionDenied));
    assert_eq!(scopes("openid heartline.write").await, (Code::PermissionDenied, Code::Ok));
    assert_eq!(scopes(BOTH).await, (Code::Ok, Code::Ok));
    for other in ["", "heartline.reader", "HEARTLINE.READ", "heartline.read,heartline.write"] {
        assert_eq!(scopes(other).await, (Code::PermissionDenied, Code::PermissionDenied), "{other:?}");
    }
    assert_eq!(code_with(&gateway, Some(Token::of(MID).sign())).await, Code::PermissionDenied, "of a user");
}

#[tokio::test]
async fn the_token_of_a_service_opens_nothing_of_a_user() {
    let gateway = served(&[]);
    for scope in ["heartline.read", "mail heartline.write", "heartline.admin"] {
        let token = Token::of(MID).claim("scope", scope).sign();
        let http = crate::support::Http::to(gateway.address()).bearer(&token);
        http.get("/v1/history").await.problem(401, "unauthorized");
        let refusal = gateway.upgrade().bearer(&token).refused().await;
        assert_eq!(refusal.status, 401);
    }
    let other = Token::of(MID).claim("scope", "mail heartlines").sign();
    let http = crate::support::Http::to(gateway.address()).bearer(&other);
    assert_eq!(http.get("/v1/history").await.status, 200);
}

#[tokio::test]
async fn a_caller_may_do_no_more_than_its_entry_says() {
    let gateway = served(&[("grpc.callers", CALLERS)]);
    let named = |name: &str| service(BOTH).claim("sub", name).sign();
    let mut ranker = client(&gateway, Some(named("ranker"))).await;
    assert_eq!(code(ranker.open(open()).await), Code::Ok);
    assert_eq!(code(ranker.put(batch([])).await), Code::PermissionDenied, "its entry has no write");
    let mut narrow = client(&gateway, Some(service("heartline.write").sign())).await;
    assert_eq!(code(narrow.open(open()).await), Code::PermissionDenied, "its token has no read");
    let mut other = client(&gateway, Some(named("unlisted"))).await;
    assert_eq!((code(other.open(open()).await), code(other.put(batch([])).await)), (Code::Ok, Code::Ok));
}

fn of_kind(kind: u32, beat: wire::Beat) -> wire::Beat {
    wire::Beat { kind: Some(kind), ..beat }
}

#[tokio::test]
async fn a_caller_of_some_kinds_sees_and_changes_those() {
    let gateway = served(&[("grpc.callers", CALLERS)]);
    let mut all = caller_named(&gateway, "unlisted").await;
    let at = now(&mut all).await;
    let items = [beat(1, at), of_kind(2, beat(2, at)), of_kind(3, beat(3, at))];
    super::put(&mut all, MID, items).await;
    super::put(&mut all, 2, [of_kind(2, beat(2, at))]).await;

    let mut kids = caller_named(&gateway, "kids").await;
    let refused = kids.put(batch([of(MID, [beat(1, at), of_kind(2, beat(1, at))])])).await.expect_err("another kind");
    let path = "users[0].items[1].kind: 2 is not a kind of this caller (grpc.callers)";
    assert_eq!((refused.code(), refused.message()), (Code::PermissionDenied, path));
    assert_eq!(code(kids.put(batch([of(MID, [of_kind(3, beat(9, at))])])).await), Code::Ok);
    let two = vec![wire::Content { kind: Some(2), oid: Some(2), name: String::new() }];
    let get = wire::GetRequest { mid: Some(MID), items: two.clone(), ..Default::default() };
    assert_eq!(code(kids.get(get).await), Code::PermissionDenied);
    let delete = wire::DeleteRequest { mid: Some(MID), items: two, ..Default::default() };
    assert_eq!(code(kids.delete(delete).await), Code::PermissionDenied);
    let delete = wire::DeleteRequest { mid: Some(MID), items: contents([1]), ..Default::default() };
    assert_eq!(code(kids.delete(delete).await), Code::Ok);

    let list = wire::ListRequest { mid: Some(MID), ..Default::default() };
    let shown = kids.list(list.clone()).await.expect("a page").into_inner().records;
    assert_eq!(shown.iter().map(|record| record.kind).collect::<Vec<_>>(), [3, 3], "a list shows the allowed ones");
    let begun =
        kids.list(wire::ListRequest { finished: Some(false), ..list.clone() }).await.expect("a page").into_inner();
    assert_eq!(begun.records.iter().map(|record| record.kind).collect::<Vec<_>>(), [3, 3], "a filtered one, too");
    let named = wire::ListRequest { kinds: vec![2], ..list.clone() };
    assert_eq!(code(kids.list(named.clone()).await), Code::PermissionDenied);
    let cursor = all.list(wire::ListRequest { kinds: vec![2, 3], limit: Some(1), ..list.clone() }).await;
    let cursor = cursor.expect("a page").into_inner().cursor;
    assert!(!cursor.is_empty());
    assert_eq!(code(kids.list(wire::ListRequest { cursor, ..list }).await), Code::PermissionDenied);
    let users = kids.users(wire::UsersRequest::default()).await.expect("a page").into_inner().users;
    assert_eq!(users.iter().map(|user| user.mid).collect::<Vec<_>>(), [MID]);

    assert_eq!(
        code(kids.clear(wire::ClearRequest { mid: Some(MID), ..Default::default() }).await),
        Code::PermissionDenied
    );
    let switch = wire::SetRecordingRequest { mid: Some(MID), paused: Some(true), ..Default::default() };
    assert_eq!(code(kids.set_recording(switch).await), Code::PermissionDenied);
    let asked = wire::GetRecordingRequest { mid: Some(MID), ..Default::default() };
    assert_eq!(code(kids.get_recording(asked).await), Code::PermissionDenied);
    let switch = wire::SetRecordingRequest { mid: Some(MID), paused: Some(true), ..Default::default() };
    assert_eq!(code(all.set_recording(switch).await), Code::Ok);
    let paused = async |client: &mut Client| client.open(open()).await.expect("an answer").into_inner().paused;
    assert_eq!((paused(&mut all).await, paused(&mut kids).await), (true, false), "nor does a welcome tell it");
}

async fn caller_named(gateway: &TestGateway, name: &str) -> Client {
    client(gateway, Some(service(BOTH).claim("sub", name).sign())).await
}

#[tokio::test]
async fn a_kick_concerns_no_caller_and_a_revocation_its_token() {
    let gateway = served(&[]);
    let token = service(BOTH).claim("jti", "of-the-ranker").claim("sub", MID.to_string()).sign();
    let mut client = client(&gateway, Some(token)).await;
    assert_eq!(gateway.control().post("/v1/kick", &json!({"mid": MID.to_string()})).await.status, 204);
    let at = now(&mut client).await;
    super::put(&mut client, MID, [beat(1, at)]).await;
    assert_eq!(gateway.control().post("/v1/revoke", &json!({"jti": "of-the-ranker"})).await.status, 204);
    let revoked = client.open(open()).await.expect_err("a revoked token");
    assert_eq!((revoked.code(), revoked.message()), (Code::Unauthenticated, "the token is revoked"));
    assert_eq!(code(caller(&gateway).await.open(open()).await), Code::Ok);
}
