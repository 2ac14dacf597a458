//! Queues events: the arguments of `append.lua`, and its answer.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ::redis::{Script, Value};

use super::answer::{MALFORMED, Parts};
use super::calls::{Queues, Words, word};
use super::{EVENT_BYTES_MAX, EVENTS_MAX, read, status, unit};
use crate::script::script;
use crate::value::DecodeError;
use crate::{Call, joined};
use model::shard::Shard;
use model::subscribers::{Subscriber, SubscriberId};
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::owner_queues::{
    Append, Appended, BYTES_MAX, ENTRIES_MAX, Entry, Given, Line, Offer, Subscription, Taken, Version, Wanted,
};
use storage::store_error::StoreError;

static APPEND: LazyLock<Script> =
    LazyLock::new(|| script(concat!(include_str!("queue.lua"), include_str!("append.lua"))));

/// Bytes of events that weigh as much as an event.
const ROW_BYTES: usize = EVENT_BYTES_MAX / joined::TOGETHER_MAX;

/// Events of one unit that are queued in one step.
#[derive(Default)]
struct Step<'a> {
    events: usize,
    bytes: usize,
    targets: BTreeMap<Target<'a>, Vec<One<'a>>>,
}

/// An owner, its incarnation, the version of its definition that is known, and a part.
type Target<'a> = (&'a SubscriberId, Version, Version, &'a Part);

/// An event for an owner. The definition is not there if the caller does not know it.
struct One<'a> {
    offset: Offset,
    event: &'a Arc<str>,
    subscriber: Option<&'a Arc<Subscriber>>,
}

impl<'a> Step<'a> {
    fn has_room(&self, event: &str) -> bool {
        self.events < EVENTS_MAX && (self.events == 0 || self.bytes + event.len() <= EVENT_BYTES_MAX)
    }

    /// The weight of the step in a call, in rows.
    fn rows(&self) -> usize {
        self.events.max(self.bytes / ROW_BYTES)
    }

    fn add(&mut self, target: Target<'a>, one: One<'a>) {
        self.events += 1;
        self.bytes += one.event.len();
        self.targets.entry(target).or_default().push(one);
    }

    /// `unit`: the index of its unit among those of the call, from 1.
    fn put(&self, unit: usize, args: &mut Words) {
        args.extend([word(unit), word(self.events), word(self.targets.len())]);
        for ((owner, incarnation, version, part), events) in &self.targets {
            args.extend([word(owner), word(incarnation), word(version), word(part), word(events.len())]);
            args.extend(events.iter().flat_map(|one| [word(one.offset), one.event.as_bytes().to_vec()]));
        }
    }
}

/// The events of each unit, in steps.
#[derive(Default)]
pub struct Units<'a>(BTreeMap<Shard, Vec<Step<'a>>>);

impl<'a> Units<'a> {
    pub fn of_part(part: &'a Part, events: &'a [Append]) -> Self {
        let mut units = Units::default();
        for Append { owner, incarnation, offset, event } in events {
            units.add((owner, *incarnation, 0, part), One { offset: *offset, event, subscriber: None });
        }
        units
    }

    pub fn of_parts(parts: &'a [Wanted]) -> Self {
        let mut units = Units::default();
        for (part, events) in parts {
            for (offset, event, wants) in events {
                let Subscription { id, incarnation, version, subscriber, .. } = &**wants;
                let one = One { offset: *offset, event, subscriber: Some(subscriber) };
                units.add((id, *incarnation, *version, part), one);
            }
        }
        units
    }

    fn add(&mut self, target: Target<'a>, one: One<'a>) {
        let steps = self.0.entry(unit::unit_of(target.0)).or_default();
        if !steps.last().is_some_and(|step| step.has_room(one.event)) {
            steps.push(Step::default());
        }
        if let Some(step) = steps.last_mut() {
            step.add(target, one);
        }
    }
}

/// All units in one round trip; a unit with more than one step has is asked again.
pub async fn append(queues: &Queues, Units(units): Units<'_>, offer: Offer) -> (Result<Appended, StoreError>, Given) {
    let rounds = units.values().map(Vec::len).max().unwrap_or(0);
    let (mut all, mut given) = (Appended::default(), Given::default());
    for round in 0..rounds {
        let mut steps: Vec<(Shard, &Step)> =
            units.iter().filter_map(|(unit, steps)| Some((*unit, steps.get(round)?))).collect();
        let parts = joined::split(&queues.redis, &mut steps, |(unit, _)| *unit, |(_, step)| step.rows());
        let share = Offer { leases: offer.leases.saturating_sub(given.taken.len()) / parts.len(), ..offer };
        let calls = parts.iter().map(|steps| call(queues, steps, share)).collect();
        let answers = queues.redis.run_each(&APPEND, calls).await;
        let mut failed = None;
        for (steps, answer) in parts.iter().zip(answers) {
            let read = answer.and_then(|answer| Ok(read_answer(queues, answer, steps, &mut all, &mut given)?));
            failed = failed.or(read.err());
        }
        // After an error none may follow: what is repeated would be taken for old.
        if let Some(error) = failed {
            return (Err(error), given);
        }
    }
    (Ok(all), given)
}

fn call(queues: &Queues, steps: &[(Shard, &Step)], Offer { leases, lease }: Offer) -> Call {
    let mut args: Words = vec![word(leases), word(lease.as_millis())];
    for (unit, (_, step)) in steps.iter().enumerate() {
        step.put(unit + 1, &mut args);
    }
    let owners: Vec<&SubscriberId> =
        steps.iter().flat_map(|(_, step)| step.targets.keys().map(|target| target.0)).collect();
    queues.of_owners(joined::shards(steps, |(unit, _)| *unit), &owners, args)
}

fn read_answer(
    queues: &Queues,
    answer: Value,
    steps: &[(Shard, &Step)],
    all: &mut Appended,
    given: &mut Given,
) -> Result<(), DecodeError> {
    let mut parts = Parts::of(answer)?;
    let [queued, old, left_out, died] = [parts.number()?, parts.number()?, parts.number()?, parts.number()?];
    *all += Appended { queued, old, left_out, died };
    given.is_due |= parts.number()? > 0;
    if parts.is_over() {
        return Ok(());
    }
    let targets: Vec<_> = steps.iter().flat_map(|(_, step)| &step.targets).collect();
    while !parts.is_over() {
        let mut lease = parts.parts()?;
        let index = usize::try_from(lease.number()?).map_err(|_| MALFORMED)?;
        let target = index.checked_sub(1).and_then(|index| targets.get(index)).ok_or(MALFORMED)?;
        given.taken.extend(queues.unreadable.readable(target.0.0.as_str(), read_lease(lease, target)));
    }
    Ok(())
}

fn read_lease(mut lease: Parts, (target, events): &(&Target<'_>, &Vec<One<'_>>)) -> Result<Taken, DecodeError> {
    let fence = lease.number()?;
    let status = status::status([status::ACTIVE, &lease.text()?, &lease.text()?])?;
    let subscriber = match lease.text_or_nil()? {
        Some(definition) => read::subscriber(&definition)?,
        None => events.first().and_then(|one| one.subscriber).ok_or(MALFORMED)?.clone(),
    };
    let first = lease.number()?;
    let mut bytes = 0;
    let entries = (first..).zip(events.iter()).take(ENTRIES_MAX).take_while(|(number, one)| {
        bytes += one.event.len();
        *number == first || bytes <= BYTES_MAX
    });
    let entries = entries.map(|(number, one)| Entry { number, queued_at: number / 1_000, event: one.event.clone() });
    Ok(Taken { owner: target.0.clone(), line: Line::Quick, subscriber, status, fence, entries: entries.collect() })
}
