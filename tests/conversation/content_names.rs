//! Contents that are named by texts: beats wait until a new name is stored, and frames until the names that they tell are read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::FutureExt;
use heartline::edge::protocol::frame::ServerFrame;
use heartline::model::content_name::ContentName;
use heartline::model::ids::{Content, UserId};
use heartline::model::push::Push;
use heartline::storage::content_names::ContentNames;
use heartline::storage::store_error::{Answer, StoreError};
use tokio::sync::oneshot;

use crate::conversation::acks::acks;
use crate::conversation::gateway::Gateway;
use crate::conversation::peer::{End, Peer};
use crate::conversation::text::{delete, named};
use crate::conversation::time::{BEGIN, pass, play};

const USER: UserId = UserId(42);
/// A store that failed is asked again after this time.
const PAUSE: Duration = Duration::from_millis(500);

/// Answers when the test says.
#[derive(Default)]
struct Dictionary {
    texts: Arc<Mutex<BTreeMap<u64, ContentName>>>,
    asked: Mutex<Vec<oneshot::Sender<bool>>>,
}

impl Dictionary {
    /// Answers all that was asked. The number of questions.
    fn answer(&self, goes_well: bool) -> usize {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.into_iter().map(|asked| asked.send(goes_well)).filter(Result::is_ok).count()
    }

    fn later<T: Send + 'static>(&self, answer: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
        let (goes_well, answered) = oneshot::channel();
        self.asked.lock().unwrap().push(goes_well);
        let away = || StoreError::Away("as the test wants it".to_owned());
        async move { if answered.await.unwrap_or(false) { Ok(answer()) } else { Err(away()) } }.boxed()
    }
}

impl ContentNames for Dictionary {
    fn keep(&self, names: Vec<ContentName>) -> Answer<Vec<ContentName>> {
        let texts = self.texts.clone();
        self.later(move || {
            let mut texts = texts.lock().unwrap();
            names.into_iter().map(|name| texts.entry(name.oid()).or_insert(name).clone()).collect()
        })
    }

    fn texts(&self, oids: Vec<u64>) -> Answer<Vec<Option<ContentName>>> {
        let texts = self.texts.clone();
        self.later(move || oids.iter().map(|oid| texts.lock().unwrap().get(oid).cloned()).collect())
    }
}

fn content(name: &str) -> Content {
    Content { kind: 1, oid: ContentName::new(name).unwrap().oid() }
}

#[test]
fn beats_of_a_new_name_wait_until_it_is_stored() {
    play(async {
        let dictionary = Arc::new(Dictionary::default());
        let mut gateway = Gateway::naming(dictionary.clone());
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        peer.send(named(1, "film", BEGIN));
        peer.send(named(2, "film", BEGIN + 1));
        assert!(gateway.take(usize::MAX).is_empty(), "its name is not stored");
        assert!(peer.has_unread(), "what comes later is not read before");
        for _ in 0..2 {
            assert_eq!(dictionary.answer(false), 1);
            peer.go_on();
            assert!(gateway.take(usize::MAX).is_empty());
            pass(PAUSE).await;
            peer.go_on();
        }
        assert_eq!(dictionary.answer(true), 1);
        peer.go_on();
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [2]);
        assert_eq!(dictionary.answer(true), 0, "it is known");
        peer.send(named(3, "film", BEGIN + 2));
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [3]);
    });
}

#[test]
fn a_frame_that_waits_for_a_name_keeps_its_place() {
    play(async {
        let dictionary = Arc::new(Dictionary::default());
        let mut gateway = Gateway::naming(dictionary.clone());
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        peer.send(named(1, "film", BEGIN));
        dictionary.answer(true);
        let tell = |name: &'static str| {
            gateway.tell(USER, |inbox| inbox.push(Push::Deleted { contents: vec![content(name)], at: BEGIN }));
        };
        tell("of another device");
        assert!(peer.said().is_empty(), "its name is not known here");
        gateway.commit_all();
        assert!(peer.said().is_empty(), "an ack does not overtake it");
        assert_eq!(dictionary.answer(false), 1);
        peer.go_on();
        pass(PAUSE).await;
        peer.go_on();
        assert_eq!(dictionary.answer(true), 1);
        let said = peer.said();
        assert!(matches!(said[0], ServerFrame::Push(Push::Deleted { .. })), "{said:?}");
        assert_eq!(acks(&said[1..]), [1]);
    });
}

#[test]
fn a_connection_that_leaves_says_first_what_waits_for_a_name() {
    play(async {
        let dictionary = Arc::new(Dictionary::default());
        let mut gateway = Gateway::naming(dictionary.clone());
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        gateway.tell(USER, |inbox| inbox.push(Push::Deleted { contents: vec![content("film")], at: BEGIN }));
        assert!(peer.said().is_empty());
        peer.send(named(1, "song", BEGIN));
        peer.hurry();
        assert_eq!(peer.end, None);
        assert_eq!(dictionary.answer(true), 2);
        peer.go_on();
        assert_eq!(peer.said().len(), 1);
        assert_eq!(peer.end, None, "the beat is not committed");
        gateway.commit_all();
        assert_eq!(acks(&peer.said()), [1]);
        assert_eq!(peer.end, Some(End::Left));
    });
}

#[test]
fn a_delete_waits_for_its_names_too() {
    play(async {
        let dictionary = Arc::new(Dictionary::default());
        let mut gateway = Gateway::naming(dictionary.clone());
        let mut peer = Peer::new(&gateway, USER, 0, Duration::ZERO);
        peer.send(delete(1, &[100], BEGIN));
        assert!(gateway.take(usize::MAX).is_empty());
        assert_eq!(dictionary.answer(true), 1);
        peer.go_on();
        gateway.commit_all();
        assert!(matches!(peer.said()[..], [ServerFrame::Result { seq: 1, .. }]));
    });
}
