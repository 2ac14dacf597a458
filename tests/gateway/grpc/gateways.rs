//! The service of gateways without a store: who may call it, and what it takes.

use tonic::Code;

use super::{BOTH, Bearer, caller, channel, get, now, served, service};
use crate::support::TestGateway;
use heartline::storage::gateway_messages::wire;
use heartline::storage::gateway_messages::wire::gateways_client::GatewaysClient;

type Client = GatewaysClient<tonic::service::interceptor::InterceptedService<tonic::transport::Channel, Bearer>>;

const INTERNAL: &str = "heartline.internal";
/// `rejected` of an answer: the beat makes no sense.
const INVALID: u32 = 1;

async fn client(gateway: &TestGateway, scopes: &str) -> Client {
    GatewaysClient::with_interceptor(channel(gateway).await, Bearer(Some(service(scopes).sign())))
}

async fn time(gateway: &TestGateway, scopes: &str) -> Code {
    client(gateway, scopes).await.time(wire::TimeRequest {}).await.map_or_else(|status| status.code(), |_| Code::Ok)
}

#[tokio::test]
async fn only_gateways_call_it() {
    let gateway = served(&[]);
    assert_eq!(time(&gateway, BOTH).await, Code::PermissionDenied, "a back-end");
    assert_eq!(time(&gateway, INTERNAL).await, Code::Ok);
    let mut back_end = super::client(&gateway, Some(service(INTERNAL).sign())).await;
    let open = super::wire::OpenRequest { mid: Some(1), sub: String::new() };
    assert_eq!(back_end.open(open).await.expect_err("no reader").code(), Code::PermissionDenied);
}

#[tokio::test]
async fn a_listed_caller_is_a_gateway_only_if_its_entry_says_so() {
    let callers = r#"[{ name = "ranker", scopes = ["heartline.read", "heartline.write"] }]"#;
    assert_eq!(time(&served(&[("grpc.callers", callers)]), INTERNAL).await, Code::PermissionDenied);
    let callers = r#"[{ name = "ranker", scopes = ["heartline.internal"] }]"#;
    assert_eq!(time(&served(&[("grpc.callers", callers)]), INTERNAL).await, Code::Ok);
}

fn beat(at: u64) -> wire::Beat {
    wire::Beat { kind: 1, oid: 100, pos: 10_000, state: 1, session: 1, watched: Some(5_000), rate: 1.0, at, dur: 0 }
}

fn change(mid: u64, device: &str, beat: wire::Beat) -> wire::Change {
    wire::Change { mid, connection: 1, device: device.to_owned(), beats: vec![beat], ..wire::Change::default() }
}

#[tokio::test]
async fn what_no_client_may_send_is_refused_and_its_neighbours_are_kept() {
    let gateway = served(&[]);
    let (mut reader, mut client) = (caller(&gateway).await, client(&gateway, INTERNAL).await);
    let at = now(&mut reader).await;
    let changes = vec![
        change(1, "tv", wire::Beat { pos: u64::MAX, ..beat(at) }),
        change(2, "tv", wire::Beat { pos: 1 << 60, ..beat(at) }),
        change(3, &"x".repeat(200_000), beat(at)),
        change(4, "tv", wire::Beat { watched: Some(1 << 53), ..beat(at) }),
        change(5, "tv", beat(at)),
    ];
    let answers =
        client.commit(wire::CommitRequest { gateway: 1, changes }).await.expect("answers").into_inner().answers;
    let rejected: Vec<Option<u32>> = answers
        .iter()
        .map(|answer| match &answer.outcome {
            Some(wire::answer::Outcome::Beat(beaten)) => Some(beaten.rejected),
            _ => None,
        })
        .collect();
    assert_eq!(rejected, [Some(INVALID), Some(INVALID), Some(INVALID), Some(INVALID), Some(0)]);
    for mid in 1..=4 {
        assert_eq!(get(&mut reader, mid, [100]).await, [None], "user {mid}");
    }
    assert!(get(&mut reader, 5, [100]).await[0].is_some());
}
