//! The comparer over stores in memory.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::timeout;

use super::compare::Found;
use super::comparer::{Bounds, Comparer};
use super::metrics::Metrics;
use crate::cold::HistoryHandle;
use crate::history_packs::fixture::{rows_at, user_of};
use crate::time::clock::{self, Clock};
use model::ids::{Content, UserId};
use model::pack::UserPack;
use model::retention::Retention;
use model::shard::{Region, Shard, Shards};
use storage::history_store::{Answer as HistoryAnswer, HistoryAway, HistoryStore, HistoryUser};
use storage::hot_store::optimistic::{Listing, Trimmed};
use storage::hot_store::trim_users::{BeyondPage, BeyondUser, HotBounds, Trim, TrimUsers};
use storage::hot_store::{Answer, ListedUser};
use storage::turn::Turn;

const RETENTION: Retention = Retention::of(Duration::from_hours(24 * 90));
const EVERY: Duration = Duration::from_secs(100);
const GRACE: Duration = Duration::from_secs(300);
const CONTENTS_MAX: u64 = 3;
const USER: UserId = UserId(7);

/// Both stores.
#[derive(Default)]
struct Scene {
    users: Mutex<BTreeMap<UserId, ListedUser>>,
    history: Mutex<BTreeMap<UserId, HistoryUser>>,
    listed_again: Mutex<Vec<UserId>>,
    left: Mutex<BTreeMap<UserId, Vec<Content>>>,
    looked: Mutex<BTreeMap<Region, u64>>,
    history_is_away: AtomicBool,
    trims: AtomicBool,
    /// Whether the filter of the last trim has this content.
    filter_has: Mutex<BTreeMap<Content, bool>>,
    /// The user in both stores after the next read of one of them.
    then: Mutex<Option<(ListedUser, UserPack)>>,
}

fn answer<T: Send + 'static>(value: T) -> Answer<T> {
    Box::pin(ready(Ok(value)))
}

impl Scene {
    /// A user with rows of an hour ago. `carried`: without changes that wait.
    fn add(&self, user: UserId, rows: usize, carried: bool) -> UserPack {
        self.add_at(user, rows, carried, clock::wall() - 3_600_000)
    }

    fn add_at(&self, user: UserId, rows: usize, carried: bool, at: u64) -> UserPack {
        let listing = if carried { Listing::Carried } else { Listing::Listed };
        let whole = user_of(user, listing, rows_at(rows, at, 1_000), at);
        let pack = whole.pack();
        self.users.lock().insert(user, whole);
        pack
    }

    fn keep(&self, pack: UserPack) {
        self.history.lock().insert(pack.user, HistoryUser { forgetting: pack.forgetting, rows: pack.rows });
    }

    /// Another gateway changes the user between two reads.
    fn was_read(&self) {
        if let Some((hot, history)) = self.then.lock().take() {
            self.users.lock().insert(hot.user, hot);
            self.keep(history);
        }
    }

    fn listed_again(&self) -> Vec<UserId> {
        std::mem::take(&mut self.listed_again.lock())
    }
}

impl TrimUsers for Scene {
    fn take_look(&self, region: Region, since: u64, _: Duration) -> Answer<Turn> {
        let done = self.looked.lock().get(&region).is_some_and(|began| *began >= since);
        answer(if done { Turn::Done } else { Turn::Mine })
    }

    fn end_look(&self, region: Region, began: u64) -> Answer<()> {
        self.looked.lock().insert(region, began);
        answer(())
    }

    fn beyond(&self, shard: Shard, _: Option<String>, bounds: HotBounds) -> Answer<BeyondPage> {
        let exceeds = |(user, whole): (&UserId, &ListedUser)| {
            let written = whole.token()?.version.0 / 1_000;
            bounds.exceeds(*user, whole.pack().rows.len() as u64, written)
        };
        let users = self.users.lock();
        let of_shard = users.iter().filter(|(user, _)| Shards::DEFAULT.of(**user) == shard);
        let users: Vec<BeyondUser> = of_shard.filter_map(exceeds).collect();
        answer(BeyondPage { users, next: None })
    }

    fn read_whole(&self, user: UserId) -> Answer<ListedUser> {
        let found = self.users.lock()[&user].clone();
        self.was_read();
        answer(found)
    }

    fn read_at_once(&self, user: UserId) -> Answer<ListedUser> {
        self.read_whole(user)
    }

    fn trim(&self, trim: Trim, _: u64) -> Answer<Trimmed> {
        let rows = trim.leaving.len() as u64;
        let is_in = |oid| (content(oid), trim.filter.as_ref().is_none_or(|filter| filter.has(content(oid))));
        self.filter_has.lock().extend((0..9).map(is_in));
        self.left.lock().insert(trim.user.user, trim.leaving);
        answer(Trimmed { rows, interrupted: false })
    }

    fn list_again(&self, users: Vec<UserId>, _: u64) -> Answer<u64> {
        let listed = users.len() as u64;
        self.listed_again.lock().extend(users);
        answer(listed)
    }

    fn list_shard_again(&self, _: Shard, _: u64) -> Answer<u64> {
        answer(0)
    }
}

impl HistoryStore for Scene {
    fn write(&self, _: Arc<[UserPack]>, _: Option<Retention>, _: u64) -> HistoryAnswer<()> {
        Box::pin(ready(Ok(())))
    }

    fn read(&self, user: UserId, _: u64) -> HistoryAnswer<HistoryUser> {
        let found = match self.history_is_away.load(Ordering::Relaxed) {
            true => Err(HistoryAway("refused".to_owned())),
            false => Ok(self.history.lock().get(&user).cloned().unwrap_or_default()),
        };
        self.was_read();
        Box::pin(ready(found))
    }
}

fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

/// Runs a comparer for so long. Time passes in its pauses only.
async fn run(scene: &Arc<Scene>, lasts: Duration) -> Metrics {
    let history: Arc<dyn HistoryStore> = scene.clone();
    let bounds = Bounds {
        contents_max: CONTENTS_MAX,
        contents_kept: 2,
        idle: Some(Duration::from_hours(2)),
        every: EVERY,
        grace: GRACE,
        trims: scene.trims.load(Ordering::Relaxed),
    };
    let metrics = Metrics::default();
    let open = Box::new(move || -> futures_util::future::BoxFuture<'static, _> {
        Box::pin(ready(Ok::<_, HistoryAway>(history.clone())))
    });
    let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
    let history = HistoryHandle::new(open);
    let comparer = Comparer::new(scene.clone(), history, clock, RETENTION, bounds, metrics.clone());
    let _still_running = timeout(lasts, comparer.run()).await;
    metrics
}

#[tokio::test(start_paused = true)]
async fn only_users_beyond_the_bounds_are_compared_and_what_a_trim_would_remove_is_counted() {
    let scene = Arc::new(Scene::default());
    for (user, rows, carried) in [(1, 3, true), (2, 5, true), (3, 9, false)] {
        let pack = scene.add(UserId(user), rows, carried);
        scene.keep(pack);
    }
    let metrics = run(&scene, Duration::from_secs(9)).await;
    assert_eq!((metrics.users.get(), metrics.trimmable.get()), (1, 3), "3 are few enough, and of 9 some wait");
    assert_eq!(Found::ALL.map(|found| metrics.count(found)), [5, 0, 0, 0, 0]);
    assert_eq!(scene.listed_again(), []);
}

#[tokio::test(start_paused = true)]
async fn only_rows_that_the_history_store_has_leave_and_of_no_user_who_is_behind_there() {
    let scene = Arc::new(Scene::default());
    scene.trims.store(true, Ordering::Relaxed);
    for (user, carried) in [(1, true), (2, true), (3, false)] {
        let mut pack = scene.add(UserId(user), 5, carried);
        if user == 2 {
            pack.rows.remove(4);
        }
        scene.keep(pack);
    }
    let metrics = run(&scene, Duration::from_secs(9)).await;
    let oids = |left: &Vec<Content>| left.iter().map(|content| content.oid).collect::<Vec<_>>();
    let left: Vec<_> = scene.left.lock().iter().map(|(user, left)| (user.0, oids(left))).collect();
    assert_eq!(left, [(1, vec![0, 1, 2])], "two stay");
    assert_eq!(metrics.trimmed.get(), 3);
}

/// A filter that was read before the user would not name what another gateway has trimmed since.
#[tokio::test(start_paused = true)]
async fn the_filter_of_a_trim_has_what_left_between_two_reads() {
    let scene = Arc::new(Scene::default());
    scene.trims.store(true, Ordering::Relaxed);
    let at = clock::wall() - 3_600_000;
    let all = scene.add_at(USER, 6, false, at);
    let carried = UserPack { rows: all.rows[..5].to_vec(), ..all.clone() };
    scene.keep(carried);
    *scene.then.lock() = Some((user_of(USER, Listing::Carried, rows_at(5, at, 1_000), at), all));
    for _ in 0..2 {
        run(&scene, Duration::from_secs(9)).await;
        scene.looked.lock().clear();
    }
    assert_eq!(scene.filter_has.lock().get(&content(5)), Some(&true));
}

#[tokio::test(start_paused = true)]
async fn a_user_is_listed_again_once_history_stays_behind() {
    let scene = Arc::new(Scene::default());
    let mut pack = scene.add(USER, 5, true);
    pack.rows.remove(1);
    scene.keep(pack);
    let meanwhile = async {
        tokio::time::sleep(GRACE - Duration::from_secs(10)).await;
        scene.listed_again()
    };
    let (metrics, early) = tokio::join!(run(&scene, 2 * GRACE), meanwhile);
    assert_eq!(early, [], "its pack may be on the bus");
    assert_eq!((scene.listed_again(), metrics.healed.get()), (vec![USER], 1));
    assert_eq!((metrics.count(Found::Missing), metrics.count(Found::Same)), (2, 8), "at two looks");
}

#[tokio::test(start_paused = true)]
async fn a_user_whose_packs_arrive_in_time_is_not_listed_again() {
    let scene = Arc::new(Scene::default());
    let pack = scene.add(USER, 5, true);
    let arrives = async {
        tokio::time::sleep(GRACE - Duration::from_secs(10)).await;
        scene.keep(pack);
    };
    let (metrics, ()) = tokio::join!(run(&scene, 3 * GRACE), arrives);
    assert_eq!((scene.listed_again(), metrics.healed.get()), (vec![], 0));
    assert!(metrics.count(Found::Missing) > 0);
}

#[tokio::test(start_paused = true)]
async fn while_the_history_store_is_away_nothing_is_compared_and_then_it_goes_on() {
    let scene = Arc::new(Scene::default());
    let pack = scene.add(USER, 5, true);
    scene.keep(pack);
    scene.history_is_away.store(true, Ordering::Relaxed);
    let comes_back = async {
        tokio::time::sleep(GRACE).await;
        scene.history_is_away.store(false, Ordering::Relaxed);
    };
    let (metrics, ()) = tokio::join!(run(&scene, 2 * GRACE), comes_back);
    assert!(metrics.failures.get() > 3);
    assert_eq!(Found::ALL.map(|found| metrics.count(found) > 0), [true, false, false, false, false]);
}
