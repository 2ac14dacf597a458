//! Builds the parts of a role and wires them; the only place that names concrete backends.

mod descriptors;
mod error;
mod gateway;
mod rewards;
mod stores;
mod threads;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::domain::clock::{self, Clock};
use crate::domain::devices::presence::Presence;
use crate::domain::events::Events;
use crate::domain::revocations::Revocations;
use crate::edge::admin::events::{self, Tail};
use crate::edge::admin::users;
use crate::edge::admin::{self, Admin};
use crate::edge::auth::key::SIGNS_NOTHING;
use crate::edge::auth::token::LEEWAY_MS;
use crate::edge::auth::{SigningKey, Verifier};
use crate::edge::demo::{self, Backstage, RewardsClock};
use crate::edge::listener::{self, Tls};
use crate::shutdown::Shutdown;
use crate::storage::event_bus::embedded::EmbeddedLog;
use crate::storage::hot_store::embedded::EmbeddedStore;
use crate::storage::revocation_list::file::FileList;

pub use error::StartError;
use gateway::{Door, Gateway};
use rewards::Calendar;
use stores::Stores;
use threads::{CommitThread, EdgeThread};

/// Serves everything on the embedded store, until a signal or the failure of the store.
///
/// Whatever can go wrong at the start goes wrong before the first connection is accepted.
pub fn serve(config: Config) -> Result<(), StartError> {
    let tls = Tls::load(&config.server)?;
    let store = Arc::new(EmbeddedStore::open(&config.store, clock::wall())?);
    let key = SigningKey::load(&config.auth, &config.store.data_dir)?.map(Arc::new);
    let verifier = Arc::new(Verifier::new(&config.auth, key.as_deref())?);
    let presence = Presence::new(config.limits.connections_per_user);
    let revocations = revocations(&config, presence.clone())?;
    let threads = edge_threads(config.server.threads);
    let public =
        StartError::binding("server.listen", config.server.listen, listener::bind(config.server.listen, threads))?;
    let private = StartError::binding("admin.listen", config.admin.listen, listener::bind(config.admin.listen, 1))?;
    let shutdown = Arc::new(Shutdown::new(config.server.drain_timeout));
    let (keys, certificate) = (verifier.clone(), tls.clone());
    shutdown.listen_to_signals(move || reload(&keys, certificate.as_deref())).map_err(StartError::Process)?;

    let clock = Arc::new(Clock::starting_at(store.clock_floor()));
    let calendar = Calendar::open(&config, store.calendar().cloned(), &clock)?;
    let log = Arc::new(EmbeddedLog::open(&config.store.data_dir, &config.events, Arc::new(clock::wall))?);
    let tail = Tail { events: Events::new(log.clone()), stop: shutdown.stop() };
    let rewards_clock = RewardsClock { today: calendar.today.clone(), clock: clock.clone() };
    let stores = Stores { hot: store.clone(), outbox: store, bus: log };
    let door = Door { verifier, presence, revocations };
    let mut gateway = Gateway::build(&config, stores, clock, calendar, door, threads, &shutdown);
    let registry = Arc::new(std::mem::take(&mut gateway.registry));
    let addresses = (StartError::address(&public[0])?, StartError::address(&private[0])?);

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
    let others = users::routes(gateway.users).merge(events::routes(tail));
    let admin = admin::router(Admin { registry, ..gateway.admin }, others);
    threads::lead(&shutdown, private, admin, gateway.office, gateway.backstage, edges, commit)
}

fn edge_threads(configured: usize) -> usize {
    match configured {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}

/// The list in the data directory, which the store holds for this process.
fn revocations(config: &Config, presence: Arc<Presence>) -> Result<Arc<Revocations>, StartError> {
    let list = Box::new(FileList::of(&config.store.data_dir));
    let token_life_max = config.auth.token_life_max().map(|life| life + Duration::from_millis(LEEWAY_MS));
    Ok(Arc::new(Revocations::open(presence, list, token_life_max)?))
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
