//! The service that one writes first: `INCR` in Redis, and `$inc` of total and day in MongoDB, for each view.

use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mongodb::Client;
use mongodb::bson::{Document, doc};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redis::aio::MultiplexedConnection;
use tokio::runtime::Builder;

use crate::cpu::Cpu;
use crate::times::Times;
use crate::{CONTENTS, KIND, Options};

pub fn run(options: &Options) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = redis::Client::open(options.redis.as_str()).expect("an address");
        let connection = client.get_multiplexed_async_connection().await.expect("Redis");
        let views =
            Client::with_uri_str(&options.mongodb).await.expect("MongoDB").database("naive").collection("views");
        count(&connection, None, options, "INCR alone").await;
        count(&connection, Some(&views), options, "INCR and $inc").await;
    });
}

async fn count(
    connection: &MultiplexedConnection,
    views: Option<&mongodb::Collection<Document>>,
    options: &Options,
    what: &str,
) {
    let mut dice = SmallRng::seed_from_u64(36);
    let one = |oid: u64| {
        let (began, mut connection) = (Instant::now(), connection.clone());
        async move {
            let key = format!("views:{KIND}:{oid}");
            let _total: u64 = redis::cmd("INCR").arg(&key).query_async(&mut connection).await.expect("INCR");
            if let Some(views) = views {
                let add = doc! { "$inc": { "total": 1, "days.2026-11-26": 1 } };
                views.update_one(doc! { "_id": key }, add).upsert(true).await.expect("$inc");
            }
            began.elapsed()
        }
    };
    let (began, cpu, mut times) = (Instant::now(), Cpu::read("self"), Times::default());
    let mut waiting: FuturesUnordered<_> =
        (0..options.in_flight).map(|_| one(dice.random_range(0..CONTENTS))).collect();
    while let Some(time) = waiting.next().await {
        times.add(time);
        if began.elapsed() < options.time() {
            waiting.push(one(dice.random_range(0..CONTENTS)));
        }
    }
    let (seconds, count) = (began.elapsed().as_secs_f64(), times.count() as f64);
    let (rate, each) = (count / seconds, (Cpu::read("self").since(cpu).total()) / count);
    println!("{what}: {rate:>8.0} views/s, {each:.1} µs of CPU each: {}", times.sorted());
}
