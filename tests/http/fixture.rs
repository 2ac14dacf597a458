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

use crate::faulty::Faulty;
use crate::memory::{Memory, NoOutbox};

use heartline::config::Config;
use heartline::domain::clock::{self, Clock};
use heartline::domain::devices::block::Block;
use heartline::domain::devices::presence::Presence;
use heartline::domain::history::History;
use heartline::domain::ingest::commit::Committer;
use heartline::domain::ingest::intake::Intake;
use heartline::domain::ingest::lane::Lane;
use heartline::domain::ingest::metrics::Metrics;
use heartline::domain::revocations::Revocations;
use heartline::domain::rewards;
use heartline::domain::rewards::arrivals::Arrivals;
use heartline::domain::rewards::judge::Judge;
use heartline::domain::rewards::today::Today;
use heartline::domain::timekeeper::Timekeeper;
use heartline::edge::auth::gate::Gate;
use heartline::edge::auth::{AuthConfig, SigningKey, Verifier};
use heartline::edge::connection::rate::Pace;
use heartline::edge::desk::Desk;
use heartline::edge::http::router;
use heartline::edge::listener::{self, Entrance, Proxies};
use heartline::edge::origin::Origins;
use heartline::edge::rates::Rates;
use heartline::model::ids::{Content, UserId};
use heartline::model::record::Record;
use heartline::model::rewards::rule::Rules;
use heartline::model::rule::Admission;
use heartline::model::secret::Secret;
use heartline::model::shard::Shards;
use heartline::shutdown::Shutdown;
use heartline::storage::device_channel::Alone;
use heartline::storage::hot_store::{HotStore, StoreError};
use heartline::storage::revocation_list::file::FileList;

const USER: UserId = UserId(42);

pub struct Fixture {
    router: Router,
    desk: Arc<Desk>,
    pub store: Arc<Faulty<Memory>>,
    /// What `/readyz` asks.
    pub takes_writes: Box<dyn Fn() -> bool>,
    /// Where the committer ends when the store has failed.
    pub ended: Cell<Option<JoinHandle<StoreError>>>,
    /// Without it everything would end.
    _shutdown: Shutdown,
    pub token: String,
    key: SigningKey,
    block: Arc<Block>,
    clock: Arc<Clock>,
    timekeeper: Timekeeper,
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

    pub fn new() -> Self {
        Self::over(Memory::default())
    }

    pub fn with_dead_store() -> Self {
        Self::over(Memory::dead())
    }

    fn over(store: Memory) -> Self {
        let defaults = Config::load(None).expect("the defaults");
        let mut limits = defaults.limits;
        (limits.burst, limits.body_bytes, limits.items) = (Self::BURST, Self::BODY_BYTES, Self::ITEMS);
        let mut registry = Registry::default();
        let memory = Arc::new(Faulty::over(store));
        let (store, clock): (Arc<dyn HotStore>, _) = (memory.clone(), Arc::new(Clock::starting_at(0)));
        let shutdown = Shutdown::new(Duration::from_secs(1));
        let (bell, metrics) = (Arc::new(Notify::new()), Metrics::new(&mut registry));
        let (lane, returns) = Lane::new(bell.clone());
        // Nobody is rewarded here: the store in memory decides nothing.
        let rules: Arc<Rules> = Arc::default();
        let today = Arc::new(Today::open("UTC", rules.clone(), None, clock.now()).expect("a zone"));
        let config = &defaults.rewards;
        let remembered = Arc::new(rewards::memory::Memory::new(rules.clone(), Shards::DEFAULT, config, &mut registry));
        let counted = rewards::metrics::Metrics::new(&rules, &mut registry);
        let committer = Committer {
            store: store.clone(),
            clock: clock.clone(),
            judge: Judge {
                rules: rules.clone(),
                today: today.clone(),
                memory: remembered.clone(),
                outbox: Arc::new(NoOutbox),
                outbox_max: 0,
                bell: Arc::default(),
                metrics: counted.clone(),
            },
            lanes: vec![lane.clone()],
            listeners: Vec::new(),
            bell,
            interval: Duration::ZERO,
            health: Arc::default(),
            metrics: metrics.clone(),
        };
        let health = committer.health.clone();
        let takes_writes = Box::new(move || health.takes_writes());
        let ended = Cell::new(Some(tokio::spawn(committer.run())));
        tokio::spawn(returns.run());

        let secret = Secret::new("a-key-for-tests-only-0123456789abcdef".to_owned());
        let config = AuthConfig { hs256_secret: secret, ..defaults.auth };
        let key = SigningKey::load(&config, Path::new("/nowhere")).ok().flatten().expect("a configured key");
        let token = key.issue(USER, Duration::from_secs(3_600), clock::wall()).token;
        let presence = Presence::new(8);
        let block = Arc::new(Block::new(presence.clone()));
        let no_list = Box::new(FileList::of(Path::new("/nowhere")));
        let revocations =
            Arc::new(Revocations::open(presence.clone(), no_list, Arc::new(Alone), None).expect("an empty list"));
        let verifier = Arc::new(Verifier::new(&config, Some(&key)).expect("keys"));
        let store_ahead = Arc::new(AtomicI64::new(0));
        let ahead = store_ahead.clone();
        let tell = move || -> heartline::storage::hot_store::Answer<_> {
            let ahead = ahead.load(Ordering::Relaxed);
            Box::pin(async move { Ok(Some(clock::wall().saturating_add_signed(ahead))) })
        };
        let timekeeper = Timekeeper::new(tell, clock.clone(), &mut registry);
        let desk = Arc::new(Desk {
            intake: Intake {
                lane,
                admission: Admission { retention_ms: 24 * 3_600 * 1_000 },
                clock: clock.clone(),
                metrics,
            },
            history: History::new(store.clone(), clock.clone()),
            arrivals: Arc::new(Arrivals {
                store,
                clock: clock.clone(),
                rules,
                today,
                memory: remembered,
                metrics: counted,
            }),
            gate: Gate::new(verifier, presence, block.clone(), revocations, &mut registry),
            mid_hash: heartline::model::mid_hash::MidHash::with_key(&[0; 16]),
            room: heartline::edge::listener::room::Room::new(&limits),
            requests: Arc::new(Rates::new(limits.frames_per_second, limits.burst)),
            origins: Origins::new(vec![Self::ORIGIN.to_owned()]),
            pace: Pace::new(limits.frames_per_second, limits.burst),
            limits,
            socket: defaults.socket,
            reading: defaults.reading,
            metrics: heartline::edge::metrics::Metrics::new(&mut registry),
            timekeeping: timekeeper.timekeeping(),
            stop: shutdown.stop(),
        });
        let router = router(desk.clone());
        Fixture {
            router,
            desk,
            store: memory,
            takes_writes,
            ended,
            _shutdown: shutdown,
            token,
            key,
            block,
            clock,
            timekeeper,
            store_ahead,
        }
    }

    /// Serves sockets, too; where. To be called within a `LocalSet`.
    pub async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let timeout = Duration::from_secs(5);
        let entrance = Entrance {
            router: self.router.clone(),
            proxies: Proxies::new(&Config::load(None).expect("the defaults").server),
            tls: None,
            handshake_timeout: timeout,
            request_timeout: timeout,
        };
        tokio::task::spawn_local(listener::serve(listener, self.desk.clone(), entrance));
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
        self.timekeeper.look().await;
    }

    /// What is stored, asked for without a request.
    pub async fn records(&self, contents: Vec<Content>) -> Vec<Option<Record>> {
        self.store.get(USER, contents, self.now()).await.expect("an answer")
    }

    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    pub fn kick(&self) {
        self.block.kick(USER, Instant::now());
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
