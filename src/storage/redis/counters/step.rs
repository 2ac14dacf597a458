//! Steps of direct counters: the arguments of `step.lua`, and its answer.

use std::sync::{Arc, LazyLock};

use ::redis::{Script, Value};

use super::keys;
use super::words::{Words, index_of, number};
use super::{EXPIRE, REMEMBERED};
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, joined};
use model::counters::crossing::Crossing;
use model::counters::direct::{Added, DirectCounter};
use model::counters::{CounterId, CounterKey};
use model::shard::{Shard, Shards};
use storage::counters::{Addition, CountersError};
use storage::outbox::codec;

pub static STEP: LazyLock<Script> = LazyLock::new(|| script(include_str!("step.lua")));

const MALFORMED: DecodeError = DecodeError("an answer to a step");

/// A step of one key.
#[derive(Clone, Debug)]
pub enum Step {
    Add(Addition),
    Reset { counter: Arc<DirectCounter>, key: CounterKey },
}

/// The result of a step.
#[derive(Debug)]
pub struct Stepped {
    pub added: Result<Added, CountersError>,
    pub crossings: Vec<Crossing>,
}

impl Step {
    pub fn shard(&self) -> Shard {
        Shards::DEFAULT.of_counter(self.counter(), self.key())
    }

    fn counter(&self) -> &CounterId {
        &self.definition().id
    }

    fn definition(&self) -> &DirectCounter {
        match self {
            Step::Add(addition) => &addition.counter,
            Step::Reset { counter, .. } => counter,
        }
    }

    fn key(&self) -> &CounterKey {
        match self {
            Step::Add(addition) => &addition.key,
            Step::Reset { key, .. } => key,
        }
    }

    fn put(&self, index: usize, args: &mut Words) {
        let (counter, key) = (self.definition(), self.key());
        let (id, now, by) = match self {
            Step::Add(Addition { id, now, by, .. }) => (id.as_deref().unwrap_or_default(), *now, by.to_string()),
            Step::Reset { .. } => ("", 0, "reset".to_owned()),
        };
        let thresholds: Vec<String> = counter.thresholds.iter().map(i64::to_string).collect();
        args.extend([
            index.to_string().into_bytes(),
            counter.id.to_string().into_bytes(),
            key.encoded().as_bytes().to_vec(),
            id.as_bytes().to_vec(),
            now.to_string().into_bytes(),
            by.into_bytes(),
            counter.initial.to_string().into_bytes(),
            counter.min.to_string().into_bytes(),
            counter.max.to_string().into_bytes(),
            thresholds.join(" ").into_bytes(),
            codec::crossing_beginning(&counter.id, key, now),
        ]);
    }

    /// The keys that it touches.
    fn keys(&self) -> impl Iterator<Item = Vec<u8>> {
        let (shard, counter) = (self.shard(), self.counter());
        let id = match self {
            Step::Add(addition) => addition.id.as_deref(),
            Step::Reset { .. } => None,
        };
        let crosses = !self.definition().thresholds.is_empty();
        let of_crossings = crosses.then(|| [keys::crossings(shard, counter), keys::outbox(shard)]);
        let all = [keys::values(shard, counter)].into_iter().chain(of_crossings.into_iter().flatten());
        all.chain(id.map(|id| keys::request(shard, counter, id))).map(String::into_bytes)
    }

    /// Decodes the script's answer to the step.
    pub fn stepped(&self, answer: Value) -> Result<Stepped, DecodeError> {
        let mut parts = value::array(answer)?.into_iter();
        let mut next = || parts.next().ok_or(MALFORMED);
        let (what, value, crossed) = (value::bytes(next()?)?, next()?, value::array(next()?)?);
        let crossings = self.crossings(&value, crossed)?;
        let added = match what.as_slice() {
            b"done" => Ok(Added::Done { value: number(&value)?, crossed: crossings.len() }),
            b"repeated" => Ok(Added::Repeated { value: number(&value)? }),
            b"bounds" => Ok(Added::PassesBound { value: number(&value)? }),
            b"reused" => Ok(Added::IdReused),
            b"full" => Err(CountersError::OutboxFull),
            _ => return Err(MALFORMED),
        };
        Ok(Stepped { added, crossings })
    }

    fn crossings(&self, value: &Value, crossed: Vec<Value>) -> Result<Vec<Crossing>, DecodeError> {
        let Step::Add(Addition { counter, key, now, .. }) = self else { return Ok(Vec::new()) };
        let crossing = |pair: &[Value]| {
            let [threshold, n] = pair else { return Err(MALFORMED) };
            Ok(Crossing {
                counter: counter.id.clone(),
                key: key.clone(),
                value: number(value)?,
                threshold: number(threshold)?,
                n: u64::try_from(number(n)?).map_err(|_| MALFORMED)?,
                at: *now,
            })
        };
        crossed.chunks(2).map(crossing).collect()
    }
}

/// A call for these steps, which are in the order of their shards. `room`: entries that the outbox of a shard may hold.
pub fn call(redis: &Redis, steps: &[&Step], room: u64) -> Call {
    let shards = joined::shards(steps, |step| step.shard());
    let mut args = vec![redis.deployment().as_bytes().to_vec(), room.to_string().into_bytes()];
    args.extend([REMEMBERED, EXPIRE].map(|time| time.as_millis().to_string().into_bytes()));
    for step in steps {
        step.put(index_of(&shards, step.shard()), &mut args);
    }
    // In a Cluster the script must not begin while its keys are on their way to another node.
    let keys = if redis.joins_shards() { Vec::new() } else { steps.iter().flat_map(|step| step.keys()).collect() };
    Call { shards, keys, args }
}
