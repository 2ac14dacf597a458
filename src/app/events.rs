//! Where events go, and where they are read.

use std::sync::Arc;

use super::error::StartError;
use crate::config::Config;
use crate::domain::events::Events;
use crate::domain::time::clock::{self, Clock};
use crate::edge::control::events::Tail;
use crate::shutdown::Stop;
use crate::storage::event_bus::EventBus;
use crate::storage::event_bus::config::Backend;
use crate::storage::event_bus::embedded::{ClockCheck, EmbeddedLog};
use crate::storage::event_bus::kafka::KafkaBus;

/// `clock`: the server's, so that events are neither dated nor removed by a wall clock that is not believed.
pub(super) fn open(config: &Config, clock: Arc<Clock>, stop: Stop) -> Result<(Arc<dyn EventBus>, Tail), StartError> {
    match config.events.event_bus {
        Backend::Embedded => {
            let check = ClockCheck {
                wall_clock: Arc::new(clock::wall),
                interval: config.store.prune_interval,
                step_max: config.store.clock_step_max,
            };
            let dated_by = Arc::new(move || clock.now());
            let log = Arc::new(EmbeddedLog::open(&config.store.data_dir, &config.events, dated_by, check)?);
            Ok((log.clone(), Tail::Log { events: Events::new(log), stop }))
        }
        Backend::Kafka => {
            let bus = KafkaBus::open(&config.kafka, &config.events)?;
            let topic = &config.kafka.topics.rewards;
            let place = format!("events are published to Kafka (events.event_bus); read them from topic {topic}");
            Ok((Arc::new(bus), Tail::Elsewhere(place.into())))
        }
    }
}
