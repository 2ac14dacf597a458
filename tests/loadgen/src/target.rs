//! The server under load, and how to connect to it.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use heartline::edge::auth::{AuthConfig, SigningKey};
use heartline::model::ids::UserId;
use heartline::model::secret::Secret;
use serde::{Deserialize, Serialize};

const PATH: &str = "/v1/connect";

/// The address of the server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Target {
    pub address: SocketAddr,
    pub host: String,
    pub path: String,
    /// The server echoes: it checks no token, sends no welcome, and the same text is the ack.
    pub echo: bool,
}

impl Target {
    /// Parses `ws://host:port/path`, or `http://…` as servers print it; without a path, the protocol's own is used.
    pub fn parse(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("ws://").or_else(|| url.strip_prefix("http://"));
        let rest = rest.ok_or_else(|| format!("{url} does not begin with ws://"))?;
        let (host, path) = rest.find('/').map_or((rest, PATH), |slash| rest.split_at(slash));
        let path = if path == "/" { PATH } else { path };
        let named = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
        let mut addresses = named.to_socket_addrs().map_err(|error| format!("{host} is not an address: {error}"))?;
        let address = addresses.next().ok_or_else(|| format!("{host} has no address"))?;
        Ok(Target { address, host: host.to_owned(), path: path.to_owned(), echo: false })
    }
}

/// The key of the server's tokens.
#[derive(Clone, Deserialize, Serialize)]
pub struct Credentials {
    pub secret: String,
    pub audience: String,
    pub issuer: String,
}

impl Credentials {
    pub fn auth(&self) -> AuthConfig {
        AuthConfig {
            audience: self.audience.clone(),
            issuer: self.issuer.clone(),
            ..AuthConfig::of_secret(Secret::new(self.secret.clone()))
        }
    }

    pub fn signing_key(&self) -> SigningKey {
        let key = SigningKey::load(&self.auth(), Path::new("")).expect("a configured key is read from no file");
        key.expect("there is a secret")
    }
}

/// Signs the tokens of one crowd.
pub struct Tokens {
    key: SigningKey,
    ttl: Duration,
}

impl Tokens {
    pub fn new(credentials: &Credentials, ttl: Duration) -> Self {
        Tokens { key: credentials.signing_key(), ttl }
    }

    pub fn of(&self, mid: u64) -> String {
        self.key.issue(UserId(mid), self.ttl, wall_ms()).token
    }
}

/// Milliseconds since 1970.
pub fn wall_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_as_servers_print_them() {
        let target = Target::parse("http://127.0.0.1:7700").expect("a URL");
        assert_eq!((target.address.port(), target.host.as_str(), target.path.as_str()), (7700, "127.0.0.1:7700", PATH));
        assert_eq!(Target::parse("ws://127.0.0.1:7700/").expect("a URL"), target);
        assert_eq!(Target::parse("ws://127.0.0.1/x").expect("a URL").path, "/x");
        assert!(Target::parse("wss://127.0.0.1").is_err());
        assert!(Target::parse("ws://127.0.0.1:x").is_err());
    }
}
