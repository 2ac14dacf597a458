//! The relay, which carries events from the outbox to the event bus.

use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use super::stores::Stores;
use domain::outbox::bus_health::BusHealth;
use domain::outbox::relay::Relay;
use domain::outbox::relay_notify::RelayNotify;
use model::cloud_event::Source;
use storage::outbox::Outbox as OutboxStore;

pub(super) struct Outbox {
    pub entries: Arc<dyn OutboxStore>,
    pub notify: Arc<RelayNotify>,
}

impl Outbox {
    /// The relay runs until the process ends. `room`: entries with which the outbox is full.
    pub fn build(room: u64, source: Source, common: &Common, stores: &Stores, assembly: &mut Assembly) -> Self {
        let (outbox, bus) = (stores.outbox.clone(), stores.bus.clone());
        let health = BusHealth::new(bus.clone(), outbox.clone(), room, assembly.metrics());
        let notify = Arc::new(RelayNotify::default());
        let relay = Relay {
            outbox: outbox.clone(),
            bus,
            notify: notify.clone(),
            health: health.clone(),
            source,
            names: common.names.clone(),
            contents: common.contents.clone(),
        };
        assembly.background.push(Box::pin(relay.run()));
        assembly.degraded.push(Box::new(move || health.degraded()));
        Outbox { entries: outbox, notify }
    }
}
