//! Slots of a Cluster that move to another node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use heartline::model::ids::UserId;
use heartline::model::shard::Shards;
use heartline::storage::hot_store::{Group, HotStore, StoreError};
use redis::{Connection, FromRedisValue, cmd};

use crate::redis::{OnRedis, Servers, Several, connection, open_remembering};
use crate::requests::*;

fn tell<T: FromRedisValue>(connection: &mut Connection, words: &[&str]) -> T {
    cmd(words[0]).arg(&words[1..]).query(connection).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn key(user: UserId, letter: &str) -> String {
    format!("{{h{}}}:{letter}:{}", Shards::DEFAULT.of(user).0, user.0)
}

/// A slot on its way from one node to another.
struct Moving {
    slot: String,
    from: Connection,
    to: Connection,
    port: String,
    id: String,
}

impl Moving {
    /// The slot of this user's keys.
    fn begin(servers: &Several, user: UserId) -> Self {
        let mut nodes: Vec<Connection> = servers.all().iter().map(connection).collect();
        let slot: u16 = tell(&mut nodes[0], &["CLUSTER", "KEYSLOT", &key(user, "h")]);
        let slot = slot.to_string();
        let keys_in = |node: &mut Connection| tell::<usize>(node, &["CLUSTER", "COUNTKEYSINSLOT", &slot]);
        let place = nodes.iter_mut().position(|node| keys_in(node) > 0).unwrap();
        let mut from = nodes.remove(place);
        let mut to = nodes.remove(0);
        let there = usize::from(place == 0);
        let [from_id, id] = [&mut from, &mut to].map(|node| tell::<String>(node, &["CLUSTER", "MYID"]));
        tell::<()>(&mut to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
        tell::<()>(&mut from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id]);
        Moving { slot, from, to, port: servers.all()[there].port().to_string(), id }
    }

    fn take(&mut self, key: &str) {
        tell::<()>(&mut self.from, &["MIGRATE", "127.0.0.1", &self.port, key, "0", "5000"]);
    }

    fn finish(mut self) {
        let keys: Vec<String> = tell(&mut self.from, &["CLUSTER", "GETKEYSINSLOT", &self.slot, "1000"]);
        keys.iter().for_each(|key| self.take(key));
        for node in [&mut self.to, &mut self.from] {
            tell::<()>(node, &["CLUSTER", "SETSLOT", &self.slot, "NODE", &self.id]);
        }
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_written_while_some_of_what_a_call_touches_is_on_another_node() {
    let backend = OnRedis::<Several>::fresh(ROOMY);
    let store = open_remembering(1_000, &backend.servers().url(), ROOMY, Duration::ZERO, |_| false);
    let store: Arc<dyn HotStore> = Arc::new(store);
    let shard = Shards::DEFAULT.of(USER);
    let other = (0..).map(UserId).find(|user| *user != USER && Shards::DEFAULT.of(*user) == shard).unwrap();
    // Nothing has to be read for a third content of theirs.
    for (oid, at) in [(1, NOW - 2), (2, NOW - 1)] {
        commit(&store, vec![beat_of(USER, content(oid), at), beat_of(other, content(oid), at)]);
    }
    let mut moving = Moving::begin(backend.servers(), USER);
    ["r", "t"].iter().for_each(|letter| moving.take(&key(other, letter)));

    let both = vec![beat_of(USER, content(3), NOW), beat_of(other, content(3), NOW)];
    let group = Group::unrewarded(NOW, both);
    let refused = wait(store.commit(&group));
    assert!(matches!(refused, Err(StoreError::Away(_))), "{refused:?}");
    let rows: usize = tell(&mut moving.from, &["HLEN", &key(USER, "r")]);
    assert_eq!(rows, 1, "the first user's row was written, and the second's could not be");

    moving.finish();
    let began = Instant::now();
    while let Err(error) = wait(store.commit(&group)) {
        assert!(began.elapsed() < Duration::from_secs(10), "{error}");
    }
    for user in [USER, other] {
        let stored = get(&store, user, vec![content(1), content(2), content(3)]);
        let ats: Vec<_> = stored.into_iter().map(|record| record.map(|record| record.at)).collect();
        assert_eq!(ats, [Some(NOW - 2), Some(NOW - 1), Some(NOW)]);
    }
}
