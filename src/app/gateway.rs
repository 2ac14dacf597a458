//! The parts of a gateway, wired.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use tokio::sync::Notify;

use super::rewards::{Calendar, RewardTasks, Rewards};
use super::stores::Stores;
use crate::config::Config;
use crate::domain::clock::Clock;
use crate::domain::clock_guard::ClockGuard;
use crate::domain::devices::fanout::Fanout;
use crate::domain::devices::kick_list::KickList;
use crate::domain::devices::peer_messages::PeerMessages;
use crate::domain::devices::presence::Presence;
use crate::domain::history::History;
use crate::domain::ingest::commit::Committer;
use crate::domain::ingest::health::StoreHealth;
use crate::domain::ingest::intake::Intake;
use crate::domain::ingest::metrics::{Metrics, UncommittedSlots};
use crate::domain::ingest::submit_queue::{Completions, SubmitQueue};
use crate::domain::ingest::unreadable::UnreadableLog;
use crate::domain::revocations::Revocations;
use crate::domain::store_reads::StoreReads;
use crate::edge;
use crate::edge::admin::Admin;
use crate::edge::auth::Verifier;
use crate::edge::auth::authenticator::Authenticator;
use crate::edge::connection::rate::Quota;
use crate::edge::context::ConnectionContext;
use crate::edge::control::Control;
use crate::edge::control::users::UserOperations;
use crate::edge::list_limiter::ListLimiter;
use crate::edge::listener::limiter::ConnectionLimiter;
use crate::edge::origin::Origins;
use crate::edge::rates::Rates;
use crate::model::rule::Admission;
use crate::shutdown::Shutdown;
use crate::telemetry::metrics;

pub(super) struct Gateway {
    pub registry: Registry,
    pub committer: Committer,
    pub clock_guard: ClockGuard,
    /// One for each edge thread.
    pub submit_queues: Vec<(Arc<ConnectionContext>, Completions)>,
    pub admin: Admin,
    pub control: Control,
    pub users: UserOperations,
    /// Of the control listener's submit queue.
    pub control_lane: Completions,
    pub backstage: RewardTasks,
    /// Hears the other gateways on the same store.
    pub peer_messages: Arc<PeerMessages>,
}

/// What admission is decided by, opened before anything is built on it.
pub(super) struct BoundListener {
    pub verifier: Arc<Verifier>,
    pub presence: Arc<Presence>,
    pub revocations: Arc<Revocations>,
}

impl Gateway {
    pub fn build(
        config: &Config,
        stores: Stores,
        clock: Arc<Clock>,
        calendar: Calendar,
        bound_listener: BoundListener,
        threads: usize,
        shutdown: &Shutdown,
    ) -> Self {
        let mut whole = metrics::registry();
        let registry = metrics::part(&mut whole);
        let ingest = Metrics::new(registry);
        let reads = StoreReads::new(registry);
        let rewards = Rewards::build(config, &stores, calendar, &clock, reads.clone(), registry);
        let BoundListener { verifier, presence, revocations } = bound_listener;
        let channel = stores.channel.clone();
        let fanout = Arc::new(Fanout::new(presence.clone(), channel.clone(), config.push.steady_interval, registry));
        let kick_list = Arc::new(KickList::with_channel(presence.clone(), channel));
        let authenticator =
            Authenticator::new(verifier, presence.clone(), kick_list.clone(), revocations.clone(), registry);
        let edge = edge::metrics::Metrics::new(registry);
        let (hot, judged) = (stores.hot.clone(), clock.clone());
        let clock_guard = ClockGuard::new(move || hot.time(), judged, registry);
        let history = History::new(stores.hot.clone(), clock.clone(), reads);
        let requests = Arc::new(Rates::new(config.limits.frames_per_second, config.limits.burst));
        let lists = ListLimiter::new(config.limits.list_rows_per_second, config.limits.list_rows_burst, registry);
        let limiter = ConnectionLimiter::new(&config.limits);
        let mid_hash = config.log.mid_hash();
        let unreadable = Arc::new(UnreadableLog::new(mid_hash.clone(), registry));
        let wake = Arc::new(Notify::new());
        let (edge_queues, completions): (Vec<_>, Vec<_>) = (0..threads).map(|_| SubmitQueue::new(wake.clone())).unzip();
        let (control_queue, control_lane) = SubmitQueue::new(wake.clone());
        let submit_queues: Vec<_> = edge_queues.iter().chain([&control_queue]).cloned().collect();
        registry.register_collector(Box::new(UncommittedSlots(submit_queues.clone())));
        let health = Arc::new(StoreHealth::default());
        let intake = |submit_queue: &Arc<SubmitQueue>| Intake {
            submit_queue: submit_queue.clone(),
            admission: Admission { retention_ms: config.store.retention.as_millis() as u64 },
            clock: clock.clone(),
            metrics: ingest.clone(),
        };
        let context = |submit_queue: &Arc<SubmitQueue>| {
            Arc::new(ConnectionContext {
                intake: intake(submit_queue),
                history: history.clone(),
                connect_lookup: rewards.connect_lookup.clone(),
                authenticator: authenticator.clone(),
                origins: Origins::new(config.server.origins.clone()),
                limits: config.limits.clone(),
                quota: Quota::new(config.limits.frames_per_second, config.limits.burst),
                socket: config.socket.clone(),
                reading: config.reading.clone(),
                metrics: edge.clone(),
                mid_hash: mid_hash.clone(),
                requests: requests.clone(),
                lists: lists.clone(),
                limiter: limiter.clone(),
                stop: shutdown.stop(),
                clock_status: clock_guard.clock_status(),
            })
        };
        let desks: Vec<_> = edge_queues.iter().map(context).collect();
        let users = UserOperations {
            intake: intake(&control_queue),
            presence: presence.clone(),
            history: history.clone(),
            connect_lookup: rewards.connect_lookup.clone(),
            reading: config.reading.clone(),
            mid_hash: mid_hash.clone(),
            gateway: String::new(),
        };
        let committer = Committer {
            store: stores.hot,
            clock,
            judge: rewards.judge,
            submit_queues,
            listeners: vec![fanout.clone(), unreadable],
            wake,
            interval: config.store.group_interval,
            health: health.clone(),
            metrics: ingest,
        };
        let peer_messages = Arc::new(PeerMessages {
            fanout,
            kick_list: kick_list.clone(),
            memory: rewards.backstage.memory(),
            revocations: revocations.clone(),
        });
        let admin = Admin {
            health,
            stop: shutdown.stop(),
            clock_status: clock_guard.clock_status(),
            registry: Arc::default(),
            bus: rewards.health,
        };
        let clock_status = clock_guard.clock_status();
        let control = Control { kick_list, revocations, clock_status, mid_hash };
        Gateway {
            registry: whole,
            committer,
            clock_guard,
            submit_queues: desks.into_iter().zip(completions).collect(),
            admin,
            control,
            users,
            control_lane,
            backstage: rewards.backstage,
            peer_messages,
        }
    }
}
