//! The reader over stores in memory.

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::metrics::{ColdOutcome, Metrics};
use super::{ColdReader, HistoryHandle};
use crate::history_packs::fixture::rows_at;
use crate::time::clock::{self, Clock};
use model::cold::{ColdContents, ColdMark};
use model::forgetting::{ContentRow, Tombstone};
use model::ids::{Content, UserId};
use model::pack::{PackedRow, UserPack};
use model::page::{Page, PageRequest};
use model::retention::Retention;
use model::shard::{Region, Shard};
use model::version::Version;
use model::walk::{WalkRequest, Walked};
use storage::history_store::{Answer as HistoryAnswer, HistoryAway, HistoryStore, HistoryUser};
use storage::hot_store::optimistic::{Head, Token, Trimmed};
use storage::hot_store::trim_users::{BeyondPage, HotBounds, Trim, TrimUsers};
use storage::hot_store::{Answer, Found, FoundCold, ListedUser, StoreError};
use storage::turn::Turn;

const USER: UserId = UserId(7);
const RETENTION: Retention = Retention::of(Duration::from_hours(24 * 90));

fn mark(floor: u64, trimmed: u64) -> ColdMark {
    ColdMark { floor, trimmed: Version(trimmed) }
}

fn content(oid: u64) -> Content {
    Content { kind: 1, oid }
}

#[derive(Clone, Copy, Default)]
enum Health {
    #[default]
    Well,
    Refuses,
    /// It never answers.
    Hangs,
    Takes(Duration),
}

/// Both stores.
#[derive(Default)]
struct Scene {
    hot: Mutex<Option<ListedUser>>,
    history: Mutex<Vec<PackedRow>>,
    health: Mutex<Health>,
    reads: AtomicUsize,
}

impl Scene {
    /// Contents 0 to 4 are in the history store, a minute apart, the newest first. Returns the moment of the newest.
    fn with_five(self: &Arc<Self>) -> u64 {
        let newest = clock::wall() - 3_600_000;
        let rows = (0..5).flat_map(|oid| {
            let row = rows_at(oid + 1, newest - 60_000 * oid as u64, 1_000).remove(&content(oid as u64));
            row.map(|row| PackedRow::of(content(oid as u64), &row))
        });
        *self.history.lock() = rows.collect();
        newest
    }

    /// These rows are hot.
    fn keep(&self, rows: BTreeMap<Content, ContentRow>, cold: ColdMark) {
        let token = Token { version: cold.trimmed, writer: 1 };
        let head = Head { token, cold: Some(cold), ..Head::default() };
        *self.hot.lock() = Some(ListedUser::new(USER, Some(Box::new(head)), rows));
    }

    fn reader(self: &Arc<Self>) -> Arc<ColdReader> {
        let history: Arc<dyn HistoryStore> = self.clone();
        let open = move || -> futures_util::future::BoxFuture<'static, _> { Box::pin(ready(Ok(history.clone()))) };
        let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
        let metrics = Arc::new(Metrics::unregistered());
        ColdReader::new(self.clone(), HistoryHandle::new(Box::new(open)), clock, RETENTION, metrics)
    }

    fn is(&self, health: Health) {
        *self.health.lock() = health;
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

impl TrimUsers for Scene {
    fn take_look(&self, _: Region, _: u64, _: Duration) -> Answer<Turn> {
        unreachable!("nobody is trimmed")
    }

    fn end_look(&self, _: Region, _: u64) -> Answer<()> {
        unreachable!("nobody is trimmed")
    }

    fn beyond(&self, _: Shard, _: Option<String>, _: HotBounds) -> Answer<BeyondPage> {
        unreachable!("nobody is trimmed")
    }

    fn read_whole(&self, _: UserId) -> Answer<ListedUser> {
        unreachable!("it may be of two moments")
    }

    fn read_at_once(&self, _: UserId) -> Answer<ListedUser> {
        let hot = self.hot.lock().clone().ok_or_else(|| StoreError::Away("refused".to_owned()));
        Box::pin(ready(hot))
    }

    fn trim(&self, _: Trim, _: u64) -> Answer<Trimmed> {
        unreachable!("nobody is trimmed")
    }

    fn list_again(&self, _: Vec<UserId>, _: u64) -> Answer<u64> {
        unreachable!("nobody is listed")
    }

    fn list_shard_again(&self, _: Shard, _: u64) -> Answer<u64> {
        unreachable!("nobody is listed")
    }
}

impl HistoryStore for Scene {
    fn write(&self, _: Arc<[UserPack]>, _: Option<Retention>, _: u64) -> HistoryAnswer<()> {
        unreachable!("nothing goes back")
    }

    fn read(&self, _: UserId, _: u64) -> HistoryAnswer<HistoryUser> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let (health, rows) = (*self.health.lock(), self.history.lock().clone());
        Box::pin(async move {
            match health {
                Health::Well => {}
                Health::Refuses => return Err(HistoryAway("refused".to_owned())),
                Health::Hangs => pending().await,
                Health::Takes(time) => sleep(time).await,
            }
            Ok(HistoryUser { forgetting: None, rows })
        })
    }
}

fn found(oids: usize, mark: ColdMark, oldest_live: u64) -> (Vec<Content>, Found) {
    let contents: Vec<Content> = (0..oids as u64).map(content).collect();
    let cold = Some(FoundCold { mark, indices: (0..oids).collect(), oldest_live });
    (contents, Found { records: vec![None; oids], cold, partial: false })
}

fn ats(found: &Found) -> Vec<Option<u64>> {
    found.records.iter().map(|record| record.as_ref().map(|record| record.at)).collect()
}

#[tokio::test(start_paused = true)]
async fn empty_slots_are_filled_from_one_read_that_holds_as_long_as_its_mark() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    let (contents, asked) = found(6, mark(newest, 1), newest - 60_000);
    let filled = reader.fill(USER, &contents, asked.clone()).await;
    assert_eq!(ats(&filled), [Some(newest), Some(newest - 60_000), None, None, None, None], "older ones are not live");
    assert!(!filled.partial);
    assert_eq!(reader.metrics.filter_misses.get(), 1, "the sixth");
    reader.fill(USER, &contents, asked).await;
    assert_eq!((scene.reads(), reader.metrics.count(ColdOutcome::Kept)), (1, 1));
    let (contents, asked) = found(1, mark(newest, 2), 0);
    reader.fill(USER, &contents, asked).await;
    assert_eq!(scene.reads(), 2, "more rows have left");
}

#[tokio::test(start_paused = true)]
async fn readers_of_a_user_wait_for_one_read_and_not_for_long() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    scene.is(Health::Takes(Duration::from_millis(400)));
    let (contents, asked) = found(1, mark(newest, 1), 0);
    let began = Instant::now();
    let (one, other) =
        tokio::join!(reader.fill(USER, &contents, asked.clone()), reader.fill(USER, &contents, asked.clone()));
    assert!(one.partial && other.partial);
    assert_eq!((began.elapsed(), scene.reads()), (Duration::from_millis(300), 1));
    sleep(Duration::from_millis(150)).await;
    let then = reader.fill(USER, &contents, asked).await;
    assert_eq!((then.partial, scene.reads()), (false, 1), "the read went on");
}

#[tokio::test(start_paused = true)]
async fn after_five_failures_answers_are_partial_at_once_until_the_store_is_back() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    let (contents, asked) = found(1, mark(newest, 1), 0);
    scene.is(Health::Refuses);
    for _ in 0..5 {
        assert!(reader.fill(USER, &contents, asked.clone()).await.partial);
    }
    scene.is(Health::Hangs);
    let began = Instant::now();
    for _ in 0..100 {
        assert!(reader.fill(USER, &contents, asked.clone()).await.partial);
    }
    assert_eq!((began.elapsed(), scene.reads()), (Duration::ZERO, 5));
    scene.is(Health::Well);
    sleep(Duration::from_secs(1)).await;
    assert!(!reader.fill(USER, &contents, asked).await.partial);
}

#[tokio::test(start_paused = true)]
async fn five_readers_who_wait_in_vain_are_enough() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    let (contents, asked) = found(1, mark(newest, 1), 0);
    scene.is(Health::Hangs);
    let began = Instant::now();
    for _ in 0..100 {
        assert!(reader.fill(USER, &contents, asked.clone()).await.partial);
    }
    assert_eq!((began.elapsed(), scene.reads()), (5 * Duration::from_millis(300), 1));
}

#[tokio::test(start_paused = true)]
async fn a_page_has_the_rows_of_both_stores_and_of_one_content_that_of_the_hot_store() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    let mut hot = rows_at(1, newest + 5_000, 9_000);
    let tombstone = Tombstone { at: newest, version: Version::last_of(newest) };
    hot.insert(content(3), ContentRow { record: None, tombstone: Some(tombstone) });
    scene.keep(hot, mark(newest, 1));
    let request = |after| PageRequest { limit: 2, after, kinds: Vec::new(), finished: None };
    let page = Page { cold: Some(mark(newest, 1)), ..Page::default() };
    let oids = |page: &Page| page.records.iter().map(|record| record.content.oid).collect::<Vec<_>>();
    let first = reader.page(USER, &request(None), page.clone()).await.expect("the hot store is there");
    assert_eq!((oids(&first), first.records[0].pos), (vec![0, 1], 9_000));
    let last = reader.page(USER, &request(first.next), page).await.expect("the hot store is there");
    assert_eq!((oids(&last), last.next), (vec![2, 4], None), "the fourth was deleted");
    assert_eq!(scene.reads(), 1, "both pages are cut from one read");
    let walk = WalkRequest { limit: 3, after: Some(content(0)), kinds: Vec::new() };
    let walked = Walked { cold: Some(mark(newest, 1)), ..Walked::default() };
    let walked = reader.walk(USER, &walk, walked).await.expect("the hot store is there");
    assert_eq!(walked.records.iter().map(|record| record.content.oid).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(walked.next, None);
}

#[tokio::test(start_paused = true)]
async fn without_the_history_store_a_page_is_partial_and_a_hot_page_is_not() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    scene.keep(rows_at(1, newest + 5_000, 1_000), mark(newest, 1));
    scene.is(Health::Hangs);
    let request = PageRequest { limit: 2, after: None, kinds: Vec::new(), finished: None };
    let began = Instant::now();
    let page = Page { cold: Some(mark(newest, 1)), ..Page::default() };
    assert!(reader.page(USER, &request, page).await.expect("the hot store is there").partial);
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    let hot = reader.page(USER, &request, Page::default()).await.expect("it asks neither store");
    assert_eq!(hot, Page::default());
}

#[tokio::test(start_paused = true)]
async fn a_late_change_waits_until_the_history_store_is_back() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    scene.is(Health::Refuses);
    let wanted = ColdContents { mark: mark(newest, 1), contents: vec![content(1), content(9)] };
    let back = async {
        sleep(Duration::from_secs(600)).await;
        scene.is(Health::Well);
    };
    let began = Instant::now();
    let (rows, ()) = tokio::join!(reader.rows(USER, &wanted), back);
    let waited = began.elapsed() - Duration::from_secs(600);
    assert!(waited < Duration::from_secs(5), "{waited:?} after it was back");
    let there = rows.rows.iter().map(|(content, row)| (content.oid, row.is_some())).collect::<Vec<_>>();
    assert_eq!((rows.mark, there), (wanted.mark, vec![(1, true), (9, false)]));
}
