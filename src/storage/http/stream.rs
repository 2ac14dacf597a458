//! A connection, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

pub enum Stream {
    Plain(TokioIo<TcpStream>),
    /// Some kilobytes, which plain ones need not carry.
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Stream {
    fn read(&mut self) -> Pin<&mut (dyn Read + Send + Unpin)> {
        match self {
            Stream::Plain(stream) => Pin::new(stream),
            Stream::Tls(stream) => Pin::new(&mut **stream),
        }
    }

    fn write(&mut self) -> Pin<&mut (dyn Write + Send + Unpin)> {
        match self {
            Stream::Plain(stream) => Pin::new(stream),
            Stream::Tls(stream) => Pin::new(&mut **stream),
        }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.read().poll_read(context, buffer)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.write().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write().poll_shutdown(context)
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
