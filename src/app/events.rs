//! The event bus, and the reads of its log.

use std::sync::Arc;

use super::assembly::Assembly;
use super::error::StartError;
use crate::domain::events::Events;
use crate::domain::time::clock::{self, Clock};
use crate::edge::control::events::{self, Tail};
use crate::shutdown::Stop;
use crate::storage::event_bus::EventBus;
use crate::storage::event_bus::config::{Backend, Config};
use crate::storage::event_bus::embedded::{ClockCheck, EmbeddedLog};
use crate::storage::event_bus::kafka::KafkaBus;
use crate::storage::hot_store;
use crate::storage::kafka::config::KafkaConfig;

/// Where events go, and where they can be read.
pub(super) struct Bus {
    pub bus: Arc<dyn EventBus>,
    pub tail: Tail,
    /// The log, if it is in this process.
    pub log: Option<Arc<EmbeddedLog>>,
}

/// `clock`: the server's, so that events are neither dated nor removed by a wall clock that is not believed.
pub(super) fn build(
    config: &Config,
    store: &hot_store::config::Config,
    kafka: &KafkaConfig,
    clock: Arc<Clock>,
    stop: Stop,
    assembly: &mut Assembly,
) -> Result<Bus, StartError> {
    let built = match config.event_bus {
        Backend::Embedded => {
            let check = ClockCheck {
                wall_clock: Arc::new(clock::wall),
                interval: store.prune_interval,
                step_max: store.clock_step_max,
            };
            let dated_by = Arc::new(move || clock.now());
            let log = Arc::new(EmbeddedLog::open(&store.data_dir, config, dated_by, check)?);
            Bus { bus: log.clone(), tail: Tail::Log { events: Events::new(log.clone()), stop }, log: Some(log) }
        }
        Backend::Kafka => {
            let bus = KafkaBus::open(kafka, config)?;
            let topic = &kafka.topics.rewards;
            let place = format!("events are published to Kafka (events.event_bus); read them from topic {topic}");
            Bus { bus: Arc::new(bus), tail: Tail::Elsewhere(place.into()), log: None }
        }
    };
    assembly.serve_control(events::routes(built.tail.clone()));
    Ok(built)
}
