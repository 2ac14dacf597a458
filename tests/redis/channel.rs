//! The messages between gateways over Redis.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::ids::{ConnectionId, UserId};
use heartline::model::push::Push;
use heartline::model::shard::Shards;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::device_channel::{Announcement, ChannelSubscriber, DeviceChannel, UserChange};
use heartline::storage_redis::Redis;
use heartline::storage_redis::device_channel::RedisChannel;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::PATIENCE;
use super::cluster::Cluster;
use super::server::{Server, redis_cli};

const USER: UserId = UserId(42);

#[derive(Debug, PartialEq)]
enum Heard {
    UserChange(UserId, u64),
    Announced(Announcement),
    Connected,
}

struct Recorder(UnboundedSender<Heard>);

impl ChannelSubscriber for Recorder {
    fn changed(&self, user: UserId, change: UserChange) {
        let Push::Cleared { at } = change.push else { panic!("{change:?}") };
        assert_eq!(change.origin, ConnectionId(7));
        self.0.send(Heard::UserChange(user, at)).unwrap();
    }

    fn announced(&self, announcement: Announcement) {
        self.0.send(Heard::Announced(announcement)).unwrap();
    }

    fn connected(&self) {
        self.0.send(Heard::Connected).unwrap();
    }
}

/// A gateway's end of the channel.
struct End {
    channel: Arc<RedisChannel>,
    heard: UnboundedReceiver<Heard>,
    registry: Registry,
    line: JoinHandle<()>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.line.abort();
    }
}

impl End {
    async fn open(config: &RedisConfig) -> Self {
        let (channel, mut registry) = (RedisChannel::new(), Registry::default());
        channel.register(&mut registry);
        let (sender, heard) = unbounded_channel();
        let line = tokio::spawn(channel.clone().run(Redis::open(config).unwrap(), Arc::new(Recorder(sender))));
        let mut end = End { channel, heard, registry, line };
        assert_eq!(end.next().await, Heard::Connected);
        end
    }

    async fn follow(&self, user: UserId) {
        self.channel.follow(user);
        self.until("it follows", || self.channel.follows(user)).await;
    }

    fn tell(&self, user: UserId, at: u64) {
        let told = UserChange { origin: ConnectionId(7), push: Push::Cleared { at }, steady: false };
        self.channel.publish(user, told);
    }

    async fn next(&mut self) -> Heard {
        timeout(PATIENCE, self.heard.recv()).await.expect("in time").unwrap()
    }

    /// The next that was told; how often the channel came back meanwhile does not matter.
    async fn next_told(&mut self) -> (UserId, u64) {
        loop {
            match self.next().await {
                Heard::UserChange(user, at) => return (user, at),
                Heard::Connected => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < PATIENCE, "not in time: {what}");
            sleep(Duration::from_millis(5)).await;
        }
    }

    fn metric(&self, name: &str) -> u64 {
        let mut page = String::new();
        text::encode(&mut page, &self.registry).unwrap();
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name}: {page}")).parse().unwrap()
    }
}

/// Tells one of these users after the other until each was heard once more.
async fn heard_of_all(from: &End, to: &mut End, users: &[UserId]) {
    let began = Instant::now();
    let mut missing: BTreeSet<UserId> = users.iter().copied().collect();
    while !missing.is_empty() {
        assert!(began.elapsed() < PATIENCE, "not heard: {missing:?}");
        missing.iter().for_each(|user| from.tell(*user, 1));
        while let Ok(Some(heard)) = timeout(Duration::from_millis(50), to.heard.recv()).await {
            if let Heard::UserChange(user, _) = heard {
                missing.remove(&user);
            }
        }
    }
}

fn channel_of(user: UserId) -> String {
    format!("{{h{}}}:n:{}", Shards::DEFAULT.of(user).0, user.0)
}

fn subscribers(server: &Server, user: UserId) -> u64 {
    let (_, count): (String, u64) = server.tell(&["PUBSUB", "SHARDNUMSUB", &channel_of(user)]);
    count
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn changes_reach_the_other_gateway_in_order_and_not_the_sender() {
    let server = Server::prepared();
    let (mut one, mut two) = (End::open(&server.config()).await, End::open(&server.config()).await);
    one.follow(USER).await;
    two.follow(USER).await;
    assert_eq!(subscribers(&server, USER), 2, "Redis knows who is connected where");
    (0..1_000).for_each(|at| one.tell(USER, at));
    two.follow(UserId(43)).await;
    one.tell(UserId(43), 5);
    one.tell(UserId(44), 5);
    for at in 0..1_000 {
        assert_eq!(two.next().await, Heard::UserChange(USER, at));
    }
    assert_eq!(two.next().await, Heard::UserChange(UserId(43), 5));
    two.tell(USER, 9);
    assert_eq!(one.next().await, Heard::UserChange(USER, 9), "and nothing of its own");
    // Counted when Redis has replied, which may be after the other end has heard it.
    one.until("all are counted as told", || one.metric("channel_told_total") == 1_002).await;
    assert_eq!(two.metric("channel_heard_total"), 1_001);
    assert_eq!((one.metric("channel_users"), two.metric("channel_users")), (1, 2));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn messages_of_an_unfollowed_user_are_not_received() {
    let server = Server::prepared();
    let (one, mut two) = (End::open(&server.config()).await, End::open(&server.config()).await);
    two.follow(USER).await;
    two.follow(UserId(43)).await;
    two.channel.unfollow(USER);
    two.until("no gateway follows", || subscribers(&server, USER) == 0).await;
    assert!(!two.channel.follows(USER) && two.channel.follows(UserId(43)));
    one.tell(USER, 1);
    one.tell(UserId(43), 2);
    assert_eq!(two.next().await, Heard::UserChange(UserId(43), 2));
    // As fast as connections come and go.
    for _ in 0..100 {
        two.channel.follow(USER);
        two.channel.unfollow(USER);
    }
    two.follow(USER).await;
    one.tell(USER, 3);
    assert_eq!(two.next().await, Heard::UserChange(USER, 3));
    drop(two);
    one.until("a gateway that ends is forgotten", || subscribers(&server, USER) == 0).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn announcements_reach_all_other_gateways_and_report_a_failure() {
    let mut server = Server::prepared();
    let (mut one, mut two) = (End::open(&server.config()).await, End::open(&server.config()).await);
    for announcement in [Announcement::Kicked(USER, 5), Announcement::Erased(USER), Announcement::Revocations] {
        one.channel.announce(announcement).await.unwrap();
        assert_eq!(two.next().await, Heard::Announced(announcement));
    }
    drop(one.channel.announce(Announcement::Revocations));
    assert_eq!(two.next().await, Heard::Announced(Announcement::Revocations), "although no caller waits");
    server.kill();
    let began = Instant::now();
    let away = one.channel.announce(Announcement::Kicked(USER, 5)).await.unwrap_err().to_string();
    assert!(away.starts_with("device channel unavailable: "), "{away}");
    // Nothing was waited for: what does not answer is given up after two seconds or more.
    assert!(began.elapsed() < Duration::from_millis(1_900), "{:?}", began.elapsed());
    server.start_again();
    assert_eq!((one.next().await, two.next().await), (Heard::Connected, Heard::Connected));
    one.channel.announce(Announcement::Kicked(USER, 5)).await.unwrap();
    assert_eq!(two.next().await, Heard::Announced(Announcement::Kicked(USER, 5)));
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn all_are_followed_again_after_redis_was_killed() {
    let mut server = Server::prepared();
    let (one, mut two) = (End::open(&server.config()).await, End::open(&server.config()).await);
    let users: Vec<UserId> = (0..5_000).map(UserId).collect();
    users.iter().for_each(|user| two.channel.follow(*user));
    two.until("all are followed", || two.metric("channel_users") == 5_000).await;
    server.kill();
    two.until("it knows", || two.metric("channel_users") == 0).await;
    assert!(!two.channel.follows(UserId(1)));
    two.channel.unfollow(UserId(0));
    two.channel.follow(UserId(5_000));
    one.until("the other knows, too", || one.metric("channel_lines") == 0).await;
    one.tell(UserId(1), 1);
    assert_eq!(one.metric("channel_dropped_total{why=\"away\"}"), 1);
    server.start_again();
    let began = Instant::now();
    two.until("all are followed again", || two.metric("channel_users") == 5_000).await;
    println!("5,000 users are followed again after {:?}", began.elapsed());
    assert!(!two.channel.follows(UserId(0)) && two.channel.follows(UserId(5_000)));
    one.until("it is back", || one.metric("channel_lines") == 1).await;
    one.tell(UserId(5_000), 2);
    assert_eq!(two.next().await, Heard::Connected);
    assert_eq!(two.next().await, Heard::UserChange(UserId(5_000), 2), "and what was dropped stays so");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_stalled_server_delays_no_sender_and_the_backlog_is_bounded() {
    let server = Server::prepared();
    let (one, mut two) = (End::open(&server.config()).await, End::open(&server.config()).await);
    two.follow(USER).await;
    let tell = |user| {
        let began = Instant::now();
        (0..100_000).for_each(|at| one.tell(user, at));
        began.elapsed()
    };
    let (dropped, plain) = ("channel_dropped_total{why=\"full\"}", tell(UserId(43)));
    let told = || one.metric("channel_told_total") + one.metric(dropped);
    one.until("all are told", || told() == 100_000).await;
    server.signal("STOP");
    let full = one.metric(dropped);
    let stalled = tell(USER);
    println!("100,000 are told in {stalled:?}, and in {plain:?} while the server answers");
    assert!(stalled < 10 * plain, "{stalled:?} instead of {plain:?}");
    let full = one.metric(dropped) - full;
    assert!(full > 80_000, "{full} of 100,000 found no room");
    one.until("it is given up", || one.metric("channel_lines") == 0).await;
    server.signal("CONT");
    heard_of_all(&one, &mut two, &[USER]).await;
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn a_node_of_a_cluster_that_is_away_takes_no_other_along() {
    let mut cluster = Cluster::prepared();
    let config = cluster.config(0);
    let (mut one, mut two) = (End::open(&config).await, End::open(&config).await);
    let users: Vec<UserId> = (0..300).map(UserId).collect();
    for user in &users {
        two.channel.follow(*user);
    }
    two.until("all are followed", || two.metric("channel_users") == 300).await;
    assert_eq!(two.metric("channel_lines"), 3);
    users.iter().for_each(|user| one.tell(*user, 1));
    let mut heard = BTreeSet::new();
    while heard.len() < 300 {
        heard.insert(two.next_told().await);
    }
    one.channel.announce(Announcement::Kicked(USER, 5)).await.unwrap();
    assert_eq!(two.next().await, Heard::Announced(Announcement::Kicked(USER, 5)), "once, whichever node");

    let redis = Redis::open(&config).unwrap();
    let lost = cluster.of(&redis, 0);
    let is_lost = |user: &UserId| cluster.of(&redis, Shards::DEFAULT.of(*user).0) == lost;
    let (away, there): (Vec<_>, Vec<_>) = users.iter().copied().partition(is_lost);
    assert!(!away.is_empty() && !there.is_empty());
    cluster.nodes[lost].kill();
    two.until("it knows", || two.metric("channel_lines") == 2 && one.metric("channel_lines") == 2).await;
    heard_of_all(&one, &mut two, &there).await;
    assert!(one.channel.announce(Announcement::Kicked(USER, 5)).await.is_err());
    cluster.nodes[lost].start_again();
    heard_of_all(&one, &mut two, &away).await;
    assert_eq!(two.metric("channel_users"), 300);
    while one.channel.announce(Announcement::Revocations).await.is_err() {
        sleep(Duration::from_millis(50)).await;
    }
    while two.next().await != Heard::Announced(Announcement::Revocations) {}
    while one.heard.try_recv().is_ok_and(|heard| heard == Heard::Connected) {}
    assert!(one.heard.try_recv().is_err(), "it followed no user");
}

#[tokio::test]
#[ignore = "needs Redis: tests/run redis"]
async fn users_whose_shard_moves_to_another_node_are_followed_there() {
    let cluster = Cluster::prepared();
    let config = cluster.config(0);
    let (one, mut two) = (End::open(&config).await, End::open(&config).await);
    let users: Vec<UserId> = (0..300).map(UserId).collect();
    users.iter().for_each(|user| two.channel.follow(*user));
    heard_of_all(&one, &mut two, &users).await;
    let redis = Redis::open(&config).unwrap();
    let homes = || users.iter().map(|user| cluster.of(&redis, Shards::DEFAULT.of(*user).0)).collect::<Vec<_>>();
    let before = homes();
    let id = |node: usize| cluster.nodes[node].tell::<String>(&["CLUSTER", "MYID"]);
    let address = format!("127.0.0.1:{}", cluster.nodes[0].port);
    let (from, to) = (id(0), id(1));
    let mut reshard = vec!["--cluster", "reshard", &address, "--cluster-from", &from, "--cluster-to", &to];
    reshard.extend(["--cluster-slots", "2000", "--cluster-yes"]);
    redis_cli(&reshard);
    two.until("it knows", || homes() != before).await;
    heard_of_all(&one, &mut two, &users).await;
    two.until("all are followed", || two.metric("channel_users") == 300).await;
}
