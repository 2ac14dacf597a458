//! The channel over Redis: sharded pub/sub, a channel for each user, named under the tag of the user's shard.
//!
//! ```text
//! follow, unfollow ─▶ UserSubscriptions: users wanted, users subscribed ─┐
//! tell, announce ───▶ queue of the line that has the shard ───────┴▶ Link: one connection to each node ─▶ ChannelSubscriber
//! ```
//!
//! The subscriptions of Redis are the only registry of which gateway has connections of a user. They end with the
//! connection when a gateway dies. The script of the hot store counts the subscribers of a user, less this gateway's
//! own subscription, which [`RedisChannel::follows`] tells.
//!
//! A line is the connection to one node. A lost line is opened again and subscribes all its users anew; messages to it
//! are dropped until then. Each node of a Cluster has a line of its own, so that a node that is away affects no other.
//! Redis itself disconnects a line that reads too slowly (`client-output-buffer-limit pubsub`).

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

use crate::{Redis, tag};
use link::Link;
use metrics::{Dropped, Metrics};
use model::ids::{GatewayId, UserId};
use model::shard::{Shard, Shards};
use storage::device_channel::codec;
use storage::device_channel::{Announcement, ChannelAway, ChannelSubscriber, DeviceChannel, UserChange};
use user_subscriptions::UserSubscriptions;

/// The channel of announcements; in a Cluster it is on the node that has [`ANNOUNCING`].
const TO_ALL: &str = "heartline:all";
const ANNOUNCING: Shard = Shard(0);
/// How often the nodes of the shards are looked up, in the map of the connections and not over the network.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Receives nothing, and drops all messages to send, before [`run`](Self::run).
pub struct RedisChannel {
    gateway: GatewayId,
    shards: Shards,
    followed: Mutex<UserSubscriptions>,
    /// Notified when a user is to be followed, or no longer followed, and when a line is there.
    changed: watch::Sender<()>,
    metrics: Metrics,
}

/// A message that waits to be published on a line. At most [`link::QUEUE_MAX`] wait for each node.
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

    /// Whether Redis counts a subscription of this gateway for the user. True only once Redis has confirmed it, so that
    /// the subscription of another gateway is never taken for it. While this gateway unsubscribes, its subscription may
    /// count as another's: then a message is published that no gateway receives.
    pub fn follows(&self, user: UserId) -> bool {
        self.followed().is_subscribed(self.shards.of(user), user)
    }

    /// Keeps a line to every node that has a shard. Never ends; all lines end when it is dropped.
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

    /// The shards of each node. A shard whose node is not known is left out.
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

    fn publish(&self, user: UserId, change: UserChange) {
        let shard = self.shards.of(user);
        let Some(line) = self.line(shard) else { return self.metrics.dropped(Dropped::Away, 1) };
        let message = codec::encode_change(self.gateway, &change);
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
