//! The parts of a gateway, wired.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use super::edge::{Access, Edge, EdgeParts};
use super::lanes::{Shared, StoreLanes};
use super::live::Live;
use super::rewards::{Calendar, RewardTasks, Rewards};
use super::stores::Stores;
use crate::config::Config;
use crate::domain::devices::fanout::Fanout;
use crate::domain::devices::kick_list::KickList;
use crate::domain::history::History;
use crate::domain::ingest::commit::Committer;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::ingest::janitor::Janitor;
use crate::domain::ingest::removals::RemovalCount;
use crate::domain::ingest::submit_queue::Completions;
use crate::domain::ingest::unreadable::UnreadableLog;
use crate::domain::ingest::watch::Watch;
use crate::domain::live::counting::LiveCounting;
use crate::domain::peer_messages::PeerMessages;
use crate::domain::rewards::bus_health::BusHealth;
use crate::domain::store_reads::StoreReads;
use crate::domain::time::clock::Clock;
use crate::domain::time::guard::{ClockGuard, ClockStatus};
use crate::edge::admin::Admin;
use crate::edge::control::Control;
use crate::edge::control::live::LiveRoutes;
use crate::edge::control::users::UserOperations;
use crate::shutdown::Shutdown;
use crate::telemetry::metrics;

pub(super) struct Gateway {
    pub registry: Registry,
    pub committers: Vec<Committer>,
    pub watch: Watch,
    pub clock_guard: ClockGuard,
    /// One for each edge thread.
    pub edges: Vec<EdgeParts>,
    pub admin: Admin,
    pub control: Control,
    pub users: UserOperations,
    /// Of the changes that come by the control listener.
    pub control_completions: Vec<Completions>,
    pub janitor: Janitor,
    pub janitor_completions: Vec<Completions>,
    pub reward_tasks: RewardTasks,
    /// Hears the other gateways on the same store.
    pub peer_messages: Arc<PeerMessages>,
    pub live_routes: Arc<LiveRoutes>,
    pub live_counting: LiveCounting,
}

impl Gateway {
    pub fn build(
        config: &Config,
        stores: Stores,
        clock: Arc<Clock>,
        calendar: Calendar,
        access: Access,
        threads: usize,
        shutdown: &Shutdown,
    ) -> Self {
        let mut whole = metrics::registry();
        let registry = metrics::part(&mut whole);
        let reads = StoreReads::new(registry);
        let rewards = Rewards::build(config, &stores, calendar, &clock, reads.clone(), registry);
        let clock_guard = clock_guard(&stores, clock.clone(), registry);
        let holding = (!config.store.steady_hold.is_zero()).then(|| access.presence.clone());
        let history = History::new(stores.hot.clone(), clock.clone(), reads, holding);
        let steady = config.push.steady_interval;
        let channel = stores.channel;
        let fanout = Arc::new(Fanout::new(access.presence.clone(), channel.clone(), steady, clock.clone(), registry));
        let live = Live::build(config, &clock, registry);
        let kick_list = Arc::new(KickList::with_channel(access.presence.clone(), channel, live.on_kick()));
        let mid_hash = config.log.mid_hash();
        let shared = Shared {
            config,
            store: stores.hot,
            clock: clock.clone(),
            judge: Arc::new(rewards.judge),
            listeners: vec![
                fanout.clone(),
                Arc::new(UnreadableLog::new(mid_hash.clone(), registry)),
                Arc::new(RemovalCount::new(registry)),
                live.inlet.clone(),
            ],
        };
        let StoreLanes { committers, watch, health, threads: mut of_threads } =
            StoreLanes::build(&shared, threads + 2, registry);
        let mut others = || of_threads.pop().expect("two more than edge threads");
        let ((control_lanes, control_completions), (lanes, janitor_completions)) = (others(), others());
        let janitor = Janitor::new(shared.store.clone(), lanes, clock.clone(), registry);
        let clock_status = clock_guard.clock_status();
        let peer_messages = Arc::new(PeerMessages {
            fanout,
            kick_list: kick_list.clone(),
            memory: rewards.reward_tasks.memory(),
            live: live.inlet,
            revocations: access.revocations.clone(),
        });
        let admin = admin(config, health, shutdown, clock_status.clone(), rewards.health);
        let edge = Edge { config, clock, history, connect_lookup: rewards.connect_lookup, mid_hash, clock_status };
        let users = edge.user_operations(control_lanes, access.presence.clone());
        let control = edge.control(kick_list.clone(), access.revocations.clone());
        let edges = edge.contexts(of_threads, access, kick_list, &shutdown.stop(), registry);
        Gateway {
            registry: whole,
            committers,
            watch,
            clock_guard,
            edges,
            admin,
            control,
            users,
            control_completions,
            janitor,
            janitor_completions,
            reward_tasks: rewards.reward_tasks,
            peer_messages,
            live_routes: live.routes,
            live_counting: live.counting,
        }
    }
}

/// Its registry is given to it when it is complete.
fn admin(
    config: &Config,
    health: Arc<StoreHealth>,
    shutdown: &Shutdown,
    clock_status: ClockStatus,
    bus: Arc<BusHealth>,
) -> Admin {
    let (ready_share, stop) = (config.store.ready_share, shutdown.stop());
    Admin { health, ready_share, stop, clock_status, registry: Arc::default(), bus, degraded: Vec::new() }
}

/// Compares the clock with the store's, among others.
fn clock_guard(stores: &Stores, clock: Arc<Clock>, registry: &mut Registry) -> ClockGuard {
    let hot = stores.hot.clone();
    ClockGuard::new(move || hot.time(), clock, registry)
}
