//! The appends of what was read, in steps: of many events that many owners want, no more is held than one step has.

use std::sync::Arc;
use std::vec::IntoIter;

use super::index::Index;
use model::subscribers::Facts;
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::PartEvents;
use storage::owner_queues::{Subscription, Wanted};

/// Events of one step, each once for each owner that wants it.
pub const APPENDS_MAX: usize = 2_048;
/// Their bytes. One event may have more.
pub const APPEND_BYTES_MAX: usize = 4 << 20;

type Event = (Offset, Arc<str>);

/// In the order of the events. The owners of one event may be in several steps.
pub struct Steps<'a, E> {
    index: &'a Index,
    /// Those that were not looked at yet.
    events: E,
    /// The event that is being looked at, and the owners that still want it.
    present: Option<(&'a Part, &'a Event, IntoIter<&'a Arc<Subscription>>)>,
}

/// The events that are appended together.
#[derive(Default)]
struct Step {
    parts: Vec<Wanted>,
    count: usize,
    bytes: usize,
}

/// Steps of these batches, each of a part of its own.
pub fn steps<'a>(
    index: &'a Index,
    batches: &'a [PartEvents],
) -> Steps<'a, impl Iterator<Item = (&'a Part, &'a Event)>> {
    let batches: &'a [PartEvents] = if index.is_empty() { &[] } else { batches };
    let events = batches.iter().flat_map(|batch| batch.events.iter().map(move |event| (&batch.part, event)));
    Steps { index, events, present: None }
}

impl<'a, E: Iterator<Item = (&'a Part, &'a Event)>> Iterator for Steps<'a, E> {
    type Item = Vec<Wanted>;

    fn next(&mut self) -> Option<Vec<Wanted>> {
        let mut step = Step::default();
        loop {
            if self.present.as_ref().is_none_or(|(.., owners)| owners.len() == 0) {
                let Some((part, event)) = self.events.next() else { break };
                let index = self.index;
                let wanting = Facts::of(&event.1, index.ids).map(|facts| index.wanting(&facts)).unwrap_or_default();
                self.present = Some((part, event, wanting.into_iter()));
            }
            let Some((part, event, owners)) = &mut self.present else { break };
            while step.has_room(&event.1) {
                let Some(owner) = owners.next() else { break };
                step.add(part, event, owner);
            }
            if owners.len() > 0 {
                break;
            }
        }
        (step.count > 0).then_some(step.parts)
    }
}

impl Step {
    fn has_room(&self, event: &str) -> bool {
        self.count < APPENDS_MAX && (self.count == 0 || self.bytes + event.len() <= APPEND_BYTES_MAX)
    }

    fn add(&mut self, part: &Part, (offset, event): &Event, owner: &Arc<Subscription>) {
        self.count += 1;
        self.bytes += event.len();
        let wanted = (*offset, event.clone(), owner.clone());
        match self.parts.last_mut() {
            Some((last, events)) if last == part => events.push(wanted),
            _ => self.parts.push((part.clone(), vec![wanted])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subscribers::{State, Subscriber};
    use storage::owner_queues::{Revision, Subscriptions};

    /// An index of owners that want every reward.
    fn index(owners: usize) -> Index {
        let json = r#"{"url":"https://example.com/","types":["dev.heartline.reward.v1"],"batch":1,
            "secrets":{"newest":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}"#;
        let subscriber: Arc<Subscriber> = Arc::new(serde_json::from_str(json).unwrap());
        let subscription = |number| Subscription {
            id: format!("owner-{number:04}").parse().unwrap(),
            incarnation: 1,
            version: 1,
            subscriber: subscriber.clone(),
            state: State::Active,
        };
        let changed = (0..owners).map(subscription).map(|owner| (owner.id.clone(), Some(owner))).collect();
        let mut index = Index::default();
        index.change(Subscriptions { revision: Revision::default(), changed });
        index
    }

    fn batch(part: &str, events: u64, padding: usize) -> PartEvents {
        let data = r#"{"rule":"first-of-day","mid":"42","kind":1,"oid":"100"}"#;
        let padding = "x".repeat(padding);
        let event = |offset| {
            let event = format!(r#"{{"id":"{offset}{padding}","type":"dev.heartline.reward.v1","data":{data}}}"#);
            (offset, event.into())
        };
        PartEvents { part: Part::new(part), events: (1..=events).map(event).collect(), to: events, is_end: true }
    }

    fn count(step: &[Wanted]) -> usize {
        step.iter().map(|(_, events)| events.len()).sum()
    }

    #[test]
    fn every_owner_gets_every_event_once_and_in_its_order() {
        let (index, batches) = (index(1_500), [batch("one", 3, 0), batch("two", 2, 0)]);
        let all: Vec<_> = steps(&index, &batches).collect();
        assert_eq!(all.iter().map(|step| count(step)).collect::<Vec<_>>(), [2_048, 2_048, 2_048, 1_356]);
        let of_last: Vec<_> = all
            .iter()
            .flatten()
            .flat_map(|(part, events)| {
                events
                    .iter()
                    .filter(|(.., owner)| owner.id.as_str() == "owner-1499")
                    .map(move |event| (part.as_str(), event.0))
            })
            .collect();
        assert_eq!(of_last, [("one", 1), ("one", 2), ("one", 3), ("two", 1), ("two", 2)]);
        assert!(all.iter().all(|step| step.len() <= 2), "each part is in a step once");
    }

    #[test]
    fn a_step_is_bounded_by_bytes_and_has_one_event_at_least() {
        let index = index(3);
        let batches = [batch("one", 2, APPEND_BYTES_MAX / 2 - 200)];
        assert_eq!(steps(&index, &batches).map(|step| count(&step)).collect::<Vec<_>>(), [2, 2, 2]);
        let batches = [batch("one", 1, APPEND_BYTES_MAX)];
        assert_eq!(steps(&index, &batches).map(|step| count(&step)).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[test]
    fn only_the_step_that_is_asked_for_is_held() {
        let (index, batches) = (index(2), [batch("one", 5_000, 0)]);
        let event = batches[0].events[4_999].1.clone();
        let mut steps = steps(&index, &batches);
        assert_eq!(steps.by_ref().take(2).count(), 2);
        assert_eq!(Arc::strong_count(&event), 2, "the last event is in no step yet");
        assert_eq!(steps.count(), 3);
    }

    #[test]
    fn what_nobody_wants_is_in_no_step() {
        assert_eq!(steps(&index(0), &[batch("one", 9, 0)]).count(), 0);
        let mut other = batch("one", 1, 0);
        other.events = vec![(1, "{}".into())];
        assert_eq!(steps(&index(1), &[other]).count(), 0);
    }
}
