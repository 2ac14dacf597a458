//! Does the steps that wait, all together: a call of a script has a cost of its own, and so has each sync of Redis.

use std::sync::Arc;

use ::redis::Value;
use futures_util::future::join_all;
use tokio::sync::{mpsc, oneshot};

use super::hold::{self, HOLD, Hold};
use super::step::{self, STEP, Step, Stepped};
use crate::value::{self, DecodeError};
use crate::{Redis, joined};
use model::outbox_entry::OutboxEntry;
use model::shard::Shard;
use storage::store_error::StoreError;

/// Requests of one lane that wait, some 300 bytes each. One more is refused.
const QUEUE_MAX: usize = 16_384;
/// Requests that are done together.
const BATCH_MAX: usize = 2_048;

/// Takes the entries of the outbox that this process has made, so that it publishes them.
pub type TakeEntry = Arc<dyn Fn(OutboxEntry) + Send + Sync>;

/// A request that waits.
pub enum Waiting {
    Step(Step, oneshot::Sender<Result<Stepped, StoreError>>),
    Hold(Hold, oneshot::Sender<Result<bool, StoreError>>),
}

/// The queues, one for each lane: the shards that one master had at the start.
pub struct Lanes {
    redis: Redis,
    queues: Vec<mpsc::Sender<Waiting>>,
}

/// Does what waits, until the [`Lanes`] are gone. A lane has one batch under way, so that steps are answered, and their
/// entries published, in the order in which they are done.
pub struct DirectWorker {
    redis: Redis,
    queues: Vec<mpsc::Receiver<Waiting>>,
    /// Entries that the outbox of a shard may hold.
    room: u64,
    take_entry: TakeEntry,
}

impl Lanes {
    /// `room`: entries that the outbox of a shard may hold.
    pub fn new(redis: Redis, room: u64, take_entry: TakeEntry) -> (Self, DirectWorker) {
        let (senders, queues) = (0..redis.lanes()).map(|_| mpsc::channel(QUEUE_MAX)).unzip();
        (Lanes { redis: redis.clone(), queues: senders }, DirectWorker { redis, queues, room, take_entry })
    }

    pub async fn step(&self, step: Step) -> Result<Stepped, StoreError> {
        let shard = step.shard();
        self.ask(shard, |answer| Waiting::Step(step, answer)).await
    }

    pub async fn hold(&self, hold: Hold) -> Result<bool, StoreError> {
        let shard = hold.shard();
        self.ask(shard, |answer| Waiting::Hold(hold, answer)).await
    }

    async fn ask<T>(
        &self,
        shard: Shard,
        request: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Waiting,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let queued = self.queues[self.redis.lane(shard)].try_send(request(answer));
        queued.map_err(|_| StoreError::Busy("too many steps of counters queued".to_owned()))?;
        answered.await.unwrap_or_else(|_| Err(StoreError::Away("the process is ending".to_owned())))
    }
}

impl DirectWorker {
    pub async fn run(self) {
        let DirectWorker { redis, queues, room, take_entry } = self;
        let lanes = queues.into_iter().map(|queue| run_lane(&redis, queue, room, &take_entry));
        join_all(lanes).await;
    }
}

async fn run_lane(redis: &Redis, mut queue: mpsc::Receiver<Waiting>, room: u64, take_entry: &TakeEntry) {
    loop {
        let mut batch = Vec::new();
        if queue.recv_many(&mut batch, BATCH_MAX).await == 0 {
            return;
        }
        let (mut steps, mut holds) = (Vec::new(), Vec::new());
        for waiting in batch {
            match waiting {
                Waiting::Step(step, answer) => steps.push((step, answer)),
                Waiting::Hold(hold, answer) => holds.push((hold, answer)),
            }
        }
        tokio::join!(do_steps(redis, steps, room, take_entry), do_holds(redis, holds));
    }
}

async fn do_steps(
    redis: &Redis,
    mut steps: Vec<(Step, oneshot::Sender<Result<Stepped, StoreError>>)>,
    room: u64,
    take_entry: &TakeEntry,
) {
    // It keeps the order of the steps of a shard.
    steps.sort_by_key(|(step, _)| step.shard());
    let parts = joined::split(redis, &mut steps, |(step, _)| step.shard(), |_| 1);
    let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let calls = parts.iter().map(|part| {
        let steps: Vec<&Step> = part.iter().map(|(step, _)| step).collect();
        step::call(redis, &steps, room)
    });
    let answers = redis.run_each(&STEP, calls.collect()).await;
    let mut steps = steps.into_iter();
    for (answer, size) in answers.into_iter().zip(sizes) {
        let part = steps.by_ref().take(size);
        match answer.and_then(|answer| answers_of(answer, size)) {
            Ok(answers) => {
                for ((step, answered), answer) in part.zip(answers) {
                    let stepped = step.stepped(answer).map_err(StoreError::from);
                    let crossings = stepped.iter().flat_map(|stepped| stepped.crossings.clone());
                    // Also if nobody waits for the answer any more.
                    crossings.map(OutboxEntry::Crossing).for_each(|entry| take_entry(entry));
                    let _ = answered.send(stepped);
                }
            }
            // Done or not: an entry that was made is found in the outbox later.
            Err(error) => part.for_each(|(_, answered)| drop(answered.send(Err(error.clone())))),
        }
    }
}

async fn do_holds(redis: &Redis, mut holds: Vec<(Hold, oneshot::Sender<Result<bool, StoreError>>)>) {
    holds.sort_by_key(|(hold, _)| hold.shard());
    let parts = joined::split(redis, &mut holds, |(hold, _)| hold.shard(), |_| 1);
    let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let calls = parts.iter().map(|part| {
        let holds: Vec<&Hold> = part.iter().map(|(hold, _)| hold).collect();
        hold::call(redis, &holds)
    });
    let answers = redis.run_each(&HOLD, calls.collect()).await;
    let mut holds = holds.into_iter();
    for (answer, size) in answers.into_iter().zip(sizes) {
        let part = holds.by_ref().take(size);
        match answer.and_then(|answer| answers_of(answer, size)) {
            Ok(answers) => {
                part.zip(answers).for_each(|((_, answered), answer)| {
                    let _ = answered.send(Hold::held(answer).map_err(StoreError::from));
                });
            }
            Err(error) => part.for_each(|(_, answered)| drop(answered.send(Err(error.clone())))),
        }
    }
}

/// So many answers.
fn answers_of(answer: Value, count: usize) -> Result<Vec<Value>, StoreError> {
    let answers = value::array(answer)?;
    match answers.len() == count {
        true => Ok(answers),
        false => Err(DecodeError("answers to steps of counters").into()),
    }
}
