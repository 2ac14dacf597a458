//! The texts of contents on Redis as a backend, and what they alone promise.

use std::sync::Arc;
use std::time::Duration;

use heartline::model::content_name::ContentName;
use heartline::model::ids::UserId;
use heartline::model::shard::Shards;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::content_names::ContentNames;
use heartline::storage_redis::Redis;
use heartline::storage_redis::content_names::RedisContentNames;

use crate::backends::content_names::ContentNamesBackend;
use crate::backends::redis::{OnRedis, OneServer, Servers, Single, tell};
use crate::backends::requests::{Backend, ROOMY, wait};

const RETENTION: Duration = Duration::from_secs(3_600);

pub struct ContentNamesOn<S: Servers> {
    contents: RedisContentNames,
    backend: OnRedis<S>,
}

fn open(url: &str) -> RedisContentNames {
    let redis = Redis::open(&RedisConfig::strict(url)).unwrap();
    wait(async move { RedisContentNames::open(redis, RETENTION).await }).unwrap()
}

impl<S: Servers> ContentNamesBackend for ContentNamesOn<S> {
    fn empty() -> Self {
        let backend = OnRedis::<S>::fresh(ROOMY);
        ContentNamesOn { contents: open(&backend.servers().url()), backend }
    }

    fn contents(&self) -> Arc<dyn ContentNames> {
        Arc::new(self.contents.clone())
    }

    fn of_another_process(&self) -> Arc<dyn ContentNames> {
        Arc::new(open(&self.backend.servers().url()))
    }

    fn reopened(self) -> Self {
        let ContentNamesOn { backend, contents } = self;
        drop(contents);
        ContentNamesOn { contents: open(&backend.servers().url()), backend }
    }
}

fn name(text: &str) -> ContentName {
    ContentName::new(text).unwrap()
}

fn key(name: &ContentName) -> String {
    format!("{{h{}}}:content:{}", Shards::DEFAULT.of(UserId(name.oid())).0, name.oid())
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn the_first_text_keeps_a_number_and_expires_when_it_is_not_kept_again() {
    let scene = ContentNamesOn::<Single>::empty();
    let mut redis = OneServer::connection(&scene.backend);
    let (film, song) = (name("film"), name("song"));
    let _: () = tell(&mut redis, &["SET", &key(&film), "other"]);
    let kept = wait(scene.contents.keep(vec![song.clone(), film.clone()])).unwrap();
    assert_eq!(kept, [song.clone(), name("other")]);
    let days = Duration::from_secs(2 * 24 * 3_600);
    let expires: u64 = tell(&mut redis, &["PTTL", &key(&song)]);
    let whole = (RETENTION + days).as_millis() as u64;
    assert!((whole - 60_000..=whole).contains(&expires), "{expires}");
    let _: () = tell(&mut redis, &["PEXPIRE", &key(&song), "1000"]);
    wait(scene.contents.keep(vec![song.clone()])).unwrap();
    assert!(tell::<u64>(&mut redis, &["PTTL", &key(&song)]) > 1_000, "kept again, it stays");
}

/// Texts are stored only in the deployment that was opened.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_wiped_redis_keeps_no_texts() {
    let scene = ContentNamesOn::<Single>::empty();
    wait(scene.contents.keep(vec![name("film")])).unwrap();
    let mut redis = OneServer::connection(&scene.backend);
    let _: () = tell(&mut redis, &["FLUSHALL", "SYNC"]);
    assert!(wait(scene.contents.keep(vec![name("film")])).is_err());
    assert!(wait(scene.contents.texts(vec![name("film").oid()])).is_err());
    assert_eq!(tell::<u64>(&mut redis, &["DBSIZE"]), 0);
}
