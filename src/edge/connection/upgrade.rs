//! `GET /v1/connect`: whether a request becomes a socket.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::IntoResponse;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::greeting;
use super::live_socket::LiveSocket;
use super::roster::{Roster, Seat};
use super::socket::Socket;
use super::stream::Stream;
use crate::edge::address::Network;
use crate::edge::auth::{Identity, TokenError};
use crate::edge::desk::Desk;
use crate::edge::http::bearer;
use crate::edge::http::problem::{Problem, whole_seconds};
use crate::edge::listener::room::{NoRoom, Place};
use crate::edge::metrics::Refused;

pub const PATH: &str = "/v1/connect";
const NOT_TO_BE_KEPT: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];
/// What a client is told when the server goes away.
const RETRY_AFTER_SECONDS: u64 = 5;
const JSON: &str = "heartline.v1.json";
/// A subprotocol that carries the token, since a browser can set no header. Never selected, never logged.
const TOKEN_PREFIX: &str = "heartline.token.";

/// A request that may become a socket.
struct Accepted {
    accept_key: String,
    /// The subprotocol to select; `None` when none was offered.
    subprotocol: Option<&'static str>,
    /// `None`: it will say hello.
    token: Option<Result<Identity, TokenError>>,
    place: Place,
}

/// A connection that is becoming a socket.
pub struct Upgrade {
    upgraded: OnUpgrade,
    token: Option<Result<Identity, TokenError>>,
    /// Held for as long as the socket lives.
    place: Place,
}

/// Answers the upgrade request.
pub fn respond(request: Request<Incoming>, network: Network, desk: &Desk) -> (Response<Body>, Option<Upgrade>) {
    let (mut parts, _) = request.into_parts();
    let upgraded = parts.extensions.remove::<OnUpgrade>();
    let accepted = accept(&parts, network, desk).and_then(|accepted| match upgraded {
        Some(upgraded) => Ok((accepted, upgraded)),
        None => Err(Problem::invalid("connection: HTTP/1.1 is needed")),
    });
    match accepted {
        Ok((accepted, upgraded)) => {
            (switching(&accepted), Some(Upgrade { upgraded, token: accepted.token, place: accepted.place }))
        }
        Err(problem) => ((NOT_TO_BE_KEPT, problem).into_response(), None),
    }
}

impl Upgrade {
    /// Greets; `None` when that was the end of it. `unwelcomed` is given back at the welcome.
    pub async fn greet(self, desk: Arc<Desk>, roster: &Rc<Roster>, unwelcomed: Place) -> Option<(Seat, LiveSocket)> {
        let Ok(parts) = self.upgraded.await.ok()?.downcast::<TokioIo<Stream>>() else {
            tracing::error!("an upgraded connection is not the stream that was accepted");
            return None;
        };
        let seat = roster.reserve();
        let socket = Socket::new(parts.io.into_inner(), &parts.read_buf, roster.bench.clone());
        // The buffer of the HTTP connection.
        drop(parts.read_buf);
        let live = greeting::greet(socket, desk, &seat, self.token, unwelcomed, self.place).await?;
        Some((seat, live))
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

fn accept(request: &Parts, network: Network, desk: &Desk) -> Result<Accepted, Problem> {
    if request.method != Method::GET {
        return Err(Problem::method(&[Method::GET]));
    }
    if request.uri.query().is_some() {
        return Err(Problem::invalid("query: none is taken here; a token in a URL ends up in logs"));
    }
    if !desk.origins.allow(&request.headers) {
        return Err(Problem::forbidden("origin: this page may not connect"));
    }
    let accept_key = websocket_key(&request.headers)?;
    let offered = offered(&request.headers)?;
    if desk.stop.is_draining() {
        return Err(Problem::unavailable("the server is going away", RETRY_AFTER_SECONDS));
    }
    if let Some(trouble) = desk.timekeeping.trouble() {
        return Err(Problem::out_of_time(trouble));
    }
    // Before the signature is checked: whoever is turned away should cost little.
    let place = desk.room.enter(network, Instant::now()).map_err(|no_room| turned_away(no_room, desk))?;
    let token = match request.headers.get(header::AUTHORIZATION) {
        Some(authorization) => Some(Ok(identify(authorization, desk)?)),
        None => offered.token.map(|token| desk.gate.identify(token)),
    };
    Ok(Accepted { accept_key, subprotocol: offered.subprotocol, token, place })
}

fn turned_away(no_room: NoRoom, desk: &Desk) -> Problem {
    let problem = match no_room {
        NoRoom::ForThisAddress(wait) => {
            desk.metrics.refused(Refused::AddressUpgrades);
            Problem::too_fast("more connections of this address than the gateway takes", wait)
        }
        NoRoom::ForAnybody(wait) => {
            desk.metrics.refused(Refused::Upgrades);
            Problem::unavailable("there is no room for another connection", whole_seconds(wait))
        }
    };
    // Otherwise the connection would wait here for a second try, and take the place of others.
    problem.with(header::CONNECTION, HeaderValue::from_static("close"))
}

/// A header can be answered with a status, which those who set one can read.
fn identify(authorization: &HeaderValue, desk: &Desk) -> Result<Identity, Problem> {
    let identity = bearer::identify(authorization, &desk.gate)?;
    if desk.gate.refuses(&identity) {
        return Err(Problem::forbidden(bearer::SENT_AWAY));
    }
    Ok(identity)
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
    match headers.get(header::SEC_WEBSOCKET_KEY) {
        Some(key) => Ok(derive_accept_key(key.as_bytes())),
        None => Err(Problem::invalid("sec-websocket-key: is missing")),
    }
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
    fn only_unknown_ones_or_only_a_token_is_a_mistake() {
        assert!(offered(&headers(&[])).is_ok_and(|offered| offered.subprotocol.is_none()));
        for protocols in [&["chat"][..], &["heartline.token.abc"], &["chat", "heartline.token.abc"]] {
            assert!(offered(&headers(protocols)).is_err(), "{protocols:?}");
        }
    }
}
