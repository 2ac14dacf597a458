//! A gateway without a store: sockets and HTTP, whose changes and reads go to history services.
//!
//! It has the parts of a gateway that are near to clients. Rewards, events, counters, views and subscribers are where the
//! stores are; requests about counters and views are passed on.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::super::access::Access;
use super::super::assembly::Assembly;
use super::super::common::{Common, CommonStores};
use super::super::devices::Devices;
use super::super::edges::{self, SharedParts};
use super::super::error::StartError;
use super::super::lanes::{StoreIntake, StoreLanes};
use super::super::listeners::Listeners;
use super::super::live::Live;
use super::super::reload::{self, Files};
use super::super::role::Role;
use super::super::{Gateway, peers, start, users, widget};
use super::agreed;
use crate::config::Config;
use crate::telemetry::log_writer::LogWriter;
use domain::content_names::NamedContents;
use domain::elsewhere::Elsewhere;
use domain::names::UserNames;
use domain::rewards::lookup::Lookup;
use domain::rewards::service_lookup::ServiceLookup;
use domain::time::clock::{self, Clock};
use edge::auth::{Scopes, SigningKey, Subjects};
use edge::control;
use edge::control::events::{self, Tail};
use edge::control::subscribers::{self, Served};
use edge::listener::Tls;
use edge::shutdown::{Shutdown, Signals};
use model::content_name::ContentIds;
use model::secret::Secret;
use storage::device_channel::DeviceChannel;
use storage_remote::{RemoteChannel, RemoteContentNames, RemoteList, RemoteNames, RemoteStore, Tokens};

/// The life of the tokens that the gateway signs for itself. Each is used for a part of it.
const TOKEN_TTL: Duration = Duration::from_secs(3600);
/// The `sub` of those tokens, by which `grpc.callers` of a service may name them.
const NAME: &str = "heartline-gateway";

/// Until a signal.
pub(in super::super) fn serve(
    config: &Config,
    role: Role,
    signals: &Signals,
    log: &LogWriter,
) -> Result<(), StartError> {
    let files = Files::of(config);
    let tls = config.server.tls().map(Tls::load).transpose()?;
    let store = RemoteStore::open(&config.history_service, tokens(config)?, agreed::of_storeless(config))?;
    let channel: Arc<dyn DeviceChannel> = Arc::new(RemoteChannel { services: store.clone() });
    let access = Access::open(config, &channel, Box::new(RemoteList { services: store.clone() }))?;
    let probes = Listeners::bind_probes(config)?;
    access.wait_for_keys(&probes)?;
    let listeners = Listeners::bind(config, role, probes)?;
    let shutdown = Arc::new(Shutdown::with_lame_duck(config.server.lame_duck, config.server.drain_timeout));
    let certificates = tls.iter().cloned().collect();
    let (files_in_use, mut assembly) = (access.files_in_use(certificates, None), Assembly::new(log));
    files_in_use.register(&mut assembly);
    access.register_keys(&mut assembly);

    let stop = shutdown.stop();
    let parts = &mut assembly;
    let reload = reload::build(config, files, files_in_use, stop.clone(), parts);
    store.register(parts.metrics());
    parts.ends.push(store.overruled().map(StartError::OtherSettingsOfServices).boxed());
    // The clock is held against that of the services.
    let clock = Arc::new(Clock::starting_at(0, config.store.clock_step_max));
    let remote_names = || UserNames::new(Arc::new(RemoteNames { services: store.clone() }));
    let names = (config.auth.subjects == Subjects::Any).then(remote_names);
    // The services read what has left their hot store.
    let remote_contents = || NamedContents::new(Arc::new(RemoteContentNames { services: store.clone() }));
    let contents = (config.contents.ids == ContentIds::Any).then(remote_contents);
    let common_stores = CommonStores { hot: Arc::new(store.clone()), channel, cold: None, names, contents };
    let common = Common::build(config, common_stores, clock, access.presence.clone(), stop, parts);
    let reads = common.reads.clone();
    let lookup: Arc<dyn Lookup> = Arc::new(ServiceLookup { store: Arc::new(store.clone()), reads });
    let live_timeout = config.live.session_timeout(config.socket.heartbeat_interval, config.store.steady_hold);
    let live = Live::build(&config.live, live_timeout, &common, parts);
    let devices = Devices::build(&config.push, &live, &common, parts);
    let mut lanes = StoreLanes::build(&config.store, &common, parts);
    let StoreIntake { lanes: of_control, completions: control_completions } = lanes.intake();
    let intakes = listeners.public.iter().map(|_| lanes.intake()).collect();
    let kick_list = devices.kick_list.clone();
    let services = Arc::new(Elsewhere { services: Arc::new(store.clone()), views_are_public: config.views.public });
    let shared = SharedParts {
        kick_list: kick_list.clone(),
        connect_lookup: lookup.clone(),
        views: None,
        elsewhere: Some(services.clone()),
    };
    let (edges, callers) = edges::build(config, intakes, &access, shared, &common, parts);
    users::build(&config.reading, of_control, lookup, None, listeners.addresses.main(), &common, parts);
    store.subscribe(peers::messages(&access, &devices, &live, None, None, &common));
    parts.background.push(Box::pin(access.revocations.clone().keep_up()));
    widget::build(&config.live, &config.demo, false, live.routes.board(), &common, parts);
    let store_health = lanes.health.clone();
    let commits = lanes.commits(None, parts);
    parts.serve_control(control::elsewhere::routes(services));
    elsewhere(config, parts);
    let (grpc, outbox) = (None, None);
    let gateway =
        Gateway { common, edges, grpc, commits, store_health, outbox, kick_list, callers, control_completions };
    signals.lead(&shutdown, reload);
    start(config, access, listeners, tls, &shutdown, gateway, assembly)
}

/// Answers requests for events and subscribers, which are not here, with the place where they are.
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
    let missing = "history_service.token: is empty, and a JWK set signs nothing; set a service token with the scope \
                   heartline.internal";
    let key = key.ok_or_else(|| StartError::Misfit(missing.to_owned()))?;
    // A service of an older version asks for the other two.
    Ok(Box::new(move || Secret::new(key.issue_service(NAME, Scopes::ALL, TOKEN_TTL, clock::wall()).token)))
}
