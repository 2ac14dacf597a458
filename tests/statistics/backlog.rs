//! A backlog of sums in Redis, once the store is there again.

use std::sync::Arc;

use heartline::model::sums::Unit;
use heartline::storage::statistics::Statistics;

use crate::statistics::mongo::OnMongo;
use crate::statistics::words::{Backend, wait};
use crate::sums::backlog::{asked, flush_all, is_drained, look, put, put_day, views};
use crate::sums::gateway::{Gateway, runtime};
use crate::sums::{day, prepared};

/// Shards that have less than a flight, and contents of each.
const SHARDS: u64 = 6;
const CONTENTS: u64 = 100;
/// Of one shard that has more. FerretDB takes some hundred documents a second.
const OF_ONE: u64 = 500;
const SUMS_MAX: usize = 400;

#[test]
#[ignore = "needs Redis and MongoDB's protocol: tests/run statistics"]
fn a_backlog_is_written_once_in_flights_of_bounded_size() {
    let (_directory, server) = prepared();
    let all = SHARDS * CONTENTS + OF_ONE;
    for shard in 0..=SHARDS {
        let oids = shard * CONTENTS..if shard == SHARDS { all } else { (shard + 1) * CONTENTS };
        put(&server, shard, "sp", oids.flat_map(|oid| views(oid, oid + 1)));
        put_day(&server, shard);
    }
    let store = Arc::new(OnMongo::new().open());
    let gateway = Gateway::with_flights_of(&server.url(), store.clone(), None, SUMS_MAX);
    runtime().block_on(flush_all(&gateway));
    assert!(is_drained(look(&gateway)));
    let totals = wait(store.totals(Unit::ALL, (0..all).map(asked).collect())).unwrap();
    let wrong = totals.iter().zip(1..).find(|(stored, expected)| stored.total != *expected);
    assert_eq!((totals.len() as u64, wrong), (all, None), "each counts once");
    for oid in [0, all - 1] {
        assert_eq!(wait(store.days(asked(oid), day(), day())).unwrap(), [(day(), oid + 1)]);
    }
    assert_eq!(gateway.metrics.documents.get(), 2 * all);
    assert_eq!(gateway.metrics.flights.get(), 6, "three of two shards each, three of the parts of one");
}
