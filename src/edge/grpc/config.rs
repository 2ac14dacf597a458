//! Settings of the gRPC listener. Each is explained, with its default, in `deploy/heartline.toml`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::auth::Scopes;
use crate::config::{ClientCertificates, TlsFiles};

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrpcConfig {
    /// Empty: nothing listens.
    pub listen: Listen,
    /// The certificate chain, in PEM; empty = no TLS.
    pub tls_cert: PathBuf,
    /// Its private key, in PEM.
    pub tls_key: PathBuf,
    /// The authorities that sign the certificates of callers, in PEM.
    pub client_ca: PathBuf,
    /// Whether callers show a certificate.
    pub client_auth: ClientAuth,
    /// How long a call may take that names no deadline.
    #[serde(with = "humantime_serde")]
    pub deadline: Duration,
    /// The permissions of callers, by their names.
    pub callers: Vec<CallerConfig>,
}

/// An address, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Listen(pub Option<SocketAddr>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientAuth {
    /// They are not asked for one.
    None,
    /// One that is shown must be good.
    Optional,
    Required,
}

/// The most that one caller may do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallerConfig {
    /// The SAN of its certificate, or the `sub` of its token.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Empty = all.
    #[serde(default)]
    pub kinds: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Scope {
    #[serde(rename = "heartline.read")]
    Read,
    #[serde(rename = "heartline.write")]
    Write,
    #[serde(rename = "heartline.internal")]
    Internal,
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Listen(None));
        }
        let address = text.parse().map_err(|_| format!("expected an address such as 127.0.0.1:7703, got {text:?}"))?;
        Ok(Listen(Some(address)))
    }
}

impl CallerConfig {
    pub fn scopes(&self) -> Scopes {
        let has = |scope| self.scopes.contains(&scope);
        Scopes { read: has(Scope::Read), write: has(Scope::Write), internal: has(Scope::Internal) }
    }
}

impl GrpcConfig {
    /// `None`: no TLS.
    pub fn tls(&self) -> Option<TlsFiles> {
        let (chain, key) = (self.tls_cert.clone(), self.tls_key.clone());
        let is_given = !chain.as_os_str().is_empty() && !key.as_os_str().is_empty();
        let required = self.client_auth == ClientAuth::Required;
        let clients = ClientCertificates { authorities: self.client_ca.clone(), required };
        let clients = (self.client_auth != ClientAuth::None).then_some(clients);
        is_given.then_some(TlsFiles { section: "grpc", chain, key, clients, protocol: b"h2" })
    }
}
