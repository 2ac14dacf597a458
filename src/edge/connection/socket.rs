//! A WebSocket, with what the gateway needs of it: messages in, frames out, a close that arrives.

use std::io;
use std::time::Duration;

use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Utf8Bytes};

use super::close::CloseReason;
use super::inflow::{Excess, Inflow};
use super::limits::{LimitsConfig, SocketConfig};
use crate::edge::metrics::Metrics;

/// tungstenite fills this much with zeroes before every read, and keeps it for as long as the socket lives.
const READ_BUFFER_BYTES: usize = 2 * 1024;
/// How long a close frame may take to be sent, and how long input is discarded after it, so that a TCP reset does not
/// overtake it.
const LINGER: Duration = Duration::from_secs(1);

/// What came in.
#[derive(Debug)]
pub enum Heard {
    Text(Utf8Bytes),
    /// A ping or a pong; pings are answered already.
    Alive,
    /// The peer closes, with this code (1005 = none).
    Closed(u16),
    /// The connection is lost, without a word.
    Lost,
    /// The peer broke the rules.
    Wrong(CloseReason),
}

/// What was said could not be handed over.
#[derive(Debug)]
pub enum Unheard {
    TooSlow,
    Lost,
}

pub struct Socket<S> {
    stream: WebSocketStream<Inflow<S>>,
    write_timeout: Duration,
    metrics: Metrics,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    /// `read` is what was already read of `stream` beyond the upgrade request.
    pub async fn new(stream: S, read: Vec<u8>, limits: &LimitsConfig, config: &SocketConfig, metrics: Metrics) -> Self {
        let stream = Inflow::new(stream, &read, limits, config);
        let write_timeout = config.write_timeout;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(limits.write_buffer_bytes / 2)
            .max_write_buffer_size(limits.write_buffer_bytes)
            .max_message_size(Some(limits.frame_bytes))
            .max_frame_size(Some(limits.frame_bytes));
        let stream = WebSocketStream::from_partially_read(stream, read, Role::Server, Some(config)).await;
        Socket { stream, write_timeout, metrics }
    }

    /// The next message. Cancel-safe.
    pub async fn hear(&mut self) -> Heard {
        let message = self.stream.next().await;
        self.judge(message)
    }

    /// A message that has already arrived.
    pub fn hear_now(&mut self) -> Option<Heard> {
        let message = self.stream.next().now_or_never()?;
        Some(self.judge(message))
    }

    fn judge(&mut self, message: Option<Result<Message, Error>>) -> Heard {
        match message {
            Some(Ok(message)) => {
                self.metrics.frames_in.inc();
                self.metrics.bytes_in.inc_by(message.len() as u64);
                match message {
                    Message::Text(text) => Heard::Text(text),
                    Message::Ping(_) | Message::Pong(_) => Heard::Alive,
                    Message::Close(frame) => Heard::Closed(frame.map_or(1005, |frame| frame.code.into())),
                    Message::Binary(_) | Message::Frame(_) => Heard::Wrong(CloseReason::MessageType),
                }
            }
            Some(Err(Error::Capacity(_))) => Heard::Wrong(CloseReason::TooBig),
            Some(Err(Error::Utf8(_))) => Heard::Wrong(CloseReason::Utf8),
            Some(Err(Error::Protocol(error))) if !is_reset(&error) => Heard::Wrong(CloseReason::Protocol),
            Some(Err(Error::Io(error))) => Excess::of(&error).map_or(Heard::Lost, |excess| Heard::Wrong(excess.into())),
            Some(Err(_)) | None => Heard::Lost,
        }
    }

    /// The server did not read for so long: the clocks of what comes in stood still.
    pub fn stood_still(&mut self, pause: Duration) {
        self.stream.get_mut().stood_still(pause);
    }

    /// Says these texts, and waits until the kernel has them.
    pub async fn say(&mut self, texts: impl IntoIterator<Item = String>) -> Result<(), Unheard> {
        let all = async {
            for text in texts {
                self.metrics.frames_out.inc();
                self.metrics.bytes_out.inc_by(text.len() as u64);
                self.stream.feed(Message::text(text)).await?;
            }
            self.stream.flush().await
        };
        in_time(self.write_timeout, all).await
    }

    pub async fn ping(&mut self) -> Result<(), Unheard> {
        self.metrics.frames_out.inc();
        in_time(self.write_timeout, self.stream.send(Message::Ping(Bytes::new()))).await
    }

    /// Answers the peer's close.
    pub async fn part(mut self, code: u16) {
        self.metrics.closed(code);
        // Whatever goes wrong now, the connection ends.
        let _ = in_time(LINGER, self.stream.flush()).await;
        let _ = self.stream.get_mut().shutdown().await;
    }

    /// Closes with a code of ours, then discards input for a moment so that it arrives.
    pub async fn close(mut self, reason: CloseReason) {
        let (code, text) = reason.code_and_text();
        self.metrics.closed(code);
        let frame = CloseFrame { code: CloseCode::from(code), reason: Utf8Bytes::from_static(text) };
        // Whatever goes wrong now, the connection ends.
        let _ = in_time(LINGER, self.stream.close(Some(frame))).await;
        // Discarded, not counted: there is nothing left to refuse.
        let stream = self.stream.get_mut().get_mut();
        let parting = async {
            let _ = stream.shutdown().await;
            let mut scratch = [0; 1024];
            while matches!(stream.read(&mut scratch).await, Ok(1..)) {}
        };
        let _ = tokio::time::timeout(LINGER, parting).await;
    }

    /// The connection is gone already.
    pub fn lose(self) {
        self.metrics.closed(1006);
    }
}

impl From<Excess> for CloseReason {
    fn from(excess: Excess) -> Self {
        match excess {
            Excess::Bytes => CloseReason::TooMuch,
            Excess::Fragments => CloseReason::TooFast,
            Excess::Unfinished => CloseReason::Unfinished,
        }
    }
}

/// tungstenite reports a peer that vanished without a close frame as a protocol error.
fn is_reset(error: &tokio_tungstenite::tungstenite::error::ProtocolError) -> bool {
    matches!(error, tokio_tungstenite::tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)
}

async fn in_time(limit: Duration, sent: impl Future<Output = Result<(), Error>>) -> Result<(), Unheard> {
    match tokio::time::timeout(limit, sent).await {
        Ok(Ok(())) => Ok(()),
        Err(_) | Ok(Err(Error::WriteBufferFull(_))) => Err(Unheard::TooSlow),
        Ok(Err(Error::Io(error))) if error.kind() == io::ErrorKind::WouldBlock => Err(Unheard::TooSlow),
        Ok(Err(_)) => Err(Unheard::Lost),
    }
}
