//! The backends of a process that has a store, opened before anything is built on them.

use super::error::StartError;
use super::fleet::{self, Shared, Statistics};
use super::hot::Hot;
use crate::config::Config;
use storage::hot_store::config::Backend;
use storage::revocation_list::RevocationList;
use storage::revocation_list::file::FileList;

pub(super) struct Backends {
    pub hot: Hot,
    /// The backends that other gateways use, too.
    pub shared: Option<Shared>,
    pub statistics: Option<Statistics>,
}

impl Backends {
    /// `accept_settings`: the settings of this gateway become those of all gateways on the same Redis.
    pub fn open(config: &Config, accept_settings: bool) -> Result<Self, StartError> {
        let (hot, shared) = match config.store.hot_store {
            Backend::Embedded => (Hot::embedded(config)?, None),
            Backend::Redis => fleet::open_hot(config, accept_settings).map(|(hot, shared)| (hot, Some(shared)))?,
            Backend::HistoryService => unreachable!("a gateway without a store opens none"),
        };
        let statistics = shared.as_ref().map(|shared| Statistics::open(config, shared)).transpose()?.flatten();
        Ok(Backends { hot: hot.with_gateways(config), shared, statistics })
    }

    pub fn revocations(&self, config: &Config) -> Box<dyn RevocationList> {
        match &self.shared {
            Some(shared) => shared.revocations(),
            // In the data directory, which the store holds for this process.
            None => Box::new(FileList::of(&config.store.data_dir)),
        }
    }
}
