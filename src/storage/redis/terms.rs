//! The conditions that every server of a deployment must meet.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use ::redis::aio::MultiplexedConnection;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::address::Address;
use super::append_only_file::AppendOnlyFile;
use super::dial;
use super::memory::Memory;
use super::metrics::Metrics;
use super::refused::RefusalCause;
use super::target::Target;
use super::topology::Master;
use model::shard::Shard;
use storage::config::redis::Durability;

/// How servers are reached, which settings and deployment they must have, and which master has a shard.
pub(super) struct Terms {
    pub target: Target,
    pub metrics: Metrics,
    /// The value of all keys of the deployment, as it was first read.
    pub deployment: OnceLock<Arc<str>>,
    /// Notified when a shard may have moved, or a master changed.
    pub look: Notify,
    durability: Durability,
    masters: RwLock<Arc<[Master]>>,
    /// Warnings that were logged already: each is logged once.
    advised: Mutex<HashSet<String>>,
    /// What was logged about servers of a provider.
    told: Mutex<HashMap<Address, String>>,
    /// The append-only file of each server when it was last in force.
    files: Mutex<HashMap<Address, AppendOnlyFile>>,
}

impl Terms {
    pub fn new(target: Target, durability: Durability) -> Self {
        Terms {
            target,
            metrics: Metrics::default(),
            deployment: OnceLock::new(),
            look: Notify::new(),
            durability,
            masters: RwLock::default(),
            advised: Mutex::default(),
            told: Mutex::default(),
            files: Mutex::default(),
        }
    }

    pub fn masters(&self) -> Arc<[Master]> {
        self.masters.read().clone()
    }

    /// From now on these are.
    pub fn set_masters(&self, masters: Vec<Master>) {
        *self.masters.write() = masters.into();
    }

    pub fn shards_of(&self, address: &Address) -> Vec<Shard> {
        let masters = self.masters();
        masters.iter().find(|master| master.address == *address).map_or_else(Vec::new, |master| master.shards.clone())
    }

    /// Logs each warning once.
    pub fn advise(&self, warnings: Vec<String>) {
        let mut advised = self.advised.lock();
        for warning in warnings {
            if !advised.contains(&warning) {
                tracing::warn!(event = "redis_advice", advice = %warning, "redis is usable, but not as advised");
                advised.insert(warning);
            }
        }
    }

    /// Logs what an ack means on a server of a provider, once, and when it changes.
    fn tell(&self, address: &Address, meaning: String) {
        let before = self.told.lock().insert(address.clone(), meaning.clone());
        if before.is_none_or(|before| before != meaning) {
            tracing::info!(event = "redis_managed", node = %address, meaning, "redis.durability is \"managed\"");
        }
    }

    /// Checks the settings of the server.
    pub async fn fit(&self, address: &Address, connection: &mut MultiplexedConnection) -> Result<(), RefusalCause> {
        let server = dial::look(connection, address, self.durability).await?;
        self.metrics.memory(address, Memory::read(&server.info));
        let judged = {
            let mut files = self.files.lock();
            let before = files.remove(address);
            let judged = server.judge(address, &self.target, self.durability, before.as_ref());
            let file = AppendOnlyFile::read(&server.info);
            if judged.is_ok() && file.in_force(before.as_ref()) {
                files.insert(address.clone(), file);
            }
            judged
        };
        self.advise(judged?.warnings);
        if self.durability == Durability::Managed {
            self.tell(address, server.promises(address));
        }
        Ok(())
    }
}
