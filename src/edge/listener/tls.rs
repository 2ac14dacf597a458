//! TLS: the certificate, and another in its place while connections go on.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::server::{NoClientAuth, NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig as RustlsConfig};
use tokio_rustls::server::TlsStream;

use super::validity::Validity;
use crate::config::TlsFiles;

/// A certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{section}.{setting} = {path:?} cannot be used: {source}")]
    File { section: &'static str, setting: &'static str, path: PathBuf, source: pem::Error },
    #[error("{0}.{1} = {2:?} contains no certificate")]
    Empty(&'static str, &'static str, PathBuf),
    #[error("{section}.tls_cert and {section}.tls_key cannot be used together: {source}")]
    Rustls { section: &'static str, source: rustls::Error },
    #[error("{0}.client_ca cannot be used: {1}")]
    Authority(&'static str, VerifierBuilderError),
}

/// The one provider of cryptography of this process, also for client libraries that do not name one. To be called at the
/// start; later calls change nothing.
pub fn install_crypto_provider() {
    let _ = aws_lc_rs::default_provider().install_default();
}

/// Shared by all threads.
pub struct Tls {
    files: TlsFiles,
    /// Locked once per handshake.
    served: RwLock<Served>,
}

/// The TLS configuration that connections are offered.
struct Served {
    acceptor: TlsAcceptor,
    validity: Option<Validity>,
}

impl Tls {
    pub fn load(files: TlsFiles) -> Result<Arc<Self>, TlsError> {
        let served = RwLock::new(files.served()?);
        Ok(Arc::new(Tls { files, served }))
    }

    /// Reads the files again. New connections get the new certificate, or the old one if the new one cannot be used.
    pub fn reload(&self) -> Result<(), TlsError> {
        let next = self.files.served()?;
        *self.served.write() = next;
        Ok(())
    }

    /// The section of the settings that names its files.
    pub fn section(&self) -> &'static str {
        self.files.section
    }

    pub fn validity(&self) -> Option<Validity> {
        self.served.read().validity
    }

    /// Why clients refuse the certificate at `now`, milliseconds since 1970; `None`: they do not.
    pub fn invalid(&self, now: u64) -> Option<String> {
        let fault = self.validity()?.fault(now)?;
        Some(format!("{}.tls_cert = {:?} {fault}", self.files.section, self.files.chain))
    }

    pub async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor = self.served.read().acceptor.clone();
        acceptor.accept(stream).await
    }
}

impl TlsFiles {
    fn served(&self) -> Result<Served, TlsError> {
        let section = self.section;
        let failed = |source| TlsError::Rustls { section, source };
        let chain = self.certificates("tls_cert", &self.chain)?;
        let validity = Validity::of(&chain);
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(self.unusable("tls_key", &self.key))?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let clients = self.verifier(&provider)?;
        let mut config = RustlsConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain, key)
            .map_err(failed)?;
        config.alpn_protocols = vec![self.protocol.to_vec()];
        match self.clients {
            // Tickets are kept by the clients: resuming spares both sides most of the handshake, and takes no memory here.
            None => config.ticketer = aws_lc_rs::Ticketer::new().map_err(failed)?,
            // A resumed session would not be checked against the authorities of today.
            Some(_) => config.session_storage = Arc::new(NoServerSessionStorage {}),
        }
        Ok(Served { acceptor: TlsAcceptor::from(Arc::new(config)), validity })
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let Some(clients) = &self.clients else { return Ok(Arc::new(NoClientAuth)) };
        let mut roots = RootCertStore::empty();
        for authority in self.certificates("client_ca", &clients.authorities)? {
            roots.add(authority).map_err(|source| TlsError::Rustls { section: self.section, source })?;
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let builder = if clients.required { builder } else { builder.allow_unauthenticated() };
        builder.build().map_err(|error| TlsError::Authority(self.section, error))
    }

    fn certificates(&self, setting: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let read = read.map_err(self.unusable(setting, path))?;
        match read.is_empty() {
            true => Err(TlsError::Empty(self.section, setting, path.to_owned())),
            false => Ok(read),
        }
    }

    fn unusable(&self, setting: &'static str, path: &Path) -> impl FnOnce(pem::Error) -> TlsError + use<> {
        let (section, path) = (self.section, path.to_owned());
        move |source| TlsError::File { section, setting, path, source }
    }
}
