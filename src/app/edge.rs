//! What serves users, on sockets, over HTTP and for operators, wired to the parts that they share.

use std::sync::Arc;

use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::domain::devices::kick_list::KickList;
use crate::domain::devices::presence::Presence;
use crate::domain::history::History;
use crate::domain::ingest::lanes::Lanes;
use crate::domain::ingest::submit_queue::Completions;
use crate::domain::revocations::Revocations;
use crate::domain::rewards::connect_lookup::ConnectLookup;
use crate::domain::time::clock::Clock;
use crate::domain::time::guard::ClockStatus;
use crate::edge;
use crate::edge::auth::Verifier;
use crate::edge::auth::authenticator::Authenticator;
use crate::edge::connection::close;
use crate::edge::context::ConnectionContext;
use crate::edge::control::Control;
use crate::edge::control::users::UserOperations;
use crate::edge::limits::connection_limiter::ConnectionLimiter;
use crate::edge::limits::list_limiter::ListLimiter;
use crate::edge::limits::quota::Quota;
use crate::edge::limits::rates::Rates;
use crate::edge::origin::Origins;
use crate::edge::visitor::VisitorClasses;
use crate::model::mid_hash::MidHash;
use crate::shutdown::Stop;

/// What decides who may connect, opened before anything is built on it.
pub(super) struct Access {
    pub verifier: Arc<Verifier>,
    pub presence: Arc<Presence>,
    pub revocations: Arc<Revocations>,
    pub visitors: Arc<VisitorClasses>,
}

/// What every way to a user's data uses.
pub(super) struct Edge<'c> {
    pub config: &'c Config,
    pub clock: Arc<Clock>,
    pub history: History,
    pub connect_lookup: Arc<ConnectLookup>,
    pub mid_hash: MidHash,
    pub clock_status: ClockStatus,
}

/// The context of a thread's connections, and what brings answers back to them.
pub(super) type EdgeParts = (Arc<ConnectionContext>, Vec<Completions>);

impl Edge<'_> {
    /// One context for each thread. They differ in their lanes alone.
    pub fn contexts(
        self,
        threads: Vec<(Lanes, Vec<Completions>)>,
        Access { verifier, presence, revocations, visitors }: Access,
        kick_list: Arc<KickList>,
        stop: &Stop,
        registry: &mut Registry,
    ) -> Vec<EdgeParts> {
        let Edge { config, clock, history, connect_lookup, mid_hash, clock_status } = self;
        let limits = &config.limits;
        let authenticator = Authenticator::new(verifier, presence, kick_list, revocations, clock.clone(), registry);
        let metrics = edge::metrics::Metrics::new(close::CODES.iter().map(|(code, _)| *code), registry);
        let requests = Arc::new(Rates::new(limits.frames_per_second, limits.burst));
        let lists = ListLimiter::new(limits.list_rows_per_second, limits.list_rows_burst, registry);
        let limiter = ConnectionLimiter::new(limits);
        let context = |lanes| ConnectionContext {
            lanes,
            clock: clock.clone(),
            history: history.clone(),
            connect_lookup: connect_lookup.clone(),
            authenticator: authenticator.clone(),
            requests: requests.clone(),
            lists: lists.clone(),
            limiter: limiter.clone(),
            origins: Origins::new(config.server.origins.clone()),
            visitors: visitors.clone(),
            limits: limits.clone(),
            quota: Quota::new(limits.frames_per_second, limits.burst),
            socket: config.socket.clone(),
            reading: config.reading.clone(),
            steady_hold: config.store.steady_hold,
            metrics: metrics.clone(),
            mid_hash: mid_hash.clone(),
            stop: stop.clone(),
            clock_status: clock_status.clone(),
        };
        threads.into_iter().map(|(lanes, completions)| (Arc::new(context(lanes)), completions)).collect()
    }

    pub fn user_operations(&self, lanes: Lanes, presence: Arc<Presence>) -> UserOperations {
        UserOperations {
            lanes,
            presence,
            history: self.history.clone(),
            connect_lookup: self.connect_lookup.clone(),
            reading: self.config.reading.clone(),
            mid_hash: self.mid_hash.clone(),
            gateway: String::new(),
        }
    }

    pub fn control(&self, kick_list: Arc<KickList>, revocations: Arc<Revocations>) -> Control {
        Control { kick_list, revocations, clock_status: self.clock_status.clone(), mid_hash: self.mid_hash.clone() }
    }
}
