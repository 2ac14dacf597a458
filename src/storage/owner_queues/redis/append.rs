//! Queues events: the arguments of `append.lua`, and its answer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use ::redis::{Script, Value};

use super::super::{Append, Appended, Version};
use super::answer::Parts;
use super::calls::{Queues, Words, word};
use super::{EVENT_BYTES_MAX, EVENTS_MAX, unit};
use crate::model::shard::Shard;
use crate::model::subscribers::SubscriberId;
use crate::storage::event_bus::part::Part;
use crate::storage::redis::script::script;
use crate::storage::redis::value::DecodeError;
use crate::storage::redis::{Call, joined};
use crate::storage::store_error::StoreError;

static APPEND: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("append.lua"))));

/// Bytes of events that weigh as much as an event.
const ROW_BYTES: usize = EVENT_BYTES_MAX / joined::TOGETHER_MAX;

/// Events of one unit that are queued in one step.
#[derive(Default)]
struct Step<'a> {
    events: usize,
    bytes: usize,
    owners: BTreeMap<(&'a SubscriberId, Version), Vec<&'a Append>>,
}

impl<'a> Step<'a> {
    fn has_room(&self, append: &Append) -> bool {
        self.events < EVENTS_MAX && (self.events == 0 || self.bytes + append.event.len() <= EVENT_BYTES_MAX)
    }

    /// What it weighs in a call.
    fn rows(&self) -> usize {
        self.events.max(self.bytes / ROW_BYTES)
    }

    fn add(&mut self, append: &'a Append) {
        self.events += 1;
        self.bytes += append.event.len();
        self.owners.entry((&append.owner, append.incarnation)).or_default().push(append);
    }

    /// `place`: of its unit among those of the call, from 1.
    fn put(&self, place: usize, args: &mut Words) {
        args.extend([word(place), word(self.events), word(self.owners.len())]);
        for ((owner, incarnation), events) in &self.owners {
            args.extend([word(owner), word(incarnation), word(events.len())]);
            args.extend(events.iter().flat_map(|one| [word(one.offset), one.event.as_bytes().to_vec()]));
        }
    }
}

/// All units in one round trip; a unit with more than one step has is asked again.
pub async fn append(queues: &Queues, part: &Part, events: &[Append]) -> Result<Appended, StoreError> {
    let mut units: BTreeMap<Shard, Vec<Step>> = BTreeMap::new();
    for append in events {
        let steps = units.entry(unit::unit_of(&append.owner)).or_default();
        if !steps.last().is_some_and(|step| step.has_room(append)) {
            steps.push(Step::default());
        }
        steps.last_mut().into_iter().for_each(|step| step.add(append));
    }
    let rounds = units.values().map(Vec::len).max().unwrap_or(0);
    let mut all = Appended::default();
    for round in 0..rounds {
        let mut steps: Vec<(Shard, &Step)> =
            units.iter().filter_map(|(unit, steps)| Some((*unit, steps.get(round)?))).collect();
        let parts = joined::split(&queues.redis, &mut steps, |(unit, _)| *unit, |(_, step)| step.rows());
        let calls = parts.into_iter().map(|steps| call(queues, part, steps)).collect();
        // After an error none may follow: what is repeated would be taken for old.
        for answer in queues.redis.run(&APPEND, calls).await? {
            add(&mut all, answer)?;
        }
    }
    Ok(all)
}

fn call(queues: &Queues, part: &Part, steps: &[(Shard, &Step)]) -> Call {
    let mut args: Words = vec![word(part)];
    for (place, (_, step)) in steps.iter().enumerate() {
        step.put(place + 1, &mut args);
    }
    let owners: Vec<&SubscriberId> = steps.iter().flat_map(|(_, step)| step.owners.keys().map(|(id, _)| *id)).collect();
    queues.of_owners(joined::shards(steps, |(unit, _)| *unit), &owners, args)
}

fn add(all: &mut Appended, answer: Value) -> Result<(), DecodeError> {
    let mut parts = Parts::of(answer)?;
    for sum in [&mut all.queued, &mut all.old, &mut all.left_out, &mut all.died] {
        *sum += parts.number()?;
    }
    Ok(())
}
