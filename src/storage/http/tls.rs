//! Which certificates are trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// No certificate of an endpoint could be trusted.
#[derive(Debug, thiserror::Error)]
pub enum NoRoots {
    #[error("{setting}: cannot read {}: {why}", path.display())]
    File { setting: &'static str, path: PathBuf, why: String },
}

/// Trusts what the system trusts, and what is in this file, if there is one. Without any root each connection with TLS
/// fails. `setting`: where the file is configured.
pub fn client(ca: &Path, setting: &'static str) -> Result<TlsConnector, NoRoots> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(native.certs);
    if !ca.as_os_str().is_empty() {
        let refused = |why: String| NoRoots::File { setting, path: ca.to_owned(), why };
        let certificates = CertificateDer::pem_file_iter(ca).map_err(|error| refused(error.to_string()))?;
        let before = roots.len();
        for certificate in certificates {
            let certificate = certificate.map_err(|error| refused(error.to_string()))?;
            roots.add(certificate).map_err(|error| refused(error.to_string()))?;
        }
        if roots.len() == before {
            return Err(refused("it has no certificates".to_owned()));
        }
    }
    if roots.is_empty() {
        tracing::warn!(
            event = "no_trusted_certificates",
            "this machine trusts no certificates, so no endpoint with TLS can be reached; install ca-certificates, or set \
             {setting}"
        );
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
