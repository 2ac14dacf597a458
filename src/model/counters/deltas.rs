//! The changes of derived counters by transitions. No other place changes one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::id::CounterId;
use super::key::CounterKey;
use crate::ids::UserId;
use crate::reading::Reading;
use crate::record::Record;
use crate::transition::Transition;

/// Counters that are counted together.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Definitions {
    pub counters: Vec<Definition>,
    /// Says when a record is finished.
    pub reading: Reading,
}

/// Amounts to add, by counter and key, in their order. None is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deltas(BTreeMap<(CounterId, CounterKey), i64>);

impl Definitions {
    pub fn get(&self, id: &CounterId) -> Option<&Definition> {
        self.counters.iter().find(|definition| definition.id == *id)
    }

    /// Whether the counter counts the same here and there.
    pub fn counts_as(&self, id: &CounterId, other: &Definitions) -> bool {
        let pair = self.get(id).zip(other.get(id));
        pair.is_some_and(|(mine, theirs)| mine.counts_as(&self.reading, theirs, &other.reading))
    }

    /// Whether both have the same counters, each of which counts the same.
    pub fn are(&self, other: &Definitions) -> bool {
        self.counters.len() == other.counters.len()
            && self.counters.iter().all(|definition| self.counts_as(&definition.id, other))
    }

    /// The changes by the transitions of a commit.
    pub fn deltas<'t>(&self, transitions: impl IntoIterator<Item = &'t Transition>) -> Deltas {
        let mut deltas = Deltas::default();
        for transition in transitions {
            self.add(transition.user, transition.before.as_ref(), transition.after.as_ref(), &mut deltas);
        }
        deltas
    }

    /// Adds the contribution of a stored record.
    pub fn count(&self, user: UserId, record: &Record, deltas: &mut Deltas) {
        self.add(user, None, Some(record), deltas);
    }

    fn add(&self, user: UserId, before: Option<&Record>, after: Option<&Record>, deltas: &mut Deltas) {
        for definition in &self.counters {
            let value = |record: Option<&Record>| record.and_then(|record| definition.value(record, &self.reading));
            let (less, more) = (value(before), value(after));
            if let (Some(before), Some(after)) = (before, after)
                && let (Some(less), Some(more)) = (less, more)
                && definition.same_key(before, after)
            {
                if more != less {
                    deltas.add(definition, user, after, more - less);
                }
                continue;
            }
            before.zip(less).into_iter().for_each(|(record, value)| deltas.add(definition, user, record, -value));
            after.zip(more).into_iter().for_each(|(record, value)| deltas.add(definition, user, record, value));
        }
    }
}

impl Deltas {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CounterId, &CounterKey, i64)> {
        self.0.iter().map(|((id, key), by)| (id, key, *by))
    }

    fn add(&mut self, definition: &Definition, user: UserId, record: &Record, by: i64) {
        let parts = definition.key_parts(user, record);
        // A field of a record is never too long, and one without a device is not counted.
        let Ok(key) = CounterKey::of(parts.iter().map(String::as_str)) else { return };
        match self.0.entry((definition.id.clone(), key)) {
            _ if by == 0 => {}
            Entry::Vacant(slot) => {
                slot.insert(by);
            }
            Entry::Occupied(mut sum) if *sum.get() != -by => *sum.get_mut() += by,
            Entry::Occupied(sum) => {
                sum.remove();
            }
        }
    }
}
