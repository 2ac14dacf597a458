//! One connection to a node: receives what is published there, and publishes messages there.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, PushInfo, PushKind, RedisError, Value, from_redis_value};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::sleep;

use super::metrics::Dropped;
use super::user_subscriptions::{LineId, Work};
use super::{ANNOUNCING, RedisChannel, TO_ALL, Waiting};
use crate::Redis;
use model::backoff::Backoff;
use model::ids::UserId;
use model::shard::Shard;
use storage::device_channel::codec::{self, PeerMessage};
use storage::device_channel::{ChannelAway, ChannelSubscriber};

/// Messages that wait to be published on one line, of some 100 bytes each; beyond it they are dropped.
pub(super) const QUEUE_MAX: usize = 16_384;
/// Subscriptions that are sent in one pipeline.
const TOGETHER_MAX: usize = 512;
/// Users that come and leave within this time are subscribed and unsubscribed together.
const GATHER: Duration = Duration::from_millis(5);
/// The interval of pings on a silent line; the connection itself limits the time of an answer.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);
const RETRY_FIRST: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(2);

pub(super) struct Link {
    pub channel: Arc<RedisChannel>,
    pub redis: Redis,
    pub subscriber: Arc<dyn ChannelSubscriber>,
    pub node: String,
}

/// The signals from the task of the connection to its users.
#[derive(Default)]
struct Pulse {
    lost: Notify,
    /// Outstanding confirmations of unsubscriptions. Any other one means that the server has ended a subscription, as
    /// it does when a slot moves; the library would take that for the answer to another command.
    leaving: AtomicUsize,
}

impl Link {
    /// Keeps the connection up, and the users of these shards subscribed, until the node has no shards any more.
    pub async fn keep(self, mut shards: watch::Receiver<Vec<Shard>>) {
        let (mut backoff, mut was_up) = (Backoff::new(RETRY_FIRST, RETRY_MAX), true);
        loop {
            let own = shards.borrow_and_update().clone();
            let end = self.once(&own, &mut shards).await;
            if shards.has_changed().is_err() {
                return;
            }
            if end.was_up || was_up {
                tracing::warn!(
                    event = "channel_disconnected",
                    node = self.node,
                    reason = end.reason,
                    "device channel disconnected; retrying"
                );
            }
            if end.was_up {
                backoff.succeeded();
            }
            was_up = end.was_up;
            // Not all gateways at the same moment.
            sleep(backoff.failed_with_jitter(rand::random())).await;
        }
    }

    /// One connection, from its beginning to its end.
    async fn once(&self, own: &[Shard], shards: &mut watch::Receiver<Vec<Shard>>) -> End {
        let pulse = Arc::new(Pulse::default());
        let mut connection = match self.connect(own, &pulse).await {
            Ok(connection) => connection,
            Err(reason) => return End { was_up: false, reason },
        };
        let announces = own.contains(&ANNOUNCING);
        if announces && let Err(reason) = send(&mut connection, &subscribe_to_all()).await {
            return End { was_up: false, reason };
        }
        let (sender, mut queue) = mpsc::channel(QUEUE_MAX);
        // Before the wanted users are read, so that none that comes meanwhile is missed.
        let mut changed = self.channel.changed.subscribe();
        let id = self.channel.followed().attach(own, &sender);
        drop(sender);
        self.channel.changed.send_replace(());
        self.channel.metrics.lines.inc();
        tracing::info!(event = "channel_connected", node = self.node, "device channel connected");
        if announces {
            self.subscriber.connected();
        }
        let reason = tokio::select! {
            reason = self.publish(connection.clone(), &mut queue) => reason,
            reason = self.follow(connection.clone(), id, own, &pulse, &mut changed) => reason,
            reason = self.look(connection.clone()) => reason,
            () = pulse.lost.notified() => "connection lost".to_owned(),
            _ = shards.changed() => "shards have moved".to_owned(),
        };
        self.channel.followed().detach(id);
        self.channel.metrics.lines.dec();
        // This ends the wait for an announcement.
        queue.close();
        let mut left = 0;
        while queue.try_recv().is_ok() {
            left += 1;
        }
        self.channel.metrics.dropped(Dropped::Away, left);
        End { was_up: true, reason }
    }

    async fn connect(&self, own: &[Shard], pulse: &Arc<Pulse>) -> Result<MultiplexedConnection, String> {
        let shard = own.first().ok_or("it has no shards")?;
        let (channel, subscriber, pulse) = (self.channel.clone(), self.subscriber.clone(), pulse.clone());
        let hear = move |push: PushInfo| {
            receive(&channel, &*subscriber, &pulse, push);
            Ok::<(), RedisError>(())
        };
        let listener = self.redis.listen(*shard, hear).await.map_err(|error| error.to_string())?;
        match listener.node == self.node {
            true => Ok(listener.connection),
            false => Err("shards have moved".to_owned()),
        }
    }

    /// Publishes the waiting messages in order, until that fails.
    async fn publish(&self, mut connection: MultiplexedConnection, queue: &mut mpsc::Receiver<Waiting>) -> String {
        let mut batch = Vec::with_capacity(TOGETHER_MAX);
        loop {
            // The line holds a sender for as long as it is attached.
            queue.recv_many(&mut batch, TOGETHER_MAX).await;
            let mut pipeline = Pipeline::with_capacity(batch.len());
            for waiting in &batch {
                match waiting {
                    Waiting::UserChange { user, shard, message } => {
                        pipeline.cmd("SPUBLISH").arg(self.channel.name(*shard, *user)).arg(message)
                    }
                    Waiting::Announced { message, .. } => pipeline.cmd("PUBLISH").arg(TO_ALL).arg(message),
                };
            }
            match send(&mut connection, &pipeline).await {
                Ok(answers) => self.published(batch.drain(..).zip(answers)),
                Err(reason) => {
                    self.channel.metrics.dropped(Dropped::Away, batch.len() as u64);
                    return reason;
                }
            }
        }
    }

    fn published(&self, answered: impl Iterator<Item = (Waiting, Value)>) {
        for (waiting, answer) in answered {
            let refused = refusal(&answer);
            match refused {
                None => drop(self.channel.metrics.told.inc()),
                // A shard that has just moved.
                Some(_) => self.channel.metrics.dropped(Dropped::Away, 1),
            }
            if let Waiting::Announced { answer, .. } = waiting {
                // Nothing has to wait for it.
                let _ = answer.send(refused.map_or(Ok(()), |refused| Err(ChannelAway(refused))));
            }
        }
    }

    /// Subscribes users that came and unsubscribes users that left, beginning with all wanted users, until that fails.
    async fn follow(
        &self,
        mut connection: MultiplexedConnection,
        id: LineId,
        own: &[Shard],
        pulse: &Pulse,
        changed: &mut watch::Receiver<()>,
    ) -> String {
        loop {
            let work = self.channel.followed().take(id, own, TOGETHER_MAX);
            if work.subscribe.is_empty() && work.unsubscribe.is_empty() {
                // The channel outlives its lines.
                let _ = changed.changed().await;
                sleep(GATHER).await;
                continue;
            }
            pulse.leaving.fetch_add(work.unsubscribe.len(), Ordering::Relaxed);
            let answers = match send(&mut connection, &self.commands(&work)).await {
                Ok(answers) => answers,
                Err(reason) => return reason,
            };
            if let Some(refused) = answers.iter().find_map(refusal) {
                return refused;
            }
            self.channel.followed().confirm(id, &work.subscribe);
        }
    }

    /// One command for each, so that each has one answer, and one slot.
    fn commands(&self, work: &Work) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(work.subscribe.len() + work.unsubscribe.len());
        for (shard, user) in &work.unsubscribe {
            pipeline.cmd("SUNSUBSCRIBE").arg(self.channel.name(*shard, *user));
        }
        for (shard, user) in &work.subscribe {
            pipeline.cmd("SSUBSCRIBE").arg(self.channel.name(*shard, *user));
        }
        pipeline
    }

    /// Pings the server until it does not answer: a connection may be dead without an error.
    async fn look(&self, mut connection: MultiplexedConnection) -> String {
        let mut ping = Pipeline::new();
        ping.cmd("PING");
        loop {
            sleep(LOOK_INTERVAL).await;
            if let Err(reason) = send(&mut connection, &ping).await {
                return reason;
            }
        }
    }
}

/// Sends all and reads all answers, errors among them.
async fn send(connection: &mut MultiplexedConnection, commands: &Pipeline) -> Result<Vec<Value>, String> {
    let count = commands.cmd_iter().count();
    connection.send_packed_commands(commands, 0, count).await.map_err(|error| error.to_string())
}

fn refusal(answer: &Value) -> Option<String> {
    match answer {
        Value::ServerError(error) => Some(error.to_string()),
        _ => None,
    }
}

/// How a connection ended.
struct End {
    /// The connection was established.
    was_up: bool,
    reason: String,
}

fn subscribe_to_all() -> Pipeline {
    let mut pipeline = Pipeline::new();
    pipeline.cmd("SUBSCRIBE").arg(TO_ALL);
    pipeline
}

/// Handles a push of the server, on the thread of the connection.
fn receive(channel: &RedisChannel, subscriber: &dyn ChannelSubscriber, pulse: &Pulse, push: PushInfo) {
    match push.kind {
        PushKind::SMessage | PushKind::Message => {
            let Some((name, message)) = name_and_message(push.data) else { return };
            let said = match codec::decode(&message) {
                Ok((gateway, _)) if gateway == channel.gateway => return,
                Ok((_, said)) => Some(said),
                Err(error) => {
                    tracing::debug!(%error, "unreadable message of another gateway dropped");
                    None
                }
            };
            match (said, user_of(&name)) {
                (Some(PeerMessage::UserChange(told)), Some(user)) => subscriber.changed(user, told),
                (Some(PeerMessage::Announced(announcement)), None) => subscriber.announced(announcement),
                _ => return channel.metrics.dropped(Dropped::DecodeError, 1),
            }
            channel.metrics.heard.inc();
        }
        PushKind::SUnsubscribe => {
            let expected = |leaving: usize| leaving.checked_sub(1);
            if pulse.leaving.fetch_update(Ordering::Relaxed, Ordering::Relaxed, expected).is_err() {
                pulse.lost.notify_one();
            }
        }
        PushKind::Disconnection => pulse.lost.notify_one(),
        _ => {}
    }
}

fn name_and_message(data: Vec<Value>) -> Option<(String, Vec<u8>)> {
    let [name, message] = <[Value; 2]>::try_from(data).ok()?;
    let Value::BulkString(message) = message else { return None };
    Some((from_redis_value(name).ok()?, message))
}

/// The user of a channel; `None`: the channel of announcements.
fn user_of(name: &str) -> Option<UserId> {
    let (_, mid) = name.split_once(":n:")?;
    mid.parse().ok().map(UserId)
}
