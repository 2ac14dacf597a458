//! Queues that are being filled from the log: `replays.lua` and `fill.lua`.

use std::sync::LazyLock;

use ::redis::Script;

use super::answer::{MALFORMED, Parts};
use super::calls::{Queues, word};
use super::{EVENT_BYTES_MAX, EVENTS_MAX, read, unit};
use crate::script::script;
use crate::value::{self, DecodeError};
use storage::event_bus::Offset;
use storage::event_bus::part::{Offsets, Part};
use storage::owner_queues::{Fill, Filled, Replay};
use storage::store_error::StoreError;

static REPLAYS: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("replays.lua"))));
static FILL: LazyLock<Script> = LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("fill.lua"))));

pub async fn replays(queues: &Queues) -> Result<Vec<Replay>, StoreError> {
    let calls = queues.parts(unit::all()).into_iter().map(|part| queues.of_units(part, []));
    let mut replays = Vec::new();
    for answer in queues.redis.run(&REPLAYS, calls.collect()).await? {
        let mut answer = Parts::of(answer)?;
        while !answer.is_over() {
            let mut parts = answer.parts()?;
            let owner = parts.text()?;
            replays.extend(queues.unreadable.readable(&owner, read_replay(&owner, parts)));
        }
    }
    Ok(replays)
}

fn read_replay(owner: &str, mut parts: Parts) -> Result<Replay, DecodeError> {
    let owner = read::id(owner)?;
    let version = parts.number()?;
    let subscriber = read::subscriber(&parts.text()?)?;
    let (room, room_bytes) = (parts.number()?, parts.number()?);
    let mut at = Offsets::new();
    let mut fields = parts.parts()?;
    while !fields.is_over() {
        at.insert(Part::new(fields.text()?), fields.number()?);
    }
    Ok(Replay { owner, subscriber, version, at, room, room_bytes })
}

/// In several steps if there is too much for one. Each step is a fill of its own.
pub async fn fill(queues: &Queues, fill: &Fill) -> Result<Filled, StoreError> {
    let (mut at, mut rest) = (fill.at, &fill.events[..]);
    loop {
        let (events, others) = rest.split_at(step_of(rest));
        rest = others;
        let is_last = rest.is_empty();
        let to = events.last().filter(|_| !is_last).map_or(fill.to, |(offset, _)| *offset);
        let filled = step(queues, fill, at, to, events, is_last && fill.is_end).await?;
        if is_last || filled != Filled::More {
            return Ok(filled);
        }
        at = to;
    }
}

/// How many of the first events are queued in one step.
fn step_of(events: &[(Offset, std::sync::Arc<str>)]) -> usize {
    let mut bytes = 0;
    let fits = |(index, (_, event)): &(usize, &(Offset, std::sync::Arc<str>))| {
        bytes += event.len();
        *index == 0 || *index < EVENTS_MAX && bytes <= EVENT_BYTES_MAX
    };
    events.iter().enumerate().take_while(fits).count()
}

async fn step(
    queues: &Queues,
    fill: &Fill,
    at: Offset,
    to: Offset,
    events: &[(Offset, std::sync::Arc<str>)],
    is_end: bool,
) -> Result<Filled, StoreError> {
    let (is_end, parts) = (word(u8::from(is_end)), word(fill.parts.len()));
    let words = [word(fill.version), word(&fill.part), word(at), word(to), is_end, parts];
    let words = words.into_iter().chain(fill.parts.iter().map(word));
    let events = events.iter().flat_map(|(offset, event)| [word(offset), event.as_bytes().to_vec()]);
    let answer = queues.of_owner(&FILL, &fill.owner, words.chain(events)).await?;
    match value::bytes(answer)?.as_slice() {
        b"more" => Ok(Filled::More),
        b"full" => Ok(Filled::Full),
        b"over" => Ok(Filled::Over),
        b"moved" => Ok(Filled::Moved),
        _ => Err(MALFORMED.into()),
    }
}
