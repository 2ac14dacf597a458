//! Whether a server was asked with TLS and has none, or the other way round. Nothing else tells: a Redis without TLS
//! waits for the end of what it takes for a command, and one with TLS closes the connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::redis::RedisError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use super::address::Address;

const TIMEOUT: Duration = Duration::from_millis(500);

/// After a failed connection with TLS: what to do if the server answers without.
pub(super) async fn is_plain(address: &Address, error: &RedisError) -> Option<String> {
    if error.is_connection_refusal() {
        return None;
    }
    let asked = async {
        let mut stream = TcpStream::connect((&*address.host, address.port)).await?;
        stream.write_all(b"PING\r\n").await?;
        let mut first = [0];
        stream.read_exact(&mut first).await?;
        // Of an answer, or of an error: it may ask for a password.
        Ok::<_, io::Error>(matches!(first, [b'+' | b'-']))
    };
    let is_plain = matches!(timeout(TIMEOUT, asked).await, Ok(Ok(true)));
    is_plain.then(|| {
        format!("{address} has no TLS on this port; name its TLS port in redis.url, or begin redis.url with redis, not rediss")
    })
}

/// After a failed connection without TLS: what to do if the server speaks it.
pub(super) async fn is_encrypted(address: &Address, error: &RedisError) -> Option<String> {
    // It closes such a connection at once, or answers in TLS.
    if error.is_connection_refusal() || error.is_timeout() {
        return None;
    }
    let config = ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth();
    let asked = async {
        let stream = TcpStream::connect((&*address.host, address.port)).await?;
        let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    };
    // No certificate is trusted here, so a server that shows one is refused for it.
    let shown = match timeout(TIMEOUT, Box::pin(asked)).await {
        Ok(Err(error)) => {
            error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()).is_some_and(|error| {
                matches!(error, rustls::Error::InvalidCertificate(_) | rustls::Error::AlertReceived(_))
            })
        }
        _ => false,
    };
    shown.then(|| {
        format!("{address} speaks TLS on this port; begin redis.url with rediss, or name its port without TLS")
    })
}
