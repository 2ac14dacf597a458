use std::time::Duration;

use super::*;
use crate::history_packs::feed::PackFollower;
use crate::history_packs::fixture::{List, user_at, user_with};
use crate::history_packs::memory_bus::{MemoryBus, Mood};
use model::pack::Pack;
use model::shard::Shards;
use storage::history_bus::codec;

const INTERVAL: Duration = Duration::from_secs(30);
const BYTES: usize = 4_096;

struct Scene {
    list: Arc<List>,
    bus: Arc<MemoryBus>,
    clock: Arc<Clock>,
    metrics: Metrics,
    health: Arc<PackHealth>,
    feed: Arc<PackFeed>,
}

impl Scene {
    fn new() -> Self {
        let bus = Arc::new(MemoryBus::default());
        Scene {
            list: Arc::default(),
            health: Arc::new(PackHealth::new(bus.clone())),
            bus,
            clock: Arc::new(Clock::starting_at(0, Duration::MAX)),
            metrics: Metrics::default(),
            feed: PackFeed::new(),
        }
    }

    fn packer(&self) -> Packer {
        Packer {
            store: self.list.clone(),
            bus: self.bus.clone(),
            clock: self.clock.clone(),
            deployment: Arc::from("d"),
            interval: INTERVAL,
            pack_bytes: BYTES,
            retention: Retention::of_ms(1),
            health: self.health.clone(),
            feed: Some(self.feed.clone()),
            metrics: self.metrics.clone(),
        }
    }

    /// So many users, written an hour ago and due since.
    fn users(&self, count: u64, rows: usize) {
        let at = self.clock.now() - 3_600_000;
        (1..=count).for_each(|mid| self.list.add(user_at(UserId(mid), rows, at), at));
    }

    /// One turn of each region.
    async fn turns(&self) {
        let packer = self.packer();
        for region in Region::all() {
            packer.turn(region).await;
        }
    }
}

#[tokio::test]
async fn due_users_go_in_one_pack_per_region_and_leave_the_list() {
    let scene = Scene::new();
    scene.users(2_000, 1);
    scene.list.add(user_at(UserId(5_000), 1, 1), u64::MAX);
    scene.turns().await;
    assert_eq!(scene.list.due(), [(UserId(5_000), u64::MAX)], "who is not due stays");
    let packs = scene.bus.published();
    assert_eq!(packs.len(), usize::from(Region::COUNT));
    let packed = packs.iter().flat_map(|pack| &pack.users).filter(|user| user.rows.len() == 1).count();
    assert_eq!(packed, 2_000);
    let counted = [&scene.metrics.packs, &scene.metrics.users, &scene.metrics.rows, &scene.metrics.unlisted];
    assert_eq!(counted.map(|counter| counter.get()), [100, 2_000, 2_000, 2_000]);
}

#[tokio::test]
async fn a_user_with_a_row_that_cannot_be_sent_stays_listed_and_the_others_go() {
    let scene = Scene::new();
    let (region, at) = (Region(7), scene.clock.now() - 3_600_000);
    let users: Vec<UserId> =
        (1..).map(UserId).filter(|user| Shards::DEFAULT.of(*user).region() == region).take(4).collect();
    users[1..].iter().for_each(|user| scene.list.add(user_at(*user, 2, at), at));
    scene.list.add(user_with(users[0], 2, at, 1 << 60), at);
    scene.turns().await;
    let due = scene.list.due();
    assert!(due.len() == 1 && due[0].0 == users[0] && due[0].1 > scene.clock.now(), "{due:?}");
    let mut sent: Vec<_> = scene.bus.published().iter().flat_map(|pack| pack.users.clone()).collect();
    sent.sort_by_key(|user| user.user);
    assert_eq!(
        sent.iter().map(|user| (user.user, user.rows.len())).collect::<Vec<_>>(),
        [(users[0], 1), (users[1], 2), (users[2], 2), (users[3], 2)]
    );
    assert_eq!(scene.metrics.unreadable.get(), 1);
}

#[tokio::test]
async fn old_rows_are_packed_before_their_user_leaves_the_list() {
    let scene = Scene::new();
    let day = 86_400_000;
    scene.list.add(user_at(UserId(1), 3, scene.clock.now() - 400 * day), 0);
    scene.turns().await;
    assert_eq!(scene.list.due(), []);
    let rows: usize = scene.bus.published().iter().flat_map(|pack| &pack.users).map(|user| user.rows.len()).sum();
    assert_eq!(rows, 3, "the settings of another gateway may keep them; the history store has its own expiry");
}

#[tokio::test]
async fn no_user_leaves_the_list_before_all_packs_are_delivered() {
    for mood in [Mood::Refuses, Mood::Doubts] {
        let scene = Scene::new();
        scene.users(300, 2);
        scene.bus.becomes(mood);
        scene.turns().await;
        assert_eq!(scene.list.due().len(), 300, "{mood:?}");
        assert!(!scene.health.degraded().is_empty() && scene.metrics.failures.get() > 0);
        scene.bus.becomes(Mood::Takes);
        scene.turns().await;
        assert_eq!((scene.list.due().len(), scene.health.degraded()), (0, vec![]), "{mood:?}");
    }
}

#[tokio::test]
async fn an_undelivered_region_is_trouble_until_delivered_or_taken_by_another_gateway() {
    let scene = Scene::new();
    let packer = scene.packer();
    let user = |region| (1..).map(UserId).find(|user| Shards::DEFAULT.of(*user).region() == region).expect("a user");
    let at = scene.clock.now() - 3_600_000;
    for region in [Region(1), Region(2)] {
        scene.list.add(user_at(user(region), 1, at), at);
    }
    scene.bus.becomes(Mood::Refuses);
    packer.turn(Region(1)).await;
    scene.bus.becomes(Mood::Takes);
    packer.turn(Region(2)).await;
    packer.turn(Region(3)).await;
    assert_eq!(scene.health.degraded().len(), 1, "whatever else is delivered");
    scene.list.belongs_to_another(true);
    packer.turn(Region(1)).await;
    assert_eq!(scene.health.degraded(), [""; 0]);
}

#[tokio::test]
async fn while_the_bus_does_not_answer_a_region_sends_few_packs_and_unlists_nothing() {
    let scene = Scene::new();
    scene.bus.becomes(Mood::Waits);
    let at = scene.clock.now() - 3_600_000;
    let users = (1..).map(UserId).filter(|user| Shards::DEFAULT.of(*user).region() == Region(7)).take(5_000);
    users.for_each(|user| scene.list.add(user_at(user, 1, at), at));
    let packer = scene.packer();
    let mut turn = Box::pin(packer.turn(Region(7)));
    assert!(futures_util::poll!(&mut turn).is_pending());
    assert!((1..=3).contains(&scene.bus.waiting()), "{} packs", scene.bus.waiting());
    assert_eq!(scene.list.due().len(), 5_000);
    scene.bus.becomes(Mood::Takes);
    assert_eq!(turn.await, Some(Turn::Mine));
    assert_eq!(scene.list.due(), []);
}

#[tokio::test]
async fn a_user_of_several_packs_leaves_after_the_last_of_them() {
    let scene = Scene::new();
    scene.users(1, 500);
    let region = Shards::DEFAULT.of(UserId(1)).region();
    scene.bus.becomes(Mood::Waits);
    let packer = scene.packer();
    let mut turn = Box::pin(packer.turn(region));
    assert!(futures_util::poll!(&mut turn).is_pending());
    let count = scene.bus.waiting();
    assert!(count > 3, "{count} packs");
    scene.bus.takes_one();
    assert!(futures_util::poll!(&mut turn).is_pending());
    assert_eq!(scene.list.due().len(), 1);
    scene.bus.becomes(Mood::Takes);
    turn.await;
    let rows: usize = scene.bus.published().iter().flat_map(|pack| &pack.users).map(|user| user.rows.len()).sum();
    assert_eq!((scene.list.due().len(), rows), (0, 500));
}

#[tokio::test]
async fn a_user_still_being_written_is_packed_and_stays_listed_for_another_interval() {
    let scene = Scene::new();
    let now = scene.clock.now();
    scene.list.add(user_at(UserId(1), 1, now), now);
    scene.list.add(user_at(UserId(2), 1, now - 60_000), now - 60_000);
    scene.list.is_written(UserId(2));
    scene.turns().await;
    let due = scene.list.due();
    assert_eq!(due.len(), 2);
    assert!(due.iter().all(|(_, due)| (now + 30_000..now + 40_000).contains(due)), "{due:?}");
    assert_eq!(scene.bus.published().iter().map(|pack| pack.users.len()).sum::<usize>(), 2);
}

/// All that were told and not read yet.
async fn told(scene: Scene, mut follower: PackFollower) -> Vec<DeliveredPack> {
    drop(scene);
    let mut told = Vec::new();
    while let Some(pack) = follower.next().await {
        told.push(pack);
    }
    told
}

#[tokio::test]
async fn a_follower_gets_the_region_users_and_bytes_of_each_delivered_pack() {
    let scene = Scene::new();
    scene.users(300, 2);
    let follower = scene.feed.follow();
    scene.turns().await;
    let as_published =
        |pack: &Pack| DeliveredPack { region: pack.region, users: pack.users.len(), bytes: codec::encode(pack).len() };
    let published: Vec<DeliveredPack> = scene.bus.published().iter().map(as_published).collect();
    assert_eq!(published.iter().map(|pack| pack.users).sum::<usize>(), 300);
    assert_eq!(told(scene, follower).await, published);
}

#[tokio::test]
async fn a_follower_hears_of_a_pack_only_once_its_delivery_is_confirmed() {
    let scene = Scene::new();
    scene.users(1, 500);
    let region = Shards::DEFAULT.of(UserId(1)).region();
    let mut follower = scene.feed.follow();
    let packer = scene.packer();
    for mood in [Mood::Refuses, Mood::Doubts] {
        scene.bus.becomes(mood);
        assert_eq!(packer.turn(region).await, None, "{mood:?}");
    }
    scene.bus.becomes(Mood::Waits);
    let mut turn = Box::pin(packer.turn(region));
    assert!(futures_util::poll!(&mut turn).is_pending());
    assert!(scene.bus.waiting() > 3);
    assert!(futures_util::poll!(Box::pin(follower.next())).is_pending(), "they are only queued");
    scene.bus.takes_one();
    assert!(futures_util::poll!(&mut turn).is_pending());
    assert!(futures_util::poll!(Box::pin(follower.next())).is_ready(), "one of them is there");
    assert!(futures_util::poll!(Box::pin(follower.next())).is_pending());
    // The others are refused, and the follower hears nothing of them.
    scene.bus.becomes(Mood::Refuses);
    assert_eq!(turn.await, None);
    drop(packer);
    assert_eq!(told(scene, follower).await, []);
}

#[tokio::test]
async fn a_follower_that_does_not_read_delays_no_delivery() {
    const TURNS: usize = 20;
    let scene = Scene::new();
    let follower = scene.feed.follow();
    for _ in 0..TURNS {
        scene.users(2_000, 1);
        scene.turns().await;
        assert_eq!(scene.list.due(), []);
    }
    assert_eq!(scene.bus.published().len(), TURNS * usize::from(Region::COUNT));
    let told = told(scene, follower).await;
    assert!(told.len() < TURNS * usize::from(Region::COUNT) / 2, "{} packs were kept", told.len());
}
