//! `GET /v1/connect`: from a request to a socket.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::spawn_local;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role};

use super::answer::{Answer, problem, respond};
use super::behavior::Admission;
use super::gateway::Gateway;
use super::kit::Kit;
use super::log::What;
use super::outgoing::WAITING_MAX;
use super::socket::{self, Socket};

const JSON: &str = "heartline.v1.json";
/// A subprotocol that carries the token.
const TOKEN_PREFIX: &str = "heartline.token.";
const BAD_SIGNATURE: &str = "bad signature";
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// The token of a request.
enum Proof {
    /// It comes with a hello.
    Later,
    /// A client that can set no header is told by a close code.
    Of(String, bool),
}

/// An attempt of a user that was let in.
struct Entry {
    gateway: Rc<Gateway>,
    number: usize,
    admission: Admission,
    expires: i64,
}

pub fn respond_to(mut request: Request<Incoming>, kit: &Rc<Kit>) -> Answer {
    if let Some(query) = request.uri().query() {
        if let Some(gateway) = kit.tokens.user_within(query).and_then(|user| kit.gateway(user)) {
            gateway.see(0, What::Query("a query with the token".to_owned()));
        }
        return problem(StatusCode::BAD_REQUEST, "invalid", "query: must be empty");
    }
    let Some(key) = request.headers().get(header::SEC_WEBSOCKET_KEY).cloned() else {
        return problem(StatusCode::BAD_REQUEST, "invalid", "Sec-WebSocket-Key: is missing");
    };
    let protocols = protocols(request.headers());
    let offers = protocols.iter().any(|name| name == JSON);
    if !protocols.is_empty() && !offers {
        return problem(StatusCode::BAD_REQUEST, "invalid", "Sec-WebSocket-Protocol: only unknown ones");
    }
    let entry = match proof(request.headers(), &protocols) {
        Proof::Later => None,
        Proof::Of(token, has_header) => match enter(kit, &token) {
            None | Some(Entry { admission: Admission::RefuseToken, .. }) if has_header => {
                return problem(StatusCode::UNAUTHORIZED, "unauthorized", BAD_SIGNATURE);
            }
            Some(Entry { admission: Admission::Refuse, .. }) => {
                return problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "no room for another connection");
            }
            entry => Some(entry),
        },
    };
    let Some(upgraded) = request.extensions_mut().remove::<OnUpgrade>() else {
        return problem(StatusCode::BAD_REQUEST, "invalid", "connection: must be HTTP/1.1");
    };
    spawn_local(open(upgraded, entry, kit.clone()));
    switching(&key, offers)
}

fn proof(headers: &HeaderMap, protocols: &[String]) -> Proof {
    let of_protocol = protocols.iter().find_map(|name| name.strip_prefix(TOKEN_PREFIX));
    match (bearer(headers), of_protocol) {
        (Some(token), _) => Proof::Of(token.to_owned(), true),
        (None, Some(token)) => Proof::Of(token.to_owned(), false),
        (None, None) => Proof::Later,
    }
}

pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn protocols(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|name| name.trim().to_owned()).collect()
}

fn enter(kit: &Kit, token: &str) -> Option<Entry> {
    let known = kit.tokens.find(token)?;
    let gateway = kit.gateway(known.user)?;
    let (number, admission) = gateway.attempt(token);
    Some(Entry { gateway, number, admission, expires: known.expires })
}

fn switching(key: &HeaderValue, offers: bool) -> Answer {
    let mut answer = respond(StatusCode::SWITCHING_PROTOCOLS, &Value::Null);
    *answer.body_mut() = Full::new(Bytes::new());
    let headers = answer.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::try_from(derive_accept_key(key.as_bytes())) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if offers {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(JSON));
    }
    answer
}

/// `entry`: outside `None`, the token comes with a hello; inside, it is not known.
async fn open(upgraded: OnUpgrade, entry: Option<Option<Entry>>, kit: Rc<Kit>) {
    let Ok(upgraded) = upgraded.await else { return };
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    let entry = match entry {
        Some(entry) => entry.map(|entry| (entry, None)),
        None => hello(&mut socket, &kit).await,
    };
    let Some((entry, first)) = entry else { return refuse(socket, 4001, BAD_SIGNATURE).await };
    let Entry { gateway, number, admission, expires } = entry;
    match admission {
        Admission::Refuse => return refuse(socket, 1013, "the store did not answer").await,
        Admission::RefuseToken => return refuse(socket, 4001, BAD_SIGNATURE).await,
        Admission::Welcome | Admission::Keep => {}
    }
    let (sender, out) = mpsc::channel(WAITING_MAX);
    gateway.opened(number, sender, expires);
    if let Some(text) = first {
        gateway.text(number, &text);
    }
    if admission == Admission::Welcome {
        gateway.welcome(number);
    }
    socket::serve(socket, &gateway, number, out).await;
}

/// The first frame, and whose it is.
async fn hello(socket: &mut Socket, kit: &Kit) -> Option<(Entry, Option<String>)> {
    let message = timeout(HELLO_TIMEOUT, socket.next()).await.ok()??.ok()?;
    let Message::Text(text) = message else { return None };
    let frame: Value = serde_json::from_str(&text).ok()?;
    let entry = enter(kit, frame["hello"]["token"].as_str()?)?;
    Some((entry, Some(text.to_string())))
}

async fn refuse(mut socket: Socket, code: u16, reason: &'static str) {
    let frame = CloseFrame { code: code.into(), reason: reason.into() };
    if socket.send(Message::Close(Some(frame))).await.is_ok() {
        let rest = async { while let Some(Ok(_)) = socket.next().await {} };
        let _ = timeout(Duration::from_secs(1), rest).await;
    }
}
