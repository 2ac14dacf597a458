//! The settings of Cassandra.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use model::secret::Secret;

/// How many replicas answer a write or a read. At each of these a read sees what was written before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consistency {
    /// Most of those in the data center of `cassandra.nodes`.
    LocalQuorum,
    /// Most of those in all data centers.
    Quorum,
    All,
}

/// Copies of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// In each data center that there is.
    Each(u64),
    /// By the name of the data center.
    ByDataCenter(BTreeMap<String, u64>),
}

/// `[cassandra]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CassandraConfig {
    /// Some of the nodes, each HOST:PORT; the others are found by them.
    pub nodes: Vec<String>,
    pub keyspace: String,
    pub replication: Replication,
    pub consistency: Consistency,
    /// Empty = none is asked for.
    pub user: String,
    pub password: Secret,
}

const KEYSPACE_BYTES_MAX: usize = 48;

/// Whether it is a name of a keyspace that needs no quotes.
pub fn is_keyspace(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=KEYSPACE_BYTES_MAX).contains(&name.len())
        && name.bytes().all(plain)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Whether it can name a data center in a statement.
pub fn is_data_center(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && name.bytes().all(plain)
}

impl<'de> Deserialize<'de> for Replication {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Copies)
    }
}

struct Copies;

impl<'de> Visitor<'de> for Copies {
    type Value = Replication;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number such as 3, or a table of data centers such as { dc1 = 3 }")
    }

    fn visit_i64<E: Error>(self, copies: i64) -> Result<Replication, E> {
        u64::try_from(copies).map(Replication::Each).map_err(|_| E::custom("must be at least 1"))
    }

    fn visit_u64<E: Error>(self, copies: u64) -> Result<Replication, E> {
        Ok(Replication::Each(copies))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Replication, A::Error> {
        let mut copies = BTreeMap::new();
        while let Some((data_center, count)) = table.next_entry()? {
            copies.insert(data_center, count);
        }
        Ok(Replication::ByDataCenter(copies))
    }
}
