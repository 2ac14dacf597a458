//! Subscribers: their queues, the cascade that fills them, the workers that deliver, and their routes.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::assembly::Assembly;
use super::common::Common;
use super::error::StartError;
use super::notices;
use super::role::Role;
use super::spawn::{runtime, spawn};
use super::stores::Stores;
use crate::config::Config;
use domain::cascade::health::CascadeHealth;
use domain::cascade::{Cascade, Looks, Metrics, Replays, Slots, TurnSettings, Turns, Workers};
use domain::notices::{Followers, Reach};
use domain::subscribers::config::SubscribersConfig;
use domain::subscribers::{FilterNames, Subscribers};
use domain::time::clock::Clock;
use domain::time::guard::ClockStatus;
use edge::control::subscribers::{self, Served};
use edge::shutdown::Stop;
use model::content_name::ContentIds;
use model::subscribers::{EndpointRules, Retries};
use storage::endpoint::Endpoint;
use storage::event_bus::EventTopic;
use storage::event_bus::archives::Archives;
use storage::event_bus::config::Backend;
use storage::event_bus::source::{EventArchive, EventSource};
use storage::owner_queues::{Bounds, OwnerQueues};
use storage_embedded::owner_queues::EmbeddedQueues;
use storage_http::{EndpointConfig, HttpEndpoint, hmac};

/// The parts that the routes and the cascade share.
#[derive(Clone)]
pub(super) struct Parts {
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

/// The tasks of the cascade, which run beside sockets or in a process of their own.
pub(super) struct CascadeThread {
    /// One for each topic.
    cascades: Vec<Cascade>,
    replays: Replays,
    workers: Workers,
}

/// Opens what the events of a topic are read from, which keeps its place in the queues.
pub(super) type OpenSource<'a> =
    dyn Fn(EventTopic, Arc<dyn OwnerQueues>) -> Result<Arc<dyn EventSource>, StartError> + 'a;

/// Why there are no subscribers here.
const LOGS_APART: &str =
    "subscribers on Redis need events.event_bus = \"kafka\": each gateway has an event log of its own";

/// Beside a gateway. `shared`: the queues, if they are not here. Returns what the control API asks.
pub(super) fn build(
    config: &Config,
    role: Role,
    open_source: &OpenSource<'_>,
    shared: Option<Arc<dyn OwnerQueues>>,
    stores: &Stores,
    common: &Common,
    assembly: &mut Assembly,
) -> Result<Option<Arc<Subscribers>>, StartError> {
    if shared.is_some() && config.events.event_bus == Backend::Embedded {
        assembly.serve_control(subscribers::routes(Served::Not(LOGS_APART.into())));
        return Ok(None);
    }
    let reach = if shared.is_some() { Reach::Shared } else { Reach::Here };
    let (clock, clock_status) = (common.clock.clone(), common.clock_status.clone());
    let parts = Parts::open(config, open_source, shared, clock, clock_status)?;
    let settings = &config.subscribers;
    let followers = notices::build(config, parts.queues.clone(), reach, stores, common, assembly);
    let subscribers = Arc::new(parts.subscribers(config, followers));
    let (asked, names) = (subscribers.clone(), common.key_names());
    assembly.serve_control(subscribers::routes(Served::By { subscribers: asked, names }));
    if role.has_cascade(config) {
        let thread = CascadeThread::new(settings, config.contents.ids, parts, assembly)?;
        let stop = common.stop.clone();
        assembly.threads.push(Box::new(|| thread.start(stop).map(Some)));
    }
    Ok(Some(subscribers))
}

impl Parts {
    /// `shared`: the queues, if they are not here.
    pub fn open(
        config: &Config,
        open_source: &OpenSource<'_>,
        shared: Option<Arc<dyn OwnerQueues>>,
        clock: Arc<Clock>,
        clock_status: ClockStatus,
    ) -> Result<Self, StartError> {
        let queues: Arc<dyn OwnerQueues> = match shared {
            Some(queues) => queues,
            None => {
                let (bounds, dated_by) = (bounds(&config.subscribers), clock.clone());
                Arc::new(EmbeddedQueues::open(&config.store.data_dir, bounds, Arc::new(move || dated_by.now()))?)
            }
        };
        let sources = EventTopic::ALL.into_iter().map(|topic| Ok((topic, open_source(topic, queues.clone())?)));
        let sources = sources.collect::<Result<_, StartError>>()?;
        let (queued, replay_asked) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        Ok(Parts { queues, sources, clock, clock_status, queued, replay_asked })
    }

    fn archive(&self) -> Arc<dyn EventArchive> {
        let archives = self.sources.iter().map(|(_, source)| -> Arc<dyn EventArchive> { source.clone() });
        Arc::new(Archives::of(archives.collect()))
    }

    fn subscribers(&self, config: &Config, followers: Arc<Followers>) -> Subscribers {
        let (archive, settings, names) = (self.archive(), &config.subscribers, filter_names(config));
        let Parts { queues, sources: _, clock, clock_status: _, queued, replay_asked } = self.clone();
        let (rules, secret_overlap) = (rules(settings), settings.secret_overlap);
        Subscribers { queues, archive, followers, rules, secret_overlap, names, clock, queued, replay_asked }
    }
}

impl CascadeThread {
    /// `ids`: how events name contents.
    pub fn new(
        settings: &SubscribersConfig,
        ids: ContentIds,
        parts: Parts,
        assembly: &mut Assembly,
    ) -> Result<Self, StartError> {
        let archive = parts.archive();
        let Parts { queues, sources, clock, clock_status, queued, replay_asked: asked } = parts;
        let metrics = Metrics::new(assembly.metrics());
        let health = watched(CascadeHealth::default(), assembly);
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
            slots: Slots::new(settings.workers),
        });
        for (_, source) in &sources {
            let source = source.clone();
            assembly.degraded.push(Box::new(move || source.degraded().into_iter().collect()));
        }
        let looks = Arc::new(Looks::new(queues.clone(), turns.clock.clone()));
        let cascades = sources.into_iter().map(|(topic, source)| Cascade {
            source,
            queues: queues.clone(),
            queued: queued.clone(),
            health: watched(CascadeHealth::of(topic), assembly),
            metrics: metrics.clone(),
            turns: turns.clone(),
            looks: looks.clone(),
            ids,
            lag: metrics.lag(topic),
        });
        let cascades = cascades.collect();
        let replays =
            Replays { archive, queues: queues.clone(), asked, queued: queued.clone(), health: health.clone(), ids };
        let workers = Workers { turns, queues, queued, health, metrics };
        Ok(CascadeThread { cascades, replays, workers })
    }

    /// On a thread of its own.
    fn start(self, stop: Stop) -> io::Result<JoinHandle<()>> {
        let runtime = runtime()?;
        spawn("cascade", move || self.run(&runtime, &stop))
    }

    /// Until the drain begins; requests that are under way then are finished.
    pub fn run(self, runtime: &Runtime, stop: &Stop) {
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
fn watched(health: CascadeHealth, assembly: &mut Assembly) -> Arc<CascadeHealth> {
    let health = Arc::new(health);
    let of_probes = health.clone();
    assembly.degraded.push(Box::new(move || of_probes.degraded()));
    health
}

/// The rules and counters of the settings, which all gateways on one Redis have alike.
fn filter_names(config: &Config) -> FilterNames {
    let direct = config.counters.direct.iter().map(|counter| counter.id.to_string());
    let derived = config.counters.derived.iter().map(|counter| counter.id.to_string());
    let rules = config.rewards.rules.iter().map(|rule| rule.id.to_string());
    FilterNames { rules: rules.collect(), counters: direct.chain(derived).collect() }
}

pub(super) fn bounds(settings: &SubscribersConfig) -> Bounds {
    Bounds { events: settings.queue_events, bytes: settings.queue_bytes, age: settings.queue_age }
}

fn rules(settings: &SubscribersConfig) -> EndpointRules {
    EndpointRules { allow_http: settings.allow_http, allow_networks: settings.allow_networks.clone() }
}

fn endpoint_config(settings: &SubscribersConfig) -> EndpointConfig {
    let SubscribersConfig { tls_ca, dns, timeout, .. } = settings.clone();
    EndpointConfig { rules: rules(settings), timeout, ca: tls_ca, dns: dns.0 }
}
