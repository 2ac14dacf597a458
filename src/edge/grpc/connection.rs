//! One connection of a caller.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;
use webpki::EndEntityCert;

use super::caller::Certificate;
use crate::edge::connection::stream::Stream;

/// How long the other end has to close, too, once nothing more is sent to it.
const LINGER: Duration = Duration::from_secs(1);

/// Its certificate is handed to each of its calls.
pub struct Connection {
    stream: Stream,
    /// Until when it waits for the other end, once it has said that nothing more will come.
    lingers: Option<Pin<Box<Sleep>>>,
    certificate: Certificate,
    _place: Place,
}

/// The place of a connection among those that may be open.
pub struct Place {
    _permit: OwnedSemaphorePermit,
    open: Gauge,
}

impl Connection {
    pub fn new(stream: Stream, place: Place) -> Self {
        let certificate = match &stream {
            Stream::Plain(_) => Certificate::None,
            Stream::Encrypted(stream) => match stream.get_ref().1.peer_certificates() {
                Some([own, ..]) => named(own),
                _ => Certificate::None,
            },
        };
        Connection { stream, lingers: None, certificate, _place: place }
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

impl Place {
    pub fn new(permit: OwnedSemaphorePermit, open: Gauge) -> Self {
        open.inc();
        Place { _permit: permit, open }
    }
}

impl Drop for Place {
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
    type ConnectInfo = Certificate;

    fn connect_info(&self) -> Certificate {
        self.certificate.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
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

    /// A connection, and its other end.
    async fn pair() -> (Connection, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let other = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a listener");
        let (stream, _) = listener.accept().await.expect("a connection");
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().expect("a place");
        (Connection::new(Stream::Plain(stream), Place::new(permit, Gauge::default())), other)
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
