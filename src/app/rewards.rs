//! The parts of the rewards, wired.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use super::error::StartError;
use super::stores::Stores;
use crate::config::Config;
use crate::domain::rewards::bus_health::BusHealth;
use crate::domain::rewards::connect_lookup::ConnectLookup;
use crate::domain::rewards::filling;
use crate::domain::rewards::judge::Judge;
use crate::domain::rewards::memory::Memory;
use crate::domain::rewards::metrics::Metrics;
use crate::domain::rewards::relay::Relay;
use crate::domain::rewards::relay_notify::RelayNotify;
use crate::domain::rewards::today::Today;
use crate::domain::store_reads::StoreReads;
use crate::domain::time::clock::Clock;
use crate::model::rewards::calendar::StoredCalendar;
use crate::model::rewards::rule::Rules;
use crate::model::shard::Shards;
use crate::storage::hot_store::config::Backend;
use crate::storage::outbox::Outbox;

/// What day it is, by which rules.
pub(super) struct Calendar {
    pub rules: Arc<Rules>,
    pub today: Arc<Today>,
}

pub(super) struct Rewards {
    pub judge: Judge,
    pub connect_lookup: Arc<ConnectLookup>,
    pub health: Arc<BusHealth>,
    pub reward_tasks: RewardTasks,
}

/// What goes on behind the acks.
pub(super) struct RewardTasks {
    relay: Relay,
    memory: Arc<Memory>,
    stores: Stores,
    today: Arc<Today>,
    clock: Arc<Clock>,
}

impl Calendar {
    pub fn open(config: &Config, stored: Option<StoredCalendar>, clock: &Clock) -> Result<Self, StartError> {
        let rules = Arc::new(config.rewards.rules());
        let today = Arc::new(Today::open(&config.rewards.zone, rules.clone(), stored, clock.now())?);
        Ok(Calendar { rules, today })
    }
}

impl Rewards {
    pub fn build(
        config: &Config,
        stores: &Stores,
        calendar: Calendar,
        clock: &Arc<Clock>,
        reads: StoreReads,
        registry: &mut Registry,
    ) -> Self {
        let Calendar { rules, today } = calendar;
        let memory = match config.store.hot_store {
            Backend::Embedded => Memory::new,
            Backend::Redis => Memory::shared,
        };
        let memory = Arc::new(memory(rules.clone(), Shards::DEFAULT, &config.rewards, registry));
        memory.estimates().into_iter().for_each(|estimate| tracing::info!(estimate = %estimate, "memory for rewards"));
        let metrics = Metrics::new(&rules, registry);
        let health = BusHealth::new(stores.bus.clone(), stores.outbox.clone(), config.rewards.outbox, registry);
        let notify = Arc::new(RelayNotify::default());
        Rewards {
            judge: Judge {
                rules: rules.clone(),
                today: today.clone(),
                memory: memory.clone(),
                outbox: stores.outbox.clone(),
                outbox_max: config.rewards.outbox,
                notify: notify.clone(),
                metrics: metrics.clone(),
            },
            connect_lookup: Arc::new(ConnectLookup {
                store: stores.hot.clone(),
                clock: clock.clone(),
                rules,
                today: today.clone(),
                memory: memory.clone(),
                metrics,
                reads,
            }),
            reward_tasks: RewardTasks {
                relay: Relay { outbox: stores.outbox.clone(), bus: stores.bus.clone(), notify, health: health.clone() },
                memory,
                stores: stores.clone(),
                today,
                clock: clock.clone(),
            },
            health,
        }
    }
}

impl RewardTasks {
    pub fn outbox(&self) -> Arc<dyn Outbox> {
        self.stores.outbox.clone()
    }

    pub fn memory(&self) -> Arc<Memory> {
        self.memory.clone()
    }

    /// Goes on until the process ends.
    pub async fn run(self) {
        let RewardTasks { relay, memory, stores, today, clock } = self;
        tokio::join!(relay.run(), filling::fill(memory, stores.hot, today, clock));
    }
}
