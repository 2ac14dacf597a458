//! The base of the backends on Redis: connections to one server, to a Cluster, or to a master that Sentinel names.
//!
//! ```text
//! Redis ─ send, ask ─▶ Fleet: which node has the shard ─▶ Node: a checked Link ─▶ dial: connections, on the thread "redis"
//!                       ▲                                  ▲
//!                 Keepers: CLUSTER SLOTS, Sentinel     keep: connect, check, look again every second
//! ```
//!
//! A connection is used only after its server was found fit ([`check`]) and of this deployment ([`deployment`]). All
//! connections speak RESP2, except those of subscribers. The keys of a shard carry its [`tag`], so that a Cluster keeps
//! them on one node. This module knows the node of each shard and decides which requests are sent again; the client
//! library does neither.

mod address;
mod append_only_file;
mod check;
pub mod checked;
pub mod content_names;
pub mod counters;
mod deployment;
pub mod device_channel;
mod dial;
pub mod examine;
mod fleet;
pub mod fleet_settings;
pub mod hot_store;
pub mod joined;
pub mod lease;
mod memory;
mod metrics;
pub mod names;
mod node;
pub mod owner_queues;
pub mod prepare;
mod probe;
pub mod rebuild;
mod refused;
mod request;
pub mod revocation_list;
mod round_trip;
pub mod script;
mod sites;
pub mod sums;
mod swap;
mod target;
mod terms;
mod tls;
mod tls_fault;
mod topology;
pub mod value;
pub mod views;
mod wrong_port;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::redis::aio::{AsyncPushSender, MultiplexedConnection};
use ::redis::{Pipeline, Script, Value};
use futures_util::future::join_all;
use prometheus_client::registry::Registry;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use deployment::shards;
use fleet::{Fleet, Map};
use metrics::Failed;
use model::shard::Shard;
use node::Node;
pub use refused::RedisRefused;
pub use request::{Call, Reply, Request};
use storage::config::redis::RedisConfig;
use storage::store_error::StoreError;
pub use swap::{Swap, Swapped};
use target::{Kind, Target};
pub use target::{fault_of_files, is_encrypted, mistake};
use terms::Terms;

/// The hash tag that all keys of a shard carry.
pub fn tag(shard: Shard) -> String {
    format!("{{h{}}}", shard.0)
}

/// How often a part of a group is sent if it was not done, because a script was not loaded or a shard had moved.
const TRIES: usize = 4;
/// The pause after a shard has moved: the nodes are asked for the new map meanwhile.
const MOVED_PAUSE: Duration = Duration::from_millis(150);
/// A reading of the clock that took longer is discarded.
const TIME_TRIP_MAX: Duration = Duration::from_millis(500);

/// A Redis that was found fit. Cheap to clone; may be used from any thread that runs in a tokio runtime with its timer
/// on.
#[derive(Clone)]
pub struct Redis {
    shared: Arc<Shared>,
}

struct Shared {
    fleet: Arc<Fleet>,
    deployment: Arc<str>,
    lanes: usize,
    /// The lane of each shard.
    lane_of_shard: Vec<u16>,
    /// The runtime of the thread that drives the connections.
    runtime: Handle,
    /// Dropped with the last handle: the thread ends.
    _stop: oneshot::Sender<()>,
}

/// A connection to one node for subscriptions. It is lost with the node, and is not opened again by itself.
pub struct Listener {
    /// Speaks RESP3.
    pub connection: MultiplexedConnection,
    /// The name of the node, as [`Redis::home`] returns it.
    pub node: String,
}

/// Which shards are on a server that can [swap](Swap).
pub struct CanSwap {
    map: Arc<Map>,
    nodes: Vec<bool>,
}

impl CanSwap {
    /// Whether the server of this shard can swap.
    pub fn at(&self, shard: Shard) -> bool {
        self.map.node_index(shard).is_ok_and(|index| self.nodes[index])
    }
}

impl Redis {
    /// Connects, and checks what was found. Blocks for some seconds if there is no server. The connections live on a
    /// thread of their own, for as long as there is a handle, and are opened again when they are lost.
    pub fn open(config: &RedisConfig) -> Result<Redis, RedisRefused> {
        let target = Target::open(config)?;
        let fleet = Arc::new(Fleet::new(Terms::new(target, config.durability)));
        let runtime = Builder::new_current_thread().enable_all().build().map_err(RedisRefused::Process)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let (sender, opened) = std::sync::mpsc::sync_channel(1);
        let run = {
            let fleet = fleet.clone();
            async move {
                let keepers = match fleet.open().await {
                    Ok(keepers) => keepers,
                    Err(trouble) => return sender.send(Err(trouble)).unwrap_or_default(),
                };
                let _ = sender.send(Ok(()));
                tokio::select! {
                    () = keepers.run() => {}
                    _ = stopped => {}
                }
            }
        };
        let thread = thread::Builder::new().name("redis".to_owned());
        thread.spawn(move || runtime.block_on(run)).map_err(RedisRefused::Process)?;
        opened.recv().expect("the thread says how it went")?;
        let deployment = fleet.terms.deployment.get().expect("a node was looked at").clone();
        tracing::info!(event = "redis_opened", deployment = deployment::id(&deployment), "redis opened");
        let map = fleet.map();
        let lane_of_shard = shards().map(|shard| map.node_index(shard).map_or(0, |index| index as u16)).collect();
        let lanes = map.nodes.len().max(1);
        let shared = Shared { fleet, deployment, lanes, lane_of_shard, runtime: handle, _stop: stop };
        Ok(Redis { shared: Arc::new(shared) })
    }

    /// The exact value of the key `{h<shard>}:deployment` of every shard: scripts write only if it is there.
    pub fn deployment(&self) -> &Arc<str> {
        &self.shared.deployment
    }

    /// The id of the deployment.
    pub fn id(&self) -> Arc<str> {
        deployment::id(&self.shared.deployment).into()
    }

    /// When the deployment was rebuilt after a loss, milliseconds since 1970; `None`: it never was.
    pub fn rebuilt_at(&self) -> Option<u64> {
        deployment::rebuilt_at(&self.shared.deployment)
    }

    pub fn register(&self, registry: &mut Registry) {
        self.shared.fleet.terms.metrics.register(registry);
    }

    /// Whether files of TLS are used, which can be read again.
    pub fn has_certificates(&self) -> bool {
        self.shared.fleet.terms.target.tls.as_ref().is_some_and(|tls| tls.has_files())
    }

    /// Reads these files again: new connections use them, or the former ones if these cannot be used.
    pub fn reload_certificates(&self) -> Result<(), String> {
        self.shared.fleet.terms.target.tls.as_ref().map_or(Ok(()), |tls| tls.reload())
    }

    /// Whether one script may touch keys of several shards: not in a Cluster, where they are of several slots.
    pub fn joins_shards(&self) -> bool {
        self.shared.fleet.terms.target.kind != Kind::Cluster
    }

    /// Calls the script with `KEYS` = `{h<shard>}:deployment` of each shard and these arguments, all in one pipeline
    /// for each node, and answers in the order of the calls. The keys that a call touches must be of its shards, and no
    /// two calls may touch the same key.
    ///
    /// # Errors
    /// Away: all, some or none of the calls were done. Repeat them all.
    pub async fn run(&self, script: &Script, calls: Vec<Call>) -> Result<Vec<Value>, StoreError> {
        self.run_each(script, calls).await.into_iter().collect()
    }

    /// Like [`run`](Self::run), but each call has its own result: a node that is away fails only the calls about its
    /// shards.
    pub async fn run_each(&self, script: &Script, calls: Vec<Call>) -> Vec<Result<Value, StoreError>> {
        let replies = self.send(script, calls.into_iter().map(Request::Call).collect()).await;
        let value = |reply| match reply {
            Reply::Called(value) => value,
            Reply::Swapped(_) => unreachable!("a call is answered as one"),
        };
        replies.into_iter().map(|reply| reply.map(value)).collect()
    }

    /// Which servers can [swap](Swap) now. A server that cannot refuses all swaps.
    pub fn can_swap(&self) -> CanSwap {
        let map = self.shared.fleet.map();
        let nodes = map.nodes.iter().map(|node| node.link().is_ok_and(|link| link.can_swap())).collect();
        CanSwap { map, nodes }
    }

    /// Sends calls of the script and swaps, all in one pipeline for each node, and answers in the order of the
    /// requests. No two may be about the same keys.
    ///
    /// # Errors
    /// Away: it was done or not.
    pub async fn send(&self, script: &Script, requests: Vec<Request>) -> Vec<Result<Reply, StoreError>> {
        debug_assert!(
            self.joins_shards() || requests.iter().all(Request::is_of_one_shard),
            "a Cluster would refuse it"
        );
        let fleet = &self.shared.fleet;
        let mut replies: Vec<Option<Result<Reply, StoreError>>> = requests.iter().map(|_| None).collect();
        for _ in 0..TRIES {
            let map = fleet.map();
            let mut parts = vec![Vec::new(); map.nodes.len()];
            for (index, reply) in replies.iter_mut().enumerate().filter(|(_, reply)| reply.is_none()) {
                match map.node_index(requests[index].home()) {
                    Ok(node) => parts[node].push(index),
                    Err(error) => *reply = Some(Err(error)),
                }
            }
            let parts = map.nodes.iter().zip(parts).filter(|(_, part)| !part.is_empty());
            let sent = join_all(parts.map(async |(node, part)| {
                let of_part: Vec<&Request> = part.iter().map(|index| &requests[*index]).collect();
                (round_trip::send(node, &fleet.terms.metrics, script, &of_part, self.joins_shards()).await, part)
            }));
            for (of_part, part) in sent.await {
                match of_part {
                    Ok(of_part) => {
                        part.into_iter().zip(of_part).for_each(|(index, reply)| replies[index] = reply.map(Ok))
                    }
                    Err(error) => part.into_iter().for_each(|index| replies[index] = Some(Err(error.clone()))),
                }
            }
            if replies.iter().all(Option::is_some) {
                break;
            }
            fleet.terms.metrics.failed(Failed::Moved);
            fleet.terms.look.notify_one();
            sleep(MOVED_PAUSE).await;
        }
        let moving = || Err(StoreError::Away("shards keep moving between nodes".to_owned()));
        replies.into_iter().map(|reply| reply.unwrap_or_else(moving)).collect()
    }

    /// Sends commands about keys of one shard, in one pipeline. It may wait behind other reads, and never behind
    /// commits.
    pub async fn ask(&self, shard: Shard, commands: Pipeline) -> Result<Vec<Value>, StoreError> {
        let count = commands.cmd_iter().count();
        for _ in 0..TRIES {
            let map = self.shared.fleet.map();
            let node = &map.nodes[map.node_index(shard)?];
            let link = node.link()?;
            let _turn = node.reads.acquire().await;
            let sent = dial::send(&mut link.reads.clone(), &commands, count).await;
            let values = sent.map_err(|error| link.failed(&node.address, &error))?;
            let mut moved = false;
            for value in &values {
                let Value::ServerError(error) = value else { continue };
                // A value of another type is unreadable, but the node is fine.
                match error.code() {
                    _ if dial::is_elsewhere(error) => moved = true,
                    "WRONGTYPE" => {}
                    _ => return Err(link.refused(&node.address, error)),
                }
            }
            if !moved {
                return Ok(values);
            }
            self.shared.fleet.terms.metrics.failed(Failed::Moved);
            self.shared.fleet.terms.look.notify_one();
            sleep(MOVED_PAUSE).await;
        }
        Err(StoreError::Away(format!("shard {} keeps moving between nodes", shard.0)))
    }

    /// The clock of Redis, milliseconds since 1970, at the middle of the round trip; of several masters the one that is
    /// furthest from this machine's. Masters that are away have no say.
    pub async fn time(&self) -> Result<u64, StoreError> {
        let map = self.shared.fleet.map();
        let here = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let (mut furthest, mut away) = (None, StoreError::Away("no redis node is known".to_owned()));
        for told in join_all(map.nodes.iter().map(|node| told_by(node))).await {
            match told {
                Ok(time) => furthest = furthest.into_iter().chain([time]).max_by_key(|time| time.abs_diff(here)),
                Err(error) => away = error,
            }
        }
        furthest.ok_or(away)
    }

    /// The number of masters at the start.
    pub fn lanes(&self) -> usize {
        self.shared.lanes
    }

    /// The master that had the shard at the start. The lane of a user stays the same, even if the shard moves later.
    pub fn lane(&self, shard: Shard) -> usize {
        self.shared.lane_of_shard.get(usize::from(shard.0)).copied().map_or(0, usize::from)
    }

    /// Whether the node that has the shard is connected and was found fit.
    pub fn is_connected(&self, shard: Shard) -> bool {
        let map = self.shared.fleet.map();
        map.node_index(shard).is_ok_and(|index| map.nodes[index].is_up())
    }

    /// Whether that node also takes writes, as far as the last one tells.
    pub fn takes_writes(&self, shard: Shard) -> bool {
        let map = self.shared.fleet.map();
        map.node_index(shard).is_ok_and(|index| map.nodes[index].takes_writes())
    }

    /// Why nodes take no writes, a line for each of them.
    pub fn troubles(&self) -> Vec<String> {
        self.shared.fleet.map().nodes.iter().filter_map(|node| node.trouble()).collect()
    }

    /// The name of the node that has the shard now.
    pub fn home(&self, shard: Shard) -> Result<String, StoreError> {
        let map = self.shared.fleet.map();
        Ok(map.nodes[map.node_index(shard)?].address.to_string())
    }

    /// Connects to the node that has the shard, to be told by `pushes` of what is published there; `pushes` must not
    /// block. Its last push is [`PushKind::Disconnection`](::redis::PushKind::Disconnection).
    pub async fn listen(&self, shard: Shard, pushes: impl AsyncPushSender) -> Result<Listener, StoreError> {
        let fleet = self.shared.fleet.clone();
        let map = fleet.map();
        let node = map.nodes[map.node_index(shard)?].clone();
        // A node that is away for commits is not listened to: it may be of another deployment.
        node.link()?;
        let name = node.address.to_string();
        let dialled =
            self.shared.runtime.spawn(async move { dial::listener(&fleet.terms.target, &node.address, pushes).await });
        let connection = dialled.await.map_err(|error| StoreError::Away(error.to_string()))?;
        let connection = connection.map_err(|trouble| StoreError::Away(trouble.text()))?;
        Ok(Listener { connection, node: name })
    }
}

async fn told_by(node: &Node) -> Result<u64, StoreError> {
    let link = node.link()?;
    let (asked, mut connection) = (Instant::now(), link.reads.clone());
    let late = |_| StoreError::Away(format!("{} does not answer TIME in {TIME_TRIP_MAX:?}", node.address));
    let told = timeout(TIME_TRIP_MAX, dial::time(&mut connection)).await.map_err(late)?;
    let time = told.map_err(|error| link.failed(&node.address, &error))?;
    Ok(time + asked.elapsed().as_millis() as u64 / 2)
}
