//! The parts of a gateway, wired.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use super::lanes::{Shared, StoreLanes};
use super::rewards::{Calendar, RewardTasks, Rewards};
use super::stores::Stores;
use crate::config::Config;
use crate::domain::clock::Clock;
use crate::domain::clock_guard::ClockGuard;
use crate::domain::commit_listener::CommitListener;
use crate::domain::devices::fanout::Fanout;
use crate::domain::devices::kick_list::KickList;
use crate::domain::devices::presence::Presence;
use crate::domain::history::History;
use crate::domain::ingest::commit::Committer;
use crate::domain::ingest::janitor::Janitor;
use crate::domain::ingest::lanes::Lanes;
use crate::domain::ingest::removals::RemovalCount;
use crate::domain::ingest::submit_queue::Completions;
use crate::domain::ingest::unreadable::UnreadableLog;
use crate::domain::ingest::watch::Watch;
use crate::domain::peer_messages::PeerMessages;
use crate::domain::revocations::Revocations;
use crate::domain::store_reads::StoreReads;
use crate::edge;
use crate::edge::admin::Admin;
use crate::edge::auth::Verifier;
use crate::edge::auth::authenticator::Authenticator;
use crate::edge::connection::close;
use crate::edge::connection_limiter::ConnectionLimiter;
use crate::edge::context::ConnectionContext;
use crate::edge::control::Control;
use crate::edge::control::users::UserOperations;
use crate::edge::list_limiter::ListLimiter;
use crate::edge::origin::Origins;
use crate::edge::quota::Quota;
use crate::edge::rates::Rates;
use crate::shutdown::Shutdown;
use crate::telemetry::metrics;

pub(super) struct Gateway {
    pub registry: Registry,
    pub committers: Vec<Committer>,
    pub watch: Watch,
    pub clock_guard: ClockGuard,
    /// One for each edge thread.
    pub edges: Vec<(Arc<ConnectionContext>, Vec<Completions>)>,
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
        let reads = StoreReads::new(registry);
        let rewards = Rewards::build(config, &stores, calendar, &clock, reads.clone(), registry);
        let BoundListener { verifier, presence, revocations } = bound_listener;
        let channel = stores.channel.clone();
        let steady = config.push.steady_interval;
        let fanout = Arc::new(Fanout::new(presence.clone(), channel.clone(), steady, clock.clone(), registry));
        let kick_list = Arc::new(KickList::with_channel(presence.clone(), channel));
        let authenticator = Authenticator::new(
            verifier,
            presence.clone(),
            kick_list.clone(),
            revocations.clone(),
            clock.clone(),
            registry,
        );
        let edge = edge::metrics::Metrics::new(close::CODES.iter().map(|(code, _)| *code), registry);
        let (hot, judged) = (stores.hot.clone(), clock.clone());
        let clock_guard = ClockGuard::new(move || hot.time(), judged, registry);
        let history = History::new(stores.hot.clone(), clock.clone(), reads);
        let requests = Arc::new(Rates::new(config.limits.frames_per_second, config.limits.burst));
        let lists = ListLimiter::new(config.limits.list_rows_per_second, config.limits.list_rows_burst, registry);
        let limiter = ConnectionLimiter::new(&config.limits);
        let mid_hash = config.log.mid_hash();
        let unreadable = Arc::new(UnreadableLog::new(mid_hash.clone(), registry));
        let removals = Arc::new(RemovalCount::new(registry));
        let shared = Shared {
            config,
            store: stores.hot,
            clock: clock.clone(),
            judge: Arc::new(rewards.judge),
            listeners: vec![fanout.clone(), unreadable as Arc<dyn CommitListener>, removals],
        };
        let StoreLanes { committers, watch, health, threads: mut of_threads } =
            StoreLanes::build(&shared, threads + 2, registry);
        let mut others = || of_threads.pop().expect("two more than edge threads");
        let ((control_lanes, control_completions), (lanes, janitor_completions)) = (others(), others());
        let janitor = Janitor::new(shared.store.clone(), lanes, clock.clone(), registry);
        let context = |lanes: Lanes| {
            Arc::new(ConnectionContext {
                lanes,
                clock: clock.clone(),
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
        let edges = of_threads.into_iter().map(|(lanes, completions)| (context(lanes), completions)).collect();
        let users = UserOperations {
            lanes: control_lanes,
            presence: presence.clone(),
            history: history.clone(),
            connect_lookup: rewards.connect_lookup.clone(),
            reading: config.reading.clone(),
            mid_hash: mid_hash.clone(),
            gateway: String::new(),
        };
        let peer_messages = Arc::new(PeerMessages {
            fanout,
            kick_list: kick_list.clone(),
            memory: rewards.reward_tasks.memory(),
            revocations: revocations.clone(),
        });
        let admin = Admin {
            health,
            ready_share: config.store.ready_share,
            stop: shutdown.stop(),
            clock_status: clock_guard.clock_status(),
            registry: Arc::default(),
            bus: rewards.health,
        };
        let clock_status = clock_guard.clock_status();
        let control = Control { kick_list, revocations, clock_status, mid_hash };
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
        }
    }
}
