//! Sums in the Redis that gateways share. Each shard keeps its own sums, so that its commits can add to them.

pub mod fields;
mod held;
pub mod keys;
pub mod pending;
mod room;

use std::iter;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::redis::{Pipeline, Script, Value};
use futures_util::future::try_join_all;

use self::room::Giving;
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, checked, joined, lease};
use model::shard::{Shard, Shards};
use model::sums::{Flight, FlightNumber, Unit};
use storage::store_error::{Answer, StoreError};
use storage::sums::{Look, PendingSums, Taken};
use storage::turn::Turn;

static TAKE: LazyLock<Script> = LazyLock::new(|| script(include_str!("take.lua")));
static REMOVE: LazyLock<Script> = LazyLock::new(|| script(include_str!("remove.lua")));

/// So many sums make a flight at most, about: a few megabytes, and some hundred milliseconds of the statistics store. Only a
/// shard in which a deletion is pending gives all that it has, however much.
pub const FLIGHT_SUMS_MAX: usize = 10_000;
/// So many a shard gives to a flight that has more than a flight. They are moved in one step, which takes a few milliseconds.
pub const PART_SUMS: usize = 2_000;

/// The pending sums of all shards, in the only unit so far.
pub struct RedisSums {
    redis: Redis,
    unit: Unit,
    /// Distinguishes this process from others.
    name: Arc<str>,
    sums_max: usize,
}

impl RedisSums {
    pub fn of(redis: Redis) -> Self {
        Self::in_flights_of(redis, FLIGHT_SUMS_MAX)
    }

    /// `sums_max`: of a flight.
    pub fn in_flights_of(redis: Redis, sums_max: usize) -> Self {
        RedisSums { redis, unit: Unit::ALL, name: format!("{:016x}", rand::random::<u64>()).into(), sums_max }
    }

    fn take_lease(&self, key: String, lasts: Duration) -> Answer<Turn> {
        let (redis, name) = (self.redis.clone(), self.name.clone());
        Box::pin(async move { lease::take(&redis, keys::COMMON, &key, &name, lasts).await })
    }

    fn give_up_lease(&self, key: String) -> Answer<()> {
        let (redis, name) = (self.redis.clone(), self.name.clone());
        Box::pin(async move { lease::give_up(&redis, keys::COMMON, &key, &name).await })
    }
}

impl PendingSums for RedisSums {
    fn take_turn(&self, lasts: Duration) -> Answer<Turn> {
        self.take_lease(keys::lease(), lasts)
    }

    fn give_up_turn(&self) -> Answer<()> {
        self.give_up_lease(keys::lease())
    }

    fn begin_writing(&self, lasts: Duration) -> Answer<Turn> {
        self.take_lease(keys::writing(), lasts)
    }

    fn end_writing(&self) -> Answer<()> {
        self.give_up_lease(keys::writing())
    }

    fn look(&self) -> Answer<Look> {
        let redis = self.redis.clone();
        Box::pin(async move { look(&redis).await })
    }

    fn take(&self, number: FlightNumber) -> Answer<Taken> {
        let (redis, unit, sums_max) = (self.redis.clone(), self.unit, self.sums_max);
        Box::pin(async move {
            let giving = room::choose(&redis, sums_max).await?;
            take(&redis, unit, number, &giving).await
        })
    }

    fn resume(&self, number: FlightNumber) -> Answer<Taken> {
        let (redis, unit, sums_max) = (self.redis.clone(), self.unit, self.sums_max);
        Box::pin(async move { take(&redis, unit, number, &Giving::none(sums_max)).await })
    }

    fn remove(&self, number: FlightNumber) -> Answer<()> {
        let redis = self.redis.clone();
        Box::pin(async move {
            run(&redis, &REMOVE, number, Shards::DEFAULT.all().collect(), |_| Vec::new()).await.map(drop)
        })
    }
}

async fn look(redis: &Redis) -> Result<Look, StoreError> {
    let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
    let parts = joined::split(redis, &mut shards, |shard| *shard, |_| 1);
    let looked = parts.into_iter().map(|part| {
        let mut commands = Pipeline::with_capacity(part.len());
        for shard in &*part {
            commands.hmget(keys::state(*shard), &["last", "taken", "held", "since", "began"]);
        }
        checked::ask(redis, part[0], commands)
    });
    let (mut all, mut least) = (Look::default(), None);
    for fields in try_join_all(looked).await?.into_iter().flatten() {
        let fields = value::array(fields)?.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let [last, taken, held, since, began] = fields[..] else { return Err(DecodeError("the state of sums").into()) };
        all.last = all.last.max(last.unwrap_or(0));
        // An earlier version took all that was pending with each flight.
        least = least.into_iter().chain([taken.or(last).unwrap_or(0)]).min();
        all.held = all.held.into_iter().chain(held).min();
        all.oldest = all.oldest.into_iter().chain(since).chain(began).filter(|oldest| *oldest > 0).min();
    }
    all.least = least.unwrap_or(0);
    Ok(all)
}

async fn take(redis: &Redis, unit: Unit, number: FlightNumber, giving: &Giving) -> Result<Taken, StoreError> {
    let (mut holding, mut lower, mut all) = (Vec::new(), None::<FlightNumber>, giving.all);
    let (at_once, in_parts) = giving.steps();
    let mut answers = Vec::new();
    // Between two that move sums, other calls have their turn.
    for step in iter::once(at_once).chain(in_parts.into_iter().map(|shard| vec![shard])) {
        let of_step = run(redis, &TAKE, number, step.clone(), |part| giving.args(part)).await?;
        answers.extend(step.into_iter().zip(of_step));
    }
    for (shard, of_shard) in answers {
        match of_shard {
            held @ Value::BulkString(_) => lower = lower.into_iter().chain(self::number(held)?).min(),
            Value::Array(held) => {
                let (count, has_rest) = held_sums(held)?;
                holding.push((shard, count));
                all &= !has_rest;
            }
            nothing => drop(value::number(nothing)?),
        }
    }
    if let Some(lower) = lower {
        return Ok(Taken::Lower(lower));
    }
    let mut flight = Flight::new(unit, number);
    held::read(redis, holding, &mut flight).await?;
    Ok(if all { Taken::Flight(flight) } else { Taken::Part(flight) })
}

/// How many sums of the flight a shard holds, and whether it has kept others.
fn held_sums(answer: Vec<Value>) -> Result<(usize, bool), DecodeError> {
    let numbers = answer.into_iter().map(value::number).collect::<Result<Vec<_>, _>>()?;
    let [count, rest] = numbers[..] else { return Err(DecodeError("sums that a shard holds")) };
    Ok((usize::try_from(count).unwrap_or(usize::MAX), rest > 0))
}

/// The answers of these shards, or the answer of each call. `args`: further arguments of the call for these shards.
async fn run(
    redis: &Redis,
    script: &Script,
    number: FlightNumber,
    mut shards: Vec<Shard>,
    args: impl Fn(&[Shard]) -> Vec<Vec<u8>>,
) -> Result<Vec<Value>, StoreError> {
    let parts = joined::split(redis, &mut shards, |shard| *shard, |_| 1);
    let calls = parts.into_iter().map(|part| {
        let common = [redis.deployment().as_bytes().to_vec(), number.to_string().into_bytes()];
        Call { shards: part.to_vec(), keys: Vec::new(), args: common.into_iter().chain(args(part)).collect() }
    });
    let mut answers = Vec::new();
    for answer in redis.run(script, calls.collect()).await? {
        match answer {
            Value::Array(of_shards) => answers.extend(of_shards),
            other => answers.push(other),
        }
    }
    Ok(answers)
}

/// A decimal number, or nil.
fn number(value: Value) -> Result<Option<u64>, DecodeError> {
    let Some(text) = value::bytes_or_nil(value)? else { return Ok(None) };
    let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or(DecodeError("a number of sums"))
}
