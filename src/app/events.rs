//! The event bus, and the reads of its log.

use std::sync::Arc;

use super::assembly::Assembly;
use super::error::StartError;
use super::fleet;
use crate::config::Config;
use domain::events::Events;
use domain::time::clock::{self, Clock};
use edge::control::events::{self, Tail};
use edge::shutdown::Stop;
use storage::config::kafka::Topics;
use storage::event_bus::config::{Backend, Config as EventsConfig};
use storage::event_bus::source::EventSource;
use storage::event_bus::{EventBus, EventTopic, POSITIONS_RETENTION};
use storage::hot_store;
use storage::owner_queues::OwnerQueues;
use storage_embedded::event_bus::{ClockCheck, EmbeddedLog, LogSource};

/// Where events go, and where they can be read.
pub(super) struct Bus {
    pub bus: Arc<dyn EventBus>,
    pub positions: Arc<dyn EventBus>,
    pub tail: Tail,
    /// The logs, if they are in this process.
    pub logs: Option<Logs>,
}

/// One for each topic.
#[derive(Clone)]
pub(super) struct Logs {
    pub rewards: Arc<EmbeddedLog>,
    pub positions: Arc<EmbeddedLog>,
}

/// `clock`: the server's, so that events are neither dated nor removed by a wall clock that is not believed.
pub(super) fn build(
    config: &Config,
    clock: Arc<Clock>,
    stop: Stop,
    assembly: &mut Assembly,
) -> Result<Bus, StartError> {
    let built = match config.events.event_bus {
        Backend::Embedded => {
            let Logs { rewards, positions } = Logs::open(&config.events, &config.store, &clock)?;
            let tail =
                Tail::Logs { rewards: Events::new(rewards.clone()), positions: Events::new(positions.clone()), stop };
            let logs = Logs { rewards: rewards.clone(), positions: positions.clone() };
            Bus { bus: rewards, positions, tail, logs: Some(logs) }
        }
        Backend::Kafka => {
            let bus = fleet::event_bus(config)?;
            let Topics { rewards, positions, .. } = &config.kafka.topics;
            let place = format!(
                "events are published to Kafka (events.event_bus); read them from topic {rewards}, and positions from topic \
                 {positions}"
            );
            Bus { bus: bus.clone(), positions: bus, tail: Tail::Elsewhere(place.into()), logs: None }
        }
    };
    assembly.serve_control(events::routes(built.tail.clone()));
    Ok(built)
}

/// Returns a function that opens the source of a topic: these logs, or else Kafka.
pub(super) fn open_source(
    config: &Config,
    logs: Option<Logs>,
) -> impl Fn(EventTopic, Arc<dyn OwnerQueues>) -> Result<Arc<dyn EventSource>, StartError> {
    move |topic, queues| match &logs {
        Some(logs) => Ok(logs.source(topic, queues)),
        None => fleet::event_source(config, topic, queues),
    }
}

impl Logs {
    /// It keeps its place in these queues.
    fn source(&self, topic: EventTopic, queues: Arc<dyn OwnerQueues>) -> Arc<dyn EventSource> {
        let log = match topic {
            EventTopic::Rewards => self.rewards.clone(),
            EventTopic::Positions => self.positions.clone(),
        };
        Arc::new(LogSource::new(log, queues))
    }

    fn open(config: &EventsConfig, store: &hot_store::config::Config, clock: &Arc<Clock>) -> Result<Self, StartError> {
        let open = |topic, config: &EventsConfig| {
            let check = ClockCheck {
                wall_clock: Arc::new(clock::wall),
                interval: store.prune_interval,
                step_max: store.clock_step_max,
            };
            let clock = clock.clone();
            EmbeddedLog::open(&store.data_dir, topic, config, Arc::new(move || clock.now()), check).map(Arc::new)
        };
        let of_positions = EventsConfig { retention: POSITIONS_RETENTION, ..config.clone() };
        Ok(Logs { rewards: open(EventTopic::Rewards, config)?, positions: open(EventTopic::Positions, &of_positions)? })
    }
}
