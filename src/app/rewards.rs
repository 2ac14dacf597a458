//! The parts of the rewards, wired.

use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use super::error::StartError;
use super::stores::Stores;
use domain::outbox::relay_notify::RelayNotify;
use domain::rewards::config::RewardsConfig;
use domain::rewards::connect_lookup::ConnectLookup;
use domain::rewards::filling;
use domain::rewards::judge::Judge;
use domain::rewards::memory::Memory;
use domain::rewards::metrics::{Metrics, ViewsByPlayback};
use domain::rewards::today::Today;
use domain::time::clock::Clock;
use model::rewards::calendar::StoredCalendar;
use model::rewards::day::Day;
use model::rewards::rule::{RewardRule, Rules};
use model::rewards::zone::Zone;
use model::shard::Shards;

/// The reward day, and the rules.
pub(super) struct Calendar {
    pub rules: Arc<Rules>,
    pub today: Arc<Today>,
    /// On which the store was lost.
    lost_day: Option<Day>,
}

pub(super) struct Rewards {
    pub judge: Judge,
    pub connect_lookup: Arc<ConnectLookup>,
    pub memory: Arc<Memory>,
}

impl Calendar {
    /// `views`: the rule that counts views, if there is one. `rebuilt_at`: when the store was rebuilt after a loss,
    /// milliseconds since 1970, if it was.
    pub fn open(
        config: &RewardsConfig,
        views: Option<RewardRule>,
        stored: Option<StoredCalendar>,
        rebuilt_at: Option<u64>,
        clock: &Clock,
    ) -> Result<Self, StartError> {
        let rules = Arc::new(config.rules().and(views));
        let today = Arc::new(Today::open(&config.zone, rules.clone(), stored, clock.now())?);
        let zone = Zone::named(&config.zone)?;
        Ok(Calendar { rules, today, lost_day: rebuilt_at.map(|at| zone.day(at)) })
    }
}

impl Rewards {
    /// Builds the rewards. The task that fills the memory runs until the process ends. `notify`: learns of claims.
    pub fn build(
        config: &RewardsConfig,
        stores: &Stores,
        Calendar { rules, today, lost_day }: Calendar,
        notify: Arc<RelayNotify>,
        views: ViewsByPlayback,
        common: &Common,
        assembly: &mut Assembly,
    ) -> Self {
        let (clock, registry) = (&common.clock, assembly.metrics());
        let memory = if stores.is_shared { Memory::shared } else { Memory::new };
        let memory = Arc::new(memory(rules.clone(), Shards::DEFAULT, config, registry));
        memory.estimates().into_iter().for_each(|estimate| tracing::info!(estimate = %estimate, "memory for rewards"));
        let metrics = Metrics::new(&rules, views, registry);
        let judge = Judge {
            rules: rules.clone(),
            today: today.clone(),
            memory: memory.clone(),
            outbox: stores.outbox.clone(),
            outbox_max: config.outbox,
            notify,
            metrics: metrics.clone(),
            lost_day,
        };
        let connect_lookup = Arc::new(ConnectLookup {
            store: stores.hot.clone(),
            clock: clock.clone(),
            rules,
            today: today.clone(),
            memory: memory.clone(),
            metrics,
            reads: common.reads.clone(),
            cold: common.cold.clone(),
        });
        let filled = filling::fill(memory.clone(), stores.hot.clone(), today, clock.clone());
        assembly.background.push(Box::pin(filled));
        Rewards { judge, connect_lookup, memory }
    }
}
