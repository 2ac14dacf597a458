//! Derived counters: what the commits have left in the pending sums is a count of the records that are left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use heartline::model::counters::{CounterId, CounterKey, Definitions, Deltas, Generation, Generations};
use heartline::model::ids::UserId;
use heartline::model::reading::Reading;
use heartline::model::record::Record;
use heartline::model::shard::Shards;
use heartline::model::sums::{CounterSum, SumKey};
use heartline::storage_redis::tag;
use redis::{Client, Connection, cmd};

use crate::conflicts::redis_server::RedisServer;

const COUNTERS: &str = r#"[
    {"id":"all"},
    {"id":"viewers","key":["kind","oid"]},
    {"id":"in-progress","key":["mid"],"when":{"finished":false}},
    {"id":"watched","key":["device","state"],"value":"watched"}
]"#;
const GENERATION: u32 = 1;

fn definitions() -> Definitions {
    let reading = Reading {
        resume_below: 0.05,
        resume_below_max: Duration::ZERO,
        finished_at: 0.9,
        finished_remaining_max: Duration::ZERO,
        overrides: Vec::new(),
    };
    Definitions { counters: serde_json::from_str(COUNTERS).unwrap(), reading }
}

fn connect(server: &RedisServer) -> Connection {
    Client::open(server.url()).unwrap().get_connection().unwrap()
}

/// Before there is a user.
pub fn begin(server: &RedisServer) {
    let current = Some(Arc::new(Generation { number: GENERATION, definitions: definitions() }));
    let generations = Generations { current, last: GENERATION, ..Generations::default() };
    let (mut connection, json) = (connect(server), serde_json::to_string(&generations).unwrap());
    cmd("SET").arg("{h0}:counters").arg(json).exec(&mut connection).unwrap();
    for shard in Shards::DEFAULT.all() {
        cmd("SET").arg(format!("{}:g", tag(shard))).arg(generations.pair()).exec(&mut connection).unwrap();
    }
}

/// `records`: all that are left. No flight has taken anything.
pub fn check<'r>(server: &RedisServer, records: impl Iterator<Item = (UserId, &'r Record)>) {
    let (definitions, mut expected) = (definitions(), Deltas::default());
    records.for_each(|(user, record)| definitions.count(user, record, &mut expected));
    let expected: BTreeMap<(CounterId, CounterKey), i64> =
        expected.iter().map(|(id, key, number)| ((id.clone(), key.clone()), number)).collect();
    assert!(expected.len() > 500, "{} numbers show little", expected.len());
    let (mut connection, mut found) = (connect(server), BTreeMap::new());
    for shard in Shards::DEFAULT.all() {
        let pending: Vec<(String, i64)> =
            cmd("HGETALL").arg(format!("{}:sc", tag(shard))).query(&mut connection).unwrap();
        for (field, by) in pending {
            match field.parse().unwrap() {
                SumKey::Counter(CounterSum { generation: GENERATION, id, key }) => {
                    *found.entry((id, key)).or_default() += by;
                }
                other => panic!("{other:?} was counted"),
            }
        }
    }
    found.retain(|_, number| *number != 0);
    assert_eq!(found, expected);
}
