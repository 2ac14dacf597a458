//! Where events go, and where they are read.

use std::sync::Arc;

use super::error::StartError;
use crate::config::Config;
use crate::domain::clock;
use crate::domain::events::Events;
use crate::edge::admin::events::Tail;
use crate::shutdown::Stop;
use crate::storage::event_bus::EventBus;
use crate::storage::event_bus::config::Backend;
use crate::storage::event_bus::embedded::EmbeddedLog;
use crate::storage::event_bus::kafka::KafkaBus;

pub(super) fn open(config: &Config, stop: Stop) -> Result<(Arc<dyn EventBus>, Tail), StartError> {
    match config.events.event_bus {
        Backend::Embedded => {
            let log = EmbeddedLog::open(&config.store.data_dir, &config.events, Arc::new(clock::wall))?;
            let log = Arc::new(log);
            Ok((log.clone(), Tail::Log { events: Events::new(log), stop }))
        }
        Backend::Kafka => {
            let bus = KafkaBus::open(&config.kafka, &config.events)?;
            let topic = &config.kafka.topic;
            let place = format!("events go to Kafka (events.event_bus): they are read there, in the topic {topic}");
            Ok((Arc::new(bus), Tail::Elsewhere(place.into())))
        }
    }
}
