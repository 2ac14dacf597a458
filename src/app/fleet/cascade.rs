//! The process that brings events from Kafka to subscribers.

use std::sync::Arc;

use super::super::assembly::Assembly;
use super::super::common::keep_time;
use super::super::error::StartError;
use super::super::role::Role;
use super::super::spawn::runtime;
use super::super::subscribers::{CascadeThread, Parts, bounds};
use super::agreed;
use super::certificates;
use super::event_source;
use super::sockless;
use crate::config::Config;
use crate::telemetry::log_writer::LogWriter;
use domain::time::clock::Clock;
use domain::time::guard::ClockGuard;
use edge::shutdown::Signals;
use storage::store_error::Answer;
use storage_redis::Redis;
use storage_redis::fleet_settings::FleetSettings;
use storage_redis::owner_queues::RedisQueues;

/// Until a signal.
pub(in super::super) fn serve(
    config: &Config,
    accept_settings: bool,
    signals: &Signals,
    log: &LogWriter,
) -> Result<(), StartError> {
    let open = |assembly: &mut Assembly| {
        let redis = Redis::open(&config.redis)?;
        let settings = FleetSettings::new(redis.clone(), agreed::of_cascade(config));
        runtime().map_err(StartError::Process)?.block_on(agreed::agree(&settings, accept_settings))?;
        assembly.ends.push(agreed::overruled(&settings));
        redis.register(assembly.metrics());
        assembly.redis_certificates = certificates(&redis);
        let clock = Arc::new(Clock::starting_at(0, config.store.clock_step_max));
        let of_redis = redis.clone();
        let time = move || -> Answer<Option<u64>> {
            let redis = of_redis.clone();
            Box::pin(async move { redis.time().await.map(Some) })
        };
        let clock_guard = ClockGuard::new(time, clock.clone(), assembly.metrics());
        let clock_status = clock_guard.clock_status();
        let troubled = clock_status.clone();
        assembly.degraded.push(Box::new(move || troubled.trouble().into_iter().collect()));
        let queues = Arc::new(RedisQueues::new(redis, bounds(&config.subscribers)));
        let open_source = |topic, queues| event_source(config, topic, queues);
        let parts = Parts::open(config, &open_source, Some(queues), clock, clock_status)?;
        Ok((CascadeThread::new(&config.subscribers, config.contents.ids, parts, assembly)?, clock_guard))
    };
    sockless::serve(config, signals, log, Role::Cascade, open, |(thread, clock_guard), stop| {
        keep_time(clock_guard)?;
        thread.run(&runtime()?, stop);
        Ok(())
    })
}
