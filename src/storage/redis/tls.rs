//! TLS to the servers: which certificates are trusted, and which one is shown.

use std::fs;
use std::path::Path;

use ::redis::{Client, ClientTlsConfig, ConnectionAddr, TlsCertificates};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::RwLock;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::Address;
use storage::config::redis::{RedisConfig, given};

/// Shared by all connections.
pub(super) struct Tls {
    config: RedisConfig,
    /// An address with all that connections need, parsed: the client library would read the system's certificates for each
    /// connection, on the thread that serves all of them.
    sample: RwLock<ConnectionAddr>,
}

impl Tls {
    /// # Errors
    /// The setting whose file cannot be used, and why.
    pub fn load(config: &RedisConfig) -> Result<Self, String> {
        let sample = RwLock::new(sample(config)?);
        Ok(Tls { config: config.clone(), sample })
    }

    /// Reads the files again. New connections use them, or the former ones if these cannot be used.
    pub fn reload(&self) -> Result<(), String> {
        let sample = sample(&self.config)?;
        *self.sample.write() = sample;
        Ok(())
    }

    /// Whether there is anything to reload.
    pub fn has_files(&self) -> bool {
        self.config.tls_files().next().is_some()
    }

    /// Whether a certificate is shown to servers.
    pub fn shows_certificate(&self) -> bool {
        given(&self.config.tls_cert).is_some()
    }

    /// Whether only `redis.tls_ca` is trusted.
    pub fn has_authorities(&self) -> bool {
        given(&self.config.tls_ca).is_some()
    }

    /// How the server is reached.
    pub fn at(&self, address: &Address) -> ConnectionAddr {
        let mut connection = self.sample.read().clone();
        if let ConnectionAddr::TcpTls { host, port, .. } = &mut connection {
            host.clone_from(&address.host);
            *port = address.port;
        }
        connection
    }
}

fn sample(config: &RedisConfig) -> Result<ConnectionAddr, String> {
    let (roots, root_cert) = match given(&config.tls_ca) {
        Some(path) => authorities(path)?,
        None => of_system(),
    };
    let client_tls = match (given(&config.tls_cert), given(&config.tls_key)) {
        (Some(chain), Some(key)) => Some(proof(chain, key, roots)?),
        _ => None,
    };
    let certificates = TlsCertificates { client_tls, root_cert: Some(root_cert) };
    let host = String::new();
    let address = ConnectionAddr::TcpTls { host, port: 0, insecure: false, tls_params: None };
    let client = Client::build_with_tls(address, certificates).map_err(|error| format!("redis.tls_ca: {error}"))?;
    Ok(client.get_connection_info().addr().clone())
}

fn authorities(path: &Path) -> Result<(RootCertStore, Vec<u8>), String> {
    let unusable = |why: &dyn ToString| format!("redis.tls_ca = {path:?} cannot be used: {}", why.to_string());
    let text = fs::read(path).map_err(|error| unusable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        roots.add(certificate.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))?;
    }
    match roots.is_empty() {
        true => Err(unusable(&"it has no certificates")),
        false => Ok((roots, text)),
    }
}

/// Those that cannot be used are left out. Without any, each connection fails.
fn of_system() -> (RootCertStore, Vec<u8>) {
    let (mut roots, mut text) = (RootCertStore::empty(), String::new());
    for certificate in rustls_native_certs::load_native_certs().certs {
        let encoded = BASE64_STANDARD.encode(&certificate);
        if roots.add(certificate).is_ok() {
            text += &format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
        }
    }
    if roots.is_empty() {
        tracing::warn!(
            event = "no_trusted_certificates",
            "this machine trusts no certificates, so no Redis with TLS can be reached; install ca-certificates, or set \
             redis.tls_ca"
        );
    }
    (roots, text.into_bytes())
}

/// The certificate that is shown, with its key.
fn proof(chain: &Path, key: &Path, roots: RootCertStore) -> Result<ClientTlsConfig, String> {
    let read = |setting: &str, path: &Path| {
        fs::read(path).map_err(|error| format!("redis.{setting} = {path:?} cannot be used: {error}"))
    };
    let (client_cert, client_key) = (read("tls_cert", chain)?, read("tls_key", key)?);
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&client_cert).collect();
    let certificates = certificates.map_err(|error| format!("redis.tls_cert = {chain:?} cannot be used: {error}"))?;
    if certificates.is_empty() {
        return Err(format!("redis.tls_cert = {chain:?} contains no certificate"));
    }
    let parsed = PrivateKeyDer::from_pem_slice(&client_key);
    let parsed = parsed.map_err(|error| format!("redis.tls_key = {key:?} cannot be used: {error}"))?;
    // A key of another certificate is found here, not with each connection.
    let together = ClientConfig::builder().with_root_certificates(roots).with_client_auth_cert(certificates, parsed);
    together.map_err(|error| format!("redis.tls_cert and redis.tls_key cannot be used together: {error}"))?;
    Ok(ClientTlsConfig { client_cert, client_key })
}

#[cfg(test)]
#[path = "tls_tests.rs"]
mod tests;
