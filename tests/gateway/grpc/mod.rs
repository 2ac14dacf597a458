//! The gRPC service, for callers that know its schema.

mod callers;
mod certificates;
mod content_names;
mod gateways;
mod limits;
mod names;
mod operations;
mod puts;
mod role;
mod settings;

use std::net::SocketAddr;

use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::support::{TestGateway, Token};
use wire::history_client::HistoryClient;

pub use heartline::edge::grpc::wire;

pub const BOTH: &str = "heartline.read heartline.write";

/// On a free port.
pub const LISTENS: (&str, &str) = ("grpc.listen", "127.0.0.1:0");

/// A client with the token of a caller.
pub type Client = HistoryClient<InterceptedService<Channel, Bearer>>;

/// Puts a token into each call, if there is one.
#[derive(Clone)]
pub struct Bearer(Option<String>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            let value = MetadataValue::try_from(format!("Bearer {token}")).expect("ASCII");
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

pub fn served(settings: &[(&str, &str)]) -> TestGateway {
    TestGateway::with(&[&[LISTENS], settings].concat())
}

/// Where the listener is, as it was printed.
pub fn address_of(gateway: &TestGateway) -> SocketAddr {
    let said = gateway.printed().iter().find_map(|line| line.strip_prefix("grpc listener: "));
    let said = said.expect("the line of the gRPC listener");
    said.split_once("://").expect("a scheme").1.parse().expect("an address")
}

pub async fn channel(gateway: &TestGateway) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", address_of(gateway))).expect("an address");
    endpoint.connect().await.expect("a listener")
}

pub async fn client(gateway: &TestGateway, token: Option<String>) -> Client {
    HistoryClient::with_interceptor(channel(gateway).await, Bearer(token))
}

/// A caller that may read and write.
pub async fn caller(gateway: &TestGateway) -> Client {
    client(gateway, Some(service(BOTH).sign())).await
}

/// The token of a service with these scopes.
pub fn service(scopes: &str) -> Token {
    Token::of(0).claim("sub", "ranker").claim("scope", scopes)
}

/// The server's clock, milliseconds.
pub async fn now(client: &mut Client) -> u64 {
    let request = wire::OpenRequest { mid: Some(u64::MAX), sub: String::new() };
    client.open(request).await.expect("an answer").into_inner().now
}

/// A beat of content (1, `oid`), 10 s into a video of unknown length, after 5 s of playback in session 1.
pub fn beat(oid: u64, at: u64) -> wire::Beat {
    wire::Beat {
        kind: Some(1),
        oid: Some(oid),
        pos: Some(10_000),
        state: Some(wire::State::Playing.into()),
        session: Some(1),
        watched: Some(5_000),
        at: Some(at),
        ..wire::Beat::default()
    }
}

pub fn of(mid: u64, items: impl IntoIterator<Item = wire::Beat>) -> wire::UserBeats {
    wire::UserBeats { mid: Some(mid), items: items.into_iter().collect(), ..wire::UserBeats::default() }
}

pub fn batch(users: impl IntoIterator<Item = wire::UserBeats>) -> wire::PutRequest {
    wire::PutRequest { users: users.into_iter().collect() }
}

/// Puts beats of one user, none of which may be rejected.
pub async fn put(client: &mut Client, mid: u64, items: impl IntoIterator<Item = wire::Beat>) -> wire::UserAnswer {
    let answer = client.put(batch([of(mid, items)])).await.expect("an answer").into_inner();
    let [answer] = <[_; 1]>::try_from(answer.users).expect("one answer");
    assert_eq!((answer.mid, answer.rejected.len(), answer.unavailable), (mid, 0, false));
    answer
}

pub fn contents(oids: impl IntoIterator<Item = u64>) -> Vec<wire::Content> {
    oids.into_iter().map(|oid| wire::Content { kind: Some(1), oid: Some(oid), name: String::new() }).collect()
}

/// The records of these contents of kind 1.
pub async fn get(client: &mut Client, mid: u64, oids: impl IntoIterator<Item = u64>) -> Vec<Option<wire::Record>> {
    let request = wire::GetRequest { mid: Some(mid), items: contents(oids), ..wire::GetRequest::default() };
    let answer = client.get(request).await.expect("an answer").into_inner();
    assert!(!answer.partial);
    answer.records.into_iter().map(|slot| slot.record).collect()
}
