//! A gateway without a store: sockets and HTTP, whose changes and reads go to history services.
//!
//! It has the parts of a gateway that are near to clients. Rewards, events, counters, views and subscribers are where the
//! stores are.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::access::Access;
use super::assembly::Assembly;
use super::common::Common;
use super::devices::Devices;
use super::edge::{self, SharedParts};
use super::error::StartError;
use super::lanes::{StoreIntake, StoreLanes};
use super::listeners::Listeners;
use super::live::Live;
use super::role::Role;
use super::{Gateway, alike, log, peers, start, users, widget};
use crate::config::Config;
use crate::domain::rewards::lookup::Lookup;
use crate::domain::rewards::service_lookup::ServiceLookup;
use crate::domain::time::clock::{self, Clock};
use crate::edge::auth::{Scopes, SigningKey};
use crate::edge::control::events::{self, Tail};
use crate::edge::control::subscribers::{self, Served};
use crate::edge::listener::Tls;
use crate::model::secret::Secret;
use crate::shutdown::Shutdown;
use crate::storage::device_channel::DeviceChannel;
use crate::storage::hot_store::remote::{RemoteChannel, RemoteList, RemoteStore, Tokens};
use crate::telemetry::log_writer::LogWriter;

/// The life of the tokens that the gateway signs for itself. Each is used for a part of it.
const TOKEN_TTL: Duration = Duration::from_secs(3600);
/// The `sub` of those tokens, by which `grpc.callers` of a service may name them.
const NAME: &str = "heartline-gateway";

/// Until a signal.
pub(super) fn serve(config: &Config, role: Role, log: &LogWriter) -> Result<(), StartError> {
    let tls = config.server.tls().map(Tls::load).transpose()?;
    let store = RemoteStore::open(&config.history_service, tokens(config)?, alike::of_storeless(config))?;
    let channel: Arc<dyn DeviceChannel> = Arc::new(RemoteChannel { services: store.clone() });
    let access = Access::open(config, &channel, Box::new(RemoteList { services: store.clone() }))?;
    let listeners = Listeners::bind(config, role)?;
    let shutdown = Arc::new(Shutdown::with_lame_duck(config.server.lame_duck, config.server.drain_timeout));
    let certificates = tls.iter().cloned().collect();
    shutdown.listen_to_signals(access.reload(certificates), log::at_abort(log)).map_err(StartError::Process)?;

    let (mut assembly, stop) = (Assembly::new(log), shutdown.stop());
    let parts = &mut assembly;
    store.register(parts.metrics());
    parts.ends.push(store.overruled().map(StartError::OtherSettingsOfServices).boxed());
    // The clock is held against that of the services.
    let clock = Arc::new(Clock::starting_at(0, config.store.clock_step_max));
    let stores = (Arc::new(store.clone()) as Arc<_>, channel);
    let common = Common::build(config, stores, clock, access.presence.clone(), stop, parts);
    let reads = common.reads.clone();
    let lookup: Arc<dyn Lookup> = Arc::new(ServiceLookup { store: Arc::new(store.clone()), reads });
    let live_timeout = config.live.session_timeout(config.socket.heartbeat_interval, config.store.steady_hold);
    let live = Live::build(&config.live, live_timeout, &common, parts);
    let devices = Devices::build(&config.push, &live, &common, parts);
    let mut lanes = StoreLanes::build(&config.store, &common, parts);
    let StoreIntake { lanes: of_control, completions: control_completions } = lanes.intake();
    let intakes = listeners.public.iter().map(|_| lanes.intake()).collect();
    let kick_list = devices.kick_list.clone();
    let shared = SharedParts { kick_list: kick_list.clone(), connect_lookup: lookup.clone(), views: None };
    let edges = edge::build(config, intakes, &access, shared, &common, parts);
    users::build(&config.reading, of_control, lookup, None, listeners.addresses.main(), &common, parts);
    store.subscribe(peers::messages(&access, &devices, &live, None, &common));
    parts.background.push(Box::pin(access.revocations.clone().keep_up()));
    widget::build(&config.live, &config.demo, false, live.routes.board(), parts);
    let store_health = lanes.health.clone();
    let commits = lanes.commits(None, parts);
    elsewhere(config, parts);
    let (grpc, outbox) = (None, None);
    let gateway = Gateway { common, edges, grpc, commits, store_health, outbox, kick_list, control_completions };
    start(config, access, listeners, tls, &shutdown, gateway, assembly)
}

/// What an operator would look for here in vain.
fn elsewhere(config: &Config, assembly: &mut Assembly) {
    let place = "events are at the history services; ask the control listener of one, or read them from Kafka";
    assembly.serve_control(events::routes(Tail::Elsewhere(place.into())));
    let why = "subscribers are at the history services; ask the control listener of one";
    assembly.serve_control(subscribers::routes(Served::Not(why.into())));
    if config.demo.enabled {
        tracing::info!(event = "demo_off", reason = "this gateway has no store that the demo could show", "demo off");
    }
}

/// The configured token, or one signed with the gateway's own key, which the services then need to know.
fn tokens(config: &Config) -> Result<Tokens, StartError> {
    let token = config.history_service.token.clone();
    if !token.is_empty() {
        return Ok(Box::new(move || token.clone()));
    }
    let key = SigningKey::load(&config.auth, &config.store.data_dir)?;
    let missing = "history_service.token: is empty, and auth.jwks_file signs nothing; set a service token with the scope \
                   heartline.internal";
    let key = key.ok_or_else(|| StartError::Misfit(missing.to_owned()))?;
    // A service of an older version asks for the other two.
    Ok(Box::new(move || Secret::new(key.issue_service(NAME, Scopes::ALL, TOKEN_TTL, clock::wall()).token)))
}
