//! Where events go, and where they are read.

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

/// `clock`: the server's, so that events are neither dated nor removed by a wall clock that is not believed.
pub(super) fn build(
    config: &Config,
    store: &hot_store::config::Config,
    kafka: &KafkaConfig,
    clock: Arc<Clock>,
    stop: Stop,
    assembly: &mut Assembly,
) -> Result<(Arc<dyn EventBus>, Tail), StartError> {
    let (bus, tail): (Arc<dyn EventBus>, _) = match config.event_bus {
        Backend::Embedded => {
            let check = ClockCheck {
                wall_clock: Arc::new(clock::wall),
                interval: store.prune_interval,
                step_max: store.clock_step_max,
            };
            let dated_by = Arc::new(move || clock.now());
            let log = Arc::new(EmbeddedLog::open(&store.data_dir, config, dated_by, check)?);
            (log.clone(), Tail::Log { events: Events::new(log), stop })
        }
        Backend::Kafka => {
            let bus = KafkaBus::open(kafka, config)?;
            let topic = &kafka.topics.rewards;
            let place = format!("events are published to Kafka (events.event_bus); read them from topic {topic}");
            (Arc::new(bus), Tail::Elsewhere(place.into()))
        }
    };
    assembly.serve_control(events::routes(tail.clone()));
    Ok((bus, tail))
}
