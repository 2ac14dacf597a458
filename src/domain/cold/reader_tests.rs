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
use model::forgetting::{ContentRow, Tombstone, UserRow};
use model::ids::{Content, UserId};
use model::pack::{PackedForgetting, PackedRow, UserPack};
use model::page::{Page, PageRequest};
use model::retention::Retention;
use model::shard::{Region, Shard};
use model::version::Version;
use model::walk::{WalkRequest, Walked};
use storage::history_store::{Answer as HistoryAnswer, HistoryAway, HistoryStore, HistoryUser};
use storage::hot_store::optimistic::{Head, Token, Trimmed};
use storage::hot_store::trim_users::{BeyondPage, HotBounds, Trim, TrimUsers};
use storage::hot_store::unread_users::UnreadUsers;
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
    rebuilt_at: Mutex<Option<u64>>,
    /// The watermark in the history store.
    cleared: Mutex<u64>,
    /// The content of the stores after the next read of one of them.
    then: Mutex<Option<(ListedUser, Vec<PackedRow>)>>,
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

    /// Rows leave the hot store between two reads.
    fn was_read(&self) {
        if let Some((hot, history)) = self.then.lock().take() {
            *self.hot.lock() = Some(hot);
            *self.history.lock() = history;
        }
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
        self.was_read();
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

impl UnreadUsers for Scene {
    fn rebuilt_at(&self) -> Option<u64> {
        *self.rebuilt_at.lock()
    }

    fn is_unread(&self, _: UserId) -> Answer<bool> {
        Box::pin(ready(Ok(self.hot.lock().as_ref().is_some_and(|hot| hot.token().is_none()))))
    }

    fn make_head(&self, _: UserId, history: Arc<HistoryUser>, _: u64) -> Answer<Option<ColdMark>> {
        let floor = history.rows.iter().map(PackedRow::newest).max().unwrap_or(0);
        let made = mark(floor, 77);
        self.keep(BTreeMap::new(), made);
        Box::pin(ready(Ok(Some(made))))
    }
}

impl HistoryStore for Scene {
    fn write(&self, _: Arc<[UserPack]>, _: Option<Retention>, _: u64) -> HistoryAnswer<()> {
        unreachable!("nothing goes back")
    }

    fn read(&self, _: UserId, _: u64) -> HistoryAnswer<HistoryUser> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let (health, rows) = (*self.health.lock(), self.history.lock().clone());
        let row = UserRow { watermark: *self.cleared.lock(), ..UserRow::default() };
        let forgetting = PackedForgetting::of(&row, Version(1));
        self.was_read();
        Box::pin(async move {
            match health {
                Health::Well => {}
                Health::Refuses => return Err(HistoryAway("refused".to_owned())),
                Health::Hangs => pending().await,
                Health::Takes(time) => sleep(time).await,
            }
            Ok(HistoryUser { forgetting, rows })
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
async fn a_row_that_leaves_between_two_reads_is_on_the_page() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    let all = std::mem::take(&mut *scene.history.lock());
    scene.keep(rows_at(5, newest, 1_000), mark(newest, 1));
    let token = Token { version: Version(2), writer: 1 };
    let head = Head { token, cold: Some(mark(newest, 2)), ..Head::default() };
    *scene.then.lock() = Some((ListedUser::new(USER, Some(Box::new(head)), BTreeMap::new()), all));
    let request = PageRequest { limit: 9, after: None, kinds: Vec::new(), finished: None };
    let page = Page { cold: Some(mark(newest, 1)), ..Page::default() };
    let page = reader.page(USER, &request, page).await.expect("the hot store is there");
    assert_eq!(page.records.len(), 5);
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

#[tokio::test(start_paused = true)]
async fn of_a_rebuilt_store_an_absent_head_is_read_once_and_made() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    *scene.hot.lock() = Some(ListedUser::new(USER, None, BTreeMap::new()));
    assert!(reader.make_known(USER).await.expect("the hot store is there"), "it was never lost");
    assert_eq!(scene.reads(), 0);
    *scene.rebuilt_at.lock() = Some(1);
    let request = PageRequest { limit: 9, after: None, kinds: Vec::new(), finished: None };
    let page = Page { cold: Some(ColdMark::UNREAD), ..Page::default() };
    let page = reader.page(USER, &request, page).await.expect("the hot store is there");
    assert_eq!(page.records.len(), 5);
    let rows = reader.rows(USER, &ColdContents::of_unread()).await;
    assert_eq!((rows.mark, rows.rows.len()), (ColdMark::UNREAD, 0));
    let wanted = ColdContents { mark: mark(newest, 77), contents: vec![content(1)] };
    assert!(reader.rows(USER, &wanted).await.rows[0].1.is_some());
    assert_eq!((scene.reads(), reader.metrics.heads_made.get()), (1, 1), "one read for all of it");
}

#[tokio::test(start_paused = true)]
async fn without_the_history_store_an_unread_user_is_not_known_and_a_change_waits() {
    let scene = Arc::new(Scene::default());
    let (_, reader) = (scene.with_five(), scene.reader());
    *scene.hot.lock() = Some(ListedUser::new(USER, None, BTreeMap::new()));
    *scene.rebuilt_at.lock() = Some(1);
    scene.is(Health::Refuses);
    assert!(!reader.make_known(USER).await.expect("the hot store is there"));
    let back = async {
        sleep(Duration::from_secs(60)).await;
        scene.is(Health::Well);
    };
    let wanted = ColdContents::of_unread();
    tokio::join!(reader.rows(USER, &wanted), back);
    assert!(reader.make_known(USER).await.expect("the hot store is there"));
    assert_eq!(reader.metrics.heads_made.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_clear_that_only_the_history_store_knows_of_hides_what_it_covers() {
    let scene = Arc::new(Scene::default());
    let (newest, reader) = (scene.with_five(), scene.reader());
    *scene.cleared.lock() = newest - 60_000;
    let (contents, asked) = found(3, ColdMark::UNREAD, 0);
    assert_eq!(ats(&reader.fill(USER, &contents, asked).await), [Some(newest), None, None]);
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_user_of_whom_nothing_is_known_is_made_by_the_first_change() {
    let scene = Arc::new(Scene::default());
    let reader = scene.reader();
    *scene.hot.lock() = Some(ListedUser::new(USER, None, BTreeMap::new()));
    *scene.rebuilt_at.lock() = Some(1);
    assert!(reader.make_known(USER).await.expect("the hot store is there"));
    assert_eq!(reader.metrics.heads_made.get(), 0, "a connection takes no room");
    reader.rows(USER, &ColdContents::of_unread()).await;
    assert_eq!((reader.metrics.heads_made.get(), scene.reads()), (1, 1));
}
