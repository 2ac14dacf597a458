//! TLS: the certificate, and another in its place while connections go on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig as RustlsConfig};
use tokio_rustls::server::TlsStream;

use crate::edge::config::ServerConfig;

/// What is spoken behind it; a client that wants only something else is told so.
const PROTOCOL: &[u8] = b"http/1.1";

/// A certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{setting} = {path:?} cannot be used: {source}")]
    File { setting: &'static str, path: PathBuf, source: pem::Error },
    #[error("server.tls_cert = {0:?} contains no certificate")]
    Empty(PathBuf),
    #[error("server.tls_cert and server.tls_key cannot be used together: {0}")]
    Rustls(#[from] rustls::Error),
}

/// Shared by all threads.
pub struct Tls {
    acceptor: TlsAcceptor,
    certificate: Arc<Certificate>,
}

impl Tls {
    /// `None` when no certificate is configured.
    pub fn load(config: &ServerConfig) -> Result<Option<Arc<Self>>, TlsError> {
        if config.tls_cert.as_os_str().is_empty() {
            return Ok(None);
        }
        let (chain_file, key_file) = (config.tls_cert.clone(), config.tls_key.clone());
        let current = RwLock::new(read(&chain_file, &key_file)?);
        let certificate = Arc::new(Certificate { chain_file, key_file, current });
        let mut config = RustlsConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(certificate.clone());
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        // Tickets are kept by the clients: resuming spares both sides most of the handshake, and takes no memory here.
        config.ticketer = aws_lc_rs::Ticketer::new()?;
        Ok(Some(Arc::new(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })))
    }

    /// Reads the files again. New connections get what is in them; if it cannot be used, what there was before.
    pub fn reload(&self) -> Result<(), TlsError> {
        let Certificate { chain_file, key_file, current } = &*self.certificate;
        let next = read(chain_file, key_file)?;
        *current.write() = next;
        Ok(())
    }

    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

#[derive(Debug)]
struct Certificate {
    chain_file: PathBuf,
    key_file: PathBuf,
    /// Locked once per handshake.
    current: RwLock<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().clone())
    }
}

/// The certificate and its key, which must be each other's.
fn read(chain_file: &Path, key_file: &Path) -> Result<Arc<CertifiedKey>, TlsError> {
    let unusable = |setting, path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::File { setting, path, source }
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(chain_file).and_then(Iterator::collect);
    let chain = chain.map_err(unusable("server.tls_cert", chain_file))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(chain_file.to_owned()));
    }
    let key = PrivateKeyDer::from_pem_file(key_file).map_err(unusable("server.tls_key", key_file))?;
    Ok(Arc::new(CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())?))
}
