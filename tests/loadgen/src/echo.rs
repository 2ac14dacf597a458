//! The simplest WebSocket server: it sends back each message. It has no authentication and no storage.

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::accept_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::host;

pub fn run() -> Result<(), String> {
    let setting = host::setting()?;
    let config = setting.websocket();
    host::serve(setting.threads, move |stream| echo(stream, config))
}

async fn echo(stream: TcpStream, config: WebSocketConfig) {
    // Boxed, so that a socket does not carry its handshake along.
    let Ok(mut socket) = Box::pin(accept_async_with_config(stream, Some(config))).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        if message.is_text() && socket.send(message).await.is_err() {
            return;
        }
    }
}
