//! Whether a server keeps what it is given.

use std::collections::HashMap;

use super::address::Address;
use super::append_only_file::AppendOnlyFile;
use super::refused::RefusalCause;
use super::target::{Kind, Target};
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
    pub config: Settings,
}

/// The answer to `CONFIG GET`.
#[derive(Clone, Debug)]
pub(super) enum Settings {
    Told(HashMap<String, String>),
    /// Why it is not answered.
    Refused(String),
    /// They are those of the server's provider.
    NotAsked,
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

    /// Whether a gateway of this target may use it. `before`: its append-only file when it was last in force.
    pub fn judge(
        &self,
        address: &Address,
        target: &Target,
        durability: Durability,
        before: Option<&AppendOnlyFile>,
    ) -> Result<Advice, RefusalCause> {
        self.present(address, target)?;
        let mut unfit = Vec::new();
        unfit.extend(self.kind(address, target));
        unfit.extend(self.eviction(address, target));
        let (loses, wasteful) = match &self.config {
            Settings::Told(config) => (durable(address, target, config), encoded(address, target, config)),
            Settings::NotAsked => Default::default(),
            Settings::Refused(why) => (
                vec![format!(
                    "{address} does not answer CONFIG GET ({why}), so it is unknown whether acked beats are durable: \
                     allow it (ACL SETUSER … +config|get); if it is a service that does not allow it, set redis.durability \
                     to \"managed\"; or to \"relaxed\""
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
            Durability::Managed => {}
        }
        if !unfit.is_empty() {
            return Err(RefusalCause::Unfit(unfit));
        }
        let file = AppendOnlyFile::read(&self.info);
        if !file.in_force(before) {
            let reason = not_in_force(address, &file);
            match durability {
                Durability::Strict => return Err(RefusalCause::Rewriting(reason)),
                Durability::Relaxed | Durability::Managed if file.enabled() => warnings.push(reason),
                Durability::Relaxed | Durability::Managed => {}
            }
        } else if file.failed() {
            warnings.push(format!(
                "{address}: the last rewrite of the append-only file failed, so it only grows; see the log of this Redis"
            ));
        }
        Ok(Advice { warnings })
    }

    /// What an ack means on a server of a provider, as far as `INFO` says.
    pub fn promises(&self, address: &Address) -> String {
        let file = match self.field("aof_enabled") {
            "1" => "it has an append-only file; whether it syncs each write before it answers is not known",
            "0" => "it has no append-only file",
            _ => "whether it has an append-only file is not known (INFO)",
        };
        let replicas = match self.field("connected_slaves") {
            "" => "whether it has replicas is not known (INFO)".to_owned(),
            "0" => "it has no replica".to_owned(),
            count => format!("{count} replicas follow it, and an ack does not wait for them"),
        };
        let eviction = match self.field("maxmemory_policy") {
            "" => "; whether it evicts keys is not known (INFO): set maxmemory-policy to noeviction",
            _ => "",
        };
        format!(
            "an ack means that {address} has answered the write: what survives a failure is what its provider promises; \
             {file}; {replicas}{eviction}"
        )
    }

    /// Whether it is a master and has its data.
    fn present(&self, address: &Address, target: &Target) -> Result<(), RefusalCause> {
        if self.field("loading") == "1" || self.field("async_loading") == "1" {
            return Err(RefusalCause::Away(format!("{address} is loading its data")));
        }
        let (master, port) = (self.field("master_host"), self.field("master_port"));
        match (self.field("role"), &target.kind) {
            ("master", _) => Ok(()),
            // Its provider does not say.
            ("", _) if matches!(self.config, Settings::NotAsked) => Ok(()),
            (_, Kind::Server) => {
                let url = target.url(&Kind::Server, &Address::new(master, port.parse().unwrap_or_default()));
                Err(RefusalCause::unfit(format!(
                    "{address} is a replica; set redis.url to its master, {url}, or to their Sentinels"
                )))
            }
            // It was the master, or will be. Its name comes from a server that will soon name another.
            (_, Kind::Cluster | Kind::Sentinel { .. }) => {
                Err(RefusalCause::Away(format!("{address} is a replica of {master}:{port}")))
            }
        }
    }

    fn kind(&self, address: &Address, target: &Target) -> Option<String> {
        let version = self.field("redis_version");
        if version.is_empty() && matches!(self.config, Settings::NotAsked) {
            return None;
        }
        let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
        let (major, minor) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if (major, minor) < VERSION_MIN {
            let (major, minor) = VERSION_MIN;
            return Some(format!("{address} is Redis {version:?}; use {major}.{minor} or newer"));
        }
        let url = |kind| target.url(&kind, address);
        match (target.kind == Kind::Cluster, self.field("cluster_enabled")) {
            // CLUSTER SLOTS has been answered, and its provider does not say more.
            (true, "") if matches!(self.config, Settings::NotAsked) => None,
            (true, "1") => None,
            (true, _) => Some(format!("{address} is not a cluster node; set redis.url to {}", url(Kind::Server))),
            (false, "1") => Some(format!("{address} is a cluster node; set redis.url to {}", url(Kind::Cluster))),
            (false, _) => None,
        }
    }

    /// From `INFO`, which no access list forbids.
    fn eviction(&self, address: &Address, target: &Target) -> Option<String> {
        const LOSS: &str = "at maxmemory it would forget users";
        let (limit, policy) = (self.field("maxmemory"), self.field("maxmemory_policy"));
        let evicts = limit != "0" && policy != "noeviction";
        match self.config {
            Settings::NotAsked if policy.is_empty() => None,
            Settings::NotAsked => evicts.then(|| {
                format!(
                    "{address} has maxmemory-policy {policy:?}: {LOSS}; set it to noeviction where its provider has this \
                     setting (a parameter group, the settings of the service)"
                )
            }),
            _ => evicts.then(|| wrong(address, target, "maxmemory-policy", policy, "noeviction", LOSS)),
        }
    }
}

fn durable(address: &Address, target: &Target, config: &HashMap<String, String>) -> Vec<String> {
    let differs = |(name, wanted, loss): &(&str, &str, &str)| {
        let found = config.get(*name).map_or("", String::as_str);
        (found != *wanted).then(|| wrong(address, target, name, found, wanted, loss))
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

fn encoded(address: &Address, target: &Target, config: &HashMap<String, String>) -> Vec<String> {
    let less = |(name, least): &(&str, u64)| {
        let found = config.get(*name).map_or("", String::as_str);
        let enough = found.parse::<u64>().is_ok_and(|found| found >= *least);
        (!enough).then(|| wrong(address, target, name, found, &least.to_string(), "it takes several times the memory"))
    };
    ENCODINGS.iter().filter_map(less).collect()
}

/// A refusal with the commands that fix the setting at once, and for good.
fn wrong(address: &Address, target: &Target, name: &str, found: &str, wanted: &str, loss: &str) -> String {
    let Address { host, port } = address;
    let tls = if target.encrypted { " --tls" } else { "" };
    format!(
        "{address} has {name} {found:?}: {loss}; run: redis-cli{tls} -h {host} -p {port} CONFIG SET {name} {wanted}; and \
         write into its redis.conf: {name} {wanted}"
    )
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
