//! Room, deadlines, sizes, health, reflection and what is counted.

use std::time::{Duration, Instant};

use bytes::{Buf, BufMut};
use futures_util::stream;
use tokio::net::TcpStream;
use tonic::codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};
use tonic_types::StatusExt;

use super::{BOTH, batch, beat, caller, channel, client, now, of, served, service, wire};
use crate::support::{MID, NEVER, TestGateway, in_time, until};

/// Connections that may be open.
const CONNECTIONS_MAX: usize = 1024;

/// Messages of bytes, whatever they mean.
#[derive(Default)]
struct Bytes;

impl Codec for Bytes {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Bytes
    }

    fn decoder(&mut self) -> Self {
        Bytes
    }
}

impl Encoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Bytes {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining()).to_vec()))
    }
}

/// A call of a method with these messages, as a client without a schema makes it.
async fn call(
    gateway: &TestGateway,
    method: &'static str,
    messages: impl stream::Stream<Item = Vec<u8>> + Send + 'static,
) -> Result<(), Status> {
    let mut grpc = tonic::client::Grpc::new(channel(gateway).await);
    grpc.ready().await.expect("a connection");
    let mut request = Request::new(messages);
    let token = format!("Bearer {}", service(BOTH).sign()).parse().expect("ASCII");
    request.metadata_mut().insert("authorization", token);
    grpc.client_streaming(request, method.parse().expect("a path"), Bytes).await.map(drop)
}

#[tokio::test]
async fn a_call_without_room_is_told_when_to_come_again() {
    let gateway = served(&[("limits.grpc_calls", "2"), ("grpc.deadline", "5m")]);
    let gateway = std::sync::Arc::new(gateway);
    let hold = || {
        let gateway = gateway.clone();
        // Its message never comes.
        tokio::spawn(async move { call(&gateway, "/heartline.v1.History/Put", stream::pending()).await })
    };
    let held = [hold(), hold()];
    gateway.wait_for_metric("heartline_grpc_calls_in_progress", |calls| calls == 2.0).await;
    let mut client = caller(&gateway).await;
    let open = wire::OpenRequest { mid: Some(MID), sub: String::new() };
    let full = client.open(open.clone()).await.expect_err("no room");
    assert_eq!(full.code(), Code::ResourceExhausted);
    let delay = full.get_details_retry_info().and_then(|retry| retry.retry_delay);
    assert_eq!(delay, Some(Duration::from_secs(1)));
    assert_eq!(health(&gateway, "").await, Ok(ServingStatus::Serving), "health is asked for all the same");
    for call in held {
        call.abort();
    }
    gateway.wait_for_metric("heartline_grpc_calls_in_progress", |calls| calls == 0.0).await;
    client.open(open).await.expect("room again");
    let full = r#"heartline_grpc_calls_total{method="open",status="resource_exhausted"}"#;
    assert_eq!(gateway.metric(full).await, 1.0);
}

#[tokio::test]
async fn a_call_ends_at_its_deadline() {
    let gateway = served(&[("grpc.deadline", "300ms")]);
    let began = Instant::now();
    let late = call(&gateway, "/heartline.v1.History/Get", stream::pending()).await.expect_err("no message");
    assert_eq!(late.code(), Code::DeadlineExceeded, "{late:?}");
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());

    let gateway = served(&[("grpc.deadline", "10m")]);
    let mut client = caller(&gateway).await;
    let mut request = Request::new(wire::OpenRequest { mid: Some(MID), sub: String::new() });
    request.metadata_mut().insert("grpc-timeout", "soon".parse().expect("ASCII"));
    let strange = client.open(request).await.expect_err("no timeout");
    assert_eq!(strange.code(), Code::InvalidArgument);
    assert!(strange.message().starts_with("grpc-timeout: "), "{strange:?}");
}

#[tokio::test]
async fn what_is_no_message_or_too_long_is_told_apart() {
    let gateway = served(&[]);
    let one = |bytes: Vec<u8>| stream::iter([bytes]);
    let put = "/heartline.v1.History/Put";
    let code = |answer: Result<(), Status>| answer.expect_err("a refusal").code();
    assert_eq!(code(call(&gateway, put, one(vec![0xff; 9])).await), Code::Internal);
    assert_eq!(code(call(&gateway, put, one(vec![0; (4 << 20) + 1])).await), Code::OutOfRange);
    assert_eq!(code(call(&gateway, "/heartline.v1.History/Erase", one(vec![])).await), Code::Unimplemented);
    assert_eq!(code(call(&gateway, "/other.Service/Put", one(vec![])).await), Code::Unimplemented);

    let mut packed = caller(&gateway).await.send_compressed(CompressionEncoding::Gzip);
    let at = now(&mut packed).await;
    super::put(&mut packed, MID, [beat(1, at)]).await;
    let long = wire::UserBeats { flag: "f".repeat(5 << 20), ..of(MID, []) };
    let refused = packed.put(batch([long])).await.expect_err("5 MiB, unpacked");
    assert_eq!(refused.code(), Code::OutOfRange, "{refused:?}");
}

#[tokio::test]
async fn connections_that_ask_for_nothing_keep_no_caller_out() {
    let gateway = served(&[("server.handshake_timeout", "2s"), ("server.keep_alive", "1s")]);
    let address = super::address_of(&gateway);
    let mut silent = Vec::with_capacity(CONNECTIONS_MAX);
    for _ in 0..CONNECTIONS_MAX {
        silent.push(TcpStream::connect(address).await.expect("a listener"));
    }
    let closed = |closed| closed == CONNECTIONS_MAX as f64;
    gateway.wait_for_metric("heartline_grpc_connections_refused_total", closed).await;
    let open = || wire::OpenRequest { mid: Some(MID), sub: String::new() };
    let mut client = caller(&gateway).await;
    client.open(open()).await.expect("a slot for a caller");
    drop(silent);
    // It is closed without a call, too, and its next call opens another.
    gateway.wait_for_metric("heartline_grpc_connections", |open| open == 0.0).await;
    client.open(open()).await.expect("another connection");
}

/// What the health service says of a service.
pub(super) async fn health(gateway: &TestGateway, service: &str) -> Result<ServingStatus, Code> {
    let request = HealthCheckRequest { service: service.to_owned() };
    let answer = HealthClient::new(channel(gateway).await).check(request).await;
    answer.map(|answer| answer.into_inner().status()).map_err(|status| status.code())
}

#[tokio::test]
async fn health_asks_for_no_token_and_tells_of_a_drain() {
    let mut gateway = served(&[]);
    for service in ["", "heartline.v1.History"] {
        assert_eq!(health(&gateway, service).await, Ok(ServingStatus::Serving), "{service:?}");
    }
    assert_eq!(health(&gateway, "heartline.v2.History").await, Err(Code::NotFound));
    let mut watched = HealthClient::new(channel(&gateway).await);
    let request = HealthCheckRequest { service: "heartline.v1.History".to_owned() };
    let mut states = watched.watch(request).await.expect("a stream").into_inner();
    let mut next = async || in_time("a state", states.message()).await.expect("a stream").map(|it| it.status());
    assert_eq!(next().await, Some(ServingStatus::Serving));
    gateway.terminate();
    assert_eq!(next().await, Some(ServingStatus::NotServing));
    assert!(gateway.ended().await.success(), "the stream does not hold up the end");
}

#[tokio::test]
async fn a_lame_duck_tells_of_its_drain_and_answers_new_callers() {
    let gateway = served(&[("server.lame_duck", NEVER)]);
    gateway.terminate();
    gateway.wait_for_drain().await;
    let told = async || health(&gateway, "").await == Ok(ServingStatus::NotServing);
    until("the health of a lame duck", told).await;
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    super::put(&mut client, MID, [beat(1, at)]).await;
}

#[tokio::test]
async fn a_drain_answers_the_calls_it_finds() {
    let mut gateway = served(&[("server.drain_timeout", NEVER)]);
    let mut client = caller(&gateway).await;
    let at = now(&mut client).await;
    gateway.terminate();
    gateway.wait_for_drain().await;
    super::put(&mut client, MID, [beat(1, at)]).await;
    assert!(gateway.ended().await.success());
}

/// What reflection answers to one question.
async fn reflect(gateway: &TestGateway, token: Option<String>, ask: MessageRequest) -> Result<MessageResponse, Code> {
    let channel = channel(gateway).await;
    let mut client = ServerReflectionClient::with_interceptor(channel, super::Bearer(token));
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(ask) };
    let answers = client.server_reflection_info(stream::iter([request])).await.map_err(|status| status.code())?;
    let answer: Option<ServerReflectionResponse> = answers.into_inner().message().await.map_err(|it| it.code())?;
    Ok(answer.and_then(|answer| answer.message_response).expect("an answer"))
}

#[tokio::test]
async fn reflection_names_the_services_to_callers() {
    let gateway = served(&[]);
    let list = || MessageRequest::ListServices(String::new());
    assert_eq!(reflect(&gateway, None, list()).await.err(), Some(Code::Unauthenticated));
    let token = Some(service("heartline.read").sign());
    let Ok(MessageResponse::ListServicesResponse(services)) = reflect(&gateway, token.clone(), list()).await else {
        panic!("no services");
    };
    for name in ["heartline.v1.History", "grpc.health.v1.Health"] {
        assert!(services.service.iter().any(|service| service.name == name), "{name}: {services:?}");
    }
    let symbol = MessageRequest::FileContainingSymbol("heartline.v1.Beat".to_owned());
    let found = reflect(&gateway, token, symbol).await;
    assert!(matches!(found, Ok(MessageResponse::FileDescriptorResponse(_))), "{found:?}");
}

#[tokio::test]
async fn calls_are_counted_by_method_and_status() {
    let gateway = served(&[]);
    let mut client = client(&gateway, Some(service("heartline.write").sign())).await;
    client.put(batch([])).await.expect("an answer");
    client.users(wire::UsersRequest::default()).await.expect_err("no scope");
    let counted = async |method: &str, status: &str| {
        let name = format!(r#"heartline_grpc_calls_total{{method="{method}",status="{status}"}}"#);
        gateway.metric(&name).await
    };
    assert_eq!(counted("put", "ok").await, 1.0);
    assert_eq!(counted("users", "permission_denied").await, 1.0);
    let timed = r#"heartline_grpc_call_seconds_count{method="put"}"#;
    assert_eq!(gateway.metric(timed).await, 1.0);
    assert_eq!(gateway.metric("heartline_grpc_connections").await, 1.0);
}
