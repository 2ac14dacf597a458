//! The ends of leases, all that wait together: a call of a script has a cost of its own, and so has each sync of Redis.
//!
//! ```text
//! an end comes ─▶ no batch is under way: its caller gets the baton, and stores it with all that wait
//!              ─▶ otherwise it waits until the holder of the baton stores it, or passes the baton on
//! ```
//!
//! A baton that is dropped goes on to the next, so none is lost with a caller that ends.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::redis::{Script, Value};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::answer::{MALFORMED, Parts};
use super::calls::{Queues, Words, word};
use super::lease::{read_lease, terms};
use super::{status, unit};
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Redis, joined};
use model::shard::Shard;
use model::subscribers::SubscriberId;
use storage::owner_queues::{Done, Fence, Taken};
use storage::store_error::StoreError;

static DONE: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("lease.lua"), include_str!("done.lua"))));

/// Ends that are stored together.
const BATCH_MAX: usize = 256;
/// The weight of an end in a call, in rows: 64 of them take 3 ms.
const ROWS: usize = joined::TOGETHER_MAX / 64;

/// One lane for each master, so that one that is away keeps only its own ends waiting.
pub struct Ends(Vec<Arc<Lane>>);

#[derive(Default)]
struct Lane(Mutex<State>);

#[derive(Default)]
struct State {
    /// No more than leases that are given to this process.
    waiting: VecDeque<Waiting>,
    /// A caller holds the baton.
    is_led: bool,
}

struct Waiting {
    end: End,
    told: oneshot::Sender<Word>,
}

struct End {
    owner: SubscriberId,
    unit: Shard,
    fence: Fence,
    done: Done,
    /// How long the next one lasts, if it may be given at once.
    lease: Option<Duration>,
}

/// The result of a lease's end.
#[derive(Clone, Debug)]
pub enum LeaseEnd {
    Fenced,
    /// Nothing waits, or it waits for what the API is to do.
    Idle,
    /// It waits in the control queue.
    Queued,
    Renewed(Box<Taken>),
    /// The next lease was given, and cannot be read.
    Unreadable,
}

/// To a caller that waits.
enum Word {
    Ended(Result<LeaseEnd, StoreError>),
    Lead(Baton, Box<End>),
}

/// The right to store what waits at a lane.
struct Baton(Arc<Lane>);

impl Ends {
    pub fn new(redis: &Redis) -> Self {
        Ends((0..redis.lanes()).map(|_| Arc::default()).collect())
    }

    pub async fn store(
        &self,
        queues: &Queues,
        owner: SubscriberId,
        fence: Fence,
        done: Done,
        lease: Option<Duration>,
    ) -> Result<LeaseEnd, StoreError> {
        let unit = unit::unit_of(&owner);
        let lane = &self.0[queues.redis.lane(unit)];
        match Lane::enter(lane, End { owner, unit, fence, done, lease }).await {
            Word::Ended(ended) => ended,
            Word::Lead(baton, own) => baton.lead(queues, *own).await,
        }
    }
}

impl Lane {
    async fn enter(lane: &Arc<Self>, end: End) -> Word {
        let waits = {
            let mut state = lane.0.lock();
            if !std::mem::replace(&mut state.is_led, true) {
                return Word::Lead(Baton(lane.clone()), Box::new(end));
            }
            let (told, waits) = oneshot::channel();
            state.waiting.push_back(Waiting { end, told });
            waits
        };
        let dropped = |_| Word::Ended(Err(StoreError::Away("the request was given up by another".to_owned())));
        waits.await.unwrap_or_else(dropped)
    }
}

impl Baton {
    /// Stores what waits, and tells the others.
    async fn lead(self, queues: &Queues, own: End) -> Result<LeaseEnd, StoreError> {
        let (mut ends, mut others) = (vec![own], Vec::new());
        {
            let mut state = self.0.0.lock();
            let count = state.waiting.len().min(BATCH_MAX - 1);
            for Waiting { end, told } in state.waiting.drain(..count) {
                ends.push(end);
                others.push(told);
            }
        }
        let mut ended = store(queues, ends).await.into_iter();
        let own = ended.next().unwrap_or_else(|| Err(MALFORMED.into()));
        for (told, ended) in others.into_iter().zip(ended) {
            // A caller that is gone asks for nothing.
            let _ = told.send(Word::Ended(ended));
        }
        own
    }
}

impl Drop for Baton {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.0.lock();
            let next = state.waiting.pop_front();
            state.is_led = next.is_some();
            next
        };
        if let Some(Waiting { end, told }) = next {
            // If its caller is gone, the baton is dropped here, and goes on.
            drop(told.send(Word::Lead(Baton(self.0.clone()), Box::new(end))));
        }
    }
}

/// The outcome of each, in their order.
async fn store(queues: &Queues, ends: Vec<End>) -> Vec<Result<LeaseEnd, StoreError>> {
    let mut ends: Vec<(usize, End)> = ends.into_iter().enumerate().collect();
    ends.sort_by_key(|(_, end)| end.unit);
    let parts = joined::split(&queues.redis, &mut ends, |(_, end)| end.unit, |_| ROWS);
    let calls = parts.iter().map(|part| {
        let units = joined::shards(part, |(_, end)| end.unit);
        let owners: Vec<&SubscriberId> = part.iter().map(|(_, end)| &end.owner).collect();
        let lease = part.iter().find_map(|(_, end)| end.lease).unwrap_or_default();
        let of_ends = part.iter().flat_map(|(_, end)| words(end, &units));
        let words = terms(lease).into_iter().chain(of_ends).collect::<Words>();
        queues.of_owners(units, &owners, words)
    });
    let answers = queues.redis.run_each(&DONE, calls.collect()).await;
    let mut outcomes = Vec::new();
    for (part, answer) in parts.into_iter().zip(answers) {
        let all = answer.and_then(|answer| Ok(read(queues, answer, part.len())?));
        for (at, (index, _)) in part.iter().enumerate() {
            outcomes.push((*index, all.as_ref().map(|all| all[at].clone()).map_err(StoreError::clone)));
        }
    }
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// The arguments of an end. `units`: of the call.
fn words(end: &End, units: &[Shard]) -> [Vec<u8>; 11] {
    let End { owner, unit, fence, done, lease } = end;
    let index = units.iter().position(|of_call| of_call == unit).map_or(0, |index| index + 1);
    let [state, failing, failure] = status::words(&done.status);
    let to = done.delivered_to.map(|number| number.to_string()).unwrap_or_default();
    [
        word(index),
        word(owner),
        word(fence),
        to.into_bytes(),
        word(done.delivered),
        word(state),
        word(failing),
        word(failure),
        word(u8::from(done.slow)),
        word(done.pause.as_millis()),
        word(u8::from(lease.is_some())),
    ]
}

fn read(queues: &Queues, answer: Value, count: usize) -> Result<Vec<LeaseEnd>, DecodeError> {
    let answers = value::array(answer)?.into_iter();
    let all = answers.map(|answer| decode_end(queues, answer)).collect::<Result<Vec<_>, _>>()?;
    if all.len() == count { Ok(all) } else { Err(MALFORMED) }
}

fn decode_end(queues: &Queues, answer: Value) -> Result<LeaseEnd, DecodeError> {
    Ok(match answer {
        Value::Int(0) => LeaseEnd::Fenced,
        Value::Int(1) => LeaseEnd::Idle,
        Value::Int(2) => LeaseEnd::Queued,
        lease => {
            let next = read_lease(queues, Parts::of(lease)?)?;
            next.map_or(LeaseEnd::Unreadable, |(_, taken)| LeaseEnd::Renewed(Box::new(taken)))
        }
    })
}
