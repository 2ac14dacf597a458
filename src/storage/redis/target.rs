//! The servers that a URL of Redis names.

use std::fmt;
use std::sync::Arc;

use ::redis::io::tcp::TcpSettings;
use ::redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisResult};
use percent_encoding::percent_decode_str;

use super::address::Address;
use super::refused::RedisRefused;
use super::tls::Tls;
use storage::config::redis::RedisConfig;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Server,
    Cluster,
    Sentinel { master: String },
}

/// One server, the first nodes to ask of a Cluster, or the Sentinels of a master; with the credentials.
#[derive(Clone)]
pub(super) struct Target {
    pub kind: Kind,
    pub addresses: Vec<Address>,
    /// Whether all connections have TLS: to servers, to what they name as others, and to Sentinels.
    pub encrypted: bool,
    /// With `encrypted`, once the files are read.
    pub tls: Option<Arc<Tls>>,
    database: i64,
    user: Option<String>,
    password: Option<String>,
}

/// The refusal of any other URL.
const FORMS: &str = "is not redis://[USER:PASSWORD@]HOST:PORT[/DATABASE], redis-cluster://HOST:PORT,… or \
                     redis-sentinel://HOST:PORT,…/MASTER (with TLS: rediss://, rediss-cluster://, rediss-sentinel://)";

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The fault in the URL, without any part of its password; `None` if the URL is good.
pub fn mistake(url: &str) -> Option<String> {
    Target::parse(url).err()
}

/// Whether the URL asks for TLS.
pub fn is_encrypted(url: &str) -> bool {
    Target::parse(url).is_ok_and(|target| target.encrypted)
}

/// The fault in the files of TLS, with the setting that names the file; `None`: they can be used, or the URL asks for none.
pub fn fault_of_files(config: &RedisConfig) -> Option<String> {
    if is_encrypted(config.url.expose()) { Tls::load(config).err() } else { None }
}

impl Target {
    /// Reads the files of TLS, if the URL asks for it.
    pub fn open(config: &RedisConfig) -> Result<Self, RedisRefused> {
        let mut target = Self::parse(config.url.expose()).map_err(RedisRefused::Url)?;
        if target.encrypted {
            target.tls = Some(Arc::new(Tls::load(config).map_err(RedisRefused::Tls)?));
        }
        Ok(target)
    }

    /// # Errors
    /// The fault in the URL, without its password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or(FORMS)?;
        let (credentials, address) = match rest.rsplit_once('@') {
            Some((credentials, address)) => (Some(credentials), address),
            None => (None, rest),
        };
        if address.contains(['?', '#']) {
            return Err("takes nothing after ? or #".to_owned());
        }
        let (hosts, path) = address.split_once('/').unwrap_or((address, ""));
        let (kind, port) = match scheme {
            "redis" | "rediss" => (Kind::Server, PORT),
            "redis-cluster" | "rediss-cluster" => (Kind::Cluster, PORT),
            "redis-sentinel" | "rediss-sentinel" => (Kind::Sentinel { master: path.to_owned() }, SENTINEL_PORT),
            _ => return Err(FORMS.to_owned()),
        };
        let encrypted = scheme.starts_with("rediss");
        let addresses: Vec<_> = hosts.split(',').map(|host| parse_address(host, port)).collect::<Result<_, _>>()?;
        let database = match &kind {
            Kind::Server if addresses.len() > 1 => {
                return Err("names several servers; a Cluster is redis-cluster://".to_owned());
            }
            Kind::Server => database(path)?,
            Kind::Cluster if !path.is_empty() => return Err("names a database, and a Cluster has only one".to_owned()),
            Kind::Sentinel { master } if master.is_empty() || master.contains('/') => {
                return Err("must end with the name of the master: redis-sentinel://HOST:PORT,…/MASTER".to_owned());
            }
            Kind::Cluster | Kind::Sentinel { .. } => 0,
        };
        let (user, password) = match credentials {
            Some(credentials) => match credentials.split_once(':') {
                Some((user, password)) => (Some(decoded(user)?), Some(decoded(password)?)),
                None => return Err("has a user without a password: USER:PASSWORD@, or :PASSWORD@".to_owned()),
            },
            None => (None, None),
        };
        let user = user.filter(|user| !user.is_empty());
        Ok(Target { kind, addresses, encrypted, tls: None, database, user, password })
    }

    /// A `redis.url` with the TLS of this one.
    pub fn url(&self, kind: &Kind, address: &Address) -> String {
        let tls = if self.encrypted { "s" } else { "" };
        match kind {
            Kind::Server => format!("redis{tls}://{address}"),
            Kind::Cluster => format!("redis{tls}-cluster://{address}"),
            Kind::Sentinel { master } => format!("redis{tls}-sentinel://{address}/{master}"),
        }
    }

    /// How one of its servers is reached.
    pub fn server(&self, address: &Address) -> RedisResult<ConnectionInfo> {
        let mut login = RedisConnectionInfo::default().set_db(self.database);
        if let Some(user) = &self.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password);
        }
        Ok(self.sentinel(address)?.set_redis_settings(login))
    }

    /// How a Sentinel is reached: without credentials.
    pub fn sentinel(&self, address: &Address) -> RedisResult<ConnectionInfo> {
        let address = match &self.tls {
            Some(tls) => tls.at(address),
            None if self.encrypted => unreachable!("the files are read before a connection is opened"),
            None => ConnectionAddr::Tcp(address.host.clone(), address.port),
        };
        // Groups follow each other before the answer: none of them waits for a segment to be full.
        Ok(address.into_connection_info()?.set_tcp_settings(TcpSettings::default().set_nodelay(true)))
    }
}

fn parse_address(text: &str, port: u16) -> Result<Address, String> {
    let (host, given) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, after)) => (host, after.strip_prefix(':')),
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err(FORMS.to_owned());
    }
    let port = match given {
        Some(given) => given.parse().map_err(|_| format!("{given:?} is not a port"))?,
        None => port,
    };
    Ok(Address::new(host, port))
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("kind", &self.kind).field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

fn database(path: &str) -> Result<i64, String> {
    match path {
        "" => Ok(0),
        path => path.parse::<u16>().map(i64::from).map_err(|_| format!("{path:?} is not the number of a database")),
    }
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| "holds a user or password that is not UTF-8".to_owned())
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
