//! The channel over Redis: sharded pub/sub, a channel for each user, named under the tag of the user's shard.
//!
//! ```text
//! follow, unfollow ─▶ UserSubscriptions: who is wanted, who is subscribed ─┐
//! tell, announce ───▶ queue of the line that has the shard ───────┴▶ Link: one connection to each node ─▶ ChannelSubscriber
//! ```
//!
//! Who is connected where is written nowhere: the subscriptions of Redis are the registry, and go with the connection
//! when a gateway dies. The hot store's script counts them, and leaves out this gateway's own, of which it is told by
//! [`RedisChannel::follows`].
//!
//! A line that is lost is opened again; until then what is told on it is dropped. Then all users whom it has to follow
//! are subscribed anew. Each node of a Cluster has a line of its own, so that one that is away takes no other along.
//! One that reads too slowly Redis itself cuts off (`client-output-buffer-limit pubsub`).

mod link;
mod metrics;
mod user_subscriptions;

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::registry::Registry;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::codec::{self, GatewayId};
use super::{Announcement, ChannelAway, ChannelSubscriber, DeviceChannel, UserChange};
use crate::model::ids::UserId;
use crate::model::shard::{Shard, Shards};
use crate::storage::redis::{Redis, tag};
use link::Link;
use metrics::{Dropped, Metrics};
use user_subscriptions::UserSubscriptions;

/// Where announcements are published, in a Cluster by the node that has [`ANNOUNCING`].
const TO_ALL: &str = "heartline:all";
const ANNOUNCING: Shard = Shard(0);
/// How often it is asked where the shards are: with the map of the connections, not over the network.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Nothing is heard and all that is told is dropped before [`run`](Self::run).
pub struct RedisChannel {
    gateway: GatewayId,
    shards: Shards,
    followed: Mutex<UserSubscriptions>,
    /// Notified when a user is to be followed, or no longer followed, and when a line is there.
    changed: watch::Sender<()>,
    metrics: Metrics,
}

/// What waits to be published on a line. At most [`link::QUEUE_MAX`] for each node.
enum Waiting {
    UserChange { user: UserId, shard: Shard, message: Vec<u8> },
    Announced { message: Vec<u8>, answer: oneshot::Sender<Result<(), ChannelAway>> },
}

impl RedisChannel {
    pub fn new() -> Arc<Self> {
        let shards = Shards::DEFAULT;
        Arc::new(RedisChannel {
            gateway: GatewayId(rand::random()),
            shards,
            followed: Mutex::new(UserSubscriptions::new(shards)),
            changed: watch::Sender::new(()),
            metrics: Metrics::default(),
        })
    }

    pub fn register(self: &Arc<Self>, registry: &mut Registry) {
        self.metrics.register(registry);
        registry.register_collector(Box::new(metrics::Subscriptions(self.clone())));
    }

    /// Whether this gateway's own subscription is among those that Redis counts of the user: not before Redis has
    /// confirmed it, so that no other gateway's is taken for it. While it is being given up it may be counted as
    /// another's, and a message goes out that no gateway hears.
    pub fn follows(&self, user: UserId) -> bool {
        self.followed().is_subscribed(self.shards.of(user), user)
    }

    /// Keeps a line to every node that has a shard. Never ends; dropped, all lines end.
    pub async fn run(self: Arc<Self>, redis: Redis, subscriber: Arc<dyn ChannelSubscriber>) {
        let mut lines: HashMap<String, watch::Sender<Vec<Shard>>> = HashMap::new();
        let mut tasks = JoinSet::new();
        loop {
            let homes = self.homes(&redis);
            // A line whose node has no shard any more finds that out by this.
            lines.retain(|node, _| homes.contains_key(node));
            for (node, shards) in homes {
                if let Some(line) = lines.get(&node) {
                    line.send_if_modified(|own| {
                        let moved = *own != shards;
                        own.clone_from(&shards);
                        moved
                    });
                    continue;
                }
                let (sender, own) = watch::channel(shards);
                let line = Link {
                    channel: self.clone(),
                    redis: redis.clone(),
                    subscriber: subscriber.clone(),
                    node: node.clone(),
                };
                tasks.spawn(line.keep(own));
                lines.insert(node, sender);
            }
            while tasks.try_join_next().is_some() {}
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Which node has which shards. One whose node is not known is nowhere for now.
    fn homes(&self, redis: &Redis) -> BTreeMap<String, Vec<Shard>> {
        let mut homes: BTreeMap<String, Vec<Shard>> = BTreeMap::new();
        for shard in self.shards.all() {
            if let Ok(node) = redis.home(shard) {
                homes.entry(node).or_default().push(shard);
            }
        }
        homes
    }

    /// Where the user's changes are published.
    fn name(&self, shard: Shard, user: UserId) -> String {
        format!("{}:n:{}", tag(shard), user.0)
    }

    fn followed(&self) -> MutexGuard<'_, UserSubscriptions> {
        self.followed.lock()
    }

    fn line(&self, shard: Shard) -> Option<mpsc::Sender<Waiting>> {
        self.followed().line(shard)
    }
}

impl DeviceChannel for RedisChannel {
    fn follow(&self, user: UserId) {
        if self.followed().want(self.shards.of(user), user) {
            self.changed.send_replace(());
        }
    }

    fn unfollow(&self, user: UserId) {
        if self.followed().leave(self.shards.of(user), user) {
            self.changed.send_replace(());
        }
    }

    fn tell(&self, user: UserId, told: UserChange) {
        let shard = self.shards.of(user);
        let Some(line) = self.line(shard) else { return self.metrics.dropped(Dropped::Away, 1) };
        let message = codec::encode_told(self.gateway, &told);
        match line.try_send(Waiting::UserChange { user, shard, message }) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => self.metrics.dropped(Dropped::Full, 1),
            Err(mpsc::error::TrySendError::Closed(_)) => self.metrics.dropped(Dropped::Away, 1),
        }
    }

    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        let away = |why: &str| Err(ChannelAway(why.to_owned()));
        let (answer, answered) = oneshot::channel();
        let message = codec::encode_announcement(self.gateway, announcement);
        let sent = match self.line(ANNOUNCING).map(|line| line.try_send(Waiting::Announced { message, answer })) {
            Some(Ok(())) => Ok(()),
            Some(Err(mpsc::error::TrySendError::Full(_))) => away("too much waits to be told"),
            Some(Err(mpsc::error::TrySendError::Closed(_))) | None => away("Redis is not connected"),
        };
        if let Err(error) = sent {
            self.metrics.dropped(Dropped::Away, 1);
            return Box::pin(ready(Err(error)));
        }
        Box::pin(async move {
            let lost = |_| Err(ChannelAway("connection to redis lost".to_owned()));
            answered.await.unwrap_or_else(lost)
        })
    }
}
