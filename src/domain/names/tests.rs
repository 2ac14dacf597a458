use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use storage::store_error::Answer;

/// Counts what is asked of it.
#[derive(Default)]
struct Store {
    asked: AtomicUsize,
    texts: Mutex<Vec<(UserName, bool)>>,
}

impl Store {
    fn answer<T: Send + 'static>(&self, value: T) -> Answer<T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(ready(Ok(value)))
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

impl Names for Store {
    fn number(&self, name: UserName) -> Answer<UserId> {
        let mut texts = self.texts.lock();
        let place = texts.iter().position(|(known, _)| *known == name).unwrap_or(texts.len());
        if place == texts.len() {
            texts.push((name, true));
        }
        texts[place].1 = true;
        self.answer(UserId(place as u64 + 1))
    }

    fn numbers(&self, names: Vec<UserName>) -> Answer<Vec<Option<Numbered>>> {
        let texts = self.texts.lock();
        let numbered = |name: &UserName| {
            let at = texts.iter().position(|(known, _)| known == name)?;
            Some(Numbered { user: UserId(at as u64 + 1), is_dropped: !texts[at].1 })
        };
        self.answer(names.iter().map(numbered).collect())
    }

    fn texts(&self, users: Vec<UserId>) -> Answer<Vec<Option<NameText>>> {
        let texts = self.texts.lock();
        let text = |user: &UserId| {
            let (name, is_known) = texts.get((user.0 as usize).checked_sub(1)?)?;
            Some(if *is_known { NameText::Known(name.clone()) } else { NameText::Dropped })
        };
        self.answer(users.iter().map(text).collect())
    }

    fn drop_text(&self, user: UserId) -> Answer<()> {
        self.texts.lock()[user.0 as usize - 1].1 = false;
        self.answer(())
    }
}

fn name(text: &str) -> UserName {
    UserName::new(text).expect("a name")
}

fn known(user: UserId) -> Option<Numbered> {
    Some(Numbered { user, is_dropped: false })
}

fn scene() -> (Arc<Store>, UserNames) {
    let store = Arc::new(Store::default());
    (store.clone(), UserNames::new(store))
}

#[tokio::test(start_paused = true)]
async fn a_name_is_looked_up_once_in_a_while() {
    let (store, names) = scene();
    let ann = names.number(&name("ann")).await.expect("a number");
    assert_eq!(store.asked(), 2, "a new one");
    assert_eq!(names.number(&name("ann")).await.expect("the same"), ann);
    assert_eq!(names.find(&name("ann")).await.expect("the same"), known(ann));
    assert_eq!(names.text(ann).await.expect("the text"), Some(NameText::Known(name("ann"))));
    assert_eq!(names.names_of([ann, ann]).await.expect("the text"), HashMap::from([(ann, name("ann"))]));
    assert_eq!(store.asked(), 0);
    tokio::time::advance(REMEMBERED_FOR).await;
    assert_eq!(names.number(&name("ann")).await.expect("the same"), ann);
    assert_eq!(store.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn unknown_names_are_asked_for_each_time() {
    let (store, names) = scene();
    for _ in 0..2 {
        assert_eq!(names.find(&name("ann")).await.expect("none"), None);
        assert_eq!(names.text(UserId(1)).await.expect("none"), None);
    }
    assert_eq!(store.asked(), 4);
    names.number(&name("ann")).await.expect("a number");
    assert_eq!(names.find(&name("ann")).await.expect("one"), known(UserId(1)));
}

/// Whatever was remembered, the next welcome after an erasure writes the text.
#[tokio::test(start_paused = true)]
async fn a_dropped_text_is_not_remembered() {
    let (store, names) = scene();
    let ann = names.number(&name("ann")).await.expect("a number");
    names.drop_text(ann).await.expect("dropped");
    assert_eq!(names.text(ann).await.expect("asked"), Some(NameText::Dropped));
    assert_eq!(names.names_of([ann]).await.expect("asked"), HashMap::new());
    let dropped = Some(Numbered { user: ann, is_dropped: true });
    assert_eq!(names.find(&name("ann")).await.expect("asked"), dropped);
    assert!(!store.texts.lock()[0].1, "a look-up writes nothing");
    assert_eq!(names.number(&name("ann")).await.expect("the same"), ann);
    assert!(store.texts.lock()[0].1, "written again");

    store.texts.lock()[0].1 = false;
    names.forget(ann);
    assert_eq!(names.number(&name("ann")).await.expect("the same"), ann);
    assert!(store.texts.lock()[0].1, "another gateway had dropped it");
}
