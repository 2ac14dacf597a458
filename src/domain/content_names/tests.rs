use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::advance;

use super::{NamedContents, Standing, texts_of};
use model::content_name::{ContentName, ToldOid};
use model::ids::Content;
use storage::content_names::ContentNames;
use storage::store_error::{Answer, StoreError};

/// Counts what is asked of it.
#[derive(Default)]
struct Store {
    texts: Mutex<BTreeMap<u64, ContentName>>,
    asked: AtomicUsize,
    failures: AtomicUsize,
}

impl Store {
    fn ask(&self) -> Result<(), StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let fails =
            self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if fails { Err(StoreError::Away("away".to_owned())) } else { Ok(()) }
    }
}

impl ContentNames for Store {
    fn keep(&self, names: Vec<ContentName>) -> Answer<Vec<ContentName>> {
        let kept = self.ask().map(|()| {
            let mut texts = self.texts.lock();
            names.into_iter().map(|name| texts.entry(name.oid()).or_insert(name).clone()).collect()
        });
        Box::pin(ready(kept))
    }

    fn texts(&self, oids: Vec<u64>) -> Answer<Vec<Option<ContentName>>> {
        let texts = self.texts.lock();
        let found = oids.iter().map(|oid| texts.get(oid).cloned()).collect();
        Box::pin(ready(self.ask().map(|()| found)))
    }
}

fn scene() -> (Arc<Store>, NamedContents) {
    let store = Arc::new(Store::default());
    (store.clone(), NamedContents::new(store))
}

fn name(text: &str) -> ContentName {
    ContentName::new(text).unwrap()
}

fn content(name: &ContentName) -> Content {
    Content { kind: 1, oid: name.oid() }
}

fn asked(store: &Store) -> usize {
    store.asked.swap(0, Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn a_text_is_kept_once_and_again_half_a_day_later() {
    let (store, names) = scene();
    let (film, song) = (name("film"), name("song"));
    assert_eq!(names.standing(&film), Standing::Unknown);
    assert_eq!(names.require(&[film.clone(), song.clone(), film.clone()]).await.unwrap(), [0_u32; 0]);
    assert_eq!((names.standing(&film), names.standing(&song), asked(&store)), (Standing::Kept, Standing::Kept, 1));
    assert_eq!(names.require(std::slice::from_ref(&song)).await.unwrap(), [0_u32; 0]);
    assert_eq!(asked(&store), 0);
    advance(Duration::from_secs(12 * 3600)).await;
    assert_eq!(names.standing(&film), Standing::Unknown, "it would be forgotten");
    names.require(std::slice::from_ref(&film)).await.unwrap();
    assert_eq!((names.standing(&film), asked(&store)), (Standing::Kept, 1));
}

#[tokio::test(start_paused = true)]
async fn a_number_that_belongs_to_another_text_is_taken() {
    let (store, names) = scene();
    let (film, other) = (name("film"), name("other"));
    store.texts.lock().insert(film.oid(), other.clone());
    assert_eq!(names.require(&[other, film.clone()]).await.unwrap(), [1]);
    assert_eq!(names.standing(&film), Standing::Taken);
}

#[tokio::test(start_paused = true)]
async fn texts_are_read_once() {
    let (store, names) = scene();
    let (film, song) = (name("film"), name("song"));
    names.keep(vec![film.clone()]).await.unwrap();
    store.texts.lock().insert(song.oid(), song.clone());
    asked(&store);
    let contents = || [content(&film), content(&song), Content { kind: 1, oid: 7 }].into_iter();
    assert_eq!(names.remembered(contents()), None);
    for times in [1, 0] {
        let texts = names.texts(contents()).await.unwrap();
        assert_eq!(texts.told(film.oid()), ToldOid::Name(&film));
        assert_eq!(texts.told(song.oid()), ToldOid::Name(&song));
        assert_eq!(texts.told(7), ToldOid::Number(7));
        assert_eq!(asked(&store), times);
    }
    assert!(names.remembered(contents()).is_some());
    assert_eq!(names.standing(&song), Standing::Unknown, "to read a text does not keep it");
    advance(Duration::from_secs(10)).await;
    assert_eq!(names.remembered(contents()), None, "the number may have a text by now");
    assert_eq!(texts_of(None, contents()).await.unwrap().told(7), ToldOid::Number(7));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_asked_again() {
    let (store, names) = scene();
    let film = name("film");
    store.failures.store(3, Ordering::Relaxed);
    assert!(names.require(std::slice::from_ref(&film)).await.is_err());
    names.keep_patiently(vec![film.clone()]).await;
    assert_eq!((names.standing(&film), asked(&store)), (Standing::Kept, 4));
    store.failures.store(2, Ordering::Relaxed);
    let texts = names.texts_patiently(vec![Content { kind: 1, oid: 7 }]).await;
    assert_eq!((texts.told(7), asked(&store)), (ToldOid::Number(7), 3));
}
