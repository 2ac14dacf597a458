//! The calls that carry changes to one service. While calls are under way, what comes gathers for the next one, so that a
//! busy gateway sends fewer and larger calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep_until};
use tonic::transport::Channel;

use super::bearer::Bearer;
use super::metrics::Metrics;
use super::parcels::{Parcel, ParcelQueue};
use model::ids::GatewayId;
use storage::gateway_messages::wire::gateways_client::GatewaysClient;
use storage::gateway_messages::wire::{CommitRequest, CommitResponse};
use storage::hot_store::StoreError;

/// Calls under way at a time.
const CALLS_MAX: usize = 2;
/// The least time from the start of one call to that of the next, unless as many changes wait as [are worth](super::parcels) a
/// call: both sides pay for each call, whatever it carries.
const PAUSE: Duration = Duration::from_millis(12);
/// After it the outcome is unknown, and the changes are sent again, perhaps to another service.
const TIMEOUT: Duration = Duration::from_secs(5);

pub struct Commits {
    pub stub: GatewaysClient<Channel>,
    pub bearer: Arc<Bearer>,
    pub gateway: GatewayId,
    pub metrics: Metrics,
    /// Called with the day of each answer, before it is handed back.
    pub heard: Arc<dyn Fn(u32) + Send + Sync>,
}

impl Commits {
    /// Sends what comes, until it is dropped.
    pub async fn run(self, queue: &ParcelQueue) -> Infallible {
        let (mut calls, mut next) = (FuturesUnordered::new(), Instant::now());
        loop {
            let waits = queue.waits();
            let due = waits.is_worth || Instant::now() >= next;
            if calls.len() < CALLS_MAX && waits.is_any && due {
                next = Instant::now() + PAUSE;
                calls.push(self.call(queue.take()));
                continue;
            }
            tokio::select! {
                () = queue.changed() => {}
                Some(()) = calls.next() => {}
                () = sleep_until(next), if calls.len() < CALLS_MAX && waits.is_any => {}
            }
        }
    }

    async fn call(&self, mut parcels: Vec<Parcel>) {
        let mut changes = Vec::with_capacity(parcels.iter().map(Parcel::len).sum());
        let counts: Vec<usize> = parcels.iter().map(Parcel::len).collect();
        parcels.iter_mut().for_each(|parcel| changes.append(&mut parcel.changes));
        let request = self.bearer.request(CommitRequest { gateway: self.gateway.0, changes }, Some(TIMEOUT));
        let (began, mut stub) = (std::time::Instant::now(), self.stub.clone());
        let answered = match tokio::time::timeout(TIMEOUT + TIMEOUT / 10, stub.commit(request)).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(super::away(&status)),
            Err(_) => Err(StoreError::Away("the history service does not answer".to_owned())),
        };
        self.metrics.committed(began.elapsed(), answered.is_ok());
        match answered {
            Ok(CommitResponse { answers, today }) if answers.len() == counts.iter().sum::<usize>() => {
                (self.heard)(today);
                let mut answers = answers.into_iter();
                for (parcel, count) in parcels.into_iter().zip(counts) {
                    // Nobody waits any more when the committer has ended.
                    let _ = parcel.answer.send(Ok(answers.by_ref().take(count).collect()));
                }
            }
            Ok(_) => refuse(parcels, &StoreError::Away("a history service answered something else".to_owned())),
            Err(error) => refuse(parcels, &error),
        }
    }
}

fn refuse(parcels: Vec<Parcel>, error: &StoreError) {
    parcels.into_iter().for_each(|parcel| drop(parcel.answer.send(Err(error.clone()))));
}
