//! The event bus, and the reads of its log.

use std::sync::Arc;

use super::assembly::Assembly;
use super::error::StartError;
use crate::domain::events::Events;
use crate::domain::time::clock::{self, Clock};
use crate::edge::control::events::{self, Tail};
use crate::shutdown::Stop;
use crate::storage::event_bus::config::{Backend, Config};
use crate::storage::event_bus::embedded::{ClockCheck, EmbeddedLog};
use crate::storage::event_bus::kafka::KafkaBus;
use crate::storage::event_bus::{EventBus, EventTopic, POSITIONS_RETENTION};
use crate::storage::hot_store;
use crate::storage::kafka::config::{KafkaConfig, Topics};

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
    store: &hot_store::config::Config,
    kafka: &KafkaConfig,
    clock: Arc<Clock>,
    stop: Stop,
    assembly: &mut Assembly,
) -> Result<Bus, StartError> {
    let built = match config.event_bus {
        Backend::Embedded => {
            let Logs { rewards, positions } = Logs::open(config, store, &clock)?;
            let tail =
                Tail::Logs { rewards: Events::new(rewards.clone()), positions: Events::new(positions.clone()), stop };
            let logs = Logs { rewards: rewards.clone(), positions: positions.clone() };
            Bus { bus: rewards, positions, tail, logs: Some(logs) }
        }
        Backend::Kafka => {
            let bus = Arc::new(KafkaBus::open(kafka, config)?);
            let Topics { rewards, positions, .. } = &kafka.topics;
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

impl Logs {
    pub fn of(&self, topic: EventTopic) -> Arc<EmbeddedLog> {
        match topic {
            EventTopic::Rewards => self.rewards.clone(),
            EventTopic::Positions => self.positions.clone(),
        }
    }

    fn open(config: &Config, store: &hot_store::config::Config, clock: &Arc<Clock>) -> Result<Self, StartError> {
        let open = |topic, config: &Config| {
            let check = ClockCheck {
                wall_clock: Arc::new(clock::wall),
                interval: store.prune_interval,
                step_max: store.clock_step_max,
            };
            let clock = clock.clone();
            EmbeddedLog::open(&store.data_dir, topic, config, Arc::new(move || clock.now()), check).map(Arc::new)
        };
        let of_positions = Config { retention: POSITIONS_RETENTION, ..config.clone() };
        Ok(Logs { rewards: open(EventTopic::Rewards, config)?, positions: open(EventTopic::Positions, &of_positions)? })
    }
}
