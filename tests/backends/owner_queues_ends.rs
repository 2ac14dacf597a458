//! The promises of [`OwnerQueues`](heartline::storage::owner_queues::OwnerQueues) about leases that end at the same time.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::join_all;
use heartline::storage::owner_queues::{Ended, Limit, Taken};
use heartline::storage::store_error::StoreError;
use tokio::time::timeout;

use crate::backends::PATIENCE;
use crate::backends::owner_queues::{LEASE, Queue, QueuesBackend, ROOMY, all_done};
use crate::backends::requests::wait;

const OWNERS: usize = 120;
/// Every so many-th caller does not wait for its answer.
const IMPATIENT: usize = 3;

type Ending = Pin<Box<dyn Future<Output = Result<Ended, StoreError>> + Send>>;

/// Some callers go: whatever they have begun, the others are answered, and each lease is ended by a repeat at the latest.
pub fn leases_that_end_together_are_all_ended<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queues = backend.queues();
    let owners: Vec<Queue> = (0..OWNERS).map(|n| Queue::made(&backend, &format!("owner-{n}"))).collect();
    for owner in &owners {
        owner.append([1, 2]);
    }
    let taken = wait(queues.take(Limit::of(OWNERS), LEASE)).unwrap().taken;
    assert_eq!(taken.len(), OWNERS);
    let end = |taken: &Taken| queues.done(taken.owner.clone(), taken.fence, all_done(taken));
    let answered = async {
        let mut endings: Vec<(usize, Ending)> = taken.iter().map(end).enumerate().collect();
        endings.retain_mut(|(_, ending)| ending.now_or_never().is_none());
        endings.retain(|(index, _)| index % IMPATIENT != 0);
        join_all(endings.into_iter().map(|(_, ending)| ending)).await
    };
    wait(async { timeout(PATIENCE, answered).await }).expect("all that wait are answered");
    let began = Instant::now();
    while !wait(join_all(taken.iter().map(end))).iter().all(|ended| ended.is_ok()) {
        assert!(began.elapsed() < PATIENCE, "leases are not ended");
    }
    for owner in &owners {
        assert_eq!((owner.owner().depth, owner.owner().delivered), (0, 2), "{}", owner.id);
    }
}
