//! The store on Redis as a backend: on one server, and on a Cluster of three.

use std::cell::RefCell;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use heartline::model::ids::UserId;
use heartline::model::shard::Shards;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::HotStore;
use heartline::storage::notices::Notices;
use heartline::storage::outbox::Outbox;
use heartline::storage_redis::Redis;
use heartline::storage_redis::hot_store::{RedisStore, Settings};
use heartline::storage_redis::prepare::prepare;
use redis::{Client, Connection, FromRedisValue, cmd};
use tempfile::TempDir;

use crate::backends::notices::NoticesBackend;
use crate::backends::redis_server::{RedisServer, free_port};
use crate::backends::requests::*;

/// Where a test keeps what it likes. A test that wants an empty one again and again gets the same servers.
pub trait Servers: Sized {
    fn start() -> Self;
    /// `redis.url`.
    fn url(&self) -> String;
    fn all(&self) -> &[RedisServer];
    fn all_mut(&mut self) -> &mut [RedisServer];
    /// Those of this thread, which end with it: a test has a thread of its own.
    fn with_those_of_this_thread<T>(act: impl FnOnce(&mut Option<Self>) -> T) -> T;
}

pub struct Single {
    servers: [RedisServer; 1],
    _directory: TempDir,
}

/// Three masters without replicas.
pub struct Several {
    servers: Vec<RedisServer>,
    _directory: TempDir,
}

pub type OneServer = OnRedis<Single>;
pub type Cluster = OnRedis<Several>;

thread_local! {
    static SINGLE: RefCell<Option<Single>> = const { RefCell::new(None) };
    static SEVERAL: RefCell<Option<Several>> = const { RefCell::new(None) };
}

impl Servers for Single {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Single { servers: [RedisServer::start(directory.path())], _directory: directory }
    }

    fn url(&self) -> String {
        self.servers[0].url()
    }

    fn all(&self) -> &[RedisServer] {
        &self.servers
    }

    fn all_mut(&mut self) -> &mut [RedisServer] {
        &mut self.servers
    }

    fn with_those_of_this_thread<T>(act: impl FnOnce(&mut Option<Self>) -> T) -> T {
        SINGLE.with_borrow_mut(act)
    }
}

impl Servers for Several {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let node = |number: usize| {
            let port = free_port().to_string();
            let mut arguments = vec!["--cluster-enabled", "yes", "--cluster-port", &port];
            arguments.extend(["--cluster-require-full-coverage", "no", "--cluster-node-timeout", "5000"]);
            let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
            RedisServer::start_with(&directory.path().join(number.to_string()), &arguments)
        };
        let nodes: Vec<RedisServer> = (0..3).map(node).collect();
        let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port()));
        let mut redis_cli = Command::new("redis-cli");
        let created = redis_cli.args(["--cluster", "create"]).args(addresses).arg("--cluster-yes").output();
        let created = created.expect("redis-cli is missing; run: apt-get install -y redis-tools");
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        for node in &nodes {
            let state = || cmd("CLUSTER").arg("INFO").query::<String>(&mut connection(node)).unwrap();
            while !state().contains("cluster_state:ok") {
                thread::sleep(Duration::from_millis(20));
            }
        }
        Several { servers: nodes, _directory: directory }
    }

    fn url(&self) -> String {
        format!("redis-cluster://127.0.0.1:{}", self.servers[0].port())
    }

    fn all(&self) -> &[RedisServer] {
        &self.servers
    }

    fn all_mut(&mut self) -> &mut [RedisServer] {
        &mut self.servers
    }

    fn with_those_of_this_thread<T>(act: impl FnOnce(&mut Option<Self>) -> T) -> T {
        SEVERAL.with_borrow_mut(act)
    }
}

pub fn connection(server: &RedisServer) -> Connection {
    Client::open(server.url()).unwrap().get_connection().unwrap()
}

/// Whether it has `SET … IFEQ`. Of a Cluster the node that has the key tells.
pub fn can_swap(connection: &mut Connection) -> bool {
    cmd("SET").arg(&["{h0}:none", "new", "IFEQ", "old"]).exec(connection).is_ok()
}

/// A key of the user.
pub fn key(user: UserId, letter: &str) -> String {
    format!("{{h{}}}:{letter}:{}", Shards::DEFAULT.of(user).0, user.0)
}

/// The answer to a command.
pub fn tell<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> T {
    cmd(words[0]).arg(&words[1..]).query(connection).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

pub struct OnRedis<S: Servers> {
    /// Taken while the store is there.
    servers: Option<S>,
    store: Option<Arc<RedisStore>>,
}

impl<S: Servers> OnRedis<S> {
    pub fn servers(&self) -> &S {
        self.servers.as_ref().unwrap()
    }

    pub fn servers_mut(&mut self) -> &mut S {
        self.servers.as_mut().unwrap()
    }

    pub fn redis_store(&self) -> &RedisStore {
        self.store.as_ref().unwrap()
    }

    /// To the one server, or to the first of several.
    pub fn connection(&self) -> Connection {
        connection(&self.servers().all()[0])
    }
}

/// Small, so that users have to be read again and again.
const USER_CACHE: usize = 3;

/// As it is opened on these servers. What was left in the outbox is found at once.
pub fn open(url: &str, limits: Limits) -> RedisStore {
    open_with(url, limits, Duration::ZERO, |_| false)
}

/// `follows`: whether this gateway follows a user itself.
pub fn open_with(
    url: &str,
    limits: Limits,
    takeover_after: Duration,
    follows: impl Fn(UserId) -> bool + Send + Sync + 'static,
) -> RedisStore {
    open_remembering(USER_CACHE, url, limits, takeover_after, follows)
}

/// `users`: so many users' heads are remembered.
pub fn open_remembering(
    users: usize,
    url: &str,
    limits: Limits,
    takeover_after: Duration,
    follows: impl Fn(UserId) -> bool + Send + Sync + 'static,
) -> RedisStore {
    let settings = Settings {
        retention: limits.retention(),
        records_per_user: NonZeroU32::new(limits.records_per_user).unwrap(),
        user_cache: NonZeroUsize::new(users).unwrap(),
        history_interval: None,
        outbox_max: 1_000_000,
        takeover_after,
    };
    let redis = Redis::open(&RedisConfig::strict(url)).unwrap();
    wait(RedisStore::open(redis, settings, Arc::new(follows))).unwrap()
}

impl<S: Servers> NoticesBackend for OnRedis<S> {
    fn notices(&self) -> Arc<dyn Notices> {
        self.store.clone().unwrap()
    }
}

impl<S: Servers> Backend for OnRedis<S> {
    /// Each shard has one of its own, and a takeover goes by the moments of the claims.
    const OUTBOX_KEEPS_ORDER: bool = false;

    fn fresh(limits: Limits) -> Self {
        let servers = S::with_those_of_this_thread(Option::take).unwrap_or_else(S::start);
        for server in servers.all() {
            cmd("FLUSHALL").arg("SYNC").exec(&mut connection(server)).unwrap();
        }
        prepare(&RedisConfig::strict(&servers.url())).unwrap();
        let store = Some(Arc::new(open(&servers.url(), limits)));
        OnRedis { servers: Some(servers), store }
    }

    fn store(&self) -> Arc<dyn HotStore> {
        self.store.clone().unwrap()
    }

    fn outbox(&self) -> Arc<dyn Outbox> {
        self.store.clone().unwrap()
    }

    fn reopen(&mut self, limits: Limits) {
        let closed = self.store.take().and_then(Arc::into_inner);
        drop(closed.expect("somebody still uses the store"));
        self.store = Some(Arc::new(open(&self.servers().url(), limits)));
    }
}

impl<S: Servers> Drop for OnRedis<S> {
    fn drop(&mut self) {
        S::with_those_of_this_thread(|servers| *servers = self.servers.take());
    }
}
