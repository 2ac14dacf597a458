use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::tables::{ContentNameTable, KeptText};
use super::{DAY_MS, EmbeddedContentNames, SWEPT};
use crate::hot_store::EmbeddedStore;
use model::content_name::ContentName;
use storage::content_names::ContentNames;
use storage::hot_store::config::{Backend, Config};

const RETENTION_DAYS: u64 = 10;
const TODAY: u64 = 20_000;

fn open(dir: &Path, now: &Arc<AtomicU64>) -> EmbeddedContentNames {
    let config = Config {
        hot_store: Backend::Embedded,
        data_dir: dir.to_owned(),
        group_interval: Duration::ZERO,
        steady_hold: Duration::ZERO,
        ready_share: 1.0,
        retention: Duration::from_millis(RETENTION_DAYS * DAY_MS),
        records_per_user: NonZeroU32::MIN,
        accept_clock_before_store: false,
        clock_step_max: Duration::from_secs(3_600),
        user_cache: NonZeroUsize::MIN,
        cache_bytes: 1 << 20,
        prune_interval: Duration::from_secs(3_600),
    };
    let clock = now.clone();
    let clock = Arc::new(move || clock.load(Ordering::Relaxed));
    let store = Arc::new(EmbeddedStore::open(&config, clock.clone()).unwrap());
    EmbeddedContentNames::open(store, clock).unwrap()
}

fn name(text: &str) -> ContentName {
    ContentName::new(text).unwrap()
}

fn wait<T>(answer: storage::store_error::Answer<T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(answer).unwrap()
}

/// Puts a text under a number, kept on a day of long ago.
fn put(contents: &EmbeddedContentNames, oid: u64, day: u32, text: &str) {
    let tables = &contents.store.shared.tables;
    let mut batch = tables.durable_batch(1);
    contents.table.put(&mut batch, oid, &KeptText { day, name: name(text) });
    batch.commit().unwrap();
}

fn count(contents: &EmbeddedContentNames) -> usize {
    let table: &ContentNameTable = &contents.table;
    table.from(&contents.store.shared.tables.view().snapshot, 0, usize::MAX).unwrap().len()
}

#[test]
fn the_first_text_keeps_a_number_until_it_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let contents = open(dir.path(), &Arc::new(AtomicU64::new(TODAY * DAY_MS)));
    contents.store.shared.saw(TODAY * DAY_MS);
    let film = name("film");
    // Records are kept today and nine days before, texts two days longer.
    let last = (TODAY - RETENTION_DAYS - 1) as u32;
    put(&contents, film.oid(), last, "other");
    assert_eq!(wait(contents.keep(vec![film.clone()])), [name("other")]);
    put(&contents, film.oid(), last - 1, "other");
    assert_eq!(wait(contents.keep(vec![film.clone()])), vec![film.clone()]);
    assert_eq!(wait(contents.texts(vec![film.oid()])), [Some(film)]);
}

#[test]
fn texts_that_are_not_kept_again_are_removed_step_by_step() {
    let dir = tempfile::tempdir().unwrap();
    let now = Arc::new(AtomicU64::new(TODAY * DAY_MS));
    let contents = open(dir.path(), &now);
    let names: Vec<_> = (0..2 * SWEPT + 10).map(|index| name(&format!("content-{index}"))).collect();
    wait(contents.keep(names.clone()));
    assert_eq!(count(&contents), names.len());
    now.store((TODAY + RETENTION_DAYS + 5) * DAY_MS, Ordering::Relaxed);
    let kept = || name("still watched");
    // The time of the wall clock alone is not believed.
    for _ in 0..4 {
        wait(contents.keep(vec![kept()]));
    }
    assert_eq!(count(&contents), names.len() + 1);
    contents.store.shared.saw((TODAY + RETENTION_DAYS + 5) * DAY_MS);
    wait(contents.keep(vec![kept()]));
    assert!(count(&contents) > names.len() / 3, "a write looks at some only");
    for _ in 0..4 {
        wait(contents.keep(vec![kept()]));
    }
    assert_eq!(count(&contents), 1);
    assert_eq!(wait(contents.texts(vec![kept().oid(), names[0].oid()])), [Some(kept()), None]);
}
