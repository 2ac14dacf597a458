//! The simplest durable WebSocket gateway: the token is checked once, and then each beat is one durable write and one
//! ack, in order, by the task that has read it.
//!
//! It uses the gateway's codec and verifier, so that these make no difference. It has no rule for which beat wins, no
//! limits, no pushes and no deletions.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use heartline::edge::auth::{Identity, Subject, Verifier};
use heartline::edge::protocol::frame::{FrameLimits, Operation};
use heartline::edge::protocol::json;
use heartline::model::content_name::ContentIds;
use heartline::model::ids::{Content, UserId};
use tokio::net::TcpStream;
use tokio_tungstenite::accept_hdr_async_with_config;
use tokio_tungstenite::tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::{Message, WebSocketConfig};

use super::host;
use super::naive_store::NaiveStore;
use super::target::wall_ms;

const LIMITS: FrameLimits = FrameLimits { ids: ContentIds::Number, beats: 500, items: 500, list: 200 };

#[derive(Clone)]
struct Gateway {
    verifier: Arc<Verifier>,
    store: NaiveStore,
    config: WebSocketConfig,
}

/// Accepts or refuses a connection, and remembers its user.
struct Porter<'a> {
    verifier: &'a Verifier,
    identity: &'a mut Option<Identity>,
}

pub fn run() -> Result<(), String> {
    let setting = host::setting()?;
    let credentials = &setting.credentials;
    let gateway = Gateway {
        verifier: Arc::new(
            Verifier::new(&credentials.auth(), Some(&credentials.signing_key()))
                .expect("a secret needs no file of keys"),
        ),
        store: NaiveStore::open(&setting.place)?,
        config: setting.websocket(),
    };
    host::serve(setting.threads, move |stream| gateway.clone().converse(stream))
}

impl Gateway {
    async fn converse(self, stream: TcpStream) {
        let mut identity = None;
        let porter = Porter { verifier: &self.verifier, identity: &mut identity };
        let accepted = Box::pin(accept_hdr_async_with_config(stream, porter, Some(self.config))).await;
        let (Ok(mut socket), Some(Identity { subject: Subject::Number(user), .. })) = (accepted, identity) else {
            return;
        };
        let welcome = format!(r#"{{"welcome":{{"mid":"{}","now":{}}}}}"#, user.0, wall_ms());
        if socket.send(Message::text(welcome)).await.is_err() {
            return;
        }
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let answer = match answer(&self.store, user, &text).await {
                Ok(answer) => answer,
                Err(error) => return eprintln!("loadgen: the naive gateway gives up a socket: {error}"),
            };
            if socket.send(Message::text(answer)).await.is_err() {
                return;
            }
        }
    }
}

async fn answer(store: &NaiveStore, user: UserId, text: &str) -> Result<String, String> {
    let frame = json::decode(text, &LIMITS).map_err(|malformed| malformed.message)?;
    match frame.operation {
        Operation::Beats(beats) => {
            for beat in &beats.items {
                store.write(user, beat).await?;
            }
            Ok(format!(r#"{{"ack":{{"seq":{}}}}}"#, frame.seq))
        }
        Operation::Get { contents } => {
            let mut records = Vec::with_capacity(contents.len());
            for content in contents {
                records.push(record(store, user, content).await?);
            }
            Ok(format!(r#"{{"result":{{"seq":{},"records":[{}]}}}}"#, frame.seq, records.join(",")))
        }
        other => Err(format!("{other:?} is not among the things it does")),
    }
}

async fn record(store: &NaiveStore, user: UserId, content: Content) -> Result<String, String> {
    Ok(store.read(user, content).await?.map_or("null".to_owned(), |row| {
        let Content { kind, oid } = content;
        format!(
            r#"{{"kind":{kind},"oid":"{oid}","pos":{},"session":"{}","watched":{},"at":{}}}"#,
            row.pos, row.session, row.watched, row.at
        )
    }))
}

impl Callback for Porter<'_> {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer "));
        *self.identity = token.and_then(|token| self.verifier.verify(token, wall_ms()).ok());
        match self.identity {
            Some(_) => Ok(response),
            None => {
                let mut refusal = ErrorResponse::new(None);
                *refusal.status_mut() = http::StatusCode::UNAUTHORIZED;
                Err(refusal)
            }
        }
    }
}
