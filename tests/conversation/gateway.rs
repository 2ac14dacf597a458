//! What conversations talk to: a submit queue whose commits the test makes, reads, tokens, the turns of lists.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use heartline::config::Config;
use heartline::domain::content_names::NamedContents;
use heartline::domain::devices::inbox::{CloseRequest, Inbox};
use heartline::domain::devices::kick_list::KickList;
use heartline::domain::devices::presence::Presence;
use heartline::domain::history::History;
use heartline::domain::ingest::coalesce::Entry;
use heartline::domain::ingest::completion::Completion;
use heartline::domain::ingest::hold_index::HoldIndex;
use heartline::domain::ingest::intake::Intake;
use heartline::domain::ingest::lanes::Lanes;
use heartline::domain::ingest::metrics::Metrics as IngestMetrics;
use heartline::domain::ingest::submit_queue::SubmitQueue;
use heartline::domain::ingest::user_trace::UserTrace;
use heartline::domain::revocations::Revocations;
use heartline::domain::rewards::connect_lookup::ConnectLookup;
use heartline::domain::rewards::memory::Memory;
use heartline::domain::rewards::metrics::Metrics as RewardMetrics;
use heartline::domain::rewards::today::Today;
use heartline::domain::store_reads::StoreReads;
use heartline::domain::time::clock::Clock;
use heartline::domain::time::guard::ClockStatus;
use heartline::edge::auth::authenticator::Authenticator;
use heartline::edge::auth::{AuthConfig, SigningKey, Verifier};
use heartline::edge::connection::close::CODES;
use heartline::edge::context::ConnectionContext;
use heartline::edge::limits::connection_limiter::ConnectionLimiter;
use heartline::edge::limits::list_limiter::ListLimiter;
use heartline::edge::limits::quota::Quota;
use heartline::edge::limits::rates::Rates;
use heartline::edge::metrics::Metrics;
use heartline::edge::origin::Origins;
use heartline::edge::shutdown::Shutdown;
use heartline::edge::visitor::VisitorClasses;
use heartline::model::ids::{ConnectionId, UserId};
use heartline::model::mid_hash::MidHash;
use heartline::model::retention::Retention;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::rewards::rule::{RuleSet, Rules};
use heartline::model::rule::Admission;
use heartline::model::secret::Secret;
use heartline::model::shard::Shards;
use heartline::storage::content_names::ContentNames;
use heartline::storage::device_channel::Alone;
use heartline::storage::revocation_list::file::FileList;
use prometheus_client::registry::Registry;
use tokio::sync::oneshot;

use crate::conversation::store::Reads;
use crate::conversation::time::{TestTime, now};

/// Slots of one connection that may wait.
pub const UNCOMMITTED: usize = 6;
/// Beats of all connections together.
pub const WEIGHT: usize = 10;
/// Beats, or contents, of one frame.
pub const ITEMS: usize = 100;
/// Acks may be so late.
pub const ACK_DELAY: Duration = Duration::from_secs(2);
/// Rows of lists: a second of them at once.
pub const ROWS_PER_SECOND: u32 = 2;

static DEFAULTS: LazyLock<Config> = LazyLock::new(|| Config::load(None).unwrap());

pub struct Gateway {
    pub context: Arc<ConnectionContext>,
    pub reads: Arc<Reads>,
    pub presence: Arc<Presence>,
    /// When it holds beats.
    pub holds: Option<Arc<HoldIndex>>,
    key: SigningKey,
    completions: Pin<Box<dyn Future<Output = ()>>>,
    /// Without it everything would end.
    _shutdown: Shutdown,
}

impl Gateway {
    pub fn new() -> Self {
        Self::holding(Duration::ZERO)
    }

    /// One that holds steady beats for so long.
    pub fn holding(steady_hold: Duration) -> Self {
        Self::with(steady_hold, WEIGHT, None)
    }

    /// One where only the bounds of a connection count.
    pub fn roomy() -> Self {
        Self::with(Duration::ZERO, usize::MAX, None)
    }

    /// One where contents have names.
    pub fn naming(contents: Arc<dyn ContentNames>) -> Self {
        Self::with(Duration::ZERO, WEIGHT, Some(NamedContents::new(contents)))
    }

    fn with(steady_hold: Duration, weight_max: usize, contents: Option<NamedContents>) -> Self {
        let mut registry = Registry::default();
        let registry = &mut registry;
        let clock = Arc::new(Clock::of(Box::new(TestTime::begin()), 0, Duration::MAX));
        let holds = (!steady_hold.is_zero()).then(HoldIndex::new);
        let trace = UserTrace::new(MidHash::with_key(&[0; 16]));
        let (submit_queue, completions) = SubmitQueue::new(Arc::default(), weight_max, holds.clone(), None, trace);
        let shutdown = Shutdown::new(Duration::from_secs(1));
        let reads = Reads::new();
        let presence = Presence::new(8);
        let (authenticator, key) = authenticator(&presence, &clock, registry);
        let mut limits = DEFAULTS.limits.clone();
        (limits.uncommitted_slots, limits.beats, limits.items) = (UNCOMMITTED, ITEMS, ITEMS);
        limits.ack_delay = ACK_DELAY.max(steady_hold);
        let store_reads = StoreReads::new(registry);
        let admission = Admission { retention: Retention::of(Duration::from_hours(24)) };
        let intake = Intake { submit_queue, admission, clock: clock.clone(), metrics: IngestMetrics::new(registry) };
        let context = ConnectionContext {
            lanes: Lanes::new(vec![intake], Box::new(|_| 0)),
            clock: clock.clone(),
            history: History::new(
                reads.clone(),
                clock.clone(),
                store_reads.clone(),
                Arc::new(DEFAULTS.reading.clone()),
                holds.clone(),
            ),
            connect_lookup: connect_lookup(&reads, &clock, store_reads, registry),
            authenticator,
            requests: Arc::new(Rates::new(limits.frames_per_second, limits.burst)),
            anonymous: Arc::new(Rates::new(limits.frames_per_second, limits.burst)),
            contents,
            views: None,
            elsewhere: None,
            lists: ListLimiter::new(ROWS_PER_SECOND, ROWS_PER_SECOND, registry),
            limiter: ConnectionLimiter::new(&limits),
            visitors: VisitorClasses::open(None).unwrap(),
            origins: Origins::new(Vec::new()),
            quota: Quota::new(limits.frames_per_second, limits.burst),
            limits,
            socket: DEFAULTS.socket.clone(),
            reading: DEFAULTS.reading.clone(),
            steady_hold,
            metrics: Metrics::new(CODES.iter().map(|(code, _)| *code), registry),
            mid_hash: MidHash::with_key(&[0; 16]),
            stop: shutdown.stop(),
            clock_status: ClockStatus::alone(),
        };
        Gateway {
            context: Arc::new(context),
            reads,
            presence,
            holds,
            key,
            completions: Box::pin(completions.run()),
            _shutdown: shutdown,
        }
    }

    pub fn token(&self, user: UserId, ttl: Duration) -> String {
        self.key.issue(user, ttl, self.context.clock.wall()).token
    }

    pub fn submit_queue(&self) -> &Arc<SubmitQueue> {
        let lane = self.context.lanes.of(UserId(0));
        &self.context.lanes.intake(lane).submit_queue
    }

    /// The oldest entries that wait, at most so many: nothing joins them any more.
    pub fn take(&self, max: usize) -> Vec<Entry> {
        let mut group = Vec::new();
        self.submit_queue().take_into(&mut group, max, now());
        group
    }

    /// Commits a group, and hands the answers to the inboxes.
    pub fn commit(&mut self, mut group: Vec<Entry>) {
        let changes: Vec<_> = group.iter_mut().map(|entry| entry.change(RuleSet::NONE)).collect();
        let now = self.context.clock.now();
        let committed = self.reads.plain.lock().unwrap().commit(now, &Rewarding::none(), &changes);
        let completions = group.into_iter().zip(committed.outcomes);
        let completions = completions.map(|(entry, outcome)| Completion { entry, outcome, news: None });
        self.submit_queue().answer(completions.collect());
        assert_eq!(self.completions.as_mut().now_or_never(), None, "it waits for more");
    }

    /// Beats that waited for later ones.
    pub fn held(&self) -> u64 {
        self.context.lanes.intake(self.context.lanes.of(UserId(0))).metrics.held.get()
    }

    /// As a read of the user does it first: each of what is returned ends when a held slot is committed.
    pub fn commit_held(&self, user: UserId) -> Vec<oneshot::Receiver<()>> {
        self.holds.as_ref().map(|holds| holds.commit(user)).unwrap_or_default()
    }

    pub fn commit_all(&mut self) {
        let group = self.take(usize::MAX);
        self.commit(group);
    }

    /// Tells the user's connections of something.
    pub fn tell(&self, user: UserId, tell: impl Fn(&Inbox)) {
        self.presence.others(user, ConnectionId(0), tell);
    }

    pub fn kick(&self, user: UserId) {
        self.presence.dismiss(user, CloseRequest::Kicked);
    }
}

fn authenticator(presence: &Arc<Presence>, clock: &Arc<Clock>, registry: &mut Registry) -> (Authenticator, SigningKey) {
    let secret = Secret::new("a-key-for-tests-only-0123456789abcdef".to_owned());
    let config = AuthConfig { hs256_secret: secret, ..DEFAULTS.auth.clone() };
    let key = SigningKey::load(&config, Path::new("/nowhere")).ok().flatten().unwrap();
    let verifier = Arc::new(Verifier::new(&config, Some(&key)).unwrap());
    let no_list = Box::new(FileList::of(Path::new("/nowhere")));
    let revocations = Arc::new(Revocations::open(presence.clone(), no_list, Arc::new(Alone), None).unwrap());
    let kick_list = Arc::new(KickList::new(presence.clone()));
    (Authenticator::new(verifier, presence.clone(), kick_list, revocations, clock.clone(), None, registry), key)
}

/// No rewards here.
fn connect_lookup(
    reads: &Arc<Reads>,
    clock: &Arc<Clock>,
    store_reads: StoreReads,
    registry: &mut Registry,
) -> Arc<ConnectLookup> {
    let rules: Arc<Rules> = Arc::default();
    Arc::new(ConnectLookup {
        store: reads.clone(),
        clock: clock.clone(),
        today: Arc::new(Today::open("UTC", rules.clone(), None, clock.now()).unwrap()),
        memory: Arc::new(Memory::new(rules.clone(), Shards::DEFAULT, &DEFAULTS.rewards, registry)),
        metrics: RewardMetrics::new(&rules, Default::default(), registry),
        reads: store_reads,
        rules,
        cold: None,
    })
}
