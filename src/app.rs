//! Builds the parts of a role and wires them; the only place that names concrete backends.

mod access;
mod announcement;
mod assembly;
mod backends;
pub mod check;
mod common;
mod control;
mod counters;
mod demo;
mod descriptors;
mod devices;
mod edges;
mod ends;
mod error;
mod events;
pub mod examination;
mod files_in_use;
#[cfg(feature = "fleet")]
pub mod fleet;
#[cfg(not(feature = "fleet"))]
#[path = "app/without_fleet.rs"]
pub mod fleet;
mod grpc;
pub mod history;
mod hot;
mod janitor;
mod keys;
mod lanes;
mod listeners;
mod live;
mod log;
mod notices;
mod operator;
mod outbox;
mod peers;
pub mod rebuild;
mod redis_certificates;
mod reload;
mod rewards;
pub mod role;
mod spawn;
mod stores;
mod subscribers;
mod threads;
mod users;
mod views;
mod widget;

use std::sync::Arc;

use axum::Router;

use crate::config::Config;
use crate::telemetry::log_writer::LogWriter;
use crate::telemetry::metrics;
use domain::devices::kick_list::KickList;
use domain::ingest::health::StoreHealth;
use domain::ingest::submit_queue::Completions;
use domain::time::clock::Clock;
use edge::admin::readiness::{Readiness, ReadyGauge};
use edge::admin::{self, Admin};
use edge::called_users::CalledUsers;
use edge::control::{Callers, Control, Guard};
use edge::demo::RewardsClock;
use edge::listener::Tls;
use edge::shutdown::{Shutdown, Signals, Stop};
use model::cloud_event::Source;
use storage::hot_store::config::Backend;
use storage::outbox::Outbox as OutboxStore;

use access::Access;
use assembly::Assembly;
use backends::Backends;
use common::{Common, CommonStores};
use counters::Counting;
use demo::Shown;
use devices::Devices;
use edges::{Edge, SharedParts};
pub use error::{LookError, StartError};
use events::Bus;
use fleet::Statistics;
use fleet::{cascade, job, storeless};
use grpc::{Grpc, GrpcListener, Peers};
use hot::Hot;
use lanes::{Commits, StoreIntake, StoreLanes};
use listeners::Listeners;
use live::Live;
use outbox::Outbox;
use reload::Files;
use rewards::{Calendar, Rewards};
use role::Role;
use stores::Stores;
use threads::{CommitThread, EdgeThread};

/// The parameters of a serving process.
pub struct Serving {
    pub role: Role,
    /// The settings that gateways on one Redis must have alike become the ones of all.
    pub accept_settings: bool,
    /// Warnings about the settings, for the log.
    pub warnings: Vec<String>,
    /// Led as soon as something is served.
    pub signals: Signals,
}

/// Serves what the role and the settings ask for, until a signal or the failure of the store. `log`: what writes it.
///
/// Whatever can go wrong at the start goes wrong before the first connection is accepted.
pub fn serve(config: Config, serving: Serving, log: &LogWriter) -> Result<(), StartError> {
    let Serving { role, accept_settings, warnings, signals } = serving;
    log::starting(&config, role);
    log::warnings(warnings.into_iter().chain(check::warnings(&config, role)));
    log::stopped(match role.misfit(&config) {
        Some(misfit) => Err(StartError::Misfit(misfit)),
        None if role == Role::Job => job::serve(&config, &signals, log),
        None if role == Role::Cascade => cascade::serve(&config, accept_settings, &signals, log),
        None if config.store.hot_store == Backend::HistoryService => storeless::serve(&config, role, &signals, log),
        None => run(config, role, accept_settings, &signals, log),
    })
}

fn run(
    config: Config,
    role: Role,
    accept_settings: bool,
    signals: &Signals,
    log: &LogWriter,
) -> Result<(), StartError> {
    let mut config = role.settings(config);
    let files = Files::of(&config);
    let has_demo = demo::prepare(&mut config);
    let tls = config.server.tls().map(Tls::load).transpose()?;
    let backends = Backends::open(&config, accept_settings)?;
    let access = Access::open(&config, &backends.hot.channel, backends.revocations(&config))?;
    let probes = Listeners::bind_probes(&config)?;
    access.wait_for_keys(&probes)?;
    let mut listeners = Listeners::bind(&config, role, probes)?;
    let grpc = listeners.grpc.take();
    let certificates = tls.iter().chain(grpc.as_ref().and_then(|grpc| grpc.tls.as_ref())).cloned().collect();
    let shutdown = Arc::new(Shutdown::with_lame_duck(config.server.lame_duck, config.server.drain_timeout));
    let of_redis = backends.shared.as_ref().and_then(|shared| shared.certificates());
    let (files_in_use, mut assembly) = (access.files_in_use(certificates, of_redis), Assembly::new(log));
    files_in_use.register(&mut assembly);
    access.register_keys(&mut assembly);
    let opened = Opened { backends, grpc, has_demo };
    let reload = reload::build(&config, files, files_in_use, shutdown.stop(), &mut assembly);
    let gateway = build(&config, role, opened, &access, &listeners, shutdown.stop(), &mut assembly)?;
    signals.lead(&shutdown, reload);
    start(&config, access, listeners, tls, &shutdown, gateway, assembly)
}

/// The backends and listeners on which the parts are built.
struct Opened {
    backends: Backends,
    grpc: Option<GrpcListener>,
    has_demo: bool,
}

/// Builds the parts, each on those before it.
fn build(
    config: &Config,
    role: Role,
    Opened { backends: Backends { hot, shared, statistics }, grpc, has_demo }: Opened,
    access: &Access,
    listeners: &Listeners,
    stop: Stop,
    parts: &mut Assembly,
) -> Result<Gateway, StartError> {
    let clock = Arc::new(Clock::starting_at(hot.clock_floor, config.store.clock_step_max));
    let kept_views = statistics.as_ref().map(Statistics::views).or(hot.views);
    let derived = statistics.as_ref().map(Statistics::derived).or(hot.derived);
    let views_rule = kept_views.as_ref().and_then(|_| config.views.rule());
    let calendar = Calendar::open(&config.rewards, views_rule, hot.calendar.clone(), hot.rebuilt_at, &clock)?;
    let rewards_clock = RewardsClock { today: calendar.today.clone(), clock: clock.clone() };
    let Bus { bus, positions, tail, logs } = events::build(config, clock.clone(), stop.clone(), parts)?;
    let Hot { store, outbox, notices, channel, gateways, names, contents, .. } = hot;
    let is_shared = shared.is_some();
    let stores = Stores { hot: store, is_shared, outbox, notices, bus, positions, views: kept_views };
    let cold = shared.as_ref().and_then(|shared| shared.cold_reader(config, &clock, parts));
    let common_stores = CommonStores { hot: stores.hot.clone(), channel, cold, names, contents };
    let common = Common::build(config, common_stores, clock, access.presence.clone(), stop.clone(), parts);
    if let Some(statistics) = statistics {
        statistics.build(&config.counters, &common, parts);
    }
    let source = Source::of(&config.events.deployment);
    let outbox = Outbox::build(config.rewards.outbox, source, &common, &stores, parts);
    let counting = Counting { direct: hot.direct, derived };
    let counters = counters::build(&config.counters, counting, config.rewards.outbox, &outbox, &common, parts);
    let views = views::build(&config.views, stores.views.clone(), &rewards_clock.today, &common, parts);
    let played = views.as_ref().map(|views| views.by_playback()).unwrap_or_default();
    let backing = grpc::backing(hot.name, &calendar, config);
    let rewards = Rewards::build(&config.rewards, &stores, calendar, outbox.notify, played, &common, parts);
    let live_timeout = config.live.session_timeout(config.socket.heartbeat_interval, config.store.steady_hold);
    let live = Live::build(&config.live, live_timeout, &common, parts);
    let devices = Devices::build(&config.push, &live, &common, parts);
    let mut lanes = StoreLanes::build(&config.store, &common, parts);
    janitor::build(lanes.intake(), &common, parts);
    let StoreIntake { lanes: of_control, completions: control_completions } = lanes.intake();
    let (lookup, kick_list) = (rewards.connect_lookup.clone(), devices.kick_list.clone());
    let intakes = (0..listeners.public.len() + usize::from(grpc.is_some())).map(|_| lanes.intake()).collect();
    let of_edges = SharedParts::here(kick_list.clone(), lookup.clone(), views.clone());
    let (mut edges, callers) = edges::build(config, intakes, access, of_edges, &common, parts);
    let (revocations, store_health, asked) = (access.revocations.clone(), lanes.health.clone(), counters.clone());
    let peers = |gateways| Peers { gateways, revocations, backing, health: store_health.clone(), counters: asked };
    let grpc = grpc
        .zip(gateways.clone().map(peers))
        .and_then(|(listener, peers)| Some(Grpc::build(config, listener, edges.pop()?, peers, &common, parts)));
    users::build(&config.reading, of_control, lookup, views, listeners.addresses.main(), &common, parts);
    let queues = shared.as_ref().map(|shared| shared.queues(&config.subscribers));
    let open_source = events::open_source(config, logs);
    let subscribers = subscribers::build(config, role, &open_source, queues, &stores, &common, parts)?;
    let receivers = demo::receivers(config, has_demo, subscribers, listeners.addresses.public);
    let packs = demo::pack_feed(config, has_demo);
    let messages = peers::messages(access, &devices, &live, Some(rewards.memory.clone()), gateways, &common);
    if let Some(shared) = shared {
        shared.build(config, packs.clone(), messages, access, &common, parts)?;
    }
    job::build(config, role, stop.clone(), parts)?;
    hot::measure_disk(config, parts.metrics()).map_err(StartError::Process)?;
    widget::build(&config.live, &config.demo, has_demo, live.routes.board(), &common, parts);
    if has_demo {
        let (key, live, clock) = (access.key.clone(), live.routes, rewards_clock);
        let shown = Shown { key, tail, live, packs, counters, receivers, clock };
        demo::build(config, shown, stop, parts);
    }
    let commits = lanes.commits(Some(rewards.judge), parts);
    let outbox = Some(outbox.entries);
    Ok(Gateway { common, edges, grpc, commits, store_health, outbox, kick_list, callers, control_completions })
}

/// The parts that `start` names; the other threads and tasks are in the assembly.
struct Gateway {
    common: Common,
    /// One for each public listener.
    edges: Vec<Edge>,
    grpc: Option<Grpc>,
    commits: Commits,
    store_health: Arc<StoreHealth>,
    /// Emptied at the end.
    outbox: Option<Arc<dyn OutboxStore>>,
    kick_list: Arc<KickList>,
    /// The callers of the control listener.
    callers: Callers,
    /// The completions of changes that come by the control listener.
    control_completions: Vec<Completions>,
}

/// Starts everything, and blocks until it has ended.
fn start(
    config: &Config,
    access: Access,
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    shutdown: &Shutdown,
    gateway: Gateway,
    assembly: Assembly,
) -> Result<(), StartError> {
    let Assembly { mut registry, degraded, control: routes, pages, background, threads, ends, .. } = assembly;
    let Listeners { public, probes, control, addresses, .. } = listeners;
    let Common { clock, clock_status, mid_hash, names, stop, .. } = gateway.common;
    let (health, ready_share) = (gateway.store_health, config.store.ready_share);
    let readiness = Readiness { health, ready_share, stop: stop.clone(), clock_status: clock_status.clone() };
    let readiness = Arc::new(readiness);
    metrics::part(&mut registry).register_collector(Box::new(ReadyGauge(readiness.clone())));
    let registry = Arc::new(registry);
    let pages = pages.into_iter().map(|make| make(&registry)).reduce(Router::merge);
    let process = StartError::Process;

    let started = threads.into_iter().map(|start| start()).collect::<Result<Vec<_>, _>>().map_err(process)?;
    let mut others: Vec<_> = started.into_iter().flatten().collect();
    let commit = CommitThread::start(gateway.commits, stop.clone()).map_err(process)?;
    let edges = gateway.edges.into_iter().zip(public).map(|(edge, listener)| {
        EdgeThread::start(listener, edge, pages.clone(), tls.clone(), &config.server).map_err(process)
    });
    let mut edges = edges.collect::<Result<Vec<_>, _>>()?;
    let of_grpc = gateway.grpc.as_ref().map(Grpc::announcement).unwrap_or_default();
    edges.extend(gateway.grpc.map(Grpc::start).transpose().map_err(process)?);
    descriptors::raise_limit();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let said = of_grpc + &announcement::of_gateway(access.key.as_deref(), &access.control_token, scheme, &addresses);
    let admin = Admin { readiness, degraded, registry };
    let (router, nothing) = (admin::router(admin), std::future::ready(()));
    others.push(operator::start("probes", probes, router, operator::PROBES, nothing, stop.clone()).map_err(process)?);
    let hosts = config.control.hosts.clone();
    let callers = gateway.callers;
    let called_users = CalledUsers(names);
    let (of_log, of_guard) = (mid_hash.clone(), called_users.clone());
    let guard = Guard { token: access.control_token, callers, hosts, mid_hash: of_log, called_users: of_guard };
    let (kick_list, revocations) = (gateway.kick_list, access.revocations);
    let of_control = Control { kick_list, revocations, clock, clock_status, mid_hash, called_users };
    let answers = gateway.control_completions;
    others.push(control::start(control, of_control, routes, guard, answers, stop).map_err(process)?);
    log::listening(&addresses);
    announcement::print(said).map_err(process)?;
    threads::lead(shutdown, others, background, gateway.outbox.as_deref(), edges, commit, ends)
}
