//! The sums of a flight that shards hold, read in steps: between them other calls have their turn.

use std::collections::BTreeMap;

use ::redis::{Value, cmd, pipe};

use super::{fields, keys, number};
use crate::value::{self, DecodeError};
use crate::{Redis, checked, joined};
use model::shard::Shard;
use model::sums::{Flight, FlightNumber};
use storage::store_error::StoreError;

/// Fields that are read in one step, about.
const STEP_MAX: usize = 500;

/// Reads what these shards hold of the flight, each with how many sums that is. A flight does not change while a shard holds
/// it. A shard that has let go of it meanwhile is left out: then all of the flight is known to be written.
pub async fn read(redis: &Redis, mut holding: Vec<(Shard, usize)>, flight: &mut Flight) -> Result<(), StoreError> {
    let rows = |(_, count): &(Shard, usize)| (count * joined::TOGETHER_MAX).div_ceil(STEP_MAX);
    for part in joined::split(redis, &mut holding, |(shard, _)| *shard, rows) {
        match part {
            [(shard, count)] if *count > STEP_MAX => read_long(redis, *shard, flight).await?,
            part => read_short(redis, part, flight).await?,
        }
    }
    Ok(())
}

/// All of some shards at once.
async fn read_short(redis: &Redis, shards: &[(Shard, usize)], flight: &mut Flight) -> Result<(), StoreError> {
    let mut commands = pipe();
    for (shard, _) in shards {
        let [views, counters] = keys::of_flight(*shard);
        // The held number is read last: it shows that the flight was the same all the time.
        commands.hgetall(views).hgetall(counters).hget(keys::state(*shard), "held");
    }
    let mut answers = checked::ask(redis, shards[0].0, commands).await?.into_iter();
    while let (Some(views), Some(counters), Some(held)) = (answers.next(), answers.next(), answers.next()) {
        let found = [fields::pairs(views)?, fields::pairs(counters)?].concat();
        if number(held)? == Some(flight.number) {
            join(flight, found.iter())?;
        }
    }
    Ok(())
}

/// One shard in several steps.
async fn read_long(redis: &Redis, shard: Shard, flight: &mut Flight) -> Result<(), StoreError> {
    // A scan may tell a field twice.
    let mut found = BTreeMap::new();
    for key in keys::of_flight(shard) {
        let mut cursor = "0".to_owned();
        loop {
            let mut commands = pipe();
            let mut scan = cmd("HSCAN");
            scan.arg(&key).arg(&cursor).arg("COUNT").arg(STEP_MAX);
            commands.add_command(scan);
            let mut answers = checked::ask(redis, shard, commands).await?;
            let page = value::array(answers.pop().unwrap_or(Value::Nil))?;
            let [next, pairs] = <[Value; 2]>::try_from(page).map_err(|_| DecodeError("a page of sums"))?;
            found.extend(fields::pairs(pairs)?.into_iter().map(|[field, number]| (field, number)));
            cursor = value::texts(Value::Array(vec![next]))?.pop().unwrap_or_default();
            if cursor == "0" {
                break;
            }
        }
    }
    if held(redis, shard).await? == Some(flight.number) {
        let found: Vec<[String; 2]> = found.into_iter().map(|(field, number)| [field, number]).collect();
        join(flight, found.iter())?;
    }
    Ok(())
}

async fn held(redis: &Redis, shard: Shard) -> Result<Option<FlightNumber>, StoreError> {
    let mut commands = pipe();
    commands.hget(keys::state(shard), "held");
    let mut answers = checked::ask(redis, shard, commands).await?;
    Ok(number(answers.pop().unwrap_or(Value::Nil))?)
}

fn join<'a>(flight: &mut Flight, fields: impl Iterator<Item = &'a [String; 2]>) -> Result<(), DecodeError> {
    flight.join(fields.map(fields::sum).collect::<Result<Vec<_>, _>>()?);
    Ok(())
}
