//! Several gateways on one store, in all kinds of disorder: calls that are lost, done without an answer, done late or
//! twice, loads between which others write, gateways that end. Each run follows from a seed. Whatever is applied is
//! decided once more on plain maps, in its order, and what is stored and answered is held to that.

pub mod backing;
mod carried;
mod gateway;
pub mod memory;
mod network;
mod oracle;
mod packers;
pub mod redis;
pub mod replay;
mod scenario;
mod search;
pub mod state;
mod stored;
mod world;

use crate::backends::{plain_store, requests};
use crate::support::depth::depth;
use crate::support::redis_server;

use memory::Memory;
use redis::OneRedis;
use scenario::Scenario;
use search::{Drive, search};
use tokio::runtime::Builder;

#[test]
fn gateways_that_share_a_store_keep_every_promise() {
    let runtime = Builder::new_current_thread().build().unwrap();
    search(
        0..depth(2_500, 10_000),
        10,
        &Drive { runtime, fresh: |scenario: &Scenario| Memory::new(scenario.outbox_max) },
    );
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn gateways_that_share_a_redis_keep_every_promise() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let redis = OneRedis::start(&runtime);
    search(0..depth(150, 500), 8, &Drive { runtime, fresh: |scenario: &Scenario| redis.fresh(scenario.outbox_max) });
}
