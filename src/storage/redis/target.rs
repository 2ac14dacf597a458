//! The servers that a URL of Redis names.

use std::fmt;

use ::redis::io::tcp::TcpSettings;
use ::redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisResult};
use percent_encoding::percent_decode_str;

/// The address of a Redis server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Address {
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Server,
    Cluster,
    Sentinel { master: String },
}

/// One server, the first nodes to ask of a Cluster, or the Sentinels of a master; with the credentials.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub kind: Kind,
    pub addresses: Vec<Address>,
    database: i64,
    user: Option<String>,
    password: Option<String>,
}

/// The refusal of any other URL.
const FORMS: &str = "is not redis://[USER:PASSWORD@]HOST:PORT[/DATABASE], redis-cluster://HOST:PORT,… or \
                     redis-sentinel://HOST:PORT,…/MASTER";

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The fault in the URL, without any part of its password; `None` if the URL is good.
pub fn mistake(url: &str) -> Option<String> {
    Target::parse(url).err()
}

impl Target {
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
            "redis" => (Kind::Server, PORT),
            "redis-cluster" => (Kind::Cluster, PORT),
            "redis-sentinel" => (Kind::Sentinel { master: path.to_owned() }, SENTINEL_PORT),
            "rediss" => {
                return Err("asks for TLS, which is not supported; use a TLS proxy beside the gateway".to_owned());
            }
            _ => return Err(FORMS.to_owned()),
        };
        let addresses: Vec<_> = hosts.split(',').map(|host| Address::parse(host, port)).collect::<Result<_, _>>()?;
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
        Ok(Target { kind, addresses, database, user: user.filter(|user| !user.is_empty()), password })
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
        Ok(address.info()?.set_redis_settings(login))
    }
}

impl Address {
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Address { host: host.into(), port }
    }

    fn parse(text: &str, port: u16) -> Result<Self, String> {
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

    /// How a Sentinel is reached: without credentials.
    pub fn info(&self) -> RedisResult<ConnectionInfo> {
        let info = ConnectionAddr::Tcp(self.host.clone(), self.port).into_connection_info()?;
        // Groups follow each other before the answer: none of them waits for a segment to be full.
        Ok(info.set_tcp_settings(TcpSettings::default().set_nodelay(true)))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
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
