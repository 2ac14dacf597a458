//! Owners as they are stored.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ::redis::{Script, Value, pipe};
use futures_util::future::try_join_all;

use super::answer::{MALFORMED, Parts};
use super::calls::{Queues, Words, word};
use super::unit::{self, UNITS};
use super::{EVENT_BYTES_MAX, keys};
use crate::checked;
use crate::script::script;
use crate::value::{self, DecodeError};
use model::shard::Shard;
use model::subscribers::{State, Status, Subscriber, SubscriberId, Unreadable};
use storage::owner_queues::{Owner, Revision, Subscription, Subscriptions, Totals, Version};
use storage::store_error::StoreError;

static OWNERS: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("owners.lua"))));
static SUBSCRIPTIONS: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("subscriptions.lua"))));
static TOTALS: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("totals.lua"))));

/// Owners that are read together.
const OWNERS_MAX: usize = 1_024;
/// Owners that are read in one step.
const OWNERS_TOGETHER: usize = 64;
/// Changes of one unit that are read in one step.
const CHANGES_TOGETHER: usize = 256;

pub fn id(text: &str) -> Result<SubscriberId, DecodeError> {
    text.parse().map_err(|_| DecodeError("the id of a subscriber"))
}

pub fn subscriber(json: &str) -> Result<Arc<Subscriber>, DecodeError> {
    serde_json::from_str(json).map(Arc::new).map_err(|_| DecodeError("the definition of a subscriber"))
}

/// State, failing and last failure.
pub fn status(parts: &mut Parts) -> Result<Status, DecodeError> {
    let words = [parts.text()?, parts.text()?, parts.text()?];
    super::status::status(words.each_ref().map(String::as_str))
}

/// The version of an id, and its owner.
type Record = (Version, Option<Result<Owner, Unreadable>>);

pub async fn owner(queues: &Queues, id: &SubscriberId) -> Result<Record, StoreError> {
    let mut answer = Parts::of(queues.of_owner(&OWNERS, id, []).await?)?;
    Ok(read_record(queues, id, answer.parts()?)?)
}

fn read_record(queues: &Queues, id: &SubscriberId, mut parts: Parts) -> Result<Record, DecodeError> {
    let version = parts.number()?;
    if parts.is_over() {
        return Ok((version, None));
    }
    let owner = read_owner(id.clone(), version, parts);
    Ok((version, Some(queues.unreadable.readable(id.as_str(), owner).ok_or(Unreadable))))
}

fn read_owner(id: SubscriberId, version: Version, mut parts: Parts) -> Result<Owner, DecodeError> {
    let incarnation = parts.number()?;
    let status = status(&mut parts)?;
    let subscriber = subscriber(&parts.text()?)?;
    let (depth, oldest, due) = (parts.number()?, parts.number_or_nil()?, parts.number_or_nil()?);
    let is_failing = status.failing.is_some() && status.state == State::Active;
    Ok(Owner {
        id,
        subscriber,
        incarnation,
        version,
        depth,
        oldest: oldest.map(|microseconds| microseconds / 1_000),
        next_try: is_failing.then(|| Duration::from_millis(due.unwrap_or(0))),
        delivered: parts.number()?,
        dead: parts.number()?,
        replaying: parts.number()? == 1,
        status,
    })
}

pub async fn owners(queues: &Queues, after: Option<&SubscriberId>, limit: usize) -> Result<Vec<Owner>, StoreError> {
    let mut after = after.cloned();
    let mut found = Vec::new();
    while found.len() < limit {
        let wanted = OWNERS_MAX.min(limit - found.len());
        let ids = ids(queues, after.as_ref(), wanted).await?;
        let Some(last) = ids.last().cloned() else { break };
        let is_all = ids.len() < wanted;
        // One may have been deleted since.
        found.extend(read_owners(queues, ids).await?);
        if is_all {
            break;
        }
        after = Some(last);
    }
    Ok(found)
}

/// The first ids after this one, of all units.
async fn ids(queues: &Queues, after: Option<&SubscriberId>, limit: usize) -> Result<Vec<SubscriberId>, StoreError> {
    let min = after.map_or_else(|| "-".to_owned(), |id| format!("({id}"));
    let parts = queues.parts(unit::all()).into_iter().map(|part| {
        let mut commands = pipe();
        for unit in &part {
            commands.cmd("ZRANGEBYLEX").arg(keys::ids(*unit)).arg(&min).arg("+").arg("LIMIT").arg(0).arg(limit);
        }
        checked::ask(&queues.redis, part[0], commands)
    });
    let mut ids = Vec::new();
    for of_unit in try_join_all(parts).await?.into_iter().flatten() {
        for text in value::texts(of_unit)? {
            ids.extend(queues.unreadable.readable(&text, id(&text)));
        }
    }
    ids.sort_unstable();
    ids.truncate(limit);
    Ok(ids)
}

async fn read_owners(queues: &Queues, ids: Vec<SubscriberId>) -> Result<Vec<Owner>, StoreError> {
    let mut units: BTreeMap<Shard, Vec<SubscriberId>> = BTreeMap::new();
    for id in ids {
        units.entry(unit::unit_of(&id)).or_default().push(id);
    }
    let chunks: Vec<(Shard, &[SubscriberId])> =
        units.iter().flat_map(|(unit, ids)| ids.chunks(OWNERS_TOGETHER).map(|chunk| (*unit, chunk))).collect();
    let call = |(unit, ids): &(Shard, &[SubscriberId])| {
        queues.of_owners(vec![*unit], &ids.iter().collect::<Vec<_>>(), ids.iter().map(word))
    };
    let answers = queues.redis.run(&OWNERS, chunks.iter().map(call).collect()).await?;
    let mut owners = Vec::new();
    for ((_, ids), answer) in chunks.iter().zip(answers) {
        let mut answer = Parts::of(answer)?;
        for id in *ids {
            owners.extend(read_record(queues, id, answer.parts()?)?.1.and_then(Result::ok));
        }
    }
    owners.sort_unstable_by(|one, other| one.id.cmp(&other.id));
    Ok(owners)
}

pub async fn subscriptions(queues: &Queues, since: Revision) -> Result<Subscriptions, StoreError> {
    if since.0.len() == usize::from(UNITS) && !has_changes(queues, &since.0).await? {
        return Ok(Subscriptions { revision: since, changed: Vec::new() });
    }
    let mut since = if since.0.len() == usize::from(UNITS) { since.0 } else { vec![0; usize::from(UNITS)] };
    let mut changed = Vec::new();
    let mut open: Vec<Shard> = unit::all().collect();
    while !open.is_empty() {
        let parts = queues.parts(open.drain(..));
        let call = |units: &Vec<Shard>| {
            let bounds = [word(CHANGES_TOGETHER), word(EVENT_BYTES_MAX)];
            let of_units: Words = units.iter().map(|unit| word(since[usize::from(unit.0)])).collect();
            queues.of_units(units.clone(), bounds.into_iter().chain(of_units))
        };
        let answers = queues.redis.run(&SUBSCRIPTIONS, parts.iter().map(call).collect()).await?;
        for (units, answer) in parts.into_iter().zip(answers) {
            let mut answer = Parts::of(answer)?;
            for unit in units {
                let mut of_unit = answer.parts()?;
                since[usize::from(unit.0)] = of_unit.number()?;
                if of_unit.number()? == 1 {
                    open.push(unit);
                }
                read_changes(queues, of_unit.parts()?, &mut changed)?;
            }
        }
    }
    Ok(Subscriptions { revision: Revision(since), changed })
}

/// Whether there are any: most often there are none, and a count is a small part of what it costs to read them.
async fn has_changes(queues: &Queues, since: &[Version]) -> Result<bool, StoreError> {
    let parts = queues.parts(unit::all()).into_iter().map(|part| {
        let mut command = pipe();
        for unit in &part {
            command.zcount(keys::changes(*unit), format!("({}", since[usize::from(unit.0)]), "+inf");
        }
        checked::ask(&queues.redis, part[0], command)
    });
    for count in try_join_all(parts).await?.into_iter().flatten() {
        if value::number(count)? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_changes(
    queues: &Queues,
    mut changes: Parts,
    all: &mut Vec<(SubscriberId, Option<Subscription>)>,
) -> Result<(), DecodeError> {
    while !changes.is_over() {
        let mut change = changes.parts()?;
        let text = change.text()?;
        let Some(id) = queues.unreadable.readable(&text, id(&text)) else { continue };
        let subscription = match change.is_over() {
            true => None,
            false => queues.unreadable.readable(&text, read_subscription(id.clone(), change)),
        };
        all.push((id, subscription));
    }
    Ok(())
}

fn read_subscription(id: SubscriberId, mut change: Parts) -> Result<Subscription, DecodeError> {
    let (incarnation, version) = (change.number()?, change.number()?);
    let state = super::status::read_state(&change.text()?);
    Ok(Subscription { id, incarnation, version, state, subscriber: subscriber(&change.text()?)? })
}

pub async fn totals(queues: &Queues) -> Result<Totals, StoreError> {
    let calls = queues.parts(unit::all()).into_iter().map(|part| queues.of_units(part, []));
    let mut all = Totals::default();
    for answer in queues.redis.run(&TOTALS, calls.collect()).await? {
        add(&mut all, answer)?;
    }
    Ok(all)
}

fn add(all: &mut Totals, answer: Value) -> Result<(), DecodeError> {
    let mut parts = Parts::of(answer)?;
    for sum in [&mut all.owners, &mut all.events, &mut all.bytes, &mut all.dead, &mut all.dropped] {
        *sum += parts.number()?;
    }
    for sum in [&mut all.failing, &mut all.paused, &mut all.tries_used_up, &mut all.disabled] {
        *sum += parts.number()?;
    }
    all.waiting = all.waiting.max(Duration::from_millis(parts.number()?));
    all.failing_since = all.failing_since.into_iter().chain(parts.number_or_nil()?).min();
    parts.is_over().then_some(()).ok_or(MALFORMED)
}
