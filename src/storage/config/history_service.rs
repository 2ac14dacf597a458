//! The settings of a gateway without a store.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use serde::Deserialize;
use url::{Host, Url};

use model::secret::Secret;

/// `[history_service]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryServiceConfig {
    /// Where the services are.
    pub addresses: Vec<ServiceAddress>,
    /// The authorities of their certificates, in PEM; empty = those of the system.
    pub tls_ca: PathBuf,
    /// A service token for reading and writing; empty: the gateway signs one with its own key.
    pub token: Secret,
}

/// The address of one service, or a name that has the addresses of several.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct ServiceAddress {
    pub tls: bool,
    /// A name, or an address; that of IPv6 without brackets.
    pub host: String,
    pub port: u16,
}

/// The file of [`HistoryServiceConfig::tls_ca`] cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("history_service.tls_ca: {} cannot be read: {source}", path.display())]
pub struct UnreadableAuthorities {
    path: PathBuf,
    source: io::Error,
}

impl HistoryServiceConfig {
    /// `None`: the authorities of the system.
    pub fn tls_ca(&self) -> Option<&Path> {
        Some(self.tls_ca.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// The file of [`tls_ca`](Self::tls_ca).
    pub fn authorities(&self) -> Result<Option<Vec<u8>>, UnreadableAuthorities> {
        let read =
            |path: &Path| fs::read(path).map_err(|source| UnreadableAuthorities { path: path.to_owned(), source });
        self.tls_ca().map(read).transpose()
    }
}

impl TryFrom<String> for ServiceAddress {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("expected an address such as http://history-1:7703, got {text:?}");
        let url = Url::parse(&text).map_err(|_| wrong())?;
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong()),
        };
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !is_bare || !url.username().is_empty() || url.password().is_some() {
            return Err(wrong());
        }
        let host = match url.host().ok_or_else(wrong)? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        Ok(ServiceAddress { tls, host, port })
    }
}

impl fmt::Display for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServiceAddress { tls, host, port } = self;
        let scheme = if *tls { "https" } else { "http" };
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}"),
            false => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_scheme_a_host_and_a_port() {
        for (text, shown) in [
            ("http://history-1:7703", "http://history-1:7703"),
            ("https://history.example:7703/", "https://history.example:7703"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1"),
            ("http://[::1]:7703", "http://[::1]:7703"),
            ("https://history", "https://history:443"),
        ] {
            let address = ServiceAddress::try_from(text.to_owned()).expect(text);
            assert_eq!(address.to_string(), shown);
        }
        for wrong in
            ["", "history:7703", "127.0.0.1:7703", "ftp://h:1", "http://u:p@h:1", "http://h:1/x", "http://h:1?x"]
        {
            assert!(ServiceAddress::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
