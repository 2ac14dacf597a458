//! `GET /v1/connect`: whether a request becomes a socket.

use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::connection_set::{ConnectionSet, SetEntry};
use super::greeting::{self, SocketClient};
use super::live_socket::LiveSocket;
use super::socket::Socket;
use super::stream::Stream;
use crate::address::Network;
use crate::auth::{Identity, TokenError, User};
use crate::context::ConnectionContext;
use crate::http::bearer;
use crate::http::problem::{Problem, whole_seconds};
use crate::limits::connection_limiter::{ConnectionPermit, ConnectionRefused, FULL_RETRY};
use crate::metrics::Refused;
use crate::origin::Origins;

pub const PATH: &str = "/v1/connect";
const NOT_TO_BE_KEPT: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];
/// The length of a decoded `Sec-WebSocket-Key`.
const KEY_BYTES: usize = 16;
const JSON: &str = "heartline.v1.json";
/// A subprotocol that carries the token, since a browser can set no header. Never selected, never logged.
const TOKEN_PREFIX: &str = "heartline.token.";

/// A request that may become a socket.
struct Accepted {
    accept_key: String,
    /// The subprotocol to select; `None` when none was offered.
    subprotocol: Option<&'static str>,
    /// `None`: the token comes with a hello.
    token: Option<Result<(Identity, User), TokenError>>,
    permit: ConnectionPermit,
}

/// A request that does not become a socket: why, and the answer.
struct Refusal(Refused, Problem);

/// A connection that is becoming a socket.
pub struct Upgrade {
    upgraded: OnUpgrade,
    token: Option<Result<(Identity, User), TokenError>>,
    client: SocketClient,
    /// Held for as long as the socket lives.
    permit: ConnectionPermit,
}

/// Waits until the token of the request can be judged, if it names a key that may be published by now.
pub async fn await_key<B>(request: &Request<B>, context: &ConnectionContext) {
    let headers = request.headers();
    let token = match bearer::authorization(headers) {
        Ok(Some(authorization)) => bearer::token_of(authorization),
        Ok(None) => offered(headers).ok().and_then(|offered| offered.token),
        Err(_) => None,
    };
    if let Some(token) = token {
        context.authenticator.await_key(token).await;
    }
}

/// Answers the upgrade request.
pub async fn respond(
    request: Request<Incoming>,
    client: IpAddr,
    context: &ConnectionContext,
) -> (Response<Body>, Option<Upgrade>) {
    let (mut parts, _) = request.into_parts();
    let upgraded = parts.extensions.remove::<OnUpgrade>();
    let accepted = accept(&parts, Network::of(client), context).await.and_then(|accepted| match upgraded {
        Some(upgraded) => Ok((accepted, upgraded)),
        None => Err(Refusal::malformed(Problem::invalid("connection: must be HTTP/1.1"))),
    });
    match accepted {
        Ok((accepted, upgraded)) => {
            let visitor = context.visitors.of_request(&parts.headers, client);
            let response = switching(&accepted);
            let client = SocketClient { address: client, visitor };
            (response, Some(Upgrade { upgraded, token: accepted.token, client, permit: accepted.permit }))
        }
        Err(Refusal(reason, problem)) => {
            refused(reason, &problem, &parts.headers, client, context);
            ((NOT_TO_BE_KEPT, problem).into_response(), None)
        }
    }
}

/// Counts and logs it. The texts of problems say nothing of the token.
fn refused(reason: Refused, problem: &Problem, headers: &HeaderMap, address: IpAddr, context: &ConnectionContext) {
    context.metrics.refused(reason);
    tracing::debug!(
        event = "upgrade_refused",
        %address,
        origin = Origins::named(headers),
        cause = reason.word(),
        "upgrade refused: {}",
        problem.detail()
    );
}

impl Refusal {
    fn malformed(problem: Problem) -> Self {
        Refusal(Refused::Malformed, problem)
    }
}

impl Upgrade {
    /// Greets; `None` when that was the end of it. `unwelcomed` is given back at the welcome.
    pub async fn greet(
        self,
        context: Arc<ConnectionContext>,
        connection_set: &Rc<ConnectionSet>,
        unwelcomed: ConnectionPermit,
    ) -> Option<(SetEntry, LiveSocket)> {
        let Ok(parts) = self.upgraded.await.ok()?.downcast::<TokioIo<Stream>>() else {
            tracing::error!("upgrade returned another stream than the accepted one");
            return None;
        };
        let set_entry = connection_set.reserve();
        let socket = Socket::new(parts.io.into_inner(), &parts.read_buf, connection_set.scratch.clone());
        // The buffer of the HTTP connection.
        drop(parts.read_buf);
        let live =
            greeting::greet(socket, context, &set_entry, self.token, unwelcomed, self.client, self.permit).await?;
        Some((set_entry, live))
    }
}

fn switching(accepted: &Accepted) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(key) = HeaderValue::from_str(&accepted.accept_key) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, key);
    }
    if let Some(subprotocol) = accepted.subprotocol {
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(subprotocol));
    }
    response
}

async fn accept(request: &Parts, network: Network, context: &ConnectionContext) -> Result<Accepted, Refusal> {
    if request.method != Method::GET {
        return Err(Refusal::malformed(Problem::method(&[Method::GET], "a socket begins with a GET")));
    }
    if request.uri.query().is_some() {
        let problem = Problem::invalid("query: must be empty; a token in a URL ends up in logs");
        return Err(Refusal::malformed(problem));
    }
    if !context.origins.allow(&request.headers) {
        return Err(Refusal(Refused::Origin, Problem::forbidden("origin: not allowed (server.origins)")));
    }
    let accept_key = websocket_key(&request.headers).map_err(Refusal::malformed)?;
    let offered = offered(&request.headers).map_err(Refusal::malformed)?;
    let authorization = bearer::authorization(&request.headers).map_err(Refusal::malformed)?;
    if context.stop.is_draining() {
        return Err(Refusal(Refused::Draining, Problem::going_away()));
    }
    if let Some(trouble) = context.clock_status.trouble() {
        return Err(Refusal(Refused::Clock, Problem::out_of_time(trouble)));
    }
    // Before the signature is checked: a refused upgrade should cost little.
    let permit = context.limiter.enter(network).map_err(turned_away)?;
    let token = match authorization {
        Some(authorization) => Some(Ok(identify(authorization, context).await?)),
        None => match offered.token.map(|token| context.authenticator.identify(token)) {
            Some(Ok(identity)) => Some(Ok(with_user(identity, context).await?)),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        },
    };
    Ok(Accepted { accept_key, subprotocol: offered.subprotocol, token, permit })
}

fn turned_away(no_room: ConnectionRefused) -> Refusal {
    let (reason, problem) = match no_room {
        ConnectionRefused::UpgradeRate(wait) => {
            let detail = "the gateway takes no more upgrades per second";
            (Refused::Upgrades, Problem::unavailable(detail, whole_seconds(wait)))
        }
        ConnectionRefused::UpgradeRateOfAddress(wait) => {
            let detail = "the gateway takes no more upgrades per second from one address";
            (Refused::AddressUpgrades, Problem::too_fast(detail, wait))
        }
        ConnectionRefused::Connections => {
            let detail = "the gateway has as many connections as it takes";
            (Refused::Upgrades, Problem::unavailable(detail, whole_seconds(FULL_RETRY)))
        }
        ConnectionRefused::ConnectionsOfAddress => {
            let detail = "this address has as many connections as the gateway takes from one";
            (Refused::AddressUpgrades, Problem::too_fast(detail, FULL_RETRY))
        }
    };
    // Otherwise the connection would wait here for a second try, and take the place of others.
    Refusal(reason, problem.with(header::CONNECTION, HeaderValue::from_static("close")))
}

/// A client that can set a header can read a status, too.
async fn identify(authorization: &HeaderValue, context: &ConnectionContext) -> Result<(Identity, User), Refusal> {
    let bad = |problem| Refusal(Refused::Token, problem);
    let identity = bearer::identify(authorization, &context.authenticator).map_err(bad)?;
    let (identity, user) = with_user(identity, context).await?;
    if context.authenticator.refuses(user.id, &identity) {
        return Err(Refusal(Refused::Kicked, Problem::forbidden(bearer::SENT_AWAY)));
    }
    Ok((identity, user))
}

async fn with_user(identity: Identity, context: &ConnectionContext) -> Result<(Identity, User), Refusal> {
    match context.authenticator.user(&identity).await {
        Ok(user) => Ok((identity, user)),
        Err(unavailable) => Err(Refusal(Refused::Names, unavailable.into())),
    }
}

/// Checks the opening handshake of RFC 6455, section 4.2.1.
fn websocket_key(headers: &HeaderMap) -> Result<String, Problem> {
    if !lists(headers, header::CONNECTION, "upgrade") || !lists(headers, header::UPGRADE, "websocket") {
        return Err(Problem::invalid("connection: must upgrade to websocket"));
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        let problem = Problem::upgrade_required("sec-websocket-version: must be 13");
        return Err(problem.with(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")));
    }
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    match (keys.next(), keys.next()) {
        (Some(key), None) if is_websocket_key(key) => Ok(derive_accept_key(key.as_bytes())),
        (Some(_), None) => Err(Problem::invalid("sec-websocket-key: must be 16 bytes in base64")),
        (Some(_), Some(_)) => Err(Problem::invalid("sec-websocket-key: is given twice")),
        (None, _) => Err(Problem::invalid("sec-websocket-key: is missing")),
    }
}

fn is_websocket_key(key: &HeaderValue) -> bool {
    BASE64_STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == KEY_BYTES)
}

fn lists(headers: &HeaderMap, name: header::HeaderName, word: &str) -> bool {
    words(headers, name).any(|listed| listed.eq_ignore_ascii_case(word))
}

fn words(headers: &HeaderMap, name: header::HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

struct Offered<'a> {
    subprotocol: Option<&'static str>,
    token: Option<&'a str>,
}

/// The client's first known subprotocol; none offered is JSON, but only unknown ones, or only a token, is a mistake.
fn offered(headers: &HeaderMap) -> Result<Offered<'_>, Problem> {
    let mut offered = Offered { subprotocol: None, token: None };
    let mut any = false;
    for name in words(headers, header::SEC_WEBSOCKET_PROTOCOL) {
        any = true;
        if let Some(token) = name.strip_prefix(TOKEN_PREFIX) {
            offered.token.get_or_insert(token);
        } else if name == JSON {
            offered.subprotocol = Some(JSON);
        }
    }
    if any && offered.subprotocol.is_none() {
        return Err(Problem::invalid("sec-websocket-protocol: must offer heartline.v1.json"));
    }
    Ok(offered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(protocols: &[&'static str]) -> HeaderMap {
        let values = protocols.iter().map(|value| (header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(value)));
        values.collect()
    }

    #[test]
    fn the_token_is_never_selected() {
        for protocols in [
            &["heartline.token.abc, heartline.v1.json"][..],
            &["heartline.v1.json", "heartline.token.abc"],
            &["other,heartline.v1.json , heartline.token.abc"],
        ] {
            let headers = headers(protocols);
            let Ok(offered) = offered(&headers) else { panic!("{protocols:?} are refused") };
            assert_eq!((offered.subprotocol, offered.token), (Some(JSON), Some("abc")), "{protocols:?}");
        }
    }

    #[test]
    fn only_unknown_subprotocols_or_only_a_token_are_refused() {
        assert!(offered(&headers(&[])).is_ok_and(|offered| offered.subprotocol.is_none()));
        for protocols in [&["chat"][..], &["heartline.token.abc"], &["chat", "heartline.token.abc"]] {
            assert!(offered(&headers(protocols)).is_err(), "{protocols:?}");
        }
    }
}
