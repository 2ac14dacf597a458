//! Builds the parts of a role and wires them; the only place that names concrete backends.

pub mod check;
mod demo;
mod descriptors;
mod edge;
mod error;
mod events;
mod gateway;
pub mod history;
mod history_packs;
mod hot;
mod job;
mod lanes;
mod listeners;
mod live;
mod log;
mod operator;
mod rewards;
pub mod role;
mod stores;
mod threads;
mod widget;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};

use crate::config::Config;
use crate::domain::devices::presence::Presence;
use crate::domain::history_packs::feed::PackFeed;
use crate::domain::ingest::janitor::Janitor;
use crate::domain::ingest::submit_queue::Completions;
use crate::domain::revocations::Revocations;
use crate::domain::time::clock::Clock;
use crate::edge::admin::{self, Admin};
use crate::edge::auth::token::LEEWAY_MS;
use crate::edge::auth::{ControlToken, SigningKey, Verifier};
use crate::edge::control::events::Tail;
use crate::edge::control::live::LiveRoutes;
use crate::edge::control::users::UserOperations;
use crate::edge::control::{self, Control, Guard};
use crate::edge::demo::{DemoContext, PackStreams, RewardsClock};
use crate::edge::listener::Tls;
use crate::edge::visitor::VisitorClasses;
use crate::shutdown::{Shutdown, Stop};
use crate::storage::revocation_list::RevocationList;
use crate::storage::revocation_list::file::FileList;
use crate::storage::revocation_list::redis::RedisList;
use crate::telemetry::metrics;

use edge::Access;
pub use error::StartError;
use gateway::Gateway;
use hot::{Hot, Shared};
use listeners::{Addresses, Listeners};
use rewards::Calendar;
use role::Role;
use stores::Stores;
use threads::{CommitThread, EdgeThread};

/// Serves what the role and the settings ask for, until a signal or the failure of the store.
///
/// Whatever can go wrong at the start goes wrong before the first connection is accepted.
pub fn serve(config: Config, role: Role) -> Result<(), StartError> {
    log::starting(&config, role);
    log::stopped(match role.misfit(&config) {
        Some(misfit) => Err(StartError::Misfit(misfit)),
        None if role == Role::Job => job::serve(&config),
        None => run(config, role),
    })
}

fn run(config: Config, role: Role) -> Result<(), StartError> {
    let tls = Tls::load(&config.server)?;
    let hot = Hot::open(&config)?;
    let key = SigningKey::load(&config.auth, &config.store.data_dir)?.map(Arc::new);
    let control_token = ControlToken::load(&config.control, &config.store.data_dir)?;
    let verifier = Arc::new(Verifier::new(&config.auth, key.as_deref())?);
    let presence = Presence::with_channel(config.limits.connections_per_user, hot.channel.clone());
    let revocations = revocations(&config, &hot, presence.clone())?;
    let visitors = VisitorClasses::open(config.live.geoip())?;
    let threads = edge_threads(config.server.threads);
    let listeners = Listeners::bind(&config, threads)?;
    let shutdown = Arc::new(Shutdown::new(config.server.drain_timeout));
    let (keys, certificate, classes) = (verifier.clone(), tls.clone(), visitors.clone());
    shutdown.listen_to_signals(move || reload(&keys, certificate.as_deref(), &classes)).map_err(StartError::Process)?;

    let clock = Arc::new(Clock::starting_at(hot.clock_floor, config.store.clock_step_max));
    let calendar = Calendar::open(&config, hot.calendar.clone(), &clock)?;
    let (bus, tail) = events::open(&config, clock.clone(), shutdown.stop())?;
    let rewards_clock = RewardsClock { today: calendar.today.clone(), clock: clock.clone() };
    let stores = Stores { hot: hot.store, outbox: hot.outbox, bus, channel: hot.channel };
    let access = Access { verifier, presence, revocations, visitors };
    let mut gateway = Gateway::build(&config, stores, clock.clone(), calendar, access, threads, &shutdown);
    let has_demo = demo::is_served(&config);
    let packs = demo::pack_feed(&config, has_demo);
    let mut background = match hot.redis {
        Some(shared) => beside_others(&config, shared, clock, packs.clone(), &mut gateway, &shutdown)?,
        None => Vec::new(),
    };
    let job = job::beside(&config, role, &mut gateway)?;
    hot::measure_disk(&config, metrics::part(&mut gateway.registry)).map_err(StartError::Process)?;
    let widget = widget::build(&config, has_demo, gateway.live_routes.board(), metrics::part(&mut gateway.registry));
    let registry = Arc::new(std::mem::take(&mut gateway.registry));
    let addresses = listeners.addresses()?;
    let Listeners { public, probes, control } = listeners;

    threads::keep_time(gateway.clock_guard).map_err(StartError::Process)?;
    threads::count_live(gateway.live_counting, shutdown.stop()).map_err(StartError::Process)?;
    let commit =
        CommitThread::start(gateway.committers, gateway.watch, shutdown.stop()).map_err(StartError::Process)?;
    let demo = has_demo.then(|| {
        let (clock, behind_proxies) = (Some(rewards_clock), false);
        let (registry, tail, live) = (registry.clone(), tail.clone(), gateway.live_routes.clone());
        let (key, packs, stop) = (key.clone(), packs.map(PackStreams::new), shutdown.stop());
        demo::router(&config, DemoContext { key, registry, tail, live, packs, clock, behind_proxies, stop })
    });
    // Beside what every gateway serves.
    let pages = [demo, widget].into_iter().flatten().reduce(Router::merge);
    let edges = gateway.edges.into_iter().zip(public).map(|((context, completions), listener)| {
        EdgeThread::start(listener, context, completions, pages.clone(), tls.clone(), &config.server)
    });
    let edges = edges.collect::<Result<Vec<_>, _>>().map_err(StartError::Process)?;
    descriptors::raise_limit();
    let said = announcement(key.as_deref(), &control_token, if tls.is_some() { "https" } else { "http" }, &addresses);
    let router = admin::router(Admin { registry, ..gateway.admin });
    let nothing = std::future::ready(());
    let probes = operator::start("probes", probes, router, operator::PROBES, nothing, shutdown.stop());
    let users = UserOperations { gateway: name_of(addresses.public), ..gateway.users };
    let guard = Guard { token: control_token, hosts: config.control.hosts.clone() };
    let router = control_router(gateway.control, users, tail, gateway.live_routes, guard);
    let answers = join_all(gateway.control_completions.into_iter().map(Completions::run));
    let control = operator::start("control", control, router, operator::CONTROL, answers.map(drop), shutdown.stop());
    let job = job.map(|job| job.start(shutdown.stop()));
    let others = [Some(probes), Some(control), job].into_iter().flatten().collect::<Result<_, _>>();
    let others = others.map_err(StartError::Process)?;
    log::listening(&addresses);
    // It does not have to be read.
    let _ = std::io::stdout().lock().write_all(said.as_bytes());
    background.push(prune(gateway.janitor, gateway.janitor_completions, shutdown.stop()));
    threads::lead(&shutdown, others, background, gateway.reward_tasks, edges, commit)
}

fn control_router(control: Control, users: UserOperations, tail: Tail, live: Arc<LiveRoutes>, guard: Guard) -> Router {
    let others = control::users::routes(users).merge(control::events::routes(tail)).merge(control::live::routes(live));
    control::router(control, others, guard)
}

fn edge_threads(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

fn revocations(config: &Config, hot: &Hot, presence: Arc<Presence>) -> Result<Arc<Revocations>, StartError> {
    let list: Box<dyn RevocationList> = match &hot.redis {
        Some(shared) => Box::new(RedisList::of(shared.redis.clone())),
        // In the data directory, which the store holds for this process.
        None => Box::new(FileList::of(&config.store.data_dir)),
    };
    let token_life_max = config.auth.token_life_max().map(|life| life + Duration::from_millis(LEEWAY_MS));
    Ok(Arc::new(Revocations::open(presence, list, hot.channel.clone(), token_life_max)?))
}

/// What a gateway does that shares its hot store.
fn beside_others(
    config: &Config,
    shared: Shared,
    clock: Arc<Clock>,
    packs: Option<Arc<PackFeed>>,
    gateway: &mut Gateway,
    shutdown: &Shutdown,
) -> Result<Vec<BoxFuture<'static, ()>>, StartError> {
    let packer = history_packs::open(config, &shared, clock, packs, gateway)?;
    let packing = packer.map(|packer| history_packs::run(packer, shutdown.stop()));
    Ok(packing.into_iter().chain([hear(shared, gateway)]).collect())
}

/// Hears the other gateways on the same store until the process ends.
fn hear(Shared { redis, channel, metrics: of_store, .. }: Shared, gateway: &mut Gateway) -> BoxFuture<'static, ()> {
    let registry = metrics::part(&mut gateway.registry);
    redis.register(registry);
    channel.register(registry);
    of_store.register(registry);
    let line = channel.run(redis, gateway.peer_messages.clone());
    let list = gateway.control.revocations.clone().keep_up();
    Box::pin(async {
        tokio::join!(line, list);
    })
}

/// Removes expired records, until the drain begins.
fn prune(janitor: Janitor, completions: Vec<Completions>, stop: Stop) -> BoxFuture<'static, ()> {
    let answers = join_all(completions.into_iter().map(Completions::run));
    Box::pin(async move {
        tokio::select! {
            () = janitor.run() => {}
            _ = answers => {}
            _ = stop.draining() => {}
        }
    })
}

/// What SIGHUP asks for.
fn reload(verifier: &Verifier, tls: Option<&Tls>, visitors: &VisitorClasses) {
    match verifier.reload() {
        Ok(keys) => tracing::info!(event = "keys_reloaded", keys, "keys reloaded"),
        Err(error) => {
            tracing::error!(event = "keys_reload_failed", %error, "cannot reload keys; keeping the current ones")
        }
    }
    match tls.map(Tls::reload) {
        Some(Ok(())) => tracing::info!(event = "certificate_reloaded", "certificate reloaded"),
        Some(Err(error)) => {
            tracing::error!(event = "certificate_reload_failed", %error, "cannot reload the certificate; keeping the current one")
        }
        None => {}
    }
    match visitors.reload() {
        Some(Ok(())) => tracing::info!(event = "country_file_reloaded", "country file reloaded"),
        Some(Err(error)) => {
            tracing::error!(event = "country_file_reload_failed", %error, "cannot reload the country file; keeping the current one")
        }
        None => {}
    }
}

/// Told apart from others by the machine's name, which in a container is the container's.
fn name_of(public: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}:{}", host.trim_end(), public.port())
}

/// What is printed when everything is served, so that a script knows that it may connect. No secret is in it: standard
/// output may be a journal.
fn announcement(
    key: Option<&SigningKey>,
    token: &ControlToken,
    scheme: &str,
    Addresses { public, admin, control }: &Addresses,
) -> String {
    let mut lines = String::new();
    if let Some(path) = key.and_then(SigningKey::development) {
        lines += &format!("development key: kept at {}\n", path.display());
    }
    lines += &format!("heartline is listening on {scheme}://{public} (admin http://{admin})\n");
    lines += &match token.kept_at() {
        Some(path) => format!("control listener: http://{control} (token kept at {})\n", path.display()),
        None => format!("control listener: http://{control} (token: control.token)\n"),
    };
    lines
}
