//! All masters, and which of them has a shard.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};

use super::node::{Link, Node};
use super::refused::RefusalCause;
use super::target::Kind;
use super::terms::Terms;
use super::topology::{self, Master};
use model::shard::{Shard, Shards};
use storage::store_error::StoreError;

/// How often the map of shards, or the master, is looked up.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The least time between two lookups, however many answers say that a shard has moved.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// How long a start waits for a Redis that is away: it may be starting, too.
const START_WAIT: Duration = Duration::from_secs(5);
/// How long a rewrite of the append-only file is waited for at the start.
const REWRITE_WAIT: Duration = Duration::from_secs(15 * 60);
const START_PAUSE: Duration = Duration::from_millis(200);

/// The shard of calendar, revocations and other shared keys.
const COMMON: Shard = Shard(0);

/// Replicas are told of a commit after it was acked.
const FAILOVER: &str = "redis.url uses Sentinel: a failover loses acked beats that had not reached the replica";

pub(super) struct Fleet {
    pub terms: Arc<Terms>,
    map: RwLock<Arc<Map>>,
}

/// The node of each shard.
#[derive(Default)]
pub(super) struct Map {
    pub nodes: Vec<Arc<Node>>,
    /// For each shard the index of its node.
    node_indexes: Vec<Option<u16>>,
}

impl Map {
    fn new(masters: &[Master], nodes: Vec<Arc<Node>>) -> Self {
        let mut node_indexes = vec![None; usize::from(Shards::DEFAULT.count())];
        for (index, master) in masters.iter().enumerate() {
            for shard in &master.shards {
                node_indexes[usize::from(shard.0)] = Some(index as u16);
            }
        }
        Map { nodes, node_indexes }
    }

    /// The index of the shard's node in `nodes`.
    pub fn node_index(&self, shard: Shard) -> Result<usize, StoreError> {
        let index = self.node_indexes.get(usize::from(shard.0)).copied().flatten().map(usize::from);
        index.ok_or_else(|| StoreError::Away(format!("no cluster node has shard {}", shard.0)))
    }
}

/// Which masters must be reachable.
#[derive(Clone, Copy, PartialEq)]
enum Required {
    All,
    /// That of [`COMMON`].
    Common,
}

impl Fleet {
    pub fn new(terms: Terms) -> Self {
        Fleet { terms: Arc::new(terms), map: RwLock::default() }
    }

    pub fn map(&self) -> Arc<Map> {
        self.map.read().clone()
    }

    /// Finds all masters, connects to them and checks each. Waits for masters that are away, and goes on without them
    /// if the master of the shared keys is there.
    pub async fn open(self: &Arc<Self>) -> Result<Keepers, RefusalCause> {
        match patiently(|| self.clone().try_open(Required::All)).await {
            Err(RefusalCause::Away(_)) => self.clone().try_open(Required::Common).await,
            opened => opened,
        }
    }

    async fn try_open(self: Arc<Self>, required: Required) -> Result<Keepers, RefusalCause> {
        let masters = topology::discover(&self.terms.target, Vec::new()).await?;
        topology::whole(&masters)?;
        let mut opened = Vec::new();
        for master in &masters {
            let node = Node::new(master.address.clone());
            match node.open(&self.terms, &master.shards).await {
                Ok(link) => opened.push((node, link)),
                // Its keeper says when it is back.
                Err(RefusalCause::Away(reason)) if required == Required::Common && !master.shards.contains(&COMMON) => {
                    tracing::error!(
                        event = "redis_unavailable",
                        node = %master.address,
                        reason,
                        "redis unavailable; retrying"
                    );
                }
                Err(trouble) => return Err(trouble),
            }
        }
        if matches!(self.terms.target.kind, Kind::Sentinel { .. }) {
            self.terms.advise(vec![FAILOVER.to_owned()]);
        }
        let mut keepers = Keepers { fleet: self, tasks: Vec::new() };
        keepers.adopt(masters, opened);
        Ok(keepers)
    }
}

/// Tries again for some seconds while a Redis is only away, and for minutes while it becomes durable.
pub(super) async fn patiently<T, A>(attempt: impl Fn() -> A) -> Result<T, RefusalCause>
where
    A: Future<Output = Result<T, RefusalCause>>,
{
    let (began, mut told) = (Instant::now(), String::new());
    loop {
        let result = attempt().await;
        let (reason, wait) = match &result {
            Err(RefusalCause::Away(reason)) => (reason, START_WAIT),
            Err(RefusalCause::Rewriting(reason)) => (reason, REWRITE_WAIT),
            _ => return result,
        };
        if began.elapsed() >= wait {
            return result;
        }
        if told != *reason {
            tracing::info!(event = "redis_waiting", reason, "waiting for redis");
            told.clone_from(reason);
        }
        sleep(START_PAUSE).await;
    }
}

/// Keeps the connections of every node up, and the map of shards current.
pub(super) struct Keepers {
    fleet: Arc<Fleet>,
    tasks: Vec<(Arc<Node>, AbortHandle)>,
}

impl Keepers {
    /// Runs for as long as it is polled. On the runtime of the connections.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                () = self.fleet.terms.look.notified() => sleep(LOOK_PAUSE).await,
                () = sleep(LOOK_INTERVAL) => {}
            }
            if self.fleet.terms.target.kind == Kind::Server {
                continue;
            }
            let known = self.tasks.iter().filter_map(|(node, _)| {
                let link = node.link().ok()?;
                Some((node.address.clone(), link.reads.clone()))
            });
            match topology::discover(&self.fleet.terms.target, known.collect()).await {
                Ok(masters) if masters[..] == self.fleet.terms.masters()[..] => {}
                Ok(masters) => self.adopt(masters, Vec::new()),
                // No node says so: their connections may be open, and the next failover would not be followed.
                Err(RefusalCause::Unfit(lines)) => self.fleet.terms.advise(lines),
                // Its nodes say so themselves.
                Err(trouble) => tracing::debug!(reason = trouble.text(), "cannot read the cluster topology"),
            }
        }
    }

    /// From now on these are the masters.
    fn adopt(&mut self, masters: Vec<Master>, opened: Vec<(Arc<Node>, Arc<Link>)>) {
        let names: Vec<_> = masters.iter().map(|master| master.address.to_string()).collect();
        tracing::info!(event = "redis_topology", masters = names.join(","), "redis masters changed");
        let alone = masters.iter().filter(|master| master.alone);
        let lonely =
            |master: &Master| format!("{} has no replica; while it is unavailable, acks are suspended", master.address);
        self.fleet.terms.advise(alone.map(lonely).collect());
        let (stay, go): (Vec<_>, Vec<_>) = std::mem::take(&mut self.tasks)
            .into_iter()
            .partition(|(node, _)| masters.iter().any(|master| master.address == node.address));
        self.tasks = stay;
        let mut started = Vec::new();
        let mut opened: Vec<_> = opened.into_iter().map(|(node, link)| (node, Some(link))).collect();
        let nodes = masters.iter().map(|master| {
            if let Some((node, _)) = self.tasks.iter().find(|(node, _)| node.address == master.address) {
                return node.clone();
            }
            let ready = opened.iter_mut().find(|(node, _)| node.address == master.address);
            let (node, link) = ready
                .map_or_else(|| (Node::new(master.address.clone()), None), |(node, link)| (node.clone(), link.take()));
            if let Some(link) = &link {
                node.arrive(&self.fleet.terms, link.clone());
            }
            started.push((node.clone(), link));
            node
        });
        let map = Arc::new(Map::new(&masters, nodes.collect()));
        self.fleet.terms.set_masters(masters);
        *self.fleet.map.write() = map;
        for (node, link) in started {
            let keeper = tokio::spawn(node.clone().keep(self.fleet.terms.clone(), link));
            self.tasks.push((node, keeper.abort_handle()));
        }
        for (node, keeper) in go {
            keeper.abort();
            node.leave(&self.fleet.terms);
        }
    }
}
