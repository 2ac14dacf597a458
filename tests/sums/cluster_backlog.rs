//! A backlog of sums on a Redis Cluster of three masters.

use std::sync::Arc;

use heartline::storage::config::redis::RedisConfig;
use heartline::storage_redis::prepare::prepare;

use crate::backends::redis::{Servers, Several, connection};
use crate::sums::backlog::{asked, flush_all, put, put_day, views};
use crate::sums::gateway::{Gateway, runtime};
use crate::sums::redis_server::RedisServer;
use crate::sums::statistics::FakeStatistics;

/// The master that has the shard.
fn master(servers: &Several, shard: u64) -> &RedisServer {
    let has_it = |server: &&RedisServer| {
        redis::cmd("EXISTS").arg(format!("{{h{shard}}}:s")).exec(&mut connection(server)).is_ok()
    };
    servers.all().iter().find(has_it).expect("some master has it")
}

#[test]
#[ignore = "needs Redis: tests/run cluster-stores"]
fn a_backlog_is_written_once_in_flights_of_bounded_size() {
    const SHARDS: u64 = 60;
    const CONTENTS: u64 = 500;
    const SUMS_MAX: usize = 3_000;
    let servers = Several::start();
    prepare(&RedisConfig::strict(&servers.url())).unwrap();
    for shard in 0..SHARDS {
        let server = master(&servers, shard);
        let oids = shard * CONTENTS..(shard + 1) * CONTENTS;
        put(server, shard, "sp", oids.flat_map(|oid| views(oid, oid + 1)));
        put_day(server, shard);
    }
    let statistics = FakeStatistics::default();
    let gateway = Gateway::with_flights_of(&servers.url(), Arc::new(statistics.clone()), None, SUMS_MAX);
    runtime().block_on(flush_all(&gateway));
    let sums: Vec<usize> = statistics.asked().iter().map(|flight| flight.sums.len()).collect();
    assert!(sums.iter().all(|sums| *sums <= SUMS_MAX), "{sums:?}");
    assert_eq!(sums.iter().sum::<usize>() as u64, 2 * SHARDS * CONTENTS, "none is in two flights");
    assert!((0..SHARDS * CONTENTS).all(|oid| statistics.total(asked(oid)) == oid as i64 + 1), "each counts once");
}
