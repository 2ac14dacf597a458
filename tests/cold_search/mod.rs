//! Rows leave a hot store for a history store, packs arrive late and twice, late beats and deletes come for what has
//! left, users clear, pause and erase, the hot store is lost and rebuilt. Whatever is decided and read is held to a store that nothing leaves.

mod change;
mod world;

use tokio::runtime::{Builder, Runtime};
use tokio::task::unconstrained;

use crate::state_search::backing::Backing;
use crate::state_search::memory::Memory;
use crate::state_search::redis::OneRedis;
use crate::support::depth::depth;

use world::World;

const STEPS: usize = 120;

#[test]
fn records_that_have_left_the_hot_store_are_as_if_they_had_not() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    search(&runtime, depth(600, 20_000), || Memory::new(9));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn records_that_have_left_redis_are_as_if_they_had_not() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let redis = OneRedis::start(&runtime);
    search(&runtime, depth(100, 1_000), || redis.fresh(9));
}

fn search<B: Backing>(runtime: &Runtime, seeds: u64, fresh: impl Fn() -> B) {
    let mut seen = world::Seen::default();
    for seed in 0..seeds {
        let mut world = World::new(seed, fresh());
        // A store in memory never waits.
        if let Err(why) = runtime.block_on(unconstrained(world.run(STEPS))) {
            panic!("seed {seed}: {why}\n{}", world.trace.join("\n"));
        }
        seen.add(&world.seen);
    }
    seen.check();
}
