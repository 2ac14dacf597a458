//! One socket: carries frames between a client and the gateway of its user.

use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};

use super::gateway::Gateway;
use super::outgoing::Outgoing;

/// How long the client's answer to a close is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

pub type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Why the loop of a socket has ended.
enum End {
    Left,
    Cut,
    Muted,
}

/// Serves the socket until its end.
pub async fn serve(mut socket: Socket, gateway: &Rc<Gateway>, number: usize, mut out: mpsc::Receiver<Outgoing>) {
    match carry(&mut socket, gateway, number, &mut out).await {
        End::Left => gateway.closed(number),
        End::Cut => {}
        End::Muted => sleep(Duration::from_secs(60)).await,
    }
}

async fn carry(socket: &mut Socket, gateway: &Gateway, number: usize, out: &mut mpsc::Receiver<Outgoing>) -> End {
    loop {
        tokio::select! {
            biased;
            Some(outgoing) = out.recv() => {
                let sent = match outgoing {
                    Outgoing::Text(text) => socket.send(Message::text(text)).await,
                    Outgoing::Ping => socket.send(Message::Ping("heartline".into())).await,
                    Outgoing::Close(code, reason) => return farewell(socket, code, reason).await,
                    Outgoing::Cut => return End::Cut,
                    Outgoing::Mute => return End::Muted,
                };
                if sent.is_err() { return End::Left }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(text))) => gateway.text(number, &text),
                Some(Ok(Message::Pong(_))) => gateway.pong(number),
                Some(Ok(Message::Binary(_))) => gateway.malformed(number, "a binary message".to_owned()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return End::Left,
            },
            () = sleep(gateway.until_expiry(number)) => return farewell(socket, 4002, "expired".to_owned()).await,
        }
    }
}

/// Closes, and reads until the client has answered: what it sends meanwhile is dropped.
async fn farewell(socket: &mut Socket, code: u16, reason: String) -> End {
    let frame = CloseFrame { code: code.into(), reason: reason.into() };
    if socket.close(Some(frame)).await.is_ok() {
        let rest = async { while let Some(Ok(_)) = socket.next().await {} };
        let _ = tokio::time::timeout(FAREWELL, rest).await;
    }
    End::Left
}
