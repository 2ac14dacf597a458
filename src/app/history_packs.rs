//! What carries changes to the history store, if one is configured.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::error::StartError;
use super::gateway::Gateway;
use super::hot::Shared;
use crate::config::Config;
use crate::domain::history_packs::feed::PackFeed;
use crate::domain::history_packs::health::PackHealth;
use crate::domain::history_packs::metrics::Metrics;
use crate::domain::history_packs::packer::Packer;
use crate::domain::time::clock::Clock;
use crate::model::retention::Retention;
use crate::shutdown::Stop;
use crate::storage::history_bus::kafka::KafkaHistory;
use crate::telemetry::metrics;

/// `None`: changes stay where they are. `feed`: for a page that shows the packs, if there is one.
pub(super) fn open(
    config: &Config,
    shared: &Shared,
    clock: Arc<Clock>,
    feed: Option<Arc<PackFeed>>,
    gateway: &mut Gateway,
) -> Result<Option<Packer>, StartError> {
    if !config.history.is_kept() {
        return Ok(None);
    }
    let bus = Arc::new(KafkaHistory::open(&config.kafka)?);
    let health = Arc::new(PackHealth::new(bus.clone()));
    let of_packs = health.clone();
    gateway.admin.degraded.push(Box::new(move || of_packs.degraded()));
    Ok(Some(Packer {
        store: shared.listed.clone(),
        health,
        feed,
        bus,
        clock,
        deployment: shared.redis.id(),
        interval: config.history.interval,
        pack_bytes: config.history.pack_bytes,
        retention: Retention::of(config.store.retention),
        metrics: Metrics::new(metrics::part(&mut gateway.registry)),
    }))
}

/// Until the drain begins: another gateway goes on, or this one after its next start.
pub(super) fn run(packer: Packer, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        tokio::select! {
            () = packer.run() => {}
            _ = stop.draining() => {}
        }
    })
}
