//! A router, the commits behind it, and a store in memory.

use std::cell::Cell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Request, request};
use http_body_util::BodyExt;
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::http::country_file::country_file;
use crate::http::faulty::Faulty;
use crate::http::memory::{Memory, NoOutbox};
use crate::http::visitors::HeardVisitors;

use heartline::config::Config;
use heartline::domain::commit_listener::CommitListener;
use heartline::domain::devices::kick_list::KickList;
use heartline::domain::devices::presence::Presence;
use heartline::domain::history::History;
use heartline::domain::ingest::commit::Committer;
use heartline::domain::ingest::intake::Intake;
use heartline::domain::ingest::lanes::Lanes;
use heartline::domain::ingest::metrics::Metrics;
use heartline::domain::ingest::submit_queue::{Completions, SubmitQueue};
use heartline::domain::ingest::user_trace::UserTrace;
use heartline::domain::revocations::Revocations;
use heartline::domain::rewards;
use heartline::domain::rewards::connect_lookup::ConnectLookup;
use heartline::domain::rewards::judge::Judge;
use heartline::domain::rewards::today::Today;
use heartline::domain::store_reads::StoreReads;
use heartline::domain::time::clock::{self, Clock};
use heartline::domain::time::guard::ClockGuard;
use heartline::edge::auth::authenticator::Authenticator;
use heartline::edge::auth::{AuthConfig, SigningKey, Verifier};
use heartline::edge::context::ConnectionContext;
use heartline::edge::http::router;
use heartline::edge::limits::list_limiter::ListLimiter;
use heartline::edge::limits::quota::Quota;
use heartline::edge::limits::rates::Rates;
use heartline::edge::listener::{self, HttpTimeouts, ListenerContext, Proxies};
use heartline::edge::origin::Origins;
use heartline::edge::shutdown::Shutdown;
use heartline::edge::visitor::VisitorClasses;
use heartline::model::ids::{Content, UserId};
use heartline::model::mid_hash::MidHash;
use heartline::model::record::Record;
use heartline::model::retention::Retention;
use heartline::model::rewards::rule::Rules;
use heartline::model::rule::Admission;
use heartline::model::secret::Secret;
use heartline::model::shard::Shards;
use heartline::storage::device_channel::Alone;
use heartline::storage::hot_store::{HotStore, Positions, StoreError};
use heartline::storage::revocation_list::file::FileList;

const USER: UserId = UserId(42);

pub struct Fixture {
    router: Router,
    context: Arc<ConnectionContext>,
    pub store: Arc<Faulty<Memory>>,
    /// What `/readyz` asks.
    pub takes_writes: Box<dyn Fn() -> bool>,
    /// Where the committer ends when the store has failed.
    pub ended: Cell<Option<JoinHandle<StoreError>>>,
    /// Without it everything would end.
    _shutdown: Shutdown,
    pub token: String,
    key: SigningKey,
    pub heard_visitors: Arc<HeardVisitors>,
    kick_list: Arc<KickList>,
    clock: Arc<Clock>,
    clock_guard: ClockGuard,
    store_ahead: Arc<AtomicI64>,
}

pub struct Answer {
    pub status: u16,
    headers: HeaderMap,
    body: String,
}

impl Fixture {
    pub const ORIGIN: &str = "https://app.example";
    pub const BURST: u32 = 100;
    pub const BODY_BYTES: usize = 8_000;
    pub const ITEMS: usize = 10;
    pub const LIST_ROWS: u32 = 20;

    pub fn new() -> Self {
        Self::over(Memory::default())
    }

    pub fn with_dead_store() -> Self {
        Self::over(Memory::dead())
    }

    fn over(store: Memory) -> Self {
        let mut defaults = Config::load(None).expect("the defaults");
        let limits = &mut defaults.limits;
        (limits.burst, limits.body_bytes, limits.items) = (Self::BURST, Self::BODY_BYTES, Self::ITEMS);
        let mut registry = Registry::default();
        let memory = Arc::new(Faulty::over(store));
        let (store, clock): (Arc<dyn HotStore>, _) = (memory.clone(), Arc::new(Clock::starting_at(0, Duration::MAX)));
        let shutdown = Shutdown::new(Duration::from_secs(1));
        let (judge, connect_lookup) = no_rewards(&defaults, &store, &clock, &mut registry);
        let (heard_visitors, store_ahead) = (Arc::<HeardVisitors>::default(), Arc::new(AtomicI64::new(0)));
        let (committer, intake, completions) =
            commits(store.clone(), clock.clone(), judge, heard_visitors.clone(), &mut registry);
        let health = committer.health.clone();
        let takes_writes = Box::new(move || health.takes_writes());
        let ended = Cell::new(Some(tokio::spawn(committer.run())));
        tokio::spawn(completions.run());

        let config = AuthConfig::of_secret(Secret::new("a-key-for-tests-only-0123456789abcdef".to_owned()));
        let key = SigningKey::load(&config, Path::new("/nowhere")).ok().flatten().expect("a configured key");
        let token = key.issue(USER, Duration::from_secs(3_600), clock::wall()).token;
        let presence = Presence::new(8);
        let kick_list = Arc::new(KickList::new(presence.clone()));
        let no_list = Box::new(FileList::of(Path::new("/nowhere")));
        let revocations =
            Arc::new(Revocations::open(presence.clone(), no_list, Arc::new(Alone), None).expect("an empty list"));
        let verifier = Arc::new(Verifier::new(&config, Some(&key)).expect("keys"));
        let authenticator =
            Authenticator::new(verifier, presence, kick_list.clone(), revocations, clock.clone(), None, &mut registry);
        let clock_guard = clock_guard(store_ahead.clone(), clock.clone(), &mut registry);
        let context = Arc::new(ConnectionContext {
            lanes: Lanes::new(vec![intake], Box::new(|_| 0)),
            clock: clock.clone(),
            history: history(store, &clock, &connect_lookup, &defaults),
            contents: None,
            connect_lookup: Arc::new(connect_lookup),
            authenticator,
            mid_hash: MidHash::with_key(&[0; 16]),
            limiter: heartline::edge::limits::connection_limiter::ConnectionLimiter::new(&defaults.limits),
            requests: Arc::new(Rates::new(defaults.limits.frames_per_second, defaults.limits.burst)),
            anonymous: Arc::new(Rates::new(defaults.limits.frames_per_second, defaults.limits.burst)),
            views: None,
            elsewhere: None,
            lists: ListLimiter::new(Self::LIST_ROWS, Self::LIST_ROWS, &mut registry),
            visitors: visitors(),
            origins: Origins::new(vec![Self::ORIGIN.to_owned()]),
            quota: Quota::new(defaults.limits.frames_per_second, defaults.limits.burst),
            limits: defaults.limits,
            socket: defaults.socket,
            reading: defaults.reading,
            steady_hold: Duration::ZERO,
            metrics: heartline::edge::metrics::Metrics::new(std::iter::empty(), &mut registry),
            clock_status: clock_guard.clock_status(),
            stop: shutdown.stop(),
        });
        Fixture {
            router: router(context.clone()),
            context,
            store: memory,
            takes_writes,
            ended,
            _shutdown: shutdown,
            token,
            key,
            heard_visitors,
            kick_list,
            clock,
            clock_guard,
            store_ahead,
        }
    }

    /// Serves sockets, too; where. To be called within a `LocalSet`.
    pub async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let timeout = Duration::from_secs(5);
        let listener_context = ListenerContext {
            router: self.router.clone(),
            proxies: Proxies::new(&Config::load(None).expect("the defaults").server),
            tls: None,
            timeouts: HttpTimeouts { handshake: timeout, request: timeout, keep_alive: timeout },
        };
        tokio::task::spawn_local(listener::serve(listener, self.context.clone(), listener_context));
        address
    }

    /// A token that has just expired: a socket that comes with it may stay for 5 s.
    pub fn expired_token(&self) -> String {
        self.key.issue(USER, Duration::from_secs(1), clock::wall() - 3_000).token
    }

    /// From now on the store never answers.
    pub fn lose_the_store(&self) {
        self.store.inner().die();
    }

    /// Puts the store's clock so far ahead, and has it looked at.
    pub async fn put_store_ahead(&self, ms: i64) {
        self.store_ahead.store(ms, Ordering::Relaxed);
        self.clock_guard.look().await;
    }

    /// What is stored, asked for without a request.
    pub async fn records(&self, contents: Vec<Content>) -> Vec<Option<Record>> {
        self.store.get(USER, contents, self.now()).await.expect("an answer").records
    }

    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    pub fn kick(&self) {
        self.kick_list.kick(USER, Instant::now());
    }

    pub fn authorized(&self, request: request::Builder) -> request::Builder {
        request.header("authorization", format!("Bearer {}", self.token))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.authorized(Request::get(path)), String::new()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.authorized(Request::delete(path)), String::new()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.json(Request::post(path), body).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.json(Request::put(path), body).await
    }

    async fn json(&self, request: request::Builder, body: &Value) -> Answer {
        let request = self.authorized(request.header("content-type", "application/json"));
        self.send(request, body.to_string()).await
    }

    pub async fn send(&self, request: request::Builder, body: String) -> Answer {
        let request = request.body(Body::from(body)).expect("a request");
        let Ok(response): Result<_, Infallible> = self.router.clone().oneshot(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let body = String::from_utf8(body.to_vec()).expect("UTF-8");
        Answer { status: head.status.as_u16(), headers: head.headers, body }
    }
}

/// This machine is in Germany.
fn visitors() -> Arc<VisitorClasses> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), country_file(&[("127.0.0.0/8", "DE")])).expect("written");
    VisitorClasses::open(Some(file.path())).expect("a usable file")
}

fn history(store: Arc<dyn HotStore>, clock: &Arc<Clock>, connect_lookup: &ConnectLookup, defaults: &Config) -> History {
    History::new(store, clock.clone(), connect_lookup.reads.clone(), Arc::new(defaults.reading.clone()), None)
}

/// The store in memory decides no rewards.
fn no_rewards(
    defaults: &Config,
    store: &Arc<dyn HotStore>,
    clock: &Arc<Clock>,
    registry: &mut Registry,
) -> (Judge, ConnectLookup) {
    let rules: Arc<Rules> = Arc::default();
    let today = Arc::new(Today::open("UTC", rules.clone(), None, clock.now()).expect("a zone"));
    let config = &defaults.rewards;
    let memory = Arc::new(rewards::memory::Memory::new(rules.clone(), Shards::DEFAULT, config, registry));
    let metrics = rewards::metrics::Metrics::new(&rules, Default::default(), registry);
    let judge = Judge {
        rules: rules.clone(),
        today: today.clone(),
        memory: memory.clone(),
        outbox: Arc::new(NoOutbox),
        outbox_max: 0,
        notify: Arc::default(),
        metrics: metrics.clone(),
        lost_day: None,
    };
    let (store, clock, reads) = (store.clone(), clock.clone(), StoreReads::new(registry));
    (judge, ConnectLookup { store, clock, rules, today, memory, metrics, reads, cold: None })
}

/// What commits, how changes get there, and how answers come back.
fn commits(
    store: Arc<dyn HotStore>,
    clock: Arc<Clock>,
    judge: Judge,
    listener: Arc<dyn CommitListener>,
    registry: &mut Registry,
) -> (Committer, Intake, Completions) {
    let (wake, metrics) = (Arc::new(Notify::new()), Metrics::new(registry));
    let trace = UserTrace::new(MidHash::with_key(&[0; 16]));
    let (submit_queue, completions) = SubmitQueue::new(wake.clone(), SubmitQueue::WEIGHT_MAX, None, None, trace);
    let admission = Admission { retention: Retention::of(Duration::from_hours(24)) };
    let intake =
        Intake { submit_queue: submit_queue.clone(), admission, clock: clock.clone(), metrics: metrics.clone() };
    let committer = Committer {
        store,
        clock,
        judge: Some(Arc::new(judge)),
        submit_queues: vec![submit_queue],
        listeners: vec![listener],
        wake,
        interval: Duration::ZERO,
        health: Arc::default(),
        metrics,
    };
    (committer, intake, completions)
}

/// Looks at a store's clock that is `ahead` by so many ms.
fn clock_guard(ahead: Arc<AtomicI64>, clock: Arc<Clock>, registry: &mut Registry) -> ClockGuard {
    let tell = move || -> heartline::storage::hot_store::Answer<_> {
        let ahead = ahead.load(Ordering::Relaxed);
        Box::pin(async move { Ok(Some(clock::wall().saturating_add_signed(ahead))) })
    };
    ClockGuard::new(tell, clock, registry)
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    pub fn json(&self) -> Value {
        assert_eq!((self.status, self.header("content-type")), (200, Some("application/json")), "{}", self.body);
        serde_json::from_str(&self.body).expect("JSON")
    }

    pub fn problem(&self, status: u16, word: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem: Value = serde_json::from_str(&self.body).expect("JSON");
        assert_eq!(problem["type"], format!("/problems/{word}"), "{problem}");
        problem
    }
}
