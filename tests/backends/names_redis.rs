//! The names on Redis as a backend, and what they alone promise.

use std::sync::Arc;

use heartline::model::ids::UserId;
use heartline::model::shard::Shards;
use heartline::model::user_name::UserName;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::names::Names;
use heartline::storage_redis::Redis;
use heartline::storage_redis::names::RedisNames;
use redis::{Connection, cmd};

use crate::backends::names::NamesBackend;
use crate::backends::redis::{OnRedis, OneServer, Servers, Single, connection, tell};
use crate::backends::requests::{Backend, ROOMY, wait};

pub struct NamesOn<S: Servers> {
    names: RedisNames,
    backend: OnRedis<S>,
}

fn open(url: &str) -> RedisNames {
    wait(RedisNames::open(Redis::open(&RedisConfig::strict(url)).unwrap())).unwrap()
}

impl<S: Servers> NamesBackend for NamesOn<S> {
    fn empty() -> Self {
        let backend = OnRedis::<S>::fresh(ROOMY);
        NamesOn { names: open(&backend.servers().url()), backend }
    }

    fn names(&self) -> Arc<dyn Names> {
        Arc::new(self.names.clone())
    }

    fn of_another_process(&self) -> Arc<dyn Names> {
        Arc::new(open(&self.backend.servers().url()))
    }

    fn reopened(self) -> Self {
        let NamesOn { backend, names } = self;
        drop(names);
        NamesOn { names: open(&backend.servers().url()), backend }
    }
}

fn number(names: &RedisNames, text: &str) -> UserId {
    wait(names.number(UserName::new(text).unwrap())).unwrap()
}

/// A master of a Cluster was restored from an older backup: it lacks the newest blocks of numbers.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_number_is_not_given_again_after_older_blocks_are_restored() {
    let names = NamesOn::<Single>::empty();
    let ann = number(&names.names, "ann");
    let mut redis = names.backend.connection();
    let _: () = tell(&mut redis, &["DEL", "{h0}:namelast"]);
    let restored = names.reopened();
    let ben = number(&restored.names, "ben");
    assert_ne!(ben, ann);
    assert_eq!(number(&restored.names, "ann"), ann);
}

/// A process dies after each step of a new name, a welcome after an erasure, and an erasure.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_a_killed_process_left_is_completed() {
    let names = NamesOn::<Single>::empty();
    let mut redis = connection(&names.backend.servers().all()[0]);
    let ann = number(&names.names, "ann");
    let (shard, field) = (Shards::DEFAULT.of(ann), ann.0.to_string());
    let texts = format!("{{h{}}}:nametexts", shard.0);
    let stored = |redis: &mut Connection| tell::<Option<String>>(redis, &["HGET", &texts, &field]);

    // An erasure that has only marked the entry.
    let entry = entry_of(&mut redis, ann);
    cmd("HSET").arg(&entry).arg(format!("{field}-")).exec(&mut redis).unwrap();
    assert_eq!(stored(&mut redis).as_deref(), Some("ann"));
    wait(names.names.drop_text(ann)).unwrap();
    assert_eq!(stored(&mut redis).as_deref(), Some(""), "repeated, it is whole");

    // A welcome that has only written the text.
    let _: () = tell(&mut redis, &["HSET", &texts, &field, "ann"]);
    assert_eq!(number(&names.names, "ann"), ann);
    assert_eq!(cmd("HGET").arg(&entry).query::<String>(&mut redis).unwrap(), field);

    // A new name whose text is stored under a number that no name finds.
    let next = UserId(ann.0 + 1);
    let orphans = format!("{{h{}}}:nametexts", Shards::DEFAULT.of(next).0);
    let _: () = tell(&mut redis, &["HSET", &orphans, &next.0.to_string(), "ben"]);
    let ben = number(&names.names, "ben");
    assert!(ben != ann && ben != next);
    assert_eq!(number(&names.names, "ben"), ben);
}

/// The key and the field of the entry with this number.
fn entry_of(redis: &mut Connection, user: UserId) -> (String, Vec<u8>) {
    for shard in 0..Shards::DEFAULT.count() {
        let key = format!("{{h{shard}}}:names");
        let entries: Vec<(Vec<u8>, String)> = tell(redis, &["HGETALL", &key]);
        if let Some((field, _)) = entries.into_iter().find(|(_, number)| *number == user.0.to_string()) {
            return (key, field);
        }
    }
    panic!("no name has {user:?}");
}

/// Names are stored only in the deployment that was opened.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_wiped_redis_gives_no_numbers() {
    let names = NamesOn::<Single>::empty();
    number(&names.names, "ann");
    let mut redis = OneServer::connection(&names.backend);
    let _: () = tell(&mut redis, &["FLUSHALL", "SYNC"]);
    let name = || UserName::new("ann").unwrap();
    assert!(wait(names.names.number(name())).is_err());
    assert!(wait(names.names.numbers(vec![name()])).is_err());
    assert_eq!(tell::<u64>(&mut redis, &["DBSIZE"]), 0);
}
