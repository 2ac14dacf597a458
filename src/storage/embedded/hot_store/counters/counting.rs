//! The generations of derived counters that commits add to.

use std::sync::Arc;

use fjall::{OwnedWriteBatch, Snapshot};

use super::tables::CounterTables;
use crate::hot_store::tables::ReadError;
use model::counters::Generation;
use model::ids::UserId;
use model::transition::Transition;

/// The generations of derived counters, as the writer of the store knows them.
pub struct Counting {
    pub tables: CounterTables,
    /// `None`: nothing is counted.
    pub current: Option<Arc<Generation>>,
    pub next: Option<Next>,
}

/// A generation that is being counted.
pub struct Next {
    pub generation: Arc<Generation>,
    /// Users before this one are counted; `None`: all are.
    pub from: Option<UserId>,
}

impl Counting {
    /// As it is stored. A count that did not end begins anew.
    pub fn read(tables: &CounterTables, snapshot: &Snapshot) -> Result<Self, ReadError> {
        let current = tables.generation(snapshot)?.map(Arc::new);
        Ok(Counting { tables: tables.clone(), current, next: None })
    }

    /// Adds what the transitions change. A record that the walk has not reached yet is counted there as it is then.
    pub fn put(
        &self,
        batch: &mut OwnedWriteBatch,
        snapshot: &Snapshot,
        transitions: &[(usize, Transition)],
    ) -> Result<(), ReadError> {
        let all = || transitions.iter().map(|(_, transition)| transition);
        if let Some(Generation { number, definitions }) = self.current.as_deref() {
            self.tables.add(batch, snapshot, *number, &definitions.deltas(all()))?;
        }
        if let Some(Next { generation, from }) = &self.next {
            let counted = all().filter(|transition| from.is_none_or(|from| transition.user < from));
            self.tables.add(batch, snapshot, generation.number, &generation.definitions.deltas(counted))?;
        }
        Ok(())
    }
}
