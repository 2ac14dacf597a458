//! One connection of a caller.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tonic::transport::server::Connected;
use webpki::EndEntityCert;

use super::caller::Certificate;
use crate::edge::connection::stream::Stream;

/// Its certificate is handed to each of its calls.
pub struct Connection {
    stream: Stream,
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
        Connection { stream, certificate, _place: place }
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
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
