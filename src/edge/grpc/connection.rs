//! One connection of a caller.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tonic::transport::server::Connected;
use webpki::EndEntityCert;

use super::caller::Certificate;
use super::calls::Calls;
use crate::connection::stream::Stream;

/// The first bytes of a client of HTTP/2: a fixed text.
const PREFACE_BYTES: usize = 24;
/// How long the other end has to close, too, once nothing more is sent to it.
const LINGER: Duration = Duration::from_secs(1);

/// How long a connection stays open that asks for nothing.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// From the accepted connection to the end of its TLS handshake and the first bytes of HTTP/2.
    pub handshake: Duration,
    /// Without a call. Pings do not count.
    pub idle: Duration,
}

/// The properties of a connection that each of its calls knows.
#[derive(Clone, Debug)]
pub struct Peer {
    pub certificate: Certificate,
    pub calls: Calls,
}

pub struct Connection {
    stream: Stream,
    /// The bytes of the preface that are still to come.
    missing: usize,
    /// When it is to be closed, as far as was known when it was set.
    closes: Pin<Box<Sleep>>,
    idle: Duration,
    calls: Calls,
    /// Until when it waits for the other end, once it has said that nothing more will come.
    lingers: Option<Pin<Box<Sleep>>>,
    certificate: Certificate,
    slot: Slot,
}

/// Counts one open connection against the limit; dropping it frees the slot.
pub struct Slot {
    _permit: OwnedSemaphorePermit,
    open: Gauge,
    /// Connections that did not get as far as a call.
    refused: Counter,
}

impl Connection {
    /// `until`: when its handshakes have to be over. `idle`: how long it may be without a call.
    pub fn new(stream: Stream, slot: Slot, until: Instant, idle: Duration) -> Self {
        let certificate = match &stream {
            Stream::Plain(_) => Certificate::None,
            Stream::Encrypted(stream) => match stream.get_ref().1.peer_certificates() {
                Some([own, ..]) => named(own),
                _ => Certificate::None,
            },
        };
        let closes = Box::pin(sleep_until(until));
        let (missing, calls) = (PREFACE_BYTES, Calls::new());
        Connection { stream, missing, closes, idle, calls, lingers: None, certificate, slot }
    }

    /// Resolves when it has been silent for too long.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.closes.as_mut().poll(cx));
            if self.missing > 0 {
                self.slot.refused.inc();
                return Poll::Ready(());
            }
            let now = Instant::now();
            let closes = self.calls.idle_since().unwrap_or(now) + self.idle;
            if closes <= now {
                return Poll::Ready(());
            }
            self.closes.as_mut().reset(closes);
        }
    }

    /// Reads what still comes, and drops it. A socket that is closed with something unread is reset, and the other end
    /// may throw the last answers away then.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 1024];
        let mut rest = ReadBuf::new(&mut space);
        while let Ok(()) = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut rest)) {
            if rest.filled().is_empty() {
                break;
            }
            rest.clear();
        }
        Poll::Ready(())
    }
}

impl Slot {
    pub fn new(permit: OwnedSemaphorePermit, open: Gauge, refused: Counter) -> Self {
        open.inc();
        Slot { _permit: permit, open, refused }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// The first URI in the alternative names of a certificate, or else the first DNS name.
fn named(certificate: &[u8]) -> Certificate {
    let der = certificate.into();
    let Ok(certificate) = EndEntityCert::try_from(&der) else { return Certificate::Nameless };
    let name = certificate.valid_uri_names().next().or_else(|| certificate.valid_dns_names().next());
    name.map_or(Certificate::Nameless, |name| Certificate::Of(Arc::from(name)))
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        Peer { certificate: self.certificate.clone(), calls: self.calls.clone() }
    }
}

impl AsyncRead for Connection {
    /// After too long a silence as if the other end had closed.
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Ready(read) => {
                self.missing = self.missing.saturating_sub(buffer.filled().len() - before);
                Poll::Ready(read)
            }
            Poll::Pending => self.poll_patience(cx).map(Ok),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingers.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        let is_over = self.lingers.get_or_insert_with(|| Box::pin(sleep(LINGER))).as_mut().poll(cx).is_ready();
        if is_over { Poll::Ready(Ok(())) } else { self.poll_end(cx).map(Ok) }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Semaphore;

    use super::*;

    const PATIENCE: Patience = Patience { handshake: Duration::from_secs(5), idle: Duration::from_secs(75) };

    /// A connection, and its other end.
    async fn pair() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let other = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a listener");
        let (stream, _) = listener.accept().await.expect("a connection");
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a slot");
        let slot = Slot::new(permit, Gauge::default(), Counter::default());
        let until = Instant::now() + PATIENCE.handshake;
        (Connection::new(Stream::Plain(stream), slot, until, PATIENCE.idle), other)
    }

    /// How long it takes until the connection is read to its end.
    async fn open_for(connection: &mut Connection) -> Duration {
        let began = Instant::now();
        let mut rest = Vec::new();
        connection.read_to_end(&mut rest).await.expect("an end");
        began.elapsed()
    }

    fn takes(patience: Duration) -> std::ops::Range<Duration> {
        patience..patience + Duration::from_secs(1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_nothing_is_not_waited_for() {
        let (mut connection, _other) = pair().await;
        let refused = connection.slot.refused.clone();
        let open = open_for(&mut connection).await;
        assert!(takes(PATIENCE.handshake).contains(&open), "{open:?}");
        assert_eq!(refused.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_handshake_has_its_time_as_a_whole() {
        let (mut connection, mut other) = pair().await;
        let dripping = async {
            for _ in 0..PREFACE_BYTES {
                sleep(Duration::from_secs(1)).await;
                let _ = other.write_all(b"P").await;
            }
        };
        tokio::select! {
            open = open_for(&mut connection) => assert!(takes(PATIENCE.handshake).contains(&open), "{open:?}"),
            () = dripping => panic!("it is still open"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_call_is_closed_and_one_with_a_call_is_not() {
        let (mut connection, mut other) = pair().await;
        other.write_all(&[b'P'; PREFACE_BYTES]).await.expect("a connection");
        connection.read_exact(&mut [0; PREFACE_BYTES]).await.expect("a preface");
        let call = connection.connect_info().calls.begin();
        let ends = async {
            sleep(3 * PATIENCE.idle).await;
            drop(call);
        };
        let (open, ()) = tokio::join!(open_for(&mut connection), ends);
        assert!(takes(4 * PATIENCE.idle).contains(&open), "{open:?}");
        assert_eq!(connection.slot.refused.get(), 0);
    }

    #[tokio::test]
    async fn what_comes_late_does_not_reset_the_connection() {
        let (mut connection, mut other) = pair().await;
        let closing = async move {
            connection.write_all(b"the last answer").await.expect("a connection");
            connection.shutdown().await.expect("a connection");
        };
        let reading = async {
            let mut answer = [0; 15];
            other.read_exact(&mut answer).await.expect("the answer");
            assert_eq!(other.read(&mut answer).await.expect("an end"), 0);
            for _ in 0..10 {
                other.write_all(&[0; 10_000]).await.expect("no reset");
                sleep(Duration::from_millis(20)).await;
            }
            drop(other);
        };
        tokio::join!(closing, reading);
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_that_does_not_close_is_not_waited_for() {
        let (mut connection, _other) = pair().await;
        let began = tokio::time::Instant::now();
        connection.shutdown().await.expect("a connection");
        assert!((LINGER..2 * LINGER).contains(&began.elapsed()), "{:?}", began.elapsed());
    }
}
