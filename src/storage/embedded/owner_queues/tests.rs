//! Records that cannot be read.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::EmbeddedQueues;
use super::tables::Tables;
use model::subscribers::{Subscriber, SubscriberId};
use storage::event_bus::part::{Offsets, Part};
use storage::owner_queues::{
    Append, Bounds, Change, Changed, Done, Ended, Limit, OwnerQueues, Revision, Unreadable, Version,
};

const BOUNDS: Bounds = Bounds { events: 100, bytes: 1 << 20, age: Duration::from_hours(1) };
const LEASE: Duration = Duration::from_secs(30);

struct Scene {
    queues: EmbeddedQueues,
    dir: TempDir,
}

fn id(name: &str) -> SubscriberId {
    name.parse().unwrap()
}

fn subscriber() -> Arc<Subscriber> {
    let secrets = json!({"newest": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
    let types = ["dev.heartline.reward.v1"];
    let json = json!({"url": "https://example.com/", "types": types, "batch": 1, "secrets": secrets});
    Arc::new(serde_json::from_value(json).unwrap())
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Scene { queues: Self::open(&dir), dir }
    }

    fn open(dir: &TempDir) -> EmbeddedQueues {
        EmbeddedQueues::open(dir.path(), BOUNDS, Arc::new(|| 1_000)).unwrap()
    }

    fn reopened(self) -> Self {
        let Scene { queues, dir } = self;
        drop(queues);
        Scene { queues: Self::open(&dir), dir }
    }

    async fn change(&self, name: &str, change: Change) -> Changed {
        let version = self.queues.owner(id(name)).await.unwrap().0;
        self.queues.change(id(name), version, change).await.unwrap()
    }

    /// Its incarnation.
    async fn put(&self, name: &str) -> Version {
        match self.change(name, Change::Put { subscriber: subscriber(), ends: Offsets::new() }).await {
            Changed::Done { .. } => self.queues.owner(id(name)).await.unwrap().1.unwrap().unwrap().incarnation,
            other => panic!("{other:?}"),
        }
    }

    async fn append(&self, name: &str, incarnation: Version, offset: u64) -> u64 {
        let append = Append { owner: id(name), incarnation, offset, event: format!("{offset}").into() };
        self.queues.append(Part::new("log"), vec![append]).await.unwrap().queued
    }

    /// Delivers the due events; returns each with its owner.
    async fn delivered(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for taken in self.queues.take(Limit::of(9), LEASE).await.unwrap().taken {
            all.extend(taken.entries.iter().map(|entry| (taken.owner.to_string(), entry.event.to_string())));
            let delivered_to = taken.entries.last().map(|entry| entry.number);
            let (delivered, status) = (taken.entries.len() as u64, taken.status);
            let done = Done { delivered_to, delivered, status, slow: false, pause: Duration::ZERO };
            assert_eq!(self.queues.done(taken.owner, taken.fence, done).await.unwrap(), Ended::Done);
        }
        all
    }

    /// Replaces what is stored of an owner, in the table that is chosen.
    async fn spoil(
        &self,
        name: &'static str,
        spoiled: impl Fn(&Tables) -> (&fjall::Keyspace, Vec<u8>) + Send + 'static,
    ) {
        let write = move |tables: &Tables| {
            let (table, value) = spoiled(tables);
            table.insert(name, value).unwrap();
        };
        self.queues.readers.ask((), write).answer().await.unwrap();
    }

    async fn head(&self, name: &'static str) -> Value {
        let read = move |tables: &Tables| serde_json::from_slice(&tables.heads.get(name).unwrap().unwrap()).unwrap();
        self.queues.readers.ask((), read).answer().await.unwrap()
    }

    /// Checks that the unreadable owner is left out, and no other one.
    async fn check_that_the_others_are_served(&self, good: Version) {
        assert_eq!(self.append("good", good, 2).await, 1);
        assert_eq!(self.delivered().await, [("good".to_owned(), "2".to_owned())]);
        let owners = self.queues.owners(None, 9).await.unwrap();
        assert_eq!(owners.iter().map(|owner| owner.id.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!(self.queues.owner(id("bad")).await.unwrap().1, Some(Err(Unreadable)));
        let told = self.queues.subscriptions(Revision::default()).await.unwrap().changed;
        assert!(told.iter().all(|(owner, now)| now.is_some() == (owner.as_str() == "good")), "{told:?}");
        assert!(self.queues.replays().await.unwrap().is_empty());
        assert!(self.queues.expire().await.is_ok() && self.queues.totals().await.is_ok());
    }
}

/// A store with three owners: one has an event that is due, one is being filled, and the last is to be served.
async fn three() -> (Scene, Version) {
    let scene = Scene::new();
    let (bad, good) = (scene.put("bad").await, scene.put("good").await);
    assert_eq!(scene.append("bad", bad, 1).await, 1);
    scene.put("filled").await;
    scene.change("filled", Change::Replay { after: Offsets::new() }).await;
    (scene, good)
}

#[tokio::test]
async fn an_owner_whose_definition_cannot_be_read_is_left_out_until_it_is_put_anew() {
    let (scene, good) = three().await;
    for name in ["bad", "filled"] {
        scene.spoil(name, |tables| (&tables.definitions, b"{\"url\":7}".to_vec())).await;
    }
    scene.check_that_the_others_are_served(good).await;
    let bad = scene.put("bad").await;
    scene.change("bad", Change::Delete).await;
    let again = scene.put("bad").await;
    assert!(again > bad);
    assert_eq!(scene.append("bad", again, 3).await, 1);
    assert_eq!(scene.delivered().await, [("bad".to_owned(), "3".to_owned())]);
}

#[tokio::test]
async fn an_owner_whose_record_cannot_be_read_is_left_out_until_it_is_put_anew() {
    let (scene, good) = three().await;
    for name in ["bad", "filled"] {
        scene.spoil(name, |tables| (&tables.heads, b"{\"version\":\"x\"}".to_vec())).await;
    }
    let scene = scene.reopened();
    scene.check_that_the_others_are_served(good).await;
    let bad = scene.put("bad").await;
    assert_eq!(scene.append("bad", bad, 3).await, 1);
    assert_eq!(scene.delivered().await, [("bad".to_owned(), "3".to_owned())]);
    scene.spoil("bad", |tables| (&tables.heads, b"[]".to_vec())).await;
    assert!(matches!(scene.change("bad", Change::Delete).await, Changed::Done { .. }));
    assert_eq!(scene.queues.owner(id("bad")).await.unwrap().1, None);
}

#[tokio::test]
async fn fields_of_a_newer_version_are_kept() {
    let scene = Scene::new();
    let incarnation = scene.put("a").await;
    let mut head = scene.head("a").await;
    head["region"] = json!("eu");
    head["live"]["lines"] = json!([1, 2]);
    let stored = serde_json::to_vec(&head).unwrap();
    scene.spoil("a", move |tables| (&tables.heads, stored.clone())).await;
    assert_eq!(scene.append("a", incarnation, 1).await, 1);
    assert_eq!(scene.delivered().await.len(), 1);
    let head = scene.head("a").await;
    assert_eq!(
        (&head["region"], &head["live"]["lines"], &head["live"]["delivered"]),
        (&json!("eu"), &json!([1, 2]), &json!(1))
    );
}
