//! Subscribers: their queues, the cascade that fills them, the workers that deliver, and their routes.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::alike;
use super::assembly::Assembly;
use super::common::{Common, keep_time};
use super::error::StartError;
use super::events::Logs;
use super::hot::Shared;
use super::notices;
use super::role::Role;
use super::sockless;
use super::spawn::{runtime, spawn};
use super::stores::Stores;
use crate::config::Config;
use crate::domain::cascade::health::CascadeHealth;
use crate::domain::cascade::{Cascade, Metrics, Places, Replays, TurnSettings, Turns, Workers};
use crate::domain::notices::{Followers, Reach};
use crate::domain::subscribers::Subscribers;
use crate::domain::subscribers::config::SubscribersConfig;
use crate::domain::time::clock::Clock;
use crate::domain::time::guard::{ClockGuard, ClockStatus};
use crate::edge::control::subscribers::{self, Served};
use crate::model::subscribers::{EndpointRules, Retries};
use crate::shutdown::Stop;
use crate::storage::endpoint::Endpoint;
use crate::storage::endpoint::http::{EndpointConfig, HttpEndpoint, hmac};
use crate::storage::event_bus::EventTopic;
use crate::storage::event_bus::archives::Archives;
use crate::storage::event_bus::embedded::LogSource;
use crate::storage::event_bus::kafka::KafkaEvents;
use crate::storage::event_bus::source::{EventArchive, EventSource};
use crate::storage::owner_queues::embedded::EmbeddedQueues;
use crate::storage::owner_queues::redis::RedisQueues;
use crate::storage::owner_queues::{Bounds, OwnerQueues};
use crate::storage::redis::Redis;
use crate::storage::redis::fleet_settings::FleetSettings;
use crate::storage::store_error::Answer;
use crate::telemetry::log_writer::LogWriter;

/// What the routes and the cascade share.
#[derive(Clone)]
struct Parts {
    queues: Arc<dyn OwnerQueues>,
    /// One for each topic.
    sources: Vec<(EventTopic, Arc<dyn EventSource>)>,
    clock: Arc<Clock>,
    clock_status: ClockStatus,
    /// Notified when queues may be due.
    queued: Arc<Notify>,
    /// Notified when a replay was asked for here.
    replay_asked: Arc<Notify>,
}

/// What runs beside sockets, or in a process of its own.
pub(super) struct CascadeThread {
    /// One for each topic.
    cascades: Vec<Cascade>,
    replays: Replays,
    workers: Workers,
}

/// Beside a gateway. `logs`: where events are kept, if that is in this process. `shared`: where queues are, if not here.
/// Returns what the control API asks.
pub(super) fn build(
    config: &Config,
    role: Role,
    logs: Option<Logs>,
    shared: Option<&Shared>,
    stores: &Stores,
    common: &Common,
    assembly: &mut Assembly,
) -> Result<Option<Arc<Subscribers>>, StartError> {
    if shared.is_some() && logs.is_some() {
        let why = "subscribers on Redis need events.event_bus = \"kafka\": each gateway has an event log of its own";
        assembly.serve_control(subscribers::routes(Served::Not(why.into())));
        return Ok(None);
    }
    let parts = Parts::open(
        config,
        logs,
        shared.map(|shared| shared.redis.clone()),
        common.clock.clone(),
        common.clock_status.clone(),
    )?;
    let settings = &config.subscribers;
    let reach = if shared.is_some() { Reach::Shared } else { Reach::Here };
    let followers = notices::build(config, parts.queues.clone(), reach, stores, common, assembly);
    let subscribers = Arc::new(parts.subscribers(settings, followers));
    assembly.serve_control(subscribers::routes(Served::By(subscribers.clone())));
    if role.has_cascade(config) {
        let (thread, stop) = (CascadeThread::new(settings, parts, assembly)?, common.stop.clone());
        assembly.threads.push(Box::new(|| thread.start(stop).map(Some)));
    }
    Ok(Some(subscribers))
}

/// A process that does nothing else, until a signal.
pub(super) fn serve(config: &Config, accept_settings: bool, log: &LogWriter) -> Result<(), StartError> {
    let open = |assembly: &mut Assembly| {
        let redis = Redis::open(&config.redis)?;
        let settings = FleetSettings::new(redis.clone(), alike::of_cascade(config));
        runtime().map_err(StartError::Process)?.block_on(alike::agree(&settings, accept_settings))?;
        assembly.ends.push(alike::overruled(&settings));
        redis.register(assembly.metrics());
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
        let parts = Parts::open(config, None, Some(redis), clock, clock_status)?;
        Ok((CascadeThread::new(&config.subscribers, parts, assembly)?, clock_guard))
    };
    sockless::serve(config, log, Role::Cascade, open, |(thread, clock_guard), stop| {
        keep_time(clock_guard)?;
        thread.run(&runtime()?, stop);
        Ok(())
    })
}

impl Parts {
    fn open(
        config: &Config,
        logs: Option<Logs>,
        redis: Option<Redis>,
        clock: Arc<Clock>,
        clock_status: ClockStatus,
    ) -> Result<Self, StartError> {
        let settings = &config.subscribers;
        let bounds = Bounds { events: settings.queue_events, bytes: settings.queue_bytes, age: settings.queue_age };
        let queues: Arc<dyn OwnerQueues> = match redis {
            Some(redis) => Arc::new(RedisQueues::new(redis, bounds)),
            None => {
                let dated_by = clock.clone();
                Arc::new(EmbeddedQueues::open(&config.store.data_dir, bounds, Arc::new(move || dated_by.now()))?)
            }
        };
        let source = |topic| -> Result<Arc<dyn EventSource>, StartError> {
            Ok(match logs.as_ref().map(|logs| logs.of(topic)) {
                Some(log) => Arc::new(LogSource::new(log, queues.clone())),
                None => {
                    let deployment = &config.events.deployment;
                    Arc::new(KafkaEvents::open(&config.kafka, deployment, topic, queues.clone())?)
                }
            })
        };
        let sources = EventTopic::ALL.into_iter().map(|topic| Ok((topic, source(topic)?)));
        let sources = sources.collect::<Result<_, StartError>>()?;
        let (queued, replay_asked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        Ok(Parts { queues, sources, clock, clock_status, queued, replay_asked })
    }

    fn archive(&self) -> Arc<dyn EventArchive> {
        let archives = self.sources.iter().map(|(_, source)| -> Arc<dyn EventArchive> { source.clone() });
        Arc::new(Archives::of(archives.collect()))
    }

    fn subscribers(&self, settings: &SubscribersConfig, followers: Arc<Followers>) -> Subscribers {
        let archive = self.archive();
        let Parts { queues, sources: _, clock, clock_status: _, queued, replay_asked } = self.clone();
        let (rules, secret_overlap) = (rules(settings), settings.secret_overlap);
        Subscribers { queues, archive, followers, rules, secret_overlap, clock, queued, replay_asked }
    }
}

impl CascadeThread {
    fn new(settings: &SubscribersConfig, parts: Parts, assembly: &mut Assembly) -> Result<Self, StartError> {
        let archive = parts.archive();
        let Parts { queues, sources, clock, clock_status, queued, replay_asked: asked } = parts;
        let metrics = Metrics::new(assembly.metrics());
        let health = watched_health(assembly);
        let endpoint: Arc<dyn Endpoint> = Arc::new(HttpEndpoint::new(endpoint_config(settings))?);
        let retries = settings.retries.iter().map(|pause| pause.0).collect();
        let turns = Arc::new(Turns {
            queues: queues.clone(),
            endpoint,
            queued: queued.clone(),
            settings: Arc::new(TurnSettings { timeout: settings.timeout, retries: Retries::new(retries), hmac }),
            clock,
            clock_status,
            health: health.clone(),
            metrics: metrics.clone(),
            places: Places::new(settings.workers),
        });
        for (_, source) in &sources {
            let source = source.clone();
            assembly.degraded.push(Box::new(move || source.degraded().into_iter().collect()));
        }
        let cascades = sources.into_iter().map(|(topic, source)| Cascade {
            source,
            queues: queues.clone(),
            queued: queued.clone(),
            health: watched_health(assembly),
            metrics: metrics.clone(),
            turns: turns.clone(),
            lag: metrics.lag(topic),
        });
        let cascades = cascades.collect();
        let replays =
            Replays { archive, queues: queues.clone(), asked, queued: queued.clone(), health: health.clone() };
        let workers = Workers { turns, queues, queued, health, metrics };
        Ok(CascadeThread { cascades, replays, workers })
    }

    /// On a thread of its own.
    fn start(self, stop: Stop) -> io::Result<JoinHandle<()>> {
        let runtime = runtime()?;
        spawn("cascade", move || self.run(&runtime, &stop))
    }

    /// Until the drain begins; requests that are under way then are finished.
    fn run(self, runtime: &Runtime, stop: &Stop) {
        let CascadeThread { cascades, replays, workers } = self;
        runtime.block_on(async {
            let filling = async {
                tokio::select! {
                    _ = join_all(cascades.into_iter().map(Cascade::run)) => {}
                    () = replays.run() => {}
                    _ = stop.draining() => {}
                }
            };
            tokio::join!(filling, workers.run(stop.draining().map(drop)));
        });
    }
}

/// Shown by the probes.
fn watched_health(assembly: &mut Assembly) -> Arc<CascadeHealth> {
    let health = Arc::new(CascadeHealth::default());
    let of_probes = health.clone();
    assembly.degraded.push(Box::new(move || of_probes.degraded()));
    health
}

fn rules(settings: &SubscribersConfig) -> EndpointRules {
    EndpointRules { allow_http: settings.allow_http, allow_networks: settings.allow_networks.clone() }
}

fn endpoint_config(settings: &SubscribersConfig) -> EndpointConfig {
    let SubscribersConfig { tls_ca, dns, timeout, .. } = settings.clone();
    EndpointConfig { rules: rules(settings), timeout, ca: tls_ca, dns: dns.0 }
}
