//! The packer, which carries changes to the history store, if one is configured.

use std::sync::Arc;

use super::super::assembly::Assembly;
use super::super::common::Common;
use super::super::error::StartError;
use crate::config::Config;
use domain::history_packs::feed::PackFeed;
use domain::history_packs::health::PackHealth;
use domain::history_packs::metrics::Metrics;
use domain::history_packs::packer::Packer;
use model::retention::Retention;
use storage::hot_store::listed_users::ListedUsers;
use storage_kafka::history_bus::KafkaHistory;

/// It runs until the drain begins: another gateway goes on, or this one after its next start. `feed`: for a page that
/// shows the packs, if there is one.
pub(super) fn build(
    config: &Config,
    (store, deployment): (Arc<dyn ListedUsers>, Arc<str>),
    feed: Option<Arc<PackFeed>>,
    common: &Common,
    assembly: &mut Assembly,
) -> Result<(), StartError> {
    if !config.history.is_kept() {
        return Ok(());
    }
    let bus = Arc::new(KafkaHistory::open(&config.kafka)?);
    let health = Arc::new(PackHealth::new(bus.clone()));
    let of_packs = health.clone();
    assembly.degraded.push(Box::new(move || of_packs.degraded()));
    let packer = Packer {
        store,
        health,
        feed,
        bus,
        clock: common.clock.clone(),
        deployment,
        interval: config.history.interval,
        pack_bytes: config.history.pack_bytes,
        retention: Retention::of(config.store.retention),
        metrics: Metrics::new(assembly.metrics()),
    };
    let stop = common.stop.clone();
    assembly.background.push(Box::pin(async move {
        tokio::select! {
            () = packer.run() => {}
            _ = stop.draining() => {}
        }
    }));
    Ok(())
}
