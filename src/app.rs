//! Builds the parts of a role and wires them; the only place that names concrete backends.

mod descriptors;
mod error;
mod events;
mod gateway;
mod hot;
mod rewards;
mod stores;
mod threads;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::config::Config;
use crate::domain::clock::Clock;
use crate::domain::devices::presence::Presence;
use crate::domain::revocations::Revocations;
use crate::edge::admin::{self, Admin, users};
use crate::edge::auth::key::SIGNS_NOTHING;
use crate::edge::auth::token::LEEWAY_MS;
use crate::edge::auth::{SigningKey, Verifier};
use crate::edge::demo::{self, Backstage, RewardsClock};
use crate::edge::listener::{self, Tls};
use crate::shutdown::Shutdown;
use crate::storage::revocation_list::RevocationList;
use crate::storage::revocation_list::file::FileList;
use crate::storage::revocation_list::redis::RedisList;

pub use error::StartError;
use gateway::{Door, Gateway};
use hot::{Hot, Shared};
use rewards::Calendar;
use stores::Stores;
use threads::{CommitThread, EdgeThread, Office};

/// Serves everything on the embedded store, until a signal or the failure of the store.
///
/// Whatever can go wrong at the start goes wrong before the first connection is accepted.
pub fn serve(config: Config) -> Result<(), StartError> {
    let tls = Tls::load(&config.server)?;
    let hot = Hot::open(&config)?;
    let key = SigningKey::load(&config.auth, &config.store.data_dir)?.map(Arc::new);
    let verifier = Arc::new(Verifier::new(&config.auth, key.as_deref())?);
    let presence = Presence::with_channel(config.limits.connections_per_user, hot.channel.clone());
    let revocations = revocations(&config, &hot, presence.clone())?;
    let threads = edge_threads(config.server.threads);
    let public =
        StartError::binding("server.listen", config.server.listen, listener::bind(config.server.listen, threads))?;
    let private = StartError::binding("admin.listen", config.admin.listen, listener::bind(config.admin.listen, 1))?;
    let shutdown = Arc::new(Shutdown::new(config.server.drain_timeout));
    let (keys, certificate) = (verifier.clone(), tls.clone());
    shutdown.listen_to_signals(move || reload(&keys, certificate.as_deref())).map_err(StartError::Process)?;

    let clock = Arc::new(Clock::starting_at(hot.clock_floor));
    let calendar = Calendar::open(&config, hot.calendar.clone(), &clock)?;
    let (bus, tail) = events::open(&config, shutdown.stop())?;
    let rewards_clock = RewardsClock { today: calendar.today.clone(), clock: clock.clone() };
    let stores = Stores { hot: hot.store, outbox: hot.outbox, bus, channel: hot.channel };
    let door = Door { verifier, presence, revocations };
    let mut gateway = Gateway::build(&config, stores, clock, calendar, door, threads, &shutdown);
    let neighbours = hot.redis.map(|shared| hear(shared, &mut gateway));
    let registry = Arc::new(std::mem::take(&mut gateway.registry));
    let addresses = (StartError::address(&public[0])?, StartError::address(&private[0])?);

    threads::keep_time(gateway.timekeeper).map_err(StartError::Process)?;
    let commit = CommitThread::start(gateway.committer, shutdown.stop()).map_err(StartError::Process)?;
    let demo = config.demo.enabled.then(|| {
        let clock = config.demo.clock.then_some(rewards_clock);
        demo::router(Backstage { key: key.clone(), registry: registry.clone(), tail: tail.clone(), clock })
    });
    let edges = gateway.lanes.into_iter().zip(public);
    let edges: Result<Vec<_>, _> = edges
        .map(|((desk, returns), listener)| {
            EdgeThread::start(listener, desk, returns, demo.clone(), tls.clone(), &config.server)
        })
        .collect();
    let edges = edges.map_err(StartError::Process)?;
    if config.demo.enabled && key.is_none() {
        tracing::warn!("the demo page has no tokens: {SIGNS_NOTHING}");
    }
    descriptors::raise_limit();
    announce(key.as_deref(), if tls.is_some() { "https" } else { "http" }, addresses);
    let others = users::routes(gateway.users).merge(admin::events::routes(tail));
    let router = admin::router(Admin { registry, ..gateway.admin }, others);
    let office = Office { listeners: private, router, returns: gateway.office };
    threads::lead(&shutdown, office, neighbours, gateway.backstage, edges, commit)
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

/// Hears the other gateways on the same store until the process ends.
fn hear(Shared { redis, channel }: Shared, gateway: &mut Gateway) -> BoxFuture<'static, ()> {
    redis.register(&mut gateway.registry);
    channel.register(&mut gateway.registry);
    let line = channel.run(redis, gateway.neighbours.clone());
    let list = gateway.admin.revocations.clone().keep_up();
    Box::pin(async {
        tokio::join!(line, list);
    })
}

/// What SIGHUP asks for.
fn reload(verifier: &Verifier, tls: Option<&Tls>) {
    match verifier.reload() {
        Ok(keys) => tracing::info!(keys, "the keys were read again"),
        Err(error) => tracing::error!(%error, "the keys stay as they were"),
    }
    match tls.map(Tls::reload) {
        Some(Ok(())) => tracing::info!("the certificate was read again"),
        Some(Err(error)) => tracing::error!(%error, "the certificate stays as it was"),
        None => {}
    }
}

/// The one line by which a script knows that it may connect.
fn announce(key: Option<&SigningKey>, scheme: &str, (public, private): (std::net::SocketAddr, std::net::SocketAddr)) {
    let mut lines = String::new();
    if let Some((key, path)) = key.and_then(SigningKey::development) {
        lines += &format!("development key: {key} (kept at {})\n", path.display());
    }
    lines += &format!("heartline is listening on {scheme}://{public} (admin http://{private})\n");
    // Nobody has to read it.
    let _ = std::io::stdout().lock().write_all(lines.as_bytes());
}
