//! The relay, which carries events from the outbox to the event bus.

use std::sync::Arc;

use super::assembly::Assembly;
use super::common::Common;
use crate::domain::outbox::bus_health::BusHealth;
use crate::domain::outbox::relay::Relay;
use crate::domain::outbox::relay_notify::RelayNotify;
use crate::model::cloud_event::Source;

pub(super) struct Outbox {
    pub notify: Arc<RelayNotify>,
    pub health: Arc<BusHealth>,
}

impl Outbox {
    /// The relay runs until the process ends. `room`: entries with which the outbox is full.
    pub fn build(room: u64, source: Source, common: &Common, assembly: &mut Assembly) -> Self {
        let (outbox, bus) = (common.stores.outbox.clone(), common.stores.bus.clone());
        let health = BusHealth::new(bus.clone(), outbox.clone(), room, assembly.metrics());
        let notify = Arc::new(RelayNotify::default());
        let relay = Relay { outbox, bus, notify: notify.clone(), health: health.clone(), source };
        assembly.background.push(Box::pin(relay.run()));
        Outbox { notify, health }
    }
}
