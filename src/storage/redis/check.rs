//! Whether a server keeps what it is given.

use std::collections::HashMap;

use super::append_only_file::AppendOnlyFile;
use super::refused::RefusalCause;
use super::target::{Address, Kind};
use storage::config::redis::Durability;

/// The oldest version on which the scripts were tried.
const VERSION_MIN: (u32, u32) = (7, 0);

/// The settings a server needs so that everything it has answered is on its disk.
const DURABLE: [(&str, &str, &str); 3] = [
    ("appendonly", "yes", "nothing survives a restart"),
    ("appendfsync", "always", "if the machine fails, a second or more of acked beats is lost"),
    ("no-appendfsync-on-rewrite", "no", "if the machine fails during a rewrite of its file, acked beats are lost"),
];

/// The least a server has to be set to, so that the rows of a user, the days' claims and timelines stay in the small
/// form of their kind: measured, several times less memory.
const ENCODINGS: [(&str, u64); 5] = [
    ("set-max-intset-entries", 16_384),
    ("hash-max-listpack-entries", 128),
    ("hash-max-listpack-value", 128),
    ("zset-max-listpack-entries", 128),
    ("zset-max-listpack-value", 64),
];

/// The sections to ask `INFO` for.
pub(super) const SECTIONS: [&str; 2] = ["default", "commandstats"];

/// The settings to ask `CONFIG GET` for.
pub(super) fn asked() -> impl Iterator<Item = &'static str> {
    DURABLE.iter().map(|(name, ..)| *name).chain(ENCODINGS.iter().map(|(name, _)| *name))
}

/// A server's report on itself.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// The lines of `INFO`.
    pub info: HashMap<String, String>,
    /// The answer to `CONFIG GET`; or why there is none.
    pub config: Result<HashMap<String, String>, String>,
}

/// Warnings about a server that may be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Advice {
    /// Possible losses of data.
    pub warnings: Vec<String>,
}

impl Server {
    pub fn info(text: &str) -> HashMap<String, String> {
        let line = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
        text.lines().filter_map(line).collect()
    }

    fn field(&self, name: &str) -> &str {
        self.info.get(name).map_or("", String::as_str)
    }

    /// Whether a gateway that wants this kind may use it. `before`: its append-only file when it was last in force.
    pub fn judge(
        &self,
        address: &Address,
        kind: &Kind,
        durability: Durability,
        before: Option<&AppendOnlyFile>,
    ) -> Result<Advice, RefusalCause> {
        self.present(address, kind)?;
        let mut unfit = Vec::new();
        unfit.extend(self.kind(address, *kind == Kind::Cluster));
        unfit.extend(self.eviction(address));
        let (loses, wasteful) = match &self.config {
            Ok(config) => (durable(address, config), encoded(address, config)),
            Err(why) => (
                vec![format!(
                    "{address} does not answer CONFIG GET ({why}), so it is unknown whether acked beats are durable: \
                     allow it (ACL SETUSER … +config|get), or set redis.durability to \"relaxed\""
                )],
                Vec::new(),
            ),
        };
        let mut warnings = wasteful;
        match durability {
            Durability::Strict => unfit.extend(loses),
            Durability::Relaxed => {
                let line = |line| format!("redis.durability is \"relaxed\": acked beats may be lost; {line}");
                warnings.extend(loses.into_iter().map(line));
            }
        }
        if !unfit.is_empty() {
            return Err(RefusalCause::Unfit(unfit));
        }
        let file = AppendOnlyFile::read(&self.info);
        if !file.in_force(before) {
            let reason = not_in_force(address, &file);
            match durability {
                Durability::Strict => return Err(RefusalCause::Rewriting(reason)),
                Durability::Relaxed if file.enabled() => warnings.push(reason),
                Durability::Relaxed => {}
            }
        } else if file.failed() {
            warnings.push(format!(
                "{address}: the last rewrite of the append-only file failed, so it only grows; see the log of this Redis"
            ));
        }
        Ok(Advice { warnings })
    }

    /// Whether it is a master and has its data.
    fn present(&self, address: &Address, kind: &Kind) -> Result<(), RefusalCause> {
        if self.field("loading") == "1" || self.field("async_loading") == "1" {
            return Err(RefusalCause::Away(format!("{address} is loading its data")));
        }
        let (master, port) = (self.field("master_host"), self.field("master_port"));
        match (self.field("role"), kind) {
            ("master", _) => Ok(()),
            (_, Kind::Server) => Err(RefusalCause::unfit(format!(
                "{address} is a replica; set redis.url to its master, redis://{master}:{port}, or to their Sentinels"
            ))),
            // It was the master, or will be. Its name comes from a server that will soon name another.
            (_, Kind::Cluster | Kind::Sentinel { .. }) => {
                Err(RefusalCause::Away(format!("{address} is a replica of {master}:{port}")))
            }
        }
    }

    fn kind(&self, address: &Address, in_cluster: bool) -> Option<String> {
        let version = self.field("redis_version");
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if (major, minor) < VERSION_MIN {
            let (major, minor) = VERSION_MIN;
            return Some(format!("{address} is Redis {version:?}; use {major}.{minor} or newer"));
        }
        match (in_cluster, self.field("cluster_enabled") == "1") {
            (true, false) => Some(format!("{address} is not a cluster node; set redis.url to redis://{address}")),
            (false, true) => Some(format!("{address} is a cluster node; set redis.url to redis-cluster://{address}")),
            _ => None,
        }
    }

    /// From `INFO`, which no access list forbids.
    fn eviction(&self, address: &Address) -> Option<String> {
        let (limit, policy) = (self.field("maxmemory"), self.field("maxmemory_policy"));
        let evicts = limit != "0" && policy != "noeviction";
        evicts.then(|| wrong(address, "maxmemory-policy", policy, "noeviction", "at maxmemory it would forget users"))
    }
}

fn durable(address: &Address, config: &HashMap<String, String>) -> Vec<String> {
    let differs = |(name, wanted, loss): &(&str, &str, &str)| {
        let found = config.get(*name).map_or("", String::as_str);
        (found != *wanted).then(|| wrong(address, name, found, wanted, loss))
    };
    DURABLE.iter().filter_map(differs).collect()
}

fn not_in_force(address: &Address, file: &AppendOnlyFile) -> String {
    let failed = if file.failed() { "; the last attempt failed, see the log of this Redis" } else { "" };
    format!(
        "{address}: its append-only file may not be in force before the present rewrite has ended (INFO persistence: \
         aof_rewrite_in_progress, aof_rewrite_scheduled){failed}"
    )
}

fn encoded(address: &Address, config: &HashMap<String, String>) -> Vec<String> {
    let less = |(name, least): &(&str, u64)| {
        let found = config.get(*name).map_or("", String::as_str);
        let enough = found.parse::<u64>().is_ok_and(|found| found >= *least);
        (!enough).then(|| wrong(address, name, found, &least.to_string(), "it takes several times the memory"))
    };
    ENCODINGS.iter().filter_map(less).collect()
}

/// A refusal with the commands that fix the setting at once, and for good.
fn wrong(address: &Address, name: &str, found: &str, wanted: &str, loss: &str) -> String {
    let Address { host, port } = address;
    format!(
        "{address} has {name} {found:?}: {loss}; run: redis-cli -h {host} -p {port} CONFIG SET {name} {wanted}; and \
         write into its redis.conf: {name} {wanted}"
    )
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
