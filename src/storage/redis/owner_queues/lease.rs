//! Leases: the arguments of `take.lua`, and its answers.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ::redis::{Script, Value};

use super::answer::Parts;
use super::calls::{Queues, word};
use super::{read, unit};
use crate::script::script;
use crate::value::DecodeError;
use model::shard::Shard;
use storage::owner_queues::{BYTES_MAX, Due, ENTRIES_MAX, Entry, Limit, Line, Taken};
use storage::store_error::StoreError;

static TAKE: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("lease.lua"), include_str!("take.lua"))));

/// Leases that are given together. One that asks for more gets them the next time.
const LEASES_MAX: usize = 1_000;
/// Bytes of events that are read in one step.
const STEP_BYTES_MAX: usize = 2 << 20;
/// How often units are asked that have more than their share.
const ROUNDS_MAX: usize = 4;

/// Each with when it was due.
type Leases = Vec<(u64, Taken)>;

/// A call about several units.
struct Asked {
    units: Vec<Shard>,
    share: Limit,
}

/// Takes leases of all units. A call about several units takes those that are due first; calls share the limit, and one
/// that finds fewer leaves the rest to the others. `turn`: which call has what remains when the limit is divided.
pub async fn take(queues: &Queues, limit: Limit, lease: Duration, turn: &AtomicUsize) -> Result<Due, StoreError> {
    let Limit { all: limit, slow } = Limit { all: limit.all.min(LEASES_MAX), ..limit };
    let mut parts = queues.parts(unit::all());
    let first = turn.fetch_add(1, Ordering::Relaxed) % parts.len();
    parts.rotate_left(first);
    let (mut found, mut next, mut failed) = (Leases::new(), None::<Duration>, None);
    for _ in 0..ROUNDS_MAX {
        let slow_found = found.iter().filter(|(_, taken)| taken.line == Line::Slow).count();
        let rest = Limit { all: limit - found.len(), slow: slow.saturating_sub(slow_found) };
        let asked = shares(parts, rest);
        let call = |Asked { units, share }: &Asked| {
            let others = u8::from(rest.slow > share.slow);
            let words = [word(share.all), word(share.slow), word(others)];
            queues.of_units(units.clone(), terms(lease).into_iter().chain(words))
        };
        let answers = queues.redis.run_each(&TAKE, asked.iter().map(call).collect()).await;
        parts = Vec::new();
        for (Asked { units, .. }, answer) in asked.into_iter().zip(answers) {
            match answer.and_then(|answer| Ok(read_due(queues, answer)?)) {
                Ok((taken, wait)) => {
                    found.extend(taken);
                    match wait {
                        Some(Duration::ZERO) => parts.push(units),
                        wait => next = next.into_iter().chain(wait).min(),
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        if parts.is_empty() || found.len() >= limit {
            break;
        }
    }
    if !parts.is_empty() {
        next = Some(Duration::ZERO);
    }
    match failed {
        // Leases that were given are used, though another node is away.
        Some(error) if found.is_empty() => Err(error),
        _ => {
            found.sort_by_key(|(due, _)| *due);
            Ok(Due { taken: found.into_iter().map(|(_, taken)| taken).collect(), next })
        }
    }
}

/// The arguments of `lease.lua`.
pub fn terms(lease: Duration) -> [Vec<u8>; 4] {
    [word(lease.as_millis()), word(ENTRIES_MAX), word(BYTES_MAX), word(STEP_BYTES_MAX)]
}

/// The first get what remains. One without a share tells when it is due.
fn shares(parts: Vec<Vec<Shard>>, limit: Limit) -> Vec<Asked> {
    let count = parts.len();
    let of = |limit: usize, index| limit / count + usize::from(index < limit % count);
    let share = |index| Limit { all: of(limit.all, index), slow: of(limit.slow, index) };
    parts.into_iter().enumerate().map(|(index, units)| Asked { units, share: share(index) }).collect()
}

fn read_due(queues: &Queues, answer: Value) -> Result<(Leases, Option<Duration>), DecodeError> {
    let mut answer = Parts::of(answer)?;
    let next = answer.number_or_nil()?.map(Duration::from_millis);
    let mut taken = Vec::new();
    while !answer.is_over() {
        // Another process may have written what this one cannot read. The others are served.
        taken.extend(read_lease(queues, answer.parts()?)?);
    }
    Ok((taken, next))
}

/// With when it was due. `None`: it cannot be read.
pub fn read_lease(queues: &Queues, mut lease: Parts) -> Result<Option<(u64, Taken)>, DecodeError> {
    let (due, owner) = (lease.number()?, lease.text()?);
    let taken = read_taken(&owner, lease);
    Ok(queues.unreadable.readable(&owner, taken).map(|taken| (due, taken)))
}

fn read_taken(owner: &str, mut lease: Parts) -> Result<Taken, DecodeError> {
    let owner = read::id(owner)?;
    let fence = lease.number()?;
    let line = if lease.text()?.is_empty() { Line::Quick } else { Line::Slow };
    let status = read::status(&mut lease)?;
    let subscriber = read::subscriber(&lease.text()?)?;
    let entries = read_entries(lease.parts()?)?;
    Ok(Taken { owner, line, subscriber, status, fence, entries })
}

fn read_entries(mut parts: Parts) -> Result<Vec<Entry>, DecodeError> {
    let mut entries = Vec::new();
    while !parts.is_over() {
        let number = parts.number()?;
        entries.push(Entry { number, queued_at: number / 1_000, event: parts.text()?.into() });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_shared_and_the_first_get_what_remains() {
        let of = |parts: usize, limit| {
            let parts = (0..parts).map(|unit| vec![Shard(unit as u16)]).collect();
            let limit = Limit { all: limit, slow: limit / 2 };
            shares(parts, limit).iter().map(|asked| (asked.share.all, asked.share.slow)).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 5), [(5, 2)]);
        assert_eq!(of(3, 5), [(2, 1), (2, 1), (1, 0)]);
        assert_eq!(of(3, 1), [(1, 0), (0, 0), (0, 0)]);
    }
}
