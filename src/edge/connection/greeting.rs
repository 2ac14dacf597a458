//! From the upgrade to the welcome.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use super::close::CloseReason;
use super::connection_set::SetEntry;
use super::conversation::{Asked, Conversation, STRIKES_MAX};
use super::decoder::Received;
use super::live_socket::LiveSocket;
use super::socket::Socket;
use crate::auth::{Identity, TokenError, User};
use crate::context::ConnectionContext;
use crate::limits::connection_limiter::ConnectionPermit;
use crate::limits::quota::Rate;
use crate::protocol::frame::{ErrorCode, Hello, Operation, ServerFrame, Welcome};
use crate::protocol::json;
use domain::devices::client::Client;
use model::content_name::ContentTexts;
use model::visitor::Visitor;

/// The client of a socket.
pub struct SocketClient {
    pub address: IpAddr,
    pub visitor: Visitor,
}

/// The user of a socket, and how the token came.
struct Introduction {
    identity: Identity,
    user: User,
    hello: Hello,
    /// The number of the hello; 0 when the upgrade carried the token.
    seq: u32,
}

/// How an introduction ended without one.
enum Failed {
    Close(CloseReason),
    ClosedByClient(u16),
    Lost,
}

/// Authenticates and welcomes; `None` when the socket had to be closed, or closed itself. `unwelcomed` is given back as
/// soon as the user is known, `permit` when the socket has ended.
pub async fn greet(
    mut socket: Socket,
    context: Arc<ConnectionContext>,
    set_entry: &SetEntry,
    token: Option<Result<(Identity, User), TokenError>>,
    unwelcomed: ConnectionPermit,
    client: SocketClient,
    permit: ConnectionPermit,
) -> Option<LiveSocket> {
    let introduction = match token {
        Some(admitted) => admitted
            .map(|(identity, user)| Introduction { identity, user, hello: Hello::default(), seq: 0 })
            .map_err(|error| Failed::Close(error.into())),
        None => tokio::select! {
            introduction = wait_for_hello(&mut socket, &context) => introduction,
            () = tokio::time::sleep(context.socket.hello_timeout) => Err(Failed::Close(CloseReason::NoHello)),
            _ = context.stop.draining() => Err(Failed::Close(CloseReason::Drain)),
        },
    };
    let welcomed = match introduction {
        Ok(introduction) => {
            drop(unwelcomed);
            welcome(&mut socket, context.clone(), set_entry, introduction, &client).await
        }
        Err(failed) => Err(failed),
    };
    match welcomed {
        Ok(conversation) => return Some(LiveSocket::new(socket, conversation, context, client.address, permit)),
        Err(Failed::Close(reason)) => {
            let (code, cause) = reason.code_and_text();
            let address = client.address;
            tracing::debug!(event = "connection_refused", %address, code, cause, "connection refused before its welcome");
            if let Some(bye) = reason.bye(rand::random()) {
                // Received or not, the close comes next.
                let _ = send(&mut socket, &context, &bye).await;
            }
            socket.close(reason).await;
        }
        Err(Failed::ClosedByClient(code)) => socket.answer_close(code).await,
        Err(Failed::Lost) => socket.lose(),
    }
    None
}

/// A hello that cannot be decoded may be sent again; any other frame before the welcome ends the socket.
async fn wait_for_hello(socket: &mut Socket, context: &ConnectionContext) -> Result<Introduction, Failed> {
    let mut rate = Rate::new(Instant::now());
    let mut strikes = 0;
    let mut used_up = 0;
    loop {
        let heard = socket.receive().await;
        if !rate.allow(1, &context.quota, Instant::now()) {
            return Err(Failed::Close(CloseReason::TooFast));
        }
        let text = match heard {
            Received::Text(text) => text,
            Received::Binary(_) => return Err(Failed::Close(CloseReason::MessageType)),
            Received::Alive => continue,
            Received::Closed(code) => return Err(Failed::ClosedByClient(code)),
            Received::Lost => return Err(Failed::Lost),
            Received::Wrong(reason) => return Err(Failed::Close(reason)),
        };
        let malformed = match json::decode(&text, &context.frame_limits()) {
            Ok(frame) => match (frame.operation, frame.seq) {
                (Operation::Hello(hello), seq) if seq > used_up => return introduce(context, hello, seq).await,
                (Operation::Hello(_), seq) => (Some(seq), format!("seq: must be greater than {used_up}")),
                _ => return Err(Failed::Close(CloseReason::NotHello)),
            },
            Err(malformed) if malformed.hello => (malformed.seq, malformed.message),
            Err(_) => return Err(Failed::Close(CloseReason::NotHello)),
        };
        let (seq, message) = malformed;
        used_up = used_up.max(seq.unwrap_or(0));
        strikes += 1;
        send(socket, context, &ServerFrame::Error { seq, code: ErrorCode::Invalid, message }).await?;
        if strikes >= STRIKES_MAX {
            return Err(Failed::Close(CloseReason::Invalid));
        }
    }
}

async fn introduce(context: &ConnectionContext, hello: Hello, seq: u32) -> Result<Introduction, Failed> {
    let token = hello.token.as_ref().ok_or(Failed::Close(CloseReason::NoToken))?;
    context.authenticator.await_key(token.expose()).await;
    let identity = context.authenticator.identify(token.expose()).map_err(|error| Failed::Close(error.into()))?;
    let user = context.authenticator.user(&identity).await.map_err(|_| Failed::Close(CloseReason::Overloaded))?;
    Ok(Introduction { identity, user, hello, seq })
}

async fn welcome(
    socket: &mut Socket,
    context: Arc<ConnectionContext>,
    set_entry: &SetEntry,
    introduction: Introduction,
    client: &SocketClient,
) -> Result<Conversation, Failed> {
    let Introduction { identity, user, hello, seq } = introduction;
    let registration = context.authenticator.enter(user.id, &identity, client.visitor, set_entry.notifier());
    let registration = registration.ok_or(Failed::Close(CloseReason::Kicked))?;
    let Ok(arrival) = context.connect_lookup.of(user.id).await else {
        return Err(Failed::Close(CloseReason::Overloaded));
    };
    let now = context.clock.now();
    let device = hello.device.as_deref().unwrap_or_default().into();
    registration.inbox().welcomed(Client { address: client.address, device, since: now });
    let welcome = ServerFrame::Welcome(Box::new(Welcome {
        user: user.clone(),
        connection: registration.inbox().id,
        now,
        today: arrival.today,
        flag: arrival.flag,
        interval_ms: context.socket.heartbeat_interval.as_millis() as u64,
        paused: arrival.paused,
        expires: identity.expires_ms,
        limits: context.welcome_limits(),
    }));
    send(socket, &context, &welcome).await?;
    let asked = Asked { hello, seq, flag: arrival.flag };
    Ok(Conversation::new(context, registration, (&identity, user), asked, Instant::now()))
}

async fn send(socket: &mut Socket, context: &ConnectionContext, frame: &ServerFrame) -> Result<(), Failed> {
    let said = socket
        .send_and_flush(|out| out.text(|text| json::encode_into(frame, context.telling(ContentTexts::NONE), text)))
        .await;
    said.map_err(|_| Failed::Lost)
}
