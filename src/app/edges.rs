//! The edge, which serves users on sockets and over HTTP, wired to the parts that its threads share.

use std::sync::Arc;

use super::access::Access;
use super::assembly::Assembly;
use super::common::Common;
use super::lanes::StoreIntake;
use crate::config::Config;
use domain::devices::kick_list::KickList;
use domain::elsewhere::Elsewhere;
use domain::ingest::lanes::Lanes;
use domain::ingest::submit_queue::Completions;
use domain::rewards::lookup::Lookup;
use domain::views::ViewCounting;
use edge::auth::authenticator::Authenticator;
use edge::connection::close;
use edge::context::ConnectionContext;
use edge::control::Callers;
use edge::limits::connection_limiter::ConnectionLimiter;
use edge::limits::list_limiter::ListLimiter;
use edge::limits::quota::Quota;
use edge::limits::rates::Rates;
use edge::origin::Origins;

/// The edge of one thread.
pub(super) struct Edge {
    pub context: Arc<ConnectionContext>,
    /// They bring answers back to its connections.
    pub completions: Vec<Completions>,
}

/// Parts that all threads share.
pub(super) struct SharedParts {
    pub kick_list: Arc<KickList>,
    pub connect_lookup: Arc<dyn Lookup>,
    /// `None`: views are not counted.
    pub views: Option<Arc<ViewCounting>>,
    /// The history services, which answer for views where this process does not count them.
    pub elsewhere: Option<Arc<Elsewhere>>,
}

impl SharedParts {
    /// The parts of a process that counts views itself, if they are counted.
    pub fn here(kick_list: Arc<KickList>, connect_lookup: Arc<dyn Lookup>, views: Option<Arc<ViewCounting>>) -> Self {
        SharedParts { kick_list, connect_lookup, views, elsewhere: None }
    }
}

/// One for each intake. Their contexts differ in their lanes alone. Returns the callers of the control listener, too, whose
/// tokens are judged in the same way.
pub(super) fn build(
    config: &Config,
    intakes: Vec<StoreIntake>,
    access: &Access,
    SharedParts { kick_list, connect_lookup, views, elsewhere }: SharedParts,
    common: &Common,
    assembly: &mut Assembly,
) -> (Vec<Edge>, Callers) {
    let (limits, registry) = (&config.limits, assembly.metrics());
    let Access { verifier, presence, revocations, visitors, .. } = access;
    let (presence, revocations, clock) = (presence.clone(), revocations.clone(), common.clock.clone());
    let (verifier, names) = (verifier.clone(), common.names.clone());
    let authenticator = Authenticator::new(verifier, presence, kick_list, revocations, clock, names, registry);
    let metrics = edge::metrics::Metrics::new(close::CODES.iter().map(|(code, _)| *code), registry);
    let requests = Arc::new(Rates::new(limits.frames_per_second, limits.burst));
    let anonymous = Arc::new(Rates::new(limits.frames_per_second, limits.burst));
    let lists = ListLimiter::new(limits.list_rows_per_second, limits.list_rows_burst, registry);
    let limiter = ConnectionLimiter::new(limits);
    let context = |lanes: Lanes| ConnectionContext {
        lanes,
        clock: common.clock.clone(),
        history: common.history.clone(),
        contents: common.contents.clone(),
        connect_lookup: connect_lookup.clone(),
        views: views.clone(),
        elsewhere: elsewhere.clone(),
        authenticator: authenticator.clone(),
        requests: requests.clone(),
        anonymous: anonymous.clone(),
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
        mid_hash: common.mid_hash.clone(),
        stop: common.stop.clone(),
        clock_status: common.clock_status.clone(),
    };
    let callers = Callers::new(authenticator.clone(), &config.control.callers);
    let edge = |StoreIntake { lanes, completions }| Edge { context: Arc::new(context(lanes)), completions };
    (intakes.into_iter().map(edge).collect(), callers)
}
