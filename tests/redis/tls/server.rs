//! Servers with TLS. Each has a port without it, too, by which tests tell it what to do.

use std::path::Path;

use heartline::edge::listener::install_crypto_provider;
use heartline::storage::config::redis::RedisConfig;

use super::authority::{ADDRESS, Authority, Signed, text};
use crate::redis::server::{Server, free_port};

pub struct Encrypted {
    pub server: Server,
    /// With TLS.
    pub port: u16,
}

/// The arguments of a server that shows this certificate. It looks at those of clients that show one.
pub fn arguments(port: u16, signed: &Signed, authority: &Authority) -> Vec<String> {
    let (port, ca) = (port.to_string(), authority.file());
    let words = [
        ("--tls-port", &*port),
        ("--tls-cert-file", text(&signed.certificate)),
        ("--tls-key-file", text(&signed.key)),
        ("--tls-ca-cert-file", text(&ca)),
        ("--tls-auth-clients", "optional"),
    ];
    words.iter().flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]).collect()
}

impl Encrypted {
    pub fn start(authority: &Authority) -> Self {
        Self::start_with(authority, &authority.good(), &[])
    }

    pub fn start_with(authority: &Authority, signed: &Signed, more: &[&str]) -> Self {
        install_crypto_provider();
        let port = free_port();
        let arguments = arguments(port, signed, authority);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Encrypted { server: Server::start(&arguments), port }
    }

    pub fn url(&self) -> String {
        format!("rediss://{ADDRESS}:{}", self.port)
    }

    /// With this URL, and this file of authorities.
    pub fn config(&self, url: &str, authorities: &Path) -> RedisConfig {
        RedisConfig { tls_ca: authorities.to_owned(), ..RedisConfig::strict(url) }
    }

    /// Makes a user, or changes its password.
    pub fn let_in(&self, user: &str, password: &str) {
        let password = format!(">{password}");
        self.server.tell::<()>(&["ACL", "SETUSER", user, "on", "resetpass", &password, "~*", "&*", "+@all"]);
    }

    /// From now on connections are shown this certificate; those that are open end.
    pub fn show(&self, signed: &Signed) {
        let (certificate, key) = (text(&signed.certificate), text(&signed.key));
        self.server.tell::<()>(&["CONFIG", "SET", "tls-cert-file", certificate, "tls-key-file", key]);
        self.hang_up();
    }

    /// Ends all connections.
    pub fn hang_up(&self) {
        for kind in ["normal", "pubsub"] {
            self.server.tell::<u64>(&["CLIENT", "KILL", "TYPE", kind]);
        }
    }

    /// How many connections of gateways there are. All have TLS.
    pub fn connections(&self) -> usize {
        let list: String = self.server.tell(&["CLIENT", "LIST"]);
        let of_gateways: Vec<_> = list.lines().filter(|line| line.contains(" name=heartline ")).collect();
        let own = format!(" laddr={ADDRESS}:{} ", self.port);
        assert!(of_gateways.iter().all(|line| line.contains(&own)), "{list}");
        of_gateways.len()
    }
}
